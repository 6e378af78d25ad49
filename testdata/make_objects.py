"""Makes testdata/objects: arrays of Python objects as NumPy saves them, and objects.jsonl, which says of each the shape and, item
by item in C order, what Python's `repr` shows (null where the item is NumPy's or one that nothing but Python knows), or like
which other it is.

`arrays()` is also what check_objects.py compares with: the same objects, made anew.
"""

import collections
import datetime
import decimal
import fractions
import io
import json
import os
import pathlib
import pickle
import sys
import tempfile
import types
import zipfile

import numpy as np

HERE = pathlib.Path(__file__).parent / "objects"
UTC = datetime.timezone.utc
# What Python 2 pickled: [str, str that is no text, xrange]
OLD = b"\x80\x02cnumpy.core.multiarray\n_reconstruct\nq\x01cnumpy\nndarray\nq\x02K\x00\x85U\x01b\x87Rq\x03(K\x01K\x03\x85" \
    b"cnumpy\ndtype\nq\x04U\x02O8K\x00K\x01\x87Rq\x05(K\x03U\x01|NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK?tb\x89]q\x06(" \
    b"U\x04textU\x03\xff\xfe\x00c__builtin__\nxrange\nK\x00K\x05K\x01\x87Rq\x07etb."


class Command:
    """An object that an attacker might send: loading it runs a command."""

    def __reduce__(self):
        return os.system, ("echo this came from a pickle",)


def with_discarded(file):
    """An array of `saved`, before which its pickle calls a function, and discards what it returns: an attack that leaves no trace."""
    frame = file.index(b"\x80\x04\x95") + 2
    call = b"cos\nsystem\n(X\x1b\0\0\0echo this was never an itemtR0"
    return file[:frame] + call + file[frame + 9:]  # without the frame, whose length would be wrong


class Storage(str):
    """What PyTorch saves elsewhere, and names in its pickle."""


class Tensor:
    def __init__(self, key, shape):
        self.key, self.shape = key, shape

    def __reduce__(self):
        storage = Storage(self.key)
        return named("torch._utils", "_rebuild_tensor_v2"), (storage, 0, self.shape, (1,) * len(self.shape), False, {})


def named(module, name):
    """A function that pickles refer to by this name."""
    def function(*_):
        raise NotImplementedError
    function.__module__, function.__qualname__ = module, name
    for parent in [module.split(".")[0], module]:
        sys.modules.setdefault(parent, types.ModuleType(parent))
    return sys.modules[module].__dict__.setdefault(name, function)


def model(extra):
    """An archive as `torch.save` writes it, without PyTorch: two tensors, and what somebody added."""
    class Pickler(pickle.Pickler):
        def persistent_id(self, value):
            if isinstance(value, Storage):
                return "storage", named("torch", "FloatStorage"), str(value), "cpu", 6
            return None

    file, packed = io.BytesIO(), io.BytesIO()
    Pickler(file, protocol=2).dump({"weight": Tensor("0", (2, 3)), "bias": Tensor("1", (6,)), **extra})
    with zipfile.ZipFile(packed, "w") as archive:
        for name, content in {"data.pkl": file.getvalue(), "version": b"3\n", "data/0": bytes(24), "data/1": bytes(24)}.items():
            archive.writestr(zipfile.ZipInfo("model/" + name), content)
    return packed.getvalue()


def one_dimensional(items):
    array = np.empty(len(items), object)
    array[:] = items
    return array


def not_equal_to_themselves():
    """Each kind of object that is not equal to itself, as a function that makes another one."""
    long_nan = b"\0\0\0\0\0\0\0\xc0\xff\x7f"  # what follows is not initialized where NumPy makes one
    quad_nan = b"\0" * 14 + b"\xff\x7f"
    long = lambda *parts: lambda: np.frombuffer(b"".join(parts), {16: "<g", 32: "<G"}[len(b"".join(parts))])[0]
    makers = [lambda: float("nan"), lambda: complex("nan"), lambda: complex(1, float("nan")), lambda: decimal.Decimal("NaN"),
              lambda: decimal.Decimal("-NaN123"), long(long_nan, b"\0" * 6), long(long_nan, b"garble"),
              long(long_nan, b"garble", b"\0" * 16), long(b"\0" * 16, long_nan, b"garble")]
    makers += [lambda kind=kind: np.dtype(kind).type("nan") for kind in ["f2", "f4", "f8"]]
    makers += [lambda kind=kind: np.dtype(kind).type(complex("nan+1j")) for kind in ["c8", "c16"]]
    makers += [lambda make=make, unit=unit: make("NaT", unit) for make in [np.datetime64, np.timedelta64]
               for unit in ["Y", "D", "ns", "25s", "generic"]]
    return makers


