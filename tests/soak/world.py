"""One iteration of a soak: its folder, its processes, what strikes them, and what must hold then.

A mark in the environment finds each process that an iteration has started, whatever its name. What
strikes, when and which, follows from the seed and the iteration's number; which process stands at a
place of the tree at that moment depends on the machine.
"""
import json
import os
import random
import signal
import subprocess
import threading
import time

BUILD = os.environ.get("MPSWEEP_BUILD_DIR", "")
SOURCE = os.environ.get("MPSWEEP_SOURCE_DIR", "")
MPSWEEP = os.path.join(BUILD, "mpsweep")
METRONOME = os.path.join(BUILD, "tests/soak/metronome")
FAKE_PROGRAM = os.path.join(BUILD, "tests/fakes/program")

GONE_SECONDS = 35  # in which whatever belongs to a struck command must have ended
HUNG_SECONDS = 240  # after which a command hangs; the longest takes a few seconds
SIGNALS = (["KILL"] * 4 + ["TERM"] * 3 + ["INT"] * 2 + ["STOP"] * 3 + ["HUP", "QUIT", "SEGV"])


class Failure(Exception):
    """A promise that did not hold."""


def read(path):
    try:
        with open(path, "rb") as file:
            return file.read()
    except (FileNotFoundError, ProcessLookupError, PermissionError):
        return b""


def records(path):
    """Of a results file, as far as its lines are whole."""
    for line in read(path).split(b"\n")[:-1]:
        yield json.loads(line)


class Strike:
    """A signal to come: seconds after the start, to a part of the tree."""

    def __init__(self, rng, horizon, signals=None):
        self.after = rng.uniform(0, horizon)
        self.name = rng.choice(signals or SIGNALS)
        self.how = rng.choice(["one"] * 6 + ["group"] * 2 + ["several"] * 2)
        self.place = rng.random()
        self.hold = rng.choice([0.05, 0.3, 1, 3]) * rng.uniform(0.5, 1)
        self.rng_seed = rng.random()
        self.struck = []

    def __str__(self):
        held = f" for {self.hold:.2f} s" if self.name == "STOP" else ""
        return f"{self.name}{held} to {self.how} at {self.after:.3f} s: " + (
            ", ".join(self.struck) or "no process there")


