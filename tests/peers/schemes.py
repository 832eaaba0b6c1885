"""What other libraries compute for rotary embeddings and biases."""

import numpy as np
import rotary_embedding_torch
import torch
from rotary_embedding_torch import RotaryEmbedding
from transformers import LlamaConfig
from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS
from transformers.models.gptj import modeling_gptj
from transformers.models.llama import modeling_llama
from transformers.models.mpt.modeling_mpt import build_mpt_alibi_tensor
from transformers.models.t5.modeling_t5 import T5Attention

from common import default_float64, rounded, shortest

# Frequencies ----------------------------------------------------------------------------------------

WIDTHS = [(64, 64), (128, 128), (128, 32)]  # head, and the part of it that is rotated
BASES = [10_000.0, 500_000.0]


def scalings(rotary_dim):
    """Name, `rope_scaling` as a model's config has it, and the lengths to ask for."""
    pairs = rotary_dim // 2
    short = [1.0 + i / (8 * pairs) for i in range(pairs)]
    long = [1.0 + 60.0 * (i / pairs) ** 2 for i in range(pairs)]
    original = {"original_max_position_embeddings": 4096}
    yarn = {"rope_type": "yarn", "factor": 16.0} | original
    longrope = {"rope_type": "longrope", "short_factor": short, "long_factor": long, "factor": 32.0} | original
    llama3 = {
        "rope_type": "llama3",
        "factor": 8.0,
        "low_freq_factor": 1.0,
        "high_freq_factor": 4.0,
        "original_max_position_embeddings": 8192,
    }
    yield "default", None, [None]
    yield "linear", {"rope_type": "linear", "factor": 4.0}, [None]
    yield "dynamic", {"rope_type": "dynamic", "factor": 2.0} | original, [None, 17, 4096, 4097, 8192, 40_000]
    yield "dynamic by 8", {"rope_type": "dynamic", "factor": 8.0} | original, [131_072]
    yield "yarn", yarn, [None]
    yield "yarn, factor 1", yarn | {"factor": 1.0}, [None]
    yield "yarn, attention_factor", yarn | {"attention_factor": 1.25}, [None]
    yield "yarn, mscale", yarn | {"mscale": 1.0, "mscale_all_dim": 0.707}, [None]
    yield "yarn, mscale alone", yarn | {"mscale": 0.5}, [None]
    yield "yarn, other betas", yarn | {"beta_fast": 24.0, "beta_slow": 2.5}, [None]
    yield "yarn, not truncated", yarn | {"truncate": False}, [None]
    yield "longrope", longrope, [None, 4096, 4097, 131_072]
    yield "longrope, attention_factor", longrope | {"attention_factor": 1.19}, [100_000]
    yield "longrope, factor 1", longrope | {"factor": 1.0}, [5_000]
    yield "llama3", llama3, [None]
    yield "llama3.2", llama3 | {"factor": 32.0}, [None]


def rope_scaling():
    """transformers' frequencies and attention factors; NTK-aware ones from rotary-embedding-torch."""
    for head_dim, rotary_dim in WIDTHS:
        for base in BASES:
            about = {"head_dim": head_dim, "rotary_dim": rotary_dim, "base": base}
            for name, scaling, lengths in scalings(rotary_dim):
                compute = ROPE_INIT_FUNCTIONS[scaling["rope_type"] if scaling else "default"]
                for seq_len in lengths:
                    frequencies, attention_factor = compute(
                        config(head_dim, rotary_dim, base, scaling), "cpu", seq_len
                    )
                    case = {"name": name} | about | {"seq_len": seq_len, "rope_scaling": scaling}
                    yield case | values(frequencies, attention_factor)
            for factor in [2.0, 8.0]:
                embedding = RotaryEmbedding(rotary_dim, theta=base, theta_rescale_factor=factor)
                scaling = {"rope_type": "ntk", "factor": factor}
                case = {"name": "ntk"} | about | {"seq_len": None, "rope_scaling": scaling}
                yield case | values(embedding.freqs, 1.0)


def values(frequencies, attention_factor):
    inv_freq = shortest(frequencies.detach().numpy())
    return {"attention_factor": float(attention_factor), "inv_freq": inv_freq}


