"""How many columns of queries and keys would carry a causal bias of distances, as two carry that of ALiBi.

A bias of rank r is a product of r columns, and attention needs no bias then. ALiBi's has rank 2. This looks for the lowest
error of T5 (32 buckets of random values of variance 1, for distances up to 128) and of KERPLE's logarithm (both parameters 1):

- symmetric: the nearest matrix of rank r to the bias of |distance| (singular values);
- causal: only pairs that a query sees count, the others are free (100 alternating projections);
- exponentials: a sum of r products exp(-s i) exp(s j), fitted by least squares, with columns and products in f32. So s is at
  most 170 / tokens.

    python benches/peers/factorization.py [TOKENS]
"""

import sys

import numpy

TOKENS = int(sys.argv[1]) if len(sys.argv) > 1 else 256
RANKS = (4, 8, 16, 32, 64)


def t5(distance, values=numpy.random.default_rng(0).normal(size=32)):
    far = 16 + numpy.log(numpy.maximum(distance, 1) / 16) / numpy.log(128 / 16) * 16
    return values[numpy.where(distance < 16, distance, numpy.minimum(far.astype(int), 31))]


def kerple(distance):
    return -numpy.log1p(distance)


query, key = numpy.indices((TOKENS, TOKENS))
seen = query >= key


def worst(matrix, bias):
    return numpy.abs(matrix - bias)[seen].max()


def nearest(matrix, rank):
    u, s, v = numpy.linalg.svd(matrix)
    return (u[:, :rank] * s[:rank]) @ v[:rank]


def causal(bias, rank):
    matrix = bias
    for _ in range(100):
        low = nearest(matrix, rank)
        matrix = numpy.where(seen, bias, low)
    return low


def exponentials(bias, rank):
    distance = numpy.arange(TOKENS)
    speeds = numpy.append(0.0, numpy.geomspace(1e-4, 170 / TOKENS, rank - 1))
    factors = numpy.linalg.lstsq(numpy.exp(-distance[:, None] * speeds), bias[:, 0], rcond=None)[0]
    # Centred, so that the columns stay in the range of f32.
    centred = (distance - TOKENS / 2)[:, None]
    of_queries = (numpy.exp(-centred * speeds) * factors).astype(numpy.float32)
    return of_queries @ numpy.exp(centred * speeds).astype(numpy.float32).T


print(f"largest error among {TOKENS} tokens, by columns:", *RANKS, sep="\t")
for name, of in (("T5", t5), ("KERPLE", kerple)):
    bias = of(abs(query - key))
    for how in (nearest, causal, exponentials):
        errors = (f"{worst(how(bias, rank), bias):.2g}" for rank in RANKS)
        print(name, how.__name__.replace("nearest", "symmetric"), *errors, sep="\t")
