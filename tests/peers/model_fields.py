#!/usr/bin/env python3
"""Writes `values/model_fields.json`: what each field of a model type's file does to its rotations and windows.

    venv5/bin/python model_fields.py            all model types, about an hour
    venv5/bin/python model_fields.py llama …    these, printed

A field is one that the type's configuration class or its model reads in its source, or one of `EVERYWHERE`. Each is set
alone to another value in the small file of `model_types.py`, and the model is run as there. A file that the type's code
fails on is left out. `values` are what the configuration class takes for the sizes that a file leaves out.
"""

import inspect
import json
import os
import re
import resource
import sys
import tempfile
from pathlib import Path

import transformers
from transformers import PreTrainedConfig
from transformers.integrations.heterogeneity.configuration_utils import AmbiguousGlobalPerLayerAttributeError
from transformers.models.auto.configuration_auto import CONFIG_MAPPING

import model_types
from common import VALUES

SECONDS = 900  # of a processor, for all fields of a type
MEMORY = 9 * 2**30  # most of it the address space of PyTorch
SIZES = "num_hidden_layers hidden_size num_attention_heads max_position_embeddings".split()

# Fields that files of other types have: whoever writes a file by hand may write them for any.
EVERYWHERE = (
    "head_dim rope_theta partial_rotary_factor rotary_dim sliding_window use_sliding_window max_window_layers layer_types "
    "sliding_window_pattern original_max_position_embeddings rope_interleave no_rope_layers layer_rope_theta "
    "full_attention_interval qk_rope_head_dim qk_nope_head_dim full_attn_idxs use_bidirectional_attention"
).split()

# What they concern can be neither a rotation nor a window.
OTHER = re.compile(
    "vocab_size|time_step_.*|.*token_id|.*token_index|initializer_.*|use_cache|.*dropout|.*_act|hidden_activation|.*_eps|"
    "tie_word_embeddings|output_.*|is_decoder|add_cross_attention|chunk_size_feed_forward|pretraining_tp|.*loss_coef|"
    "id2label|label2id|num_labels|problem_type|return_dict|architectures|dtype|quantization_config|gradient_checkpointing|"
    "(text|vision|audio|codec|vq)_config|vocabulary_map|rope_scaling|rope_parameters|per_layer_config|model_type"
)

HALF = ["sliding_attention", "full_attention"] * 4
OTHERS = {
    "attention_chunk_size": [100],
    "attention_head_dim": [32],
    "attention_window_size": [100],
    "attn_layer_indices": [[1, 2]],
    "block_types": [["attention", "recurrent"]],
    "cross_attention_layers": [[1]],
    "first_k_dense_replace": [2],
    "full_attn_idxs": [[1, 3]],
    "full_attention_interval": [3],
    "global_attn_every_n_layers": [2],
    "global_head_dim": [48],
    "global_rope_theta": [55_555.0],
    "head_dim": [32, None],
    "layer_rope_theta": [[0.0, 10000.0] * 4, [77_777.0] * 8],
    "layer_types": [HALF, ["full_attention"] * 8, ["attention", "linear_attention"] * 4],
    "layers_block_type": [["attention", "mamba"] * 4],
    "local_rope_theta": [55_555.0],
    "max_window_layers": [3],
    "n_embed": [128],
    "no_rope_layers": [[1, 0] * 4],
    "no_rope_layer_interval": [3],
    "num_hidden_layers": [11],
    "num_layers_per_stack": [2],
    "original_max_position_embeddings": [512],
    "partial_rotary_factor": [0.5, 0.75],
    "partial_rotary_factors": [[0.5, 0.75] * 4],
    "position_embedding_type": ["rotary", "rope", "absolute", "nope"],
    "rope_local_base_freq": [55_555.0],
    "rope_theta": [77_777.0],
    "rotary_dim": [4],
    "rotary_emb_base": [55_555.0],
    "rotary_pct": [0.5, 0.75],
    "sliding_window": [100, None],
    "sliding_window_pattern": [3],
    "sliding_window_size": [100],
    "use_bidirectional_attention": [True, "all"],
}  # fmt: skip

WITHOUT = "head_dim qk_rope_head_dim qk_nope_head_dim rotary_dim kv_channels layer_types global_head_dim rope_parameters".split()

