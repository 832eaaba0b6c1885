#!/usr/bin/env python3
"""Writes `values/wrappers.json`: of which types the parts of a model of several parts are where its file does not say, and which
fields the class of the whole gives its text beside the defaults of the text's own class."""

import contextlib
import json
import os

os.environ["TRANSFORMERS_VERBOSITY"] = "critical"

import transformers
from transformers.models.auto.configuration_auto import CONFIG_MAPPING, CONFIG_MAPPING_NAMES

from common import VALUES


def parts(cls):
    config = cls()
    named = {name: getattr(getattr(config, name, None), "model_type", None) for name in cls.sub_configs}
    return {name: kind for name, kind in named.items() if kind}


def text(cls):
    """The fields of a text of which the file says little, where they are not those of the text's own class."""
    text = cls.from_dict({"model_type": cls.model_type, "text_config": {"vocab_size": 8}}).text_config
    own = type(text)(vocab_size=8).to_dict()
    more = {name: value for name, value in text.to_dict().items() if own.get(name) != value}
    # The width of a head may be as usual for other widths of the whole.
    return more | {"head_dim": text.head_dim} if more and getattr(text, "head_dim", None) else more


def main():
    wrappers, texts = {}, {}
    for name in sorted(CONFIG_MAPPING_NAMES):
        with contextlib.suppress(Exception):
            if found := parts(CONFIG_MAPPING[name]):
                wrappers[name] = found
                if "text_config" in found:
                    texts[name] = text(CONFIG_MAPPING[name])
    values = {"version": transformers.__version__, "wrappers": wrappers, "texts": texts}
    (VALUES / "wrappers.json").write_text(json.dumps(values, indent=0) + "\n")


if __name__ == "__main__":
    main()
