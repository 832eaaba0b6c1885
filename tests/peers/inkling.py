#!/usr/bin/env python3
"""Writes `values/inkling.json`: what Inkling's relative logits add to scores, and their gradients.

The formula is that of `InklingRelativeLogits` and `r_proj` in transformers 5.14, here pair by pair and in float64: the bias of query
i and key j is (x_i R_head) · P[:, i − j] where 0 ≤ i − j < extent, else 0. Needs PyTorch alone. See README.md.
"""

import torch

from common import default_float64, rounded, shortest, write


def cases():
    for d_model, heads, d_rel, extent, start, queries in [
        (8, 2, 3, 5, 0, 9),
        (6, 3, 16, 40, 12, 7),  # the last queries of a longer row, all of it within the extent
        (4, 1, 1, 1, 3, 4),
    ]:
        with default_float64():
            torch.manual_seed(d_model + extent)

            def leaf(*shape):
                return torch.tensor(shortest(torch.randn(shape))).view(shape)

            x, mix, profiles = leaf(queries, d_model), leaf(d_model, heads * d_rel), leaf(d_rel, extent)
            leaves = [part.requires_grad_() for part in (x, mix, profiles)]
            keys = start + queries
            weights = leaf(heads, queries, keys)
            mixed = (x @ mix).view(queries, heads, d_rel)
            bias = [
                mixed[i, h] @ profiles[:, start + i - j] if 0 <= start + i - j < extent else torch.zeros(())
                for h in range(heads)
                for i in range(queries)
                for j in range(keys)
            ]
            bias = torch.stack(bias).view(heads, queries, keys)
            (bias * weights).sum().backward()
        yield {
            "config": {"d_model": d_model, "heads": heads, "layers": 2, "d_rel": d_rel, "extent": extent},
            "start": start,
            "x": shortest(x.detach()),
            "mix": shortest(mix.detach()),
            "profiles": shortest(profiles.detach()),
            "weights": shortest(weights),
            "bias": rounded(bias.detach()),
            "gradients": [rounded(part.grad) for part in leaves],
        }


if __name__ == "__main__":
    write("inkling", cases())
