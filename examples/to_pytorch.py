"""Loads what the example `to_pytorch` wrote, and compares: see to_pytorch.rs."""

import json
import sys
from pathlib import Path

import torch
from safetensors.torch import load_file
from torch import nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.tokens = nn.Embedding(50, 16)
        self.positions = nn.Embedding(12, 16)
        self.out = nn.Linear(16, 50)

    def forward(self, tokens):
        places = torch.arange(tokens.shape[-1])
        return self.out(self.tokens(tokens) + self.positions(places))


folder = Path(sys.argv[1])
model = Model()
model.load_state_dict(load_file(folder / "model.safetensors"), strict=True)
said = json.loads((folder / "logits.json").read_text())
with torch.no_grad():
    logits = model(torch.tensor([said["tokens"]]))[0]
off = (logits - torch.tensor(said["logits"])).abs().max().item()
assert off < 1e-5, f"the logits differ by {off}"
print(f"PyTorch {torch.__version__}: every name found, logits equal within {off:.1e}")
