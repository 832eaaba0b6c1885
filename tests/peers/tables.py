#!/usr/bin/env python3
"""Writes `values/tables.json`: biases of two axes, their gradients, and tables resized for other windows; and
`values/decomposed.json`: biases that queries take part in.

A bias is what the peer adds to its scores. The gradients are those of the sum of all biases, each times the whole
number that `weights` gives it. Everything is in float64.

transformers' BEiT takes the height of a window for its width when it resizes, so that it is asked for square windows
alone.
"""

import tempfile
from pathlib import Path
from unittest import mock

import safetensors.torch
import torch
import transformers
from timm.layers import pos_embed_rel
from timm.models import beit as timm_beit
from timm.models import levit as timm_levit
from timm.models import mvitv2 as timm_mvit
from timm.models import swin_transformer as timm_swin
from timm.models import swin_transformer_v2 as timm_swin_v2
from torch.nn.functional import interpolate
from transformers import BeitConfig, LevitConfig, SamVisionConfig, SwinConfig, Swinv2Config
from transformers.models.beit import modeling_beit as beit
from transformers.models.levit import modeling_levit as levit
from transformers.models.sam import modeling_sam as sam
from transformers.models.swin import modeling_swin as swin
from transformers.models.swinv2 import modeling_swinv2 as swin_v2

from common import VALUES, about, rounded, shortest, write


def main():
    torch.manual_seed(1)
    save()
    write("tables", [*swins(), *beits(), *levits(), *swin_v2s(), *resized()])
    write("decomposed", [*sams(), *mvits()])


def save():
    """One file with the tensors of small models, by the names that transformers gives them in its files."""
    sizes = {"image_size": 12, "patch_size": 2, "num_channels": 1, "intermediate_size": 8}
    beit_config = BeitConfig(**sizes, hidden_size=4, num_hidden_layers=1, num_attention_heads=2, use_relative_position_bias=True)
    swin_sizes = {"image_size": 12, "patch_size": 2, "embed_dim": 4, "depths": [1], "num_heads": [2], "window_size": 3}
    levit_config = LevitConfig(
        image_size=48,
        num_channels=1,
        patch_size=16,
        hidden_sizes=[8, 8],
        num_attention_heads=[2, 2],
        depths=[1, 1],
        key_dim=[4, 4],
        attention_ratio=[2, 2],
        mlp_ratio=[1, 1],
        down_ops=[["Subsample", 4, 2, 2, 2, 2], [""]],
    )
    sam_config = SamVisionConfig(**sizes, hidden_size=4, num_hidden_layers=1, num_attention_heads=2, global_attn_indexes=[])
    sam_config.window_size, sam_config.output_channels = 2, 2
    models = [
        transformers.SwinForImageClassification(SwinConfig(**swin_sizes)),
        transformers.Swinv2ForImageClassification(Swinv2Config(**swin_sizes)),
        transformers.BeitForImageClassification(beit_config),
        transformers.LevitForImageClassification(levit_config),
        transformers.SamVisionModel(sam_config),
    ]
    ends = ("bias_table", "attention_biases", "mlp.0.weight", "mlp.0.bias", "mlp.2.weight", "rel_pos_h", "rel_pos_w")
    kept = {}
    for model in models:
        filled(model.float())
        with tempfile.TemporaryDirectory() as folder:
            model.float().save_pretrained(folder)
            tensors = safetensors.torch.load_file(Path(folder) / "model.safetensors")
        kept |= {name: tensor for name, tensor in tensors.items() if name.endswith(ends)}
    safetensors.torch.save_file(kept, VALUES / "tables.safetensors", {"format": "pt"})
    print(*(f"{name} {list(tensor.shape)}" for name, tensor in kept.items()), sep="\n")


def weights(count):
    return torch.arange(count, dtype=torch.float64) * 7 % 11 - 5


def filled(module):
    """The module in float64, with random parameters that are numbers of float32."""
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.copy_(torch.randn(parameter.shape))
    return module.double()


def case(peer, package, kind, window, parameters, bias, **settings):
    """`bias` is `[heads, queries, keys]`, or has an axis of length 1 in front."""
    (bias.flatten() * weights(bias.numel())).sum().backward()
    return about(peer, package) | {
        "kind": kind,
        "heads": bias.shape[-3],
        "window": window,
        **settings,
        "parameters": [shortest(parameter.detach().numpy()) for parameter in parameters],
        "bias": (rounded if kind in ("swin_v2", "decomposed") else shortest)(bias.detach().numpy()),
        "gradients": [rounded(parameter.grad.numpy()) for parameter in parameters],
    }


