#!/usr/bin/env python3
"""Writes `values/fox.json`: causal attention with the forget gates of FoX, with RoPE and without, and its gradients.

The authors' kernel is for graphics cards alone, so the formula is here, from the paper, §3, in float64: the score of query i and
key j ≤ i is q_i · k_j / √d_head + Σ_{t = j+1..i} ln σ(w · x_t + b). Needs PyTorch alone. See README.md.
"""

import torch

from common import default_float64, rounded, shortest, write


def rope(x, base, start):
    """RoPE of halves (Su et al. 2021) for `[heads, tokens, d_head]`."""
    _, tokens, width = x.shape
    angles = torch.outer(torch.arange(start, start + tokens).double(), base ** (-torch.arange(0, width, 2) / width))
    cos, sin = angles.cos(), angles.sin()
    a, b = x.chunk(2, dim=-1)
    return torch.cat([a * cos - b * sin, b * cos + a * sin], dim=-1)


def cases():
    for d_model, heads, tokens, base in [(8, 2, 7, None), (12, 3, 40, None), (6, 1, 1, None), (16, 2, 33, 500_000.0)]:
        with default_float64():
            torch.manual_seed(d_model + tokens)
            d_head = d_model // heads

            def leaf(*shape, spread=1.0):
                numbers = torch.tensor(shortest(torch.randn(shape) * spread))
                return numbers.view(shape).requires_grad_()

            q, k, v = (leaf(heads, tokens, d_head) for _ in range(3))
            x, weight, bias = leaf(tokens, d_model), leaf(d_model, heads, spread=0.7), leaf(heads)
            turn = (lambda x: rope(x, base, 3)) if base else (lambda x: x)
            log_gates = torch.nn.functional.logsigmoid(x @ weight + bias)
            scores = turn(q) @ turn(k).transpose(1, 2) / d_head**0.5
            rows = []
            for i in range(tokens):
                # Each sum on its own, and not as a difference of two sums.
                kept = [log_gates[j + 1 : i + 1].sum(0) for j in range(i + 1)]
                row = torch.softmax(scores[:, i, : i + 1] + torch.stack(kept, 1), dim=-1)
                rows.append(torch.einsum("hj,hjd->hd", row, v[:, : i + 1]))
            output = torch.stack(rows, 1)
            weights = torch.tensor(shortest(torch.randn(output.shape))).view(output.shape)
            (output * weights).sum().backward()
        rotary = {"rotary": {"d_head": d_head, "base": base, "layout": "halves"}} if base else {}
        leaves = {"q": q, "k": k, "v": v, "x": x, "weight": weight, "bias": bias}
        yield {
            "config": {"d_model": d_model, "heads": heads, "layers": 2, **rotary},
            "start": 3,
            "leaves": {name: shortest(leaf.detach()) for name, leaf in leaves.items()},
            "weights": shortest(weights),
            "output": rounded(output.detach()),
            # With one token the gates do nothing.
            "gradients": {name: rounded(leaf.grad) for name, leaf in leaves.items() if tokens > 1 or name == "v"},
        }


if __name__ == "__main__":
    write("fox", cases())
