#!/usr/bin/env python3
"""Writes `values/`: what other libraries compute, for the tests to read. See README.md."""

import os

os.environ |= {"KERAS_BACKEND": "torch", "TF_CPP_MIN_LOG_LEVEL": "3", "TF_ENABLE_ONEDNN_OPTS": "0"}

import checkpoints
import diffusion
import formulas
import grids
import models
import schemes
from common import write


def main():
    write("rope_scaling", schemes.rope_scaling())
    write("t5_buckets", schemes.t5_buckets())
    write("alibi_slopes", schemes.alibi_slopes())
    write("rotary", schemes.rotary())
    write("models", models.rotations())
    write("xpos", schemes.xpos())
    write("kerple", schemes.kerple())
    write("fire", schemes.fire())
    write("formulas", formulas.formulas())
    write("grids", grids.grids())
    write("diffusion", diffusion.rotations())
    write("checkpoints", checkpoints.checkpoints())


main()
