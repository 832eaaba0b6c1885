"""Rows for docs/reproductions/cope-*.toml: python docs/reproductions/cope_data.py FOLDER

counting-V.jsonl: operations on V variables, then the variable that is asked for; the answer is its value, from 0 to 9.
copying.jsonl: 8 symbols among blanks; the answer is the symbols.
Each has a file with -test behind its name, of 512 rows for each length.
"""
import json
import random
import sys
from pathlib import Path

MOST = 9  # the highest value of a variable
SYMBOLS = 8  # in a row that is copied
ROWS = 20_000


def counting(rng, variables, length):
    names = "abcde"[:variables]
    asked = rng.choice(names)
    others = ["pass"] + [op for name in names if name != asked for op in (f"{name}=0", f"{name}++")]
    last = rng.randrange(length - MOST)
    before = [rng.choice(others + [f"{asked}=0", f"{asked}++"]) for _ in range(last)]
    after = [rng.choice(others) for _ in range(length - last - 1)]
    value = rng.randint(0, MOST)
    for place in rng.sample(range(len(after)), value):
        after[place] = f"{asked}++"
    return {"prompt": " ".join(before + [f"{asked}=0"] + after + [f"{asked}?"]), "answer": str(value)}


def copying(rng, blanks):
    row = ["_"] * (SYMBOLS + blanks)
    for place in rng.sample(range(len(row)), SYMBOLS):
        row[place] = rng.choice("ABCDEFGH")
    return {"prompt": " ".join(row), "answer": " ".join(token for token in row if token != "_")}


def write(folder, name, draw, trained, tested):
    rng = random.Random(name)
    rows = [draw(rng, rng.choice(trained)) for _ in range(ROWS)]
    test = [draw(rng, length) for length in tested for _ in range(512)]
    for path, rows in ((f"{name}.jsonl", rows), (f"{name}-test.jsonl", test)):
        (folder / path).write_text("".join(json.dumps(row) + "\n" for row in rows))


def main():
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for variables in (3, 5):
        draw = lambda rng, length: counting(rng, variables, length)
        write(folder, f"counting-{variables}", draw, range(16, 33), [16, 24, 32, 40, 48, 64, 96])
    write(folder, "copying", copying, [8], [4, 8, 16, 24])


if __name__ == "__main__":
    main()
