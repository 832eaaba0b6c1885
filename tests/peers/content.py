#!/usr/bin/env python3
"""Writes the values of schemes that look at queries and keys: attention weights and their gradients.

    venv5/bin/python content.py

Every case has the input of an attention, its projections of queries and keys, the parameters of the scheme, and what a
peer's own code makes of them in float64: the weights of some queries after the softmax, and the gradients of their sum,
each times sin(0.7 n), n its index. Padded queries count nothing in it. CoPE has no package, and the values' side of Shaw's
relative positions neither: their formulas are here, from the papers, pair by pair.
"""

import math
import os

os.environ["TRANSFORMERS_VERBOSITY"] = "error"

import numpy as np
import torch
from transformers import DebertaV2Config, FastSpeech2ConformerConfig, Wav2Vec2BertConfig, Wav2Vec2ConformerConfig, XLNetConfig
from transformers.models.deberta_v2.modeling_deberta_v2 import DisentangledSelfAttention, make_log_bucket_position
from transformers.models.fastspeech2_conformer import modeling_fastspeech2_conformer as fastspeech
from transformers.models.wav2vec2_bert.modeling_wav2vec2_bert import Wav2Vec2BertSelfAttention
from transformers.models.wav2vec2_conformer import modeling_wav2vec2_conformer as conformer
from transformers.models.xlnet.modeling_xlnet import XLNetModel, XLNetRelativeAttention

from common import about, double, shortest, write

random = np.random.default_rng(29)


def numbers(*shape, spread=1.0):
    """Random float64 numbers that are float32 numbers too."""
    return torch.tensor(random.normal(0.0, spread, shape).astype(np.float32), dtype=torch.float64)


def fill(module, spread=0.4):
    """The module in float64, with random parameters."""
    module = module.double().eval()
    with torch.no_grad():
        for weights in module.parameters():
            weights.copy_(numbers(*weights.shape, spread=spread))
    return module


def digits(tensor):
    """To 9 digits: the tests compare in float32."""
    return [float(f"{number:.9g}") for number in tensor.detach().numpy().ravel()]


def case(peer, config, hidden, projections, parameters, weights, rows=None, real=None, memory=0):
    """One case. `projections` are query and key, weight `[inputs, outputs]` and bias; `parameters` are those of the scheme
    by name, a linear layer for its weight; `weights` are `[batch, heads, queries, keys]`; `rows` are the queries that are
    kept; the first `memory` tokens are keys alone."""
    batch, _, queries, keys = weights.shape
    rows = list(range(queries)) if rows is None else rows
    real = torch.ones(batch, keys, dtype=torch.bool) if real is None else real
    kept = weights[:, :, rows]
    counts = torch.sin(0.7 * torch.arange(kept.numel(), dtype=torch.float64)).reshape(kept.shape)
    counts = counts * real[:, memory:][:, rows][:, None, :, None]
    linears = {name for name, leaf in parameters.items() if isinstance(leaf, torch.nn.Linear)}
    leaves = {name: leaf.weight if name in linears else leaf for name, leaf in parameters.items()} | {"hidden": hidden}
    gradients = torch.autograd.grad((kept * counts).sum(), leaves.values())
    laid = lambda name, tensor: tensor.T if name in linears else tensor  # to [inputs, outputs]
    return about(peer, "transformers") | {
        "config": config,
        "hidden": [shortest(row.detach()) for row in hidden],
        "query": [shortest(part.detach()) for part in projections[0]],
        "key": [shortest(part.detach()) for part in projections[1]],
        "parameters": {name: shortest(laid(name, leaves[name].detach())) for name in parameters},
        "memory": memory,
        "real": real.tolist(),
        "rows": rows,
        "weights": digits(kept),
        "gradients": {name: digits(laid(name, gradient)) for name, gradient in zip(leaves, gradients)},
    }


def linear(layer):
    return layer.weight.T, layer.bias


