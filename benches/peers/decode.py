"""Decoding with a cache of keys and values in PyTorch, eager, for `peer.py`.

The model of `causal_step.py`, with sinusoidal, rotary or ALiBi positions. Keys and values of a new token are appended to
those before by `torch.cat`, as the caches of `transformers` do it, and `scaled_dot_product_attention` reads them.
"""

import torch
from torch.nn import functional as F

import causal_step
from causal_step import VOCABULARY


def rotate(x, cos, sin):
    """Pairs of column `i` and `i + d_head / 2`, turned."""
    a, b = x.chunk(2, dim=-1)
    return torch.cat((a * cos - b * sin, a * sin + b * cos), dim=-1)


def tables(scheme, d_head, heads, longest):
    """What attention takes of the positions: cosines and sines for rotary, a bias of keys for ALiBi."""
    at = torch.arange(longest)[:, None]
    if scheme == "rotary":
        angles = at * 10_000.0 ** (-torch.arange(0, d_head, 2) / d_head)
        return angles.cos(), angles.sin()
    if scheme == "alibi":
        slopes = 2.0 ** (-8.0 * torch.arange(1, heads + 1) / heads)
        # The bias is -slope * (query - key). What depends on the query alone does not change a softmax.
        return slopes[:, None, None] * at.T
    return None


def attend(layer, x, cache, scheme, table, before):
    """A layer's output for new tokens, `[rows, seq, d_model]`, and what is cached after them."""
    query, key, value = layer.by_heads(x)
    end = before + x.shape[1]
    if scheme == "rotary":
        here = [part[before:end] for part in table]
        query, key = rotate(query, *here), rotate(key, *here)
    if cache is not None:
        key, value = (torch.cat((old, new), dim=2) for old, new in zip(cache, (key, value)))
    bias = None
    if scheme == "alibi":
        bias = table[:, :, :end].expand(-1, x.shape[1], -1)
        if cache is None:
            bias = bias + torch.full((end, end), -torch.inf).triu(1)
    # The prompt attends to itself; a single token is the last, and attends to all.
    causal = cache is None and bias is None
    context = F.scaled_dot_product_attention(query, key, value, attn_mask=bias, is_causal=causal)
    return layer.after(x, context), (key, value)


def prepare(sizes, scheme, batch, cached, steps):
    """A call that decodes `steps` tokens after `cached`."""
    torch.manual_seed(1)
    d_model, _, heads = sizes
    decoder = causal_step.Decoder(sizes, True, cached + steps).eval()
    table = tables(scheme, d_model // heads, heads, cached + steps)

    @torch.inference_mode()
    def decode(tokens, caches, before):
        x = decoder.tokens(tokens)
        if scheme == "sinusoidal":
            x = x + decoder.positions[before : before + tokens.shape[1]]
        after = []
        for layer, cache in zip(decoder.layers, caches):
            x, cache = attend(layer, x, cache, scheme, table, before)
            after.append(cache)
        return decoder.readout(decoder.norm(x[:, -1:])), after

    none = [None] * len(decoder.layers)
    _, prompt = decode(torch.ones(batch, cached, dtype=torch.long), none, 0)
    token = torch.ones(batch, 1, dtype=torch.long)

    def call():
        caches = prompt
        for step in range(steps):
            logits, caches = decode(token, caches, cached + step)
            assert logits.numel() == batch * VOCABULARY

    return call
