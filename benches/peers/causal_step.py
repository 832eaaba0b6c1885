"""One training step of a causal language model in PyTorch, eager or compiled, for `peer.py`.

As `train_step.py`, of a decoder: every token attends to those before it, and the next token is predicted at
every position. Attention by `scaled_dot_product_attention`, whose causal kernel leaves out the keys behind a
query, or as two products, a mask and a softmax: both are measured. Sizes are `[d_model, layers, heads]`; a feed-forward layer
has four times the width.
"""

import math

import torch
from torch import nn
from torch.nn import functional as F

VOCABULARY = 64


class Layer(nn.Module):
    def __init__(self, d_model, heads, fused):
        super().__init__()
        self.heads, self.fused = heads, fused
        self.norm_attention = nn.LayerNorm(d_model)
        self.qkv = nn.Linear(d_model, 3 * d_model)
        self.output = nn.Linear(d_model, d_model)
        self.norm_feed_forward = nn.LayerNorm(d_model)
        self.widen = nn.Linear(d_model, 4 * d_model)
        self.narrow = nn.Linear(4 * d_model, d_model)

    def by_heads(self, x):
        """Queries, keys and values, `[rows, heads, seq, d_head]` each."""
        rows, seq, d_model = x.shape
        qkv = self.qkv(self.norm_attention(x)).view(rows, seq, 3, self.heads, d_model // self.heads)
        return (part.transpose(1, 2) for part in qkv.unbind(2))

    def after(self, x, context):
        """What comes after the attention, given the contexts of the heads."""
        x = x + self.output(context.transpose(1, 2).reshape(x.shape))
        return x + self.narrow(F.gelu(self.widen(self.norm_feed_forward(x))))

    def forward(self, x, later):
        query, key, value = self.by_heads(x)
        if self.fused:
            context = F.scaled_dot_product_attention(query, key, value, is_causal=True)
        else:
            scores = query * query.shape[-1] ** -0.5 @ key.transpose(-1, -2)
            context = scores.masked_fill_(later, -math.inf).softmax(-1) @ value
        return self.after(x, context)


class Decoder(nn.Module):
    def __init__(self, sizes, fused, seq):
        super().__init__()
        d_model, layers, heads = sizes
        self.tokens = nn.Embedding(VOCABULARY, d_model)
        self.layers = nn.ModuleList(Layer(d_model, heads, fused) for _ in range(layers))
        self.norm = nn.LayerNorm(d_model)
        self.readout = nn.Linear(d_model, VOCABULARY)
        angles = torch.arange(seq)[:, None] * 10_000.0 ** (-torch.arange(0, d_model, 2) / d_model)
        positions = torch.stack((angles.sin(), angles.cos()), dim=-1).flatten(1)
        self.register_buffer("positions", positions)
        self.register_buffer("later", torch.ones(seq, seq, dtype=torch.bool).triu(1))

    def forward(self, tokens):
        x = self.tokens(tokens) + self.positions
        for layer in self.layers:
            x = layer(x, self.later)
        return self.readout(self.norm(x))


def prepare(sizes, shape, how):
    """A call that takes one step on one batch; `how` is `fused`, `plain` or `compiled`, which is fused too."""
    torch.manual_seed(1)
    batch, seq = shape
    decoder = Decoder(sizes, how != "plain", seq)
    optimizer = torch.optim.Adam(decoder.parameters(), lr=1e-3, fused=True)
    model = torch.compile(decoder, dynamic=False) if how == "compiled" else decoder
    tokens = torch.randint(VOCABULARY, (batch, seq))
    targets = torch.randint(VOCABULARY, (batch * seq,))

    def step():
        optimizer.zero_grad(set_to_none=True)
        loss = F.cross_entropy(model(tokens).flatten(0, 1), targets)
        loss.backward()
        optimizer.step()
        return loss.item()

    return step
