#!/usr/bin/env python3
"""The smallest threaded Python program that mpsweep can measure: each of its threads ticks.

    mpsweep sweep --layout processes+mps:1-4,hybrid:2x2 -- python3 ticker.py 200

It needs neither PyTorch nor a toolkit: it uses the GPU only as far as to be there, so that mpsweep
can prove over what it runs. Replace use_gpu() and work() by your own; serve_torch.py beside this
file has a model in their place. Run by hand it ticks ten times a thread, and nothing is measured.
"""
import ctypes
import os
import sys
import threading
import time

import mpsweep  # mpsweep puts it on PYTHONPATH; by hand, a copy beside this file does


def use_gpu():
    """Makes a context of the driver that mpsweep found. A framework does it by itself."""
    driver, context = ctypes.CDLL(os.environ["MPSWEEP_DRIVER"]), ctypes.c_void_p()
    if driver.cuInit(0) or driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0):
        sys.exit("ticker.py: the driver gives no context")


def work(seconds):
    """In place of something useful."""
    time.sleep(seconds)


def serve(seconds):
    """One thread: ready once, then an iteration after the other until mpsweep ends it."""
    left = 10
    mpsweep.ready()
    while mpsweep.running() and left > 0:
        with mpsweep.iteration():
            work(seconds)
        left -= not mpsweep.is_measured()
    mpsweep.close()


def main():
    seconds = float(sys.argv[1]) / 1e6 if len(sys.argv) > 1 else 0.001
    if mpsweep.is_measured():
        use_gpu()
    threads = [threading.Thread(target=serve, args=(seconds,))
               for _ in range(mpsweep.thread_count())]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


if __name__ == "__main__":
    main()
