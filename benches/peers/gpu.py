"""The training step of causal_step.py on an NVIDIA card, in lines for the table of scripts/bench-gpu."""

import statistics
import sys
import time

import torch

if not torch.cuda.is_available():
    sys.exit("PyTorch finds no card here")
torch.set_default_device("cuda")

import causal_step  # noqa: E402: tensors are made on the default device

WARM_UP, ROUNDS = 10, 50


def median(step):
    """Microseconds of a step, which ends with reading the loss."""
    times = []
    for _ in range(WARM_UP + ROUNDS):
        torch.cuda.synchronize()
        start = time.perf_counter()
        step()
        torch.cuda.synchronize()
        times.append(time.perf_counter() - start)
    return statistics.median(times[WARM_UP:]) * 1e6


WAYS = {
    "fused": "eager, fused attention",
    "plain": "eager, products and softmax",
    "compiled": "compiled",
}
# As `MODELS` of tests/forward_times.rs.
for sizes, shape in [
    ([128, 4, 4], [8, 32]),
    ([128, 4, 4], [12, 64]),
    ([128, 4, 4], [32, 256]),
    ([384, 6, 6], [16, 256]),
]:
    d_model, layers, _ = sizes
    for how, name in WAYS.items():
        try:
            took = f"{median(causal_step.prepare(sizes, shape, how)):.1f}"
        except Exception as error:  # torch.compile may miss a C compiler
            print(f"{name}: {error}", file=sys.stderr)
            took = "-"
        where = f"{torch.cuda.get_device_name()}, PyTorch {torch.__version__}, {name}"
        print(f"{where}\ttraining step, {layers} × {d_model}\t{shape}\t{took}\t-\t-\t-\t-", flush=True)
