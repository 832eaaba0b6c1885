#!/usr/bin/env python3
"""Writes `values/toto.json`: scores of queries and keys that xPos turns on a part of a head, and their gradients.

Toto 2 (github.com/DataDog/toto, toto2/model.py, 2026) turns the first half of each head of 64 columns, in interleaved pairs, and
lets it decay over 256 positions that are counted from the middle of the input. The formula is here in float64. Needs PyTorch
alone. See README.md.
"""

import torch

from common import default_float64, rounded, shortest, write


def turned(x, positions, width, base, scale_base, sign):
    """`[tokens, d_head]`, of which the first `width` columns are turned and scaled."""
    pairs = torch.arange(width // 2)
    angles = torch.outer(positions, base ** (-2.0 * pairs / width))
    zeta = (2.0 * pairs / width + 0.4) / 1.4
    middle = torch.div(positions.max() + 1, 2, rounding_mode="floor")
    scale = zeta ** (sign * (positions - middle) / scale_base)[:, None]
    a, b = x[:, 0:width:2], x[:, 1:width:2]
    first = (a * angles.cos() - b * angles.sin()) * scale
    second = (a * angles.sin() + b * angles.cos()) * scale
    return torch.cat([torch.stack([first, second], -1).flatten(-2), x[:, width:]], dim=-1)


def cases():
    for d_head, width, base, scale_base, tokens, start in [
        (64, 32, 10_000.0, 256.0, 30, 0),
        (10, 4, 500.0, 32.0, 12, 70),
        (7, 6, 10_000.0, 256.0, 5, 8_000),
    ]:
        with default_float64():
            torch.manual_seed(d_head)

            def leaf(*shape):
                return torch.tensor(shortest(torch.randn(shape))).view(shape)

            q, k = leaf(tokens, d_head).requires_grad_(), leaf(tokens, d_head).requires_grad_()
            weights = leaf(tokens, tokens)
            positions = torch.arange(start, start + tokens).double()
            of = lambda x, sign: turned(x, positions, width, base, scale_base, sign)
            scores = of(q, 1.0) @ of(k, -1.0).T
            (scores * weights).sum().backward()
        config = {"d_head": d_head, "base": base, "scale_base": scale_base, "rotary_dim": width}
        yield {
            "config": config,
            "start": start,
            "q": shortest(q.detach()),
            "k": shortest(k.detach()),
            "weights": shortest(weights),
            "scores": rounded(scores.detach()),
            "gradients": [rounded(q.grad), rounded(k.grad)],
        }


if __name__ == "__main__":
    write("toto", cases())
