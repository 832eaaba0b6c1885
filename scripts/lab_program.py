"""The program that scripts of this folder try: the release build of the checkout."""

import json
import os
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def built():
    """The release build of pe-lab, which is made first."""
    subprocess.run(["cargo", "build", "--release", "--locked", "-p", "pe-lab"], cwd=ROOT, check=True)
    about = ["cargo", "metadata", "--format-version", "1", "--no-deps", "--locked"]
    about = subprocess.run(about, cwd=ROOT, check=True, capture_output=True)
    return str(Path(json.loads(about.stdout)["target_directory"]) / "release" / "pe-lab")


def program():
    """The program that PE_LAB names, or the release build."""
    return os.environ["PE_LAB"] if "PE_LAB" in os.environ else built()
