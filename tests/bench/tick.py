"""What a tick costs in Python: `with mpsweep.iteration(): pass`, less an empty loop."""
import statistics
import time

import mpsweep

TICKS = 100000
BATCHES = 21


def loop():
    begin = time.perf_counter_ns()
    for _ in range(TICKS):
        pass
    return (time.perf_counter_ns() - begin) / TICKS


def iterations():
    begin = time.perf_counter_ns()
    for _ in range(TICKS):
        with mpsweep.iteration():
            pass
    return (time.perf_counter_ns() - begin) / TICKS


def begin_and_end():
    worker = mpsweep.worker()
    begin = time.perf_counter_ns()
    for _ in range(TICKS):
        worker.begin()
        worker.end()
    return (time.perf_counter_ns() - begin) / TICKS


mpsweep.ready()
empty = statistics.median(loop() for _ in range(BATCHES))
for name, measure in (("with mpsweep.iteration()", iterations),
                      ("worker.begin(), worker.end()", begin_and_end)):
    costs = sorted(measure() - empty for _ in range(BATCHES))
    print("a tick in Python, %s: median %.0f ns, fastest batch %.0f ns"
          % (name, statistics.median(costs), costs[0]))
