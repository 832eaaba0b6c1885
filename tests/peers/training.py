#!/usr/bin/env python3
"""Writes `values/training.json`: the losses of trainings of 100 steps in PyTorch, in float64. See README.md.

Weights, data and positions follow from the formulas of `crates/pe-lab/tests/pytorch`, which trains the same models. The model
is a pre-norm encoder of two layers around one scheme, the optimizer Adam with every gradient clipped to a norm of 1, its
learning rate 10 steps of warm-up and a cosine.
"""

import math

import numpy as np
import torch
import torch.nn.functional as F

from common import default_float64, exact, write

STEPS, ROWS, VOCABULARY, CLASSES = 100, 8, 12, 5
D_MODEL, LAYERS, HEADS, D_FF, MAX_LEN = 16, 2, 2, 32, 16
D_HEAD = D_MODEL // HEADS
FIRE_HIDDEN, FIRE_THRESHOLD = 32, 512.0
PEAK, WARM_UP = 4e-3, 10
SCHEMES = ["none", "sinusoidal", "learned", "rotary", "alibi", "t5", "pope", "kerple", "fire"]
GIVEN = ["sinusoidal", "rotary"]
WORD = (1 << 64) - 1


def mixed(number):
    """SplitMix64."""
    z = (number + 0x9E3779B97F4A7C15) & WORD
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & WORD
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & WORD
    return z ^ (z >> 31)


def weights(path, *shape):
    start = 0xCBF29CE484222325
    for byte in path.encode():
        start = ((start ^ byte) * 0x100000001B3) & WORD
    positive = dict.fromkeys(["gamma", "r1", "r2", "c", "threshold"], (1.0, 0.5))
    center, width = (positive | {"phases": (-2.0, 4.0)}).get(path.split(".")[-1], (0.0, 1.0))
    numbers = [center + width * ((mixed((start + nth) & WORD) >> 40) / 2**24 - 0.5) for nth in range(math.prod(shape))]
    return torch.tensor(numbers).view(shape).requires_grad_()


def parameters(scheme):
    shapes = {"tokens.weight": (VOCABULARY, D_MODEL), "readout.weight": (D_MODEL, CLASSES), "readout.bias": (CLASSES,)}
    for norm in ["norm"] + [f"layers.{n}.{part}_norm" for n in range(LAYERS) for part in ("attention", "feed_forward")]:
        shapes |= {f"encoder.{norm}.gamma": (D_MODEL,), f"encoder.{norm}.beta": (D_MODEL,)}
    linears = {"attention.qkv": (D_MODEL, 3 * D_MODEL), "attention.output": (D_MODEL, D_MODEL)}
    linears |= {"inner": (D_MODEL, D_FF), "outer": (D_FF, D_MODEL)}
    for n in range(LAYERS):
        for name, (rows, columns) in linears.items():
            path = f"encoder.layers.{n}.{name}"
            shapes |= {f"{path}.weight": (rows, columns), f"{path}.bias": (columns,)}
    of_scheme = {
        "learned": {"Learned.weight": (MAX_LEN, D_MODEL)},
        "t5": {"T5.weight": (32, HEADS)},
        "pope": {"Pope.phases": (HEADS, D_HEAD)},
        "kerple": {"Kerple.r1": (HEADS,), "Kerple.r2": (HEADS,)},
        "fire": {
            "Fire.inner.weight": (1, FIRE_HIDDEN), "Fire.inner.bias": (FIRE_HIDDEN,),
            "Fire.outer.weight": (FIRE_HIDDEN, HEADS), "Fire.outer.bias": (HEADS,),
            "Fire.c": (1,), "Fire.threshold": (1,),
        },
    }
    shapes |= {f"scheme.{name}": shape for name, shape in of_scheme.get(scheme, {}).items()}
    return {path: weights(path, *shape) for path, shape in shapes.items()}