# Several fields at once: for all types, and for some.
YARN = {"rope_type": "yarn", "factor": 4.0}
WINDOWS = {"use_sliding_window": True, "sliding_window": 100}
FOR_ALL = [WINDOWS, WINDOWS | {"max_window_layers": 3}, {"rope_scaling": YARN}, {"rope_scaling": YARN, "max_position_embeddings": 512},
           {"rope_scaling": YARN, "original_max_position_embeddings": 512}, {"rope_scaling": YARN, "model_max_length": 512},
           {"rope_scaling": {"type": "dynamic", "factor": 4.0}}]  # fmt: skip
WIDE = {"num_hidden_layers": 12, "per_layer_config": {"05": {"head_dim": 32, "num_key_value_heads": 4},
                                                      "11": {"head_dim": 32, "num_key_value_heads": 4}}}  # fmt: skip
GROUPS = {"rope_type": "default", "rope_theta": 5e4}
OLDER_NAME = {"rope_parameters": dict.fromkeys(["full_attention", "sliding_attention"], {"type": "linear", "factor": 2.0, "rope_theta": 5e4})}
TOGETHER = dict.fromkeys("gemma4_text gemma4_unified_text diffusion_gemma_text embedding_gemma2_text".split(), [WIDE]) | {
    "cohere2_moe": [{"rope_scaling": {"type": "linear", "factor": 4.0}}],
    "dots1": [{"max_window_layers": 3, "sliding_window": None}],
    "gemma3_text": [{"use_bidirectional_attention": True, "sliding_window": 512}],
    "lfm2": [{"full_attn_idxs": [1, 3], "layer_types": None}],
    "laguna": [{"rope_parameters": {"full_attention": GROUPS, "sliding_attention": GROUPS}, "partial_rotary_factor": 0.5}],
    "mimo_v2_flash": [{"rope_parameters": {"full_attention": GROUPS, "sliding_attention": GROUPS}} | more
                      for more in ({}, {"partial_rotary_factor": 0.5})] + [OLDER_NAME],
    "phimoe": [{"rope_scaling": {"type": "longrope", "short_factor": [1.0 + i / 8 for i in range(8)], "long_factor":
                                 [1.0 + i for i in range(8)], "short_mscale": 1.25, "long_mscale": 1.5,
                                 "original_max_position_embeddings": 4096}, "max_position_embeddings": 131072}],
    "molmo2_text": [{"rope_scaling": YARN, "rope_scaling_layers": [0, 2, 4]}],
    "neomme": [{"per_layer_config": {"00": {"sliding_window": 7}, "07": {"sliding_window": None}}},
               {"rope_parameters": {"full_attention": {"rope_theta": 5e4}, "sliding_attention": {"partial_rotary_factor": 0.5}}}, OLDER_NAME],
    "smollm3": [WINDOWS | {"no_rope_layers": [1, 0] * 4}],
    "step3p5": [{"layer_types": HALF} | more for more in [
        {"rope_theta": [1e3, 2e3] * 4, "partial_rotary_factors": [0.5, 1.0] * 4},
        {"rope_theta": [1e3, 2e3] * 4, "rope_scaling": YARN | {"original_max_position_embeddings": 1024}},
        {"rope_parameters": {"full_attention": GROUPS, "sliding_attention": GROUPS}, "rope_theta": 7e3, "partial_rotary_factor": 0.5},
        {"attention_other_setting": {"num_attention_heads": 8, "head_dim": 32}},
        {"per_layer_config": {"02": {"sliding_window": 7}}},
    ]],
    "zaya": [{"layer_types": ["hybrid", "hybrid_sliding"] * 4, "sliding_window": 100} | more for more in [
        {}, {"rope_parameters": {"hybrid": GROUPS, "hybrid_sliding": GROUPS, "rope_type": "default"}, "partial_rotary_factor": 0.5}]],
    "ultrabert": [{"attention_windows": [100, 0] * 4}, {"rope_theta": [1e3, 2e3] * 4}],
}  # fmt: skip


