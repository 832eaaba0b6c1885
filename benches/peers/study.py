"""`pe-lab compare --preset quick` in PyTorch: the same study, for its time and its scores.

Tasks, schemes, seeds, steps, recipe and model are those of `crates/pe-lab/presets/quick.toml`; lengths and the sizes of
the test sets those of the laboratory. Random numbers are PyTorch's own, so that
scores agree as two seeds do. Trials are dealt out to worker processes that live as long as the
study, forked after the imports: no trial has to import PyTorch again. Eager, since `torch.compile`
saves a twentieth of a step here and takes half a minute of processor time for every worker and task,
where all trainings together take two.

    python benches/peers/study.py --jobs 2 --threads 1 --json study.json

The file gets what was run, the seconds since the program's first line, and the scores of every trial.
"""

import time

STARTED = time.perf_counter()

import argparse
import gzip
import json
import multiprocessing
import os
import tomllib
from functools import cache
from pathlib import Path

import numpy
import torch

from reference import MEAN, Encoder, Training, keep_freed_memory, learning_rate, take

LAB = Path(__file__).resolve().parents[2] / "crates" / "pe-lab"
PRESET = tomllib.loads((LAB / "presets" / "quick.toml").read_text())
BATCH = PRESET["recipe"]["batch_size"]
CHUNK = 128


def generator(*key):
    """A generator for one purpose; every number of the key counts."""
    return torch.Generator().manual_seed(int(numpy.random.SeedSequence(key).generate_state(1)[0]))


class Toy:
    """A generated task: BOS, symbols, EOS. `first` is the first position asked about."""

    TRAIN_LENGTHS = range(4, 21)
    TEST_LENGTHS = [10, 20, 21, 25, 30, 40, 60, 80]
    TEST_SAMPLES = 512
    max_tokens = 82

    @property
    def vocabulary(self):
        return self.classes + 2

    def batch(self, draws, length, size):
        """Tokens, `[size, length + 2]`, and the answers of all rows, one after the other."""
        symbols = self.symbols(draws, length, size)
        framed = torch.nn.functional.pad(symbols, (1, 1), value=self.classes)
        framed[:, -1] += 1
        return framed, self.answers(symbols).flatten()

    def symbols(self, draws, length, size):
        return torch.randint(self.classes, (size, length), generator=draws)

    def training(self, seed):
        """Batch after batch, each of one length."""
        draws = generator(self.number, 1, seed)
        lengths = self.TRAIN_LENGTHS
        while True:
            length = lengths[torch.randint(len(lengths), (), generator=draws)]
            yield self.batch(draws, length, BATCH)

    def test_set(self, length):
        return self.batch(generator(self.number, 0, length), length, self.TEST_SAMPLES)


class Shift3(Toy):
    """Say the symbol three places before."""

    number, classes, read = 1, 8, slice(4, -1)

    def answers(self, symbols):
        return symbols[:, :-3]


class Majority(Toy):
    """Whether there are more ones than zeros; one answer, at BOS. Ties are drawn again."""

    number, classes, read = 2, 2, slice(0, 1)

    def symbols(self, draws, length, size):
        symbols = super().symbols(draws, length, size)
        while (tied := 2 * symbols.sum(1) == length).any():
            symbols[tied] = super().symbols(draws, length, int(tied.sum()))
        return symbols

    def answers(self, symbols):
        return (2 * symbols.sum(1) > symbols.shape[1]).long()


class Digits:
    """Which digit an image of 64 pixels shows, from the mean over its tokens."""

    number, vocabulary, classes, read = 3, 17, 10, MEAN
    TRAIN_LENGTHS = TEST_LENGTHS = [64]
    HELD_OUT = 397
    max_tokens = 64

    @cache
    def split(self):
        with gzip.open(LAB / "data" / "digits.csv.gz", "rt") as file:
            rows = torch.from_numpy(numpy.loadtxt(file, delimiter=",", dtype=numpy.int64))
        rows = rows[torch.randperm(len(rows), generator=generator(self.number, 0))]
        return rows[: -self.HELD_OUT], rows[-self.HELD_OUT :]

    def training(self, seed):
        """Batch after batch; each epoch has an order of its own."""
        draws = generator(self.number, 1, seed)
        train, _ = self.split()
        order = torch.empty(0, dtype=torch.int64)
        while True:
            while len(order) < BATCH:
                order = torch.cat((order, torch.randperm(len(train), generator=draws)))
            rows, order = train[order[:BATCH]], order[BATCH:]
            yield rows[:, :-1], rows[:, -1]

    def test_set(self, length):
        rows = self.split()[1]
        return rows[:, :length], rows[:, length]


