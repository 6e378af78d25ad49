"""Whether what Python has is the same after we have read and written it: 200 kinds of objects in the protocols 0 to 5.

    check_kinds.py make FOLDER     saves each kind in each protocol, as an array of one object
    check_kinds.py check FOLDER WRITTEN     compares what NumPy loads of these files with what it loads of ours: by class, dtype and
                                            identity, and each time with warnings as errors
"""

import array
import collections
import dataclasses
import datetime
import decimal
import enum
import fractions
import functools
import ipaddress
import operator
import pathlib
import pickle
import re
import struct
import sys
import types
import uuid
import warnings
import zoneinfo

import numpy as np


class Plain:
    def __init__(self, **parts):
        self.__dict__.update(parts)


class Slots:
    __slots__ = ("a", "b")

    def __init__(self, a, b):
        self.a, self.b = a, b


class Sub(list):
    pass


class SubDict(dict):
    pass


class Keywords:
    """Python makes it by a call with arguments by name."""

    def __new__(cls, *, a):
        made = super().__new__(cls)
        made.a = a
        return made

    def __getnewargs_ex__(self):
        return (), {"a": self.a}


@dataclasses.dataclass
class Point:
    x: float
    y: float


class Colour(enum.Enum):
    RED = 1


class Number(enum.IntEnum):
    ONE = 1


Pair = collections.namedtuple("Pair", "left right")


def circles():
    """Objects that are parts of themselves."""
    one = []
    one.append(one)
    yield one
    two = {}
    two["self"] = two
    yield two
    three = ([],)
    three[0].append(three)
    yield three
    parent, child = Plain(name="parent"), Plain(name="child")
    parent.children, child.parent = [child], parent
    yield parent
    four = np.empty(1, dtype=object)
    four[0] = four
    yield four
    five = Plain()
    five.keys = {five: 1}
    yield five
    ring = [[], [], []]
    for index in range(3):
        ring[index].append(ring[(index + 1) % 3])
    yield ring


