#!/usr/bin/env python3
"""Writes `values/towers.json`: how the towers of images, video and sound of transformers rotate their queries.

    venv5/bin/python towers.py            all of them, about three minutes
    venv5/bin/python towers.py mlcd …     these, printed

`towers` walks the sources: a tower is a configuration that is not in `values/model_types.json`, and of which a model's code
comes to a rotation. For each there are small files; its own model is built with random weights in float64 and runs on several
images and frames. Noted are queries before and after the first rotation, and the coordinates that the tower's own code gives its
module of sines.
"""

import ast
import contextlib
import functools
import importlib
import inspect
import itertools
import json
import re
import sys
from pathlib import Path
from unittest import mock

import torch
import transformers
from transformers import PreTrainedConfig, PreTrainedModel, vision_utils
from transformers.models.auto.configuration_auto import CONFIG_MAPPING, CONFIG_MAPPING_NAMES

import model_types
from common import VALUES, double

ROTATION = re.compile(r"^(vision_)?apply_.*(rot|rope)|Rotary|R[oO]PE|Rope|^rotate_queries")
UNNAMED = {"Qwen3OmniMoeCode2WavConfig": "qwen3_omni_moe_code2wav"}  # its class has no type
WHOLE = ["musicflamingo"]  # models of several parts, of which what joins them rotates
GRIDS = [[1, 4, 6], [2, 2, 4], [1, 2, 2]]  # frames, rows and columns of patches
SMALL = model_types.SMALL | {
    "depth": 2, "embed_dim": 48, "num_hidden_layers": 2, "out_hidden_size": 32, "image_size": 56, "patch_size": 14, "in_channels": 3,
    "text_hidden_size": 32, "downsample_hidden_size": 16, "encoder_hidden_size": 16,
}  # fmt: skip
OWN = {
    "qwen2_vl_vision": {"hidden_size": 32},
    "moonshine": {"encoder_num_attention_heads": 4},
    "lfm3_vl_vision": {"num_hidden_layers": 4},  # the third is the first that rotates
    "nemotron3_5_transcribe_word_timestamp": {"blank_token_id": 63},
    "sam2_video": {"memory_attention_hidden_size": 64, "memory_attention_num_attention_heads": 2},
    "sam3_tracker_video": {"memory_attention_hidden_size": 64, "memory_attention_downsample_rate": 2},
    "edgetam_video": {"memory_attention_hidden_size": 64},
    "gemma4_vision": {"position_embedding_size": 64},
    "exaone4_5_vision": {"num_key_value_heads": 2},
    "llama4_vision_model": {"vision_output_dim": 32, "projector_input_dim": 32, "projector_output_dim": 32},
    "dots3_note_vision_encoder": {"num_hidden_layers": 42, "adapter_in_dim": 64},
    "dots3_note_audio_encoder": {"adapter_input_size": 64},
    "wav2vec2-bert": {"position_embeddings_type": "rotary"},
    "wav2vec2-conformer": {"position_embeddings_type": "rotary", "num_conv_pos_embedding_groups": 4},
}


class Rotated(Exception):
    """The first rotation is done: what the model does afterwards is no matter."""

# Compared by what their layers see in the file with small windows alone: an image here is smaller than their own windows. With others, layers are
# called that the file is not about.
OTHER_SPANS = (
    "exaone4_5_vision", "muse_glimmer_vision", "muse_spark_vision", "qwen2_5_omni_vision_encoder", "qwen2_5_vl_vision", "sam3_vit_model", "vjepa2",
)  # fmt: skip
SMALL_WINDOWS = "small windows"
# By a field that says which types they are for: two layers, of which one has windows of two or three patches on a side.
WINDOWS = {
    "fullatt_block_indexes": {"window_size": 28, "fullatt_block_indexes": [1]},
    "pos_emb_height": {"pos_emb_height": 2, "pos_emb_width": 2},
    "global_attn_indexes": {"window_size": 3, "global_attn_indexes": [1]},
}
# Parts of them are models of full size.
LARGE = "esmfold2 musicflamingo edgetam_video sam2_video sam3_tracker_video neucodec pe_audio_video_encoder pe_video_encoder xcodec2 deepseek_ocr2_vision unlimited_ocr_vision".split()


