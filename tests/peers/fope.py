#!/usr/bin/env python3
"""Writes `values/fope.json`: queries turned by FoPE, and gradients of its coefficients, by the code of its paper. Needs
requirements-models.txt and a clone of the code: see README.md.
"""

import __future__
import ast
import math
import subprocess
from types import SimpleNamespace

import torch
from torch import nn

from common import SOURCES, double, rounded, shortest, write
from places import queries

COMMIT = "bd94b20d82bf11240ad3584c515c790d255da919"


def tree(path):
    command = ["git", "-C", SOURCES / "Fourier-Position-Embedding", "show", f"{COMMIT}:{path}"]
    return ast.parse(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def classes():
    """Its two classes, run without the rest of their file."""
    names = ["RotaryEmbedding", "FourierEmbedding"]
    module = tree("olmo/model.py")
    module.body = [node for node in module.body if getattr(node, "name", None) in names]
    found = {"torch": torch, "nn": nn, "F": torch.nn.functional, "math": math}
    found["_non_meta_init_device"] = lambda config: torch.device("cpu")
    exec(compile(module, "olmo/model.py", "exec", flags=__future__.annotations.compiler_flag), found)
    return found["FourierEmbedding"]


def defaults():
    """The fields of its configuration that have a plain value."""
    (config,) = [node for node in tree("olmo/config.py").body if getattr(node, "name", None) == "ModelConfig"]
    fields = [node for node in config.body if isinstance(node, ast.AnnAssign)]
    plain = (ast.Constant, ast.UnaryOp)
    return {field.target.id: ast.literal_eval(field.value) for field in fields if isinstance(field.value, plain)}


def cases():
    """As in its configurations: frequencies below one turn are 0, and left out."""
    embedding = classes()
    for width, heads, length, base, tokens, end in [
        (64, 2, 512, 10_000, 6, 6),
        (64, 2, 4096, 10_000, 4, 5001),  # more frequencies than pairs that turn, past the trained length
        (32, 3, 16, 10_000, 5, 131_072),  # fewer
        (4, 1, 100, 500, 3, 3),
    ]:
        config = defaults() | {
            "d_model": width * heads,
            "n_heads": heads,
            "max_sequence_length": length,
            "rope_theta": base,
            "rope_clamp_floor_freq": True,
            "rope_clamp_floor_to_zero": True,
            "fourier": True,
            "fourier_learnable": True,
        }
        with double():
            torch.manual_seed(width + length)
            module = embedding(SimpleNamespace(**config), {})
            for coefficients in [module.sin_coef, module.cos_coef]:
                coefficients.data = torch.tensor(shortest(coefficients.data.flatten())).view(coefficients.shape)
            shape = (1, heads, tokens, width)
            x = queries(heads * tokens, width).view(shape)
            weights = queries(heads * tokens + 1, width)[1:].view(shape)
            x.requires_grad_()
            rotated = module(x, end)
            (rotated * weights).sum().backward()
        yield {
            "peer": "FourierEmbedding",
            "version": COMMIT[:7],
            "config": {"d_head": width, "heads": heads, "trained_len": length, "base": float(base)},
            "start": end - tokens,
            "x": shortest(x.detach()),
            "weights": shortest(weights),
            "sines": shortest(module.sin_coef.detach()),
            "cosines": shortest(module.cos_coef.detach()),
            "frequencies": module.sin_coef.shape[1],
            "rotated": rounded(rotated.detach()),
            "gradients": [rounded(part.grad) for part in [x, module.sin_coef, module.cos_coef]],
        }


if __name__ == "__main__":
    write("fope", cases())
