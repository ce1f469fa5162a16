"""Cases of all other commands: struck, with files that lie, on disks that are full."""
import json
import os
import re
import shutil
import subprocess
import time

from world import BUILD, MPSWEEP, SOURCE, Failure, Strike, read

POINT = ["-d", "emulated", "-k", 5, "-t", 0.1, "--warmup", 0.02, "-p", 100, "-q"]
SAMPLES = [os.path.join(SOURCE, name) for name in (
    "tests/data/emulated-sample.jsonl", "tests/data/h200-sample.jsonl",
    "docs/results/h200-open-loop.jsonl", "docs/results/h200-explain.jsonl",
    "docs/results/h200-probes.jsonl")]
OWN = "own.jsonl"  # measured by this build, at the soak's start
ESCAPES = re.compile(rb"[\x00-\x08\x0b-\x1f\x7f]")


def make_own_sample(root):
    subprocess.run([MPSWEEP, "sweep", *map(str, POINT), "-l", "threads:1-2", "-l", "processes+mps:2",
                    "-o", os.path.join(root, OWN)], check=True, stdout=subprocess.DEVNULL)


def own_sample(case, name):
    shutil.copy(os.path.join(os.path.dirname(case.folder), OWN), case.path(name))
    return case.path(name)


def writers_of_files(case):
    """Each command that writes, by name: its words, and what it writes."""
    out = case.path
    results = own_sample(case, "in.jsonl")
    image = case.rng.choice(["svg", "png", "gp"])
    return {
        "sweep": (["sweep", *POINT, "-l", "threads:1-2", "-o", out("s.jsonl")], "s.jsonl"),
        "sweep --calibrate": (["sweep", *POINT, "-l", "threads:1-2", "--calibrate", "-o",
                               out("s.jsonl")], "s.jsonl"),
        "tune": (["tune", "-d", "emulated", "-k", 5, "-q", "--budget", "4s", "-o", out("t.jsonl")], "t.jsonl"),
        "probe": (["probe", "copy-block", "-d", "emulated", "-q", "--arms", "own-pageable", "-o",
                   out("p.jsonl")], "p.jsonl"),
        "trace": (["trace", "-d", "emulated", "-k", 5, "-t", 0.1, "-q", "-l",
                   case.rng.choice(["threads:2", "processes+mps:2"]), "-o", out("t.json")], "t.json"),
        "explain": (["explain", results, "-q", "-t", 0.1, "--warmup", 0.02], "in.jsonl"),
        "plot": (["plot", results, "-o", out("p." + image)], "p." + image),
        "compare": (["compare", results, results, "-o", out("c." + image)], "c." + image),
        "merge": (["merge", results, "-o", out("m.jsonl")], "m.jsonl"),
        "emit": (["emit", results, "-o", out("serve"), "-f", case.rng.choice(
            ["env", "systemd", "slurm", "kubernetes", "compose"]), "--", "serve", "{port}"], "serve"),
    }


ANY_STATUS = {"tune": (0, 4), "sweep": (0, 2), "probe": (0, 2), "merge": (0, 1, 2), "plot": (0, 1)}


def statuses_of(name):
    return ANY_STATUS.get(name.split()[0], (0,))


def is_published(name):
    """Appears whole or not at all; results files grow."""
    return name.split()[0] in ("plot", "compare", "merge", "emit", "trace")


def writer(case):
    """Struck while it writes: what it leaves is whole, or not there."""
    name = case.rng.choice(sorted(writers_of_files(case)))
    words, output = writers_of_files(case)[name]
    before = set(os.listdir(case.work))
    horizon = {"plot": 0.3, "compare": 0.3, "merge": 0.05, "emit": 0.05}.get(name, 2)
    strikes = case.draw_strikes(horizon)
    case.run(MPSWEEP, *words, strikes=strikes, statuses=statuses_of(name))
    if strikes:
        case.check_gone()
    case.check_files()
    # A name of its own is left only by what cannot be caught.
    if is_published(name) and not any(strike.name in ("KILL", "SEGV", "QUIT") for strike in strikes):
        left = set(os.listdir(case.work)) - before - {output}
        if left:
            raise Failure(f"{name} has left {', '.join(sorted(left))}")
    check_whole(case, output)