@functools.cache
def definitions(path):
    found = [node for node in ast.parse(Path(path).read_text()).body if isinstance(node, (ast.ClassDef, ast.FunctionDef))]
    for node in found:
        node.decorator_list = []  # one names a rotation also where there is none
    return {node.name: ast.unparse(node) for node in found}


@functools.cache
def classes():
    """The configuration classes by their types: those that transformers registers, and others in the same files."""
    known, others = {}, {}
    for name in sorted(CONFIG_MAPPING_NAMES):
        with contextlib.suppress(KeyError):
            known[name] = CONFIG_MAPPING[name]
            module = importlib.import_module(known[name].__module__)
            for cls in vars(module).values():
                if inspect.isclass(cls) and issubclass(cls, PreTrainedConfig) and cls.__module__ == module.__name__:
                    others[cls.model_type or UNNAMED.get(cls.__name__, "")] = cls
    others.pop("", None)
    return others | known


def reached(cls, code):
    """The names in a model's code that are reached from what is made from this configuration, and from no other."""
    named = definitions(code.__file__)
    own = re.compile(rf"config(?:_class)? ?[:=] ?{cls.__name__}\b")
    bases = "|".join(base.__name__ for base in cls.__mro__)  # a half of Mimi is written for the class of the whole, its base
    other = re.compile(rf"\bconfig: (?!(?:{bases})\b)[A-Z]\w+Config\b")
    todo, seen = [name for name, source in named.items() if own.search(source)], set()
    while todo:
        name = todo.pop()
        if name not in seen:
            seen.add(name)
            found = set(re.findall(r"\b\w+\b", named[name])) & named.keys()
            todo += [name for name in found if not other.search(named[name])]
    # One that is written for the configuration of the whole is no less its rotation.
    return seen | {word for name in seen for word in re.findall(r"\b\w+\b", named[name]) if word in named and ROTATION.search(word)}


def is_wrapper(cls):
    return any("text" in name or "thinker" in name for name in getattr(cls, "sub_configs", None) or ())


def towers(text):
    for name, cls in sorted(classes().items()):
        code = model_types.own_code_of(cls)
        is_part = name in WHOLE or not is_wrapper(cls)
        if code and name not in text and is_part and any(map(ROTATION.search, reached(cls, code))):
            yield name


def models(cls, code):
    own = re.compile(rf"config(?:_class)? ?[:=] ?{cls.__name__}\b|: {cls.__name__}\b")
    found = [model for _, model in inspect.getmembers(code, inspect.isclass)
             if issubclass(model, PreTrainedModel) and model.__module__ == code.__name__
             and not model.__name__.endswith("PreTrainedModel") and own.search(inspect.getsource(model))]  # fmt: skip
    return sorted(found, key=lambda model: ("For" in model.__name__, "Model" not in model.__name__))


def small(cls):
    names = set(getattr(cls, "__dataclass_fields__", ())) - set(getattr(cls, "attribute_map", ()))
    sizes = {name: size for name, size in SMALL.items() if name in names and name not in model_types.properties(cls)}
    return {"model_type": cls.model_type or UNNAMED[cls.__name__]} | sizes | OWN.get(cls.model_type, {})


def files(cls):
    bare = small(cls)
    yield "bare", bare
    saved = json.loads(cls.from_dict(json.loads(json.dumps(bare))).to_json_string(use_diff=False))
    saved["model_type"] = bare["model_type"]
    yield "saved", {name: value for name, value in saved.items() if name not in model_types.UNREAD}
    yield "base", bare | {"rope_theta": 777.0}
    parameters = getattr(cls.from_dict(json.loads(json.dumps(bare))), "rope_parameters", None)
    if parameters:
        yield "base inside", bare | {"rope_parameters": parameters | {"rope_theta": 777.0}}
    if "memory_attention_hidden_size" in bare:
        yield "base of older files", bare | {"memory_attention_rope_theta": 777.0}
    yield from ((SMALL_WINDOWS, bare | windows) for name, windows in WINDOWS.items() if name in saved)
    if "global_attn_indexes" in saved:
        yield "the whole image first", bare | {"global_attn_indexes": [0], "window_size": 3}
    if "num_heads" in bare or "num_attention_heads" in bare:
        heads = {name: 2 for name in bare if name in ("num_heads", "num_attention_heads", "num_key_value_heads")}
        yield "two heads", bare | heads


