"""What `ndio` says of arrays, and makes of them, against NumPy: PROGRAM."""

import json
import pathlib
import subprocess
import sys
import tempfile

import numpy as np

PROGRAM = pathlib.Path(sys.argv[1]).resolve()
RANDOM = np.random.default_rng(7)


def ndio(*arguments, code=0):
    done = subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, text=True)
    assert done.returncode == code, (arguments, done)
    return done.stdout


def stats(folder):
    kinds = ["?", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f2", "f4", "f8", ">i4", ">f8", ">u2"]
    for kind in kinds:
        for shape, order in [((3,), "C"), ((1000, 70), "C"), ((17, 300, 41), "F"), ((400_000,), "C"), ((0, 3), "C"), ((), "C")]:
            dtype = np.dtype(kind)
            if dtype.kind == "f":
                array = RANDOM.normal(3, 50, shape)
                for odd in [np.nan, np.inf, -np.inf, 0.0, -0.0]:
                    array = np.where(RANDOM.random(shape) < 0.01, odd, array)
            else:
                limits = (0, 2) if kind == "?" else (np.iinfo(dtype).min, np.iinfo(dtype).max)
                array = RANDOM.integers(*limits, shape, dtype="u8" if limits[1] > 2**63 else "i8", endpoint=kind != "?")
            array = np.asarray(array).astype(dtype, order=order)
            path = folder / "array.npy"
            np.save(path, array)
            found = json.loads(ndio("info", "--stats", "--json", path))
            assert found["dtype"].strip("'") == dtype.str and tuple(found["shape"]) == shape, found
            found = found["stats"]
            finite = array[np.isfinite(array)]
            assert found["count"] == array.size and found["nan"] == np.isnan(array).sum(), (kind, shape, found)
            assert found["inf"] == np.isinf(array).sum() and found["zero"] == (array == 0).sum(), (kind, shape, found)
            if finite.size:
                assert found["min"] == finite.min() and found["max"] == finite.max(), (kind, shape, found)
                wide = finite.astype(np.longdouble)
                assert np.isclose(found["mean"], float(wide.mean()), rtol=1e-9, atol=1e-9 * float(abs(wide).max())), (kind, found)
                assert np.isclose(found["std"], float(wide.std()), rtol=1e-9), (kind, shape, found, wide.std())
            else:
                assert found["min"] is None or array.size, found


def tables(folder):
    for kind in ["f8", "f4", "i8", "u8", "?"]:
        array = (RANDOM.normal(size=(500, 7)) * 1e6).astype(kind)
        np.save(folder / "t.npy", array)
        ndio("convert", folder / "t.npy", folder / "t.csv")
        text = {"true": "1", "false": "0"}
        rows = [[text.get(cell, cell) for cell in line.split(",")] for line in (folder / "t.csv").read_text().split()]
        assert (np.array(rows).astype("f8" if kind == "?" else kind).astype(kind) == array).all(), kind
        np.savetxt(folder / "s.csv", array.astype("f8"), delimiter=",", fmt="%.17g")
        ndio("convert", folder / "s.csv", folder / "s.npy")
        assert (np.load(folder / "s.npy") == np.loadtxt(folder / "s.csv", delimiter=",")).all()
    records = np.array([(1, 2.5, "a,b"), (-3, np.inf, 'q"')], [("n", "i4"), ("x", "f8"), ("t", "U5")])
    np.save(folder / "r.npy", records)
    assert ndio("convert", folder / "r.npy", "-", "--to", "csv") == 'n,x,t\n1,2.5,"a,b"\n-3,inf,"q"""\n'


def changes(folder):
    array = RANDOM.integers(-99, 99, (23, 5, 11)).astype("<i4")
    for order in "CF":
        np.save(folder / "a.npy", np.asarray(array, order=order))
        for axis in range(3):
            ndio("split", folder / "a.npy", "--axis", axis, "--parts", 3, "-o", folder / "parts")
            parts = [folder / "parts" / f"a-{number}.npy" for number in range(3)]
            loaded = [np.load(part) for part in parts]
            assert (np.concatenate(loaded, axis) == array).all()
            ndio("cat", *parts, "-o", folder / "b.npy", "--axis", axis)
            ndio("diff", folder / "a.npy", folder / "b.npy")
            ndio("stack", folder / "a.npy", folder / "b.npy", "-o", folder / "c.npy", "--axis", axis)
            assert (np.load(folder / "c.npy") == np.stack([array, array], axis)).all()
        ndio("convert", folder / "a.npy", folder / "a.raw", "--order", "fortran")
        assert (folder / "a.raw").read_bytes() == array.tobytes("F")
        for dtype in ["f4", ">i8", "i2", "c16"]:
            ndio("convert", folder / "a.npy", folder / "d.npy", "--dtype", dtype, "--casting", "unsafe")
            found = np.load(folder / "d.npy")
            assert found.dtype == np.dtype(dtype) and (found == array.astype(dtype)).all(), dtype
        other = array.copy()
        other[4, 3, 2] += 7
        other[20, 0, 10] -= 1
        np.save(folder / "o.npy", other)
        told = ndio("diff", folder / "a.npy", folder / "o.npy", code=1)
        values = f"{array[4, 3, 2]} and {other[4, 3, 2]}"
        assert told.startswith(f"2 of 1265 elements differ, first at [4, 3, 2]: {values}\nlargest absolute difference 7.0 at [4, 3, 2]"), told
    ndio("pack", folder / "p.npz", folder / "a.npy", f"x={folder / 'o.npy'}", "--deflate")
    with np.load(folder / "p.npz") as archive:
        assert archive.files == ["a", "x"] and (archive["x"] == other).all()


with tempfile.TemporaryDirectory() as made:
    stats(pathlib.Path(made))
    tables(pathlib.Path(made))
    changes(pathlib.Path(made))
print("ndio and NumPy agree")
