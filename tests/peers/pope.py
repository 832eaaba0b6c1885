#!/usr/bin/env python3
"""Writes `values/pope.json`: queries and keys by PoPE, and the gradients of keys and phases, from the package PoPE-pytorch.
See README.md.
"""

import torch
from PoPE_pytorch import PoPE

from common import double, rounded, shortest, write
from places import queries


def cases():
    """Columns of the package stand cosine beside sine; here all cosines come first."""
    for width, heads, base, tokens, start in [
        (16, 2, 10_000, 6, 0),
        (5, 3, 500, 4, 7),  # odd
        (64, 1, 10_000, 3, 131_072),
        (1, 2, 10_000, 5, 2),
    ]:
        with double():
            torch.manual_seed(width + start)
            module = PoPE(width, heads=heads, theta=base)
            # Some of them past the ends, where they count as the end.
            phases = torch.tensor(shortest(torch.empty(heads * width).uniform_(-7.5, 1.0))).view(heads, width)
            module.bias.data = phases.clone()
            shape = (1, heads, tokens, width)
            q = 3.0 * queries(heads * tokens, width).view(shape)
            k = 3.0 * queries(heads * tokens + 1, width)[1:].reshape(shape)
            q, k = (torch.tensor(shortest(x)).view(shape).requires_grad_() for x in (q, k))
            turned = module.apply_pope_to_qk(module(torch.arange(start, start + tokens)), q, k)
            ours = [x.unflatten(-1, (width, 2)).transpose(-1, -2).flatten(-2) for x in turned]
            weights = queries(heads * tokens, 2 * width).view(1, heads, tokens, 2 * width)
            (ours[1] * weights).sum().backward()
        yield {
            "peer": "PoPE-pytorch",
            "version": "0.2.1",
            "config": {"d_head": width, "heads": heads, "base": float(base)},
            "start": start,
            "q": shortest(q.detach()),
            "k": shortest(k.detach()),
            "phases": shortest(phases),
            "weights": shortest(weights),
            "queries": rounded(ours[0].detach()),
            "keys": rounded(ours[1].detach()),
            "gradients": [rounded(part.grad) for part in [k, module.bias]],
        }


if __name__ == "__main__":
    write("pope", cases())
