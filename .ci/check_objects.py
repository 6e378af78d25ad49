"""Whether NumPy loads what we wrote of testdata/objects as the objects that are in it, without a warning: FOLDER.

Each array is compared with a new one and, sharing included, with what NumPy itself makes of the file it was read from.
"""

import importlib.util
import json
import pathlib
import pickle
import sys
import warnings

import numpy as np

ROOT = pathlib.Path(__file__).parent.parent
SPEC = importlib.util.spec_from_file_location("make_objects", ROOT / "testdata" / "make_objects.py")
MAKE = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(MAKE)


def differs(one, two, where, seen):
    """Where two objects differ, or None: by type, value and identity."""
    if type(one) is not type(two):
        return f"{where}: {type(one)} and {type(two)}"
    if isinstance(one, (list, dict, set, bytearray, np.ndarray)):
        if seen.setdefault(id(one), id(two)) != id(two):
            return f"{where}: what is shared differs"
    if isinstance(one, np.ndarray):
        if one.dtype != two.dtype or one.shape != two.shape or one.flags.fnc != two.flags.fnc:
            return f"{where}: {one.dtype} {one.shape} and {two.dtype} {two.shape}"
        if not one.dtype.hasobject:
            return None if one.tobytes() == two.tobytes() else f"{where}: bytes differ"
        return differs(one.tolist(), two.tolist(), where, {})
    if isinstance(one, (list, tuple)):
        if len(one) != len(two):
            return f"{where}: {len(one)} and {len(two)} items"
        parts = (differs(a, b, f"{where}[{index}]", seen) for index, (a, b) in enumerate(zip(one, two)))
        return next(filter(None, parts), None)
    if isinstance(one, dict):
        return differs(tuple(one), tuple(two), where, seen) or differs(tuple(one.values()), tuple(two.values()), where, seen)
    if isinstance(one, (float, complex, np.generic)):
        return None if pickle.dumps(one) == pickle.dumps(two) else f"{where}: {one!r} and {two!r}"
    if getattr(one, "fold", 0) != getattr(two, "fold", 0):
        return f"{where}: folds differ"
    same = one == two or repr(one) == repr(two)
    return None if same else f"{where}: {one!r} and {two!r}"


def main(folder):
    warnings.simplefilter("error")
    checked = 0
    for path in sorted(pathlib.Path(folder).glob("*.npy")):
        name = path.name.split(".")[0]
        protocol = int(path.stem[-1])
        if name == "commands":
            continue  # to load it would run it
        encoding = "latin1" if name == "python_2" else "ASCII"
        wanted = np.load(ROOT / "testdata" / "objects" / f"{name}.npy", allow_pickle=True, encoding=encoding)
        found = np.load(path, allow_pickle=True)
        if name == "python_2":
            wanted[1] = wanted[1].encode("latin1")
        if name == "times" and protocol < 4:
            wanted, found = wanted[np.array([not getattr(item, "fold", 0) for item in wanted])], found[[
                not getattr(item, "fold", 0) for item in wanted]]
        if name == "arrays-p5":
            wanted[2] = wanted[2].astype("=u2")  # no other protocol keeps the byte order
        if name.startswith("string_dtype"):
            found = np.array(found.tolist(), dtype=wanted.dtype)  # the texts are those; the dtype is Python's own
        wrong = differs(wanted, found, name, {})
        assert wrong is None, f"{path.name}: {wrong}"
        checked += 1
    for path in sorted(pathlib.Path(folder).glob("*.out_of_band.json")):
        line = json.loads(path.read_text())
        found = pickle.loads(bytes.fromhex(line["pickle"]), buffers=[bytearray.fromhex(buffer) for buffer in line["buffers"]])
        assert repr(found) == line["shown"], f"{path.name}: {found!r}"
        checked += 1
    print(f"{checked} files of objects are as NumPy wants them")
    assert checked > 400, checked


main(sys.argv[1])
