"""Cases that measure: sweeps of every kind, whose numbers an oracle knows."""
import os
import time

import oracle
from world import BUILD, FAKE_PROGRAM, METRONOME, MPSWEEP, Failure, records

SERIES = ["steady", "uniform", "exponential", "stalls", "modes"]
# An emulated machine of which one kernel is all that an iteration takes.
BARE = ("launch_ns=0,graph_launch_ns=0,copy_call_ns=0,front_ns=0,copy_latency_ns=0,"
        "h2d_mb_per_s=10000000,d2h_mb_per_s=10000000,pageable_mb_per_s=10000000,"
        "slots=64,queues=32,queues_mps=8,spin_ns=0")


def workers_of(point):
    return point["processes"] * point["threads"]


def layouts(rng, count, mps_only=False):
    """Some layouts, small ones. Over MPS, or of one process, all workers have slots to themselves."""
    made = set()
    kinds = ["threads", "processes+mps", "hybrid", "threads+mps"]
    if not mps_only:
        kinds += ["processes", "hybrid-timesliced"]
    while len(made) < count:
        kind = rng.choice(kinds)
        made.add(f"{kind}:" + (f"{rng.randint(1, 2)}x{rng.randint(1, 3)}" if "hybrid" in kind
                               else str(rng.randint(1, 4))))
    return [word for layout in sorted(made) for word in ("-l", layout)]


def window(rng):
    return ["-t", rng.choice([0.2, 0.5, 1]), "--max-duration", rng.choice([1, 2]), "--warmup",
            rng.choice([0.02, 0.05, 0.2]), "-p", rng.choice([10, 30, 60]), "--seed",
            rng.randint(0, 99)]


def window_or_work(rng, share, least, most):
    """Measured by time, or for a number of iterations."""
    if rng.random() > share:
        return window(rng)
    return ["--warmup", rng.choice([0, 0.1]), "--iterations", rng.randint(least, most)]


def check_numbers(case, names=None):
    """Each `ok` number of the case's results against the known rate."""
    lateness = oracle.Lateness(case.lateness)
    stopped = any(strike.name == "STOP" and strike.struck for strike in case.strikes)
    for name in names or case.results():
        for point in records(case.path(name)):
            if point["type"] != "point" or "rounds_left" in point or case.known is None:
                continue
            series = case.series + (", struck" if case.strikes else "")
            if point["status"] != "ok":
                case.numbers.append((series, point["status"], name, point["id"]))
                # Nothing in these plans asks for more than the machine has.
                if point["status"] == "infeasible" or \
                        (point["status"] == "failed" and not case.strikes):
                    raise Failure(f"point {point['id']} is {point['status']}: {point['error']}")
                continue
            known = case.known(point)
            seconds = min(round_["seconds"] for round_ in point["rounds"])
            slack = oracle.slack_of(lateness, seconds, case.catches_up, stopped)
            verdict, beyond = oracle.judge(point, known, slack, case.catches_up)
            if verdict == "wrong" and point["interval"]["recurring_s"] < case.recurs_s:
                verdict = "unseen"
            case.numbers.append((series, verdict, name, point["id"]))
            if verdict == "wrong" and oracle.is_gross(point, known, beyond):
                raise Failure(f"point {point['id']} of {name} is ok with {point['throughput_ips']:.2f}/s "
                              f"±{point['ci95_rel']:.2%} and no warning; {known:.2f}/s is right "
                              f"(lateness explains {slack:.2%})")


def struck_sweep(case, words, horizon, env=None, statuses=(0,)):
    """Most are struck; whatever happened, a resumed one completes the file."""
    out = case.path("r.jsonl")
    strikes = case.draw_strikes(horizon, share=0.5)
    case.run(MPSWEEP, "sweep", "-d", "emulated", "-q", "-o", out, *words, strikes=strikes,
             statuses=statuses, env=env)
    case.check_files()
    if strikes:
        case.check_gone()
        resume_to_the_end(case, [MPSWEEP, "sweep", "-d", "emulated", "-q", "-o", out, *words], env)
    return strikes


def resume_to_the_end(case, words, env=None):
    """Of a run that may not have come to its header."""
    out = case.path("r.jsonl")
    begun = any(True for _ in records(out)) if os.path.exists(out) else False
    if not begun and os.path.exists(out):
        os.unlink(out)
    at = words.index("--") if "--" in words else len(words)
    case.run(*words[:at], *(["--resume"] if begun else []), *words[at:], statuses=(0, 2), env=env)
    case.check_files()


