"""The laboratory's reference encoder and its training step, in PyTorch 2.9.0 for the processor.

The model, its first values and its recipe are those of `crates/pe-lab/src/learn` and `crates/pe-lab/src/ask/recipe.rs`:
pre-norm layers, exact GELU, a norm after the last layer, no dropout; Adam with a warm-up, half a
cosine and the gradient of each parameter clipped by its norm.

Of the ways to write it the fastest was kept (processor time of a step on one thread, on two cores of
a Xeon with AVX-512): attention as two products and a softmax takes a tenth less than
`scaled_dot_product_attention` at 22 tokens and the same at 64; one projection for query, key and
value, or three, and Adam fused, by `foreach` or in a loop, are all within 3 %;
`nn.TransformerEncoder` takes a sixth more.
"""

import ctypes
import math

import torch
from torch import nn
from torch.nn import functional as F

D_MODEL, LAYERS, HEADS, D_FF = 64, 2, 4, 256
TOKEN_STD = 0.2
TABLE_STD = 0.7

LEARNING_RATE, WARMUP_STEPS, BETA_2, EPSILON, CLIP_NORM = 1.5e-3, 100, 0.98, 1e-8, 1.0


def take(model, recipe):
    """Takes sizes and recipe of a study in place of the laboratory's usual ones, before a model is made."""
    global D_MODEL, LAYERS, HEADS, D_FF, LEARNING_RATE, WARMUP_STEPS
    D_MODEL, LAYERS, HEADS, D_FF = (model[size] for size in ("d_model", "layers", "heads", "d_ff"))
    LEARNING_RATE, WARMUP_STEPS = recipe["learning_rate"], recipe["warmup_steps"]


# Where answers are read: from the mean over all tokens, or at these positions of every row.
MEAN = None
EVERY = slice(None)


# Parameters of glibc's `mallopt`.
M_TRIM_THRESHOLD, M_MMAP_MAX = -1, -4


def keep_freed_memory():
    """Makes glibc keep the memory that tensors free, in place of handing it back to the kernel.

    Otherwise every step pays for fresh pages: a step of `digits` takes 6 to 20 % more. What PyTorch's
    tuning guide gets from another allocator.
    """
    libc = ctypes.CDLL(None)
    for parameter, value in ((M_MMAP_MAX, 0), (M_TRIM_THRESHOLD, -1)):
        if libc.mallopt(parameter, value) != 1:
            raise OSError(f"glibc refused mallopt({parameter}, {value})")


def sinusoid(positions):
    """The sinusoidal table, a row per position: sine and cosine in turn, base 10,000."""
    angles = torch.arange(positions, dtype=torch.float64)[:, None] * torch.exp(
        torch.arange(0, D_MODEL, 2, dtype=torch.float64) * (-math.log(10_000.0) / D_MODEL)
    )
    return torch.stack((angles.sin(), angles.cos()), dim=-1).flatten(1).float()


