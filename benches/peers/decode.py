"""Decoding with a cache of keys and values in PyTorch, eager, for `peer.py`.

The model of `causal_step.py`. Keys and values of a new token are appended to those before by `torch.cat`, as
the caches of `transformers` do it, and `scaled_dot_product_attention` reads them.
"""

import torch
from torch.nn import functional as F

import causal_step
from causal_step import D_MODEL, HEADS, VOCABULARY


def attend(layer, x, cache):
    """A layer's output for new tokens, `[rows, seq, d_model]`, and what is cached after them."""
    rows, seq, _ = x.shape
    qkv = layer.qkv(layer.norm_attention(x)).view(rows, seq, 3, HEADS, D_MODEL // HEADS)
    query, key, value = (part.transpose(1, 2) for part in qkv.unbind(2))
    if cache is not None:
        key, value = (torch.cat((old, new), dim=2) for old, new in zip(cache, (key, value)))
    # The prompt attends to itself; a single token is the last, and attends to all.
    context = F.scaled_dot_product_attention(query, key, value, is_causal=cache is None)
    x = x + layer.output(context.transpose(1, 2).reshape(rows, seq, D_MODEL))
    x = x + layer.narrow(F.gelu(layer.widen(layer.norm_feed_forward(x))))
    return x, (key, value)


def prepare(batch, cached, steps):
    """A call that decodes `steps` tokens after `cached`."""
    torch.manual_seed(1)
    decoder = causal_step.Decoder(True, cached + steps).eval()

    @torch.inference_mode()
    def decode(tokens, caches, before):
        x = decoder.tokens(tokens) + decoder.positions[before : before + tokens.shape[1]]
        after = []
        for layer, cache in zip(decoder.layers, caches):
            x, cache = attend(layer, x, cache)
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
