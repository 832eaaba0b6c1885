"""Rotations by coordinates in diffusion models: see places.py."""

import math

import numpy as np
import torch
from diffusers.models.embeddings import apply_rotary_emb, get_3d_rotary_pos_embed
from diffusers.models.transformers import (
    transformer_flux,
    transformer_ltx,
    transformer_ltx2,
    transformer_lumina2,
    transformer_qwenimage,
    transformer_wan,
    transformer_z_image,
)

from common import double
from places import axes, case, cells, queries


def rotations():
    with double():
        yield from flux()
        yield from wan()
        yield from ltx()
        yield from ltx2()
        yield from cogvideox()
        yield from qwen_image()
        yield from lumina()


def flux():
    """Text at the origin, an image, and a reference image with another first number."""
    places = np.concatenate([np.zeros((3, 3)), cells(1, 3, 4), cells(1, 2, 2, start=[1, 0, 0])])
    x = queries(len(places), 64)
    tables = transformer_flux.FluxPosEmbed(10_000, [16, 24, 24])(torch.tensor(places, dtype=torch.float64))
    rotated = apply_rotary_emb(x[None, None], tables)[0, 0]
    yield case("diffusers FluxPosEmbed", "diffusers", {"axes": axes([16, 24, 24])}, places, x, rotated)


def wan():
    for width, columns in [(64, [24, 20, 20]), (128, [44, 42, 42])]:
        x = queries(24, width)
        module = transformer_wan.WanRotaryPosEmbed(width, (1, 2, 2), 1024)
        tables = module(torch.zeros(1, 1, 2, 6, 8))
        rotated = apply_rotary_emb(x[None, None], [table[0, :, 0] for table in tables])[0, 0]
        yield case("diffusers WanRotaryPosEmbed", "diffusers", {"axes": axes(columns)}, cells(2, 3, 4), x, rotated)


def ltx():
    """Rotates before heads are split, by rising frequencies, after columns that are left over."""
    for width in [32, 36]:
        x = queries(24, width)
        module = transformer_ltx.LTXVideoRotaryPosEmbed(width)
        scale = (8 / 25, 32, 32)
        tables = module(x[None], 2, 3, 4, rope_interpolation_scale=scale)
        rotated = transformer_ltx.apply_rotary_emb(x[None], tables)[0]
        share = width // 6
        frequencies = [10_000 ** (i / (share - 1)) * math.pi / 2 for i in range(share)]
        config = {
            "frequencies": frequencies,
            "axes": axes([2 * share] * 3, order="dealt", unturned=width % 6),
        }
        places = cells(2, 3, 4) * np.array(scale) / np.array([20, 2048, 2048]) * 2 - 1
        yield case("diffusers LTXVideoRotaryPosEmbed", "diffusers", config, places, x, rotated)


def ltx2():
    """As LTX, with halves within each head in place of neighbours: `heads` says which columns make a pair."""
    for heads, width, layout in [(4, 64, "split"), (2, 32, "split"), (1, 36, "interleaved")]:
        module = transformer_ltx2.LTX2AudioVideoRotaryPosEmbed(width, rope_type=layout, num_attention_heads=heads)
        bounds = module.prepare_video_coords(1, 2, 3, 4, torch.device("cpu"), fps=25.0)
        cos, sin = module(bounds)
        x = queries(24, width)
        apply = {"split": transformer_ltx2.apply_split_rotary_emb, "interleaved": transformer_ltx2.apply_interleaved_rotary_emb}
        rotated = apply[layout](x[None], (cos, sin))[0]
        share = width // 6
        frequencies = [10_000 ** (i / (share - 1)) * math.pi / 2 for i in range(share)]
        config = {"frequencies": frequencies, "axes": axes([2 * share] * 3, order="dealt", unturned=width % 6)}
        middles = bounds.double().mean(-1)[0].numpy().T
        places = middles / np.array([20, 2048, 2048]) * 2 - 1
        peer = f"diffusers LTX2AudioVideoRotaryPosEmbed, rope_type={layout}"
        yield case(peer, "diffusers", config, places, x, rotated, heads=heads if layout == "split" else None)


def cogvideox():
    x = queries(2 * 3 * 4, 64)
    crop = ((0, 0), (6, 8))
    tables = get_3d_rotary_pos_embed(64, crop, (3, 4), 2)
    rotated = apply_rotary_emb(x[None, None], tables)[0, 0]
    places = cells(2, 3, 4) * np.array([1, 2, 2])
    config = {"axes": axes([16, 24, 24])}
    yield case("diffusers get_3d_rotary_pos_embed", "diffusers", config, places, x, rotated)


def qwen_image():
    """An image around its centre, and text behind it on the diagonal."""
    module = transformer_qwenimage.QwenEmbedRope(10_000, [16, 24, 24], scale_rope=True)
    image, text = module((2, 3, 4), device=torch.device("cpu"), max_txt_seq_len=3)
    x = queries(24 + 3, 64)
    freqs = torch.cat([image, text])
    rotated = transformer_qwenimage.apply_rotary_emb_qwen(x[None, :, None], freqs, use_real=False)[0, :, 0]
    words = np.repeat(np.arange(2, 5)[:, None], 3, axis=1)
    places = np.concatenate([cells(2, 3, 4, start=[0, -2, -2]), words])
    yield case("diffusers QwenEmbedRope", "diffusers", {"axes": axes([16, 24, 24])}, places, x, rotated)


def lumina():
    """Text with numbers of its own on the first axis, then an image at the next number."""
    words = np.stack([np.arange(1, 4), np.zeros(3), np.zeros(3)], axis=1)
    places = np.concatenate([words, cells(1, 3, 4, start=[4, 0, 0])])
    ids = torch.tensor(places, dtype=torch.int64)
    columns = [16, 24, 24]
    x = queries(len(places), 64)

    def rotated(freqs):
        return apply_rotary_emb(x[None, :, None], freqs[None], use_real=False)[0, :, 0]

    module = transformer_z_image.RopeEmbedder(256.0, columns, [64, 64, 64])
    config = {"base": 256.0, "axes": axes(columns)}
    yield case("diffusers Z-Image RopeEmbedder", "diffusers", config, places, x, rotated(module(ids)))
    module = transformer_lumina2.Lumina2RotaryPosEmbed(10_000, columns, [64, 64, 64])
    freqs = module._get_freqs_cis(ids[None])[0]
    yield case("diffusers Lumina2RotaryPosEmbed", "diffusers", {"axes": axes(columns)}, places, x, rotated(freqs))
