"""Programs of other frameworks, and of other habits, that know nothing of mpsweep.

    python3 frameworks.py NAME FILE

runs the one of that name for ever, and writes to FILE.PID, once a quarter of a second, how many
iterations a second it has done itself.
"""
import os
import random
import sys
import time


class Rate:
    """What the program counts."""

    def __init__(self, path):
        self.file = open(f"{path}.{os.getpid()}", "w", buffering=1)
        self.count, self.since = 0, time.monotonic()

    def tick(self):
        self.count += 1
        now = time.monotonic()
        if now - self.since > 0.25:
            self.file.write(f"{self.count / (now - self.since):.2f}\n")
            self.count, self.since = 0, now


def forever(rate, iterate):
    while True:
        iterate()
        rate.tick()


def jax_batches(rate):
    """JAX copies and waits in threads of its own."""
    os.environ["XLA_PYTHON_CLIENT_PREALLOCATE"] = "false"
    import jax
    import jax.numpy as jnp
    import numpy as np
    layers = [jax.random.normal(jax.random.PRNGKey(i), (1024, 1024)) * 0.03 for i in range(8)]

    @jax.jit
    def answer(x):
        for layer in layers:
            x = jnp.maximum(x @ layer, 0)
        return x.sum(1)

    batch = np.ones((64, 1024), dtype=np.float32)
    forever(rate, lambda: np.asarray(answer(jnp.asarray(batch))))


def jax_texts(rate):
    """Texts of any length: a small copy in and out for each word."""
    os.environ["XLA_PYTHON_CLIENT_PREALLOCATE"] = "false"
    import jax
    import jax.numpy as jnp
    import numpy as np
    layer = jax.random.normal(jax.random.PRNGKey(0), (512, 512)) * 0.04

    @jax.jit
    def step(state, word):
        for _ in range(4):
            state = jnp.tanh(state @ layer)
        return state, jnp.argmax(state[:, :64], axis=1) + word

    def text():
        state = jnp.asarray(np.random.rand(4, 512).astype(np.float32))
        word = jnp.zeros(4, jnp.int32)
        for _ in range(random.randint(8, 24)):
            state, word = step(state, word)
            int(word[0])

    forever(rate, text)


def cupy_spectra(rate):
    """CuPy and cuFFT."""
    import cupy
    import numpy
    signals = numpy.random.rand(32, 65536).astype(numpy.complex64)
    forever(rate, lambda: cupy.asnumpy(cupy.abs(cupy.fft.fft(cupy.asarray(signals))).max(axis=1)))


def clusters(rate):
    """CuPy: data that stay on the GPU, and for each answer as many steps as it takes to converge."""
    import cupy
    points = cupy.random.rand(20000, 8, dtype=cupy.float32)
    names = cupy.arange(16)[None]
    while True:
        centres = points[cupy.random.randint(0, 20000, 16)]
        rate.tick()
        before = 1e9
        for _ in range(30):
            distances = ((points[:, None] - centres[None]) ** 2).sum(2)
            now = float(distances.min(1).sum())
            rate.tick()
            if abs(before - now) < 1e-3 * now:
                break
            before = now
            near = (distances.argmin(1)[:, None] == names).astype(cupy.float32)
            centres = (near.T @ points) / cupy.maximum(near.sum(0), 1)[:, None]


def texts(rate):
    """A language model of transformers, with prompts and answers of any length."""
    import torch
    import transformers
    transformers.logging.set_verbosity_error()
    model = transformers.GPT2LMHeadModel(transformers.GPT2Config(
        n_layer=2, n_embd=128, n_head=4, vocab_size=2000)).cuda().half().eval()

    def answer():
        prompt = torch.randint(0, 2000, (2, random.choice((8, 16, 40)))).cuda()
        model.generate(prompt, max_new_tokens=random.randint(4, 12), do_sample=True,
                       pad_token_id=0).tolist()

    with torch.no_grad():
        forever(rate, answer)


def batches(rate):
    """Batches of any size."""
    import torch
    model = layers(torch, 512)
    with torch.inference_mode():
        forever(rate, lambda: model(torch.randn(random.randint(1, 64), 512).half().to("cuda"))
                .float().mean(1).cpu())


def pool(rate):
    """Four threads that serve one queue."""
    from concurrent.futures import ThreadPoolExecutor
    import torch
    model = layers(torch, 512)

    def serve(_):
        with torch.inference_mode():
            return model(torch.randn(32, 512).half().cuda()).argmax(1).cpu()

    with ThreadPoolExecutor(4) as executor:
        while True:
            for _ in executor.map(serve, range(16)):
                rate.tick()


