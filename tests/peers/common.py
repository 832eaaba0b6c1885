"""What the scripts of this folder share."""

import ast
import json
import sys
import zipfile
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from unittest import mock

import numpy as np
import torch

VALUES = Path(__file__).parent / "values"
SOURCES = Path(sys.prefix) / "sources"  # the wheels that README.md has pip download


def write(name, cases):
    """A list, a case a line."""
    lines = (json.dumps(case, separators=(",", ":"), allow_nan=False) for case in cases)
    VALUES.mkdir(exist_ok=True)
    (VALUES / f"{name}.json").write_text("[\n" + ",\n".join(lines) + "\n]\n")


def shortest(numbers):
    """float32 numbers as the shortest decimals that read back as themselves."""
    return [float(str(number)) for number in np.asarray(numbers, dtype=np.float32).ravel()]


def rounded(numbers):
    """float64 numbers to 12 digits."""
    return [float(f"{number:.12g}") for number in np.asarray(numbers, dtype=np.float64).ravel()]


def exact(numbers):
    """float64 numbers as the shortest decimals that read back as themselves, of up to 17 digits."""
    return [float(number) for number in np.asarray(numbers, dtype=np.float64).ravel()]


def about(peer, package):
    """The fields that say whose values these are."""
    return {"peer": peer, "version": version(package)}


@contextmanager
def default_float64():
    """Has torch make float64 where no type is named."""
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    try:
        yield
    finally:
        torch.set_default_dtype(before)


@contextmanager
def double():
    """Has torch make float64 where float32 is named too."""
    names = {"float": torch.float64, "float32": torch.float64, "FloatTensor": torch.DoubleTensor}
    method = mock.patch.object(torch.Tensor, "float", torch.Tensor.double)
    with default_float64(), mock.patch.multiple(torch, **names), method:
        yield


def definitions(package, path, names, namespace):
    """Functions and classes of a file in a package of `sources.txt`: their source is read from the package's wheel
    and run, without decorators, with the names of the given dictionary defined."""
    (wheel,) = SOURCES.glob(f"{package}-*.whl")
    with zipfile.ZipFile(wheel) as archive:
        tree = ast.parse(archive.read(path))
    tree.body = [node for node in tree.body if getattr(node, "name", None) in names]
    assert len(tree.body) == len(names)
    for node in tree.body:
        node.decorator_list = []
    exec(compile(tree, f"{wheel.name}/{path}", "exec"), namespace)
    return [namespace[name] for name in names]


def source_version(package):
    """The version of a package that is in `SOURCES`."""
    (wheel,) = SOURCES.glob(f"{package}-*.whl")
    return wheel.name.split("-")[1]
