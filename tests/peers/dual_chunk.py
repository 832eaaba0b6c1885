#!/usr/bin/env python3
"""Writes `values/dual_chunk.json`: attention over a sequence in chunks, by the code of its paper. Needs
requirements-models.txt and a clone of the code: see README.md.
"""

import ast
import math
import subprocess
from types import SimpleNamespace

import torch
from torch import nn
from transformers.models.llama.modeling_llama import repeat_kv, rotate_half

from common import SOURCES, double, rounded, shortest, write
from places import queries

COMMIT = "2add4d7"


def definitions():
    """Its functions and its class, run without the rest of their file."""
    command = ["git", "-C", SOURCES / "ChunkLlama", "show", f"{COMMIT}:chunkllama_attn_replace.py"]
    module = ast.parse(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    names = ["get_mscale", "ChunkLlamaRotaryEmbedding", "apply_rotary_pos_emb", "forward"]
    module.body = [node for node in module.body if getattr(node, "name", None) in names]
    for node in module.body:
        node.returns = None
        for argument in node.args.args if isinstance(node, ast.FunctionDef) else []:
            argument.annotation = None
    found = {"torch": torch, "nn": nn, "math": math, "rotate_half": rotate_half, "repeat_kv": repeat_kv}
    exec(compile(module, "chunkllama_attn_replace.py", "exec"), found)
    return found


class Cache:
    """Keys and values of the tokens so far."""

    def __init__(self, keys, values):
        self.keys, self.values = keys, values

    def get_usable_length(self, new, layer):
        return self.keys.shape[2]

    def update(self, keys, values, layer, cache_kwargs=None):
        return torch.cat([self.keys, keys], 2), torch.cat([self.values, values], 2)


def cases():
    theirs = definitions()
    tokens, heads, width = 50, 2, 16
    for size, window in [(12, 4), (10, 7), (33, 1)]:
        theirs |= {"chunk_size": size, "local_window": window, "MAX_NEW_TOKENS": 512}
        with double():
            rows = queries(3 * tokens, heads * width).view(3, tokens, heads * width)
            rotary = theirs["ChunkLlamaRotaryEmbedding"](width, base=500)
            layer = SimpleNamespace(
                num_heads=heads,
                num_key_value_heads=heads,
                num_key_value_groups=1,
                head_dim=width,
                hidden_size=heads * width,
                layer_idx=0,
                rotary_emb=rotary,
                o_proj=nn.Identity(),
            )
            outputs = []
            for token in range(1, tokens):  # token by token: its prefill has a kernel of its own
                q, k, v = rows[:, : token + 1, None].unbind()
                split = lambda x: x.view(1, -1, heads, width).transpose(1, 2)
                past = torch.arange(token)[None]
                *_, cos, sin = rotary(rows, seq_len=token + 1)
                keys = theirs["apply_rotary_pos_emb"](split(k[:token]), cos, sin, past)
                new = {name: (lambda x: lambda hidden: x[token][None])(x) for name, x in zip(["q_proj", "k_proj", "v_proj"], [q, k, v])}
                out, _, _ = theirs["forward"](
                    SimpleNamespace(**vars(layer), **new),
                    torch.zeros(1, 1, heads * width),
                    position_ids=torch.tensor([[token]]),
                    past_key_value=Cache(keys, split(v[:token])),
                )
                outputs.append(out[0, 0])
        yield {
            "peer": "ChunkLlama",
            "version": COMMIT,
            "chunk_size": size,
            "local_window": window,
            "base": 500.0,
            "shape": [tokens, heads, width],
            "q_k_v": [shortest(part) for part in rows],
            "outputs": rounded(torch.stack(outputs)),
        }


if __name__ == "__main__":
    write("dual_chunk", cases())
