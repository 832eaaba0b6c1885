"""What other libraries compute for sinusoidal encodings of a sequence."""

import math
from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any, Optional
from unittest import mock

import keras
import mlx.core as mx
import mlx.nn
import numpy as np
import tensorflow
import torch
from diffusers.models.embeddings import get_timestep_embedding
from mlx.nn.layers import positional_encoding as mlx_module
from positional_encodings.torch_encodings import PositionalEncoding1D
from torch import nn
from torch_geometric.nn import PositionalEncoding
from transformers.models.m2m_100.modeling_m2m_100 import M2M100SinusoidalPositionalEmbedding
from transformers.models.marian.modeling_marian import MarianSinusoidalPositionalEmbedding
from x_transformers.x_transformers import ScaledSinusoidalEmbedding

from common import about, default_float64, definitions, double, exact, shortest, source_version

POSITIONS = [0, 1, 2, 3, 5, 10, 100, 511, 512, 1000, 4095, 5000, 8191, 8192]
FEWER = [0, 1, 1000, 8192]  # for the wide rows of most cases: the file is to stay small
LENGTH = POSITIONS[-1] + 1

EVEN = dict.fromkeys([4, 6, 64], POSITIONS) | {512: FEWER}  # widths, and the positions to give there
ALL = dict.fromkeys([4, 5, 6, 64], POSITIONS) | {65: FEWER, 512: FEWER}
SHORT_EVEN = dict.fromkeys([4, 6], POSITIONS) | {64: FEWER}
SHORT = dict.fromkeys([4, 5], POSITIONS) | {65: FEWER}


def formulas():
    """Every peer with every formula: `compute` gives rows 0 to `LENGTH` of a width, in float32, or in
    float64 where it is asked for that."""
    for peer, formula, widths, compute in peers():
        for width, positions in widths.items():
            single, in_double = (np.asarray(compute(formula, width, twice))[positions] for twice in [False, True])
            assert single.dtype == np.float32 and in_double.dtype == np.float64, (peer, single.dtype, in_double.dtype)
            assert single.shape == in_double.shape == (len(positions), width), (peer, single.shape)
            yield peer | {
                "formula": formula,
                "d_model": width,
                "positions": positions,
                "rows": [shortest(row) for row in single],
                "exact_rows": [exact(row) for row in in_double],
            }


def peers():
    """Whose values, the formula that they follow, the widths to ask for, and how to ask."""
    paper = {"name": "paper"}
    yield about("positional-encodings PositionalEncoding1D", "positional-encodings"), paper, EVEN, multidim
    yield about("the module of PyTorch's tutorial", "torch"), paper, SHORT_EVEN, tutorial

    t2t = {"peer": "tensor2tensor get_timing_signal_1d", "version": source_version("tensor2tensor")}
    for least, most, widths in [(1.0, 10_000.0, ALL), (2.0, 5_000.0, SHORT)]:
        yield t2t, {"name": "tensor2tensor", "min_timescale": least, "max_timescale": most}, widths, tensor2tensor

    fairseq_peer = {"peer": "fairseq SinusoidalPositionalEmbedding", "version": source_version("fairseq")}
    m2m = about("transformers M2M100SinusoidalPositionalEmbedding", "transformers")
    for padding, widths in [(1, ALL), (0, SHORT), (7, SHORT)]:
        yield fairseq_peer, {"name": "fairseq", "padding_index": padding}, widths, fairseq
    for padding in [1, 7]:
        yield m2m, {"name": "fairseq", "padding_index": padding}, SHORT, m2m100

    marian_peer = about("transformers MarianSinusoidalPositionalEmbedding", "transformers")
    yield marian_peer, {"name": "marian"}, ALL, marian
    x_transformers = about("x-transformers ScaledSinusoidalEmbedding, its scale set to 1", "x-transformers")
    yield x_transformers, {"name": "marian"}, SHORT_EVEN, scaled

    defaults = {"min_freq": 1e-4, "max_freq": 1.0, "scale": None, "cos_first": False, "full_turns": False}
    changes = [{}, {"cos_first": True}, {"full_turns": True}, {"scale": 1.0}, {"min_freq": 1e-3, "max_freq": 2.0}]
    for change in changes:
        formula = {"name": "mlx"} | defaults | change
        yield about("mlx.nn SinusoidalPositionalEncoding", "mlx"), formula, SHORT_EVEN if change else EVEN, of_mlx

    defaults = {"flip_sin_to_cos": False, "downscale_freq_shift": 1.0, "scale": 1.0, "max_period": 10_000.0}
    changes = [{}, {"flip_sin_to_cos": True, "downscale_freq_shift": 0.0}, {"scale": 1_000.0}, {"max_period": 500.0}]
    for change in changes:
        formula = {"name": "diffusers"} | defaults | change
        yield about("diffusers get_timestep_embedding", "diffusers"), formula, SHORT if change else ALL, diffusers

    geometric = about("torch_geometric.nn PositionalEncoding", "torch-geometric")
    settings = [(1.0, 1e-4, EVEN), (0.1, 1e-4, SHORT_EVEN), (4.0, 1e-4, SHORT_EVEN), (1.0, 1e-2, SHORT_EVEN)]
    for granularity, base_freq, widths in settings:
        formula = {"name": "torch_geometric", "base_freq": base_freq, "granularity": granularity}
        yield geometric, formula, widths, torch_geometric

    keras_peer = {"peer": "keras_hub.layers SinePositionEncoding", "version": source_version("keras_hub")}
    for wavelength, widths in [(10_000.0, ALL), (500.0, SHORT)]:
        yield keras_peer, {"name": "keras", "max_wavelength": wavelength}, widths, of_keras


