#!/usr/bin/env python3
"""Writes `values/model_types.json`: how every text model of transformers rotates its queries, layer by layer.

    venv5/bin/python model_types.py            all model types, about half an hour
    venv5/bin/python model_types.py llama …    these, printed

For each model type it makes small `config.json` files, loads each with the type's own configuration class, builds its
own model with random weights in float64, and runs it at positions near and far. Attention is replaced by a function that
notes the queries, and every attention layer gets the same hidden states. A query before its rotation is the one of a
run in which the rotation returns its input.
"""

import contextlib
import functools
import importlib
import inspect
import json
import os
import re
import resource
import sys
import tempfile
import warnings
import zlib
from pathlib import Path
from unittest import mock

os.environ["TRANSFORMERS_VERBOSITY"] = "critical"
warnings.filterwarnings("ignore")

import torch
import transformers
from transformers import PreTrainedModel
from transformers.initialization import no_init_weights
from transformers.masking_utils import ALL_MASK_ATTENTION_FUNCTIONS, causal_mask_function, eager_mask
from transformers.models.auto.configuration_auto import CONFIG_MAPPING, CONFIG_MAPPING_NAMES
from transformers.models.auto.modeling_auto import MODEL_MAPPING

from common import VALUES, double

RUNS = [[100], [4_095, 131_071]]  # each is one input: some frequencies depend on its largest position
SECONDS = 150  # of a processor, for all files of a type