def config(head_dim, rotary_dim, base, scaling):
    """A model's config. Some scalings take the original length from it, not from `rope_scaling`."""
    original = (scaling or {}).get("original_max_position_embeddings", 4096)
    longrope = scaling is not None and scaling["rope_type"] == "longrope"
    config = LlamaConfig(
        hidden_size=4 * head_dim,
        num_attention_heads=4,
        head_dim=head_dim,
        rope_theta=base,
        max_position_embeddings=int(original * scaling["factor"]) if longrope else original,
        partial_rotary_factor=rotary_dim / head_dim,
    )
    config.rope_scaling = scaling  # past the validation, which warns of keys that are read all the same
    if longrope:
        config.original_max_position_embeddings = original
    return config


# Biases ---------------------------------------------------------------------------------------------


def t5_buckets():
    """transformers' buckets of the distances key − query from −700 to 700."""
    distances = torch.arange(-700, 701)
    for buckets, max_distance in [(32, 128), (32, 256), (8, 20)]:
        for bidirectional in [True, False]:
            found = T5Attention._relative_position_bucket(distances, bidirectional, buckets, max_distance)
            yield {
                "buckets": buckets,
                "max_distance": max_distance,
                "bidirectional": bidirectional,
                "first": -700,
                "bucket": found.tolist(),
            }


def alibi_slopes():
    """The slopes of transformers' MPT, which are the paper's (Press et al. 2021, section 3)."""
    for heads in [*range(1, 33), 48, 71, 112]:
        slopes = -build_mpt_alibi_tensor(heads, 2)[:, 0, 0].numpy()
        np.testing.assert_allclose(slopes, paper_slopes(heads), rtol=1e-6)
        yield {"heads": heads, "slopes": shortest(slopes)}


def paper_slopes(heads):
    """A geometric sequence that starts at its own ratio, 2^(−8/n), for n a power of two; for other
    numbers that of the next smaller power, then every other slope of twice that power."""
    sequence = lambda n: [2.0 ** (-8.0 * (i + 1) / n) for i in range(n)]
    power = 1 << (heads.bit_length() - 1)
    return sequence(power) + sequence(2 * power)[::2][: heads - power]


DISTANCES = [0, 1, 2, 3, 5, 8, 13, 100, 511, 512, 4_095, 100_000, 1_000_000]


def kerple():
    """Chi et al. 2022, *KERPLE: Kernelized Relative Positional Embedding for Length Extrapolation*: the
    logarithmic variant −r1 · log(1 + r2 · |m − n|) and the power variant −r1 · |m − n|^r2, 0 < r2 ≤ 2."""
    distance = np.array(DISTANCES, dtype=np.float64)
    kinds = {
        "logarithmic": (lambda r1, r2: -r1 * np.log1p(r2 * distance), [(1.0, 1.0), (0.5, 0.25), (1.75, 3.0), (0.03125, 0.0625)]),
        "power": (lambda r1, r2: -r1 * distance**r2, [(1.0, 1.0), (0.5, 0.25), (0.125, 0.5), (0.015625, 1.5), (0.25, 2.0)]),
    }
    for shape, (bias, parameters) in kinds.items():
        yield {
            "shape": shape,
            "r1": [r1 for r1, _ in parameters],
            "r2": [r2 for _, r2 in parameters],
            "distances": DISTANCES,
            "bias": [rounded(bias(r1, r2)) for r1, r2 in parameters],
        }