def stages(rate):
    """One thread launches, and another one waits."""
    import queue
    import threading
    import torch
    model = layers(torch, 512)
    batch = torch.randn(32, 512).half().pin_memory()
    launched = queue.Queue(2)

    def answer():
        while True:
            event, result = launched.get()
            event.synchronize()
            result.sum()
            rate.tick()

    threading.Thread(target=answer, daemon=True).start()
    with torch.inference_mode():
        while True:
            result = model(batch.cuda(non_blocking=True)).to("cpu", non_blocking=True)
            event = torch.cuda.Event()
            event.record()
            launched.put((event, result))


def compiled(rate):
    """torch.compile, which makes a graph."""
    import torch
    model = torch.compile(layers(torch, 512), mode="reduce-overhead")
    batch = torch.randn(32, 512).half().pin_memory()
    with torch.inference_mode():
        forever(rate, lambda: model(batch.cuda(non_blocking=True)).float().cpu())


def training(rate):
    """Steps with a look at the loss each ten, with processes that load the data."""
    import torch
    from torch.utils.data import DataLoader, TensorDataset
    data = DataLoader(TensorDataset(torch.randn(8192, 256), torch.randint(0, 10, (8192,))),
                      batch_size=128, num_workers=2, persistent_workers=True, shuffle=True)
    model = torch.nn.Sequential(torch.nn.Linear(256, 512), torch.nn.ReLU(),
                                torch.nn.Linear(512, 10)).cuda()
    optimizer = torch.optim.AdamW(model.parameters())
    steps = 0
    while True:
        for x, y in data:
            loss = torch.nn.functional.cross_entropy(model(x.cuda()), y.cuda())
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            steps += 1
            if steps % 10 == 0:
                loss.item()
            rate.tick()


def pinned(rate):
    """Training whose copies wait for nothing, with a look at the loss each twenty steps."""
    import torch
    model = layers(torch, 1024).bfloat16()
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-4)
    batches = [torch.randn(256, 1024).bfloat16().pin_memory() for _ in range(8)]
    steps = 0

    def step():
        nonlocal steps
        x = batches[steps % 8].cuda(non_blocking=True)
        optimizer.zero_grad()
        loss = model(x).float().pow(2).mean()
        loss.backward()
        optimizer.step()
        steps += 1
        if steps % 20 == 0:
            loss.item()

    forever(rate, step)


def scaled(rate):
    """Training in half precision: a step also waits for whether its gradients are finite."""
    import torch
    model = layers(torch, 1024).float()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    scaler = torch.amp.GradScaler("cuda")
    steps = 0

    def step():
        nonlocal steps
        x, y = torch.randn(256, 1024).cuda(), torch.randint(0, 10, (256,)).cuda()
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast("cuda", dtype=torch.float16):
            loss = torch.nn.functional.cross_entropy(model(x), y)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        steps += 1
        if steps % 10 == 0:
            loss.item()

    forever(rate, step)


def speech(rate):
    """A recording for an encoder, and the first word for a decoder, which gives any number."""
    import torch
    encode = torch.nn.TransformerEncoderLayer(512, 8, batch_first=True).cuda().half().eval()
    decode = torch.nn.TransformerDecoderLayer(512, 8, batch_first=True).cuda().half().eval()

    def answer():
        heard = torch.randn(1, 300, 512).half().cuda()
        for _ in range(4):
            heard = encode(heard)
        words = torch.zeros(1, 1, 512).half().cuda()
        for _ in range(random.randint(10, 20)):
            word = decode(words, heard)[:, -1:]
            word[0, 0, 0].item()
            words = torch.cat([words, word], 1)

    with torch.no_grad():
        forever(rate, answer)


def images(rate):
    """Twenty steps of a diffusion model without a wait, then an image."""
    import torch
    model = torch.nn.Sequential(torch.nn.Conv2d(4, 64, 3, padding=1), torch.nn.SiLU(),
                                torch.nn.Conv2d(64, 4, 3, padding=1)).cuda().half()

    def image():
        x = torch.randn(1, 4, 64, 64, device="cuda", dtype=torch.half)
        for _ in range(20):
            x = x - 0.05 * model(x)
        x.clamp(-1, 1).mul(127).to(torch.uint8).cpu()

    with torch.inference_mode():
        forever(rate, image)


