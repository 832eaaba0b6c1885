#!/usr/bin/env python3
"""Writes `values/coordinates.json`, `mixed.json` and `multimodal.json`: rotations by coordinates, with learned
frequencies too, and the positions of text among images, by the code of models. Needs requirements-models.txt. See README.md.
"""

import importlib
import math
from types import SimpleNamespace

import numpy as np
import torch
from timm.layers import RotaryEmbeddingDinoV3, RotaryEmbeddingMixed, RotaryEmbeddingMRope, apply_rot_embed_cat
from transformers.models.llama4 import modeling_llama4 as llama4
from transformers.models.pixtral import modeling_pixtral as pixtral
from transformers.models.qwen2_5_vl import modeling_qwen2_5_vl as qwen2_5
from transformers.models.qwen2_vl import modeling_qwen2_vl as qwen2
from transformers.models.sam2_video import modeling_sam2_video as sam2
from transformers.models.vjepa2 import modeling_vjepa2 as vjepa2

from common import about, double, shortest, write
from places import axes, case, cells, queries


def rotations():
    with double():
        yield from dino()
        yield from timm_mrope()
        yield from vision_towers()
        yield from qwen_text()
        yield from jepa()
        yield from hunyuan()


def dino():
    """Two registers without a place, then patches by their centres. Angles are whole turns."""
    for by in ["separate", "max", "min"]:
        for half in [True, False]:
            x = queries(2 + 15, 32)
            module = RotaryEmbeddingDinoV3(32, normalize_coords=by, rotate_half=half, dtype=torch.float64)
            rotated = apply_rot_embed_cat(x[2:], module.get_embed([3, 5]), half=half)
            axis = {"scale": math.tau}
            config = {
                "base": 100.0,
                "layout": "halves" if half else "interleaved",
                "axes": {"axes": [{"coordinate": i} | axis for i in [0, 1]]},
            }
            lengths = {"separate": [3, 5], "max": [5, 5], "min": [3, 3]}[by]
            patches = 2 * (cells(3, 5) + 0.5) / lengths - 1
            places = np.concatenate([np.zeros((2, 2)), patches])
            rotated = torch.cat([x[:2], rotated])
            peer = f"timm RotaryEmbeddingDinoV3, normalize_coords={by}, rotate_half={half}"
            yield case(peer, "timm", config, places, x, rotated, normalized=by)


def timm_mrope():
    for width, sections, columns in [(72, [12, 12, 12], [24] * 3), (64, [8, 12, 12], [22, 22, 20])]:
        x = queries(15, width)
        module = RotaryEmbeddingMRope(width, mrope_section=sections, dtype=torch.float64)
        rotated = apply_rot_embed_cat(x, module.get_embed([3, 5]), half=True)
        config = {"layout": "halves", "axes": axes(columns, order="dealt", frequencies="line")}
        places = np.concatenate([np.zeros((15, 1)), cells(3, 5)], axis=1)
        yield case(f"timm RotaryEmbeddingMRope, mrope_section={sections}", "timm", config, places, x, rotated)


def turned(module, x, positions, apply):
    """A row of one head, by a model's module of tables and its function."""
    cos, sin = module(x[None, None], positions)
    return apply(x[None, None], x[None, None], cos, sin)[0][0, 0]


def vision_towers():
    x = queries(15, 32)
    config = SimpleNamespace(rope_parameters={"rope_type": "axial", "rope_theta": 10_000.0}, head_dim=32)
    module = pixtral.PixtralVisionRotaryEmbedding(config)
    places = cells(3, 5)
    positions = torch.tensor(places.T)[None]
    ours = {"layout": "halves", "axes": {"axes": [{"coordinate": 0}, {"coordinate": 1}], "frequencies": "dealt"}}
    rotated = turned(module, x, positions, pixtral.apply_rotary_pos_emb)
    yield case("transformers PixtralVisionRotaryEmbedding", "transformers", ours, places, x, rotated)

    x = queries(17, 32)
    config = SimpleNamespace(
        image_size=8, patch_size=2, hidden_size=64, num_attention_heads=2, rope_parameters={"rope_theta": 10_000.0}
    )
    freqs = llama4.Llama4VisionRotaryEmbedding(config)(x)
    rotated, _ = llama4.vision_apply_rotary_emb(x[None, :, None], x[None, :, None], freqs)
    places = np.concatenate([cells(4, 4) + 1, np.zeros((1, 2))])
    peer = "transformers Llama4VisionRotaryEmbedding"
    yield case(peer, "transformers", {"axes": "width_height"}, places, x, rotated[0, :, 0])

    config = SimpleNamespace(
        rope_parameters={"rope_type": "axial", "rope_theta": 10_000.0},
        memory_attention_hidden_size=32,
        memory_attention_downsample_rate=1,
        memory_attention_num_attention_heads=1,
        memory_attention_rope_feat_sizes=[3, 5],
    )
    module = sam2.Sam2VideoVisionRotaryEmbedding(config)
    x = queries(15, 32)
    places = cells(3, 5)
    # As Sam2VideoMemoryAttention.precompute_positions: the column of a token, then its row.
    positions = torch.tensor(places[:, ::-1].copy()).T[None]
    cos, sin = module(x, positions)
    rotated, _ = sam2.apply_rotary_pos_emb_2d(x[None], x[None], cos[0], sin[0])
    peer = "transformers Sam2VideoVisionRotaryEmbedding"
    yield case(peer, "transformers", {"axes": "width_height"}, places, x, rotated[0])


