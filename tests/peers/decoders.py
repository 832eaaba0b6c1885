#!/usr/bin/env python3
"""Writes `decoders/`: small decoders with random weights that transformers saved, and what it makes of prompts.

    venv5/bin/python decoders.py

Each folder has `config.json` and `model.safetensors` as `save_pretrained` writes them, and `expected.json`: two prompts
of different lengths, the logits of each prompt's last tokens, computed in float64, and the 32 tokens that greedy decoding
adds to it with transformers' own cache.
"""

import json
import os
import shutil
from pathlib import Path

os.environ["TRANSFORMERS_VERBOSITY"] = "error"

import torch
from transformers import AutoConfig, AutoModelForCausalLM

from common import about, shortest

OUT = Path(__file__).parent / "decoders"
VOCABULARY = 48
NEW_TOKENS = 32

SIZES = {
    "vocab_size": VOCABULARY,
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 4,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 256,
    "tie_word_embeddings": False,
    "pad_token_id": 0,
    "bos_token_id": None,
    "eos_token_id": None,
}
PAIRS = 4

# Prompts are longer than the trained lengths and the windows below.
DECODERS = {
    "llama": {
        "rope_parameters": {
            "rope_type": "llama3", "rope_theta": 500_000.0, "factor": 8.0, "low_freq_factor": 1.0,
            "high_freq_factor": 4.0, "original_max_position_embeddings": 16,
        }
    },
    "mistral": {"sliding_window": 8, "head_dim": 12},
    "qwen2": {"rope_parameters": {"rope_type": "yarn", "rope_theta": 1e6, "factor": 4.0,
                                  "original_max_position_embeddings": 16}},
    "qwen3": {"head_dim": 16, "rope_parameters": {"rope_type": "default", "rope_theta": 1e6}},
    "smollm3": {},
    "gemma2": {"head_dim": 8, "sliding_window": 8, "query_pre_attn_scalar": 24},
    "gemma3_text": {"head_dim": 8, "sliding_window": 8, "query_pre_attn_scalar": 24, "num_hidden_layers": 6},
    "phi3": {
        "original_max_position_embeddings": 16,
        "rope_parameters": {
            "rope_type": "longrope", "rope_theta": 1e4, "short_factor": [1.0 + i / 8 for i in range(PAIRS)],
            "long_factor": [1.5 + i for i in range(PAIRS)],
        },
    },
    "gpt_neox": {"rope_parameters": {"rope_theta": 1e4, "partial_rotary_factor": 0.5}},
    "gptj": {"n_embd": 32, "n_layer": 4, "n_head": 4, "n_inner": 48, "n_positions": 256, "rotary_dim": 4},
    "bloom": {"n_layer": 4, "n_head": 4},
}  # fmt: skip


def main():
    shutil.rmtree(OUT, ignore_errors=True)
    for name, options in DECODERS.items():
        torch.manual_seed(len(name))
        config = AutoConfig.for_model(name, **SIZES | options)
        model = AutoModelForCausalLM.from_config(config, attn_implementation="eager").eval()
        with torch.no_grad():
            for weights in model.parameters():
                weights.copy_(torch.randn(weights.shape) * (0.25 if weights.dim() > 1 else 0.5))
        folder = OUT / name
        model.save_pretrained(folder)
        (folder / "generation_config.json").unlink(missing_ok=True)
        prompts = [torch.randint(1, VOCABULARY, (1, length)) for length in (29, 19)]
        cases = [case(model.double(), prompt) for prompt in prompts]
        expected = about("transformers", "transformers") | {"prompts": cases}
        (folder / "expected.json").write_text(json.dumps(expected, separators=(",", ":")) + "\n")
        print(name, [case["generated"][:8] for case in cases])


@torch.no_grad()
def case(model, prompt):
    logits = model(prompt).logits[0]
    tokens = model.generate(prompt, max_new_tokens=NEW_TOKENS, do_sample=False, use_cache=True)
    return {
        "tokens": prompt[0].tolist(),
        "logits": [shortest(row) for row in logits[-3:]],
        "generated": tokens[0, prompt.shape[1] :].tolist(),
    }


main()