def kinds():
    yield from [None, True, False, Ellipsis, NotImplemented, int, len, np.add, np.float64, datetime.datetime]
    for power in (0, 7, 8, 15, 16, 31, 32, 63, 64, 100, 2040, 3000):
        yield from [2**power, -(2**power), 2**power - 1]
    yield from [0.0, -0.0, 1.5, 5e-324, float("inf"), float("-inf"), float("nan")]
    yield from [1 + 2j, complex(-0.0, float("nan"))]
    yield from ["", "a", "λ", "😀", "\ud800", "it's", "fourteen bytes", "fifteen bytes..", "a" * 300, "é" * 70_000]
    yield from [b"", b"\xff", b"b" * 255, b"b" * 256, b"b" * 70_000, bytearray(), bytearray(b"\x00\xff"), bytearray(70_000)]
    yield from [[], [1], list(range(2500)), [[[]]], (), (1,), (1, 2), (1, 2, 3), (1, 2, 3, 4), tuple(range(1500))]
    yield from [{}, {"a": 1}, {1: 2, (1, "x"): [3], None: {}}, {i: str(i) for i in range(2500)}, {frozenset([1]): 2}]
    yield from [set(), {1, 2}, set(range(2500)), frozenset(), frozenset("ab"), frozenset([frozenset(), (1, 2)])]
    shared = [1]
    yield from [[shared, shared], {"a": shared, "b": (shared,)}, [bytearray(b"x")] * 2]
    text = "shared " * 100
    yield [text, text, "".join(["shared "] * 100)]
    yield from [range(3), range(1, 10, 2), slice(1, None, 2), Colour.RED, Number.ONE, Pair(1, [2]), Point(1.0, 2.0)]
    yield from [Plain(a=1, b=[2]), Slots(1, "x"), Sub([1, 2]), SubDict(a=1), Keywords(a=5)]
    yield from [collections.OrderedDict(a=1, b=2), collections.defaultdict(list, a=[1]), collections.Counter("aab")]
    yield from [collections.deque([1, 2], maxlen=5), types.SimpleNamespace(a=1), functools.partial(int, base=2)]
    yield from [operator.itemgetter(1), re.compile("a+", re.I), uuid.UUID(int=5), ValueError("no", 1), array.array("d", [1, 2])]
    yield from [ipaddress.ip_address("127.0.0.1"), pathlib.PurePosixPath("a/b"), fractions.Fraction(1, 3)]
    yield from [decimal.Decimal(text) for text in ("0", "-1.50", "1E+400", "NaN", "-Infinity")]
    date, clock = datetime.date(2024, 2, 29), datetime.time(23, 59, 59, 999_999)
    yield from [date, clock, clock.replace(fold=1), datetime.datetime.combine(date, clock), datetime.timedelta(-1, 5, 7)]
    berlin, hour = zoneinfo.ZoneInfo("Europe/Berlin"), datetime.timezone(datetime.timedelta(hours=1), "hour")
    for zone in (datetime.timezone.utc, hour, berlin):
        yield from [zone, datetime.datetime.combine(date, clock, zone), clock.replace(tzinfo=zone)]
    # NumPy's own.
    scalars = "?bhilqBHILQefdgFDG"
    for char in scalars:
        yield np.ones((), dtype=char)[()]
        yield np.arange(3).astype(char)
    yield from [np.str_("λ"), np.bytes_(b"a"), np.void(b"ab"), np.datetime64("2020-01-01T00:00", "25s"), np.timedelta64(5, "ns")]
    yield from [np.array(["a", "λλ"]), np.array([b"a", b"bb"]), np.array(["NaT", "2020"], "M8[D]"), np.array([1], "m8[us]")]
    yield from [np.array(5), np.empty((0, 3)), np.ones((2, 3), order="F"), np.arange(24.0).reshape(2, 3, 4)]
    yield from [np.arange(3, dtype=">f8"), np.array(["a"], dtype=">U1"), np.ones(100_000)]
    packed = np.dtype([("a", "<i4"), ("b", ">f8")])
    kinds_of_records = [
        packed,
        np.dtype([("a", "i1"), ("b", "f8")], align=True),
        np.dtype({"names": ["price", "qty"], "formats": ["<f4", "<f4"], "offsets": [4, 0], "itemsize": 8}),
        np.dtype({"names": ["a", "b"], "formats": ["<i4", "<i2"], "offsets": [0, 0]}),
        np.dtype({"names": ["a"], "formats": ["u1"], "offsets": [3], "itemsize": 8}),
        np.dtype([(("title", "a"), "i4"), ("sub", "f4", (2, 2)), ("rec", packed)]),
        np.dtype([("a", "i4")], metadata={"unit": "m"}),
        np.dtype((np.record, [("x", "f8"), ("y", "<U3")])),
        np.dtype([]),
    ]
    for dtype in kinds_of_records:
        yield from [dtype, np.zeros(2, dtype), np.zeros((), dtype)[()]]
    yield from [np.dtype(text) for text in ("f8", ">i2", "U5", "S0", "O", "M8[25s]", "V7")]
    yield from [np.dtype("f8", metadata={"a": 1}), np.zeros(2, np.dtype("f8", metadata={"a": [1]})), np.dtype(("i4", (2, 3)))]
    objects = np.empty((2, 2), dtype=object, order="F")
    objects[...] = [["a", None], [[1], {"k": 1.5}]]
    yield from [objects, np.array([objects[1, 0], objects[1, 0]] + [None], dtype=object), np.zeros(1, [("o", "O"), ("n", "i4")])]
    yield from [np.matrix([[1, 2], [3, 4]]), np.rec.array([(1, "a")], dtype=[("x", "i4"), ("y", "U1")])]
    yield from [np.ma.array([1, 2], mask=[0, 1]), np.ma.masked, np.ma.array([1.5], fill_value=9)]
    yield from [np.poly1d([1, 2]), np.random.RandomState(5), np.random.default_rng(5), np.polynomial.Polynomial([1, 2])]
    yield from [np.array(["a", "λ" * 100], dtype=np.dtypes.StringDType()), np.dtypes.StringDType(na_object=None)]
    yield from circles()


def header():
    head = b"{'descr': '|O', 'fortran_order': False, 'shape': (1,), }"
    head += b" " * (63 - (10 + len(head)) % 64) + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head


def make(folder):
    count = 0
    for number, kind in enumerate(kinds()):
        whole = np.empty(1, dtype=object)
        whole[0] = kind
        for protocol in range(6):
            try:
                payload = pickle.dumps(whole, protocol, fix_imports=True)
            except (TypeError, ValueError, pickle.PicklingError, RecursionError):
                continue  # Python itself cannot
            (folder / f"{number:03}-p{protocol}.npy").write_bytes(header() + payload)
            count += 1
    assert number >= 201, number
    # An array whose class derives from NumPy's: its elements are read like any other's.
    np.save(folder / "derived.npy", np.rec.array([("a", 1)], dtype=[("x", "O"), ("y", "i4")]), allow_pickle=True)
    print(f"{number + 1} kinds, {count} files")