def inputs(config, takes):
    """Inputs that a tower may take, one after the other."""
    get = lambda *names, usual=None: next((getattr(config, name) for name in names if getattr(config, name, None)), usual)
    patch, channels = get("patch_size", usual=14), get("in_channels", "num_channels", "in_chans", usual=3)
    grid = torch.tensor(GRIDS)
    first = next(iter(takes))
    if {"grid_thw", "image_grid_thw"} & takes.keys():
        tokens = int(grid.prod(1).sum())
        more = {next(name for name in ("grid_thw", "image_grid_thw") if name in takes): grid}
        if "merge_sizes" in takes:
            more["merge_sizes"] = torch.tensor([2, 2, 1])
        square = channels * patch * patch
        for width in [square * get("temporal_patch_size", usual=1), square, 2 * square]:
            yield {first: torch.randn(tokens, width)} | more
        yield {first: torch.randn(tokens, channels, patch, patch)} | more
        yield {first: torch.randn(1, tokens, channels, patch, patch)} | more
        yield {first: torch.randn(tokens, get("temporal_patch_size", usual=2), patch, patch, channels)} | more
        yield {first: torch.randn(tokens, get("hidden_size"))} | more
    if "pixel_position_ids" in takes:
        cells = torch.cartesian_prod(torch.arange(6), torch.arange(4)).flip(1)
        ids = torch.stack([cells, torch.full_like(cells, -1)])
        ids[1, :6] = cells[:6]
        yield {"pixel_values": torch.rand(2, 24, 3 * patch * patch), "pixel_position_ids": ids}
    if "pixel_values" in takes:
        size = get("image_size", usual=56)
        size = size if isinstance(size, int) else size[0]
        more = {"image_sizes": torch.tensor([[56, 42], [28, 56]])} if "image_sizes" in takes else {}
        has_one_size = hasattr(config, "pretrain_image_size")
        for height, width in [(size, size)] if has_one_size else [(56, 42), (size, size)]:
            yield {"pixel_values": torch.randn(2, channels, height, width)} | more
    if "pixel_values_videos" in takes:
        size = get("crop_size", "image_size", usual=56)
        yield {"pixel_values_videos": torch.randn(1, get("frames_per_clip", usual=4), 3, size, size)}
    if "num_patches" in takes:
        yield {"inputs_embeds": torch.randn(1, 12, config.hidden_size), "num_patches": 8}
    if "past_values" in takes:
        yield {"past_values": [torch.randn(256), torch.randn(128)]}
    for name in ("input_features", "input_values"):
        if name in takes:
            bins = get("num_mel_bins", "n_mels", "feature_projection_input_dim", usual=80)
            yield {name: torch.randn(1, 96, bins)}
            yield {name: torch.randn(1, bins, 96)}
            yield {name: torch.randn(1, 1, 16_000)}
            yield {name: torch.randn(1, 16_000)}


def run(model, code, given):
    """Queries before and after the first rotation, and the coordinates of its tokens."""
    turned, places = [], []

    def noted(function):
        def wrapper(*args, **kwargs):
            out = function(*args, **kwargs)
            query = next(arg for arg in [*args, *kwargs.values()] if isinstance(arg, torch.Tensor))
            turned.append((query.detach().clone(), (out[0] if isinstance(out, tuple) else out).detach()))
            raise Rotated

        return wrapper

    def sines(module, args, kwargs):
        ids = kwargs.get("position_ids", args[1] if len(args) > 1 else None)
        if isinstance(ids, torch.Tensor):
            places.append(ids.detach().clone())

    with contextlib.ExitStack() as stack, torch.no_grad():
        for name, function in inspect.getmembers(code, inspect.isfunction):
            is_inner = name == "apply_rotary_pos_emb" and hasattr(code, "apply_multidimensional_rope")
            if re.match(r"(vision_)?apply_.*(rot|rope)", name) and not is_inner:
                stack.enter_context(mock.patch.object(code, name, noted(function)))
        for kind in {type(module) for module in model.modules()}:
            for name in ("_apply_rotary_embedding", "apply_rotary_embeddings"):
                if name in vars(kind):
                    function = vars(kind)[name]
                    stack.enter_context(mock.patch.object(kind, name, method(function, turned)))
        hooks = [module.register_forward_pre_hook(sines, with_kwargs=True) for module in model.modules()
                 if re.search("Rotary|Rope", type(module).__name__)]  # fmt: skip
        try:
            model(**given)
        except Rotated:
            pass
        finally:
            for hook in hooks:
                hook.remove()
    if not turned:
        raise NotImplementedError("no rotation was noted")
    return turned, places


