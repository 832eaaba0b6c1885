"""What the scripts about coordinates share.

A case has the configuration that this project needs for the peer's rotation, the coordinates of every token, and a row
of a head before and after it. Angles are computed in float64 where the peer's code lets them.
"""

import numpy as np
import torch

from common import about, rounded, shortest


def case(asked, package, config, coordinates, x, rotated, **more):
    """`x` and `rotated` are rows of one head, `[tokens, d_head]`."""
    coordinates = np.asarray(coordinates, dtype=np.float64)
    assert len(coordinates) == len(x) == len(rotated)
    return (
        about(asked, package)
        | {"config": {"d_head": x.shape[-1]} | config}
        | more
        | {
            "coordinates": [rounded(token) for token in coordinates],
            "x": [shortest(row) for row in x],
            "rotated": [rounded(row) for row in rotated],
        }
    )


def queries(tokens, width):
    """Random rows that are float32 numbers, in the default float type."""
    generator = torch.Generator().manual_seed(tokens * 1000 + width)
    rows = torch.randn(tokens, width, generator=generator, dtype=torch.float32)
    return rows.to(torch.get_default_dtype())


def axes(columns, **more):
    return {"axes": [{"coordinate": i, "columns": c} for i, c in enumerate(columns)]} | more


def cells(*lengths, start=None):
    """The coordinates of a grid, row by row."""
    start = start or [0] * len(lengths)
    lines = [np.arange(first, first + length) for first, length in zip(start, lengths)]
    return np.stack(np.meshgrid(*lines, indexing="ij"), axis=-1).reshape(-1, len(lengths))
