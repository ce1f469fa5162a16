#!/usr/bin/env python3
"""Three services of PyTorch that know nothing of mpsweep.

    mpsweep sweep -l processes+mps:1,2,4 -- python3 unchanged_torch.py mlp
    mpsweep sweep -l processes+mps:1,2,4 -- python3 unchanged_torch.py decode
    mpsweep sweep -l processes+mps:1,2,4 -- python3 unchanged_torch.py graph

mlp answers batches of inputs, decode generates 16 tokens with a cache of keys and values, kernel by
kernel, and graph generates them by one CUDA graph. Each second a line on standard output reports how
many answers a second there were. With --threads N it has that many threads with a stream each, as in

    mpsweep tune -- sh -c 'exec python3 unchanged_torch.py decode --threads "$MPSWEEP_THREADS"'

With --explicit the program reports its iterations itself, in one thread, so that both ways can be
compared.
"""
import argparse
import threading
import time

import torch

DEVICE = torch.device("cuda")
TOKENS, PROMPT, LAYERS, WIDTH, HEADS, WORDS = 16, 32, 4, 512, 8, 8192


class Mlp:
    """A batch of inputs through eight layers."""

    def __init__(self):
        layers = []
        for _ in range(8):
            layers += [torch.nn.Linear(1024, 1024), torch.nn.ReLU()]
        self.model = torch.nn.Sequential(*layers).half().to(DEVICE)
        self.batch = torch.randn(64, 1024).half().pin_memory()

    def answer(self):
        """Returns the outputs, on the host."""
        return self.model(self.batch.to(DEVICE, non_blocking=True)).cpu()


class Decoder:
    """A transformer that generates TOKENS words after a prompt."""

    def __init__(self):
        make = lambda *shape: torch.randn(*shape, device=DEVICE, dtype=torch.half) * 0.02
        self.words = make(WORDS, WIDTH)
        self.layers = [{"qkv": make(WIDTH, 3 * WIDTH), "out": make(WIDTH, WIDTH),
                        "up": make(WIDTH, 4 * WIDTH), "down": make(4 * WIDTH, WIDTH)}
                       for _ in range(LAYERS)]
        shape = (LAYERS, HEADS, PROMPT + TOKENS, WIDTH // HEADS)
        self.keys, self.values = make(*shape), make(*shape)
        self.prompt = torch.randint(WORDS, (1,)).pin_memory()
        self.word = torch.zeros(1, dtype=torch.long, device=DEVICE)
        self.answers = torch.zeros(TOKENS, dtype=torch.long, device=DEVICE)

    def step(self, word, at):
        """Returns the word after this one, which is at a place of the cache."""
        x = self.words[word]
        for number, layer in enumerate(self.layers):
            qkv = torch.nn.functional.layer_norm(x, (WIDTH,)) @ layer["qkv"]
            query, key, value = qkv.view(3, HEADS, 1, WIDTH // HEADS)
            self.keys[number, :, at:at + 1] = key
            self.values[number, :, at:at + 1] = value
            seen = torch.nn.functional.scaled_dot_product_attention(
                query, self.keys[number, :, :at + 1], self.values[number, :, :at + 1])
            x = x + seen.reshape(1, WIDTH) @ layer["out"]
            x = x + torch.relu(x @ layer["up"]) @ layer["down"]
        return (x @ self.words.t()).argmax(-1)

    def generate(self):
        """Fills self.answers from self.word, on the GPU."""
        word = self.word
        for i in range(TOKENS):
            word = self.step(word, PROMPT + i)
            self.answers[i:i + 1] = word

    def answer(self):
        """Returns the words, on the host."""
        self.word.copy_(self.prompt, non_blocking=True)
        self.generate()
        return self.answers.cpu()


class GraphDecoder(Decoder):
    """The same, captured."""

    def __init__(self):
        super().__init__()
        stream = torch.cuda.Stream()
        with torch.cuda.stream(stream):
            self.generate()
        torch.cuda.current_stream().wait_stream(stream)
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.generate()

    def answer(self):
        self.word.copy_(self.prompt, non_blocking=True)
        self.graph.replay()
        return self.answers.cpu()


def serve(service):
    """Answers for ever."""
    count, since = 0, time.monotonic()
    while True:
        service.answer()
        count += 1
        now = time.monotonic()
        if now - since >= 1:
            print(f"{count / (now - since):.1f}/s", flush=True)
            count, since = 0, now


def serve_in_threads(services):
    """Answers for ever, each of them in a thread and a stream of its own."""
    def run(service):
        with torch.inference_mode(), torch.cuda.stream(torch.cuda.Stream()):
            serve(service)
    torch.cuda.synchronize()
    threads = [threading.Thread(target=run, args=(service,)) for service in services]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def serve_explicitly(service):
    """Answers until mpsweep has measured enough."""
    import mpsweep
    worker = mpsweep.worker()
    for _ in range(20):
        service.answer()
    worker.ready()
    while worker.running():
        with worker:
            service.answer()
    worker.close()


def main():
    kinds = {"mlp": Mlp, "decode": Decoder, "graph": GraphDecoder}
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("kind", choices=kinds)
    parser.add_argument("--threads", type=int, default=1, metavar="N", help="(default: 1)")
    parser.add_argument("--explicit", action="store_true", help="report iterations to mpsweep")
    options = parser.parse_args()
    if options.threads < 1 or (options.explicit and options.threads > 1):
        parser.error("at least one thread, and with --explicit only one")
    with torch.inference_mode():
        services = [kinds[options.kind]() for _ in range(options.threads)]
        if options.explicit:
            serve_explicitly(services[0])
        elif options.threads == 1:
            serve(services[0])
        else:
            serve_in_threads(services)


if __name__ == "__main__":
    main()