def multidim(_formula, width, twice):
    with double() if twice else nullcontext():
        return PositionalEncoding1D(width)(torch.zeros(1, LENGTH, width))[0]


class Tutorial(nn.Module):
    """A table of sines and cosines as a buffer, the frequencies by `exp`, as PyTorch's tutorial has it."""

    def __init__(self, width):
        super().__init__()
        frequencies = torch.exp(torch.arange(0, width, 2) * (-math.log(10_000.0) / width))
        angles = torch.arange(LENGTH).unsqueeze(1) * frequencies
        table = torch.zeros(LENGTH, width)
        table[:, 0::2], table[:, 1::2] = torch.sin(angles), torch.cos(angles)
        self.register_buffer("table", table)


def tutorial(_formula, width, twice):
    with double() if twice else nullcontext():
        return Tutorial(width).table


class TensorFlow:
    """TensorFlow 1's names in TensorFlow 2, and the float type to use for its `to_float`."""

    def __init__(self, dtype):
        self.dtype = dtype

    def __getattr__(self, name):
        return getattr(tensorflow.compat.v1, name)

    def to_float(self, numbers):
        return tensorflow.cast(numbers, self.dtype)


def tensor2tensor(formula, width, twice):
    namespace = {"math": math, "tf": TensorFlow("float64" if twice else "float32")}
    path = "tensor2tensor/layers/common_attention.py"
    (signal,) = definitions("tensor2tensor", path, ["get_timing_signal_1d"], namespace)
    return signal(LENGTH, width, formula["min_timescale"], formula["max_timescale"])[0]


def fairseq(formula, width, twice):
    """No token is padding, so that the first is at `padding_index + 1`."""
    (make_positions,) = definitions("fairseq", "fairseq/utils.py", ["make_positions"], {"torch": torch})
    utils = SimpleNamespace(make_positions=make_positions)
    namespace = {"Any": Any, "Optional": Optional, "Tensor": torch.Tensor, "math": math, "nn": nn, "torch": torch}
    path = "fairseq/modules/sinusoidal_positional_embedding.py"
    (module,) = definitions("fairseq", path, ["SinusoidalPositionalEmbedding"], namespace | {"utils": utils})
    padding = formula["padding_index"]
    with double() if twice else nullcontext():
        return module(width, padding)(torch.full((1, LENGTH), padding + 1))[0]


def m2m100(formula, width, twice):
    padding = formula["padding_index"]
    with double() if twice else nullcontext():
        return M2M100SinusoidalPositionalEmbedding(16, width, padding)(torch.full((1, LENGTH), padding + 1))[0]


def marian(_formula, width, twice):
    with double() if twice else nullcontext():
        module = MarianSinusoidalPositionalEmbedding(LENGTH, width)
        module._init_weight()
        return module((1, LENGTH))


def scaled(_formula, width, twice):
    with torch.no_grad(), double() if twice else nullcontext():
        module = ScaledSinusoidalEmbedding(width)
        module.scale.fill_(1.0)
        return module(torch.zeros(1, LENGTH, width))


def of_mlx(formula, width, twice):
    """MLX's own `exp`, `sin` and `cos` have a float32's precision in float64 too: for float64 the module's code runs
    on NumPy, which has the functions that it calls by the same names."""
    settings = {name: value for name, value in formula.items() if name != "name"}
    library = np if twice else mx
    with mx.stream(mx.cpu), mock.patch.object(mlx_module, "mx", library):
        return mlx.nn.SinusoidalPositionalEncoding(width, **settings)(library.arange(LENGTH))


def diffusers(formula, width, twice):
    settings = {name: value for name, value in formula.items() if name != "name"}
    with double() if twice else nullcontext():
        return get_timestep_embedding(torch.arange(LENGTH), width, **settings)


def torch_geometric(formula, width, twice):
    with default_float64() if twice else nullcontext():
        module = PositionalEncoding(width, formula["base_freq"], formula["granularity"])
        return module(torch.arange(LENGTH, dtype=torch.get_default_dtype()))


def of_keras(formula, width, twice):
    dtype = "float64" if twice else "float32"
    path = "keras_hub/src/layers/modeling/sine_position_encoding.py"
    (kind,) = definitions("keras_hub", path, ["SinePositionEncoding"], {"keras": keras, "ops": keras.ops})
    layer = kind(max_wavelength=formula["max_wavelength"], dtype=dtype)
    return keras.ops.convert_to_numpy(layer(keras.ops.zeros((1, LENGTH, width), dtype=dtype)))[0]
