"""What `ndio calc`, `stats`, `count`, `find`, `check` and the rows of `show` say, against NumPy: PROGRAM [--cases N] [--seed N].

Expressions are made by chance, of arrays of all dtypes, and evaluated by NumPy as they are written.
"""

import argparse
import base64
import csv
import gzip
import json
import pathlib
import random
import re
import struct
import subprocess
import sys
import tempfile
import warnings
import xml.etree.ElementTree
import zlib

import numpy as np

warnings.simplefilter("ignore")
np.seterr(all="ignore")
KINDS = ["?", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f2", "f4", "f8", "c8", "c16", ">i4", ">f8", ">u2", "<f4"]
BINARY = ["+", "-", "*", "/", "//", "%", "**", "==", "!=", "<", "<=", ">", ">=", "&", "|", "^"]
PAIRS = ["minimum", "maximum", "hypot", "arctan2"]
UNARY = ["abs", "sign", "square", "floor", "ceil", "trunc", "rint", "isnan", "isinf", "isfinite", "real", "imag", "conj", "angle", "sqrt", "exp", "log",
         "log2", "log10", "log1p", "expm1", "exp2", "sin", "cos", "tan", "arcsin", "arccos", "arctan", "sinh", "cosh", "tanh", "-", "~"]
REDUCTIONS = ["sum", "prod", "mean", "std", "var", "min", "max", "any", "all", "argmin", "argmax", "count_nonzero", "nansum", "nanmean", "nanmin", "nanmax", "nanstd"]
# The names of expressions; `T` and the like are attributes.
SPACE = {name: getattr(np, name) for name in [*PAIRS, *UNARY[:-2], *REDUCTIONS, "where", "clip", "transpose", "squeeze", "round"]}
SPACE["reshape"] = lambda x, *shape: np.reshape(x, shape)
SPACE["astype"] = lambda x, dtype: x.astype(dtype)


def ndio(program, *arguments):
    return subprocess.run([program, *map(str, arguments)], capture_output=True)


def random_array(rng, shape):
    kind = rng.choice(KINDS)
    dtype = np.dtype(kind)
    generator = np.random.default_rng(rng.getrandbits(32))
    if dtype.kind == "b":
        array = generator.random(shape) < 0.5
    elif dtype.kind in "iu":
        limits = np.iinfo(dtype)
        small = rng.random() < 0.7
        low, high = (max(limits.min, -9), 9) if small else (limits.min, limits.max)
        array = generator.integers(low, high, shape, dtype=dtype.newbyteorder("="), endpoint=True)
    else:
        array = generator.normal(0, rng.choice([1, 1, 100]), shape)
        if dtype.kind == "c":
            array = array + 1j * generator.normal(0, 1, shape)
        array = np.asarray(array)
        if array.ndim and rng.random() < 0.3:
            for odd in [np.nan, np.inf, -np.inf, 0.0, -0.0]:
                array = np.where(generator.random(shape) < 0.03, odd, array)
    return np.asarray(array).astype(dtype, order=rng.choice("CF"))


def literal(rng):
    return rng.choice(["0", "1", "2", "-3", "7", "300", "1.5", "-0.25", "1e3", "True", "2j"])


def expression(rng, depth):
    choice = rng.random()
    if depth == 0 or choice < 0.15:
        return rng.choice(["a", "b", "c"]) if rng.random() < 0.75 else literal(rng)
    def within(has_array=False):
        while True:
            text = expression(rng, depth - 1)
            # Functions of Python's own numbers give such numbers, here they do not.
            if not has_array or re.search(r"\b[abc]\b", text):
                return text

    if choice < 0.5:
        return f"({within()} {rng.choice(BINARY)} {within()})"
    if choice < 0.68:
        function = rng.choice(UNARY)
        return f"({function}{within(True)})" if function in "-~" else f"{function}({within(True)})"
    if choice < 0.75:
        return f"{rng.choice(PAIRS)}({within(True)}, {within()})"
    if choice < 0.80:
        return f"where({within()}, {within(True)}, {within()})"
    if choice < 0.84:
        return f"{rng.choice('abc')}.T"
    if choice < 0.88:
        return f"astype({rng.choice('abc')}, '{rng.choice(['f4', 'f8', 'i8', 'u1', 'f2', 'c16', '?'])}')"
    if choice < 0.92:
        return f"{rng.choice('abc')}[{rng.choice(['0', '-1', '::2', '::-1', '1:', '..., 0', '..., ::-2', ':0'])}]"
    if choice < 0.94:
        return f"reshape({rng.choice('abc')}, {rng.choice(['-1', '-1, 1', '1, -1', '2, -1', '-1, 3'])})"
    axis = rng.choice(["", ", axis=0", ", axis=-1", ", axis=1"])
    return f"{rng.choice(REDUCTIONS)}({within(True)}{axis})"


def is_close(found, wanted, narrowest=8):
    """Whether two arrays are equal, up to rounding: that of each operation, in the precision of the dtype, or of what was rounded on the way."""
    if wanted.dtype.kind in "biu":
        return bool((found == wanted).all())
    rtol = {2: 3e-2, 4: 1e-4, 8: 1e-9}[min(narrowest, wanted.dtype.itemsize // (2 if wanted.dtype.kind == "c" else 1))]
    if wanted.dtype.kind == "c":
        # Where a part is infinite or NaN, functions of complex numbers differ in the other.
        odd = ~np.isfinite(wanted) | ~np.isfinite(found)
        found, wanted = np.where(odd, 0, found), np.where(odd, 0, wanted)
    scale = np.abs(np.where(np.isfinite(wanted), wanted, 0)).max(initial=0).astype("f8")
    return np.allclose(found, wanted, rtol=rtol, atol=rtol * 1e-3 * float(scale) + 1e-30, equal_nan=True)


def calculations(program, rng, count, folder):
    stats = {"values": 0, "errors": 0}
    for number in range(count):
        shape = rng.choice([(5,), (3, 4), (2, 3, 4), (1, 4), (3, 1), (), (40, 300), (0, 3)])
        other = rng.choice([shape, shape, shape[-1:], (1,) * len(shape), ()])
        arrays = {"a": random_array(rng, shape), "b": random_array(rng, other), "c": random_array(rng, shape)}
        for name, array in arrays.items():
            np.save(folder / f"{name}.npy", array)
        text = expression(rng, rng.choice([1, 2, 2, 3]))
        try:
            wanted = np.asarray(eval(text, {**SPACE, **arrays}))
        except Exception as error:
            wanted = error
        done = ndio(program, "calc", text, *[f"{name}={folder / name}.npy" for name in arrays], "-o", folder / "out.npy", "--force")
        what = (text, {name: (array.dtype.str, array.shape) for name, array in arrays.items()}, done.stderr.decode())
        if isinstance(wanted, Exception):
            stats["errors"] += 1
            assert done.returncode == 2 or is_more_than_numpy(text, wanted), (what, wanted)
            continue
        if done.returncode:
            assert is_refused(done.stderr.decode(), wanted, text), (what, wanted.dtype)
            stats["errors"] += 1
            continue
        found = np.load(folder / "out.npy")
        assert found.shape == wanted.shape and found.dtype == wanted.dtype.newbyteorder("="), (what, found.dtype, found.shape, wanted.dtype, wanted.shape)
        if any(array.dtype == "f2" for array in arrays.values()) and wanted.dtype.kind in "fc":
            # NumPy's reductions of 16 bits overflow in between.
            found, wanted = np.where(np.isfinite(wanted), found, 0), np.where(np.isfinite(wanted), wanted, 0)
        if is_sensitive(text, arrays) or is_close(found, wanted, narrowest_float(text, arrays)):
            stats["values"] += 1
            continue
        raise AssertionError((what, found, wanted))
    print(count, "expressions:", stats)
    assert stats["values"] > count / 3


# What turns the least rounding into another result, and what rounds differently from machine to machine.
STEPS = ["**", "%", "//", "==", "!=", "<", ">", "sign", "floor", "ceil", "trunc", "rint", "round", "arg", "astype", "any", "all", "count", "tan", "exp", "prod", "sinh", "cosh", "log", "arc", "angle", "is"]
INEXACT = ["exp", "log", "sin", "cos", "tan", "arc", "hypot", "angle", "mean", "std", "var", "sum", "prod", "**", "%", "//", "2j", "c16"]


def used_in(text, arrays):
    return [array for name, array in arrays.items() if re.search(rf"\b{name}\b", text)]


def narrowest_float(text, arrays):
    """The bytes of the narrowest float that an inexact function may have made: that of an i2 has 32 bits, also where a wider array is added later."""
    sizes = [np.result_type(array.dtype, np.float16).itemsize // (2 if array.dtype.kind == "c" else 1) for array in used_in(text, arrays)]
    return min([8, *sizes]) if any(part in text for part in INEXACT) else 8


def is_sensitive(text, arrays):
    used = used_in(text, arrays)
    is_inexact = any(part in text for part in INEXACT) or any(array.dtype.kind == "c" for array in used)
    # Floats that an integer type lacks are a difference that docs/numpy-differences.md has.
    is_converted = re.search("'(u1|i8)'", text) and any(array.dtype.kind in "fc" for array in used)
    return is_converted or is_inexact and any(part in text for part in STEPS)


def is_more_than_numpy(text, error):
    """What is computed though NumPy refuses it."""
    # A text of several values or an ambiguous truth does not occur; literals that are combined are one.
    return isinstance(error, (ZeroDivisionError, OverflowError, AttributeError)) or "instances of" in str(error) or "where" in text


def is_refused(message, wanted, text):
    """What is refused though NumPy computes it."""
    known = ["is out of the range of", "have no negative integer powers", "does not apply to", "there is no", "NumPy has none", "have no common type",
             "is not of type", "have no floor", "axis", "has no minimum", "expected an integer", "out of bounds", "does not fit in 64 bits", "have no order"]
    return any(part in message for part in known)


def statistics(program, rng, count, folder):
    for _ in range(count):
        shape = rng.choice([(7,), (50, 4), (6, 5, 4), (300, 7), (70_000, 3)])
        array = random_array(rng, shape)
        if array.dtype.kind == "c":
            continue
        np.save(folder / "s.npy", array)
        wide = array.astype("f8")
        finite = np.where(np.isfinite(wide), wide, np.nan)
        axis = rng.choice([None, *range(len(shape))])
        options = [] if axis is None else ["--axis", axis]
        done = ndio(program, "stats", "--json", *options, "-p", "0,12.5,50,99", folder / "s.npy")
        assert done.returncode == 0, (shape, array.dtype, done)
        rows = [json.loads(line) for line in done.stdout.splitlines()]
        groups = 1 if axis is None else wide.size // shape[axis]
        assert len(rows) == groups
        columns = np.moveaxis(wide, axis, -1).reshape(groups, -1) if axis is not None else wide.reshape(1, -1)
        limited = np.moveaxis(finite, axis, -1).reshape(groups, -1) if axis is not None else finite.reshape(1, -1)
        for row, all_values, values in list(zip(rows, columns, limited))[:50]:
            assert row["count"] == all_values.size and row["nan"] == np.isnan(all_values).sum() and row["inf"] == np.isinf(all_values).sum()
            assert row["zero"] == (all_values == 0).sum(), (row, array.dtype)
            for wanted in [0, 12.5, 50, 99]:
                found = row[f"p{wanted}"]
                right = np.nanpercentile(all_values, wanted)
                assert right is None or np.isnan(right) or np.isclose(float(found), right, rtol=1e-9), (row, wanted, right)
            if np.isnan(values).all():
                assert row["mean"] is None
                continue
            assert np.isclose(row["mean"], np.nanmean(values), rtol=1e-9, atol=1e-9 * np.nanmax(abs(values))), (row, np.nanmean(values))
            assert np.isclose(row["std"], np.nanstd(values), rtol=1e-7, atol=1e-9 * np.nanmax(abs(values))), (row, np.nanstd(values))
            place = row["argmax"] if isinstance(row["argmax"], int) else int(np.ravel_multi_index(row["argmax"], shape if axis is None else [n for i, n in enumerate(shape) if i == axis]))
            assert values[place] == np.nanmax(values) and place == int(np.nanargmax(values)), (row, place, np.nanargmax(values))
            if array.dtype.itemsize < 8 or array.dtype.kind == "f":
                assert np.isclose(row["min"], np.nanmin(values), rtol=1e-6) and np.isclose(row["max"], np.nanmax(values), rtol=1e-6), row


def counts(program, rng, count, folder):
    for _ in range(count):
        array = rng.choice([lambda: random_array(rng, (500,)), lambda: np.array([rng.choice(["a", "bb", "äö", ""]) for _ in range(300)]),
                            lambda: np.array([rng.choice([b"a", b"bb", b""]) for _ in range(300)]), lambda: np.arange(40).astype("M8[D]")[:, None] + np.zeros(3, "m8[D]")])()
        np.save(folder / "n.npy", array)
        found = json.loads(ndio(program, "count", "--json", "--all", folder / "n.npy").stdout)
        values, numbers = np.unique(array, return_counts=True)
        assert found["total"] == array.size and found["distinct"] == len(values), (array.dtype, found["distinct"], len(values))
        assert sorted(found["counts"], reverse=True) == found["counts"] and sorted(found["counts"]) == sorted(numbers.tolist()), array.dtype
        if array.dtype.kind in "iu":
            assert dict(zip(map(int, found["values"]), found["counts"])) == dict(zip(values.tolist(), numbers.tolist()))
        if array.dtype.kind in "UM":
            assert dict(zip(found["values"], found["counts"])) == dict(zip(values.astype(str).tolist(), numbers.tolist()))
        top = json.loads(ndio(program, "count", "--json", "--top", 3, folder / "n.npy").stdout)
        assert top["counts"] == found["counts"][:3] and top["values"] == found["values"][:3] and top["distinct"] == found["distinct"]


def large(program, folder):
    """What does not fit in the memory of a question: percentiles and distinct values take several passes."""
    generator = np.random.default_rng(11)
    numbers = np.concatenate([generator.normal(size=7_000_000), np.full(1_000_000, 0.25), [np.nan, np.inf, -np.inf]])
    np.save(folder / "l.npy", numbers)
    found = json.loads(ndio(program, "stats", "--json", "-p", "0.1,5,50,60.5,99.99", folder / "l.npy").stdout)
    assert [found[f"p{wanted}"] for wanted in ["0.1", "5", "50", "60.5", "99.99"]] == np.nanpercentile(numbers, [0.1, 5, 50, 60.5, 99.99]).tolist(), found
    for text in ["x[::100000]", "(x + 1)[5::70001]", "x[::-999983] * 2", "reshape(x[:8000000], 2000, -1)[::333, ::2000]"]:
        assert ndio(program, "calc", text, folder / "l.npy", "-o", folder / "out.npy", "--force").returncode == 0, text
        assert np.array_equal(np.load(folder / "out.npy"), eval(text, {**SPACE, "x": numbers}), equal_nan=True), text
    np.save(folder / "l.npy", np.concatenate([generator.permutation(1_500_000), np.repeat(77, 5), np.repeat(-3, 9)]))
    found = json.loads(ndio(program, "count", "--json", "--top", 3, folder / "l.npy").stdout)
    assert found["distinct"] == 1_500_001 and found["counts"] == [9, 6, 1] and found["values"] == ["-3", "77", "0"], found


def rows(program, rng, count, folder):
    generator = np.random.default_rng(5)
    records = np.zeros(2000, [("id", "i4"), ("name", "U4"), ("energy", "f8"), ("time", "M8[m]"), ("pos", [("x", ">f4"), ("v", "i2", (3,))]), ("ok", "?")])
    records["id"], records["energy"], records["ok"] = np.arange(2000), generator.normal(0, 3, 2000), generator.random(2000) < 0.5
    records["name"] = generator.choice(["a", "bb", "日本"], 2000)
    records["time"] = np.datetime64("2026-11-01T00:00", "m") + np.arange(2000)
    records["pos"]["x"], records["pos"]["v"] = generator.normal(size=2000), generator.integers(-9, 9, (2000, 3))
    records["energy"][7] = np.nan
    np.save(folder / "r.npy", records)
    r = records
    conditions = {
        "energy > 3 and ok": (r["energy"] > 3) & r["ok"],
        "name == 'bb' or pos.x < -1": (r["name"] == "bb") | (r["pos"]["x"] < -1),
        "time >= '2026-11-02' and not ok": (r["time"] >= np.datetime64("2026-11-02")) & ~r["ok"],
        "0 < energy < 0.5": (0 < r["energy"]) & (r["energy"] < 0.5),
        "any(pos.v > 6, axis=1)": (r["pos"]["v"] > 6).any(axis=1),
        "abs(energy - nanmean(energy)) > 2 * nanstd(energy)": abs(r["energy"] - np.nanmean(r["energy"])) > 2 * np.nanstd(r["energy"]),
        "isnan(energy)": np.isnan(r["energy"]),
        "energy > 1e6": r["energy"] > 1e6,
        "id % 500 == 3": r["id"] % 500 == 3,
    }
    for condition, wanted in conditions.items():
        done = ndio(program, "show", "--json", "--where", condition, folder / "r.npy")
        assert done.returncode == 0, (condition, done)
        found = json.loads(done.stdout)
        assert [row["id"] for row in found["values"]] == r["id"][wanted].tolist(), condition
        head = json.loads(ndio(program, "show", "--json", "--where", condition, "--head", 4, folder / "r.npy").stdout)
        assert [row["id"] for row in head["values"]] == r["id"][wanted][:4].tolist(), condition
        found = json.loads(ndio(program, "find", "--json", "--limit", 3, folder / "r.npy", condition).stdout)
        assert found["count"] == wanted.sum() and [index[0] for index in found["indices"]] == np.flatnonzero(wanted)[:3].tolist(), (condition, found)
    for key, order in {"energy": np.argsort(r["energy"], kind="stable"), "-pos.x": np.argsort(-r["pos"]["x"], kind="stable"), "name": np.argsort(r["name"], kind="stable"),
                       "-time": np.arange(2000)[::-1]}.items():
        found = json.loads(ndio(program, "show", "--json", f"--sort={key}", "--tail", 9, folder / "r.npy").stdout)
        assert [row["id"] for row in found["values"]] == r["id"][order][-9:].tolist(), (key, found["values"], order[-9:])
    first, again, other = (json.loads(ndio(program, "show", "--json", "--sample", 9, "--seed", seed, folder / "r.npy").stdout)["values"] for seed in [1, 1, 2])
    assert first == again != other and len({row["id"] for row in first}) == 9


def checks(program, folder):
    array = np.arange(12.0).reshape(4, 3)
    np.save(folder / "k.npy", array)
    odd = array.copy()
    odd[2, 1] = np.nan
    np.save(folder / "o.npy", odd)
    for options, code in [(["--shape", "4,3"], 0), (["--shape=-1,3"], 0), (["--shape", "4,4"], 1), (["--shape", "12"], 1), (["--dtype", "f8"], 0), (["--dtype", "f4"], 1),
                          (["--finite"], 0), (["--range", "0,11"], 0), (["--range", "0,10.5"], 1), (["--monotonic"], 0), (["--that", "x < 12"], 0), (["--that", "x != 5"], 1)]:
        assert ndio(program, "check", *options, folder / "k.npy").returncode == code, options
    said = ndio(program, "check", "--finite", folder / "k.npy", folder / "o.npy")
    assert said.returncode == 1 and said.stdout.decode().strip() == f"{folder / 'o.npy'}: 1 NaN at [2, 1]", said
    records = np.zeros(3, [("a b", "i4"), ("x", "f4"), ("in", [("y", "f8", (2,)), ("t", "M8[s]")])])
    np.save(folder / "f.npy", records)
    assert ndio(program, "check", "--finite", folder / "f.npy").returncode == 0
    assert ndio(program, "check", "--range", "0,1", folder / "f.npy").returncode == 2
    records["in"]["y"][2, 1], records["in"]["t"][1] = -np.inf, "NaT"
    np.save(folder / "f.npy", records)
    said = ndio(program, "check", "--finite", folder / "f.npy").stdout.decode().splitlines()
    assert [line.partition("f.npy: ")[2] for line in said] == ["1 infinite in ['in']['y'] at [2, 1]", "1 NaT in ['in']['t'] at [1]"], said
    times = np.array([1, -5, "NaT", 7], "m8[s]")
    np.save(folder / "t.npy", times)
    for text in ["max(x)", "min(x)", "argmax(x)", "argmin(x)", "sum(x)", "nanmin(x)", "nanmax(x)", "x - x[0]", "isnan(x)", "x > x[1]", "abs(x)"]:
        wanted = np.asarray(eval(text, {**SPACE, "x": times}))
        assert ndio(program, "calc", text, folder / "t.npy", "-o", folder / "out.npy", "--force").returncode == 0, text
        found = np.load(folder / "out.npy")
        assert found.dtype == wanted.dtype and (found.astype("i8") == wanted.astype("i8")).all(), (text, found, wanted)
    np.save(folder / "i.npy", np.array([[1.5, -2, np.nan], [np.inf, 0, -0.0]]))
    assert json.loads(ndio(program, "find", "--json", folder / "i.npy", "max").stdout)["indices"] == [[1, 0]]
    np.save(folder / "d.npy", array[::-1])
    assert ndio(program, "check", "--monotonic", folder / "d.npy").returncode == 1
    assert ndio(program, "check", "--finite", folder / "none.npy").returncode == 2


def forms(program, rng, count, folder):
    for _ in range(count):
        shape = [rng.choice([1, 1, 2, 3, 7, 40]) for _ in range(rng.randint(1, 4))]
        array = random_array(rng, shape)
        other = rng.choice([None, None, "U3", "S5", "M8[s]", [("a", "u1"), ("b", ">f8", 2)]])
        if other is not None:
            array = np.frombuffer(np.random.default_rng(rng.getrandbits(32)).integers(32, 127, array.size * np.dtype(other).itemsize, "u1").astype("u1"), "u1")
            if other == "U3":
                array = array.astype("u4").tobytes()[: 12 * int(np.prod(shape))]
                array = np.frombuffer(array, other)
            else:
                array = array.view(other)
            array = np.asarray(array.reshape(shape), order=rng.choice("CF"))
        np.save(folder / "x.npy", array)
        axes = rng.sample(range(len(shape)), len(shape))
        wanted, options = array, []
        if rng.random() < 0.7:
            wanted = array.transpose(axes)
            options += ["--transpose=" + ",".join(str(rng.choice([axis, axis - len(shape)])) for axis in axes)]
        if rng.random() < 0.5:
            wanted = wanted.squeeze()
            options += ["--squeeze"]
        if rng.random() < 0.5 or not options:
            lengths = rng.choice([[-1], [1, -1], list(array.shape[::-1]), [array.shape[0], -1]])
            wanted = wanted.reshape(lengths)
            options += ["--reshape=" + ",".join(map(str, lengths))]
        said = ndio(program, "convert", folder / "x.npy", folder / "out.npy", "--force", *options)
        assert said.returncode == 0, (options, said)
        found = np.load(folder / "out.npy")
        assert found.dtype == wanted.dtype and found.shape == wanted.shape and found.tobytes() == wanted.tobytes(), (array.dtype, array.shape, options, found.shape)


def random_column(rng, rows):
    """A column of a table: what NumPy has of it, and its cells."""
    kind = rng.choice(["i8", "u8", "f8", "M8[D]", "M8[s]", "M8[ms]", "U", "b1"])
    missing = [rng.random() < 0.2 for _ in range(rows)] if rng.random() < 0.4 and kind != "b1" else [False] * rows
    if kind == "i8":
        cells = [str(rng.randint(-(2**rng.choice([4, 63])), 2**62)) for _ in range(rows)]
    elif kind == "u8":
        cells = [str(rng.randint(2**63, 2**64 - 1)) for _ in range(rows)]
    elif kind == "f8":
        cells = [rng.choice([repr(rng.gauss(0, 1e10)), "1e400", "-inf", "nan", " 2.5 ", "7"]) for _ in range(rows - 1)] + ["0.5"]
    elif kind == "U":
        cells = ["".join(rng.choices('ab,;"\nλ日😀 ', k=rng.randint(1, 9))) + "." for _ in range(rows)]
    elif kind == "b1":
        cells = [rng.choice(["true", "False"]) for _ in range(rows)]
    else:
        cells = [str(np.datetime64(rng.randint(-2 * 10**9, 4 * 10**9), "s").astype(kind)) for _ in range(rows)]
        if kind == "M8[ms]":
            cells[0] = cells[0][:19] + ".125"
    cells = [rng.choice(["", "NA", "null"]) if gone else cell for cell, gone in zip(cells, missing)]
    gone = np.array([cell in ("", "NA", "null") for cell in cells])
    if gone.all():
        return np.full(rows, np.nan), cells
    if kind == "U":
        return np.array(cells), cells
    if kind in ("i8", "u8", "f8"):
        kind = "f8" if gone.any() else kind
        return np.array([float("nan") if bad else float(cell) if kind == "f8" else int(cell) for cell, bad in zip(cells, gone)], kind), cells
    if kind == "b1":
        return np.array([cell == "true" for cell in cells]), cells
    return np.array(["NaT" if bad else cell for cell, bad in zip(cells, gone)], kind), cells


def tables(program, rng, count, folder):
    for _ in range(count):
        rows = rng.choice([1, 3, 40, 3000])
        columns = [random_column(rng, rows) for _ in range(rng.randint(2, 6))]
        delimiter, name = rng.choice([(",", "t.csv"), (";", "t.csv"), ("\t", "t.tsv"), ("|", "t.csv")])
        names = [f"name {number}" for number in range(len(columns))]
        with open(folder / name, "w", newline="") as file:
            writer = csv.writer(file, delimiter=delimiter, lineterminator=rng.choice(["\n", "\r\n"]), quoting=rng.choice([csv.QUOTE_MINIMAL, csv.QUOTE_NONNUMERIC]))
            file.write("# a comment\n" * rng.randint(0, 2))
            writer.writerows([names, *zip(*(cells for _, cells in columns))])
        said = ndio(program, "convert", folder / name, folder / "t.npy", "--infer", "--force")
        assert said.returncode == 0, said.stderr
        found = np.load(folder / "t.npy")
        assert found.dtype == [(name, array.dtype.str) for name, (array, _) in zip(names, columns)], (found.dtype, [array.dtype for array, _ in columns])
        for name, (array, cells) in zip(names, columns):
            assert (found[name] == array).all() if array.dtype.kind not in "fM" else np.array_equal(found[name], array, equal_nan=True), (name, found[name], cells)


def random_json_column(rng, rows):
    """A column of JSON lines: what NumPy has of it, and its values."""
    kind = rng.choice(["i8", "u8", "f8", "M8[D]", "U", "b1"])
    one = {
        "i8": lambda: rng.randint(-(2**63), 2**62),
        "u8": lambda: rng.randint(2**63, 2**64 - 1),
        "f8": lambda: rng.choice([rng.gauss(0, 1e10), 0.5, "inf", "-inf"]),
        "U": lambda: rng.choice(["007", "NA", "true", "1.5", "λ日😀\n\"", " b "]),
        "M8[D]": lambda: str(np.datetime64(rng.randint(-(10**5), 10**5), "D")),
        "b1": lambda: rng.random() < 0.5,
    }[kind]
    values = [one() for _ in range(rows)]
    if rng.random() < 0.4 and kind != "b1":
        values = values[:1] + [None if rng.random() < 0.2 else value for value in values[1:]]
    kind = "f8" if None in values and kind in ("i8", "u8") else kind
    values[0] = 0.5 if kind == "f8" else values[0]
    gone = {"f8": float("nan"), "U": "", "M8[D]": "NaT"}
    return np.array([float(value) if kind == "f8" and value is not None else gone[kind] if value is None else value for value in values], kind), values


def json_lines(program, rng, count, folder):
    """JSON lines that Python writes become what NumPy has of them, and what ndio writes is what Python reads."""
    for _ in range(count):
        rows = rng.choice([1, 3, 40, 3000])
        columns = {f"name {number}": random_json_column(rng, rows) for number in range(rng.randint(1, 6))}
        is_nested, is_lacking = rng.random() < 0.5, rng.random() < 0.5
        with open(folder / "t.jsonl", "w", newline="") as file:
            for row in range(rows):
                line = {name: values[row] for name, (_, values) in columns.items()}
                if is_lacking and row > 0:  # a key that is missing is a value that is missing
                    line = {name: line[name] for name in rng.sample(list(line), len(line)) if line[name] is not None}
                json.dump({"in": line} if is_nested else line, file, ensure_ascii=rng.random() < 0.5)
                file.write(rng.choice(["\n", "\r\n", "\n\n"]))
        said = ndio(program, "convert", folder / "t.jsonl", folder / "t.npy", "--force")
        assert said.returncode == 0, said.stderr
        found = np.load(folder / "t.npy")
        assert found.dtype == [(f"in.{name}" if is_nested else name, array.dtype.str) for name, (array, _) in columns.items()], found.dtype
        lines = [json.loads(line) for line in ndio(program, "convert", folder / "t.npy", "-", "--to", "jsonl").stdout.splitlines()]
        for name, (array, _) in zip(found.dtype.names, columns.values()):
            assert np.array_equal(found[name], array, equal_nan=array.dtype.kind in "fM"), (name, found[name], array)
            kind, back = array.dtype.kind, [line[name] for line in lines]
            if kind in "fM":
                back = [("nan" if kind == "f" else "NaT") if value is None else value for value in back]
            assert np.array_equal(np.array(back, array.dtype), array, equal_nan=kind in "fM"), (name, back, array)


def made(program, rng, count, folder):
    """What `new` makes, `repair` saves, `diff --ulp` counts, and what is compressed by gzip."""
    for _ in range(count):
        dtype = rng.choice(["i1", "<u2", ">i4", "i8", "u8", "f2", "<f4", ">f8", "c8", "c16", "?"])
        shape = [rng.choice([1, 3, 10]) for _ in range(rng.randint(0, 2))]
        said = ndio(program, "new", "arange", "--shape", ",".join(map(str, shape)), "--dtype", dtype, "-o", folder / "x.npy", "--force")
        assert said.returncode == 0, said
        found, wanted = np.load(folder / "x.npy"), np.arange(np.prod(shape, dtype=int)).astype(dtype).reshape(shape)
        assert found.dtype == wanted.dtype and found.tobytes() == wanted.tobytes() and found.shape == wanted.shape, (dtype, shape, found)

        array = np.asarray(random_array(rng, [rng.randint(1, 9) for _ in range(rng.randint(1, 3))]), order=rng.choice("CF"))
        np.save(folder / "x.npy", array)
        whole = (folder / "x.npy").read_bytes()
        payload = rng.randint(0, array.nbytes)
        (folder / "cut.npy").write_bytes(whole[: len(whole) - array.nbytes + payload])
        (folder / "cut.npy.gz").write_bytes(gzip.compress((folder / "cut.npy").read_bytes()))
        is_fortran = b"'fortran_order': True" in whole[:200]
        axis = array.ndim - 1 if is_fortran else 0
        kept = payload // (array.nbytes // array.shape[axis])
        for name in ["cut.npy", "cut.npy.gz"]:
            said = ndio(program, "repair", folder / name, "-o", folder / "out.npy", "--force")
            assert said.returncode == int(payload < array.nbytes), said
            found = np.load(folder / "out.npy")
            assert found.dtype == array.dtype and np.array_equal(found.tobytes(), array[(slice(None),) * axis + (slice(kept),)].tobytes()), (array.shape, kept)

        floats = np.dtype(rng.choice(["f2", "f4", "f8"]))
        one = np.array([rng.choice([0.0, -0.0, 6e-8, -1.0, 1.0, rng.uniform(-3, 3), rng.uniform(-6e4, 6e4)]) for _ in range(30)], floats)
        steps = np.array([rng.choice([0, 1, 2, 5]) for _ in one])
        other = one.copy()
        for number in range(steps.max()):
            other = np.where(number < steps, np.nextafter(other, np.array(np.inf, floats)), other)
        np.save(folder / "x.npy", one)
        np.save(folder / "y.npy", other)
        for most in [0, 1, 2, 5]:
            said = ndio(program, "diff", folder / "x.npy", folder / "y.npy", "--ulp", str(most), "--json")
            assert json.loads(said.stdout).get("differing", 0) == (steps > most).sum(), (one, steps, most, said)


def png_pixels(png):
    """The pixels of a PNG file with eight bits per channel, without any library for pictures."""
    assert png[:8] == b"\x89PNG\r\n\x1a\n"
    at, packed = 8, b""
    while at < len(png):
        size, kind = struct.unpack(">I4s", png[at : at + 8])
        content, check = png[at + 8 : at + 8 + size], struct.unpack(">I", png[at + 8 + size : at + 12 + size])[0]
        assert zlib.crc32(kind + content) == check
        if kind == b"IHDR":
            width, height, depth, colours = struct.unpack(">IIBB", content[:10])
            assert (depth, colours) == (8, 6)
        packed += content if kind == b"IDAT" else b""
        at += 12 + size
    lines = np.frombuffer(zlib.decompress(packed), "u1").reshape(height, 1 + 4 * width)
    pixels = np.zeros((height + 1, 4 * width + 4), int)  # with zeros before the first row and the first pixel
    for row, line in enumerate(lines, 1):
        for byte, value in enumerate(line[1:].tolist(), 4):
            left, above, corner = pixels[row, byte - 4], pixels[row - 1, byte], pixels[row - 1, byte - 4]
            near = min((left, above, corner), key=lambda one: abs(left + above - corner - one))
            pixels[row, byte] = (value + [0, left, above, (left + above) // 2, near][line[0]]) % 256
    return pixels[1:, 4:].reshape(height, width, 4)


def pictures(program, rng, count, folder):
    """The colors of pictures, and the places of lines and bars in SVG, are those that NumPy's numbers have."""

    def svg(*options):
        said = ndio(program, "plot", folder / "x.npy", "-o", folder / "x.svg", "--force", *options)
        assert said.returncode == 0, said
        return xml.etree.ElementTree.parse(folder / "x.svg").getroot()

    def drawn(svg, name):
        return svg.findall("{http://www.w3.org/2000/svg}" + name)

    for _ in range(count):
        is_log, scale = rng.random() < 0.5, rng.choice([1, 1, 3])
        dtype = rng.choice(["i2", "u1", "<f4", ">f8"])
        rows, columns = rng.randint(2, 20), rng.choice([2, 7, 30])
        array = np.array([[rng.choice([0, 1, rng.uniform(0, 100)]) for _ in range(columns)] for _ in range(rows)]).astype(dtype)
        if array.dtype.kind == "f":
            array[0, 0] = np.nan
        np.save(folder / "x.npy", array)
        low, high = rng.choice([(1, 100), (2, 50)])
        options = ["--picture", "--cmap", "gray", f"--limits={low}:{high}", *["--log"] * is_log, "--scale", str(scale)]
        said = ndio(program, "plot", folder / "x.npy", "-o", folder / "x.png", "--force", *options)
        assert said.returncode == 0, said
        found = png_pixels((folder / "x.png").read_bytes())
        numbers = np.kron(array.astype("f8"), np.ones((scale, scale)))
        with np.errstate(all="ignore"):
            place = np.log(numbers / low) / np.log(high / low) if is_log else (numbers - low) / (high - low)
        is_there = ~np.isnan(numbers) & ((numbers > 0) | (not is_log))
        grays = np.where(is_there, 255 * np.clip(np.nan_to_num(place), 0, 1), 0)
        assert found.shape[:2] == numbers.shape and np.array_equal(found[..., 3], 255 * is_there), (array, found)
        assert np.abs(found[..., :3] - grays[..., None]).max() <= 0.51, (array, options)
        image = drawn(svg(*options), "image")[0].get("href").removeprefix("data:image/png;base64,")
        assert base64.b64decode(image) == (folder / "x.png").read_bytes()

        numbers = np.array([rng.choice([0, 1, 2, 3, rng.uniform(0, 8), rng.uniform(0, 8), np.nan]) for _ in range(rng.randint(2, 300))])
        numbers[:2] = 0, 8
        np.save(folder / "x.npy", numbers)
        bins = rng.choice([1, 2, 8, 10, 64])
        bars = drawn(svg("--histogram", "--bins", str(bins)), "rect")[1:]
        wanted = np.histogram(numbers[~np.isnan(numbers)], bins)[0]
        found = np.zeros(bins)
        for bar in bars:
            found[round((float(bar.get("x")) - 80) / (640 / bins))] = float(bar.get("height")) / 400 * wanted.max()
        assert np.array_equal(found.round(), wanted), (bins, found, wanted, numbers)

        path = drawn(svg(*["--log"] * is_log), "path")[0].get("d")
        points = [[float(number) for number in point[1:].split("V")[0].split()] for point in re.findall(r"[ML][^ML]*", path)]
        is_there = ~np.isnan(numbers) & ((numbers > 0) | (not is_log))
        places = np.arange(len(numbers)) * 639 // (len(numbers) - 1)
        shown = numbers[is_there]
        of = np.log if is_log else np.asarray
        heights = (of(shown) - of(shown.min())) / (of(shown.max()) - of(shown.min()))
        wanted = np.stack([80 + 640 * places[is_there] / 639, 20 + 400 * (1 - heights)], axis=1)
        assert np.abs(np.array(points) - wanted).max() <= 0.051, (numbers, points, wanted)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program", type=pathlib.Path)
    parser.add_argument("--cases", type=int, default=1500)
    parser.add_argument("--seed", type=int, default=random.randrange(2**32))
    asked = parser.parse_args()
    print("seed", asked.seed)
    rng, program = random.Random(asked.seed), asked.program.resolve()
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        calculations(program, rng, asked.cases, folder)
        statistics(program, rng, asked.cases // 20, folder)
        counts(program, rng, asked.cases // 20, folder)
        rows(program, rng, asked.cases, folder)
        checks(program, folder)
        forms(program, rng, asked.cases // 20, folder)
        tables(program, rng, asked.cases // 20, folder)
        json_lines(program, rng, asked.cases // 20, folder)
        made(program, rng, asked.cases // 20, folder)
        pictures(program, rng, asked.cases // 20, folder)
        large(program, folder)
    print("passed")


main()