def fire():
    """Li et al. 2023, *Functional Interpolation for Relative Positions Improves Long Context
    Transformers*: f(ψ(i − j) / ψ(max(L, i))) with ψ(x) = log(c · x + 1), and f a network from one number
    through a hidden layer with ReLU to a number per head."""
    random = np.random.default_rng(11)
    hidden, heads = 32, 4
    single = lambda *shape: random.normal(size=shape).astype(np.float32)
    into, into_bias = single(hidden), single(hidden)
    out, out_bias = single(heads, hidden) / np.float32(8), single(heads)
    for c, threshold in [(0.1, 512.0), (1.0, 64.0), (0.0625, 2048.0)]:
        c = float(np.float32(c))
        psi = lambda x: np.log(c * x + 1.0)
        queries = [0, 1, 7, 63, 64, 65, 511, 512, 513, 2_000, 5_000]
        pairs = [(i, j) for i in queries for j in sorted({0, i // 3, max(i - 1, 0), i})]
        bias = []
        for i, j in pairs:
            x = psi(i - j) / psi(max(threshold, i))
            bias.append(out.astype(np.float64) @ np.maximum(x * into + into_bias.astype(np.float64), 0.0) + out_bias)
        yield {
            "c": c,
            "threshold": threshold,
            "hidden_weight": shortest(into),
            "hidden_bias": shortest(into_bias),
            "output_weight": [shortest(row) for row in out],
            "output_bias": shortest(out_bias),
            "pairs": pairs,
            "bias": [rounded(row) for row in bias],
        }


# Rotations ------------------------------------------------------------------------------------------

POSITIONS = [0, 1, 2, 7, 63, 100, 4_095, 131_071, 1_000_000]


def rotary():
    """The rotation by transformers' Llama (halves), GPT-J and rotary-embedding-torch (interleaved), in
    float64: the angles that they make themselves are in float32, where a far position leaves few digits."""
    random = np.random.default_rng(7)
    longrope = {"rope_type": "longrope", "factor": 1.0, "attention_factor": 1.25}
    longrope |= {"original_max_position_embeddings": 4096}
    longrope |= dict.fromkeys(["short_factor", "long_factor"], [1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0, 12.0])
    for head_dim, rotary_dim, scaling in [(16, 16, None), (16, 6, None), (16, 16, longrope)]:
        q = random.normal(size=(len(POSITIONS), head_dim)).astype(np.float32)
        frequencies = 10_000.0 ** (-np.arange(0, rotary_dim, 2) / rotary_dim)
        gain = 1.0
        if scaling:
            frequencies, gain = frequencies / scaling["long_factor"], scaling["attention_factor"]
        angles = torch.tensor(np.array(POSITIONS)[:, None] * frequencies)
        x = torch.tensor(q, dtype=torch.float64)
        rotated = {"halves": halves(x, angles, gain), "interleaved": interleaved(x, angles, gain)}
        for layout, y in rotated.items():
            yield {
                "layout": layout,
                "head_dim": head_dim,
                "rotary_dim": rotary_dim,
                "base": 10_000.0,
                "rope_scaling": scaling,
                "positions": POSITIONS,
                "x": [shortest(row) for row in q],
                "rotated": [rounded(row) for row in y],
            }


def halves(x, angles, gain):
    width = 2 * angles.shape[-1]
    cos, sin = (torch.cat((part, part), -1)[None] * gain for part in (angles.cos(), angles.sin()))
    turned, _ = modeling_llama.apply_rotary_pos_emb(x[None, None, :, :width], x[None, None, :, :width], cos, sin)
    return torch.cat((turned[0, 0], x[:, width:]), -1)


def interleaved(x, angles, gain):
    width = 2 * angles.shape[-1]
    sin, cos = (part[None] * gain for part in (angles.sin(), angles.cos()))
    turned = modeling_gptj.apply_rotary_pos_emb(x[None, :, None, :width], sin, cos)[0, :, 0]
    turned = torch.cat((turned, x[:, width:]), -1)
    other = rotary_embedding_torch.apply_rotary_emb(angles.repeat_interleave(2, -1), x[:, :width], scale=gain)
    torch.testing.assert_close(turned[:, :width], other)
    return turned


def xpos():
    """Scores q·k of rotary-embedding-torch with `use_xpos`, which depend on the distance alone, whatever
    position its decay is centred on; in float64."""
    random = np.random.default_rng(5)
    positions, length = [0, 1, 2, 60, 250, 511, 599], 600
    with default_float64():
        for head_dim, scale_base in [(16, 512), (6, 64)]:
            frequencies = torch.tensor(10_000.0 ** (-np.arange(0, head_dim, 2) / head_dim))
            embedding = RotaryEmbedding(
                head_dim,
                custom_freqs=frequencies,
                use_xpos=True,
                xpos_scale_base=scale_base,
                cache_if_possible=False,
            )
            q, k = random.normal(size=(2, len(positions), head_dim)).astype(np.float32)
            rows = torch.zeros(2, 1, 1, length, head_dim)
            rows[:, 0, 0, positions] = torch.tensor(np.stack((q, k)), dtype=torch.float64)
            q_turned, k_turned = embedding.rotate_queries_and_keys(*rows)
            scores = (q_turned @ k_turned.mT)[0, 0][positions][:, positions]
            yield {
                "head_dim": head_dim,
                "base": 10_000.0,
                "scale_base": scale_base,
                "positions": positions,
                "q": [shortest(row) for row in q],
                "k": [shortest(row) for row in k],
                "scores": [rounded(row) for row in scores.detach().numpy()],
            }