def batch(step, given, pooled):
    """Tokens and positions, padded with zeros, the lengths of the rows, and the classes."""
    longest, rows, classes = 5 + step % 5, [], []
    for row in range(ROWS):
        drawn = lambda what, below: mixed((step * ROWS + row) * 64 + what) % below
        length = 2 + drawn(63, longest - 1) if pooled else longest
        tokens = [drawn(at, VOCABULARY) for at in range(length)]
        steps = [1 + drawn(32 + at, 40) for at in range(length)]
        positions = list(np.cumsum(steps)) if given else list(range(length))
        asked = [0] if pooled else range(length)
        classes += [(tokens[at] + 2 * tokens[length - 1 - at]) % CLASSES for at in asked]
        rows.append((tokens, positions, length))
    seq = max(length for *_, length in rows)
    padded = lambda numbers: numbers + [0] * (seq - len(numbers))
    tokens = torch.tensor([padded(tokens) for tokens, *_ in rows])
    positions = torch.tensor([padded([float(p) for p in positions]) for _, positions, _ in rows])
    return tokens, positions, torch.tensor([length for *_, length in rows]), torch.tensor(classes)


def angles(positions, width):
    return positions[..., None] * 10_000.0 ** (-torch.arange(0, width, 2) / width)


def sinusoidal(positions):
    turn = angles(positions, D_MODEL)
    return torch.stack([turn.sin(), turn.cos()], -1).flatten(-2)


def rotated(x, positions):
    """Neighbouring columns are a pair. `x` is [rows, heads, seq, d_head]."""
    turn = angles(positions, D_HEAD)[:, None]
    a, b = x[..., 0::2], x[..., 1::2]
    return torch.stack([a * turn.cos() - b * turn.sin(), a * turn.sin() + b * turn.cos()], -1).flatten(-2)


def polar(q, k, positions, phases):
    """PoPE: lengths from the content, directions from the position; keys have trained phases between -2 pi and 0."""
    turn = positions[:, None, :, None] * 10_000.0 ** (-torch.arange(D_HEAD) / D_HEAD)
    of_keys = turn + phases.clamp(-2 * math.pi, 0.0)[:, None]
    pair = lambda x, turn: torch.cat([F.softplus(x) * turn.cos(), F.softplus(x) * turn.sin()], -1)
    return pair(q, turn), pair(k, of_keys)


def alibi(distances):
    """A key to the right counts as half a step farther away: an encoder sees both sides."""
    slopes = 2.0 ** (-8.0 * torch.arange(1, HEADS + 1) / HEADS)
    return -slopes[:, None, None] * (distances.abs() + 0.5 * (distances > 0))


def t5_buckets(distances):
    """Half of 32 buckets for each side, half of which for one distance each. No distance here reaches the others."""
    assert distances.abs().max() <= 8
    return distances.abs() + 16 * (distances > 0)


def kerple(distances, r1, r2):
    """The logarithmic kernel."""
    return -r1[:, None, None] * (r2[:, None, None] * distances.abs()).log1p()


def fire(distances, weight):
    """A network of the distance, normalized by the position of the query or the threshold, whichever is larger."""
    c, threshold = weight("scheme.Fire.c"), (weight("scheme.Fire.threshold") * FIRE_THRESHOLD).abs()
    place = torch.arange(distances.shape[0], dtype=torch.float64)[:, None]
    reach = torch.where(place < threshold, threshold, place)
    part = (c * distances).abs().log1p() / ((c * reach).abs().log1p() + 1e-6)
    inner = part[..., None] @ weight("scheme.Fire.inner.weight") + weight("scheme.Fire.inner.bias")
    outer = inner.relu() @ weight("scheme.Fire.outer.weight") + weight("scheme.Fire.outer.bias")
    return outer.movedim(-1, 0)


def attention(x, weight, scheme, positions, padding):
    rows, seq, _ = x.shape
    qkv = x @ weight("qkv.weight") + weight("qkv.bias")
    q, k, v = (part.view(rows, seq, HEADS, D_HEAD).transpose(1, 2) for part in qkv.chunk(3, -1))
    distances = torch.arange(seq)[None, :] - torch.arange(seq)[:, None]
    bias = 0.0
    match scheme:
        case "rotary":
            q, k = rotated(q, positions), rotated(k, positions)
        case "pope":
            q, k = polar(q, k, positions, weight("scheme.Pope.phases"))
        case "alibi":
            bias = alibi(distances)
        case "t5":
            bias = weight("scheme.T5.weight")[t5_buckets(distances)].movedim(-1, 0)
        case "kerple":
            bias = kerple(distances, weight("scheme.Kerple.r1"), weight("scheme.Kerple.r2"))
        case "fire":
            bias = fire(distances, weight)
    scores = q @ k.transpose(-1, -2) / math.sqrt(D_HEAD) + bias
    scores = scores.masked_fill(padding[:, None, None], -math.inf)
    mixed_values = (scores.softmax(-1) @ v).transpose(1, 2).reshape(rows, seq, D_MODEL)
    return mixed_values @ weight("output.weight") + weight("output.bias")