def padded(lengths, seq, left):
    """Which tokens of the rows are real."""
    token = torch.arange(seq)
    return torch.stack([token >= seq - length if left else token < length for length in lengths])


# DeBERTa --------------------------------------------------------------------------------------------


def deberta():
    """transformers' DeBERTa-v2: with shared projections as in v2 and v3, with its own, with one term, without buckets, and
    with padding."""
    both = ["p2c", "c2p"]
    for options, types, share, shape, real, rows in [
        ((6, 10), both, True, (2, 15), None, None),
        ((6, 10), both, False, (2, 15), padded([15, 9], 15, True), None),
        ((4, 20), ["c2p"], True, (1, 30), None, [0, 7, 29]),
        ((4, 20), ["p2c"], False, (1, 30), None, [0, 7, 29]),
        ((-1, 5), both, False, (2, 13), padded([13, 8], 13, False), None),
    ]:
        buckets, max_distance = options
        config = DebertaV2Config(
            hidden_size=8,
            num_attention_heads=2,
            relative_attention=True,
            position_buckets=buckets,
            max_relative_positions=max_distance,
            share_att_key=share,
            pos_att_type=types,
        )
        attention = fill(DisentangledSelfAttention(config))
        batch, seq = shape
        hidden = numbers(batch, seq, 8).requires_grad_()
        span = max_distance if buckets < 0 else buckets
        embeddings = numbers(2 * span, 8).requires_grad_()
        mask = torch.ones(batch, seq, dtype=torch.bool) if real is None else real
        _, weights = attention(hidden, mask[:, None, None, :], output_attentions=True, rel_embeddings=embeddings)
        parameters = {"embeddings": embeddings}
        if not share:
            for name, projection in [("key", "pos_key_proj"), ("query", "pos_query_proj")]:
                layer = getattr(attention, projection, None)
                if layer is not None:
                    parameters |= {f"{name}.weight": layer, f"{name}.bias": layer.bias}
        settings = {
            "d_model": 8,
            "heads": 2,
            "buckets": buckets if buckets > 0 else None,
            "max_distance": max_distance,
            "content_to_position": "c2p" in types,
            "position_to_content": "p2c" in types,
        }
        projections = [linear(attention.query_proj), linear(attention.key_proj)]
        yield case("DeBERTa-v2", settings, hidden, projections, parameters, weights, rows, real)


def deberta_rows():
    """The rows of the distances key − query from −1200 to 1200 in the table of embeddings."""
    distances = torch.arange(-1200, 1201)
    for buckets, max_distance in [(256, 512), (32, 128), (4, 20), (64, 1024), (-1, 512)]:
        span = buckets if buckets > 0 else max_distance
        bucket = make_log_bucket_position(-distances, buckets, max_distance) if buckets > 0 else -distances
        rows = torch.clamp(bucket.to(torch.long) + span, 0, 2 * span - 1)
        about = {"buckets": buckets if buckets > 0 else None, "max_distance": max_distance}
        yield about | {"first": -1200, "rows": rows.tolist()}


# Transformer-XL and Conformers ----------------------------------------------------------------------