def scores(module, tokens, width):
    """What attention gives to its softmax. Its input is zero, and so are its queries: that is the bias."""
    caught = []

    def catch(scores, *_, **__):
        caught.append(scores)
        return scores

    with mock.patch.object(torch.nn.functional, "softmax", catch):
        module(torch.zeros(1, tokens, width, dtype=torch.float64))
    (found,) = caught
    return found


def swins():
    for heads, window in [(2, [4, 3]), (1, [3, 3]), (3, [1, 6])]:
        module = filled(swin.SwinRelativePositionBias(heads, tuple(window)))
        table = [module.relative_position_bias_table]
        yield case("transformers SwinRelativePositionBias", "transformers", "swin", window, table, module())
    module = filled(timm_swin.WindowAttention(4, 2, window_size=(2, 4)))
    table = [module.relative_position_bias_table]
    yield case("timm Swin WindowAttention", "timm", "swin", [2, 4], table, module._get_rel_pos_bias())


def beits():
    for heads, side in [(2, 3), (1, 4)]:
        module = filled(beit_of(heads, side))
        table = [module.relative_position_bias_table]
        bias = module((side, side))
        yield case("transformers BeitRelativePositionBias", "transformers", "beit", [side, side], table, bias)
    for heads, window in [(2, [4, 3]), (3, [1, 4])]:
        module = filled(timm_beit.Attention(4 * heads, heads, window_size=tuple(window)))
        table = [module.relative_position_bias_table]
        yield case("timm BEiT Attention", "timm", "beit", window, table, module._get_rel_pos_bias())


def beit_of(heads, side):
    config = BeitConfig(image_size=2 * side, patch_size=2, num_attention_heads=heads)
    return beit.BeitRelativePositionBias(config)