SMALL = (
    dict.fromkeys("hidden_size n_embd d_model vocab_size decoder_hidden_size".split(), 64)
    | dict.fromkeys("n_head n_heads num_heads num_attention_heads num_key_value_heads decoder_num_attention_heads "
                    "decoder_num_key_value_heads".split(), 4)
    | dict.fromkeys("n_layer n_layers num_layers num_hidden_layers decoder_num_hidden_layers".split(), 8)
    | dict.fromkeys("intermediate_size ffn_dim n_inner".split(), 32)
    | dict.fromkeys("head_dim moe_intermediate_size shared_expert_intermediate_size kv_lora_rank q_lora_rank "
                    "qk_rope_head_dim qk_nope_head_dim v_head_dim moe_shared_expert_intermediate_size "
                    "o_lora_rank".split(), 16)
    | dict.fromkeys("num_experts n_routed_experts num_local_experts".split(), 4)
    | {"num_experts_per_tok": 2, "n_group": 1, "topk_group": 1, "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}
)  # fmt: skip

# What some types need beyond that, or otherwise.
OWN = {
    "beam": {"global_head_dim": 16},
    "chameleon": {"vocabulary_map": {"<image>": 5},
                  "vq_config": {"embed_dim": 8, "num_embeddings": 8, "latent_channels": 8, "resolution": 16,
                                "base_channels": 32, "channel_multiplier": [1], "num_res_blocks": 1}},
    "codegen": {"rotary_dim": 8, "n_positions": 2**17},
    "gptj": {"rotary_dim": 8, "n_positions": 2**17},
    "deepseek_ocr2_text": {"mlp_layer_types": ["dense"] * 8},
    "diffusion_gemma_text": {"top_k_experts": 2, "moe_intermediate_size": 16, "global_head_dim": 32},
    "dots1": {"n_shared_experts": 1},
    "embedding_gemma2_text": {"global_head_dim": 32},
    "ernie4_5_vl_moe_text": {"moe_intermediate_size": [16, 16]},
    "falcon_h1": {"mamba_d_ssm": 64, "mamba_n_heads": 4, "mamba_d_head": 16, "num_hidden_layers": 2},
    "jetmoe": {"kv_channels": 16},
    "lfm2_moe": {"layer_types": ["conv", "full_attention"] * 4},
    "longcat_flash": {"num_layers": 2, "ffn_hidden_size": 32, "expert_ffn_hidden_size": 16, "moe_topk": 2,
                      "zero_expert_num": 1},
    "mimo_v2_flash": {"head_dim": 48},
    "phi4_multimodal": {"vision_config": {"hidden_size": 32, "intermediate_size": 32, "num_hidden_layers": 2,
                                          "num_attention_heads": 2, "image_size": 28, "crop_size": 28},
                        "audio_config": {"hidden_size": 32, "intermediate_size": 32, "num_blocks": 1,
                                         "num_attention_heads": 2, "nemo_conv_channels": 16,
                                         "ext_pw_out_channel": 32, "depthwise_separable_out_channel": 32}},
    "step3p5": {"sliding_window": 512},
    "zamba2": {"layers_block_type": ["linear_attention", "hybrid"] * 4, "use_mem_rope": True, "n_mamba_heads": 8},
    "zaya": {"num_experts_per_tok": 1},
    "hrm_text": {"num_hidden_layers": 3},
    "esm": {"position_embedding_type": "rotary"},
    "bamba": {"attn_layer_indices": [3, 6], "mamba_n_heads": 8, "mamba_d_head": 16, "mamba_expand": 2},
    "granitemoehybrid": {"layer_types": ["mamba", "attention"] * 4, "position_embedding_type": "rope", "mamba_n_heads": 8},
    "gemma3n_text": {"num_kv_shared_layers": 0, "hidden_size_per_layer_input": 16, "vocab_size_per_layer_input": 64,
                     "layer_types": (["sliding_attention"] * 4 + ["full_attention"]) * 2, "num_hidden_layers": 10,
                     "activation_sparsity_pattern": [0.0] * 10, "intermediate_size": [32] * 10},
    "gemma4_text": {"global_head_dim": 32, "num_kv_shared_layers": 0, "vocab_size_per_layer_input": 64,
                    "hidden_size_per_layer_input": 16},
    "gemma4_unified_text": {"global_head_dim": 32},
    "llama4_text": {"use_qk_norm": False},  # it comes after the rotation
    "cohere_compass_text": {"rope_parameters": {kind: {"rope_type": "default", "rope_theta": 5e4, "mrope_section": [2, 3, 3]}
                                                for kind in ("full_attention", "sliding_attention")},
                            "layer_types": ["sliding_attention"] * 3 + ["full_attention"] + ["sliding_attention"] * 4},
    "csm": {"num_codebooks": 2, "text_vocab_size": 64},
    "csm_depth_decoder_model": {"num_codebooks": 2, "backbone_hidden_size": 64},
    "dia_decoder": {"cross_num_attention_heads": 4, "cross_head_dim": 16, "cross_num_key_value_heads": 4,
                    "cross_hidden_size": 64, "num_channels": 2},
    "evolla": {"protein_encoder_config": {"hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2,
                                          "intermediate_size": 32, "vocab_size": 32},
               "aligner_num_add_layers": 1, "resampler_depth": 1, "resampler_dim_head": 8, "resampler_heads": 2},
    "idefics": {"vision_config": {"embed_dim": 32, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 32,
                                  "image_size": 28, "patch_size": 14},
                "additional_vocab_size": 0, "perceiver_config": {"use_resampler": False}, "cross_layer_interval": 4},
    "gradium_phonon_tts": {"flow_head_config": {"condition_dim": 64, "latent_dim": 32}},
    "pocket_tts": {"flow_head_config": {"condition_dim": 64, "latent_dim": 32}},
    "kyutai_speech_to_text": {"num_codebooks": 2, "codebook_vocab_size": 64, "audio_pad_token_id": 3},
    "qwen2_5_omni_talker": {"embedding_size": 64},
    "qwen3_omni_moe_talker_text": {"shared_expert_intermediate_size": 16},
    "qwen4_exp_text": {"linear_num_key_heads": 2, "linear_num_value_heads": 2, "linear_key_head_dim": 16, "linear_value_head_dim": 16,
                       "hc_lowrank": 8, "hc_count": 2, "indexer_n_heads": 4, "indexer_kv_heads": 1, "indexer_head_dim": 16, "indexer_budget": 2048,
                       "indexer_compress_ratio": 4},
    "roformer": {"max_position_embeddings": 2**17},
    "t5_gemma_module": {"dropout_rate": 0.0},
    "t5gemma2_text": {"dropout_rate": 0.0},
    "t5gemma2_decoder": {"dropout_rate": 0.0},
}  # fmt: skip
OWN["EvollaModel"] = OWN["evolla"]

# The part of a whole model that has the layers.
PARTS = {
    "csm": "CsmBackboneModel",
    "csm_depth_decoder_model": "CsmDepthDecoderModel",
    "blt_global_transformer": "BltGlobalTransformer",
    "deepseek_ocr2_text": "DeepseekOcr2TextModel",
    "t5_gemma_module": "T5GemmaEncoder",
    "unlimited_ocr_text": "UnlimitedOcrTextModel",
    "voxtral_realtime_text": "VoxtralRealtimeTextModel",
    "qwen2_5_omni_talker": "Qwen2_5OmniTalkerModel",
}

# Models that take embeddings in place of tokens, and those whose layers are called one by one, with the rotations of
# their own class: all else in them needs other inputs than tokens, or makes its positions itself.
EMBEDDED = (
    "csm gradium_phonon_tts qwen2_5_omni_talker qwen3_omni_moe_talker_code_predictor qwen3_omni_moe_talker_text"
).split()
ONE_BY_ONE = (
    "EvollaModel blt_global_transformer blt_local_decoder blt_local_encoder csm_depth_decoder_model dia_decoder dia_encoder "
    "evolla pocket_tts voxtral_realtime_text"
).split()

# Positions of text, images and video: the sections of a head for each coordinate.
SECTIONS = {"rope_type": "default", "mrope_section": [2, 3, 3]}
WITH_SECTIONS = (
    "cosmos3_edge_text ernie4_5_vl_moe_text glm4v_text glm_image_text glm_ocr_text hunyuan_vl_text "
    "paddleocr_vl_text qwen2_5_omni_talker qwen2_5_omni_text qwen2_5_vl_text qwen2_vl_text"
)
OWN |= {name: OWN.get(name, {}) | {"rope_parameters": SECTIONS} for name in WITH_SECTIONS.split()}
OWN["ernie4_5_vl_moe_text"]["rope_parameters"] = SECTIONS | {"mrope_section": [3, 3, 2]}
OWN["glm4v_moe_text"] = {"rope_parameters": SECTIONS | {"mrope_section": [1, 1, 2]}}

PAIRS = 8
LINEAR = {"type": "linear", "factor": 4.0}
YARN = {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 1024}
LLAMA3 = {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0}
LONGROPE = {
    "rope_type": "longrope",
    "short_factor": [1.0 + i / 8 for i in range(PAIRS)],
    "long_factor": [1.0 + i for i in range(PAIRS)],
}


def files(cls):
    """Files of a type, by what they try. Each is as a person or a version of transformers might have written it."""
    bare = {"model_type": cls.model_type} | small(cls)
    yield "bare", bare
    saved = json.loads(cls.from_dict(json.loads(json.dumps(bare))).to_json_string(use_diff=False))
    yield "saved", {name: value for name, value in saved.items() if name not in UNREAD}
    yield "base", bare | {"rope_theta": 77_777.0}
    yield "base inside", bare | {"rope_parameters": {"rope_type": "default", "rope_theta": 77_777.0}}
    yield "share", bare | {"partial_rotary_factor": 0.5}
    yield "share inside", bare | {"rope_parameters": {"rope_theta": 5e4, "partial_rotary_factor": 0.5}}
    yield "neox", bare | {"rotary_pct": 0.5, "rotary_emb_base": 20_000}
    yield "linear", bare | {"rope_theta": 5e4, "rope_scaling": LINEAR}
    yield "dynamic", bare | {"max_position_embeddings": 2048, "rope_scaling": {"type": "dynamic", "factor": 2.0}}
    yield "yarn", bare | {"rope_scaling": YARN}
    beside = {"original_max_position_embeddings": 512, "max_position_embeddings": 8192}
    yield "yarn, length beside", bare | beside | {"rope_scaling": YARN | {"truncate": False, "factor": None}}
    yield "yarn beside parameters", bare | {"rope_parameters": {"rope_theta": 5e4}, "rope_scaling": YARN}
    yield "llama3", bare | {"max_position_embeddings": 8192, "rope_scaling": LLAMA3}
    yield "llama3, length inside", bare | {"rope_scaling": LLAMA3 | {"original_max_position_embeddings": 1024.0}}
    yield "longrope", bare | {"max_position_embeddings": 8192, "rope_scaling": LONGROPE | {
        "original_max_position_embeddings": 1024}}  # fmt: skip
    if "hunyuan" in cls.model_type:
        yield "alpha", bare | {"rope_scaling": {"type": "dynamic", "factor": 1.0, "alpha": 1000.0}}
    if "head_dim" in bare:
        yield "no head width", {name: value for name, value in bare.items() if name != "head_dim"}
        yield "null head width", bare | {"head_dim": None, "hidden_size": 96}


UNREAD = set("id2label label2id architectures dtype transformers_version".split())


def small(cls):
    names = set(getattr(cls, "__dataclass_fields__", ())) or set(inspect.signature(cls.__init__).parameters)
    mapped = set(getattr(cls, "attribute_map", ()))
    sizes = {name: value for name, value in SMALL.items() if name in names - mapped}
    return {name: value for name, value in sizes.items() if name not in properties(cls)} | OWN.get(cls.model_type, {})


def properties(cls):
    return {name for name, _ in inspect.getmembers(cls, lambda member: isinstance(member, property))}


@functools.cache
def own_code_of(cls):
    """The module of models beside that of a configuration, or None."""
    with contextlib.suppress(ImportError):
        return importlib.import_module(cls.__module__.replace("configuration_", "modeling_"))


@functools.cache
def code_of(cls):
    """The module of a configuration's model, which may be that of another type: InternLM 3 is a Llama."""
    return own_code_of(cls) or sys.modules[MODEL_MAPPING[cls].__module__]


@functools.cache
def model_class(cls):
    """The model of a configuration that reads tokens, or None."""
    code = code_of(cls)
    if cls.model_type in PARTS:
        return getattr(code, PARTS[cls.model_type])
    models = [model for _, model in inspect.getmembers(code, inspect.isclass) if is_model_of(model, cls, code)]
    with contextlib.suppress(KeyError, ValueError, AttributeError):
        mapped = MODEL_MAPPING[cls]
        models = [*(mapped if isinstance(mapped, tuple) else [mapped]), *models]
    reads_tokens = (model for model in models if "input_ids" in inspect.signature(model.forward).parameters)
    return next(reads_tokens, None)


def is_model_of(model, cls, code):
    own = issubclass(model, PreTrainedModel) and model.__module__ == code.__name__
    return own and not model.__name__.endswith("PreTrainedModel") and f"config: {cls.__name__}\n" in inspect.getsource(model)


def rotates(cls):
    try:
        source = inspect.getsource(code_of(cls))
    except (ImportError, OSError, AttributeError, KeyError):
        return False
    return bool(re.search(r"apply_rot|RotaryEmb|apply_rope", source))


def seed(model):
    """Weights that depend on their name and shape, but not on the layer."""
    for name, weights in model.named_parameters():
        if "embed_positions" in name and model.config.model_type == "roformer":  # its sines
            continue
        values = random_values(re.sub("[0-9]+", "#", name), tuple(weights.shape))
        if "conv_qk" in name:  # Zaya mixes queries with those before them: not here, where all are the same but the first
            values = torch.zeros_like(values)
        with torch.no_grad():
            weights.copy_(values)


@functools.cache
def random_values(name, shape):
    generator = torch.Generator().manual_seed(zlib.crc32(f"{name}{[*shape]}".encode()))
    values = torch.randn(shape, generator=generator, dtype=torch.float32)
    if re.search("(query|key)_layernorm", name):  # after the rotation, which keeps the norm
        values = torch.ones_like(values)
    return values.double() * (0.5 if len(shape) > 1 else 1.0)


def returns_its_input(function):
    names = list(inspect.signature(function).parameters)
    takes_both = len(names) > 1 and names[1] in ("k", "xk", "key", "key_states")

    def identity(*args, **kwargs):
        given = [*args, *(kwargs[name] for name in names[len(args) :] if name in kwargs)]
        return tuple(given[:2]) if takes_both else given[0]

    return identity


def seen(mask):
    """How many keys before and after a query a mask of transformers shows; None for all of them."""
    query = 2**30 - 1

    def shows(step):
        return bool(mask(0, 0, torch.tensor(query), torch.tensor(query + step)))

    def keys(side):
        if shows(side * (2**30 - 1)):
            return None
        most, too_many = 0, 2**30 - 1
        while too_many - most > 1:
            middle = (most + too_many) // 2
            most, too_many = (middle, too_many) if shows(side * middle) else (most, middle)
        return most

    return [keys(-1), keys(1)]


def mask_with_its_window(*args, mask_function=causal_mask_function, **kwargs):
    mask = eager_mask(*args, mask_function=mask_function, **kwargs)
    if mask is not None:
        with contextlib.suppress(IndexError, RuntimeError):  # of inputs in several pieces
            mask.seen = seen(mask_function)
    return mask


def queries(model, positions, rotated):
    """The first head's query at each position, for each layer with attention: (layer, window, [positions, width]). The
    window is the keys that the mask shows before and after a query, or else the number that the attention is called with."""
    noted = []

    def note(module, query, window=None):
        if "Cross" in type(module).__name__ or getattr(module, "is_cross_attention", False):  # it looks at another input
            return
        layer = getattr(module, "layer_idx", None)
        if model.config.model_type == "hrm_text":  # each layer runs several times
            layer = None
        if model.config.model_type == "zamba2":  # its layers share modules
            layer = model.config.hybrid_layer_ids[len(noted)]
        noted.append((len(noted) if layer is None else layer, window, query[0, 0].detach()))

    def attention(module, query, key, value, *args, **kwargs):
        mask = args[0] if args else kwargs.get("attention_mask")
        note(module, query, getattr(mask, "seen", None) or kwargs.get("sliding_window"))
        return value.new_zeros(query.shape[0], query.shape[2], query.shape[1], value.shape[-1]), None

    def fused_attention(query, key, value, *args, **kwargs):
        note(None, query)
        return value.new_zeros(*query.shape[:-1], value.shape[-1])

    def own_attention(self, query, key, value, *args, **kwargs):
        note(self, query)
        return value.new_zeros(*query.shape[:-1], value.shape[-1]), None

    patches = [
        mock.patch.object(torch.nn.functional, "scaled_dot_product_attention", fused_attention),
        mock.patch.dict(ALL_MASK_ATTENTION_FUNCTIONS._global_mapping, {"eager": mask_with_its_window}),
    ]
    for code in {sys.modules[type(module).__module__] for module in model.modules()}:
        if "transformers.models" not in code.__name__:
            continue
        if hasattr(code, "eager_attention_forward"):
            patches.append(mock.patch.object(code, "eager_attention_forward", attention))
        if not rotated:
            names = [name for name in dir(code) if re.match(r"apply_(rotary|rope|multimodal_rotary)", name)]
            for name in names:
                patches.append(mock.patch.object(code, name, returns_its_input(getattr(code, name))))
    for kind in {type(module) for module in model.modules()}:
        if "_attn" in vars(kind):
            patches.append(mock.patch.object(kind, "_attn", own_attention))
        if "apply_rotary_position_embeddings" in vars(kind):  # RoFormer
            apply = kind.apply_rotary_position_embeddings

            def own_rotation(sines, query, key, *args, apply=apply):
                turned = apply(sines, query, key, *args) if rotated else (query, key)
                note(None, turned[0])
                return turned

            patches.append(mock.patch.object(kind, "apply_rotary_position_embeddings", staticmethod(own_rotation)))

    def same_input(module, args, kwargs):
        hidden = kwargs["hidden_states"] if "hidden_states" in kwargs else args[0]
        if hidden.dim() != 3:
            return None
        generator = torch.Generator().manual_seed(hidden.shape[-1])
        row = torch.randn(hidden.shape[-1], generator=generator, dtype=torch.float32).double()
        hidden = row.expand(hidden.shape).clone()
        return ((), kwargs | {"hidden_states": hidden}) if not args else ((hidden, *args[1:]), kwargs)

    projections = "q_proj qkv_proj query_key_value q_a_proj qkv Wqkv query q_b_proj c_attn kv_a_proj_with_mqa wq kv_proj".split()
    hooks = [
        module.register_forward_pre_hook(same_input, with_kwargs=True)
        for module in model.modules()
        if re.search("Att|MLA", type(module).__name__) and any(hasattr(module, name) for name in projections)
    ]
    run = functools.partial(one_by_one, model, positions) if model.config.model_type in ONE_BY_ONE else None
    run = run or functools.partial(model, **inputs_of(model, positions))
    with contextlib.ExitStack() as stack, torch.no_grad():
        for patch in patches:
            stack.enter_context(patch)
        try:
            run()
        finally:
            for hook in hooks:
                hook.remove()
    return noted


def inputs_of(model, positions):
    """Tokens at these positions, and what else a model takes."""
    kind, places = model.config.model_type, torch.tensor([positions])
    inputs = {"input_ids": torch.arange(3, 3 + len(positions))[None], "position_ids": places}
    takes = inspect.signature(model.forward).parameters
    if kind == "roformer":  # its positions are those of its rows
        del inputs["position_ids"]
        lookup = torch.nn.Embedding.forward
        sines = model.encoder.embed_positions
        sines.forward = lambda shape, *args, **kwargs: lookup(sines, places[0])
        return inputs
    if kind in EMBEDDED:
        inputs["inputs_embeds"] = torch.ones(1, len(positions), model.config.hidden_size)
        del inputs["input_ids"]
    if kind == "kyutai_speech_to_text":
        inputs["input_ids"] = torch.full((1, len(positions), model.config.num_codebooks + 1), 5)
    if kind == "t5gemma2_decoder" or type(model).__name__ == "T5GemmaDecoder":
        inputs["encoder_hidden_states"] = torch.ones(1, 3, model.config.hidden_size)
    if kind == "idefics":
        inputs["image_encoder_embeddings"] = torch.ones(1, 1, 1, model.config.vision_config.embed_dim)
        inputs["image_attention_mask"] = torch.ones(1, len(positions), 1)
    if "position_ids" not in takes and "kwargs" not in takes:
        raise NotImplementedError("its forward takes no position_ids")
    if "use_cache" in takes or "kwargs" in takes:
        inputs["use_cache"] = False
    return inputs


def one_by_one(model, positions):
    """Calls each attention among the tokens of a model with the sines of the model's own class."""
    places = torch.tensor([positions])
    others = re.compile("Cross|SaProt")  # attention to another input, and another model in the same
    own = [module for module in model.modules() if not others.search(type(module).__name__)]
    (rotary,) = (module for module in own if "RotaryEmbedding" in type(module).__name__)
    for module in own:
        if "Attention" in type(module).__name__ and getattr(module, "layer_idx", None) is not None:
            hidden = torch.ones(1, len(positions), model.config.hidden_size)
            sines = rotary(hidden, places)
            module(hidden_states=hidden, position_embeddings=sines, attention_mask=None)


def layers(cls, file):
    """Groups of layers that rotate alike: their indices, window, query, and its rotations at all positions."""
    with double(), mock.patch.multiple(torch, bfloat16=torch.float64, float16=torch.float64):
        return layers_of(model_class(cls), cls.from_dict(json.loads(json.dumps(file))))


def layers_of(cls, config):
    """The same for a model of this class."""
    with double(), mock.patch.multiple(torch, bfloat16=torch.float64, float16=torch.float64):
        plainly(config)
        with no_init_weights():
            model = cls(config).double().eval()
        if config.model_type == "roformer":
            sines = model.encoder.embed_positions
            sines.weight = torch.nn.Parameter(sines.create_weight().double(), requires_grad=False)
        seed(model)
        plain = queries(model, RUNS[0], rotated=False)
        unmoved = queries(model, [0], rotated=True)
        rotated = [queries(model, positions, rotated=True) for positions in RUNS]
        if not plain:
            raise NotImplementedError("no attention was noted")
        groups = {}
        for (layer, window, query), (_, _, zero), *turned in zip(plain, unmoved, *rotated):
            rows = torch.cat([rows for _, _, rows in turned])[:, order(query[0], zero[0])]
            group = json.dumps([window, short(query[0]), [short(row) for row in rows]])
            groups.setdefault(group, []).append(layer)
    return [[indices, *json.loads(group)] for group, indices in groups.items()]


def order(before, after):
    """Where each column of a query is after a rotation by 0. Code that pairs neighbours may leave the first of all pairs
    before the second: the scores are the same, since the keys are in the same order."""
    width = len(before)
    for turned in [0, width, *range(2, width, 2)]:
        columns = torch.arange(width)
        columns[width - turned :] = width - turned + torch.arange(turned).view(2, -1).T.flatten()
        ratio = after[columns] / before
        if all((part - part[:1]).abs().max() < 1e-9 for part in (ratio[width - turned :], ratio[: width - turned]) if len(part)):
            return columns
    return torch.arange(width)


def plainly(config):
    # Falcon's own code of attention has no function that can be replaced.
    config._attn_implementation = "sdpa" if config.model_type == "falcon" else "eager"
    config._experts_implementation = "eager"
    for name in getattr(config, "sub_configs", None) or {}:
        if getattr(config, name, None) is not None:
            plainly(getattr(config, name))


def short(row):
    return [float(f"{number:.8g}") for number in row.tolist()]


def of_type(name):
    """The files of a type with what came of each, or why there are none."""
    cls = CONFIG_MAPPING[name]
    cases, known = [], {}
    try:
        for what, file in files(cls):
            case = {"what": what, "file": file}
            try:
                found = json.dumps(layers(cls, file))
                if found in known:
                    case["as"] = known[found]  # to keep the file small
                else:
                    known[found] = what
                    case["layers"] = json.loads(found)
            except Exception as error:
                case["raises"] = f"{type(error).__name__}: {error}".replace("\n", " ")[:160]
            cases.append(case)
            if what == "bare" and "raises" in case:
                break
    except Exception as error:
        cases.append({"what": "files", "raises": f"{type(error).__name__}: {error}".replace("\n", " ")[:160]})
    return {"type": name, "model": model_class(cls).__name__, "cases": cases}


def in_a_process(name, of_type=of_type):
    """A model that is too large or too slow must not end the others."""
    with tempfile.NamedTemporaryFile("r") as result:
        process = os.fork()
        if process == 0:
            resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
            torch.set_num_threads(1)
            Path(result.name).write_text(json.dumps(of_type(name)))
            os._exit(0)
        _, status = os.waitpid(process, 0)
        return json.loads(result.read()) if status == 0 else {"type": name, "died": status}


def text_types():
    for name in sorted(CONFIG_MAPPING_NAMES):
        cls = CONFIG_MAPPING[name]
        is_wrapper = any("text" in sub or "thinker" in sub for sub in getattr(cls, "sub_configs", None) or ())
        if not is_wrapper and rotates(cls) and model_class(cls) is not None:
            yield name


def main():
    named = sys.argv[1:]
    types = []
    for name in named or text_types():
        found = in_a_process(name)
        types.append(found)
        cases = found.get("cases", [])
        failed = [f"{case['what']}: {case['raises']}" for case in cases if "raises" in case]
        print(name, len(cases) - len(failed), "of", len(cases), found.get("died", ""), *failed[:1], file=sys.stderr, flush=True)
        if named:
            print(json.dumps(found))
    if not named:
        lines = (json.dumps(found, separators=(",", ":"), allow_nan=False) for found in types)
        text = f'{{"version":"{transformers.__version__}","runs":{json.dumps(RUNS)},"types":[\n' + ",\n".join(lines) + "\n]}\n"
        (VALUES / "model_types.json").write_text(text)


if __name__ == "__main__":
    main()