def known_program(case, series=None, rate=None):
    rng = case.rng
    period_us = rng.choice([2000, 5000])
    case.series = series or rng.choice(SERIES)
    case.catches_up = True
    case.recurs_s = {"stalls": 50, "modes": 20}.get(case.series, 0) * period_us / 1e6
    case.known = lambda point: rate or workers_of(point) * 1e6 / period_us
    return [METRONOME, period_us, case.series, 200, rng.randint(0, 999)]


def sweep_program(case):
    program = known_program(case)
    words = layouts(case.rng, case.rng.randint(2, 4)) + window(case.rng) + \
        ["-r", case.rng.choice([1, 1, 2, 5]), "--", *program, "closed"]
    struck_sweep(case, words, 2)
    check_numbers(case)


def sweep_open_loop(case):
    rng = case.rng
    rate = rng.choice([200, 400, 600])
    program = known_program(case, rng.choice(["steady", "uniform", "exponential"]), rate)
    case.series = "open loop"
    # At most half busy.
    workers = round(rate * program[1] / 1e6 / 0.5 + 0.5)
    words = ["-l", f"threads:{workers}", "-l", f"processes+mps:{workers}", "--rate", rate,
             "--arrival", rng.choice(["constant", "poisson"])] + window(rng) + \
        ["--", *program, "open"]
    struck_sweep(case, words, 2)
    check_numbers(case)


def sweep_builtin(case):
    rng = case.rng
    kernel_ns = rng.choice([5, 10, 20]) * 1000000
    machine = f"{BARE},kernel_ns={kernel_ns},graph_kernel_ns={kernel_ns}"
    case.env["MPSWEEP_EMULATED_MACHINE"] = machine
    case.known = lambda point: workers_of(point) * 1e9 / kernel_ns
    words = layouts(rng, rng.randint(1, 3), mps_only=True) + window_or_work(rng, 0.3, 30, 100) + \
        ["-k", 1, "--bytes", "1K", "-m", rng.choice(["pinned", "pageable"]), "--launch",
         rng.choice(["stream", "graph"]), "-r", rng.choice([1, 1, 2])]
    case.series = "builtin, fixed work" if "--iterations" in words else "builtin"
    struck_sweep(case, words, 2)
    check_numbers(case)


def sweep_any(case):
    """Settings of whose rate nothing is known."""
    rng = case.rng
    kernels = ["-k", rng.randint(1, 40)]
    words = layouts(rng, rng.randint(2, 4)) + rng.choice([
        [*kernels, *window_or_work(rng, 0.5, 1, 50)], [*kernels, *window(rng), "--calibrate"],
        [*kernels, *window(rng), "--rate", rng.choice([300, "max-under-p99=20ms"])],
        [*kernels, *window(rng), "--no-reuse", "--stagger", "2ms"],
        [*kernels, *window(rng), "-m", "pinned,pageable", "--launch", "graph,stream"],
        [*window(rng), "-w", os.path.join(BUILD, "examples/plugin/null.so")],
        [*window(rng), "-w", "delay", "--delay-cycles", 100000]])
    struck_sweep(case, words, 3)


def sweep_described(case):
    rng = case.rng
    job = case.path("d.job")
    with open(job, "w", encoding="utf-8") as file:
        file.write("[workload one]\nstep = copy-in 64K\nstep = kernel blocks=5 threads=64 "
                   "duration=200us count=3\nstep = copy-out 16K\n[workload two]\nstep = copy-in 64K\n"
                   "step = kernel blocks=4 threads=64 bytes=64K\nstep = copy-out 64K\n")
    words = [job, "-w", rng.choice(["one", "two", "one:3+two:1"])] + layouts(rng, 2) + window(rng)
    struck_sweep(case, words, 3)


def resume(case):
    """Struck again and again, and in the end complete, with each point once."""
    rng = case.rng
    program = known_program(case, "steady")
    words = [MPSWEEP, "sweep", "-d", "emulated", "-q", "-o", case.path("r.jsonl"), "-l", "threads:1-3",
             "-l", "processes+mps:1-2", "-t", 0.2, "--max-duration", 0.5, "-p", 10, "--warmup", 0]
    rest = ["--", *program, "closed"]
    for attempt in range(rng.randint(1, 3)):
        case.run(*words, *(["--resume"] if attempt else []), *rest,
                 strikes=case.draw_strikes(3, share=1))
        case.check_gone()
        case.check_files()
    resume_to_the_end(case, [*words, *rest])
    done = [point["id"] for point in records(case.path("r.jsonl"))
            if point["type"] == "point" and point["status"] in ("ok", "unconverged")
            and "rounds_left" not in point]
    if sorted(done) != list(range(5)):
        raise Failure(f"not each of 5 points once after all was resumed: {sorted(done)}")
    check_numbers(case)


