#!/usr/bin/env python3
"""Serves a PyTorch model over HTTP, as servers do that know nothing of mpsweep, so that mpsweep can
find out how many of it, and how many requests at a time, are best.

    echo "{\\"x\\": [$(seq -s , 1024)]}" >request.json
    mpsweep sweep --server --ready http://127.0.0.1:{port}/health \\
        --request "POST http://127.0.0.1:{port}/infer" --body request.json --expect 200 \\
        --layout processes:1,2,processes+mps:1,2 --streams 1,8 \\
        -- python3 serve_http.py --port {port} --threads 4

POST /infer with {"x": [...]}, of --width numbers, answers {"y": [...]}. GET /health answers once
the model is loaded and warm: before, the server does not listen. The model runs in --threads
threads with a stream each, so that the event loop stays free. It needs PyTorch with CUDA, and
aiohttp.
"""
import argparse
import asyncio
import concurrent.futures
import sys
import threading


def arguments():
    parser = argparse.ArgumentParser(description="Serve a small PyTorch model over HTTP.")
    parser.add_argument("--port", type=int, default=8000, help="to listen on (default: 8000)")
    parser.add_argument("--threads", type=int, default=4, help="that run the model (default: 4)")
    parser.add_argument("--width", type=int, default=1024, help="of the layers (default: 1024)")
    parser.add_argument("--layers", type=int, default=8, help="how many (default: 8)")
    return parser.parse_args()


class Model:
    """A model of many layers that stays on the GPU."""

    def __init__(self, torch, options):
        layers = []
        for _ in range(options.layers):
            layers += [torch.nn.Linear(options.width, options.width), torch.nn.GELU()]
        self.torch = torch
        self.width = options.width
        self.layers = torch.nn.Sequential(*layers).half().cuda().eval()
        self.own = threading.local()  # a stream for each thread

    def infer(self, x):
        torch = self.torch
        if not hasattr(self.own, "stream"):
            self.own.stream = torch.cuda.Stream()
        with torch.inference_mode(), torch.cuda.stream(self.own.stream):
            y = self.layers(torch.tensor([x], dtype=torch.float16).cuda())
            return y[0].tolist()  # waits for the stream


def warm_up(model, pool, threads):
    """Lets each thread of the pool load, compile and allocate."""
    barrier = threading.Barrier(threads)

    def infer(_):
        barrier.wait()  # holds a thread, so that each gets one
        for _ in range(3):
            model.infer([0.0] * model.width)
    list(pool.map(infer, range(threads)))


def make_app(web, model, pool):
    async def infer(request):
        try:
            x = [float(number) for number in (await request.json())["x"]]
        except (KeyError, TypeError, ValueError):
            x = []
        if len(x) != model.width:
            return web.json_response({"error": "x must be %d numbers" % model.width}, status=400)
        y = await asyncio.get_running_loop().run_in_executor(pool, model.infer, x)
        return web.json_response({"y": y})

    async def health(_):
        return web.Response(text="ok")

    app = web.Application()
    app.add_routes([web.post("/infer", infer), web.get("/health", health)])
    return app


def main():
    options = arguments()
    try:
        import torch
        from aiohttp import web
    except ImportError as error:
        sys.exit("serve_http.py: needs PyTorch and aiohttp: pip install torch aiohttp (%s)" % error)
    if not torch.cuda.is_available():
        sys.exit("serve_http.py: PyTorch finds no GPU")
    pool = concurrent.futures.ThreadPoolExecutor(options.threads)
    model = Model(torch, options)
    warm_up(model, pool, options.threads)
    web.run_app(make_app(web, model, pool), host="127.0.0.1", port=options.port, print=None,
                access_log=None)


if __name__ == "__main__":
    main()
