#!/usr/bin/env python3
"""Writes `values/convolutions.json`: embeddings to which a convolution added positions, and the gradients of the sum
of all numbers, each times the whole number that `weights` gives it. In float64.

`values/convolutions.safetensors` has the first convolution of wav2vec 2.0 by the names of its files: as transformers
saves it, with the names that it and fairseq had before, and as a plain weight.
"""

import copy
import tempfile
from pathlib import Path

import safetensors.torch
import torch
from timm.models.twins import PosConv
from torch.nn.utils import parametrize
from transformers import Wav2Vec2Config, Wav2Vec2Model
from transformers.models.wav2vec2.modeling_wav2vec2 import Wav2Vec2Encoder

from common import VALUES, about, rounded, shortest, write


def main():
    torch.manual_seed(1)
    write("convolutions", [*wav2vec2s(), *twins()])


def weights(shape):
    return (torch.arange(shape.numel(), dtype=torch.float64) * 7 % 11 - 5).view(shape)


def filled(module):
    """The module in float64, with random parameters that are numbers of float32."""
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.copy_(torch.randn(parameter.shape))
    return module.double()


def case(peer, package, kind, x, weight, bias, y, **settings):
    (y * weights(y.shape)).sum().backward()
    return about(peer, package) | {
        "kind": kind,
        "shape": list(x.shape),
        **settings,
        "x": shortest(x.detach().numpy()),
        "weight": rounded(weight.detach().numpy()),
        "bias": shortest(bias.detach().numpy()),
        "y": rounded(y.detach().numpy()),
        "gradients": [rounded(part.grad.numpy()) for part in (x, weight, bias)],
    }


def wav2vec2s():
    """The encoder without layers and without its norm: what remains is its input and the convolution. `lengths` and
    `left` say where the padding of each row is."""
    saved = False
    for d_model, kernel, groups, lengths, left in [
        (8, 6, 4, [7, 7], False),
        (6, 5, 3, [9], False),
        (4, 128, 2, [11], False),
        (4, 6, 2, [7, 4, 1], False),
        (4, 6, 2, [7, 4, 1], True),
        (4, 5, 1, [5, 3], True),
    ]:
        settings = {"num_conv_pos_embeddings": kernel, "num_conv_pos_embedding_groups": groups, "num_hidden_layers": 0}
        config = Wav2Vec2Config(hidden_size=d_model, num_attention_heads=1, **settings)
        config._attn_implementation = "eager"
        encoder = filled(Wav2Vec2Encoder(config)).eval()
        encoder.layer_norm = torch.nn.Identity()
        if not saved:
            save(config, encoder)
            saved = True
        seq = max(lengths)
        mask = torch.tensor([[(seq - 1 - i if left else i) < length for i in range(seq)] for length in lengths])
        x = torch.randn(len(lengths), seq, d_model).double().requires_grad_()
        convolution = encoder.pos_conv_embed.conv
        with parametrize.cached():
            weight = convolution.weight
            weight.retain_grad()
            # The encoder sets padded tokens to zero in place.
            y = encoder(x.clone(), attention_mask=mask).last_hidden_state
            peer = "transformers Wav2Vec2Encoder"
            settings = {"groups": groups, "kernel": kernel, "lengths": lengths, "left": left}
            yield case(peer, "transformers", "wav2vec2", x, weight, convolution.bias, y, **settings)


def save(config, encoder):
    kept = {}
    model = Wav2Vec2Model(config)
    model.encoder.pos_conv_embed = copy.deepcopy(encoder.pos_conv_embed).float()
    with tempfile.TemporaryDirectory() as folder:
        model.save_pretrained(folder)
        tensors = safetensors.torch.load_file(Path(folder) / "model.safetensors")
    name = "encoder.pos_conv_embed.conv"
    tensors = {key: tensor for key, tensor in tensors.items() if key.startswith(name)}
    norm, direction = [f"{name}.parametrizations.weight.original{i}" for i in (0, 1)]
    kept = tensors | {
        "before.weight_g": tensors[norm].clone(),
        "before.weight_v": tensors[direction].clone(),
        "before.bias": tensors[f"{name}.bias"].clone(),
        "plain.weight": model.encoder.pos_conv_embed.conv.weight.detach().clone(),
        "plain.bias": tensors[f"{name}.bias"].clone(),
    }
    safetensors.torch.save_file(kept, VALUES / "convolutions.safetensors", {"format": "pt"})
    print(*(f"{name} {list(tensor.shape)}" for name, tensor in kept.items()), sep="\n")


def twins():
    for d_model, batch, size in [(3, 2, [4, 5]), (2, 1, [1, 6]), (5, 1, [3, 3])]:
        module = filled(PosConv(d_model, d_model))
        x = torch.randn(batch, size[0] * size[1], d_model).double().requires_grad_()
        convolution = module.proj[0]
        y = module(x, tuple(size))
        yield case("timm Twins PosConv", "timm", "peg", x, convolution.weight, convolution.bias, y, size=size)


main()
