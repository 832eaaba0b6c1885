#!/usr/bin/env python3
"""Writes `values/wrappers.json`: of which types the parts of a model of several parts are where its file does not say."""

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


def main():
    wrappers = {}
    for name in sorted(CONFIG_MAPPING_NAMES):
        with contextlib.suppress(Exception):
            if found := parts(CONFIG_MAPPING[name]):
                wrappers[name] = found
    text = {"version": transformers.__version__, "wrappers": wrappers}
    (VALUES / "wrappers.json").write_text(json.dumps(text, indent=0) + "\n")


if __name__ == "__main__":
    main()
