#!/usr/bin/env python3
"""nanoGPT's setting for a processor on the novel of pe-lab: five trainings in PyTorch, beside the laboratory's own.

    cargo run --release -- compare --study docs/reproductions/nanogpt.toml --out pe-lab-nanogpt
    python benches/peers/nanogpt.py pe-lab-nanogpt docs/reproductions/nanogpt

Trains the model of nanoGPT (4 layers, 4 heads, width 128, windows of 64, batches of 12, 2,000 steps, dropout 0; its README calls this the
setting for a processor) with its optimizer, schedule and initial values, on the characters that the laboratory trains on, and tests it in
the laboratory's windows. Writes NAME.csv with a row for each training, and NAME.svg with the losses of all ten.
"""

import csv
import gzip
import json
import math
import os
import sys
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import torch
from torch import nn
from torch.nn import functional as F

WIDTH, LAYERS, HEADS, SEQ, BATCH, STEPS, SEEDS = 128, 4, 4, 64, 12, 2_000, 5
PEAK, LEAST, WARM_UP = 1e-3, 1e-4, 100
NOVEL = Path(__file__).resolve().parents[2] / "crates/pe-lab/data/pride_and_prejudice.txt.gz"


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm_attention = nn.LayerNorm(WIDTH, bias=False)
        self.qkv = nn.Linear(WIDTH, 3 * WIDTH, bias=False)
        self.output = nn.Linear(WIDTH, WIDTH, bias=False)
        self.norm_feed_forward = nn.LayerNorm(WIDTH, bias=False)
        self.widen = nn.Linear(WIDTH, 4 * WIDTH, bias=False)
        self.narrow = nn.Linear(4 * WIDTH, WIDTH, bias=False)

    def forward(self, x):
        rows, seq, _ = x.shape
        qkv = self.qkv(self.norm_attention(x)).view(rows, seq, 3, HEADS, WIDTH // HEADS)
        q, k, v = (part.transpose(1, 2) for part in qkv.unbind(2))
        context = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.output(context.transpose(1, 2).reshape(rows, seq, WIDTH))
        return x + self.narrow(F.gelu(self.widen(self.norm_feed_forward(x))))


class Decoder(nn.Module):
    def __init__(self, vocabulary):
        super().__init__()
        self.tokens = nn.Embedding(vocabulary, WIDTH)
        self.positions = nn.Embedding(SEQ, WIDTH)
        self.blocks = nn.ModuleList(Block() for _ in range(LAYERS))
        self.norm = nn.LayerNorm(WIDTH, bias=False)
        for name, parameter in self.named_parameters():
            if parameter.dim() == 2:
                is_last = "output" in name or "narrow" in name
                nn.init.normal_(parameter, std=0.02 / math.sqrt(2 * LAYERS) if is_last else 0.02)

    def forward(self, tokens):
        x = self.tokens(tokens) + self.positions.weight[: tokens.shape[1]]
        for block in self.blocks:
            x = block(x)
        return self.norm(x) @ self.tokens.weight.T  # one table for both ends


def rate(step):
    """Of a step, counted from 0."""
    if step < WARM_UP:
        return PEAK * (step + 1) / (WARM_UP + 1)
    share = (step - WARM_UP) / (STEPS - WARM_UP)
    return LEAST + 0.5 * (1 + math.cos(math.pi * share)) * (PEAK - LEAST)


def novel():
    """The characters as numbers, and how many of them are for training."""
    text = gzip.open(NOVEL, "rt", encoding="utf-8", newline="").read()
    number = {character: i for i, character in enumerate(sorted(set(text)))}
    data = torch.tensor([number[character] for character in text])
    return data, len(data) - len(data) // 10


def trained(seed):
    """The bits per character of a training in the test, and the loss of each of its steps."""
    torch.set_num_threads(1)  # a training for each core
    torch.manual_seed(seed)
    data, train = novel()
    decoder = Decoder(int(data.max()) + 1)
    decayed = [parameter for parameter in decoder.parameters() if parameter.dim() == 2]
    others = [parameter for parameter in decoder.parameters() if parameter.dim() < 2]
    groups = [{"params": decayed, "weight_decay": 0.1}, {"params": others, "weight_decay": 0.0}]
    optimizer = torch.optim.AdamW(groups, lr=PEAK, betas=(0.9, 0.99), fused=True)
    losses = []
    for step in range(STEPS):
        starts = torch.randint(train - SEQ, (BATCH, 1))
        windows = data[starts + torch.arange(SEQ + 1)]
        loss = F.cross_entropy(decoder(windows[:, :-1]).flatten(0, 1), windows[:, 1:].flatten())
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(decoder.parameters(), 1.0)
        for group in optimizer.param_groups:
            group["lr"] = rate(step)
        optimizer.step()
        losses.append(loss.item())
    return bits(decoder, data, train), losses


@torch.no_grad()
def bits(decoder, data, train):
    """Bits per character in the laboratory's windows of 64: 256 ends, evenly over the held-out tenth after its longest window; the last
    32 characters of each are scored."""
    first, last = train + 8 * SEQ, len(data) - 1
    ends = torch.tensor([first + nth * (last - first) // 255 for nth in range(256)])
    windows = data[ends[:, None] + torch.arange(-SEQ, 1)]
    scores = decoder(windows[:, :-1])[:, -SEQ // 2 :]
    return F.cross_entropy(scores.flatten(0, 1), windows[:, -SEQ // 2 :].flatten()).item() / math.log(2)


def ours(folder):
    """For each seed of the laboratory: bits per character, and its curve."""
    for seed in range(1, SEEDS + 1):
        finished = json.loads((folder / f"trials/text-learned-{seed}/result.json").read_text())["outcome"]["finished"]
        score = next(score["bits"] for score in finished["scores"] if score["length"] == SEQ)
        yield score, [(point["step"], point["loss"]) for point in finished["curve"]]


def draw(file, curves):
    """The losses in bits, the mean over the steps since the point before."""
    import matplotlib

    matplotlib.use("svg")
    matplotlib.rcParams |= {"svg.hashsalt": "pe-lab", "svg.fonttype": "none", "font.family": "sans-serif"}
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(7, 4))
    for name, colour, lines in curves:
        for nth, line in enumerate(lines):
            axes.plot(*zip(*line), color=colour, linewidth=0.8, label=None if nth else name)
    axes.set(xlabel="step", ylabel="loss in training, bits per character", ylim=(1.8, 5))
    axes.legend()
    figure.tight_layout()
    figure.savefig(file, metadata={"Date": None})


def smooth(losses, steps):
    """The mean loss of the steps up to each of these."""
    starts = [0, *steps[:-1]]
    return [(to, sum(losses[start:to]) / (to - start) / math.log(2)) for start, to in zip(starts, steps)]


def main():
    folder, name = Path(sys.argv[1]), sys.argv[2]
    rows, there, here = [], [], []
    steps = list(range(20, STEPS + 1, 20))
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        both = zip(ours(folder), pool.map(trained, range(1, SEEDS + 1)))
        for seed, ((score, curve), (bits_there, losses)) in enumerate(both, 1):
            rows += [("pe-lab", seed, score), ("PyTorch", seed, bits_there)]
            print(*rows[-2:], flush=True)
            there.append(smooth(losses, steps))
            here.append([(step, loss / math.log(2)) for step, loss in curve])
    with open(f"{name}.csv", "w", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([("program", "seed", "bits per character"), *rows])
    draw(f"{name}.svg", [("nanoGPT's model and schedule in PyTorch", "tab:orange", there), ("pe-lab, learned positions", "tab:blue", here)])


if __name__ == "__main__":
    main()
