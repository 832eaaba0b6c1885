"""One training step of the reference encoder in PyTorch, eager or compiled, for `peer.py`.

A step clears the gradients, goes forward, takes the cross-entropy of every answer, goes backward,
lets Adam move the parameters and reads the loss back. Those of `reverse` and `digits`, which are the
laboratory's own, also clip the gradient of each parameter by its norm. The batch lies there already:
drawing it is no part of a step.
"""

import torch

from reference import EVERY, MEAN, Encoder, Training

# Batch, sequence, vocabulary, classes, where answers are read, answers a row, whether to clip.
SIZES = {
    "batch 32, seq 64, every position": (32, 64, 16, 16, EVERY, 64, False),
    "reverse: batch 64, seq 22": (64, 22, 10, 8, slice(1, 21), 20, True),
    "digits: batch 64, seq 64": (64, 64, 17, 10, MEAN, 1, True),
}


def prepare(size, compiled):
    """A call that takes one step of a training with sinusoidal positions on one batch."""
    batch, seq, vocabulary, classes, read, answers, clipped = SIZES[size]
    encoder = Encoder(vocabulary, classes, "sinusoidal", seq, read, seed=1)
    training = Training(encoder, clipped, compiled)
    generator = torch.Generator().manual_seed(1)
    tokens = torch.randint(vocabulary, (batch, seq), generator=generator)
    targets = torch.randint(classes, (batch * answers,), generator=generator)
    return lambda: training.step(tokens, targets)