def check_whole(case, output):
    path = case.path(output)
    if not os.path.isfile(path):
        return
    text = read(path)
    ends = {".svg": b"</svg>", ".png": b"IEND\xaeB`\x82"}
    wanted = ends.get(os.path.splitext(path)[1])
    if wanted and not text.rstrip().endswith(wanted):
        raise Failure(f"{output} is cut: it ends in {text[-30:]!r}")
    if output.endswith(".json"):
        json.loads(text)


def full_disk(case):
    """A disk that is full, or a limit of a file's size: the command fails, or all is there."""
    name = case.rng.choice(sorted(writers_of_files(case)))
    words, output = writers_of_files(case)[name]
    limit = case.rng.choice([1, 2, 4, 8, 16])
    status = case.run("bash", "-c", f"ulimit -f {limit}; exec \"$@\"", "full", MPSWEEP, *words,
                      statuses=(0, 1, 2, 4, 130))
    if status == 0:
        check_whole(case, output)
        path = case.path(output)
        if os.path.isfile(path) and os.path.getsize(path) >= limit * 1024:
            raise Failure(f"{name} ends with status 0, and {output} has all {limit} KiB that it may have")
    case.check_files()


CALLS = ["malloc", "calloc", "realloc", "strdup", "fopen", "fdopen", "fork", "pipe2", "socketpair",
         "socket", "memfd_create", "eventfd", "signalfd", "ftruncate", "fsync", "flock", "write",
         "read", "mkdir", "mkdirat", "renameat2", "linkat", "mmap", "pthread_create", "open",
         "openat"]


def failing_call(case):
    """One call of a process fails, as without memory, descriptors or a disk: an error, not a crash,
    and whatever is written is right."""
    rng = case.rng
    words = rng.choice([
        ["sweep", *POINT, "-l", "threads:2", "-l", "processes+mps:2", "-o", case.path("s.jsonl")],
        ["mps", "run", "--gpu", "emulated", "--", "true"],
        writers_of_files(case)[rng.choice(sorted(writers_of_files(case)))][0]])
    program = rng.choice(["mpsweep"] * 3 + ["mpsweep-guard", "mpsweep-worker"])
    failing = {"LD_PRELOAD": os.path.join(BUILD, "tests/fakes/failing_call.so"),
               "MPSWEEP_FAIL": f"{rng.choice(CALLS)}#{int(200 ** rng.random())}@{program}",
               "MPSWEEP_FAILED": case.path("failed")}
    child = case.start(MPSWEEP, *words, env=failing)
    case.commands[child.number].insert(0, failing["MPSWEEP_FAIL"])
    status = case.finish(child, (0, 1, 2, 4, 125, 126))
    case.count("calls that failed", os.path.exists(case.path("failed")))
    if status == 1 and len(case.error_of(child).splitlines()) != 1 and program == "mpsweep":
        raise Failure(f"not one line on what went wrong: {case.error_of(child)!r}")
    case.check_gone()
    case.check_files()
    case.check_next_run()


