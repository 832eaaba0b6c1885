#!/usr/bin/env python3
"""Writes the reference values of the sinusoidal encoding that the tests read.

    pip install mpmath
    python3 make_reference.py far > sinusoidal_far.csv

`sinusoidal.csv` holds positions to 2^24 + 1, `sinusoidal_far.csv` those beyond, to 2^52 - 1. Each line:
base, d_model, position, column, value to 17 digits; the columns are interleaved sine, cosine, and
an odd d_model ends in a sine. The arithmetic is mpmath's with 60 digits.
"""
import sys
from mpmath import mp, mpf, cos, nstr, power, sin

mp.dps = 60
SPECTRA = [("10000", 512), ("10000", 7), ("10000", 1), ("100", 4), ("500000", 128), ("1.5", 64), ("1e300", 10)]
FAR = [2**24 + 1, 10**8 + 7, 2**31 - 1, 2**32 + 3, 10**12 + 1, 2**40 + 5, 2**50 + 1, 2**52 - 1]


def entry(base, d_model, position, column):
    angle = position * power(mpf(base), mpf(-2 * (column // 2)) / d_model)
    return sin(angle) if column % 2 == 0 else cos(angle)


def main():
    if sys.argv[1:] != ["far"]:
        sys.exit(__doc__)
    print("base,d_model,position,column,value")
    for base, d_model in SPECTRA:
        for position in FAR:
            for column in sorted({0, 1, 2, 3, d_model // 2, d_model // 2 + 1, d_model - 2, d_model - 1}):
                if 0 <= column < d_model:
                    value = nstr(entry(base, d_model, position, column), 17)
                    print(f"{base},{d_model},{position},{column},{value}")


main()
