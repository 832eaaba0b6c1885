#!/usr/bin/env python3
"""Writes `values/sides.json`: how each side of an encoder-decoder rotates its queries, from the file of the whole."""

import importlib
import json

import transformers
from transformers.models.auto.configuration_auto import CONFIG_MAPPING

import model_types
from common import VALUES, double

# The class of each side, by the name of its group in the file.
SIDES = {
    "blt": {"encoder_config": "BltLocalEncoder", "decoder_config": "BltLocalDecoder", "global_config": "BltGlobalTransformer",
            "patcher_config": "BltPatcher"},
    "dia": {"encoder_config": "DiaEncoder", "decoder_config": "DiaDecoder"},
    "t5gemma": {"encoder": "T5GemmaEncoder", "decoder": "T5GemmaDecoder"},
    "t5gemma2": {"encoder": "T5Gemma2TextEncoder", "decoder": "T5Gemma2Decoder"},
}  # fmt: skip
MORE = {"dia": {"delay_pattern": [0, 1]}}


def small(cls):
    """A file of a side, with no type of its own."""
    file = model_types.small(cls)
    if cls.model_type == "t5gemma2_encoder":
        text = CONFIG_MAPPING["t5gemma2_text"]
        return {"text_config": model_types.small(text) | {"rope_theta": 55_555.0}}
    return file


def sides(name):
    cls = CONFIG_MAPPING[name]
    defaults = cls()
    file = {"model_type": name} | MORE.get(name, {}) | {side: small(type(getattr(defaults, side))) for side in SIDES[name]}
    for i, side in enumerate(SIDES[name]):  # so that they are told apart
        if "text_config" not in file[side]:
            file[side]["rope_theta"] = 11_111.0 * (i + 2)
    with double():
        config = cls.from_dict(json.loads(json.dumps(file)))
    code = importlib.import_module(cls.__module__.replace("configuration_", "modeling_"))
    found = {}
    for side, model in SIDES[name].items():
        own = getattr(config, side)
        found[side] = model_types.layers_of(getattr(code, model), getattr(own, "text_config", own))
    return {"type": name, "file": file, "sides": found}


def main():
    wholes = [json.dumps(sides(name), separators=(",", ":"), allow_nan=False) for name in SIDES]
    head = f'{{"version":"{transformers.__version__}","runs":{json.dumps(model_types.RUNS)},"wholes":[\n'
    (VALUES / "sides.json").write_text(head + ",\n".join(wholes) + "\n]}\n")


if __name__ == "__main__":
    main()