ATOMS = (type(None), bool, int, str, bytes, type, types.FunctionType, types.BuiltinFunctionType, np.ufunc, enum.Enum, re.Pattern)


def differs(one, two, where, seen):
    """Where two objects differ, or None."""
    if type(one) is not type(two):
        return f"{where}: {type(one)} and {type(two)}"
    if isinstance(one, ATOMS):
        return None if one is two or one == two else f"{where}: {one!r:.60} and {two!r:.60}"
    if isinstance(one, (float, complex)) and type(one) in (float, complex):
        same = struct.pack("dd", one.real, one.imag) == struct.pack("dd", two.real, two.imag)
        return None if same else f"{where}: {one!r} and {two!r}"
    if id(one) in seen:
        return None if seen[id(one)][0] is two else f"{where}: what is shared differs"
    seen[id(one)] = two, one  # keeps both alive, so that their ids are not reused
    if type(one) in (list, tuple):
        if len(one) != len(two):
            return f"{where}: {len(one)} and {len(two)} items"
        return all_differ(one, two, where, seen)
    if type(one) is dict:
        return all_differ(one, two, where + ".keys", seen) or all_differ(one.values(), two.values(), where, seen)
    if type(one) in (set, frozenset):
        order = {repr(item): item for item in two}
        return all_differ(one, [order.get(repr(item)) for item in one], where, seen)
    if isinstance(one, np.dtype):
        same = one == two and one.metadata == two.metadata and one.isalignedstruct == two.isalignedstruct
        same = same and one.type is two.type and str(one.fields) == str(two.fields)
        return None if same else f"{where}: {one!r} and {two!r}"
    if type(one) is np.ndarray:
        wrong = differs(one.dtype, two.dtype, where + ".dtype", {})
        if wrong or one.shape != two.shape or one.flags.fnc != two.flags.fnc:
            return wrong or f"{where}: {one.shape} and {two.shape}"
        if one.dtype.hasobject or one.dtype.kind == "T":
            return all_differ(one.flat, two.flat, where, seen)
        return None if one.tobytes() == two.tobytes() else f"{where}: bytes differ"
    if isinstance(one, np.generic):
        wrong = differs(one.dtype, two.dtype, where + ".dtype", {})
        return wrong or (None if one.tobytes() == two.tobytes() else f"{where}: {one!r} and {two!r}")
    return all_differ(parts(one), parts(two), where + f"({type(one).__name__})", seen)


def parts(item):
    """What Python would make an object of."""
    reduced = item.__reduce_ex__(4)
    if isinstance(reduced, str):
        return [reduced]
    return [list(part) if hasattr(part, "__next__") else part for part in reduced]


def all_differ(one, two, where, seen):
    one, two = list(one), list(two)
    if len(one) != len(two):
        return f"{where}: {len(one)} and {len(two)} parts"
    parts = (differs(a, b, f"{where}[{index}]", seen) for index, (a, b) in enumerate(zip(one, two)))
    return next(filter(None, parts), None)


def check(folder, written):
    warnings.simplefilter("error")
    wrong, checked = [], 0
    for path in sorted(written.glob("*.npy")):
        source = path.stem.rsplit(".", 1)[0]
        wanted = np.load(folder / f"{source}.npy", allow_pickle=True)
        if type(wanted[0]) is np.ndarray and not wanted[0].dtype.isnative and not wanted[0].dtype.fields:
            wanted[0] = wanted[0].astype(wanted[0].dtype.newbyteorder())  # protocol 5 alone keeps the byte order
        try:
            difference = differs(wanted[0], np.load(path, allow_pickle=True)[0], path.stem, {})
        except Exception as error:  # any error of Python
            difference = f"{path.stem}: {type(error).__name__}: {error}"
        if difference:
            wrong.append(difference)
        checked += 1
    print(f"{checked} files compared, {len(wrong)} differ")
    print("\n".join(wrong[:60]))
    assert not wrong and checked > 3000, checked


if __name__ == "__main__":
    folders = [pathlib.Path(argument) for argument in sys.argv[2:]]
    {"make": make, "check": check}[sys.argv[1]](*folders)