def transformer_xl():
    """XLNet, whose attention is Transformer-XL's, with a memory and without; and the Conformers of Wav2Vec2 and of
    FastSpeech 2, with padding and without."""
    for memory, seq in [(0, 14), (9, 6)]:
        with double():
            config = XLNetConfig(vocab_size=4, d_model=12, n_head=3, n_layer=1, d_inner=4, dropout=0.0)
            model = XLNetModel(config)
            positions = model.relative_positional_encoding(seq, memory + seq, bsz=1)
        attention = fill(XLNetRelativeAttention(config))
        hidden = numbers(1, memory + seq, 12).requires_grad_()
        by_token = hidden.transpose(0, 1)
        mems = by_token[:memory] if memory else None
        *_, weights = attention(by_token[memory:], None, None, None, positions, None, mems=mems, output_attentions=True)
        weights = weights.permute(2, 3, 0, 1)  # from [queries, keys, batch, heads]
        square = lambda weight: weight.reshape(12, 12)
        zeros = torch.zeros(12)
        projections = [(square(attention.q), zeros), (square(attention.k), zeros)]
        parameters = {"projection.weight": attention.r, "u": attention.r_w_bias, "v": attention.r_r_bias}
        yield case(
            "XLNet", settings("halves"), hidden, projections, parameters, weights, memory=memory
        )
    for batch, real in [(1, None), (2, padded([13, 7], 13, False))]:
        config = Wav2Vec2ConformerConfig(
            hidden_size=12, num_attention_heads=3, position_embeddings_type="relative", max_source_positions=16
        )
        config._attn_implementation = "eager"
        with double():
            embedding = conformer.Wav2Vec2ConformerRelPositionalEmbedding(config)
            attention = fill(conformer.Wav2Vec2ConformerSelfAttention(config))
            hidden = numbers(batch, 13, 12).requires_grad_()
            positions = embedding(hidden)
        mask = None if real is None else torch.where(real, 0.0, -1e30)[:, None, None, :].double()
        _, weights = attention(hidden, mask, positions)
        yield of_conformer("Wav2Vec2-Conformer", attention, hidden, weights, real)
    config = FastSpeech2ConformerConfig(hidden_size=12)
    with double():
        embedding = fastspeech.FastSpeech2ConformerRelPositionalEncoding(
            config, {"positional_dropout_rate": 0.0, "max_source_positions": 16, "num_attention_heads": 3, "attention_dropout_rate": 0.0}
        )
        module = {"num_attention_heads": 3, "attention_dropout_rate": 0.0}
        attention = fill(fastspeech.FastSpeech2ConformerAttention(config, module))
        hidden = numbers(1, 30, 12).requires_grad_()
        _, positions = embedding(hidden)
    _, weights = attention(hidden, None, positions, output_attentions=True)
    yield of_conformer("FastSpeech 2 Conformer", attention, hidden, weights, None, [0, 15, 29])


def settings(layout):
    return {"d_model": 12, "heads": 3, "layout": layout}


def of_conformer(peer, attention, hidden, weights, real, rows=None):
    parameters = {
        "projection.weight": attention.linear_pos,
        "u": attention.pos_bias_u,
        "v": attention.pos_bias_v,
    }
    projections = [linear(attention.linear_q), linear(attention.linear_k)]
    return case(peer, settings("interleaved"), hidden, projections, parameters, weights, rows, real)


# Shaw -----------------------------------------------------------------------------------------------


def shaw():
    """The relative keys of transformers' Wav2Vec2-BERT, and attention with keys and values by the paper's formula."""
    for (left, right), shape, real, rows in [
        ((5, 3), (2, 14), None, None),
        ((5, 3), (2, 14), padded([14, 6], 14, True), None),
        ((16, 0), (1, 60), None, [0, 30, 59]),
    ]:
        config = Wav2Vec2BertConfig(
            hidden_size=12,
            num_attention_heads=3,
            position_embeddings_type="relative_key",
            left_max_position_embeddings=left,
            right_max_position_embeddings=right,
        )
        config._attn_implementation = "eager"
        attention = fill(Wav2Vec2BertSelfAttention(config))
        hidden = numbers(*shape, 12).requires_grad_()
        mask = None if real is None else torch.where(real, 0.0, -1e30)[:, None, None, :].double()
        _, weights = attention(hidden, mask)
        parameters = {"keys": attention.distance_embedding.weight}
        projections = [linear(attention.linear_q), linear(attention.linear_k)]
        settings = {"d_head": 4, "left": left, "right": right}
        yield case("Wav2Vec2-BERT", settings, hidden, projections, parameters, weights, rows, real)


