"""One training step of a causal language model in PyTorch, eager, for `peer.py`.

As `train_step.py`, of a decoder: every token attends to those before it, and the next token is predicted at
every position. Attention by `scaled_dot_product_attention`, whose causal kernel leaves out the keys behind a
query, or as two products, a mask and a softmax: both are measured.
"""

import math

import torch
from torch import nn
from torch.nn import functional as F

D_MODEL, LAYERS, HEADS, D_FF, VOCABULARY = 128, 4, 4, 512, 64


class Layer(nn.Module):
    def __init__(self, fused):
        super().__init__()
        self.fused = fused
        self.norm_attention = nn.LayerNorm(D_MODEL)
        self.qkv = nn.Linear(D_MODEL, 3 * D_MODEL)
        self.output = nn.Linear(D_MODEL, D_MODEL)
        self.norm_feed_forward = nn.LayerNorm(D_MODEL)
        self.widen = nn.Linear(D_MODEL, D_FF)
        self.narrow = nn.Linear(D_FF, D_MODEL)

    def forward(self, x, later):
        rows, seq, _ = x.shape
        qkv = self.qkv(self.norm_attention(x)).view(rows, seq, 3, HEADS, D_MODEL // HEADS)
        query, key, value = (part.transpose(1, 2) for part in qkv.unbind(2))
        if self.fused:
            context = F.scaled_dot_product_attention(query, key, value, is_causal=True)
        else:
            scores = query * (D_MODEL // HEADS) ** -0.5 @ key.transpose(-1, -2)
            context = scores.masked_fill_(later, -math.inf).softmax(-1) @ value
        x = x + self.output(context.transpose(1, 2).reshape(rows, seq, D_MODEL))
        return x + self.narrow(F.gelu(self.widen(self.norm_feed_forward(x))))


class Decoder(nn.Module):
    def __init__(self, fused, seq):
        super().__init__()
        self.tokens = nn.Embedding(VOCABULARY, D_MODEL)
        self.layers = nn.ModuleList(Layer(fused) for _ in range(LAYERS))
        self.norm = nn.LayerNorm(D_MODEL)
        self.readout = nn.Linear(D_MODEL, VOCABULARY)
        angles = torch.arange(seq)[:, None] * 10_000.0 ** (-torch.arange(0, D_MODEL, 2) / D_MODEL)
        positions = torch.stack((angles.sin(), angles.cos()), dim=-1).flatten(1)
        self.register_buffer("positions", positions)
        self.register_buffer("later", torch.ones(seq, seq, dtype=torch.bool).triu(1))

    def forward(self, tokens):
        x = self.tokens(tokens) + self.positions
        for layer in self.layers:
            x = layer(x, self.later)
        return self.readout(self.norm(x))


def prepare(batch, seq, fused):
    """A call that takes one step on one batch."""
    torch.manual_seed(1)
    decoder = Decoder(fused, seq)
    optimizer = torch.optim.Adam(decoder.parameters(), lr=1e-3, fused=True)
    tokens = torch.randint(VOCABULARY, (batch, seq))
    targets = torch.randint(VOCABULARY, (batch * seq,))

    def step():
        optimizer.zero_grad(set_to_none=True)
        loss = F.cross_entropy(decoder(tokens).flatten(0, 1), targets)
        loss.backward()
        optimizer.step()
        return loss.item()

    return step
