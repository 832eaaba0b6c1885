"""What transformers' models make of their `config.json` to rotate queries."""

import importlib
import json

import numpy as np
import torch
from transformers import AutoConfig, __version__

from common import about, double, rounded, shortest

HALVES = (
    "arcee gemma gemma2 gpt_neox granite llama mistral mixtral nemotron olmo olmo2 persimmon phi phi3 qwen2 qwen2_moe "
    "qwen3 qwen3_moe seed_oss smollm3 stablelm starcoder2"
)
INTERLEAVED = "cohere cohere2 ernie4_5 glm glm4 helium"
POSITIONS = [0, 1, 7, 100, 4_095, 131_071]


def rotations():
    """The files that configurations write, whole and with nothing but what cannot be left out, and the rotation of
    a query: in float64, since the angles of far positions have few digits in float32."""
    random = np.random.default_rng(13)
    small = {"hidden_size": 64, "num_attention_heads": 4, "max_position_embeddings": 4096}
    for model in sorted(f"{HALVES} {INTERLEAVED}".split()):
        config = AutoConfig.for_model(model, **small)
        yield rotation(config, written(config), random)
        bare = AutoConfig.for_model(model)
        file = {name: getattr(bare, name) for name in ["model_type", *small]}
        yield rotation(bare, file | {"transformers_version": __version__}, random, POSITIONS[4:5])
    for model, options in scaled():
        config = AutoConfig.for_model(model, **small | options)
        yield rotation(config, written(config), random)


def written(config):
    return json.loads(config.to_json_string())


def scaled():
    """Options of models that were made for longer inputs, as they have them."""
    pairs = 16 // 2
    longrope = {"short_factor": [1.0 + i / 8 for i in range(pairs)], "long_factor": [1.0 + i for i in range(pairs)]}
    yield "llama", {"rope_theta": 500_000.0, "rope_scaling": llama3(), "head_dim": 24}
    yield "qwen2", {"rope_theta": 1e6, "rope_scaling": {"type": "yarn", "factor": 4.0}}
    yield "qwen3", {"rope_scaling": {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 2048}}
    yield "llama", {"rope_scaling": {"type": "dynamic", "factor": 2.0}}
    yield "mistral", {"rope_scaling": {"type": "linear", "factor": 8.0}, "head_dim": 32}
    yield "gpt_neox", {"rotary_pct": 0.5, "rotary_emb_base": 20_000}
    yield "phi3", {
        "original_max_position_embeddings": 512,
        "rope_scaling": {"type": "longrope"} | longrope,
    }
    yield "phi3", {
        "partial_rotary_factor": 0.75,
        "original_max_position_embeddings": 4096,
        "rope_scaling": {"type": "longrope"} | {name: factors[:6] for name, factors in longrope.items()},
    }


def llama3():
    bounds = {"low_freq_factor": 1.0, "high_freq_factor": 4.0, "original_max_position_embeddings": 1024}
    return {"rope_type": "llama3", "factor": 8.0} | bounds


def rotation(config, file, random, positions=POSITIONS):
    model = config.model_type
    code = importlib.import_module(f"transformers.models.{model}.modeling_{model}")
    (name,) = (name for name in dir(code) if name.endswith("RotaryEmbedding"))
    width = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
    q = random.normal(size=(len(positions), width)).astype(np.float32)
    with double():
        x = torch.tensor(q, dtype=torch.float64)
        cos, sin = getattr(code, name)(config=config)(x, torch.tensor([positions]))
        turned = cos.shape[-1]
        part = x[None, None, :, :turned]
        y, _ = code.apply_rotary_pos_emb(part, part, cos, sin)
    return about("transformers", "transformers") | {
        "config": file,
        "positions": positions,
        "x": [shortest(row) for row in q],
        "rotated": [rounded(row) for row in torch.cat((y[0, 0], x[:, turned:]), -1)],
    }
