"""Generates cases, asks NumPy and the program, and compares. Each difference must be a row of docs/numpy-differences.md, and each row
must have been met: PROGRAM [--cases N] [--seed N] [--update].

The page is made from `rows.py`: `--update` writes it.
"""

import argparse
import pathlib
import random
import re
import sys
import tempfile
import warnings

import yaml
from archives import archives, damages
from casts import casts
from common import IS_2_5, Tally
from headers import headers
from parts import joins, slices
from rows import BEFORE_2_5, FROM_2_5, ROWS
from writes import writes

warnings.simplefilter("ignore")
# What follows on the page is written by hand.
END = "\n## What is not generated\n"
ROOT = pathlib.Path(__file__).parent.parent.parent
PAGE = ROOT / "docs" / "numpy-differences.md"


def versions():
    """Those of NumPy that CI compares: the one of each run, and those of its jobs that run all steps."""
    one = re.search(r"\bversion=([0-9.]+)$", (ROOT / ".ci/run").read_text(), re.M)[1]
    jobs = yaml.safe_load((ROOT / ".github/workflows/ci.yml").read_text())["jobs"]["numpy"]["strategy"]["matrix"]["include"]
    return " and ".join(dict.fromkeys([one, *(job["numpy"] for job in jobs if "steps" not in job)]))


def page():
    lines = [
        "# Where this library differs from NumPy",
        "",
        f"`.ci/differences` generates headers, casts, slices, joins, archives and their damages, and arrays to be written by chance, more than 20,000 in each run, and compares what NumPy {versions()} and `ndio` make of them. Every difference is a row here, and",
        "every row has been met; the page is made from the script. What is compared in other ways is at the end.",
    ]
    for section in dict.fromkeys(row[0] for row in ROWS):
        lines += ["", f"## {section}", "", "| NumPy | this library | why |", "|---|---|---|"]
        lines += [f"| {numpy} | {here} | {why} |" for of, _, numpy, here, why in ROWS if of == section]
    by_hand = PAGE.read_text().partition(END)[2] if PAGE.exists() else ""
    return "\n".join(lines) + "\n" + END + by_hand


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program", type=pathlib.Path)
    parser.add_argument("--cases", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=random.randrange(2**32))
    parser.add_argument("--update", action="store_true")
    asked = parser.parse_args()
    print("seed", asked.seed)
    rng, tally = random.Random(asked.seed), Tally()
    program = asked.program.resolve()
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        headers(program, rng, asked.cases // 2, tally, folder)
        casts(program, rng, asked.cases // 4, tally, folder)
        slices(program, rng, asked.cases // 8, tally, folder)
        joins(program, rng, asked.cases // 16, tally, folder)
        archives(program, rng, asked.cases // 16, tally, folder)
        writes(program, rng, asked.cases // 16, tally, folder)
        damages(program, rng, asked.cases // 16, tally, folder)
    for what in tally.unexplained[:40]:
        print(what)
    missed = [row[1] for row in ROWS if row[1] not in tally.hits and row[1] not in (BEFORE_2_5 if IS_2_5 else FROM_2_5)]
    print(tally.cases, "cases;", len(tally.unexplained), "unexplained; rows that were not met:", missed, "met:", tally.hits)
    if asked.update:
        PAGE.write_text(page())
    # Of fewer cases, some are of no rare row.
    if tally.unexplained or missed and asked.cases >= 20_000 or PAGE.read_text() != page():
        sys.exit("see above; the page is made by --update")


main()
