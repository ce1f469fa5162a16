"""Workers that stand still at random moments, for 0.1 to 20 s: how many such numbers are right."""
import collections
import os
import shutil
import signal
import tempfile
import threading
import time

import oracle
from measure import BARE, workers_of
from world import METRONOME, MPSWEEP, Case, Failure, records

CONCURRENT = 12  # they wait most of the time
TOTAL = ["ok, within its interval", "ok, with a warning", "unconverged", "failed", "without a point",
         "discounted: the computer was too late", "ok and wrong, no warning",
         "max does not cover the freeze"]


def measure_frozen(case):
    """One point with a frozen worker. Returns its record, the freeze (from, to, ns), what is known."""
    rng = case.rng
    period_us = rng.choice([10000, 20000])
    layout = rng.choice(["processes+mps:2", "processes+mps:2", "processes+mps:3", "processes:1",
                         "hybrid:2x2", "threads:2"])
    duration = rng.choice([1, 2, 4])
    words = ["-l", layout, "-t", duration, "--max-duration", duration * rng.choice([1, 4]), "-p",
             rng.choice([1, 1, 5]), "--warmup", 0.2]
    if rng.random() < 0.6:
        case.series = "program"
        rest = ["--", METRONOME, period_us, rng.choice(["steady", "uniform"]), 0, rng.randint(0, 99),
                "closed"]
    else:
        kernel_ns = period_us * 1000
        case.env["MPSWEEP_EMULATED_MACHINE"] = f"{BARE},kernel_ns={kernel_ns}"
        rest = ["-k", 1, "--bytes", "1K"]
    freeze_s = 0.1 * 200 ** rng.random()
    moment = rng.uniform(0, 1.2 * duration + 0.5)
    pick = rng.random()
    case.known = lambda point: workers_of(point) * 1e6 / period_us
    child = case.start(MPSWEEP, "sweep", "-d", "emulated", "-q", "-o", case.path("r.jsonl"), *words,
                       *rest)
    while child.poll() is None and not any(name for name in os.listdir(case.lateness)):
        time.sleep(0.02)
    time.sleep(moment)
    files = [name for name in os.listdir(case.lateness)
             if name.startswith("metronome.") == ("--" in rest)]
    workers = sorted(int(name.split(".")[-1]) for name in files)
    workers = [pid for pid in workers if pid in case.processes()]
    freeze = None
    if workers:
        pid = workers[int(pick * len(workers))]
        if case.send(pid, signal.SIGSTOP):
            began = time.monotonic_ns()
            time.sleep(freeze_s)
            if case.send(pid, signal.SIGCONT):
                freeze = (began, time.monotonic_ns(), pid)
    case.finish(child, (0, 2))
    case.check_gone()
    points = [record for record in records(case.path("r.jsonl")) if record["type"] == "point"]
    return (points[-1] if points else None), freeze, period_us


def covers(case, point, freeze, period_us, lateness):
    """Whether the longest latency shows as much of the freeze as lay in the window."""
    if freeze is None or not lateness.starts:
        return True
    begin = max(lateness.starts) + 0.2e9
    end = begin + point["rounds"][0]["seconds"] * 1e9
    within_s = (min(end, freeze[1]) - max(begin, freeze[0])) / 1e9
    slack_s = 2 * period_us / 1e6 + 0.05
    return within_s <= slack_s or point["latency_us"]["max"] / 1e6 >= within_s - slack_s


def sort_out(case, point, freeze, period_us):
    if point is None:
        return "without a point"
    if point["status"] not in ("ok", "unconverged"):
        return "failed"
    lateness = oracle.Lateness(case.lateness)
    if not covers(case, point, freeze, period_us, lateness):
        return "max does not cover the freeze"
    if point["status"] == "unconverged":
        return "unconverged"
    frozen_ns = (freeze[1] - freeze[0]) * point["threads"] if freeze else 0
    slack = lateness.share(frozen_ns)
    verdict, _ = oracle.judge(point, case.known(point), slack)
    return {"right": TOTAL[0], "discounted": TOTAL[5], "warned": TOTAL[1]}.get(verdict, TOTAL[6])


def run(count, seed, _jobs):
    root = tempfile.mkdtemp(prefix="soak.", dir="/tmp")
    table, lock, numbers = collections.Counter(), threading.Lock(), iter(range(1, count + 1))

    def work():
        while True:
            with lock:
                number = next(numbers, None)
            if number is None:
                return
            case = Case(root, seed, number)
            try:
                point, freeze, period_us = measure_frozen(case)
                what = sort_out(case, point, freeze, period_us)
                case.check_files()
            except Failure as failure:
                point, freeze, period_us, what = None, None, 0, f"failure: {failure}"
            finally:
                case.end()
            with lock:
                table[what] += 1
                if what in TOTAL[:6]:
                    shutil.rmtree(case.folder)
                    continue
                print(f"{what}: seed {seed}, freeze {number}, kept: {case.folder}")
                print("  " + " ".join(case.commands[0]))
                if point is not None:
                    long_s = (freeze[1] - freeze[0]) / 1e9 if freeze else 0
                    print(f"  frozen for {long_s:.2f} s; {point['status']} {point['throughput_ips']:.2f}/s "
                          f"±{point['ci95_rel'] or 0:.2%}, {case.known(point):.2f}/s is right, max "
                          f"{point['latency_us']['max'] / 1e6:.3f} s, window "
                          f"{point['rounds'][0]['seconds']:.2f} s, warnings "
                          f"{[warning['kind'] for warning in point['warnings']]}", flush=True)

    threads = [threading.Thread(target=work) for _ in range(CONCURRENT)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print(f"\nsoak: seed {seed}, {count} freezes of a worker for 0.1 to 20 s")
    for what, times in table.most_common():
        print(f"  {times:5} {what}")
    wrong = sum(times for what, times in table.items() if what not in TOTAL[:6])
    if not wrong:
        shutil.rmtree(root)
    return 1 if wrong else 0
