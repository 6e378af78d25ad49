"""Python objects: read as data, nothing executed."""

from __future__ import annotations

import collections
import copyreg
import datetime
import decimal
import io
import os
import pickle
import zipfile
import zoneinfo
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ndarray_io as nio


def _array(*items: Any) -> Any:
    array = np.empty(len(items), object)
    for index, item in enumerate(items):
        array[index] = item
    return array


VALUES = [
    None, True, 0, -1, 2**31, 2**63, -(2**200), 1.5, float("inf"), 1 - 2j, "", "text", "é" * 300, "x\ud800y", b"", b"\x00\xff" * 200, bytearray(b"abc"),
    [], [1, [2, [3]]], (), (1,), (1, (2, 3), [4]), {}, {"a": 1, (1, 2): [3], None: {}}, {1, 2}, frozenset({1, frozenset({2})}),
    datetime.date(2020, 2, 29), datetime.time(1, 2, 3, 4, fold=1), datetime.datetime(1999, 12, 31, 23, 59, 59, 999999),
    datetime.timedelta(-3, 5, 7), datetime.datetime(2020, 1, 1, tzinfo=datetime.timezone(datetime.timedelta(hours=2))),
    decimal.Decimal("-1.50"), decimal.Decimal("NaN"), np.float32(1.5), np.int64(-3), np.datetime64("2020-01-01T00:00", "s"), np.bool_(True),
    np.arange(6).reshape(2, 3), np.asfortranarray(np.arange(6.0).reshape(2, 3)), np.array(["a", "bc"]), np.zeros(2, [("a", "i4"), ("b", "f8")]),
    _array(1, [2], None), np.dtype("<f4"), np.dtype([("a", "i4")]), np.str_("x"), np.bytes_(b"y"),
]  # fmt: skip


def _equal(one: Any, two: Any) -> bool:
    if type(one) is not type(two):
        return False
    if isinstance(one, np.ndarray):
        if one.dtype != two.dtype or one.shape != two.shape:
            return False
        if one.dtype.hasobject:
            return all(_equal(a, b) for a, b in zip(one.ravel(), two.ravel(), strict=True))
        return bool(one.tobytes() == two.tobytes()) and one.flags.f_contiguous == two.flags.f_contiguous
    if isinstance(one, (list, tuple)):
        return len(one) == len(two) and all(_equal(a, b) for a, b in zip(one, two, strict=True))
    if isinstance(one, dict):
        return list(one) == list(two) and all(_equal(one[key], two[key]) for key in one)
    if isinstance(one, decimal.Decimal):
        return str(one) == str(two)
    return bool(one == two)


@pytest.mark.parametrize("value", VALUES, ids=lambda value: f"{type(value).__name__} {str(value)[:20]!a}")
@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
def test_plain_value_equals_that_of_pickle(value: Any, protocol: int) -> None:
    Path("x.pkl").write_bytes(pickle.dumps([value], protocol=protocol))
    read = nio.load("x.pkl", allow_pickle=True)
    assert _equal(read, [value]), read


@pytest.mark.parametrize("value", VALUES, ids=lambda value: f"{type(value).__name__} {str(value)[:20]!a}")
def test_saved_objects_are_loaded_by_numpy(value: Any) -> None:
    array = _array(value, [value], "last")
    nio.save("x.npy", array)
    assert _equal(np.load("x.npy", allow_pickle=True), array)
    np.save("numpy.npy", array)
    assert _equal(nio.load("numpy.npy", allow_pickle=True), array)
    nio.savez("x.npz", a=array, b=np.arange(2))
    assert _equal(np.load("x.npz", allow_pickle=True)["a"], array)
    assert _equal(nio.load("x.npz", allow_pickle=True)["a"], array)


def test_shared_and_cyclic_objects_stay_so() -> None:
    shared = [1]
    cycle: list[Any] = []
    cycle.append((cycle, {"self": cycle}))
    np.save("x.npy", _array(shared, [shared, shared], cycle))
    read = nio.load("x.npy", allow_pickle=True)
    assert read[0] is read[1][0] is read[1][1]
    assert read[2][0][0] is read[2] and read[2][0][1]["self"] is read[2]


def test_array_that_contains_itself_is_read() -> None:
    array = np.empty(2, object)
    array[:] = [(array, 1), [array]]
    Path("x.pkl").write_bytes(pickle.dumps(array))
    read = nio.load("x.pkl", allow_pickle=True)
    assert read[0][0] is read and read[1][0] is read and read[0][1] == 1


