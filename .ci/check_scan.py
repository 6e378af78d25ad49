"""Whether `ndio scan` lists what Python's own unpickler looks up and calls, in the same order, of testdata/objects and of random pickles: NDIO.

Nothing is loaded for real: the names are looked up in a class that records them.
"""

import io
import json
import pathlib
import pickle
import random
import subprocess
import sys
import tempfile
import zipfile

import numpy as np

ROOT = pathlib.Path(__file__).parents[1]
# What only makes plain data; independent of the library's list.
PLAIN = set("""
builtins bool bytearray bytes complex dict float frozenset int list object range set slice str tuple
collections OrderedDict
_codecs encode
datetime date datetime time timedelta timezone
decimal Decimal
numpy bool bool_ bytes_ complex128 datetime64 dtype float16 float32 float64 int16 int32 int64 int8 longdouble ndarray str_ timedelta64 void
numpy._core.multiarray _reconstruct scalar
numpy.core.multiarray _reconstruct scalar
numpy._core.numeric _frombuffer
numpy._core._internal _convert_to_stringdtype_kwargs
numpy.ma.core MaskedArray _mareconstruct
zoneinfo ZoneInfo ZoneInfo._unpickle
""".strip().splitlines())
PLAIN = {f"{line.split()[0]}.{name}" for line in PLAIN for name in line.split()[1:]}


class Recorder(pickle._Unpickler):
    """Records what is looked up and called, and makes nothing."""

    def __init__(self, file):
        super().__init__(file, encoding="latin1")
        self.imports, self.calls = [], []

    def find_class(self, module, name):
        if self.proto < 3:
            old = module, name
            module = pickle._compat_pickle.IMPORT_MAPPING.get(module, module)
            module, name = pickle._compat_pickle.NAME_MAPPING.get(old, (module, name))
        full = f"{module}.{name}"
        if full not in self.imports:
            self.imports.append(full)
        calls = self.calls

        class Made:
            def __new__(cls, *_, **__):
                calls.append(full)
                return object.__new__(cls)

            def __setstate__(self, _):
                pass

            def __setitem__(self, *_):
                pass

            append = add = __setitem__

        return Made

    def persistent_load(self, name):
        return str(name)

    def get_extension(self, code):
        self.stack.append(code)


Recorder.dispatch = dict(pickle._Unpickler.dispatch)


def recorded(pickled):
    recorder = Recorder(io.BytesIO(pickled))
    try:
        recorder.load()
    except (TypeError, AttributeError, pickle.UnpicklingError, KeyError, IndexError, ValueError) as error:
        return None, repr(error)
    return [name for name in recorder.imports if name not in PLAIN], [name for name in recorder.calls if name not in PLAIN]


def after_header(file):
    start = 10 if file[6] == 1 else 12
    return file[start + int.from_bytes(file[8:start], "little"):]


def random_pickle(source):
    """Values and calls, some of which are discarded or used twice."""
    names = [(b"os", b"system"), (b"fractions", b"Fraction"), (b"collections", b"OrderedDict"), (b"some.module", b"thing")]
    value = lambda depth: source.choice([
        lambda: b"K" + bytes([source.randrange(256)]), lambda: b"N", lambda: b"X\x01\0\0\0a",
        lambda: b"]" + (b"(" + b"".join(value(depth + 1) for _ in range(3)) + b"e" if depth < 3 else b""),
        lambda: call(depth), lambda: call(depth), lambda: call(depth) + b"0" + value(depth + 1),
    ])() if depth < 5 else b"N"
    def call(depth):
        module, name = source.choice(names)
        found = b"c" + module + b"\n" + name + b"\n"
        if source.random() < 0.1:
            return found + b"0" + value(depth + 1)  # looked up only
        made = found + b"(" + b"".join(value(depth + 1) for _ in range(source.randrange(3))) + b"t" + source.choice([b"R", b"\x81"])
        return made + (value(depth + 1) + b"b" if source.random() < 0.3 else b"")
    return b"\x80\x03" + value(0) + b"."


def main(ndio):
    cases = []
    for path in sorted((ROOT / "testdata" / "objects").glob("*.npy")):
        cases.append((path, after_header(path.read_bytes())))
    model = ROOT / "testdata" / "objects" / "model.pt"
    cases.append((model, zipfile.ZipFile(model).read("model/data.pkl")))
    with tempfile.TemporaryDirectory() as folder:
        source = random.Random(52)
        for number in range(2000):
            path = pathlib.Path(folder) / f"{number}.pkl"
            path.write_bytes(random_pickle(source))
            cases.append((path, path.read_bytes()))
        done = subprocess.run([ndio, "scan", "--json", *[path for path, _ in cases]], capture_output=True, text=True)
    found = {line["file"]: line for line in map(json.loads, done.stdout.splitlines())}
    assert not done.stderr, done.stderr
    assert len(found) == len(cases), (len(found), len(cases))
    checked = calls = 0
    for path, pickled in cases:
        imports, called = recorded(pickled)
        if imports is None:
            assert "python_2" in path.name or "string" in path.name or path.suffix == ".npy", (path, called)
            continue
        ours = found[str(path)]
        assert ours["imports"] == imports, (path, ours["imports"], imports)
        assert [call["function"] for call in ours["calls"]] == called, (path, ours["calls"], called)
        checked, calls = checked + 1, calls + len(called)
    assert checked > 2050 and calls > 2000, (checked, calls)
    print(f"{checked} pickles: scan lists the {calls} calls of Python's unpickler")


if __name__ == "__main__":
    main(*sys.argv[1:])