def with_keys_not_equal_to_themselves():
    for make in not_equal_to_themselves():
        one = make()
        yield {make(), make()}
        yield frozenset([make(), make(), make()])
        yield {make(): "first", make(): "second", 1: "third"}
        yield {(make(),): "first", (make(),): "second", (1, (make(), 2)): "third", (1, (make(), 2)): "fourth"}
        yield {frozenset([make(), make()]), frozenset([make(), make()])}
        yield {one: 1, (one,): 2, (one, one): 3}
        yield {one}
        yield {number: make() for number in range(3)} | {make(): number for number in range(20)}


def arrays():
    shared = ["once"]
    records = np.zeros(2, [("a", "i1"), ("b", "f4", (2,))])
    records["b"] = [[1, 2], [3, 4]]
    grid = one_dimensional(["a", 1, None, 2.5, b"b", (1,)]).reshape(2, 3)
    titled = np.empty(2, [(("A title", "a"), "O"), ("b", "<i4"), ("c", [("d", "O"), ("e", ">u2")])])
    titled[0], titled[1] = ("x", -1, ([1, 2], 7)), (None, 2, ({"k": 1.5}, 65535))
    rows = np.empty(3, object)
    rows[:] = [shared, shared, [shared, shared]]
    return {
        "none_and_bools": one_dimensional([None, True, False]),
        "ints": one_dimensional([0, -1, 255, 256, 65535, 65536, 2**31 - 1, 2**31, -(2**31), -(2**31) - 1, 2**63 - 1, 2**63,
                                 -(2**63), -(2**63) - 1, 2**64, 10**100, -(10**100), 2**2040, -(2**2047)]),
        "floats": one_dimensional([0.0, -0.0, 1.5, -2.25, 0.1, 1e15, 1e16, 1.5e16, 1e-4, 1e-5, 1.25e-7, 5e-324, 1.7e308,
                                   float("inf"), float("-inf"), float("nan")]),
        "complexes": one_dimensional([0j, 1 + 2j, -1.5j, complex(-0.0, 1), complex(1, -0.0), complex(float("inf"), float("nan"))]),
        "not_equal": nested(with_keys_not_equal_to_themselves()),
        "texts": one_dimensional(["", "a", "λ", "it's", 'a"b', "both ' and \"", "\\", "\n\r\t\x00\x7f\x80\xa0", "\u200b\xad\u3000",
                                  "\U0001F600", "\ud800", "a\udfffb\ud83d\ude00", "x" * 255, "ä" * 200]),
        "bytes": one_dimensional([b"", b"a", b"it's", b"'\"", bytes(range(256)), b"z" * 300, bytearray(b""),
                                  bytearray(b"\x00\xff")]),
        "large": one_dimensional(["ä" * 40000, b"z" * 70000]),  # beyond a frame
        "containers": one_dimensional([[], [1, [2, [3]]], (), (1,), (1, 2), (1, 2, 3), (1, 2, 3, 4), {}, {"a": 1, 2: [None]},
                                       {(1, 2): {"b": ()}}, {5}, set(), frozenset(), frozenset({7}), list(range(2500)),
                                       {number: str(number) for number in range(1100)}]),
        "times": one_dimensional([
            datetime.date(1, 1, 1), datetime.date(9999, 12, 31), datetime.time(0, 0), datetime.time(23, 59, 58),
            datetime.time(1, 2, 3, 4), datetime.time(1, 2, fold=1), datetime.datetime(2020, 2, 29, 0, 0),
            datetime.datetime(2020, 2, 29, 1, 2, 3), datetime.datetime(2020, 2, 29, 1, 2, 3, 999999),
            datetime.datetime(2020, 10, 25, 2, 30, fold=1), datetime.timedelta(0), datetime.timedelta(days=-1, seconds=5),
            datetime.timedelta(microseconds=7), datetime.timedelta(days=999999999, hours=23)]),
        "decimals": one_dimensional([decimal.Decimal(text) for text in ["0", "-0", "1.10", "1E+30", "NaN", "-Infinity"]]),
        "others": one_dimensional([
            range(1, 10, 2), slice(1, None, 2), fractions.Fraction(1, 3), int, np.float64, len, ...,
            collections.OrderedDict([("a", 1), ("b", 2)]), collections.Counter("abca"), datetime.datetime(2020, 1, 1, tzinfo=UTC),
            pathlib.PurePosixPath("a/b"), np.dtype("<f4"), collections.deque([1, 2], 5)]),
        "scalars": one_dimensional([
            np.float32(1.5), np.int64(-3), np.uint8(200), np.bool_(True), np.complex128(1 + 2j), np.float16(0.5),
            np.str_("aλ"), np.bytes_(b"ab"), np.datetime64("2020-01-01T00:00:00.123", "ms"), np.timedelta64(5, "25s"),
            np.datetime64("NaT"), records[0]]),
        "arrays": nested([
            np.arange(6, dtype="<i4").reshape(2, 3), np.asfortranarray(np.arange(6, dtype="<f8").reshape(2, 3)),
            np.arange(3, dtype=">u2"), np.array(["a", "λλ"]), np.array([b"ab", b"c"]), records, np.zeros((0, 3)), np.array(2.5),
            np.array([True, False]), np.array(["2020", "NaT"], "M8[D]"), one_dimensional([1, "a", None]),
            np.asfortranarray(grid), nested([np.arange(2), np.array(None, dtype=object)]), records["b"],
            np.zeros(2, [("x", "<f8"), ("y", "<c8")]), np.zeros(2, np.dtype({"names": ["p", "q"], "formats": ["u1", "<i8"],
                                                                            "offsets": [2, 8], "itemsize": 24}))]),
        "shared": rows,
        "grid": grid,
        "grid_fortran": np.asfortranarray(grid),
        "cube_fortran": np.asfortranarray(one_dimensional(list(range(24))).reshape(2, 3, 4)),
        "scalar": np.array({"only": "one"}, dtype=object),
        "empty": np.empty((0, 4), dtype=object),
        "records": titled,
        "records_fortran": np.asfortranarray(np.array([[(1, None), (2, "b")], [(3, []), (4, 1.5)]], [("n", "<i8"), ("o", "O")])),
        "records_aligned": np.array([(1, "a"), (2, [2])], np.dtype([("n", "i1"), ("o", "O")], align=True)),
        "records_of_arrays": np.array([((None, 1), 5), (("a", 2.5), 6)], [("o", "O", (2,)), ("n", "<u2")]),
        "string_dtype": np.array(["a", "", "λ" * 300], dtype=np.dtypes.StringDType()),
        "string_dtype_missing": np.array(["a", None], dtype=np.dtypes.StringDType(na_object=None)),
        "commands": one_dimensional(["before", Command(), "after"]),
    }