def test_tuple_of_lists_that_contain_it_takes_linear_memory() -> None:
    count = 50_000
    get = [b"j" + number.to_bytes(4, "little") for number in range(count + 1)]
    data = b"\x80\x04(" + b"]\x94" * count + b"t\x94" + b"".join(one + get[count] + b"a0" for one in get[:count]) + b"."
    Path("x.pkl").write_bytes(data)
    read = nio.load("x.pkl", allow_pickle=True)
    assert len(read) == count and read[-1][0] is read


def test_key_with_very_many_parts_is_refused() -> None:
    # t1 = (t0, t0), t2 = (t1, t1), …: the hash of the last one looks at 2**40 objects.
    data = b"\x80\x02}" + b"K\x01" + b"".join(b"q%c" % number + b"h%c\x86" % number for number in range(40)) + b"K\x05s."
    Path("x.pkl").write_bytes(data)
    with pytest.raises(nio.LimitError, match="key"):
        nio.load("x.pkl", allow_pickle=True)


def test_zone_with_a_name_keeps_it() -> None:
    named = datetime.datetime(2020, 1, 1, tzinfo=datetime.timezone(datetime.timedelta(hours=1), "X"))
    zoned = datetime.datetime(2020, 1, 1, tzinfo=zoneinfo.ZoneInfo("Europe/Berlin"))
    Path("x.pkl").write_bytes(pickle.dumps([named, zoned]))
    first, second = nio.load("x.pkl", allow_pickle=True)
    assert isinstance(first, nio.Call) and "X" in first.args[1].args
    assert second == zoned and second.tzinfo.key == "Europe/Berlin"