def loss(weight, scheme, pooled, tokens, positions, lengths, classes):
    seq = tokens.shape[1]
    padding = torch.arange(seq)[None] >= lengths[:, None]
    norm = lambda x, path: F.layer_norm(x, (D_MODEL,), weight[f"{path}.gamma"], weight[f"{path}.beta"])
    x = weight["tokens.weight"][tokens]
    match scheme:
        case "sinusoidal":
            x = x + sinusoidal(positions)
        case "learned":
            x = x + weight["scheme.Learned.weight"][:seq]
    for n in range(LAYERS):
        layer = f"encoder.layers.{n}"
        of_attention = lambda name: weight[name if name.startswith("scheme.") else f"{layer}.attention.{name}"]
        x = x + attention(norm(x, f"{layer}.attention_norm"), of_attention, scheme, positions, padding)
        inner = norm(x, f"{layer}.feed_forward_norm") @ weight[f"{layer}.inner.weight"] + weight[f"{layer}.inner.bias"]
        x = x + F.gelu(inner) @ weight[f"{layer}.outer.weight"] + weight[f"{layer}.outer.bias"]
    x = norm(x, "encoder.norm")
    if pooled:
        read = x.masked_fill(padding[..., None], 0.0).sum(1) / lengths[:, None]
    else:
        read = x.flatten(0, 1)
    return F.cross_entropy(read @ weight["readout.weight"] + weight["readout.bias"], classes)


def rate(step):
    if step < WARM_UP:
        return PEAK - (PEAK - PEAK / WARM_UP) / WARM_UP * (WARM_UP - step)
    least, done = PEAK / 100, (step - WARM_UP) / (STEPS - WARM_UP)
    return least + 0.5 * (PEAK - least) * (1 + math.cos(done * math.pi))


def power(base, exponent):
    """As a processor does it: by squares, each rounded to float32."""
    result = np.float32(1)
    while exponent:
        if exponent % 2:
            result *= base
        exponent //= 2
        base = base * base
    return result


def adam(weight, moments, step):
    """Burn keeps the rates of Adam as float32, and so do we."""
    one, beta_1, beta_2, epsilon = map(np.float32, (1.0, 0.9, 0.98, 1e-8))
    root = np.sqrt(one - power(beta_2, step + 1))
    factor = root / (one - power(beta_1, step + 1))
    with torch.no_grad():
        for path, parameter in weight.items():
            gradient = parameter.grad
            gradient = gradient * (1.0 / (gradient.square().sum().sqrt() + 2.0**-1022)).clamp(max=1.0)
            first, second = moments.setdefault(path, (0.0, 0.0))
            first = first * float(beta_1) + gradient * float(one - beta_1)
            second = second * float(beta_2) + gradient.square() * float(one - beta_2)
            moments[path] = (first, second)
            parameter -= rate(step) * first * float(factor) / (second.sqrt() + float(epsilon * root))
            parameter.grad = None


def training(scheme, given, pooled):
    weight, moments, losses = parameters(scheme), {}, []
    for step in range(STEPS):
        of_step = loss(weight, scheme, pooled, *batch(step, given, pooled))
        of_step.backward()
        adam(weight, moments, step)
        losses.append(of_step.item())
    print(scheme, given, pooled, losses[0], losses[-1])
    return {"peer": "PyTorch", "version": torch.__version__, "scheme": scheme, "given": given, "pooled": pooled, "losses": exact(losses)}


def main():
    torch.set_num_threads(1)
    with default_float64():
        kinds = [(scheme, False) for scheme in SCHEMES] + [(scheme, True) for scheme in GIVEN]
        write("training", [training(*kind, pooled) for kind in kinds for pooled in (False, True)])


if __name__ == "__main__":
    main()
