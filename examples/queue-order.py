#!/usr/bin/env python3
"""Do streams that share a hardware queue run beside each other? Needs PyTorch and a GPU.

Each stream gets the same kernels, which only wait, so that any number of them fit on the GPU at
once. They are launched in turns (a kernel of each stream, and so on) or in blocks (all of one
stream's, then all of the next one's). With fewer queues than streams a block waits for the block
before it, and kernels launched in turns do not:

  CUDA_DEVICE_MAX_CONNECTIONS=1 python3 queue-order.py 4
  CUDA_DEVICE_MAX_CONNECTIONS=8 python3 queue-order.py 4
"""
import os
import sys
import time

import torch

KERNELS = 100
CYCLES = 90_000  # about 50 us
RUNS = 7

count = int(sys.argv[1]) if len(sys.argv) > 1 else 4
streams = [torch.cuda.Stream() for _ in range(count)]


def milliseconds(order):
    torch.cuda.synchronize()
    begin = time.perf_counter()
    for number in order:
        with torch.cuda.stream(streams[number]):
            torch.cuda._sleep(CYCLES)
    torch.cuda.synchronize()
    return (time.perf_counter() - begin) * 1e3


def blocks(size):
    return [s for _ in range(KERNELS // size) for s in range(count) for _ in range(size)]


orders = {
    "one stream alone": [0] * KERNELS,
    "in turns": blocks(1),
    "in blocks of 10": blocks(10),
    "in blocks of 50": blocks(50),
    "one stream after the other": blocks(KERNELS),
}
print(f"{torch.cuda.get_device_name()}, {count} streams, {KERNELS} kernels each, "
      f"{os.environ.get('CUDA_DEVICE_MAX_CONNECTIONS', 'default')} queues")
for name, order in orders.items():
    milliseconds(order)
    print(f"{name:28} {sorted(milliseconds(order) for _ in range(RUNS))[RUNS // 2]:7.2f} ms")
