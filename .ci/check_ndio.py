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
    force = ["--force"] if arguments[0] in ["convert", "cat", "stack", "refs"] else []  # the same names again and again
    done = subprocess.run([PROGRAM, *map(str, arguments), *force], capture_output=True, text=True)
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


def other_stats(folder):
    numbers = (RANDOM.normal(size=(300, 50)) + 1j * RANDOM.normal(3, 9, (300, 50))).astype(">c8")
    numbers[3, :5] = [np.nan, complex(np.inf, 1), complex(0, np.nan), 0, complex(-np.inf, 0)]
    np.save(folder / "c.npy", numbers)
    found = json.loads(ndio("info", "--stats", "--json", folder / "c.npy"))["stats"]
    finite = numbers[np.isfinite(numbers)].astype("c16")
    assert [found[name] for name in ["count", "nan", "inf", "zero"]] == [15000, 2, 2, 1], found
    assert np.allclose(found["magnitude"], [abs(finite).min(), abs(finite).max()]), found
    assert np.allclose(found["mean"], [finite.mean().real, finite.mean().imag]) and np.isclose(found["std"], finite.std()), found
    times = (RANDOM.integers(0, 10**9, 5000)).astype("M8[s]")
    times[7] = "NaT"
    np.save(folder / "t.npy", times)
    found = json.loads(ndio("info", "--stats", "--json", folder / "t.npy"))["stats"]
    real = times[~np.isnat(times)]
    assert found == {"count": 5000, "nat": 1, "min": str(real.min()), "max": str(real.max()), "mean": str(np.datetime64(int(real.astype("i8").mean()), "s"))}, found
    records = np.zeros(70_000, [("x", ">f4"), ("in", [("n", "i2"), ("v", "u1", (3,))])])
    records["x"], records["in"]["n"], records["in"]["v"] = RANDOM.normal(size=70_000), RANDOM.integers(-99, 99, 70_000), RANDOM.integers(0, 9, (70_000, 3))
    np.save(folder / "r.npy", records)
    x, within = json.loads(ndio("info", "--stats", "--json", folder / "r.npy"))["stats"]["fields"]
    n, v = within["fields"]
    for found, field in [(x, records["x"]), (n, records["in"]["n"]), (v, records["in"]["v"])]:
        assert found["count"] == field.size and found["zero"] == (field == 0).sum(), found
        assert np.float32(found["min"]) == field.min() and np.float32(found["max"]) == field.max(), found
        assert np.isclose(found["mean"], field.mean(dtype="f8")) and np.isclose(found["std"], field.std(dtype="f8")), found


def values(folder):
    arrays = [RANDOM.normal(size=(3, 4)).astype("f4"), RANDOM.integers(-9, 9, (2, 3, 2)), np.array([[True, False]]), np.array("äö"), np.array([[], []]),
              np.array([2**63, 2**64 - 1], ">u8"), np.asfortranarray(RANDOM.normal(size=(5, 3)))]
    for array in arrays:
        np.save(folder / "a.npy", array)
        found = json.loads(ndio("show", "--json", folder / "a.npy"))
        assert found["dtype"] == array.dtype.str and tuple(found["shape"]) == array.shape, found
        assert (np.array(found["values"], array.dtype) == array).all() and np.shape(found["values"]) == array.shape, found
    np.save(folder / "a.npy", RANDOM.normal(size=100) * 1000)
    text = ndio("show", folder / "a.npy", "--precision", 3, "--width", 60)
    assert all(len(line) <= 60 for line in text.splitlines())
    assert np.allclose(json.loads(text), np.load(folder / "a.npy"), atol=0.0005)


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
        np.savetxt(folder / "s.txt", array.astype("f8"))
        ndio("convert", folder / "s.txt", folder / "s.npy", "--from", "csv", "--delimiter", " ")
        assert (np.load(folder / "s.npy") == np.loadtxt(folder / "s.txt")).all()
    # The fewest digits of all floats of 16 bits.
    halves = np.arange(1 << 16, dtype="u2").view("f2")
    halves = halves[np.isfinite(halves)]
    np.save(folder / "h.npy", halves)
    digits = [float(np.format_float_scientific(half, unique=True)) for half in halves]
    assert [float(row) for row in ndio("convert", folder / "h.npy", "-", "--to", "csv").split()] == digits
    numbers = RANDOM.normal(size=(50, 3)) + 1j * RANDOM.normal(size=(50, 3))
    np.save(folder / "c.npy", numbers)
    ndio("convert", folder / "c.npy", folder / "c.csv")
    assert (np.loadtxt(folder / "c.csv", delimiter=",", dtype="c16") == numbers).all()
    np.savetxt(folder / "c.txt", numbers, delimiter=",")
    ndio("convert", folder / "c.txt", folder / "d.npy", "--from", "csv", "--dtype", ">c16")
    assert (np.load(folder / "d.npy") == numbers).all()
    parts = np.zeros(3, [("m", ">i2", (2, 2)), ("z", "f8", (0,)), ("in", [("t", "M8[s]"), ("s", "S4")])])
    parts["m"], parts["in"]["t"], parts["in"]["s"] = np.arange(12).reshape(3, 2, 2), "2024-02-29T01:02:03", b"a,b"
    np.save(folder / "p.npy", parts)
    head, *rows = ndio("convert", folder / "p.npy", "-", "--to", "csv").splitlines()
    assert head == "m.0.0,m.0.1,m.1.0,m.1.1,in.t,in.s", head
    assert rows == [",".join(map(str, row["m"].flat)) + ',2024-02-29T01:02:03,"a,b"' for row in parts], rows
    one = np.array([(1.5,), (2.5,)], [("x", "f8")])
    np.save(folder / "o.npy", one)
    assert ndio("convert", folder / "o.npy", "-", "--to", "csv") == "x\n1.5\n2.5\n"
    records = np.array([(1, 2.5, "a,b"), (-3, np.inf, 'q"')], [("n", "i4"), ("x", "f8"), ("t", "U5")])
    np.save(folder / "r.npy", records)
    assert ndio("convert", folder / "r.npy", "-", "--to", "csv") == 'n,x,t\n1,2.5,"a,b"\n-3,inf,"q"""\n'


