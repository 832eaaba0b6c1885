"""What other libraries compute for grids of two and three axes.

The axes are named from the one that owns the first columns on. Three layouts of sinusoidal rows: "interleaved" (per
axis sine, cosine, sine, cosine, ...), "halves" (per axis its sines, then its cosines) and "whole_halves" (the sines
of all axes, then the cosines of all axes). Rotary "halves" are halves of the whole head: column i turns with i + d/2.
"""

from functools import partial
from types import SimpleNamespace

import numpy as np
import torch
from positional_encodings.torch_encodings import PositionalEncoding2D, PositionalEncoding3D
from rotary_embedding_torch import RotaryEmbedding, apply_rotary_emb
from timm.layers import build_sincos2d_pos_embed
from transformers.models.qwen2_vl import modeling_qwen2_vl as qwen2_vl
from transformers.models.vit_mae import modeling_vit_mae as vit_mae

from common import about, double, rounded, shortest


def grids():
    yield from timm()
    yield from vitmae()
    yield from multidim()
    yield from rotary()


def sinusoidal(peer, axes, layout, shape, rows, prefix=0):
    rows = np.asarray(rows, dtype=np.float32)
    assert len(rows) == prefix + np.prod(shape)
    return peer | {
        "kind": "sinusoidal",
        "axes": axes,
        "layout": layout,
        "d_model": rows.shape[-1],
        "shape": shape,
        "prefix": prefix,
        "rows": [shortest(row) for row in rows],
    }


def timm():
    """With `reverse_coord` the rows come in the order of a transposed grid, and are put back into the order of the
    grid here."""
    for width in [4, 8, 16, 64]:
        for height, across in [(3, 5), (4, 2)]:
            for interleave, layout in [(True, "halves"), (False, "whole_halves")]:
                asked = f"timm build_sincos2d_pos_embed, interleave_sin_cos={interleave}"
                ask = partial(build_sincos2d_pos_embed, [height, across], width, interleave_sin_cos=interleave)
                yield sinusoidal(about(asked, "timm"), "height_width", layout, [height, across], ask())
                transposed = ask(reverse_coord=True).view(across, height, width)
                rows = transposed.transpose(0, 1).reshape(-1, width)
                peer = about(asked + ", reverse_coord=True, its rows transposed", "timm")
                yield sinusoidal(peer, "width_height", layout, [height, across], rows)


def vitmae():
    """The function for a whole grid makes square ones alone; the one below it takes a grid of any shape."""
    for width in [4, 8, 16, 64]:
        peer = about("transformers ViTMAE get_2d_sincos_pos_embed", "transformers")
        rows = vit_mae.get_2d_sincos_pos_embed(width, 3, add_cls_token=True)
        yield sinusoidal(peer, "width_height", "halves", [3, 3], rows, prefix=1)
        peer = about("transformers ViTMAE get_2d_sincos_pos_embed_from_grid", "transformers")
        for height, across in [(3, 5), (4, 2)]:
            grid = np.stack(np.meshgrid(np.arange(across, dtype=np.float32), np.arange(height, dtype=np.float32)))
            rows = vit_mae.get_2d_sincos_pos_embed_from_grid(width, grid)
            yield sinusoidal(peer, "width_height", "halves", [height, across], rows)


def multidim():
    """Widths that do not divide too: the axes get the same even number of columns, and the last ones are cut off."""
    for width in [4, 5, 6, 8, 10, 64]:
        peer = about("positional-encodings PositionalEncoding2D", "positional-encodings")
        for shape in [[3, 5], [4, 2]]:
            rows = PositionalEncoding2D(width)(torch.zeros(1, *shape, width)).view(-1, width)
            yield sinusoidal(peer, "height_width", "interleaved", shape, rows)
    for width in [6, 12, 13, 16, 24, 64]:
        peer = about("positional-encodings PositionalEncoding3D", "positional-encodings")
        rows = PositionalEncoding3D(width)(torch.zeros(1, 2, 3, 4, width)).view(-1, width)
        yield sinusoidal(peer, "time_height_width", "interleaved", [2, 3, 4], rows)


def rotary():
    """In float64. Half of the columns turn with the height, half with the width."""
    random = np.random.default_rng(3)
    axial_peer = about("rotary-embedding-torch get_axial_freqs", "rotary-embedding-torch")
    qwen_peer = about("transformers Qwen2-VL apply_rotary_pos_emb_vision", "transformers")
    for width in [8, 16, 64]:
        for height, across in [(3, 5), (4, 2)]:
            single = random.normal(size=(height * across, width)).astype(np.float32)
            x = torch.tensor(single, dtype=torch.float64)
            with double():
                by_axial, by_qwen = axial(x, height, across), qwen(x, height, across)
            for peer, layout, rotated in [(axial_peer, "interleaved", by_axial), (qwen_peer, "halves", by_qwen)]:
                yield peer | {
                    "kind": "rotary",
                    "axes": "height_width",
                    "layout": layout,
                    "d_head": width,
                    "shape": [height, across],
                    "base": 10_000.0,
                    "x": [shortest(row) for row in single],
                    "rotated": [rounded(row) for row in rotated.detach()],
                }


def axial(x, height, across):
    frequencies = RotaryEmbedding(x.shape[-1] // 2, freqs_for="lang").get_axial_freqs(height, across)
    return apply_rotary_emb(frequencies, x.view(height, across, -1)[None, None]).view_as(x)


def qwen(x, height, across):
    """The angles by the model's own method, without the merging of patches that would reorder them."""
    embedding = qwen2_vl.VisionRotaryEmbedding(x.shape[-1] // 2)
    model = SimpleNamespace(spatial_merge_size=1, rotary_pos_emb=embedding)
    angles = qwen2_vl.Qwen2VisionTransformerPretrainedModel.rot_pos_emb(model, torch.tensor([[1, height, across]]))
    angles = torch.cat((angles, angles), -1)
    turned, _ = qwen2_vl.apply_rotary_pos_emb_vision(x[:, None], x[:, None], angles.cos(), angles.sin())
    return turned[:, 0]
