#!/usr/bin/env python3
"""Serves a model with one event loop a thread and several CUDA streams in each, so that mpsweep can
find out how many streams, threads and processes are best.

    mpsweep sweep --layout threads:1,2,processes+mps:1,2 --streams 1,4,16 \\
        -- python3 serve_streams.py --batch 8

Each of the MPSWEEP_THREADS threads runs an asyncio event loop; each of its MPSWEEP_STREAMS streams
is a coroutine that enqueues one batch, leaves the loop to the others until the GPU has finished it,
and checks the answer. With PyTorch on a GPU it is a small model, as a CUDA graph. Without, it is a
copy there and back through the driver alone, which the emulated GPU has, too. Run by hand it serves
--requests batches on --streams streams and prints how fast that was.
"""
import argparse
import asyncio
import ctypes
import os
import threading
import time

try:
    import mpsweep  # mpsweep puts it on PYTHONPATH; a copy beside this file works alone, too
except ImportError:
    mpsweep = None

making = threading.Lock()  # while a graph is captured, other threads must not allocate


def arguments():
    parser = argparse.ArgumentParser(description="Serve on several CUDA streams a thread.")
    parser.add_argument("--batch", type=int, default=8, help="inputs of a request (default: 8)")
    parser.add_argument("--width", type=int, default=1024, help="of the layers (default: 1024)")
    parser.add_argument("--layers", type=int, default=8, help="how many (default: 8)")
    parser.add_argument("--requests", type=int, default=200,
                        help="to serve without mpsweep (default: 200)")
    parser.add_argument("--streams", type=int, default=4, help="without mpsweep (default: 4)")
    return parser.parse_args()


class TorchGPU:
    """A model that all streams of a process share."""

    def __init__(self, torch, options, seed):
        torch.manual_seed(seed)
        layers = []
        for _ in range(options.layers):
            layers += [torch.nn.Linear(options.width, options.width), torch.nn.GELU()]
        self.torch = torch
        self.model = torch.nn.Sequential(*layers).half().cuda().eval()
        self.shape = options.batch, options.width

    def stream(self, seed):
        return TorchStream(self, seed)


class TorchStream:
    """What one stream serves with: buffers, a graph, and the answer that is right."""

    def __init__(self, gpu, seed):
        torch = self.torch = gpu.torch
        generator = torch.Generator().manual_seed(seed)
        self.request = torch.randn(*gpu.shape, generator=generator).half().pin_memory()
        self.answer = torch.empty_like(self.request, pin_memory=True)
        self.on_gpu = self.request.cuda()
        self.stream = torch.cuda.Stream()
        self.graph = torch.cuda.CUDAGraph()
        with torch.inference_mode():
            self.stream.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(self.stream):
                for _ in range(3):  # the first ones load and compile
                    gpu.model(self.on_gpu)
            self.stream.synchronize()
            with torch.cuda.graph(self.graph, stream=self.stream):
                self.result = gpu.model(self.on_gpu)
        self.enqueue()
        self.stream.synchronize()
        self.expected = self.answer.clone()

    def enqueue(self):
        torch = self.torch
        with torch.inference_mode(), torch.cuda.stream(self.stream):
            self.on_gpu.copy_(self.request, non_blocking=True)
            self.graph.replay()
            self.answer.copy_(self.result, non_blocking=True)

    def has_ended(self):
        return self.stream.query()

    def is_right(self):
        return self.torch.allclose(self.answer, self.expected, rtol=1e-2, atol=1e-2)


class DriverGPU:
    """The driver alone, by ctypes."""

    NOT_READY = 600

    def __init__(self, options):
        self.driver = ctypes.CDLL(os.environ.get("MPSWEEP_DRIVER", "libcuda.so.1"))
        self.bytes = options.batch * options.width
        self.context = ctypes.c_void_p()
        self.call("cuInit", 0)
        self.call("cuDevicePrimaryCtxRetain", ctypes.byref(self.context), 0)

    def call(self, name, *arguments):
        result = getattr(self.driver, name)(*arguments)
        if result not in (0, self.NOT_READY):
            raise RuntimeError("%s gives CUresult %d" % (name, result))
        return result == 0

    def stream(self, seed):
        self.call("cuCtxSetCurrent", self.context)
        return DriverStream(self, seed)


class DriverStream:
    def __init__(self, gpu, seed):
        self.gpu = gpu
        self.stream, self.on_gpu = ctypes.c_void_p(), ctypes.c_uint64()
        self.request, self.answer = ctypes.c_void_p(), ctypes.c_void_p()
        self.bytes = ctypes.c_size_t(gpu.bytes)
        gpu.call("cuStreamCreate", ctypes.byref(self.stream), 1)
        gpu.call("cuMemAlloc_v2", ctypes.byref(self.on_gpu), self.bytes)
        for memory in self.request, self.answer:
            gpu.call("cuMemHostAlloc", ctypes.byref(memory), self.bytes, 0)
        ctypes.memset(self.request, seed % 255 + 1, gpu.bytes)

    def enqueue(self):
        ctypes.memset(self.answer, 0, self.gpu.bytes)
        self.gpu.call("cuMemcpyHtoDAsync_v2", self.on_gpu, self.request, self.bytes, self.stream)
        self.gpu.call("cuMemcpyDtoHAsync_v2", self.answer, self.on_gpu, self.bytes, self.stream)

    def has_ended(self):
        return self.gpu.call("cuStreamQuery", self.stream)

    def is_right(self):
        return (ctypes.string_at(self.answer, self.gpu.bytes) ==
                ctypes.string_at(self.request, self.gpu.bytes))


def make_gpu(options, seed):
    try:
        import torch
    except ImportError:
        return DriverGPU(options)
    return TorchGPU(torch, options, seed) if torch.cuda.is_available() else DriverGPU(options)


async def serve_one(stream):
    stream.enqueue()
    while not stream.has_ended():
        await asyncio.sleep(0)  # the other streams' turn


async def serve_measured(worker, stream):
    while worker.running():
        async with worker:
            await serve_one(stream)
        worker.check(stream.is_right(), "the answer is not the one of before")


async def serve_workers(workers, gpu, seed):
    with making:
        streams = [gpu.stream(seed + number) for number in range(len(workers))]
    for worker in workers:
        worker.ready()  # the last one waits for the common start
    await asyncio.gather(*map(serve_measured, workers, streams))


def run_thread(gpu, seed):
    workers = mpsweep.workers()
    try:
        asyncio.run(serve_workers(workers, gpu, seed))
    except Exception as error:  # of a thread: otherwise it would be lost
        workers[0].fail("%s: %s" % (type(error).__name__, error))
        raise
    for worker in workers:
        worker.close()


async def serve_alone(gpu, options):
    async def serve(stream):
        for _ in range(options.requests):
            await serve_one(stream)
    streams = [gpu.stream(number) for number in range(options.streams)]
    begin = time.monotonic()
    await asyncio.gather(*map(serve, streams))
    seconds = time.monotonic() - begin
    print("%.0f requests/s of %d inputs"
          % (options.requests * len(streams) / seconds, options.batch))


def main():
    options = arguments()
    measured = mpsweep is not None and mpsweep.is_measured()
    seed = mpsweep.seed() if measured else 0
    gpu = make_gpu(options, seed)
    if not measured:
        asyncio.run(serve_alone(gpu, options))
        return
    count = mpsweep.stream_count()
    threads = [threading.Thread(target=run_thread, args=(gpu, seed + number * count))
               for number in range(mpsweep.thread_count())]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


if __name__ == "__main__":
    main()
