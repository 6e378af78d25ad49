"""Files as a release writes them, which all later ones have to read: VERSION NDIO.

It is run for each release, with the `ndio` of that release; once the release is out, what `testdata/releases/VERSION` has stays as it is.
NumPy says what the files contain.
"""

import hashlib
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parent


def arrays():
    numbers = np.arange(-60, 60, dtype="<f8") / 8
    yield "floats", numbers.reshape(10, 12)
    yield "fortran", np.asfortranarray(numbers.reshape(10, 12))
    yield "big_endian", numbers.reshape(4, 5, 6).astype(">i4")
    yield "bools", numbers.reshape(12, 10) > 1
    yield "complex", (numbers[:40] + 1j * numbers[40:80]).astype("<c8")
    yield "halves", numbers[:9].astype("<f2")
    yield "empty", np.zeros((0, 3), "<u2")
    yield "scalar", np.array(7, "<u8")
    yield "texts", np.array([["a", "bcd"], ["λ", ""]])
    yield "bytes", np.array([b"abc", b"", b"x"])
    yield "dates", np.array(["2026-11-27", "NaT"], "<M8[D]")
    yield "spans", np.array([1, -5], "<m8[ms]")
    yield "records", np.array([(1, 2.5, "ab"), (-3, 4, "")], [("number", "<i4"), ("größe", ">f8"), ("text", "<U3")])
    yield "large", np.arange(300_000, dtype="<u8") // 1000  # more than one compressed block


def facts(array):
    content = np.ascontiguousarray(array).tobytes()
    descr = np.lib.format.dtype_to_descr(array.dtype)
    return {"descr": repr(descr), "shape": list(array.shape), "sha256": hashlib.sha256(content).hexdigest()}


def main(version, ndio):
    ndio = pathlib.Path(ndio).resolve()
    found = subprocess.run([ndio, "--version"], check=True, capture_output=True, text=True).stdout.split()[-1]
    assert found == version, (found, version)
    complete = ROOT / "releases" / version
    assert not complete.exists(), f"{complete} exists"
    listed = []
    with tempfile.TemporaryDirectory() as inputs, tempfile.TemporaryDirectory() as folder:
        inputs, folder = pathlib.Path(inputs), pathlib.Path(folder)
        packed = []

        def run(*arguments):
            subprocess.run([ndio, *map(str, arguments)], check=True, cwd=folder)

        for name, array in arrays():
            np.save(inputs / name, array)
            packed.append(inputs / f"{name}.npy")
            wanted = facts(array)
            if name != "large":
                run("convert", packed[-1], f"{name}.npy", "--order", "fortran" if name == "fortran" else "c")
                listed.append({"file": f"{name}.npy", **wanted})
            if name in ("floats", "complex", "halves"):
                run("convert", packed[-1], f"{name}.ra")
                run("convert", packed[-1], f"{name}-lz4.ra", "--compression", "lz4")
                listed += [{"file": f"{name}{suffix}.ra", **wanted} for suffix in ("", "-lz4")]
            if name == "floats":
                run("convert", packed[-1], "stack", "--to", "npy-stack", "--chunk", 4)
                listed.append({"file": "stack", **wanted})
        for compression in ("none", "deflate", "zstd"):
            small = packed[:-1] if compression == "none" else packed
            run("pack", f"{compression}.npz", *small, "--compression", compression)
            listed += [{"file": f"{compression}.npz", "member": path.stem, **facts(np.load(path))} for path in small]
        objects = np.array([1, "two", (3.5, None), {"k": b"x"}, 2**80], object)
        np.save(inputs / "objects", objects)
        run("pack", "objects.npz", inputs / "objects.npy")
        run("unpack", "objects.npz", "objects")
        said = {"objects": [repr(item) for item in objects]}
        listed += [{"file": "objects.npy", **said}, {"file": "objects.npz", "member": "objects", **said}]
        (folder / "expected.jsonl").write_text("".join(json.dumps(line) + "\n" for line in listed))
        shutil.copytree(folder, complete)
    print(len(listed), "arrays")


if __name__ == "__main__":
    main(*sys.argv[1:])