class Layer(nn.Module):
    """Attention and feed-forward, each behind a norm and beside a residual path."""

    def __init__(self, generator):
        super().__init__()
        self.norm_attention = nn.LayerNorm(D_MODEL)
        self.qkv = lecun(nn.Linear(D_MODEL, 3 * D_MODEL), generator)
        self.output = lecun(nn.Linear(D_MODEL, D_MODEL), generator)
        self.norm_feed_forward = nn.LayerNorm(D_MODEL)
        self.widen = lecun(nn.Linear(D_MODEL, D_FF), generator)
        self.narrow = lecun(nn.Linear(D_FF, D_MODEL), generator)

    def forward(self, x):
        rows, seq, _ = x.shape
        qkv = self.qkv(self.norm_attention(x)).view(rows, seq, 3, HEADS, D_MODEL // HEADS)
        query, key, value = (part.transpose(1, 2) for part in qkv.unbind(2))
        scores = query * (D_MODEL // HEADS) ** -0.5 @ key.transpose(-1, -2)
        context = scores.softmax(-1) @ value
        x = x + self.output(context.transpose(1, 2).reshape(rows, seq, D_MODEL))
        return x + self.narrow(F.gelu(self.widen(self.norm_feed_forward(x))))


def lecun(linear, generator):
    """Weights and biases from N(0, 1 / √inputs)."""
    std = 1 / math.sqrt(linear.in_features)
    nn.init.normal_(linear.weight, std=std, generator=generator)
    nn.init.normal_(linear.bias, std=std, generator=generator)
    return linear


class Encoder(nn.Module):
    """Tokens, positions, two layers, a norm, a readout.

    `scheme` is none, sinusoidal or learned; `max_tokens` the rows of its table; `read` a slice of
    positions, or [`MEAN`].
    """

    def __init__(self, vocabulary, classes, scheme, max_tokens, read, seed):
        super().__init__()
        self.read = read
        generator = torch.Generator().manual_seed(seed)
        self.tokens = nn.Embedding(vocabulary, D_MODEL)
        nn.init.normal_(self.tokens.weight, std=TOKEN_STD, generator=generator)
        self.layers = nn.ModuleList(Layer(generator) for _ in range(LAYERS))
        self.norm = nn.LayerNorm(D_MODEL)
        self.readout = nn.Linear(D_MODEL, classes)
        bound = 1 / math.sqrt(D_MODEL)
        nn.init.uniform_(self.readout.weight, -bound, bound, generator=generator)
        nn.init.uniform_(self.readout.bias, -bound, bound, generator=generator)
        # Last, so that at one seed all schemes share the values of everything else.
        if scheme == "none":
            self.positions = None
        elif scheme == "sinusoidal":
            self.register_buffer("positions", sinusoid(max_tokens))
        elif scheme == "learned":
            table = torch.empty(max_tokens, D_MODEL)
            self.positions = nn.Parameter(nn.init.normal_(table, std=TABLE_STD, generator=generator))
        else:
            raise ValueError(f"the scheme is {scheme!r}; it must be none, sinusoidal or learned")

    def forward(self, tokens):
        """Logits of every answer, `[answers, classes]`, row by row."""
        x = self.tokens(tokens)
        if self.positions is not None:
            x = x + self.positions[: tokens.shape[1]]
        for layer in self.layers:
            x = layer(x)
        if self.read is MEAN:
            return self.readout(self.norm(x).mean(1))
        # The norm is per token: what is not read need not be normalized.
        return self.readout(self.norm(x[:, self.read])).flatten(0, 1)

    def loss(self, tokens, targets):
        """The mean cross-entropy over the answers."""
        return F.cross_entropy(self(tokens), targets)


def learning_rate(step, steps):
    """The rate of step `step`, from 0, of `steps`: an even rise to the peak, then half a cosine."""
    rise = max(1, min(WARMUP_STEPS, steps // 2))
    if step < rise:
        first = LEARNING_RATE / rise
        return first + (LEARNING_RATE - first) * step / rise
    fall = max(1, steps - rise)
    low = LEARNING_RATE / 100
    return low + (LEARNING_RATE - low) * (1 + math.cos(math.pi * (step - rise) / fall)) / 2


class Training:
    """Adam on an encoder, a step at a time. `compiled` is for `torch.compile`, `clipped` for the norms."""

    def __init__(self, encoder, clipped=True, compiled=False):
        # Query, key and value count as three parameters, as where each has a projection of its own.
        self.parts = [
            (parameter, 3 if ".qkv." in name else 1)
            for name, parameter in encoder.named_parameters()
        ]
        self.optimizer = torch.optim.Adam(
            encoder.parameters(), lr=LEARNING_RATE, betas=(0.9, BETA_2), eps=EPSILON, fused=True
        )
        self.clipped = clipped
        self.loss = encoder.loss
        if compiled:
            # Named, so that the cache on disk does not hand out code for another number of threads.
            torch._inductor.config.cpp.threads = torch.get_num_threads()
            self.loss = torch.compile(encoder.loss)

    def clip(self):
        """Scales the gradient of each parameter down to a norm of at most 1."""
        gradients = [part for parameter, parts in self.parts for part in parameter.grad.chunk(parts)]
        scales = (CLIP_NORM / torch.stack(torch._foreach_norm(gradients))).clamp(max=1.0)
        torch._foreach_mul_(gradients, scales.unbind())

    def step(self, tokens, targets, rate=LEARNING_RATE):
        """One step; gives back the loss."""
        self.optimizer.zero_grad(set_to_none=True)
        loss = self.loss(tokens, targets)
        loss.backward()
        if self.clipped:
            self.clip()
        self.optimizer.param_groups[0]["lr"] = rate
        self.optimizer.step()
        return loss.item()