def fields(cls):
    """The names of the fields that the configuration class or the model reads, and those of `EVERYWHERE`."""
    own = set(getattr(cls, "__dataclass_fields__", ())) - set(PreTrainedConfig.__dataclass_fields__)
    read = set(EVERYWHERE)
    for base in cls.__mro__[: cls.__mro__.index(PreTrainedConfig)]:
        source = inspect.getsource(base)
        read |= set(re.findall(r"""kwargs\.(?:get|pop|setdefault)\(\s*["'](\w+)""", source))
        read |= set(re.findall(r"""["'](\w+)["'] (?:not )?in kwargs""", source)) | set(re.findall(r"self\.(\w+)", source)) & own
    code = inspect.getsource(model_types.code_of(cls))
    named = set(re.findall(r"config\.(\w+)", code)) | set(re.findall(r"""config, ["'](\w+)""", code))
    read |= named & own | set(getattr(cls, "attribute_map", ()))
    return sorted(name for name in read if not OTHER.fullmatch(name) and not name.startswith("_"))


def others(name, value):
    """Other values of a field."""
    if name in OTHERS:
        return OTHERS[name]
    if isinstance(value, bool):
        return [not value]
    if isinstance(value, int):
        return [value * 2 or 1]
    if isinstance(value, float):
        return [value / 2 or 0.5]
    if isinstance(value, (list, tuple)) and value and list(value) != list(value)[::-1]:
        return [list(value)[::-1]]
    return []


def changes(cls, bare):
    """What is changed in a file, by its name; `without` are fields that it then lacks."""
    config = cls.from_dict(json.loads(json.dumps(bare)))
    untried = []
    for name in fields(cls):
        try:
            value = bare.get(name, getattr(config, name, None))
        except AmbiguousGlobalPerLayerAttributeError:  # it differs from layer to layer
            value = bare.get(name)
        tried = [other for other in others(name, value) if name not in bare or bare[name] != other]
        for other in tried:
            yield {"set": {name: other}}
        if not tried:
            untried.append(name)
    for name in WITHOUT:
        if name in bare:
            yield {"without": name}
    for change in FOR_ALL + TOGETHER.get(cls.model_type, []):
        yield {"set": change}
    yield {"untried": untried}


def of_type(name):
    cls = CONFIG_MAPPING[name]
    bare = {"model_type": cls.model_type} | model_types.small(cls)
    first = model_types.layers(cls, bare)
    known = {json.dumps(first): 0}
    cases, failed, untried = [], [], []
    for change in changes(cls, bare):
        if "untried" in change:
            untried = change["untried"]
            continue
        file = bare | change.get("set", {})
        file.pop(change.get("without"), None)
        try:
            found = json.dumps(model_types.layers(cls, file))
        except Exception as error:
            failed.append(change | {"raises": f"{type(error).__name__}: {error}".replace("\n", " ")[:120]})
            continue
        if found not in known:
            known[found] = len(known)
            change["layers"] = json.loads(found)
        else:
            change["as"] = known[found]
        cases.append(change)
    defaults = cls()
    values = [getattr(defaults, size, None) for size in SIZES]
    return {"type": name, "values": values, "file": bare, "layers": first, "cases": cases, "failed": failed, "untried": untried}


def in_a_process(name):
    with tempfile.NamedTemporaryFile("r") as result:
        process = os.fork()
        if process == 0:
            resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
            resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
            model_types.torch.set_num_threads(1)
            try:
                found = of_type(name)
            except Exception as error:
                found = {"type": name, "raises": f"{type(error).__name__}: {error}".replace("\n", " ")[:160]}
            Path(result.name).write_text(json.dumps(found))
            os._exit(0)
        _, status = os.waitpid(process, 0)
        return json.loads(result.read()) if status == 0 else {"type": name, "raises": f"died: {status}"}


def main():
    named = sys.argv[1:]
    types = []
    for name in named or model_types.text_types():
        found = in_a_process(name)
        print(name, len(found.get("cases", [])), "of", len(found.get("cases", [])) + len(found.get("failed", [])),
              found.get("raises", ""), file=sys.stderr, flush=True)  # fmt: skip
        types.append(found)
        if named:
            print(json.dumps(found))
    if not named:
        lines = (json.dumps(found, separators=(",", ":"), allow_nan=False) for found in types)
        text = f'{{"version":"{transformers.__version__}","runs":{json.dumps(model_types.RUNS)},"types":[\n' + ",\n".join(lines) + "\n]}\n"
        (VALUES / "model_fields.json").write_text(text)


if __name__ == "__main__":
    main()