def shown_by_numpy():
    """Arrays, scalars and what has them in it, of all kinds, shapes and sizes of numbers, made from a fixed seed."""
    random = np.random.default_rng(38)
    kinds = ["?", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f2", "f4", "f8", "c8", "c16", "S3", "U2", "V2", "M8[D]", "M8[ns]", "m8[s]",
             "M8[Y]", "M8[25s]", "m8[7D]", "m8", "M8[h]", "M8[W]"]

    def numbers(kind, count):
        code = np.dtype(kind).kind
        if code == "c":
            made = np.empty(count, kind)
            made.real, made.imag = numbers(made.real.dtype.str[1:], count), numbers(made.real.dtype.str[1:], count)
            return made
        if code == "f":
            scale = int(random.choice([1, 1, 2, 3, 4, 6, 9, 16, 30]))
            digits = random.integers(-(10**15), 10**15, count) // 10 ** int(random.choice([0, 0, 8, 11, 12, 14]))
            powers = random.integers(-scale, scale, count)
            # By decimal digits: NumPy's powers differ in their last bit from processor to processor.
            made = np.array([float(f"{number}e{power - len(str(abs(number)))}") for number, power in zip(digits.tolist(), powers.tolist())])
            if random.random() < 0.3:
                made[random.random(count) < 0.3] = random.choice([np.nan, np.inf, -np.inf, 0.0, -0.0])
            with np.errstate(over="ignore"):
                return made.astype(kind)
        if code in "iu":
            bits = 8 * np.dtype(kind).itemsize
            top = int(random.integers(1, bits))
            made = random.integers(0, 2**63 - 1, count) >> (64 - top)
            return (made - 3 * int(random.integers(0, 2)) if code == "i" else made).astype(kind)
        if code == "b":
            return random.random(count) < 0.5
        if code == "M":
            ticks = random.integers(-10**random.integers(1, 5), 10**random.integers(1, 5), count)
            return np.where(random.random(count) < 0.1, np.int64(-2**63), ticks).astype("i8").view(np.dtype(kind))
        if code == "m":
            ticks = random.integers(-10**random.integers(1, 15), 10**random.integers(1, 15), count)
            return np.where(random.random(count) < 0.1, np.int64(-2**63), ticks).astype("i8").view(np.dtype(kind))
        letters = ["", "a", "it", "λ", "'", '"', "\\", "\n", "ab", "\x7f", "\u200b"]
        chosen = [letters[index] for index in random.integers(0, len(letters), count)]
        return np.array([text.encode("ascii", "ignore") if code in "SV" else text for text in chosen], "S2" if code == "V" else kind).astype(kind)

    shapes = [(), (1,), (2,), (3,), (7,), (25,), (0,), (0, 3), (2, 3), (4, 1), (3, 7), (2, 2, 2), (1, 1, 5), (12, 12), (1001,), (40, 30), (7, 11, 13)]
    records = [[("a", "i4"), ("b", "f8")], [("x", "f4", (2,)), ("y", "?")], [(("a title", "t"), "U2")], [("a", "M8[D]"), ("b", [("c", "i1"), ("d", "S3")])],
               {"names": ["a", "b"], "formats": ["i1", "f4"], "offsets": [1, 8], "itemsize": 16}, [("m", "f8", (2, 3)), ("n", "c8")], [("v", "V2"), ("w", "i2", 3)]]

    def of_dtype(dtype, count):
        if dtype.names is None:
            return numbers(dtype.str.replace("|", "").replace("b1", "?").replace("<", ""), count)
        made = np.zeros(count, dtype)
        for name in dtype.names:
            base, dims = dtype[name].subdtype or (dtype[name], ())
            made[name] = of_dtype(base, count * int(np.prod(dims, dtype=int))).reshape((count, *dims))
        return made

    for number in range(2000):
        shape = shapes[random.integers(0, len(shapes) if number % 40 == 0 else 14)]
        dtype = np.dtype(records[random.integers(0, len(records))] if number % 8 == 7 else kinds[number % len(kinds)])
        array = of_dtype(dtype, int(np.prod(shape)))
        if dtype.names is None:
            array = array.astype(dtype)
        array = array.reshape(shape)
        if number % 10 == 3 and dtype.names is None:  # NumPy does not initialize the padding of a record that it copies
            array = np.asfortranarray(array)
        yield array[(0,) * len(shape)] if number % 3 == 0 and 0 not in shape else array
    for dtype in [*kinds, *records, "g", "O", "S", "U0", "V0", ">i4", ">U2", ">M8[ns]", ("i4", (2, 3)), [("o", "O"), ("x", "f8")], [("x", "i4", 2)]]:
        yield np.dtype(dtype)
        yield [np.dtype(dtype), {"dtype": np.dtype(dtype)}]
    for shape in [(), (0,), (3,), (2, 2), (1, 4)]:
        inner = nested([np.arange(3), np.eye(2), [1, "a"], {"k": np.float32(0.5)}, (np.int8(1),), None, "x" * 70, np.zeros((2, 0))])
        yield np.resize(inner, shape)
        yield [np.resize(nested([np.arange(4).reshape(2, 2), [np.eye(2)]]), shape), {"a": np.resize(inner, shape)}]
    yield np.resize(nested([None, 1, np.arange(2)]), (50, 30))