def levits():
    """`stride` is that of the queries."""
    module = filled(levit.LevitAttention(4, 2, 2, 2, 4))
    bias = module.get_attention_biases("cpu")
    yield case("transformers LevitAttention", "transformers", "levit", [4, 4], [module.attention_biases], bias, stride=1)
    for side in [5, 2]:
        module = filled(levit.LevitAttentionSubsample(4, 4, 2, 2, 2, 2, side, (side + 1) // 2))
        bias = module.get_attention_biases("cpu")
        peer = "transformers LevitAttentionSubsample"
        yield case(peer, "transformers", "levit", [side, side], [module.attention_biases], bias, stride=2)
    module = filled(timm_levit.Attention(4, 2, 2, resolution=(3, 5)))
    bias = module.get_attention_biases("cpu")
    yield case("timm LeViT Attention", "timm", "levit", [3, 5], [module.attention_biases], bias, stride=1)
    for stride, window in [(2, [3, 6]), (3, [5, 4])]:
        module = filled(timm_levit.AttentionDownsample(4, 4, 2, 2, stride=stride, resolution=tuple(window)))
        bias = module.get_attention_biases("cpu")
        peer = "timm LeViT AttentionDownsample"
        yield case(peer, "timm", "levit", window, [module.attention_biases], bias, stride=stride)


def swin_v2s():
    """The hidden width is 512 in both, so the windows are small."""
    for window, pretrained in [([4, 3], None), ([3, 3], [2, 6])]:
        pretrained_size = pretrained or [0, 0]
        module = filled(swin_v2.Swinv2SelfAttention(Swinv2Config(), 8, 2, window, pretrained_size))
        peer = "transformers Swinv2SelfAttention"
        yield swin_v2_case(peer, "transformers", module, module.continuous_position_bias_mlp, window, pretrained)
    for window, pretrained in [([1, 4], None), ([3, 2], [8, 1])]:
        pretrained_size = tuple(pretrained or (0, 0))
        module = filled(timm_swin_v2.WindowAttention(8, tuple(window), 2, pretrained_window_size=pretrained_size))
        yield swin_v2_case("timm Swin V2 WindowAttention", "timm", module, module.cpb_mlp, window, pretrained)


def swin_v2_case(peer, package, module, network, window, pretrained):
    """Every sixteenth of the hidden numbers counts; the others are turned off, so that the file stays small."""
    for name, parameter in module.named_parameters():
        if name.endswith("bias") and parameter.shape != (512,):
            parameter.data.zero_()
    network[2].weight.data[:, torch.arange(512) % 16 != 0] = 0.0
    bias = scores(module, window[0] * window[1], 8)
    parameters = [network[0].weight, network[0].bias, network[2].weight]
    made = case(peer, package, "swin_v2", window, parameters, bias, pretrained_window=pretrained)
    for numbers in ["parameters", "gradients"]:
        inner, bias, outer = made[numbers]
        inner = [inner[2 * i + axis] for i in range(0, 512, 16) for axis in range(2)]
        made[numbers] = [inner, bias[::16], outer[::16]]
    return made


def resized():
    """The tables of Swin and BEiT for another window. `extra` rows after those of the offsets are BEiT's three."""
    for old, new in [(3, 5), (5, 3)]:
        table, sizes = random_table([old, old], 2, 0), [2 * new - 1, 2 * new - 1]
        made = pos_embed_rel.resize_rel_pos_bias_table_simple(table, (new, new), (sizes[0] * sizes[1], 2))
        peer = about("timm resize_rel_pos_bias_table_simple", "timm")
        yield resizing(peer, "bicubic", [old, old], [new, new], 0, table, made)
    for old, new in [([3, 2], [4, 6]), ([4, 3], [2, 5])]:
        table = random_table(old, 1, 0)
        sizes = [[2 * side - 1 for side in window] for window in (old, new)]
        made = interpolate(table.T.view(1, 1, *sizes[0]), sizes[1], mode="bicubic", align_corners=False)
        peer = about("PyTorch interpolate, bicubic", "torch")
        yield resizing(peer, "bicubic", old, new, 0, table, made.view(1, -1).T)
    for old, new in [([3, 3], [5, 4]), ([5, 5], [3, 3])]:
        module = filled(beit_of(1, old[0]))
        table = module.relative_position_bias_table
        # The bias names the entries: as many as the table has, each once, are at these pairs.
        bias = module(tuple(new))[0]
        index = module.generate_relative_position_index(tuple(new)).flatten()
        made = torch.zeros(int(index.max()) + 1, 1, dtype=torch.float64)
        made[index] = bias.reshape(1, -1).T
        peer = about("transformers BeitRelativePositionBias", "transformers")
        yield resizing(peer, "bilinear", old, new, 3, table, made)
    for old, new, extra in [([3, 2], [6, 5], 3), ([4, 4], [5, 7], 0), ([5, 3], [3, 3], 3), ([2, 4], [9, 5], 0), ([1, 3], [2, 4], 0)]:
        module = filled(pos_embed_rel.RelPosBias(tuple(old), 2, prefix_tokens=extra // 3))
        table = module.relative_position_bias_table
        module.set_window_size(tuple(new))
        peer = about("timm RelPosBias.set_window_size", "timm")
        yield resizing(peer, "geometric", old, new, extra, table, module.relative_position_bias_table)


def random_table(window, heads, extra):
    entries = (2 * window[0] - 1) * (2 * window[1] - 1) + extra
    return torch.randn(entries, heads).double()


def resizing(peer, how, old, new, extra, table, made):
    return peer | {
        "kind": "resized",
        "how": how,
        "from": old,
        "to": new,
        "extra": extra,
        "heads": table.shape[1],
        "table": shortest(table.detach().numpy()),
        "expected": rounded(made.detach().numpy()),
    }


def sams():
    """Sizes of queries, keys and tables; SAM's own attention has queries and keys of one size."""
    one = [([3, 4], [3, 4], [3, 4]), ([5, 5], [5, 5], [3, 3]), ([2, 3], [2, 3], [4, 4])]
    two = [([2, 3], [4, 6], [4, 6]), ([4, 6], [2, 3], [4, 6]), ([3, 2], [7, 5], [7, 5]), ([6, 7], [4, 3], [5, 5])]
    config = SamVisionConfig(hidden_size=6, num_attention_heads=2, image_size=4, patch_size=2)
    for queries, keys, window in one + two:
        module = sam.SamVisionAttention(config, 0)
        tables = random_tables(window, 3)
        query = torch.randn(2, queries[0] * queries[1], 3).double().requires_grad_()
        bias = module.get_decomposed_rel_pos(query, *tables, tuple(queries), tuple(keys))
        bias = bias.reshape(2, queries[0] * queries[1], -1)
        peer = "transformers SamVisionAttention"
        yield case(
            peer, "transformers", "decomposed", window, [query, *tables], bias, queries=queries, keys=keys, prefix=0
        )


def mvits():
    """With a class token."""
    for queries, keys, window in [([3, 3], [3, 3], [3, 3]), ([4, 2], [2, 1], [4, 2])]:
        tables = random_tables(window, 3)
        query = torch.randn(1, 2, 1 + queries[0] * queries[1], 3).double().requires_grad_()
        scores = torch.zeros(1, 2, query.shape[2], 1 + keys[0] * keys[1]).double()
        bias = timm_mvit.cal_rel_pos_type(scores, query, True, queries, keys, *tables)
        peer = "timm MViTv2 cal_rel_pos_type"
        yield case(peer, "timm", "decomposed", window, [query, *tables], bias, queries=queries, keys=keys, prefix=1)


def random_tables(window, d_head):
    return [torch.randn(2 * side - 1, d_head).double().requires_grad_() for side in window]


main()