def pipeline(rate):
    """Copies and kernels in streams of their own: it waits for the batch three before."""
    import torch
    copy_in, compute, copy_out = (torch.cuda.Stream() for _ in range(3))
    model = layers(torch, 512)
    given, answers = ([torch.randn(128, 512).half().pin_memory() for _ in range(3)]
                      for _ in range(2))
    ended = [None] * 3
    with torch.inference_mode():
        while True:
            for i in range(3):
                if ended[i]:
                    ended[i].synchronize()
                    rate.tick()
                with torch.cuda.stream(copy_in):
                    batch = given[i].cuda(non_blocking=True)
                compute.wait_stream(copy_in)
                with torch.cuda.stream(compute):
                    answer = model(batch)
                copy_out.wait_stream(compute)
                with torch.cuda.stream(copy_out):
                    answers[i].copy_(answer, non_blocking=True)
                    ended[i] = copy_out.record_event()
                batch.record_stream(compute)
                answer.record_stream(copy_out)


def tokens(rate):
    """A token for each of the texts at work, of which there are more or fewer: a graph for each of
    several numbers of them."""
    import torch
    model = layers(torch, 1024)
    graphs = {}
    with torch.inference_mode():
        for size in (1, 2, 4, 8, 16, 32):
            state = torch.zeros(size, 1024, device="cuda", dtype=torch.half)
            model(state)
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                token = model(state).argmax(1)
            graphs[size] = graph, state, token
        left = []
        while True:
            while not left or (len(left) < 32 and random.random() < 0.3):
                left.append(random.randint(4, 40))
            graph, state, token = graphs[next(size for size in graphs if size >= len(left))]
            state[:len(left)].copy_(torch.randn(len(left), 1024).half())
            graph.replay()
            token.tolist()
            left = [text - 1 for text in left if text > 1]
            rate.tick()


def copies(rate):
    """No kernel at all."""
    import torch
    given, answer = (torch.empty(1 << 20).pin_memory() for _ in range(2))
    there = torch.empty(1 << 20, device="cuda")

    def copy():
        there.copy_(given, non_blocking=True)
        answer.copy_(there, non_blocking=True)
        torch.cuda.synchronize()

    forever(rate, copy)


def serve_engine(pipe):
    import torch
    model = layers(torch, 1024)
    with torch.inference_mode():
        state = torch.zeros(8, 1024, device="cuda", dtype=torch.half)
        model(state)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            word = model(state).argmax(1)
        pipe.send("ready")
        while True:
            text = torch.tensor(pipe.recv(), device="cuda", dtype=torch.half)
            last = model(text[:, None].expand(-1, 1024).contiguous()).argmax(1)[-1:].tolist()
            for _ in range(16):
                state[0].fill_(last[0] / 1024)
                graph.replay()
                last = word.tolist()
            pipe.send(last)


def engine(rate):
    """The GPU is at work for a process of its own, which gets texts of any length."""
    import multiprocessing
    context = multiprocessing.get_context("spawn")
    pipe, other = context.Pipe()
    context.Process(target=serve_engine, args=(other,), daemon=True).start()
    pipe.recv()

    def text():
        pipe.send([random.random() for _ in range(random.randint(10, 200))])
        pipe.recv()

    forever(rate, text)


def sizes(rate):
    """A graph for each size of a batch, which are made first, each after its warm-up."""
    import torch
    model = layers(torch, 1024)
    graphs = []
    with torch.inference_mode():
        for size in range(1, 41):
            state = torch.zeros(size, 1024, device="cuda", dtype=torch.half)
            for _ in range(20):
                model(state)
                torch.cuda.synchronize()
                time.sleep(0.004)
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                answer = model(state)
            graphs.append((graph, state, answer))

        def batch():
            graph, state, answer = random.choice(graphs)
            state.copy_(torch.randn(len(state), 1024).half())
            graph.replay()
            answer.cpu()

        forever(rate, batch)


def epochs(rate):
    """Fifty steps of training, then ten of validation."""
    import torch
    model = torch.nn.Sequential(
        torch.nn.Conv2d(3, 32, 3, 2, 1), torch.nn.BatchNorm2d(32), torch.nn.ReLU(),
        torch.nn.AdaptiveAvgPool2d(1), torch.nn.Flatten(), torch.nn.Linear(32, 10)).cuda()
    optimizer = torch.optim.SGD(model.parameters(), 0.01, momentum=0.9)
    while True:
        for _ in range(50):
            answer = model(torch.randn(64, 3, 64, 64).cuda())
            loss = torch.nn.functional.cross_entropy(answer, torch.randint(0, 10, (64,)).cuda())
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            loss.item()
            rate.tick()
        with torch.no_grad():
            for _ in range(10):
                model(torch.randn(64, 3, 64, 64).cuda()).argmax(1).cpu()
                rate.tick()