class Case:
    """See above. `known` is a function of a point's record that gives its true rate, or None."""

    def __init__(self, root, seed, number):
        self.number = number
        self.rng = random.Random(f"{seed}:{number}")
        self.mark = f"{os.path.basename(root)}.{number}"
        self.folder = os.path.join(root, str(number))
        self.work = os.path.join(self.folder, "w")
        self.tmp = os.path.join(self.folder, "t")
        self.lateness = os.path.join(self.folder, "late")
        for folder in (self.work, self.tmp, self.lateness):
            os.makedirs(folder, 0o700)
        self.env = {name: value for name, value in os.environ.items()
                    if not name.startswith(("MPSWEEP_", "CUDA_", "XDG_", "SLURM", "MAKE"))}
        self.env.update(SOAK_MARK=self.mark, TMPDIR=self.tmp, MPSWEEP_EMUL_LATENESS=self.lateness,
                        XDG_CACHE_HOME=os.path.join(self.folder, "c"), LC_ALL="C",
                        TSAN_OPTIONS="atexit_sleep_ms=0")
        self.known = None
        self.series = "builtin"
        self.catches_up = False
        self.recurs_s = 0  # how often what its numbers depend on comes, in the mean
        self.strikes, self.commands, self.numbers = [], [], []
        self.shadow = {}
        self.kind = ""
        self.pipes = []
        self.counts = {}

    def path(self, name):
        return os.path.join(self.work, name)

    def count(self, what, by=1):
        self.counts[what] = self.counts.get(what, 0) + by

    # -- processes ---------------------------------------------------------------------------------

    def processes(self):
        """Process IDs that bear the mark, by age."""
        wanted = f"SOAK_MARK={self.mark}\0".encode()
        found = []
        for name in os.listdir("/proc"):
            if name.isdigit() and wanted in read(f"/proc/{name}/environ") + b"\0":
                found.append(int(name))
        return sorted(found)

    def send(self, pid, number):
        """To a process that bears the mark still: its ID may be another's by now."""
        try:
            handle = os.pidfd_open(pid)
        except OSError:
            return False
        try:
            if f"SOAK_MARK={self.mark}\0".encode() not in read(f"/proc/{pid}/environ") + b"\0":
                return False
            signal.pidfd_send_signal(handle, number)
            return True
        except OSError:
            return False
        finally:
            os.close(handle)

    def name_of(self, pid):
        words = read(f"/proc/{pid}/cmdline").split(b"\0")
        return os.path.basename(words[0].decode(errors="replace")) + f"[{pid}]"

    def choose(self, strike):
        found = self.processes()
        if not found:
            return []
        one = found[int(strike.place * len(found))]
        if strike.how == "group":
            try:
                group = os.getpgid(one)
            except OSError:
                return []
            return [pid for pid in found if group_of(pid) == group]
        if strike.how == "several":
            return random.Random(strike.rng_seed).sample(found, min(len(found), 3))
        return [one]

    def strike(self, strike):
        self.look()
        chosen = self.choose(strike)
        strike.struck = [self.name_of(pid) for pid in chosen]
        hit = [pid for pid in chosen if self.send(pid, signal.Signals["SIG" + strike.name])]
        self.count("strikes", bool(hit))
        if strike.name == "STOP":
            time.sleep(strike.hold)
            for pid in hit:
                self.send(pid, signal.SIGCONT)

    def strike_all(self, strikes, ended):
        began = time.monotonic()
        for strike in sorted(strikes, key=lambda strike: strike.after):
            if ended.wait(max(0, began + strike.after - time.monotonic())):
                return
            self.strike(strike)

    # -- commands ----------------------------------------------------------------------------------

    def start(self, *words, env=None):
        """In a session of its own, with output in files."""
        words = [str(word) for word in words]
        number = len(self.commands)
        self.commands.append(words)
        with open(os.path.join(self.folder, f"{number}.out"), "wb") as out, \
                open(os.path.join(self.folder, f"{number}.err"), "wb") as err:
            child = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=out, stderr=err,
                                     cwd=self.work, env={**self.env, **(env or {})},
                                     start_new_session=True)
        child.number = number
        return child

    def finish(self, child, statuses, strikes=()):
        """Until it has ended. Without strikes it must end with one of the statuses."""
        try:
            status = child.wait(HUNG_SECONDS)
        except subprocess.TimeoutExpired:
            raise Failure(f"hangs: {' '.join(self.commands[child.number])}") from None
        if status < 0 and -status not in {signal.Signals["SIG" + s.name] for s in strikes}:
            raise Failure(f"died of signal {-status}: {' '.join(self.commands[child.number])}")
        if not strikes and status not in statuses:
            raise Failure(f"exit status {status}, not {statuses}: "
                          f"{' '.join(self.commands[child.number])}: {self.error_of(child)}")
        errors = read(os.path.join(self.folder, f"{child.number}.err"))
        if b"Sanitizer" in errors or b"runtime error" in errors:
            raise Failure(f"a sanitizer reports: {errors.decode(errors='replace')[-2000:]}")
        self.look()
        return status

    def error_of(self, child):
        text = read(os.path.join(self.folder, f"{child.number}.err"))
        return text.decode(errors="replace").strip()[-300:]

    def output_of(self, child):
        return read(os.path.join(self.folder, f"{child.number}.out"))

    def run(self, *words, statuses=(0,), strikes=(), env=None):
        strikes = list(strikes)
        self.strikes += strikes
        ended = threading.Event()
        child = self.start(*words, env=env)
        striker = threading.Thread(target=self.strike_all, args=(strikes, ended))
        striker.start()
        try:
            return self.finish(child, statuses, strikes)
        finally:
            ended.set()
            striker.join()

    def draw_strikes(self, horizon, share=0.75, signals=None):
        """None in a part of the cases: these must succeed."""
        if self.rng.random() > share:
            return []
        return [Strike(self.rng, horizon, signals) for _ in range(self.rng.choice([1, 1, 1, 2, 3]))]

    # -- what must hold ----------------------------------------------------------------------------

    def results(self):
        return [name for name in sorted(os.listdir(self.work)) if name.endswith(".jsonl")]

    def look(self):
        """Remembers the lines that a reader sees now, and misses none that it saw before."""
        for name in self.results():
            lines = [line for line in read(self.path(name)).split(b"\n")[:-1]
                     if b'"type":"footer"' not in line]
            there = set(lines)
            for line in self.shadow.get(name, ()):
                if line not in there:
                    raise Failure(f"{name} has lost a line: {line[:300]!r}")
            self.shadow[name] = lines

    def check_files(self):
        for name in self.results():
            text = read(self.path(name))
            if text and not text.endswith(b"\n"):
                raise Failure(f"{name} ends within a line: {text[-200:]!r}")
            for line in text.split(b"\n")[:-1]:
                try:
                    record = json.loads(line)
                except ValueError:
                    raise Failure(f"{name} has a torn line: {line[:300]!r}") from None
                if record["type"] == "point" and record["status"] in ("failed", "infeasible") \
                        and "throughput_ips" in record:
                    raise Failure(f"a point that is {record['status']} has a number: {line[:300]!r}")

    def check_gone(self):
        deadline = time.monotonic() + GONE_SECONDS
        while self.processes():
            if time.monotonic() > deadline:
                left = ", ".join(self.name_of(pid) for pid in self.processes())
                raise Failure(f"still there after {GONE_SECONDS} s: {left}")
            time.sleep(0.1)

    def has_killed_all_keepers(self):
        """Orchestrator, supervisor and keeper: what a program has started may stay then."""
        killed = [name for strike in self.strikes if strike.name in ("KILL", "SEGV")
                  for name in strike.struck]
        workers = [name for name in killed if name.startswith("mpsweep-worker[")]
        return len(workers) > 1 and any(name.startswith("mpsweep[") for name in killed)

    def check_next_run(self):
        """Whatever a struck command left in TMPDIR, the next one removes."""
        self.run(MPSWEEP, "sweep", "-d", "emulated", "-l", "processes+mps:1", "-k", 2, "--iterations",
                 3, "--warmup", 0, "-q")
        left = os.listdir(self.tmp)
        if left:
            raise Failure(f"still in TMPDIR after the next run: {', '.join(left)}")

    def end(self):
        """Whatever happened, nothing of this iteration survives it."""
        for pipe in self.pipes:
            os.close(pipe)
        for _ in range(100):
            found = self.processes()
            if not found:
                return
            for pid in found:
                self.send(pid, signal.SIGKILL)
            time.sleep(0.05)


def group_of(pid):
    try:
        return os.getpgid(pid)
    except OSError:
        return -1