def mutated(rng, text):
    """A results file that lies."""
    lines = text.split(b"\n")
    for _ in range(rng.choice([1, 1, 2, 5, 20])):
        at = rng.choice([0, rng.randrange(len(lines))])
        line = lines[at]
        how = rng.randrange(8)
        if how == 0 and line:
            place = rng.randrange(len(line))
            line = line[:place] + bytes([rng.randrange(256)]) + line[place + 1:]
        elif how == 1:
            line = line[:rng.randrange(len(line) + 1)]
        elif how == 2:
            numbers = list(re.finditer(rb"-?\d+(\.\d+)?", line))
            if numbers:
                number = rng.choice(numbers)
                value = rng.choice([b"-1", b"0", b"1e308", b"-1e308", b"1e-320", b"4294967296", b"null",
                                    b"9223372036854775808", b'"x"', b"[]", b"{}", b"true", b"1e999"])
                line = line[:number.start()] + value + line[number.end():]
        elif how == 3:
            names = list(re.finditer(rb'"[a-z_0-9]+":', line))
            if names:
                name = rng.choice(names)
                line = line[:name.start()] + rng.choice([b'"x":', b'"id":', b'"status":']) + \
                    line[name.end():]
        elif how == 4:
            strings = list(re.finditer(rb':"[^"\\]*"', line))
            if strings:
                string = rng.choice(strings)
                value = rng.choice([rb':"\u001b]0;x\u0007"', rb':"\u001b[31m"', rb':"\u0000"', b':""',
                                    b':"\xff\xfe"', b':"' + b"a" * 5000 + b'"', rb':"\ud800"',
                                    b":null", b":7"])
                line = line[:string.start()] + value + line[string.end():]
        elif how == 5:
            lines.insert(at, rng.choice(lines))
            continue
        elif how == 6:
            line = b"[" * rng.choice([10, 3000])
        else:
            line = rng.choice([b"", b"null", b"{}", b"\0", b'{"type":"point"}', b'{"type":"header"}'])
        lines[at] = line
    return b"\n".join(lines)


def lies(case):
    """Files that lie, under whatever reads results: an answer or an error, never a crash, and no
    control characters on the terminal."""
    rng = case.rng
    for number in range(8):
        for name in ("a.jsonl", "b.jsonl"):
            with open(case.path(name), "wb") as file:
                file.write(mutated(rng, read(rng.choice(SAMPLES))))
        out = case.path(f"m{number}")
        words = rng.choice([
            ["compare", case.path("a.jsonl"), case.path("b.jsonl")],
            ["compare", case.path("a.jsonl"), case.path("b.jsonl"), "-o", out + ".gp"],
            ["plot", case.path("a.jsonl"), "--figure", "all", "-o", out],
            ["plot", case.path("a.jsonl"), "-o", out + ".gp"],
            ["merge", case.path("a.jsonl"), case.path("b.jsonl"), "-o", out + ".x"],
            ["emit", case.path("a.jsonl"), "-f", "env", "-o", out, "--", "serve"],
            ["explain", case.path("a.jsonl"), "-q", "-t", 0.05, "--warmup", 0]])
        child = case.start(MPSWEEP, *words)
        case.shadow.clear()  # these files are not of one run
        case.finish(child, (0, 1, 2, 3))
        for text in (case.output_of(child), read(os.path.join(case.folder, f"{child.number}.err"))):
            found = ESCAPES.search(text)
            if found:
                raise Failure(f"{words[0]} prints {found.group()!r}: {text[:300]!r}")
    for name in case.results():
        os.unlink(case.path(name))
    case.shadow.clear()


def doctor(case):
    words = case.rng.choice([["doctor", "-d", "emulated"], ["doctor", "-d", "emulated", "--limits"]])
    case.run(MPSWEEP, *words, strikes=case.draw_strikes(1.5), statuses=(0, 1))


def mps_run(case):
    client = [MPSWEEP, "sweep", "--mps", "external", "-l", "processes+mps:2", *POINT]
    case.run(MPSWEEP, "mps", "run", "--gpu", "emulated", "--",
             *case.rng.choice([client, ["sleep", 1], ["sh", "-c", "sleep 1 & sleep 0.5"]]),
             strikes=case.draw_strikes(2), statuses=(0,))