def spans(model, code, given):
    """For each layer with attention: the keys that its mask shows before and after a query, or else the tokens of the longest
    piece that it is called on."""
    noted = {}

    def attention(module, query, key, value, attention_mask=None, *args, **kwargs):
        seen = getattr(attention_mask, "seen", None) or query.shape[2]
        longest = noted.get(module)
        noted[module] = max(longest or 0, seen) if isinstance(seen, int) else seen
        return value.new_zeros(query.shape[0], query.shape[2], query.shape[1], value.shape[-1]), None

    masks = {"eager": model_types.mask_with_its_window}
    with (
        mock.patch.object(code, "eager_attention_forward", attention),
        mock.patch.dict(model_types.ALL_MASK_ATTENTION_FUNCTIONS._global_mapping, masks),
        torch.no_grad(),
    ):
        model(**given)
    return list(noted.values())


def method(function, turned):
    def wrapper(self, query, *args, **kwargs):
        out = function(self, query, *args, **kwargs)
        turned.append((query.detach().clone(), out.detach()))
        raise Rotated

    return wrapper


def by_parts(config, code):
    """The same with the tower's own module of sines and its own rotation alone, where the whole does not run."""
    known = reached(type(config), code)
    modules = [getattr(code, name) for name in sorted(known) if re.search("Rotary.*Embedding$", name)]
    functions = [getattr(code, name) for name in sorted(known) if re.match(r"(vision_)?apply_.*(rot|rope)", name)]
    cells = vision_utils.get_vision_position_ids(torch.tensor(GRIDS), 2)
    line = torch.arange(40)[None]
    if hasattr(config, "memory_attention_hidden_size"):
        heads = config.memory_attention_num_attention_heads * config.memory_attention_downsample_rate
        width = config.memory_attention_hidden_size // heads
        cells = cells.flip(1)
    else:
        width = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
    for module, function in itertools.product(modules, functions):
        for ids, shape in [(cells, (44, 4, width)), (cells, (1, 4, 44, width)), (line, (1, 4, 40, width))]:
            with contextlib.suppress(Exception):
                query = torch.randn(shape)
                cos, sin = module(config).double().eval()(query, ids)
                out = function(query, query, cos, sin)[0]
                return query, out, ids.reshape(-1, ids.shape[-1]).double() if ids is cells else line.T.double()
        with contextlib.suppress(Exception):
            image = torch.randn(1, 3, 56, 42)
            query = torch.randn(1, 4, 12, width)
            out = function(query, query, *module(config).double().eval()(image))[0]
            return query, out, coordinates(config, [], {"pixel_values": image})
    raise NotImplementedError("neither the whole nor its module of sines runs alone")


