#!/usr/bin/env python3
"""Serves a PyTorch model made on the spot, so that mpsweep can find out how to lay it out.

    mpsweep sweep --layout processes:1,2,4,threads:1,2,4,processes+mps:1,2,4,hybrid:2x2 \\
        -- python3 serve_torch.py --batch 8

Each of the MPSWEEP_THREADS threads has a stream of its own and serves one batch an iteration: copy
in, a few layers, copy out, check. Run by hand it does the same for --requests batches and prints
how fast that was. It needs PyTorch with CUDA.
"""
import argparse
import sys
import threading
import time

try:
    import mpsweep  # mpsweep puts it on PYTHONPATH; a copy beside this file works alone, too
except ImportError:
    mpsweep = None


def arguments():
    parser = argparse.ArgumentParser(description="Serve a small PyTorch model on the GPU.")
    parser.add_argument("--batch", type=int, default=8, help="inputs of a request (default: 8)")
    parser.add_argument("--width", type=int, default=1024, help="of the layers (default: 1024)")
    parser.add_argument("--layers", type=int, default=8, help="how many (default: 8)")
    parser.add_argument("--requests", type=int, default=200,
                        help="to serve without mpsweep (default: 200)")
    return parser.parse_args()


def make_model(torch, options, seed):
    torch.manual_seed(seed)
    layers = []
    for _ in range(options.layers):
        layers += [torch.nn.Linear(options.width, options.width), torch.nn.GELU()]
    return torch.nn.Sequential(*layers).half().cuda().eval()


class Server:
    """What one thread serves with: buffers, a stream, and the answer that is right."""

    def __init__(self, torch, model, options, seed):
        self.torch = torch
        self.model = model
        self.stream = torch.cuda.Stream()
        generator = torch.Generator().manual_seed(seed)
        self.request = torch.randn(options.batch, options.width, generator=generator).half()
        self.request = self.request.pin_memory()
        self.answer = torch.empty_like(self.request, pin_memory=True)
        for _ in range(3):  # the first ones load and compile
            self.serve()
        self.expected = self.answer.clone()

    def serve(self):
        torch = self.torch
        with torch.inference_mode(), torch.cuda.stream(self.stream):
            answer = self.model(self.request.to("cuda", non_blocking=True))
            self.answer.copy_(answer, non_blocking=True)
        self.stream.synchronize()

    def is_right(self):
        return self.torch.allclose(self.answer, self.expected, rtol=1e-2, atol=1e-2)


def serve_measured(torch, model, options, seed):
    worker = mpsweep.worker()
    try:
        server = Server(torch, model, options, seed)
        worker.ready()
        while worker.running():
            with worker:
                server.serve()
            worker.check(server.is_right(), "the answer is not the one of before")
    except Exception as error:  # of a thread: otherwise it would be lost
        worker.fail("%s: %s" % (type(error).__name__, error))
        raise
    worker.close()


def serve_alone(torch, model, options):
    server = Server(torch, model, options, 0)
    begin = time.monotonic()
    for _ in range(options.requests):
        server.serve()
    seconds = time.monotonic() - begin
    print("%.0f requests/s of %d inputs" % (options.requests / seconds, options.batch))


def main():
    options = arguments()
    try:
        import torch
    except ImportError:
        sys.exit("serve_torch.py: needs PyTorch: pip install torch")
    if not torch.cuda.is_available():
        sys.exit("serve_torch.py: PyTorch finds no GPU")
    seed = mpsweep.seed() if mpsweep else 0
    model = make_model(torch, options, seed)
    if mpsweep is None or not mpsweep.is_measured():
        serve_alone(torch, model, options)
        return
    threads = [threading.Thread(target=serve_measured, args=(torch, model, options, seed + number))
               for number in range(mpsweep.thread_count())]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


if __name__ == "__main__":
    main()