def mps_daemon(case):
    """One that stays until it is stopped, and is struck meanwhile."""
    rng = case.rng
    strikes = case.draw_strikes(1)
    status = case.run(MPSWEEP, "mps", "start", "--gpu", "emulated", strikes=strikes, statuses=(0,))
    for _ in range(rng.randint(0, 2)):
        case.run(MPSWEEP, "mps", "status", *rng.choice([[], ["-f", "json"]]), statuses=(0, 1),
                 strikes=case.draw_strikes(0.2, 0.3))
    if rng.random() < 0.4:
        strike = Strike(rng, 0)
        case.strikes.append(strike)
        case.strike(strike)
    case.run(MPSWEEP, "mps", "stop", "--force", strikes=case.draw_strikes(0.3, 0.3),
             statuses=(0,) if status == 0 and not case.strikes else (0, 1))
    # What kills 'stop' leaves a daemon, which the next one ends.
    case.run(MPSWEEP, "mps", "stop", "--force", statuses=(0, 1))


def fake_slurm(case):
    """Slurm's commands, which note their words and print what they are given."""
    folder = case.path("bin")
    os.mkdir(folder)
    for name, answer in (("sbatch", "42"), ("squeue", ""), ("sacct", ""), ("scancel", "")):
        path = os.path.join(folder, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(f"#!/bin/sh\nprintf '{answer}\\n'\n")
        os.chmod(path, 0o755)
    case.env["PATH"] = folder + ":" + case.env["PATH"]


def slurm(case):
    """A run of two shards, struck and requeued, also beside itself."""
    rng = case.rng
    fake_slurm(case)
    with open(case.path("a.job"), "w", encoding="utf-8") as file:
        file.write("[global]\ndevice = emulated\nkernels = 5\nduration = 0.05\nwarmup = 0.02\n"
                   "precision = 100\n[some]\nlayout = threads:1-2\nmemory = pinned,pageable\n"
                   "launch = stream,graph\n")
    run = case.path("run")
    case.run(MPSWEEP, "slurm", "submit", "a.job", "--nodes", 2, "--dir", run)
    for shard in (0, 1):
        task = {"SLURM_ARRAY_TASK_ID": str(shard), "SLURMD_NODENAME": f"node{shard}"}
        words = ["sh", os.path.join(run, "shard.sbatch")]
        strikes = case.draw_strikes(2, 0.6)
        if rng.random() < 0.4:
            beside = case.start(*words, env=task)
            time.sleep(rng.uniform(0, 0.5))
            case.run(*words, env=task, strikes=strikes, statuses=(0, 1, 2))
            case.finish(beside, (0, 1, 2), strikes)
        else:
            case.run(*words, env=task, strikes=strikes, statuses=(0, 2))
        case.check_gone()
        case.run(*words, env=task, statuses=(0, 2))
    case.run(MPSWEEP, "slurm", "status", run, strikes=case.draw_strikes(0.1, 0.3),
             statuses=(0, 2, 5))
    # A worker that was struck makes a failed point.
    case.run(MPSWEEP, "slurm", "collect", run, "-o", case.path("all.jsonl"),
             statuses=(0, 2) if case.strikes else (0,))
    ids = sorted(json.loads(line)["id"] for line in read(case.path("all.jsonl")).splitlines()
                 if b'"type":"point"' in line)
    if ids != list(range(8)):
        raise Failure(f"of 8 points these are merged: {ids}")


def explain_twice(case):
    """Beside itself, and beside readers."""
    results = own_sample(case, "in.jsonl")
    words = [MPSWEEP, "explain", results, "-q", "-t", 0.1, "--warmup", 0.02]
    children = [case.start(*words) for _ in range(2)]
    time.sleep(case.rng.uniform(0, 1))
    case.run(MPSWEEP, "compare", results, results)
    for child in children:
        case.finish(child, (0, 1))
    case.check_files()


KINDS = {"writer": writer, "full-disk": full_disk, "lies": lies, "failing-call": failing_call, "doctor": doctor,
         "mps-run": mps_run, "mps-daemon": mps_daemon, "slurm": slurm, "explain-twice": explain_twice}
