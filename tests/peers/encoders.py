#!/usr/bin/env python3
"""Writes `encoders/`: small encoders with random weights that transformers saved, and what it makes of two inputs.

    venv5/bin/python encoders.py

Each folder has `config.json` and `model.safetensors` as `save_pretrained` writes them, and `expected.json`: two inputs of
different sizes, and the last hidden states of each alone, computed in float64.
"""

import json
import os
import shutil
from pathlib import Path

os.environ["TRANSFORMERS_VERBOSITY"] = "error"

import torch
from transformers import AutoConfig, AutoModel, DINOv3ViTConfig, DINOv3ViTModel, T5EncoderModel

from common import about, shortest

OUT = Path(__file__).parent / "encoders"
VOCABULARY = 48

SIZES = {
    "vocab_size": VOCABULARY,
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "max_position_embeddings": 64,
    "pad_token_id": 1,
    "bos_token_id": None,
    "eos_token_id": None,
}
T5_SIZES = {
    "vocab_size": VOCABULARY,
    "d_model": 32,
    "d_kv": 8,
    "d_ff": 48,
    "num_layers": 3,
    "num_heads": 4,
    "relative_attention_num_buckets": 8,
    "relative_attention_max_distance": 12,
    "pad_token_id": 1,
}
ENCODERS = {
    "bert": SIZES | {"pad_token_id": 0},
    "roberta": SIZES,
    "modernbert": SIZES
    | {"local_attention": 8, "num_hidden_layers": 4, "cls_token_id": None, "sep_token_id": None},
    "t5": T5_SIZES,
    "deberta-v2": SIZES
    | {
        "relative_attention": True,
        "position_biased_input": False,
        "norm_rel_ebd": "layer_norm",
        "share_att_key": True,
        "pos_att_type": ["p2c", "c2p"],
        "position_buckets": 8,
        "max_relative_positions": 16,
    },
}


def main():
    shutil.rmtree(OUT, ignore_errors=True)
    for name, options in ENCODERS.items():
        torch.manual_seed(len(name))
        config = AutoConfig.for_model(name, **options)
        config._attn_implementation = "eager"
        model = T5EncoderModel(config) if name == "t5" else AutoModel.from_config(config)
        with torch.no_grad():
            for weights in model.parameters():
                weights.copy_(torch.randn(weights.shape) * 0.25 + (weights.dim() == 1))
        folder = OUT / name
        model.eval().save_pretrained(folder)
        inputs = [torch.randint(2, VOCABULARY, (1, length)) for length in (23, 14)]
        model = model.double()
        with torch.no_grad():
            states = [model(tokens, attention_mask=torch.ones_like(tokens)).last_hidden_state[0] for tokens in inputs]
        cases = [
            {"tokens": tokens[0].tolist(), "states": [shortest(row) for row in rows]} for tokens, rows in zip(inputs, states)
        ]
        expected = about("transformers", "transformers") | {"inputs": cases}
        (folder / "expected.json").write_text(json.dumps(expected, separators=(",", ":")) + "\n")
        print(name, rows.shape if (rows := states[0]) is not None else None)


    vision()


def vision():
    """Pictures of two sizes that are not square, one larger than in training."""
    for name, gated in [("dinov3", False), ("dinov3-gated", True)]:
        torch.manual_seed(len(name))
        config = DINOv3ViTConfig(
            hidden_size=32,
            intermediate_size=48,
            num_hidden_layers=3,
            num_attention_heads=2,
            image_size=16,
            patch_size=4,
            num_register_tokens=2,
            use_gated_mlp=gated,
            hidden_act="silu" if gated else "gelu",
            layerscale_value=0.5,
        )
        config._attn_implementation = "eager"
        model = DINOv3ViTModel(config)
        with torch.no_grad():
            for weights in model.parameters():
                weights.copy_(torch.randn(weights.shape) * 0.25 + (weights.dim() == 1))
        folder = OUT / name
        model.eval().save_pretrained(folder)
        model = model.double()
        cases = []
        for height, width in [(12, 16), (20, 8)]:
            pixels = torch.randint(-9, 10, (1, 3, height, width)) / 8  # exact in float32
            with torch.no_grad():
                states = model(pixels.double()).last_hidden_state[0]
            shape = {"height": height, "width": width}
            numbers = {"pixels": shortest(pixels), "states": [shortest(row) for row in states]}
            cases.append(shape | numbers)
        expected = about("transformers", "transformers") | {"inputs": cases}
        (folder / "expected.json").write_text(json.dumps(expected, separators=(",", ":")) + "\n")


main()
