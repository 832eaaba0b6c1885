#!/usr/bin/env python3
"""Writes `values/unrotated.json`: how many numbers the tables of positions have in models of transformers that do not rotate,
and that those without any do not see the order of their tokens."""

import os

os.environ["TRANSFORMERS_VERBOSITY"] = "critical"

import json
import re

import torch
from transformers import AutoConfig, AutoModel
from transformers.models.clvp.modeling_clvp import ClvpDecoder
from transformers.models.moshi.modeling_moshi import MoshiDecoderLayer, MoshiFlexibleLinear

from common import VALUES

NAMES = re.compile(
    r"relative_attention_bias.weight|(position_embeddings|position_embeds_layer|embed_positions|wpe|rel_embeddings).weight$|embeddings.position_embeddings$|"
    r"relative_position_bias_table|self.pos_(key|query)_proj|pos_conv_embed.conv.(bias|parametrizations.weight.original1)|continuous_position_bias_mlp.*(weight|bias)$"
)
BOTH = {"max_position_embeddings": 96}
WIDE = {"hidden_size": 96, "num_attention_heads": 4, "num_hidden_layers": 2}
IMAGE = {"image_size": 96, "patch_size": 8}
FILES = {
    "bart": [{}, {"d_model": 96, "max_position_embeddings": 50}],
    "beit": [{"use_relative_position_bias": True}, {"use_absolute_position_embeddings": True} | WIDE | IMAGE],
    "bert": [{}, WIDE | BOTH],
    "clvp_decoder": [{}, WIDE | BOTH],
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

# One layer of attention of each type that has no positions, and of one that has.
ONE = {"hidden_size": 64, "num_attention_heads": 4, "num_key_value_heads": 4, "num_hidden_layers": 1, "intermediate_size": 32,
       "vocab_size": 64, "pad_token_id": 0}  # fmt: skip
ATTENTION = {
    "llama": {},
    "glm5_next_text": {"layer_types": ["full_attention"], "mlp_layer_types": ["dense"], "qk_nope_head_dim": 16, "v_head_dim": 16,
                       "kv_lora_rank": 16, "q_lora_rank": 16, "index_n_heads": 4, "index_head_dim": 16},
    "jamba": {"attn_layer_period": 1, "attn_layer_offset": 0, "num_experts": 1, "num_experts_per_tok": 1},
    "kimi_linear": {"layer_types": ["full_attention"], "mlp_layer_types": ["dense"], "qk_nope_head_dim": 16, "qk_rope_head_dim": 16,
                    "v_head_dim": 16, "kv_lora_rank": 16},
    "moshi_depth": {"head_dim": 16},
    "nemotron_h": {"layers_block_type": ["full_attention"]},
}  # fmt: skip
WITHOUT = [name for name in ATTENTION if name != "llama"]


def layer_of_moshi(config):
    """A layer of the decoder of depth. Its weights differ from token to token, and are made alike."""
    layer = MoshiDecoderLayer(config, 0, use_flexible_linear=True, use_rope=False).double().eval()
    for module in layer.modules():
        if isinstance(module, MoshiFlexibleLinear):
            alike = torch.randn_like(module.weight[:1]) / 8
            module.weight.data = alike.expand_as(module.weight).clone()
    mask = torch.full((8, 8), float("-inf"), dtype=torch.float64).triu(1)[None, None]
    return lambda x: layer(x, attention_mask=mask, position_ids=torch.arange(8)[None])[0]


@torch.no_grad()
def sees_order(name):
    """Whether the last of eight tokens, which sees all of them, changes when those before it change places."""
    torch.manual_seed(1)
    config = AutoConfig.for_model(**({"model_type": name} | ONE | ATTENTION[name]))
    config._attn_implementation = "eager"
    if name == "moshi_depth":
        run = layer_of_moshi(config)
    else:
        model = AutoModel.from_config(config).double().eval()
        run = lambda x: model(inputs_embeds=x, use_cache=False).last_hidden_state[0]
    x = torch.randn(1, 8, 64, dtype=torch.float64)
    places = torch.tensor([4, 2, 6, 0, 5, 3, 1, 7])
    here, there, other = (run(of).reshape(-1, 64)[-1] for of in (x, x[:, places], x + (torch.arange(8) < 3)[None, :, None]))
    by_order, by_content = ((here - of).abs().max() for of in (there, other))
    assert by_content > 1e-4, f"{name}: the last token does not see the others"
    return bool(by_order > 1e-5 * by_content)  # attention takes its exponentials in float32


def sizes(file):
    config = AutoConfig.for_model(**file)
    with torch.device("meta"):
        model = ClvpDecoder(config) if file["model_type"] == "clvp_decoder" else AutoModel.from_config(config)
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
    assert sees_order("llama")
    for name in WITHOUT:
        assert not sees_order(name), name
        cases.append({"type": name, "file": {"model_type": name}, "sizes": []})
    (VALUES / "unrotated.json").write_text("[\n" + ",\n".join(json.dumps(case) for case in cases) + "\n]\n")


if __name__ == "__main__":
    main()
