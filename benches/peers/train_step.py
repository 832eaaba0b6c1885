"""One training step of the reference encoder in PyTorch, eager and compiled.

As a program it times both in turn and prints a JSON line each:

    python benches/peers/train_step.py --threads 1 2 --rounds 100

PyTorch is as it comes, unless `--keep-memory` has glibc keep what tensors free, which the study does.

As a module, `prepare(size, compiled)` gives a call that takes one step, on as many threads as PyTorch
is set to, for a bench that times it beside others.

A step clears the gradients, goes forward, takes the cross-entropy of every answer, goes backward,
lets Adam move the parameters and reads the loss back. Those of `reverse` and `digits`, which are the
laboratory's own, also clip the gradient of each parameter by its norm. The batch lies there already:
drawing it is no part of a step.
"""

import argparse
import json
import statistics
import time

import torch

from reference import EVERY, MEAN, Encoder, Training, keep_freed_memory

# Batch, sequence, vocabulary, classes, where answers are read, answers a row, whether to clip.
SIZES = {
    "batch 32, seq 64, every position": (32, 64, 16, 16, EVERY, 64, False),
    "reverse: batch 64, seq 22": (64, 22, 10, 8, slice(1, 21), 20, True),
    "digits: batch 64, seq 64": (64, 64, 17, 10, MEAN, 1, True),
}


def prepare(size, compiled):
    """A call that takes one step of a training with sinusoidal positions on one batch."""
    batch, seq, vocabulary, classes, read, answers, clipped = SIZES[size]
    encoder = Encoder(vocabulary, classes, "sinusoidal", seq, read, seed=1)
    training = Training(encoder, clipped, compiled)
    generator = torch.Generator().manual_seed(1)
    tokens = torch.randint(vocabulary, (batch, seq), generator=generator)
    targets = torch.randint(classes, (batch * answers,), generator=generator)
    return lambda: training.step(tokens, targets)


def measure(size, threads, rounds, suffix):
    """Times eager and compiled steps in turn, after five of each that are not counted."""
    torch.set_num_threads(threads)
    name = f"PyTorch {torch.__version__.split('+')[0]}"
    steps = {
        f"{name} {how}{suffix}": prepare(size, compiled)
        for how, compiled in (("eager", False), ("compiled", True))
    }
    for step in steps.values():
        for _ in range(5):
            step()
    times = {who: [] for who in steps}
    for _ in range(rounds):
        for who, step in steps.items():
            start = time.perf_counter()
            step()
            times[who].append(1e3 * (time.perf_counter() - start))
    for who, taken in times.items():
        tenths = statistics.quantiles(taken, n=10, method="inclusive")
        line = {
            "bench": "train_step",
            "size": size,
            "who": who,
            "threads": threads,
            "median_ms": statistics.median(taken),
            "p10_ms": tenths[0],
            "p90_ms": tenths[-1],
            "n": rounds,
        }
        print(json.dumps(line), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--threads", type=int, nargs="+", default=[torch.get_num_threads()])
    parser.add_argument("--rounds", type=int, default=100, help="at least 2 [default: 100]")
    parser.add_argument("--keep-memory", action="store_true", help="keep what tensors free")
    arguments = parser.parse_args()
    if arguments.rounds < 2 or min(arguments.threads) < 1:
        parser.error("--rounds must be at least 2 and --threads at least 1")
    suffix = ""
    if arguments.keep_memory:
        keep_freed_memory()
        suffix = ", memory kept"
    for threads in arguments.threads:
        for size in SIZES:
            measure(size, threads, arguments.rounds, suffix)


if __name__ == "__main__":
    main()