# The type, its rotary class, the width of a head, and its `rope_parameters`.
TEXTS = [
    ("qwen2_vl", "Qwen2VLRotaryEmbedding", 64, {"mrope_section": [8, 12, 12]}),
    ("qwen2_vl", "Qwen2VLRotaryEmbedding", 128, {}),
    ("qwen2_5_vl", "Qwen2_5_VLRotaryEmbedding", 64, {"mrope_section": [8, 12, 12]}),
    ("qwen2_5_omni", "Qwen2_5OmniRotaryEmbedding", 128, {}),
    ("paddleocr_vl", "PaddleOCRRotaryEmbedding", 128, {}),
    ("glm4v", "Glm4vTextRotaryEmbedding", 64, {}),
    ("glm4v", "Glm4vTextRotaryEmbedding", 128, {"partial_rotary_factor": 0.5}),
    ("glm4v_moe", "Glm4vMoeTextRotaryEmbedding", 128, {"partial_rotary_factor": 0.5}),
    ("glm_ocr", "GlmOcrTextRotaryEmbedding", 64, {}),
    ("glm_image", "GlmImageTextRotaryEmbedding", 64, {}),
    ("qwen3_vl", "Qwen3VLTextRotaryEmbedding", 128, {}),
    ("qwen3_vl", "Qwen3VLTextRotaryEmbedding", 64, {"mrope_section": [12, 10, 10]}),
    ("qwen3_vl_moe", "Qwen3VLMoeTextRotaryEmbedding", 64, {"mrope_section": [8, 12, 12]}),
    ("qwen3_omni_moe", "Qwen3OmniMoeThinkerTextRotaryEmbedding", 128, {}),
    ("qwen3_5", "Qwen3_5TextRotaryEmbedding", 256, {"partial_rotary_factor": 0.25}),
    ("qwen3_5_moe", "Qwen3_5MoeTextRotaryEmbedding", 256, {"partial_rotary_factor": 0.25}),
    ("cosmos3_edge", "Cosmos3EdgeTextRotaryEmbedding", 128, {}),
    ("ernie4_5_vl_moe", "Ernie4_5_VLMoeTextRotaryEmbedding", 64, {"mrope_section": [11, 11, 10]}),
    ("ernie4_5_vl_moe", "Ernie4_5_VLMoeTextRotaryEmbedding", 128, {}),
]


def qwen_text():
    """Text, an image of 1 × 2 merged patches, text, and positions far away; the three numbers of a token differ. The
    configuration is read from what a `config.json` has."""
    near = np.concatenate([np.repeat(np.arange(2)[:, None], 3, axis=1), cells(1, 1, 2) + 4, [[9, 7, 12]]])
    places = np.concatenate([near, [[5, 0, 131_071]]])
    positions = torch.tensor(places.T)[:, None]
    for name, theirs, width, parameters in TEXTS:
        package = importlib.import_module(f"transformers.models.{name}.modeling_{name}")
        x = queries(len(places), width)
        parameters = {"rope_type": "default", "rope_theta": 5e5} | parameters
        config = SimpleNamespace(rope_parameters=parameters, head_dim=width, max_position_embeddings=32_768)
        rotated = turned(getattr(package, theirs)(config), x, positions, package.apply_rotary_pos_emb)
        model = {
            "model_type": f"{name}_text",
            "num_hidden_layers": 4,
            "head_dim": width,
            "rope_parameters": parameters,
        }
        yield case(f"transformers {theirs}", "transformers", {}, places, x, rotated, model=model)


def jepa():
    """Its code repeats the angles of an axis where it should repeat each: the two columns of a pair turn by angles of
    different pairs. Weights are trained with it."""
    for width, share in [(64, 20), (32, 10)]:
        config = SimpleNamespace(
            crop_size=12,
            patch_size=4,
            frames_per_clip=4,
            tubelet_size=2,
            qkv_bias=False,
            attention_probs_dropout_prob=0.0,
        )
        module = vjepa2.VJEPA2RopeAttention(config, width, 1)
        x = queries(18, width)
        ids = module.get_position_ids(x[None])
        rotated = module.apply_rotary_embeddings(x[None, None], ids)[0, 0]
        config = {"rotary_dim": 3 * share, "tiled_angles": True, "axes": "frames_height_width"}
        yield case("transformers VJEPA2RopeAttention", "transformers", config, cells(2, 3, 3), x, rotated)