def experts(rate):
    """A mixture of experts: each layer waits for how many rows the router gives to each of them."""
    import torch
    router = torch.nn.Linear(256, 8).cuda().half()
    chosen = [torch.nn.Sequential(torch.nn.Linear(256, 256), torch.nn.GELU()).cuda().half()
              for _ in range(8)]

    def answer():
        state = torch.randn(random.choice((16, 64)), 256).half().cuda()
        for _ in range(3):
            routes, given = router(state).argmax(1), torch.zeros_like(state)
            for i, expert in enumerate(chosen):
                rows = (routes == i).nonzero().squeeze(1)
                if len(rows):
                    given[rows] = expert(state[rows])
            state = given
        state.float().mean().item()

    with torch.inference_mode():
        forever(rate, answer)


def accumulated(rate):
    """Steps of training of four batches each; a step reads its loss and the norm of its gradients.
    """
    import torch
    model = layers(torch, 1024).float()
    optimizer = torch.optim.AdamW(model.parameters(), 1e-4)

    def step():
        optimizer.zero_grad()
        total = 0
        for _ in range(4):
            loss = model(torch.randn(64, 1024).cuda()).pow(2).mean() / 4
            loss.backward()
            total = total + loss.detach()
        norm = torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        total.item()
        norm.item()

    forever(rate, step)


def checkpoints(rate):
    """Training whose labels come behind the first layers, with a loss each ten steps and a
    checkpoint each three hundred."""
    import torch
    model = layers(torch, 512).float()
    optimizer = torch.optim.AdamW(model.parameters(), 1e-4)
    batches = [(torch.randn(64, 512).pin_memory(), torch.randint(0, 512, (64,)).pin_memory())
               for _ in range(8)]
    steps = 0

    def step():
        nonlocal steps
        x, y = batches[steps % 8]
        answer = model(x.cuda(non_blocking=True))
        loss = torch.nn.functional.cross_entropy(answer, y.cuda(non_blocking=True))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        steps += 1
        if steps % 10 == 0:
            loss.item()
        if steps % 300 == 0:
            for weights in model.state_dict().values():
                weights.cpu()

    forever(rate, step)


def fused(rate):
    """Steps of four batches, of which the last has hardly more than the others."""
    import torch
    model = layers(torch, 512).float()
    optimizer = torch.optim.AdamW(model.parameters(), 1e-4, fused=True)
    steps = 0

    def step():
        nonlocal steps
        for _ in range(4):
            loss = model(torch.randn(64, 512).cuda()).pow(2).mean() / 4
            loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        steps += 1
        if steps % 10 == 0:
            loss.item()

    forever(rate, step)


def stories(rate):
    """Many words for a short prompt, each with its position."""
    import torch
    model = layers(torch, 256)

    def story():
        state = torch.randn(1, 256).half().cuda()
        for word in range(random.randint(25, 40)):
            state = model(state) + torch.tensor([word]).cuda().half()
            state[0, 0].item()

    with torch.inference_mode():
        forever(rate, story)


def photos(rate):
    """Convolutions, and photos that a pool of OpenMP copies into pinned memory."""
    import torch
    widths = [3] + 5 * [64] + 7 * [128] + 7 * [256]
    model = torch.nn.Sequential(*[torch.nn.Sequential(
        torch.nn.Conv2d(width, after, 3, 1 if after == width else 2, 1), torch.nn.ReLU())
        for width, after in zip(widths, widths[1:])]).cuda().half()

    def answer():
        photo = torch.randint(0, 255, (8, 3, 224, 224), dtype=torch.uint8).pin_memory()
        model(photo.to("cuda", non_blocking=True).half()).mean((1, 2, 3)).tolist()

    with torch.inference_mode():
        forever(rate, answer)


def layers(torch, width):
    return torch.nn.Sequential(*[torch.nn.Sequential(
        torch.nn.Linear(width, width), torch.nn.ReLU()) for _ in range(8)]).cuda().half()


def main():
    programs = {function.__name__: function for function in (
        jax_batches, jax_texts, cupy_spectra, clusters, texts, batches, pool, stages, compiled,
        training, pinned, scaled, speech, images, pipeline, tokens, copies, engine, sizes, epochs,
        experts, accumulated, checkpoints, fused, stories, photos)}
    programs[sys.argv[1]](Rate(sys.argv[2]))


if __name__ == "__main__":
    main()