TASKS = {"digits": Digits(), "shift3": Shift3(), "majority": Majority()}


def run(trial):
    """Trains and tests; gives back the trial with its scores."""
    started = time.perf_counter()
    task = TASKS[trial["task"]]
    encoder = Encoder(
        task.vocabulary, task.classes, trial["scheme"], task.max_tokens, task.read, trial["seed"]
    )
    training = Training(encoder)
    batches = task.training(trial["seed"])
    steps = trial["steps"]
    for step in range(steps):
        loss = training.step(*next(batches), learning_rate(step, steps))
        if not numpy.isfinite(loss):
            raise ArithmeticError(f"{trial} diverged: the loss is {loss} at step {step + 1}")
    scores = [
        {
            "length": length,
            "inside": length in task.TRAIN_LENGTHS,
            "accuracy": accuracy(encoder, *task.test_set(length)),
        }
        for length in task.TEST_LENGTHS
    ]
    return trial | {"scores": scores, "seconds": time.perf_counter() - started}


@torch.inference_mode()
def accuracy(encoder, tokens, targets):
    """The share of right answers."""
    right = [encoder(chunk).argmax(1) for chunk in tokens.split(CHUNK)]
    return (torch.cat(right) == targets).float().mean().item()


def trials(steps):
    """Every trial of the preset, the longest first."""
    every = [
        {"task": task, "scheme": scheme, "seed": seed, "steps": steps or PRESET["steps"][task]}
        for task in PRESET["tasks"]
        for seed in range(1, PRESET["seeds"] + 1)
        for scheme in PRESET["schemes"]
    ]
    return sorted(every, key=lambda trial: -trial["steps"] * TASKS[trial["task"]].TRAIN_LENGTHS[-1])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="worker processes")
    parser.add_argument("--threads", type=int, default=1, help="threads of each")
    parser.add_argument("--steps", type=int, help="training steps [default: the preset's]")
    parser.add_argument("--json", type=Path, metavar="FILE", help="where the result goes")
    arguments = parser.parse_args()
    for name in ("jobs", "threads", "steps"):
        value = getattr(arguments, name)
        if value is not None and value < 1:
            parser.error(f"--{name} is {value}; it must be at least 1")

    keep_freed_memory()
    take(PRESET["model"], PRESET["recipe"])
    waiting = trials(arguments.steps)
    done = []
    # Nothing was computed so far, so no thread of OpenMP is lost in the fork.
    fork = multiprocessing.get_context("fork")
    with fork.Pool(arguments.jobs, torch.set_num_threads, [arguments.threads]) as pool:
        for result in pool.imap_unordered(run, waiting):
            done.append(result)
            scores = "  ".join(f"{s['length']}: {s['accuracy']:.3f}" for s in result["scores"])
            name = f"{result['task']}-{result['scheme']}-{result['seed']}"
            print(
                f"{len(done):>3}/{len(waiting)}  {name:<28} {result['seconds']:>5.0f} s  "
                f"accuracy by length {scores}",
                flush=True,
            )
    seconds = time.perf_counter() - STARTED
    print(f"{seconds:.1f} s, {3600 * len(done) / seconds:.0f} trials per hour")
    if arguments.json:
        study = {
            "who": f"PyTorch {torch.__version__.split('+')[0]} eager",
            "jobs": arguments.jobs,
            "threads": arguments.threads,
            "seconds": seconds,
            "trials": done,
        }
        arguments.json.write_text(json.dumps(study, indent=1) + "\n")


if __name__ == "__main__":
    main()