def shaw_values():
    """Shaw et al. 2018, *Self-Attention with Relative Position Representations*, section 3.1: what the second table adds to
    the output, Σ_j weight(i, j) · values[clip(j − i, −k, k)], for given weights, queries that are the last of the keys."""
    for left, right, queries, keys in [(3, 3, 9, 9), (2, 4, 3, 11), (1, 0, 1, 7)]:
        weights = numbers(2, 2, queries, keys).requires_grad_()
        table = numbers(left + right + 1, 5).requires_grad_()
        rows = []
        for b in range(2):
            for h in range(2):
                for i in range(queries):
                    place = i + keys - queries
                    clipped = [min(max(j - place, -left), right) + left for j in range(keys)]
                    rows.append(sum(weights[b, h, i, j] * table[clipped[j]] for j in range(keys)))
        output = torch.stack(rows)
        counts = torch.sin(0.7 * torch.arange(output.numel(), dtype=torch.float64)).reshape(output.shape)
        gradients = torch.autograd.grad((output * counts).sum(), [weights, table])
        yield {
            "left": left,
            "right": right,
            "queries": queries,
            "keys": keys,
            "table": shortest(table.detach()),
            "weights": shortest(weights.detach()),
            "output": digits(output),
            "gradients": {name: digits(gradient) for name, gradient in zip(["weights", "table"], gradients)},
        }


# CoPE -----------------------------------------------------------------------------------------------


def cope():
    """Golovneva et al. 2024, *Contextual Position Encoding*: the position of key j for query i is the sum of the gates
    σ(q_i · k_t / √d) of the keys t = j ..= i, at most the last embedding; the score gets the interpolation of q_i · e at
    that position. One pair at a time, of causal attention; padding has no gate and is not seen."""
    for positions, (batch, seq), real, rows in [
        (4, (2, 11), None, None),
        (16, (2, 12), padded([12, 7], 12, True), None),
        (16, (2, 12), padded([12, 7], 12, False), None),
        (64, (1, 40), None, [0, 20, 39]),
    ]:
        d_model, heads = 8, 2
        d_head = d_model // heads
        layers = [fill(torch.nn.Linear(d_model, d_model)) for _ in range(2)]
        hidden = numbers(batch, seq, d_model).requires_grad_()
        embeddings = numbers(d_head, positions).requires_grad_()
        seen = torch.ones(batch, seq, dtype=torch.bool) if real is None else real
        q, k = (layer(hidden).reshape(batch, seq, heads, d_head).transpose(1, 2) for layer in layers)
        weights = []
        for b, h, i in np.ndindex(batch, heads, seq):
            scores = [q[b, h, i] @ k[b, h, j] / math.sqrt(d_head) for j in range(i + 1)]
            total, biased = torch.zeros((), dtype=torch.float64), [None] * (i + 1)
            for j in range(i, -1, -1):
                if seen[b, j]:
                    total = total + torch.sigmoid(scores[j])
                place = torch.clamp(total, max=positions - 1.0)
                below, above = math.floor(place.item()), math.ceil(place.item())
                part = place - below
                products = [q[b, h, i] @ embeddings[:, p] for p in (below, above)]
                biased[j] = scores[j] + (1 - part) * products[0] + part * products[1] if seen[b, j] else None
            real_keys = [j for j in range(i + 1) if biased[j] is not None]
            row = torch.zeros(seq, dtype=torch.float64)
            if real_keys:
                row[real_keys] = torch.softmax(torch.stack([biased[j] for j in real_keys]), 0)
            weights.append(row)
        weights = torch.stack(weights).reshape(batch, heads, seq, seq)
        settings = {"d_head": d_head, "positions": positions}
        projections = [linear(layer) for layer in layers]
        yield case("the paper", settings, hidden, projections, {"embeddings": embeddings}, weights, rows, real)


def main():
    write("deberta", deberta())
    write("deberta_rows", deberta_rows())
    write("transformer_xl", transformer_xl())
    write("shaw", shaw())
    write("shaw_values", shaw_values())
    write("cope", cope())


main()