def slow_lock(case, number):
    """What has a command wait before its first lock, until the pipe has a writer."""
    reached, granted = case.path(f"reached{number}"), case.path(f"granted{number}")
    for pipe in (reached, granted):
        os.mkfifo(pipe)
    case.pipes.append(os.open(reached, os.O_RDWR))
    return {"LD_PRELOAD": os.path.join(BUILD, "tests/fakes/lying_rename.so"), "MPSWEEP_LIE": "slow",
            "MPSWEEP_LIE_REACHED": reached, "MPSWEEP_LIE_GRANTED": granted}, granted


def writers(case):
    """Commands that write one file beside each other: the later one waits, or is refused."""
    rng = case.rng
    program = known_program(case, "steady")
    out = case.path("r.jsonl")
    words = [MPSWEEP, "sweep", "-d", "emulated", "-q", "-o", out, "-l", "threads:1-3", "-l",
             "processes+mps:1", "-t", 0.2, "--max-duration", 0.5, "-p", 10, "--warmup", 0]
    rest = ["--", *program, "closed"]
    first = case.start(*words, *rest)
    time.sleep(rng.uniform(0.1, 1.5))
    others, locks = [], {}
    for number in range(rng.randint(1, 2)):
        delays, lock = slow_lock(case, number)
        locks[lock] = time.monotonic() + rng.uniform(0, 2)
        others.append(case.start(*rng.choice([[*words, "--resume", *rest],
                                              [MPSWEEP, "explain", out, "-q", "-t", 0.1, "--warmup",
                                               0]]), env=delays))
    held = []
    while any(child.poll() is None for child in [first, *others]):
        case.look()
        for lock in [lock for lock, when in locks.items() if when < time.monotonic()]:
            held.append(os.open(lock, os.O_RDWR))
            del locks[lock]
        time.sleep(0.02)
    for descriptor in held:
        os.close(descriptor)
    case.finish(first, (0,))
    for child in others:
        case.finish(child, (0, 1, 2))
    case.check_files()
    ids = {point["id"] for point in records(out) if point["type"] == "point"}
    if ids != set(range(4)):
        raise Failure(f"of 4 points these are there: {sorted(ids)}")


def forks(case):
    """A program whose descendants leave its session, and kills of whatever is above them."""
    rng = case.rng
    mode = rng.choice(["grandchild", "stubborn-grandchild", "child", "ignore-all", "ignore-stop"])
    words = [MPSWEEP, "sweep", "-d", "emulated", "-q", "-o", case.path("r.jsonl"), "-l",
             rng.choice(["processes+mps:2", "processes:2"]), "-t", 1, "--max-duration", 1, "-p", 100,
             "--timeout", 5, "--", FAKE_PROGRAM, mode]
    case.run(*words, strikes=case.draw_strikes(2.5, 0.8, ["KILL", "KILL", "TERM", "SEGV"]),
             statuses=(0, 2))
    if case.has_killed_all_keepers():
        case.count("trees without a keeper")
    else:
        case.check_gone()
    case.check_files()


def same_twice(case):
    """Two runs of the same: compare must not find a difference in more than one of forty."""
    rng = case.rng
    is_open = rng.random() < 0.5
    rate = rng.choice([60, 100, 160]) if is_open else None
    period_us = 5000
    program = [METRONOME, period_us, rng.choice(["uniform", "exponential"]), 200]
    words = ["-l", "threads:2", "-l", "processes+mps:2", "-t", 1, "--max-duration", 2, "-p", 5,
             "--warmup", 0.1, "-r", rng.choice([1, 2, 3]), "-q"]
    if is_open:
        words += ["--rate", rate, "--arrival", rng.choice(["constant", "poisson"])]
    for name in "ab":
        case.run(MPSWEEP, "sweep", "-d", "emulated", "-o", case.path(f"{name}.jsonl"), *words, "--seed",
                 rng.randint(1, 99), "--", *program, rng.randint(0, 999), "open" if is_open else "closed",
                 statuses=(0, 2))
    status = case.run(MPSWEEP, "compare", case.path("a.jsonl"), case.path("b.jsonl"), statuses=(0, 3))
    late = oracle.Lateness(case.lateness).longest > period_us * 1000 / 4
    what = "A/A, open loop" if is_open else "A/A, closed loop"
    case.numbers.append((what, "right" if status == 0 else "discounted" if late else "wrong", "", 0))


KINDS = {"program": sweep_program, "open-loop": sweep_open_loop, "builtin": sweep_builtin,
         "any": sweep_any, "described": sweep_described, "resume": resume, "writers": writers,
         "forks": forks, "same-twice": same_twice}
