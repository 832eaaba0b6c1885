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


for batch, seq in [(8, 32), (32, 256)]:
    for fused, name in [(True, "fused attention"), (False, "products and softmax")]:
        took = median(causal_step.prepare(batch, seq, fused))
        where = f"{torch.cuda.get_device_name()}, PyTorch {torch.__version__}, eager, {name}"
        print(f"{where}\ttraining step\t[{batch}, {seq}]\t{took:.1f}\t-\t-\t-\t-")