def coordinates(config, places, given, tokens=0):
    """A row of numbers for each token that turns: (frame,) row, column. Those of the tower's own code, or its formula where that is
    inside of its module of sines."""
    if places:
        ids = places[0].squeeze()
        if config.model_type == "sam3_vit_model":
            ids = ids / ids[1].max()  # in patches, where its code has them in units of a window
        ids = ids[0] if ids.dim() == 3 or config.model_type == "timesfm2_5" else ids
        return ids.reshape(len(ids), -1).double()
    if config.model_type in ("wav2vec2-bert", "wav2vec2-conformer"):
        return torch.arange(tokens)[:, None].double()
    size = config.crop_size if config.model_type == "vjepa2" else given["pixel_values"].shape[-2:]
    rows, columns = (size // config.patch_size,) * 2 if isinstance(size, int) else [side // config.patch_size for side in size]
    cells = torch.cartesian_prod(torch.arange(rows), torch.arange(columns)).double()
    if config.model_type == "llama4_vision_model":  # and its class, the last token, which does not turn
        return torch.cat([cells + 1, torch.zeros(1, 2).double()])
    if config.model_type == "vjepa2":
        frames = config.frames_per_clip // config.tubelet_size
        return torch.cat([torch.cat([torch.full((len(cells), 1), frame).double(), cells], 1) for frame in range(frames)])
    return (cells + 0.5) / torch.tensor([rows, columns]) * 2 - 1


def whole(what, config, code):
    errors = []
    for kind in models(type(config), code):
        torch.manual_seed(3)
        try:
            model = kind(config).double().eval()
            takes = inspect.signature(model.forward).parameters
        except Exception as error:
            errors.append(f"{kind.__name__}: {type(error).__name__}: {error}")
            continue
        for given in inputs(config, takes):
            try:
                turned, places = run(model, code, given)
            except Exception as error:
                errors.append(f"{kind.__name__}: {type(error).__name__}: {error}")
                continue
            query, out = turned[0]
            seen = []
            with contextlib.suppress(Exception):  # all that comes after its attention may need more than is given here
                seen = [] if config.model_type in OTHER_SPANS and what != SMALL_WINDOWS else spans(model, code, given)
            return query, out, coordinates(config, places, given, query.shape[1]), seen
    raise NotImplementedError("; ".join(errors) or "no model")


def case(what, cls, file):
    """Queries of the first head, what becomes of them, and their coordinates."""
    code = model_types.own_code_of(cls)
    torch.manual_seed(3)
    with double(), mock.patch.multiple(torch, bfloat16=torch.float64, float16=torch.float64):
        config = cls.from_dict(json.loads(json.dumps(file)))
        model_types.plainly(config)
        try:
            if config.model_type in LARGE:
                raise NotImplementedError("it takes long")
            query, out, places, seen = whole(what, config, code)
        except Exception:
            query, out, places = by_parts(config, code)
            seen = []
    query, out = (rows(x, len(places), config) for x in (query, out))
    if places.shape[1] > 1 and places[1, -1] == places[0, -1]:  # columns before rows
        places = places.flip(1)
    chosen = sorted({*range(min(8, len(places))), *range(0, len(places), max(1, len(places) // 6)), len(places) - 1})
    short = lambda x: [model_types.short(x[i]) for i in chosen]
    return {"places": short(places), "x": short(query), "rotated": short(out), "spans": seen}


def rows(x, tokens, config):
    """Of queries in any shape, the first head's row of each token that has a place: [tokens, width]."""
    if x.dim() == 3 and x.shape[0] == 1 and hasattr(config, "rotary_embedding_base"):  # all heads of a token side by side
        return x[0][:tokens, : config.hidden_size // config.num_attention_heads]
    while x.dim() > 3:
        x = x[0]
    heads_first = x.shape[1] >= tokens and x.shape[0] != tokens
    x = x[0] if heads_first else x[:, 0]
    return x[len(x) - tokens :]


def of_type(name):
    cls = classes()[name]
    cases = []
    for what, file in files(cls):
        try:
            cases.append({"what": what, "file": file} | case(what, cls, file))
        except Exception as error:
            cases.append({"what": what, "file": file, "raises": f"{type(error).__name__}: {error}".replace("\n", " ")[:160]})
            if what == "bare":
                break
    return {"type": name, "cases": cases}


# Of sound, by their names; all others are of images and video, and one of series.
SOUND = re.compile("audio|speech|transcribe|diarization|asr|wav2vec|codec|moonshine|mimi|parakeet|lasr|voxtral|dit$|token2wav|code2wav|musicflamingo|tts")


def kind(name):
    if re.search("_text$|assistant|_module$|global_transformer|esmfold", name):
        return "text"
    return "audio" if SOUND.search(name) else "series" if "timesfm" in name else "vision"


def main():
    named = sys.argv[1:]
    found = []
    text = {of["type"] for of in json.loads((VALUES / "model_types.json").read_text())["types"]}
    for name in named or towers(text):
        tower = model_types.in_a_process(name, of_type)
        tower["kind"] = kind(name)
        found.append(tower)
        failed = [f"{case['what']}: {case['raises']}" for case in tower.get("cases", []) if "raises" in case]
        print(name, tower["kind"], len(tower.get("cases", [])) - len(failed), tower.get("died", ""), *failed[:1], file=sys.stderr, flush=True)
    lines = ",\n".join(json.dumps(tower, separators=(",", ":"), allow_nan=False) for tower in found)
    text = f'{{"version":"{transformers.__version__}","towers":[\n{lines}\n]}}\n'
    if named:
        print(text)
    if not named:
        (VALUES / "towers.json").write_text(text)


if __name__ == "__main__":
    main()