def changes(folder):
    array = RANDOM.integers(-99, 99, (23, 5, 11)).astype("<i4")
    for order in "CF":
        np.save(folder / "a.npy", np.asarray(array, order=order))
        for axis in range(3):
            ndio("split", folder / "a.npy", "--axis", axis, "--parts", 3, "-o", folder / "parts", "--force")
            parts = [folder / "parts" / f"a-{number}.npy" for number in range(3)]
            loaded = [np.load(part) for part in parts]
            assert all((one == two).all() and one.shape == two.shape for one, two in zip(loaded, np.array_split(array, 3, axis)))
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
        assert told.startswith(f"2 of 1265 elements differ, all in [4:21, 0:4, 2:11]\n  [4, 3, 2]  {values}\n  [20, 0, 10]"), told
        assert "\nlargest absolute difference 7.0 at [4, 3, 2]" in told, told
    ndio("pack", folder / "p.npz", folder / "a.npy", f"x={folder / 'o.npy'}", "--deflate")
    with np.load(folder / "p.npz") as archive:
        assert archive.files == ["a", "x"] and (archive["x"] == other).all()


def selections(folder):
    """Fields and slices, saved, printed and compared, of arrays of any order, in files, archives and RA files."""
    inner = np.dtype([("x", "<f8"), ("y", ">i2")])
    record = np.dtype([("id", "<i4"), ("pos", inner), ("v", "<f4", (3, 2)), ("t", "<U3")])
    for number in range(120):
        shape = tuple(RANDOM.integers(0 if RANDOM.random() < 0.1 else 1, 7, RANDOM.integers(0, 5)))
        dtype = record if number % 2 else np.dtype(RANDOM.choice(["<f4", ">i8", "|u1", "<c16"]))
        array = np.frombuffer(RANDOM.integers(0, 100, int(np.prod(shape)) * dtype.itemsize, "u1").tobytes(), dtype).reshape(shape)
        if dtype == record:
            array = array.copy()
            array["t"] = RANDOM.choice(["a", "bc", "def"], shape)
        array = np.array(array, order=RANDOM.choice(["C", "F"]))
        field, wanted = None, array
        if dtype == record and RANDOM.random() < 0.8:
            field = str(RANDOM.choice(["id", "pos.x", "pos.y", "pos", "v", "t"]))
            for name in field.split("."):
                wanted = wanted[name]
        parts = []
        for length in wanted.shape:
            start, stop = (None if RANDOM.random() < 0.4 else int(RANDOM.integers(-length - 2, length + 3)) for _ in range(2))
            step = int(RANDOM.choice([1, 1, 2, 3, -1, -2]))
            parts.append(int(RANDOM.integers(-length, length)) if length and RANDOM.random() < 0.2 else slice(start, stop, step))
        cut = int(RANDOM.integers(0, len(parts) + 1))
        parts = parts[:cut] + ([...] if RANDOM.random() < 0.3 else [])
        wanted = np.asarray(wanted[tuple(parts)], dtype=wanted.dtype)
        text = ", ".join("..." if part is ... else str(part) if isinstance(part, int) else ":".join("" if n is None else str(n) for n in (part.start, part.stop, part.step)) for part in parts)
        options = (["--field", field] if field else []) + ([f"--slice={text}" if number % 3 else f"--slice=[{text}]"] if parts else [])
        np.save(folder / "whole.npy", array)
        np.savez_compressed(folder / "whole.npz", whole=array, other=1)
        order = str(RANDOM.choice(["c", "fortran"]))
        for source, choice in [("whole.npy", []), ("whole.npz", ["--member", "whole"])]:
            ndio("convert", folder / source, folder / "part.npy", *choice, *options, "--order", order)
            made = np.load(folder / "part.npy")
            assert made.dtype == wanted.dtype and made.shape == wanted.shape and (made == wanted).all(), (array.shape, dtype, options, made, wanted)
        np.save(folder / "wanted.npy", wanted)
        # The second file has the part already.
        stored = json.loads(ndio("show", "--json", folder / "whole.npy", *options))
        assert stored == json.loads(ndio("show", "--json", folder / "wanted.npy")), (options, stored)
        ndio("diff", folder / "whole.npy", folder / "whole.npy", *options)
        if wanted.ndim and wanted.dtype.fields is None:
            ndio("cat", folder / "whole.npy", folder / "whole.npy", *options, "-o", folder / "twice.npy")
            assert (np.load(folder / "twice.npy") == np.concatenate([wanted, wanted])).all(), options
        if dtype != record:
            ndio("convert", folder / "whole.npy", folder / "whole.ra")
            ndio("convert", folder / "whole.ra", folder / "part.npy", *options)
            assert (np.load(folder / "part.npy") == wanted).all(), (dtype, options)


