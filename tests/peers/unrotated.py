#!/usr/bin/env python3
"""Writes `values/unrotated.json`: how many numbers the tables of positions have in models of transformers that do not rotate."""

import os

os.environ["TRANSFORMERS_VERBOSITY"] = "critical"

import json
import re

import torch
from transformers import AutoConfig, AutoModel

from common import VALUES

NAMES = re.compile(
    r"relative_attention_bias.weight|(position_embeddings|embed_positions|wpe|rel_embeddings).weight$|embeddings.position_embeddings$|"
    r"relative_position_bias_table|self.pos_(key|query)_proj|pos_conv_embed.conv.(bias|parametrizations.weight.original1)|continuous_position_bias_mlp.*(weight|bias)$"
)
BOTH = {"max_position_embeddings": 96}
WIDE = {"hidden_size": 96, "num_attention_heads": 4, "num_hidden_layers": 2}
IMAGE = {"image_size": 96, "patch_size": 8}
FILES = {
    "bart": [{}, {"d_model": 96, "max_position_embeddings": 50}],
    "beit": [{"use_relative_position_bias": True}, {"use_absolute_position_embeddings": True} | WIDE | IMAGE],
    "bert": [{}, WIDE | BOTH],
    "deberta-v2": [{}, WIDE | {"relative_attention": True, "position_buckets": 32, "pos_att_type": "p2c|c2p"},
                   WIDE | {"relative_attention": True, "max_relative_positions": 40, "pos_att_type": "c2p", "position_biased_input": False}],
    "electra": [{}, {"embedding_size": 48} | BOTH],
    "gpt2": [{}, {"n_embd": 96, "n_positions": 77}],
    "hubert": [{}, {"hidden_size": 96, "num_conv_pos_embeddings": 32, "num_conv_pos_embedding_groups": 8}],
    "mbart": [{}, {"d_model": 96, "max_position_embeddings": 50}],
    "mt5": [{}, {"num_heads": 4, "relative_attention_num_buckets": 16}],
    "opt": [{}, WIDE | BOTH],
    "roberta": [{}, WIDE | BOTH],
    "swin": [{}, {"window_size": 5, "num_heads": [2, 4], "depths": [2, 2]}],
    "t5": [{}, {"num_heads": 4, "relative_attention_num_buckets": 16}],
    "vit": [{}, WIDE | IMAGE],
    "wav2vec2": [{}, {"hidden_size": 96, "num_conv_pos_embeddings": 32, "num_conv_pos_embedding_groups": 8}],
    "whisper": [{}, {"d_model": 96, "max_source_positions": 70, "max_target_positions": 60}],
    "swinv2": [{}, {"window_size": 5, "num_heads": [2, 4], "depths": [2, 2]}],
    "bloom": [{}],
    "mpt": [{}],
}  # fmt: skip


def sizes(file):
    config = AutoConfig.for_model(**file)
    with torch.device("meta"):
        model = AutoModel.from_config(config)
    tables = {}
    for name, table in model.named_parameters():
        if NAMES.search(name):
            # What is trained together: a weight and its bias, the tables of a stage, of one layer out of many that are alike.
            place = re.sub(r"(blocks?|layers|layer)[.][0-9]+", r"\1.#", name) if "encoder.layers" not in name or "blocks" not in name else (
                re.sub(r"blocks[.][0-9]+", "blocks.#", name))  # fmt: skip
            tables.setdefault(re.sub(r"(conv|mlp).*|.*(pos_(key|query)_proj|rel_embeddings).*", "", place), {})[place] = table.numel()
    found = [sum(parts.values()) for parts in tables.values()]
    return sorted(found + [0] * (file["model_type"] in ("bloom", "mpt")))


def main():
    cases = []
    for name, files in FILES.items():
        for file in files:
            file = {"model_type": name} | file
            cases.append({"type": name, "file": file, "sizes": sizes(dict(file))})
            print(cases[-1])
    (VALUES / "unrotated.json").write_text("[\n" + ",\n".join(json.dumps(case) for case in cases) + "\n]\n")


if __name__ == "__main__":
    main()