def nested(items):
    items = list(items)
    array = np.empty(len(items), object)
    for index, item in enumerate(items):
        array[index] = item
    return array


def as_python_shows(item):
    """None if what the item is, or has in it, is shown by another."""
    known = (int, float, complex, str, bytes, bytearray, datetime.date, datetime.time, datetime.timedelta, decimal.Decimal, range)
    if isinstance(item, (list, tuple, set, frozenset)):
        is_shown = all(as_python_shows(part) is not None for part in item)
    elif type(item) is dict:
        is_shown = all(as_python_shows(part) is not None for pair in item.items() for part in pair)
    else:
        is_shown = item is None or isinstance(item, known) and type(item).__module__ != "numpy"
    return repr(item) if is_shown and getattr(item, "tzinfo", None) is None else None


def saved(array, protocol=None):
    file = io.BytesIO()
    if protocol is None:
        np.save(file, array)
    else:
        np.lib.format.write_array_header_1_0(file, np.lib.format.header_data_from_array_1_0(array))
        pickle.dump(array, file, protocol=protocol)
    return file.getvalue()


def add(lines, name, blob, array):
    (HERE / f"{name}.npy").write_bytes(blob)
    items = [array.item(index) for index in np.ndindex(array.shape)] if array.dtype.names else array.ravel().tolist()
    shown = [as_python_shows(item) for item in items]
    lines.append({"name": name, "shape": array.shape, "fortran_order": np.lib.format.header_data_from_array_1_0(array)["fortran_order"],
                  "shown": shown})
    if name == "not_equal":
        lines[-1]["counts"] = [len(item) for item in items]


