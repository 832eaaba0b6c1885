"""Small models as transformers saves them, in `checkpoints/`, and the position embeddings that they add; and the
resizing of position tables for other image sizes."""

import shutil
import tempfile
from pathlib import Path

import numpy as np
import safetensors.torch
import torch
import transformers
from torch.nn.functional import interpolate

from common import about, rounded, shortest
from formulas import Tutorial

FOLDER = Path(__file__).parent / "checkpoints"
FILES = ["model.safetensors", "pytorch_model.bin"]
LENGTH, WIDTH, VOCABULARY = 12, 8, 11


def checkpoints():
    shutil.rmtree(FOLDER, ignore_errors=True)
    for name, model, padding_index, modules in models():
        yield from saved(name, model, FILES, padding_index, {f"{module}.weight": module for module in modules})
        if name == "gpt2":
            yield from saved("gpt2-half", model.half(), FILES[:1], padding_index, {"wpe.weight": "wpe"})
    yield from saved("vit", vit(), FILES, None, {"embeddings.position_embeddings": None})
    save_tutorial()
    save_gaps()
    yield from resized_vit()
    yield from resized()


def models():
    """Name, model, its padding index where its positions begin after that, and its position embeddings."""
    common = {"vocab_size": VOCABULARY, "max_position_embeddings": LENGTH, "pad_token_id": 1}
    bert = common | {"hidden_size": WIDTH, "intermediate_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2}
    gpt2 = {"vocab_size": VOCABULARY, "n_positions": LENGTH, "n_embd": WIDTH, "n_layer": 1, "n_head": 2, "n_inner": 8}
    bart = common | {"d_model": WIDTH, "bos_token_id": 0, "eos_token_id": 2, "decoder_start_token_id": 2}
    for side in ["encoder", "decoder"]:
        bart |= {f"{side}_layers": 1, f"{side}_attention_heads": 2, f"{side}_ffn_dim": 8}
    opt = bert | {"ffn_dim": 8, "word_embed_proj_dim": WIDTH}
    roberta = bert | {"max_position_embeddings": LENGTH + 2, "type_vocab_size": 1}

    yield "gpt2", seeded(transformers.GPT2Model, gpt2), None, ["wpe"]
    yield "gpt2-lm", seeded(transformers.GPT2LMHeadModel, gpt2), None, ["transformer.wpe"]
    yield "bert", seeded(transformers.BertModel, bert), None, ["embeddings.position_embeddings"]
    yield "roberta", seeded(transformers.RobertaModel, roberta), 1, ["embeddings.position_embeddings"]
    yield "bart", seeded(transformers.BartModel, bart), 1, ["encoder.embed_positions", "decoder.embed_positions"]
    yield "opt", seeded(transformers.OPTModel, opt), 1, ["decoder.embed_positions"]
    yield "opt-lm", seeded(transformers.OPTForCausalLM, opt), 1, ["model.decoder.embed_positions"]


def vit():
    """3 × 3 patches and a class token."""
    settings = {"image_size": 6, "patch_size": 2, "num_channels": 1, "hidden_size": WIDTH, "intermediate_size": 8}
    return seeded(transformers.ViTModel, settings | {"num_hidden_layers": 1, "num_attention_heads": 2})


def seeded(kind, settings):
    torch.manual_seed(1)
    return kind(kind.config_class(**settings)).eval()


def saved(name, model, files, padding_index, modules):
    """A case for a file and a table in it. The rows are what the model's own module gave when it ran."""
    added = {tensor: positions_of(model, module) for tensor, module in modules.items()}
    for file in files:
        path = FOLDER / name / file
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory() as folder:
            model.save_pretrained(folder, safe_serialization=file.endswith(".safetensors"))
            shutil.copyfile(Path(folder) / file, path)
        tensors = safetensors.torch.load_file(path) if file.endswith(".safetensors") else torch.load(path)
        first = 0 if padding_index is None else padding_index + 1
        for tensor, rows in added.items():
            assert torch.equal(tensors[tensor].view(-1, WIDTH)[first : first + len(rows)], rows)
            yield about(f"transformers {type(model).__name__}", "transformers") | {
                "file": f"checkpoints/{name}/{file}",
                "name": tensor,
                "shape": list(tensors[tensor].shape),
                "padding_index": padding_index,
                "positions": list(range(len(rows))),
                "rows": [shortest(row) for row in rows.detach().float()],
            }


def save_tutorial():
    """The state of a model with the module of PyTorch's tutorial, whose buffer is [1, max_len, d_model]."""
    state = {"pos_encoder.pe": Tutorial(16).table[None, :5_000].contiguous()}
    path = FOLDER / "tutorial" / "model.safetensors"
    path.parent.mkdir(parents=True, exist_ok=True)
    safetensors.torch.save_file(state, path, metadata={"format": "pt"})


def save_gaps():
    """Tables whose names count from 1, by twos: a reader that counts layers anew would mix them up."""
    state = {f"pos.{i}.weight": torch.full((2, 3), float(i)) for i in [1, 3]}
    path = FOLDER / "gaps" / "pytorch_model.bin"
    path.parent.mkdir(parents=True, exist_ok=True)
    torch.save(state, path)


def positions_of(model, module):
    """What the module gives when the model reads as many tokens as it can, none of which is padding."""
    if module is None:
        return model.embeddings.interpolate_pos_encoding(torch.zeros(1, 10, WIDTH), 6, 6)[0]
    seen = []
    hook = model.get_submodule(module).register_forward_hook(lambda _module, _inputs, output: seen.append(output))
    model(input_ids=torch.arange(LENGTH)[None] % 7 + 3)
    hook.remove()
    return seen[0].view(LENGTH, WIDTH)


def resize_case(peer, before, after, prefix, table, resized):
    assert len(table) == prefix + np.prod(before) and len(resized) == prefix + np.prod(after)
    case = peer | {"from": before, "to": after, "prefix": prefix}
    return case | {"table": [shortest(row) for row in table], "resized": [rounded(row) for row in resized]}


def resized_vit():
    """In float64, from the float32 table that is in the file."""
    embeddings = vit().double().embeddings
    table = embeddings.position_embeddings[0].detach()
    for height, width in [(4, 5), (5, 4), (7, 3), (2, 3), (3, 2), (1, 9), (6, 6), (2, 2), (3, 3)]:
        patches = torch.zeros(1, 1 + height * width, WIDTH)
        rows = embeddings.interpolate_pos_encoding(patches, 2 * height, 2 * width)[0].detach()
        peer = about("transformers ViTEmbeddings.interpolate_pos_encoding", "transformers")
        yield resize_case(peer, [3, 3], [height, width], 1, table, rows)


def resized():
    """In float64."""
    random = np.random.default_rng(13)
    peer = about("torch.nn.functional.interpolate, bicubic, align_corners=False", "torch")
    sizes = [((2, 3), (5, 4), 3), ((14, 14), (16, 20), 2), ((14, 14), (7, 10), 2), ((4, 5), (2, 3), 3)]
    sizes += [((3, 3), (3, 3), 2), ((1, 4), (3, 2), 2), ((2, 3), (1, 1), 2), ((1, 1), (2, 3), 2), ((5, 2), (5, 7), 1)]
    for before, after, width in sizes:
        table = random.normal(size=(*before, width)).astype(np.float32)
        planes = torch.tensor(table, dtype=torch.float64).permute(2, 0, 1)[None]
        rows = interpolate(planes, after, mode="bicubic", align_corners=False)[0].permute(1, 2, 0)
        yield resize_case(peer, before, after, 0, table.reshape(-1, width), rows.reshape(-1, width))