def outputs(folder):
    """What is not a regular file: a terminal, a full disk; and names that are not Unicode."""
    import os

    np.save(folder / "a.npy", np.arange(5))
    try:
        import pty
    except ImportError:
        return  # a system without terminals of this kind
    for verb in [["convert", "a.npy", "-"], ["convert", "a.npy", "-", "--to", "raw"], ["pack", "-", "a.npy"], ["cat", "a.npy", "-o", "-"]]:
        main, terminal = pty.openpty()
        done = subprocess.run([PROGRAM, *verb], cwd=folder, stdout=terminal, stderr=subprocess.PIPE, text=True)
        assert done.returncode == 2 and "not written to a terminal" in done.stderr, (verb, done)
        os.close(terminal)
        os.close(main)
    if os.path.exists("/dev/full"):
        for verb in [["convert", "a.npy", "/dev/full", "--to", "npy"], ["convert", "a.npy", "/dev/full", "--to", "csv"], ["pack", "/dev/full", "a.npy"], ["cat", "a.npy", "-o", "/dev/full"]]:
            done = subprocess.run([PROGRAM, *verb], cwd=folder, capture_output=True, text=True)
            assert done.returncode == 2 and done.stderr.startswith("ndio: /dev/full: ") and "No space" in done.stderr, (verb, done)
    if sys.platform == "linux":
        odd = os.fsencode(folder) + b"/\xff.npy"
        os.rename(folder / "a.npy", odd)
        done = subprocess.run([PROGRAM, "pack", "b.npz", odd], cwd=folder, capture_output=True)
        assert done.returncode == 2 and b"NAME=FILE sets one" in done.stderr and not (folder / "b.npz").exists(), done
        subprocess.run([PROGRAM, "pack", "b.npz", b"odd=" + odd], cwd=folder, check=True)
        with np.load(folder / "b.npz") as archive:
            assert archive.files == ["odd"] and (archive["odd"] == np.arange(5)).all()


with tempfile.TemporaryDirectory() as made:
    stats(pathlib.Path(made))
    other_stats(pathlib.Path(made))
    values(pathlib.Path(made))
    tables(pathlib.Path(made))
    changes(pathlib.Path(made))
    selections(pathlib.Path(made))
    outputs(pathlib.Path(made))
print("ndio and NumPy agree")