def hunyuan():
    """By the formula of Tencent's own code, which has the list of sections twice: the two columns of a pair turn by one
    coordinate. transformers 5.23.0 has each section doubled. The last two tokens are far away."""
    alpha = {"rope_type": "dynamic", "alpha": 1000.0, "factor": 1.0}
    for width, sections, more in [
        (128, [16, 16, 16, 16], alpha),
        (64, [4, 12, 16], {"rope_type": "default"}),
        (32, [11, 1, 0, 3, 1], {"rope_type": "default"}),
    ]:
        axes = len(sections)
        far = [[131_071] * axes, [131_071 - 1000 * i for i in range(axes)]]
        places = np.concatenate([np.arange(8 * axes).reshape(8, axes) % 13, far])
        parameters = {"rope_theta": 10_000.0, "mrope_section": sections} | more
        x = queries(len(places), width)
        base = 10_000.0 * more.get("alpha", 1.0) ** (width / (width - 2))
        angles = places[:, np.repeat(np.arange(axes), sections)] * base ** (-np.arange(0, width, 2) / width)
        cos, sin = np.cos(angles), np.sin(angles)
        first, second = np.split(x.numpy(), 2, axis=-1)
        rotated = np.concatenate([first * cos - second * sin, second * cos + first * sin], axis=-1)
        model = {"model_type": "hunyuan_vl_text", "num_hidden_layers": 4, "head_dim": width, "rope_parameters": parameters}
        yield case("HunYuan-VL, the formula of Tencent's code", "transformers", {}, places, x, rotated, model=model)


def multimodal():
    """Parts of a row: the number of tokens of text or padding, or the grid of an image or a video, merged."""
    rows = [
        [["text", 3], ["image", [1, 2, 3]], ["text", 2]],
        [["padding", 4], ["text", 1], ["image", [1, 2, 2]], ["text", 2]],
    ]
    video = [[["text", 2], ["video", [2, 3, 2]], ["text", 3]]]
    two = [[["image", [1, 1, 4]], ["text", 1], ["image", [1, 3, 1]], ["video", [3, 3, 4]], ["text", 1]]]
    for name, model, seconds in [
        ("Qwen2VLModel", qwen2.Qwen2VLModel, None),
        ("Qwen2_5_VLModel", qwen2_5.Qwen2_5_VLModel, 0.5),
        ("Qwen2_5_VLModel", qwen2_5.Qwen2_5_VLModel, 0.75),
    ]:
        for batch in [rows, video, two]:
            types, mask, grids = [], [], {"image": [], "video": []}
            for row in batch:
                types.append([])
                mask.append([])
                for kind, size in row:
                    tokens = size if isinstance(size, int) else math.prod(size)
                    types[-1] += [{"image": 1, "video": 2}.get(kind, 0)] * tokens
                    mask[-1] += [int(kind != "padding")] * tokens
                    if kind in grids:
                        frames, height, width = size
                        grids[kind].append([frames, 2 * height, 2 * width])
            tensor = {kind: torch.tensor(all) if all else None for kind, all in grids.items()}
            own = SimpleNamespace(
                config=SimpleNamespace(vision_config=SimpleNamespace(spatial_merge_size=2, tokens_per_second=2)),
            )
            own.get_vision_position_ids = model.get_vision_position_ids.__get__(own)
            more = {"second_per_grid_ts": [seconds] * len(grids["video"])} if seconds else {}
            ids, deltas = model.get_rope_index(
                own,
                torch.zeros(len(batch), len(types[0]), dtype=torch.int64),
                mm_token_type_ids=torch.tensor(types),
                image_grid_thw=tensor["image"],
                video_grid_thw=tensor["video"],
                attention_mask=torch.tensor(mask),
                **more,
            )
            ids = torch.where(torch.tensor(mask, dtype=torch.bool), ids, 0)
            yield about(f"transformers {name}.get_rope_index", "transformers") | {
                "interval": 2 * seconds if seconds else 1.0,
                "rows": batch,
                "ids": ids.permute(1, 2, 0).tolist(),
                "next": [int(delta) + sum(row) for delta, row in zip(deltas.flatten(), mask)],
            }


def mixed():
    """A layer of three: random frequencies of two heads, and the gradient of a weighted sum into them."""
    for indexing in ["ij", "xy"]:
        torch.manual_seed(5)
        module = RotaryEmbeddingMixed(32, depth=3, num_heads=2, grid_indexing=indexing)
        x, weights = queries(2 * 15, 16).view(2, 15, 16), queries(2 * 15 + 1, 16)[1:].view(2, 15, 16)
        rotated = apply_rot_embed_cat(x, module.get_embed([3, 5])[1])
        (rotated * weights).sum().backward()
        frequencies, gradient = module.freqs.detach()[:, 1], module.freqs.grad[:, 1]
        if indexing == "xy":  # columns before rows
            frequencies, gradient = frequencies.flip(0), gradient.flip(0)
        tensors = {"x": x, "weights": weights, "rotated": rotated.detach(), "frequencies": frequencies, "gradient": gradient}
        peer = about(f"timm RotaryEmbeddingMixed, grid_indexing={indexing}", "timm")
        yield peer | {name: shortest(tensor) for name, tensor in tensors.items()}


if __name__ == "__main__":
    write("mixed", mixed())
    write("coordinates", rotations())
    write("multimodal", multimodal())