def test_name_of_a_zone_imports_nothing(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = folder / "tzdata" / "zoneinfo" / "evil"
    package.mkdir(parents=True)
    for part in (folder / "tzdata", package.parent, package):
        (part / "__init__.py").write_text("open('imported', 'w').close()" if part == package else "")
    monkeypatch.syspath_prepend(str(folder))
    zone = b"czoneinfo\nZoneInfo._unpickle\n(X\x06\x00\x00\x00evil/xK\x01tR"
    Path("x.pkl").write_bytes(b"\x80\x04cdatetime\ndatetime\n(C\x0a\x07\xe4\x01\x01\x00\x00\x00\x00\x00\x00" + zone + b"tR.")
    read = nio.load("x.pkl", allow_pickle=True)
    assert isinstance(read, nio.Call) and not Path("imported").exists()


def test_array_of_arrays_keeps_its_shape_and_order() -> None:
    array = np.empty((2, 3), object, order="F")
    for index in np.ndindex(2, 3):
        array[index] = list(index)
    np.save("x.npy", array)
    read, numpys = nio.load("x.npy", allow_pickle=True), np.load("x.npy", allow_pickle=True)
    assert read.flags.f_contiguous == numpys.flags.f_contiguous
    assert read.tolist() == numpys.tolist() == array.tolist()


class Commanding:
    """An object whose pickle runs a command."""

    def __reduce__(self) -> Any:
        return os.system, ("touch executed",)


def test_command_is_not_executed_but_a_call() -> None:
    np.save("x.npy", _array(Commanding(), 1))
    (call, one) = nio.load("x.npy", allow_pickle=True)
    assert isinstance(call, nio.Call) and one == 1
    assert isinstance(call.callable, nio.Global)
    assert (str(call.callable), call.args) == (f"{os.system.__module__}.system", ("touch executed",))
    assert not Path("executed").exists()
    assert (None, f"{os.system.__module__}.system", False) in nio.scan("x.npy")
    with pytest.raises(ValueError) as caught:
        nio.load("x.npy")
    assert "allow_pickle" in str(caught.value)
    np.load("x.npy", allow_pickle=True)
    assert Path("executed").exists(), "NumPy executes it: the file is what it is meant to be"


class Thing:
    def __init__(self) -> None:
        self.x = [1, 2]


class Listed(list):  # type: ignore[type-arg]
    pass


def test_object_of_a_class_is_a_call_with_its_state() -> None:
    thing, listed = Thing(), Listed([1, 2])
    listed.name = "n"  # type: ignore[attr-defined]
    np.save("x.npy", _array(thing, listed, thing, Thing))
    read = nio.load("x.npy", allow_pickle=True)
    assert read[0].state == {"x": [1, 2]} and read[0] is read[2]
    assert (read[1].items, read[1].state) == ([1, 2], {"name": "n"})
    assert read[3] == nio.Global(__name__, "Thing")
    assert read[0].name.endswith("Thing") or copyreg.__name__ in read[0].name


class Slotted:
    __slots__ = ("x",)

    def __init__(self, x: Any) -> None:
        self.x = x


class Built:
    """An object whose pickle calls its class, with items, pairs and a state."""

    def __init__(self, *args: Any) -> None:
        self.args, self.seen, self.rest = args, {}, None

    def append(self, item: Any) -> None:
        self.seen[len(self.seen)] = item

    def __setitem__(self, key: Any, value: Any) -> None:
        self.seen[key] = value

    def __setstate__(self, state: Any) -> None:
        self.rest = state

    def __reduce__(self) -> Any:
        return Built, self.args, self.rest, iter([self.seen[0], self.seen[1]]), iter([("k", self)])


@pytest.mark.parametrize("protocol", range(6))
def test_listed_classes_are_made_as_pickle_makes_them(protocol: int) -> None:
    thing, listed, slotted, built = Thing(), Listed([1, 2]), Slotted(b"s"), Built(1, "a")
    listed.name = listed  # type: ignore[attr-defined]
    built.append("first")
    built.append(slotted)
    built.rest = [built, thing]  # type: ignore[assignment]
    values = [thing, listed, built, thing, Thing] + ([slotted] if protocol > 1 else [])
    if protocol < 2:
        built.seen[1] = "second"
    Path("x.pkl").write_bytes(pickle.dumps(values, protocol=protocol))
    names = {f"{__name__}.{class_.__name__}": class_ for class_ in (Thing, Listed, Slotted, Built)}
    read = nio.load("x.pkl", allow_pickle=True, objects=names)
    with open("x.pkl", "rb") as file:
        pickles = pickle.load(file)
    for values in (read, pickles):
        assert type(values[0]) is Thing and values[0].x == [1, 2] and values[3] is values[0] and values[4] is Thing
        made = values[2]
        assert type(made) is Built and made.args == (1, "a") and made.rest[0] is made and made.rest[1] is values[0]
        assert made.seen["k"] is made and made.seen[0] == "first"
        assert type(values[1]) is Listed and values[1] == [1, 2] and values[1].name is values[1]
        if protocol > 1:  # before, what has slots cannot be pickled
            assert made.seen[1] is values[5] and values[5].x == b"s"


class Outer:
    class Inner:
        def __init__(self) -> None:
            self.x = 1

    def __init__(self) -> None:
        self.inner = Outer.Inner()


def set_by(made: Any, state: Any) -> None:
    made.set_by = state


class SetBy:
    def __reduce__(self) -> Any:
        return SetBy, (), {"a": 1}, None, None, set_by


class Old:
    def __reduce_ex__(self, _: Any) -> Any:
        return object.__reduce_ex__(self, 2)


@pytest.mark.parametrize("protocol", range(6))
def test_nested_classes_setters_and_defaults_are_as_in_pickle(protocol: int) -> None:
    old = Old()
    old.x = 2  # type: ignore[attr-defined]
    default = collections.defaultdict(list, {"a": [1]})
    Path("x.pkl").write_bytes(pickle.dumps([Outer(), SetBy(), old, default, range(3)], protocol=protocol))
    names = {f"{__name__}.{one.__qualname__}": one for one in (Outer, Outer.Inner, SetBy, set_by, Old)}
    names |= {"collections.defaultdict": collections.defaultdict, "builtins.range": range}
    outer, setter, old, read, numbers = nio.load("x.pkl", allow_pickle=True, objects=names)
    assert type(outer) is Outer and type(outer.inner) is Outer.Inner and outer.inner.x == 1
    assert setter.__dict__ == {"set_by": {"a": 1}}
    assert type(old) is Old and old.x == 2  # type: ignore[attr-defined]
    assert read == default and read.default_factory is list and numbers == range(3)
    assert (None, "builtins.range", True) in nio.scan("x.pkl") or protocol < 2


class Reducing:
    def __init__(self, *parts: Any) -> None:
        self.parts = parts

    def __reduce__(self) -> Any:
        return self.parts


def test_scan_lists_what_it_cannot_look_at() -> None:
    call = pickle.dumps(Reducing(os.system, ("true",)))
    with zipfile.ZipFile("model.pt", "w") as archive:
        archive.writestr("model/data.pkl", call)
        archive.writestr("model/data/0", b"\0\1\2\3")
        archive.writestr("model/version", b"3\n")
    system = f"{os.system.__module__}.system"
    assert nio.scan("model.pt") == [("model/data.pkl", system, False)]
    Path("two.pkl").write_bytes(pickle.dumps([1]) + call)
    assert nio.scan("two.pkl") == [(None, system, False)]
    Path("rest.pkl").write_bytes(pickle.dumps([1]) + b"\xff\0")
    [(member, name, is_usual)] = nio.scan("rest.pkl")
    assert member is None and name.startswith("not looked at: ") and not is_usual


def test_arguments_and_states_that_pickle_refuses_are_errors() -> None:
    name = f"c{__name__}\nThing\n".encode()
    for data in (b"\x80\x02" + name + b"U\x02abR.", b"\x80\x02" + name + b")\x81](U\x01aK\x01\x86eb."):
        Path("x.pkl").write_bytes(data)
        with open("x.pkl", "rb") as file, pytest.raises(Exception, match="tuple|dictionary"):
            pickle.load(file)
        with pytest.raises(ValueError):
            nio.load("x.pkl", allow_pickle=True, objects={f"{__name__}.Thing": Thing})


def test_records_with_objects_within_objects_keep_their_dtype() -> None:
    inner = np.array([({"k": 1}, 2), (None, 3)], [("o", "O"), ("n", "<i4")])
    np.save("x.npy", _array(inner))
    read = nio.load("x.npy", allow_pickle=True)[0]
    assert read.dtype == inner.dtype and read.tolist() == inner.tolist()


def test_masked_array_of_objects_is_a_call_and_is_scanned() -> None:
    masked = np.ma.masked_array(np.array([1, None], object), [True, False])
    nio.save("x.npy", masked)
    nio.savez("x.npz", a=masked)
    for read in (nio.load("x.npy", allow_pickle=True), nio.load("x.npz", allow_pickle=True)["a"]):
        assert isinstance(read, nio.Call) and "mareconstruct" in read.name
    with open("x.npy", "rb") as file:
        assert isinstance(nio.load(file, allow_pickle=True), nio.Call)
    assert any("mareconstruct" in name for _, name, _ in nio.scan("x.npy"))
    assert any("mareconstruct" in name for _, name, _ in nio.scan("x.npz"))


def test_arrays_of_objects_follow_one_another_in_a_file_object() -> None:
    masked = np.ma.masked_array(np.array([1, None], object), [True, False])
    stream = io.BytesIO()
    for array in (_array(1, [2]), masked, _array("a"), np.arange(3)):
        np.save(stream, array)
    stream.seek(0)
    first, second, third, last = (nio.load(stream, allow_pickle=True) for _ in range(4))
    assert first.tolist() == [1, [2]] and isinstance(second, nio.Call) and third.tolist() == ["a"] and last.tolist() == [0, 1, 2]


def test_shared_arguments_take_linear_time() -> None:
    # 40,000 calls of one tuple of 200,000 items: very many, if each call looked at them.
    data = b"\x80\x02](" + b"(" + b"N" * 200_000 + b"tq\x000cos\nfoo\nq\x01h\x00R" + b"h\x01h\x00R" * 40_000 + b"e."
    Path("x.pkl").write_bytes(data)
    read = nio.load("x.pkl", allow_pickle=True)
    assert len(read) == 40_001 and read[0].args is read[-1].args


def test_unlisted_class_stays_a_call() -> None:
    np.save("x.npy", _array(Thing(), Commanding()))
    thing, command = nio.load("x.npy", allow_pickle=True, objects={f"{__name__}.Thing": Thing})
    assert type(thing) is Thing and isinstance(command, nio.Call) and not Path("executed").exists()
    np.savez("x.npz", a=_array(Thing()))
    archive = nio.load("x.npz", allow_pickle=True, objects={f"{__name__}.Thing": Thing})
    assert type(archive["a"][0]) is Thing
    with pytest.raises(ValueError, match="allow_pickle"):
        nio.load("x.npy", objects={"a.B": Thing})
    with pytest.raises(TypeError, match="names"):
        nio.load("x.npy", allow_pickle=True, objects={"a.B": 1})  # type: ignore[dict-item]


def test_object_among_its_own_arguments_is_an_error() -> None:
    # The arguments have a list to which the object is appended afterwards.
    name = f"c{__name__}\nListed\n".encode()
    Path("x.pkl").write_bytes(b"\x80\x02" + name + b"]q\x00\x85Rq\x010h\x00h\x01a0h\x01.")
    with open("x.pkl", "rb") as file:
        assert type(pickle.load(file)) is Listed
    with pytest.raises(ValueError, match="arguments"):
        nio.load("x.pkl", allow_pickle=True, objects={f"{__name__}.Listed": Listed})
    assert isinstance(nio.load("x.pkl", allow_pickle=True), nio.Call)


def test_error_of_a_listed_class_is_raised() -> None:
    def refuse(*_: Any) -> Any:
        raise LookupError("refused")

    np.save("x.npy", _array(Commanding()))
    with pytest.raises(LookupError, match="refused"):
        nio.load("x.npy", allow_pickle=True, objects={f"{os.system.__module__}.system": refuse})


@pytest.mark.parametrize("encoding", ["latin1", "bytes"])
def test_text_of_python_2_is_read_in_its_encoding(encoding: Any) -> None:
    data = b"\x80\x02]U\x03a\xe9bq\x00a."
    Path("x.pkl").write_bytes(data)
    read = nio.load("x.pkl", allow_pickle=True, encoding=encoding)
    assert read == pickle.loads(data, encoding=encoding)


def test_pickle_of_plain_data_names_nothing_unusual() -> None:
    np.save("x.npy", _array(1, [2.5], {"a": "b"}))
    assert all(is_usual for _, _, is_usual in nio.scan("x.npy"))
    np.save("y.npy", np.arange(3))
    assert nio.scan("y.npy") == []


def test_deep_nesting_is_read_or_refused() -> None:
    Path("x.pkl").write_bytes(b"\x80\x02" + b"]" * 901 + b"a" * 900 + b".")
    read = nio.load("x.pkl", allow_pickle=True)
    depth = 0
    while read:
        read, depth = read[0], depth + 1
    assert depth == 900
    Path("y.pkl").write_bytes(b"\x80\x02" + b"]" * 100_001 + b"a" * 100_000 + b".")
    with pytest.raises(nio.LimitError):
        nio.load("y.pkl", allow_pickle=True)
    deep_read = nio.load("y.pkl", allow_pickle=True, limits={"object_height": 200_000})
    assert isinstance(deep_read, list)


def test_text_of_variable_width_is_saved_as_objects_or_refused() -> None:
    array = np.array(["a", "bcd"], dtype=np.dtypes.StringDType())
    with pytest.raises(ValueError, match="allow_pickle"):
        nio.save("x.npy", array, allow_pickle=False)
    with pytest.warns(UserWarning, match="Custom dtypes"):
        nio.save("x.npy", array)
    with pytest.warns(UserWarning, match="Custom dtypes"):
        np.save("numpy.npy", array)
    assert Path("x.npy").read_bytes() == Path("numpy.npy").read_bytes()
    with pytest.warns(UserWarning, match="Custom dtypes"):
        nio.savez("x.npz", a=array)
    read = np.load("x.npz", allow_pickle=True)["a"]
    assert read.dtype.kind == "T" and read.tolist() == ["a", "bcd"]


def test_subclasses_of_arrays_of_objects_are_saved_as_they_are() -> None:
    masked = np.ma.masked_array(np.array([1, None], object), [True, False])
    nio.save("x.npy", masked)
    read = np.load("x.npy", allow_pickle=True)
    assert isinstance(read, np.ma.MaskedArray) and read.mask.tolist() == [True, False]
    nio.savez("x.npz", masked=masked, plain=np.arange(2))
    with nio.load("x.npz").update() as update:
        update["masked"] = masked[::-1]
    archive = np.load("x.npz", allow_pickle=True)
    assert archive["masked"].mask.tolist() == [False, True] and archive["plain"].tolist() == [0, 1]
    assert archive.files == ["masked", "plain"]
    with pytest.raises(NotImplementedError, match="mask"):
        nio.save("y.npy", np.ma.masked_array([1, 2], [True, False]))


def test_records_with_objects_keep_their_fields() -> None:
    array = np.array([({"a": 1}, 2), (None, 3)], [("o", "O"), ("n", "<i4")])
    np.save("x.npy", array)
    read = nio.load("x.npy", allow_pickle=True)
    assert read.dtype == array.dtype and read.tolist() == array.tolist()
    nio.save("y.npy", array)
    assert Path("y.npy").read_bytes() == Path("x.npy").read_bytes()


def test_pickle_in_a_file_object_is_read() -> None:
    data = pickle.dumps({"a": [1, 2]})
    assert nio.load(io.BytesIO(data), allow_pickle=True) == {"a": [1, 2]}
    assert nio.load(data, allow_pickle=True) == {"a": [1, 2]}