def add_shown(lines):
    """As the elements of one array, with what Python shows of them without the class that is the same everywhere."""
    array = nested(shown_by_numpy())
    (HERE / "shown_by_numpy.npy").write_bytes(saved(array))
    with open(HERE / "shown_by_numpy.txt", "w", encoding="utf-8", newline="\n") as shown:
        for item in array:
            shown.write(json.dumps(repr(item), ensure_ascii=False) + "\n")


def out_of_band():
    """Objects whose buffers `pickle.dumps` stores outside of the pickle."""
    table = np.arange(6.0).reshape(2, 3)
    yield table
    yield np.asfortranarray(table)
    yield [table, table, {"again": table, "more": table.T}]
    yield {"columns": [np.arange(3, dtype="u1"), np.array(["a", "bc"]), np.array([1, 2], "M8[D]"), np.zeros(2, [("a", "i1"), ("b", ">f4")])]}
    yield [np.zeros((0, 3)), np.array(1.5), np.arange(4, dtype=">i2"), np.arange(10)[::2], nested([1, np.arange(2)]), np.float32(2.5)]
    cube = np.arange(24, dtype="<i2").reshape(2, 3, 4)
    yield [cube.transpose(1, 0, 2), cube.transpose(2, 0, 1), cube[::-1], np.array(["a", "bc", "def", ""]).reshape(1, 2, 2).transpose(1, 0, 2),
           np.arange(8, dtype=">f4").reshape(2, 2, 2).transpose(0, 2, 1)]
    yield [pickle.PickleBuffer(b"read only"), pickle.PickleBuffer(bytearray(b"writable")), pickle.PickleBuffer(b"")]


def add_out_of_band():
    with open(HERE / "out_of_band.jsonl", "w", encoding="ascii", newline="\n") as file:
        for item in out_of_band():
            buffers = []
            pickled = pickle.dumps(item, protocol=5, buffer_callback=buffers.append)
            buffers = [bytearray(buffer.raw()) for buffer in buffers]
            again = pickle.loads(pickled, buffers=buffers)
            if isinstance(again, list) and isinstance(again[0], memoryview):
                again = [bytes(part) if isinstance(part, memoryview) else part for part in again]
            file.write(json.dumps({"pickle": pickled.hex(), "buffers": [buffer.hex() for buffer in buffers], "shown": repr(again)}) + "\n")


def main():
    HERE.mkdir(exist_ok=True)
    for old in HERE.iterdir():
        old.unlink()
    lines = []
    made = arrays()
    for name, array in made.items():
        add(lines, name, saved(array), array)
    for protocol in [0, 1, 2, 3, 5]:
        for name in ["none_and_bools", "ints", "floats", "complexes", "texts", "bytes", "containers", "times", "shared", "grid_fortran"]:
            (HERE / f"{name}-p{protocol}.npy").write_bytes(saved(made[name], protocol))
            lines.append({"name": f"{name}-p{protocol}", "like": name})
        (HERE / f"arrays-p{protocol}.npy").write_bytes(saved(made["arrays"], protocol))
    add_shown(lines)
    add_out_of_band()
    (HERE / "discarded.npy").write_bytes(with_discarded(saved(one_dimensional([1, None]))))
    (HERE / "model.pt").write_bytes(model({"comment": Command()}))
    header = b"\x93NUMPY\x01\x00\x46\x00{'descr': '|O8', 'fortran_order': False, 'shape': (3,), }"
    (HERE / "python_2.npy").write_bytes(header.ljust(79) + b"\n" + OLD + b"\n")
    texts = np.array(["a", "longer than an item of text", np.nan, "é", ""], np.dtypes.StringDType(na_object=np.nan))
    (HERE / "string_dtype_nan.npy").write_bytes(saved(texts))
    with open(HERE / "objects.jsonl", "w", encoding="ascii", newline="\n") as manifest:
        for line in lines:
            manifest.write(json.dumps(line) + "\n")


def check_meaning(new, committed):
    """Picklers of other versions of Python write other bytes: loaded, they are shown as the same."""
    assert {path.name for path in new.iterdir()} == {path.name for path in committed.iterdir()}
    for path in new.iterdir():
        both = path.read_bytes(), (committed / path.name).read_bytes()
        if both[0] != both[1]:
            made, other = (repr(np.load(io.BytesIO(file), allow_pickle=True).tolist()) for file in both)
            assert made == other, f"{path.name} means something else"
            print(f"{path.name} has other bytes and the same meaning")


if __name__ == "__main__":
    if "--meaning" in sys.argv:
        with tempfile.TemporaryDirectory() as folder:
            committed, HERE = HERE, pathlib.Path(folder)
            main()
            check_meaning(HERE, committed)
    else:
        main()
