"""Makes testdata/joblib, files of joblib.dump, and shown.json, which says what `repr` shows of each when joblib loads it.

    pip install joblib lz4
"""

import json
import pathlib
import warnings

import joblib
import lz4.frame
import numpy as np

HERE = pathlib.Path(__file__).parent / "joblib"


def objects():
    cells = np.empty(3, object)
    cells[:] = [1, "x", None]
    deep = np.empty(2, object)
    deep[0], deep[1] = np.arange(3.0), {"again": np.eye(2)}
    table = np.arange(6.0).reshape(2, 3)
    record = np.zeros(2, [("a", "<i4"), ("b", "<f8", (2,))])
    return {
        "numbers": np.arange(5, dtype="<i8"),
        "model": {"weights": table, "fortran": np.asfortranarray(table), "names": ["a", "b"], "classes": np.array(["no", "yes"]), "cells": cells,
                  "after": (1, 2.5), "step": table[:, ::2], "none": np.zeros((0, 3)), "scalar": np.float32(0.5), "point": np.array(1.5)},
        "objects": [cells, deep, cells],
        "kinds": [np.array([True, False]), np.arange(3, dtype=">u2"), np.array([1 + 2j]), np.array(["2020-01-01", "NaT"], "<M8[D]"), record,
                  np.array([b"abc", b""]), np.arange(3, dtype="f2"), table, table],
        "nothing": None,
    }


def main():
    HERE.mkdir(exist_ok=True)
    shown = {}
    for name, made in objects().items():
        for ending, options in {"pkl": {}, "p0.pkl": {"protocol": 0}, "p1.pkl": {"protocol": 1}, "p2.pkl": {"protocol": 2}, "p5.pkl": {"protocol": 5}}.items():
            joblib.dump(made, HERE / f"{name}.{ending}", **options)
            shown[f"{name}.{ending}"] = repr(joblib.load(HERE / f"{name}.{ending}"))
    for ending, method in {"z": ("zlib", 3), "gz": ("gzip", 3), "bz2": ("bz2", 3), "xz": ("xz", 3), "lzma": ("lzma", 3), "lz4": ("lz4", 3)}.items():
        joblib.dump(objects()["model"], HERE / f"model.{ending}", compress=method)
        shown[f"model.{ending}"] = repr(joblib.load(HERE / f"model.{ending}"))
    # Several frames, the first of which is empty, with blocks of different sizes.
    whole = (HERE / "model.pkl").read_bytes()
    parts = [(b"", 7), (whole[:300], 7), (whole[300:], 4)]
    frames = b"".join(lz4.frame.compress(part, block_size=size, content_checksum=size == 4, store_size=size == 7) for part, size in parts)
    (HERE / "frames.lz4").write_bytes(frames)
    shown["frames.lz4"] = repr(joblib.load(HERE / "frames.lz4"))
    (HERE / "shown.json").write_text(json.dumps(shown, indent=1) + "\n")


warnings.simplefilter("ignore")
main()
