#!/usr/bin/env python3
"""Makes the files of this folder and manifest.jsonl, which says what each holds.

NumPy writes the sound files and says what they hold; headers that NumPy would not write, and faults, are made by
hand. Run it with NumPy 2.4 on a little-endian machine; the same version gives the same bytes.

A line of the manifest is a file: id, file, expect ("ok" or the class of the error), also (other classes that are
right), and arrays: version, descr, fortran_order, shape, start, data_start, dtype, sha256 of the elements' bytes in C
order, and values in C order (bools; integers in decimal; floats as the hex of their big-endian bytes; complex numbers
as pairs of those), which only numbers have. `written` says that NumPy wrote the file, so that writing the same array
has to give the same bytes; `view` and `of` name a view of another file's array that NumPy saved.
"""

import ast
import hashlib
import io
import json
import pathlib
import random
import re
import zipfile
from fractions import Fraction

import ml_dtypes
import numpy as np

HERE = pathlib.Path(__file__).parent
LINES = []
NUMBERS = ["?", "i1", "u1", "f2", "c8", "c16"] + [kind + size for kind in "iu" for size in "248"] + ["f4", "f8"]
FLOAT_EDGES = {
    2: [0x0000, 0x8000, 0x3C00, 0x7C00, 0xFC00, 0x7E00, 0x7C01, 0xFE2A, 0x0001, 0x7BFF],
    4: [0, 1 << 31, 0x3F800000, 0x7F800000, 0xFF800000, 0x7FC00000, 0x7F800001, 0xFFC0BEEF, 1, 0x7F7FFFFF],
    8: [0, 1 << 63, 0x3FF << 52, 0x7FF << 52, 0xFFF << 52, 0x7FF8 << 48, 0x7FF0000000000001, 0xFFF80000DEADBEEF, 1,
        0x7FEFFFFFFFFFFFFF],
}
TEXT = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }"


def main():
    for old in [*HERE.glob("*.npy"), *HERE.glob("*.npz"), *HERE.glob("*.bin")]:
        old.unlink()
    numbers()
    shapes()
    versions()
    texts_and_times()
    views()
    columns()
    records()
    other_dtypes()
    by_hand()
    faults()
    archives()
    expected()
    casts()
    long_doubles()
    narrow()
    with open(HERE / "manifest.jsonl", "w", encoding="ascii", newline="\n") as manifest:
        for line in LINES:
            manifest.write(json.dumps(line) + "\n")


def numbers():
    """Each type in both byte orders, with its edge values."""
    for code in NUMBERS:
        for order in "<>":
            dtype = np.dtype(order + code)
            if dtype.itemsize == 1 and order == ">":
                continue
            array = np.frombuffer(edges(dtype), dtype)
            save(f"number-{dtype.str.translate(str.maketrans('<>|?', 'lb__'))}", array)
            if code in ("i2", "f8", "c8"):
                square = array[:6].reshape(2, 3)
                save(f"fortran-{dtype.str.translate(str.maketrans('<>', 'lb'))}", np.asfortranarray(square))


def edges(dtype):
    """The bytes of the values that go wrong first, and some others."""
    rng = random.Random(dtype.str)
    order = "big" if dtype.str[0] == ">" else "little"
    if dtype.kind == "b":
        return bytes([1, 0, 0, 1, 1, 1])
    if dtype.kind in "iu":
        top = 1 << (8 * dtype.itemsize)
        values = [0, 1, 2, top - 1, top // 2, top // 2 - 1, 0x0123456789ABCDEF % top]
        return b"".join(value.to_bytes(dtype.itemsize, order) for value in values)
    size = dtype.itemsize // (2 if dtype.kind == "c" else 1)
    parts = [value.to_bytes(size, order) for value in FLOAT_EDGES[size]] + [rng.randbytes(size) for _ in range(4)]
    if dtype.kind == "f":
        return b"".join(parts)
    return b"".join(re + im for re, im in zip(parts, reversed(parts)))


def shapes():
    for shape in [(), (0,), (0, 3), (3, 0, 2), (1,), (2, 3), (2, 3, 4), (5, 1, 3), (2, 1, 3, 2, 1, 2), (1,) * 64]:
        label = "64ones" if len(shape) == 64 else "x".join(map(str, shape)) or "scalar"
        count = int(np.prod(shape))
        for kind, dtype in (("l", "<f8"), ("b", ">i2"), ("bool", "?")):
            array = (np.arange(count) * 7 % 5 - 2).astype(dtype).reshape(shape)
            save(f"shape-{kind}-{label}-c", array)
            if len(shape) > 1:
                save(f"shape-{kind}-{label}-f", np.asfortranarray(array))
    # Larger than the blocks of readers, so that seams show.
    save("large-u2", np.arange(150_001, dtype=">u2") * 31)
    save("large-bool", np.arange(300_001) % 3 == 0)
    save("large-f4-f", np.asfortranarray(np.arange(70_000, dtype="<f4").reshape(70, 10, 100)))


def versions():
    for version in [(1, 0), (2, 0), (3, 0)]:
        save(f"version-{version[0]}", np.arange(6, dtype="<i4").reshape(2, 3), version=version)


def texts_and_times():
    """Text, strings of bytes, raw bytes, times, and the 16-byte float, with what they mean."""
    texts = ["", "A", "é", "漢字", "\U0001F600", "a\0b", "e\u0301", "\U0010FFFF", "zZ9~"]
    for order in "<>":
        label = {"<": "l", ">": "b"}[order]
        for width in (0, 1, 3):
            array = np.array(texts, f"{order}U{width}") if width else np.zeros(3, f"{order}U0")
            save(f"text-{label}U{width}", array)
        save(f"text-{label}U3-f", np.asfortranarray(np.array(texts[:6], f"{order}U3").reshape(2, 3)))
        for code in ("M8[s]", "m8[25s]", "M8[Y]", "m8", "M8[ns]", "m8[100ns]"):
            ticks = np.array([-2**63, 0, 1, -1, 2**63 - 1, 1_234_567_890_123], order + "i8")
            save(f"time-{label}{code.translate(str.maketrans('[]', '_-')).strip('-')}", ticks.view(order + code))
        parts = [bytes(10), b"\0" * 7 + b"\x80\xff\x3f", b"\xff" * 8 + b"\xfe\x7f", b"\1" + bytes(9),
                 b"\0\4\0\0\0\0\0\x80\xff\x3f", b"\0\xfc\xff\xff\xff\xff\xff\xff\xff\x3f",
                 b"\1\4\0\0\0\0\0\x80\xff\xbf", b"\0" * 7 + b"\x80\xff\x7f", b"\0" * 7 + b"\xc0\xff\xff",
                 b"\xff" * 8 + b"\0\x3c", b"\0" * 7 + b"\x80\xcd\x3b", b"\0" * 7 + b"\xc0\xcc\x3b"]
        raw = b"".join(part + bytes(6) for part in parts)
        array = np.frombuffer(raw if order == "<" else b"".join(raw[i:i + 16][::-1] for i in range(0, len(raw), 16)),
                              order + "f16")
        with np.errstate(all="ignore"):
            doubles = array.astype(">f8").tobytes()
        save(f"longdouble-{label}", array, as_f8=[doubles[at:at + 8].hex() for at in range(0, len(doubles), 8)])
    strings = [b"", b"a", b"\xff\xfe", b"\0b", b"a\0b", b"'\"\n"]
    for width in (0, 1, 5):
        save(f"bytes-S{width}", np.array(strings, f"S{width}") if width else np.zeros(3, "S0"))
    for width in (0, 1, 4, 7):
        save(f"void-V{width}", np.frombuffer(bytes(range(width * 3)), f"V{width}") if width else np.zeros(3, "V0"))
    # As np.array chooses the width.
    save("text-chosen", np.array(["a", "Grace", "é"]), chosen=True)
    save("text-chosen_empty", np.array(["", ""]), chosen=True)
    save("bytes-chosen", np.array([b"a", b"Grace"]), chosen=True)


def views():
    """Views that are not contiguous, saved by NumPy; the tests take the same views of the base."""
    base = np.arange(3 * 4 * 5, dtype="<i4").reshape(3, 4, 5)
    save("views-base", base)
    lines = np.lib.stride_tricks
    for name, view in {
        "transposed": base.T, "axes_102": base.transpose(1, 0, 2), "axes_201": base.transpose(2, 0, 1),
        "axes_021": base.transpose(0, 2, 1), "every_second": base[..., ::2], "reversed": base[::-1, ::-1, ::-1],
        "reversed_last": base[..., ::-1], "middle": base[1:, 1:3, 1:4], "one_column": base[:, :, 2],
        "one_row": base[1, 2], "first_axis": base[:, 1, 1], "broadcast_first": np.broadcast_to(base[0], (2, 4, 5)),
        "broadcast_last": np.broadcast_to(base[0, 0, :, None], (5, 3)), "empty": base[:, 2:2, ::2],
        "transposed_step": base.T[::2, ::-1, 1:], "inserted": base[:, None, :, 1],
        "fortran": np.asfortranarray(base), "fortran_step": np.asfortranarray(base)[::2],
        "windows": lines.sliding_window_view(base.reshape(-1)[:9], 4),
    }.items():
        save(f"views-{name}", view, view=name, of="views-base.npy")


def other_dtypes():
    """Types that have no Rust type here: their header and payload are read all the same."""
    record = np.dtype([("id", "<u4"), ("x", ">f8", (2,)), ("s", "|S3"), ("ok", "?")])
    aligned = np.dtype([("flag", "u1"), ("value", "<f8"), ("tail", "<i2")], align=True)
    nested = np.dtype([("a", [("b", [("c", "<f8"), ("d", "|S2")]), ("e", ">i2")]), ("f", "?")])
    titled = np.dtype([(("The title", "a"), "<f4"), ("b", "u1", (2, 1))])
    unicode = np.dtype([("λ", "<f4"), ("it's", "u1"), ("tab\t", "u1")])
    for label, dtype in {"record": record, "aligned": aligned, "nested": nested, "titled": titled, "unicode": unicode,
                         "text": "<U3", "text_big": ">U3", "bytes": "S5", "void": "V7", "time": "<M8[25s]",
                         "delta": ">m8[ns]", "generic": "<m8", "longdouble": "<f16", "many": long_record()}.items():
        array = np.zeros((2, 2), dtype, order="F")
        save(f"dtype-{label}", array)
    save("dtype-object", np.array([1, "two", None], object), pickle=True)


def long_record():
    return np.dtype([(f"field_{number:04}", "<i2") for number in range(800)])


def records():
    """Records of which the tests have structs."""
    inner = np.dtype([("x", "<f4"), ("flag", "?")])
    aligned = np.dtype([("flag", "u1"), ("value", "<f8"), ("tail", "<i2")], align=True)
    rng = np.random.default_rng(7)
    for label, dtype in {
        "packed": [("a", "u1"), ("b", "<f8"), ("c", "<i2")],
        "tight": [("x", "<f4"), ("y", "<f4")],
        "tight_big": [("x", ">f4"), ("y", ">f4")],
        "aligned": aligned,
        "unaligned": [("flag", "u1"), ("value", "<f8"), ("tail", "<i2")],
        "reordered": [("tail", ">i2"), ("flag", "u1"), ("value", ">f8")],
        "bools": [("b0", "?"), ("b1", "?"), ("b2", "?", (3,))],
        "text": [("s", "S5"), ("u", "<U3"), ("big", ">U2"), ("v", "V3")],
        "times": [("t", "<M8[ns]"), ("d", ">m8[25s]")],
        "nested": [("id", "<i4"), ("in", inner), ("many", inner, (2,))],
        "nested_aligned": np.dtype([("a", aligned), ("b", aligned, (2,)), ("c", "?")], align=True),
        "matrix": [("m", "<f8", (2, 3)), ("t", "<U2", (2,)), ("z", "<c16")],
        "matrix_big": [("m", ">f8", (2, 3)), ("t", ">U2", (2,)), ("z", ">c16")],
        "offsets": {"names": ["a", "b"], "formats": ["<u2", "<f8"], "offsets": [4, 16], "itemsize": 32},
        "titled": [(("The title", "a"), "<f4"), ("it's", "u1")],
        "unicode": [("λ漢😀", "<f4"), ("type", "u1")],
        "none": [],
    }.items():
        dtype = np.dtype(dtype)
        array = np.zeros((2, 3), dtype, order="F" if label == "tight" else "C")
        fill(array, rng)
        save(f"record-{label}", array)


def fill(array, rng):
    """Fills what is no padding, which stays 0."""
    if array.dtype.names is not None:
        for name in array.dtype.names:
            fill(array[name], rng)
    elif array.dtype.kind == "b":
        array[...] = rng.integers(0, 2, array.shape)
    elif array.dtype.kind == "U":
        array[...] = rng.choice(["", "a", "éλ", "😀"], array.shape)
    elif array.dtype.kind in "SV":
        array[...] = rng.choice([b"", b"ab", b"xyz"], array.shape)
    elif array.dtype.kind in "fc":
        array[...] = rng.normal(size=array.shape).round(3)
    elif array.dtype.kind in "mM":
        array[...] = rng.integers(0, 2 ** 40, array.shape).astype(array.dtype)
    else:
        array[...] = rng.integers(0, 100, array.shape)


def columns():
    """Records and their fields, which NumPy took out and saved."""
    inner = np.dtype([("x", "<f4"), ("flag", "?")])
    dtype = np.dtype([("id", "|u1"), ("pos", ">f8", (2, 3)), ("in", inner), ("name", "<U2"), ("a.b", "<i2"),
                      ("tail", inner, (2,))], align=True)
    rng = np.random.default_rng(1)
    array = np.zeros((2, 3), dtype)
    array["id"] = rng.integers(0, 255, (2, 3))
    array["pos"] = rng.normal(size=(2, 3, 2, 3)).round(3)
    array["in"]["x"] = np.arange(6).reshape(2, 3) / 2
    array["in"]["flag"] = array["in"]["x"] > 1
    array["name"] = [["a", "bc", ""], ["é", "x", "yz"]]
    array["a.b"] = np.arange(6).reshape(2, 3) - 3
    array["tail"]["x"] = rng.integers(0, 9, (2, 3, 2))
    for order in "CF":
        records = f"records-{order.lower()}"
        save(records, np.asarray(array, order=order))
        for number, path in enumerate(["id", "pos", "in.x", "in.flag", "name", "a.b", "tail.x"]):
            field = array
            for name in [path] if path == "a.b" else path.split("."):
                field = field[name]
            save(f"{records}-field-{number}", np.ascontiguousarray(field), field=path, of=f"{records}.npy")


def save(name, array, version=None, pickle=False, **more):
    array = np.asarray(array)
    path = HERE / f"{name}.npy"
    with open(path, "wb") as file:
        np.lib.format.write_array(file, array, version=version, allow_pickle=pickle)
    blob = path.read_bytes()
    add(name, blob, entry(blob), written=True, **more)


def entry(blob, **more):
    """What the manifest says of an array, by NumPy's own reading of it."""
    length_size = 2 if blob[6] == 1 else 4
    start = 8 + length_size
    data_start = start + int.from_bytes(blob[8:start], "little")
    text = blob[start:data_start].decode("utf-8" if blob[6] == 3 else "latin-1")
    descr = more.get("descr") or re.match(r"\{'descr': (.*), 'fortran_order'", text, re.DOTALL)[1]
    value = more.get("value") or ast.literal_eval(text.strip())
    dtype = more.get("dtype") or np.lib.format.descr_to_dtype(value["descr"])
    shape, fortran = value["shape"], value["fortran_order"]
    facts = {"version": [blob[6], blob[7]], "descr": descr, "fortran_order": fortran, "shape": list(shape),
             "start": 0, "data_start": data_start, "dtype": neutral(dtype)}
    if dtype.hasobject:
        return facts
    count = int(np.prod(shape))
    size = dtype.itemsize
    places = np.arange(count).reshape(shape, order="F" if fortran else "C").reshape(-1)
    items = [blob[data_start + place * size:data_start + (place + 1) * size] for place in places]
    facts["sha256"] = hashlib.sha256(b"".join(items)).hexdigest()
    facts["values"] = [encode(dtype, item) for item in items] if count <= 200 else None
    return facts


def encode(dtype, raw):
    """The value of one element. Floats go by their bytes: NumPy's own access may quiet a signalling NaN."""
    if dtype.names is not None:
        fields = [dtype.fields[name][:2] for name in dtype.names]
        return [encode(field, raw[offset:offset + field.itemsize]) for field, offset in fields]
    if dtype.subdtype is not None:
        base, (length, *rest) = dtype.subdtype
        row = np.dtype((base, tuple(rest))) if rest else base
        return [encode(row, raw[number * row.itemsize:][:row.itemsize]) for number in range(length)]
    if dtype.kind == "b":
        return bool(np.frombuffer(raw, dtype)[0])
    if dtype.kind in "iu":
        return str(int(np.frombuffer(raw, dtype)[0]))
    if dtype.kind == "S":
        return raw.rstrip(b"\0").hex()
    if dtype.kind == "V":
        return raw.hex()
    if dtype.kind == "U":
        return raw.decode("utf-32-be" if dtype.str[0] == ">" else "utf-32-le").rstrip("\0")
    if dtype.kind in "mM":
        ticks = int.from_bytes(raw, "big" if dtype.str[0] == ">" else "little", signed=True)
        unit, step = np.datetime_data(dtype)
        step = 1 if unit == "generic" else step
        return "NaT" if ticks == -2**63 else {"ticks": str(ticks), "unit": unit, "step": step}
    parts = [raw] if dtype.kind == "f" else [raw[:len(raw) // 2], raw[len(raw) // 2:]]
    big = [(part if dtype.str[0] == ">" else part[::-1]).hex() for part in parts]
    return big[0] if dtype.kind == "f" else big


def neutral(dtype):
    if dtype.subdtype is not None:
        base, shape = dtype.subdtype
        return {"kind": "subarray", "size": dtype.itemsize, "shape": list(shape), "base": neutral(base)}
    if dtype.names is not None:
        fields = []
        for name in dtype.names:
            field, offset, *title = dtype.fields[name]
            fields.append({"name": name, "title": title[0] if title else None, "offset": offset,
                           "dtype": neutral(field)})
        return {"kind": "record", "size": dtype.itemsize, "fields": fields}
    facts = {"kind": dtype.kind, "order": dtype.str[0], "size": dtype.itemsize}
    if dtype.kind in "mM":
        unit, step = np.datetime_data(dtype)
        facts |= {"unit": unit, "step": 1 if unit == "generic" else step}
    return facts


def frame(text, version=(1, 0), align=64, newline=True, length=None):
    header = text if isinstance(text, bytes) else text.encode("utf-8" if version[0] == 3 else "latin-1")
    length_size = 2 if version[0] == 1 else 4
    header += b" " * (-(8 + length_size + len(header) + newline) % align) + b"\n" * newline
    stated = len(header) if length is None else length
    return b"\x93NUMPY" + bytes(version) + stated.to_bytes(length_size, "little") + header


def by_hand():
    """Headers that NumPy reads and would not write."""
    data = bytes(range(24))
    value = {"descr": "<f4", "fortran_order": False, "shape": (2, 3)}
    spellings = {
        "key_order": "{'shape': (2, 3), 'fortran_order': False, 'descr': '<f4'}",
        "double_quotes": '{"descr": "<f4", "fortran_order": False, "shape": (2, 3), }',
        "no_spaces": "{'descr':'<f4','fortran_order':False,'shape':(2,3)}",
        "lines": "{\r\n'descr': '<f4',\n'fortran_order': False,\n'shape': (2,\n3),\n}",
        "u_strings": "{u'descr': u'<f4', u'fortran_order': False, u'shape': (2, 3), }",
        "long": TEXT.replace("(2, 3)", "(2L, 3L)"), "comment": TEXT + " # it's {'a'",
        "comment_within": TEXT.replace("'<f4',", "'<f4', # it's a comment }\n"),
        "joined": TEXT.replace("'<f4'", "'<' 'f4'"), "raw": TEXT.replace("'<f4'", "r'<f4'"),
        "hex": TEXT.replace("(2, 3)", "(0x2, 0b1_1)"), "parentheses": TEXT.replace("(2, 3)", "(((2), (+3)))"),
        "escape": TEXT.replace("descr", "\\x64escr"), "form_feed": TEXT.replace("'<f4', ", "'<f4', \f"),
        "continued": TEXT.replace("(2, 3)", "(2, \\\n3)"),
    }
    for label, text in spellings.items():
        descr = {"double_quotes": '"<f4"', "u_strings": "u'<f4'", "joined": "'<' 'f4'", "raw": "r'<f4'"}
        hand(label, frame(text) + data, descr=descr.get(label, "'<f4'"), value=value)
    hand("no_newline", frame(TEXT, newline=False) + data)
    hand("unpadded", frame(TEXT, align=1) + data)
    hand("v3_text", frame(TEXT, version=(3, 0)) + data)
    hand("long_header", frame(TEXT.ljust(70_000), version=(2, 0)) + data)
    for number, code in enumerate(["f8", "=f8", "float64", "d", "|f8", "?", "|?", "<b1", "|u1", ">u1", "=i1", "u1",
                                   "i4", "int64", "complex", "F", "half", "e", "<h", "uint"]):
        dtype = np.dtype(code)
        blob = frame(TEXT.replace("<f4", code).replace("(2, 3)", "(2,)")) + np.arange(2).astype(dtype).tobytes()
        hand(f"alias-{number:02}", blob, value={"descr": code, "fortran_order": False, "shape": (2,)})
    latin1 = frame("{'descr': [('é', '<f4')], 'fortran_order': False, 'shape': (2,), }") + bytes(8)
    hand("latin1", latin1)
    for label, text, kind in (("1d", "(5,)", "<f4"), ("scalar", "()", "<f4"), ("empty", "(2, 0, 3)", "<f4")):
        fortran = TEXT.replace("False", "True").replace("(2, 3)", text)
        hand(f"marked_fortran-{label}", frame(fortran) + bytes(20 if label == "1d" else 4 if label == "scalar" else 0))
    hand("large_empty", frame(TEXT.replace("(2, 3)", "(0, 1000, 1000)")))
    first = frame(TEXT) + data
    second = frame(TEXT.replace("<f4", ">i2").replace("(2, 3)", "(3,)"), align=1) + bytes(6)
    facts = entry(second)
    facts["start"], facts["data_start"] = len(first), facts["data_start"] + len(first)
    add("hand-two_arrays", first + second, entry(first), facts)


def hand(name, blob, **more):
    add(f"hand-{name}", blob, entry(blob, **more))


def faults():
    data = bytes(24)

    def bad(name, blob, *classes):
        path = f"bad-{name}"
        add(path, blob, expect=classes[0], also=list(classes[1:]))

    def text(name, text, *classes, version=(1, 0)):
        bad(name, frame(text, version) + data, *(classes or ("bad_header",)))

    good = frame(TEXT) + data
    for label, blob in {"magic": b"\x92" + good[1:], "zip": b"PK\3\4" + bytes(60), "text": b"1 2 3\n" * 20}.items():
        bad(f"magic-{label}", blob, "bad_magic")
    for version in ((0, 0), (1, 1), (4, 0), (9, 0)):
        bad("version-{}_{}".format(*version), good[:6] + bytes(version) + good[8:], "bad_version")
    bad("length-4_gib", b"\x93NUMPY\2\0" + b"\xff" * 4, "truncated_header", "header_too_large")
    bad("length-beyond", frame(TEXT, length=5000) + data, "truncated_header")
    bad("length-zero", frame(TEXT, length=0) + data, "bad_header")
    for label, wrong in {
        "spaces": "   ", "list": "[]", "unclosed": TEXT[:-2], "two": TEXT + TEXT, "no_comma": TEXT.replace("',", "'"),
        "sum": TEXT.replace("2,", "1+1,"), "leading_zero": TEXT.replace("2,", "02,"), "nul": TEXT + "\0",
        "vertical_tab": TEXT.replace(" (", "\v("), "bad_escape": TEXT.replace("<f4", "\\xg4"),
        "float": TEXT.replace("2,", "2.0,"), "true": TEXT.replace("2,", "True,"), "shape_list":
        TEXT.replace("(2, 3)", "[2, 3]"), "shape_int": TEXT.replace("(2, 3)", "6"), "no_shape":
        TEXT.replace("'shape': (2, 3), ", ""), "extra_key": TEXT.replace(", }", ", 'x': 1}"), "bytes_key":
        TEXT.replace("'shape'", "b'shape'"), "order_int": TEXT.replace("False", "0"), "twice":
        TEXT.replace("{", "{'descr': '<i2', "), "negative": TEXT.replace("(2, 3)", "(-6,)"), "int64_call":
        TEXT.replace("(2, 3)", "(np.int64(2), 3)"), "minus_chain": TEXT.replace("2,", "-" * 3000 + "2,"),
        "dict_within": TEXT.replace("'<f4'", "{'names': ['a']}"), "surrogate": TEXT.replace("<f4", "\\ud800"),
    }.items():
        text(f"header-{label}", wrong, "bad_header", "unsupported_dtype")
    text("long_v3", TEXT.replace("(2, 3)", "(2L, 3L)"), "bad_header", version=(3, 0))
    bad("utf8", frame(TEXT.encode().replace(b"<f4", b"\xff"), (3, 0)) + data, "bad_header")
    for depth in (24, 200, 20_000):
        version = (1, 0) if depth < 5_000 else (2, 0)
        for label, nested in {"lists": TEXT.replace("'<f4'", "[" * depth + "]" * depth), "unclosed": "[" * depth,
                              "tuples": TEXT.replace("(2, 3)", "(" * depth + "2" + ",)" * depth)}.items():
            text(f"nesting-{label}_{depth}", nested, "header_too_large", "bad_header", "unsupported_dtype",
                 version=version)
    for label, shape in {"2_62": "(4611686018427387904,)", "wraps": "(4294967296, 4294967296)", "2_63":
                         "(9223372036854775808,)", "100_digits": f"({'9' * 100},)", "empty_huge":
                         "(0, 1099511627776, 1099511627776)"}.items():
        text(f"shape-{label}", TEXT.replace("(2, 3)", shape), "overflow")
    for label, shape in {"2_31": "(2147483648,)", "2_59": "(576460752303423488,)", "one_more": "(2, 4)"}.items():
        text(f"shape-{label}", TEXT.replace("(2, 3)", shape), "truncated_data", "overflow")
    text("shape-65_axes", TEXT.replace("(2, 3)", f"({'1, ' * 65})"), "header_too_large")
    for number, code in enumerate(["<x8", "<f3", "<i16", "|b2", "", "<", "<<f8", " <f8", "<f8 ", "|S-1", "<M8[qq]",
                                   "<M8[s/7]", "|S99999999999", "<float64", "T16"]):
        text(f"dtype-{number:02}", TEXT.replace("<f4", code), "unsupported_dtype", "bad_header")
    for number, descr in enumerate(["None", "8", "('<f4',)", "[('a', '<f4'), ('a', '<i2')]", "[('a',)]", "[1]",
                                    "[(b'a', '<f4')]", "[('a', '<f4', (-1,))]", "[('a', '<f4', (1099511627776,))]",
                                    "[('a', '|S0', (2,))]", "[('a', '|V2147483647'), ('b', '|u1')]"]):
        text(f"descr-{number:02}", TEXT.replace("'<f4'", descr), "unsupported_dtype", "bad_header")
    for label, value in {"2": 2, "255": 255}.items():
        bad(f"bool-{label}", frame(TEXT.replace("<f4", "|b1")) + bytes([0, 1, 0, 1, value, 0]), "bad_bool")
    bad("extra-one", good + b"x", "extra_data")
    bad("extra-newline", good + b"\n", "extra_data")


def archives():
    """What NumPy and Python's zipfile write. (The bytes of what is deflated depend on the zlib that Python has.)"""
    rng = np.random.default_rng(3)
    arrays = {"a": np.arange(6, dtype="<i4").reshape(2, 3), "folder/b c": rng.normal(size=(4, 5)).T,
              "λ": np.array(["x", "yz"]), "x.npy": np.array(True), "large": rng.integers(0, 9, 30_000).astype(">u2")}
    np.savez(HERE / "archive-stored.npz", **arrays)
    np.savez_compressed(HERE / "archive-deflated.npz", **arrays)
    np.savez(HERE / "archive-positional.npz", *arrays.values())
    np.savez(HERE / "archive-empty.npz")

    class Pipe(io.BytesIO):
        def seekable(self):
            return False

        def seek(self, *_):
            raise OSError

        def tell(self):
            raise OSError

    pipe = Pipe()
    with zipfile.ZipFile(pipe, "w", zipfile.ZIP_DEFLATED) as archive:
        for method in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            member = zipfile.ZipInfo(f"{method}.npy")
            member.compress_type = method
            archive.writestr(member, raw(arrays["folder/b c"]))
        archive.writestr(zipfile.ZipInfo("readme.txt"), b"no array")
        archive.comment = b"a comment"
    (HERE / "archive-piped_deflated.npz").write_bytes(pipe.getvalue())
    (HERE / "archive-behind_others.npz").write_bytes(b"something else" + (HERE / "archive-stored.npz").read_bytes())
    for name in ["stored", "deflated", "positional", "empty", "piped_deflated", "behind_others"]:
        path = HERE / f"archive-{name}.npz"
        with zipfile.ZipFile(path) as archive:
            assert archive.testzip() is None
            members = [(member, archive.read(member)) for member in archive.namelist()]
        found = [{"name": member[:-4], "member": member, **entry(blob)} for member, blob in members
                 if member.endswith(".npy")]
        others = [{"member": member, "size": len(blob), "sha256": hashlib.sha256(blob).hexdigest()}
                  for member, blob in members if not member.endswith(".npy")]
        LINES.append({"id": f"archive-{name}", "file": path.name, "kind": "npz", "expect": "ok", "also": [],
                      "other_members": others, "arrays": found})


def expected():
    """Checksums of the files that `np.save` writes for arrays that the tests make by the same formula."""
    cube = np.fromfunction(lambda a, b, c: a * 100 + b * 10 + c, (6, 5, 4), dtype="<i4") - 300
    joined = np.fromfunction(lambda a, b, c: a * 100 + b * 10 + c, (7, 6, 5), dtype="<u2")
    large = np.fromfunction(lambda a, b: (a * b) % 1000, (700, 300), dtype="<i8").astype("<f8")
    arrays = {
        "cube-f4-big-fortran": np.asfortranarray(cube.astype(">f4")),
        "cube-f4-little-c": cube.astype("<f4"),
        "joined-c": joined,
        "joined-fortran": np.asfortranarray(joined),
        "words-big": np.array(["a", "bc"], ">U2"),
        "names": np.array(["Ada", "Grace", "\u00c9mile"], "<U5"),
        "big-appended": np.array([[1, 2], [3, 4]], ">i2"),
        "small-appended": np.array([1, 2, 3], "u1"),
        "events": np.zeros(1000, np.dtype([("kind", "u1"), ("time", "<f8")], align=True)),
        "scalar": np.array(7, "u1"),
        "large": large,
        "strided": large[::-2, ::3],
        "texts": np.array(["a", "bcd"], "<U3"),
        "many": np.sqrt(np.arange(600_000, dtype="<f4")),
        "option-array": np.asfortranarray(np.array([[1, 2], [3, 4]], ">i2")),
    }
    arrays["events"]["kind"], arrays["events"]["time"] = np.arange(1000) % 256, np.arange(1000)
    for shape in [(), (0,), (3, 0, 2), (1, 1)]:
        arrays["zeros-" + "x".join(map(str, shape))] = np.zeros(shape, ">f4")
    for rows in (0, 1, 50, 40_000):
        arrays[f"pieces-{rows}"] = np.arange(rows * 3, dtype="<u4").reshape(rows, 3)
    sums = {name: hashlib.sha256(raw(array)).hexdigest() for name, array in arrays.items()}
    (HERE / "expected.json").write_text(json.dumps(sums, indent=1) + "\n", encoding="ascii", newline="\n")


def casts():
    """What becomes of values of one dtype as another: [from, to, can_cast (safe, same_kind, unsafe), bytes, bytes]."""
    numbers = ["?"] + [kind + size for size in "1248" for kind in "iu"] + ["f2", "f4", "f8", "c8", "c16"]
    values = [0, 1, 2, 7, 100, 127, -1, -128, 200, 30000, -40000, 2**31, 2**53 + 1, 0.5, 1.5, -2.75, 1e5, 1e6, 1e-5,
              0.1, 123456.75, 1e16, 1e22, 3 + 4j, -1j]
    lines = []

    def line(array, target, made=None):
        can = next(name for name in ("safe", "same_kind", "unsafe") if np.can_cast(array.dtype, target, name))
        made = array.astype(target) if made is None else made
        lines.append([array.dtype.str, np.dtype(target).str, can, array.tobytes().hex(), made.tobytes().hex()])

    def fits(value, dtype):
        if dtype.kind == "c":
            return True
        if isinstance(value, complex):
            return False
        if dtype.kind in "iu":
            limits = np.iinfo(dtype)
            return value == int(value) and limits.min <= value <= limits.max
        return dtype.kind == "f" or value in (0, 1)

    def survives(value, source, target):
        """Out of range, an integer saturates here, and in NumPy it is what the machine makes of it."""
        limits = np.iinfo(target) if target.kind in "iu" else None
        number = np.array(value, source).real
        return limits is None or source.kind not in "fc" or limits.min <= np.trunc(number) < limits.max

    for index, source in enumerate(map(np.dtype, numbers)):
        for other, target in enumerate(map(np.dtype, numbers)):
            kept = [value for value in values if fits(value, source) and survives(value, source, target)]
            order = "<>"[(index + other) % 2], "<>"[other % 2]
            if source != target:
                line(np.array(kept, source.newbyteorder(order[0])), target.newbyteorder(order[1]))
        own = np.array([value for value in values if fits(value, source)], source)
        width = 64 if source.kind == "c" else 32
        for text in (f"<U{width}", f"S{width}"):
            line(own, text)
        for text in ("<U20", "<U21", "<U11", "<U4", "S5"):
            line(own[:2], text)
        line(own.astype(f">U{width}"), source)
        line(own.astype(f"S{width}"), source)
    for text, target in ((["a", "bcd", ""], "S3"), (["a", "b"], "S1"), (["a", "bcd"], ">U3"), (["a", "bc"], "<U7")):
        line(np.array(text), target)
        line(np.array(text, "S"), np.dtype(target))
    ticks = np.array([0, 1, -1, 1999, -1999, 12345678, np.iinfo("i8").min])
    for units in (["Y", "2M", "M", "W", "D", "h", "25s", "ms"], ["s", "10s", "ms", "us", "ns"], ["Y", "M"], ["", "s"]):
        for kind in "mM":
            named = [f"<{kind}8[{unit}]" if unit else f"<{kind}8" for unit in units]
            for one in named:
                for other in named:
                    calendar = [unit in "YM2M" for unit in (one[4:-1], other[4:-1])]
                    # A target without a unit has that of the source.
                    if one != other and other != f"<{kind}8" and (kind == "M" or calendar[0] == calendar[1]):
                        line(ticks.view(one), other)
    for number in ("?", "i1", "u4", "i8", "u8"):
        line(np.array([0, 1], number), "<m8[s]")
    odd = np.array([1.5, -2.5, np.nan, np.inf, 2e19])
    for unit in ("<m8[s]", ">M8[D]"):
        line(odd, unit, np.array([1, -2, *3 * [np.iinfo("i8").min]]).astype(unit))
    for spaces in (np.array(["", " ", "a"]), np.array([b"", b" ", b"a"])):
        line(spaces, "?")
    ties = np.array([343126.125, 2.0**-12, 0.1, 1.0], "f4")
    line(ties, "<U32")
    line(np.array([133906845957463.125, 2.0**-25, 5e-324]), "<U32")
    line(np.array([0.015625, -0.015625, 0.1, 65504], "f2"), "<U32")
    line(ticks[:5].view("<m8[s]"), ">i4", ticks[:5].astype(">i4"))
    for unit in ("Y", "3M", "W", "D", "6h", "m", "25s", "ms", "ns", "as"):
        line(ticks.view(f"<M8[{unit}]"), "<U60")
        line(ticks.astype(">i8").view(f">M8[{unit}]"), "S60")
        line(ticks[[0, 1, 2, 3, 6]].view(f"<m8[{unit}]"), "<U30")
    texts = ["2000-02-29", "1969-12-31T23:59:59.5", "NaT", "", "1999-12", "1985", "2000-01-01T00:00Z", "2000-01-01 12:30:15.123456789+01:30", "1970-01-01T00:00:01.5", "2000-01-01T12Z", "2000-01-01T12+01:00", "2000-01-01T12-0130"]
    for unit in ("Y", "M", "D", "6h", "s", "ms", "ns"):
        line(np.array(texts), f"<M8[{unit}]")
        line(np.array(texts, "S"), f">M8[{unit}]")
    line(np.array(["5", "-12", "NaT", "+7"]), "<m8[s]")
    line(ticks[:5].view("<M8[s]"), "<f8", ticks[:5].astype("<f8"))
    # Texts at, and just beside, the points half-way between two floats, where rounding twice shows.
    rng = random.Random("half-way")
    for code, bits, part in (("f2", 16, 1 << 15), ("f4", 32, 1 << 31)):
        picked = [0, 1, 2, (31 if bits == 16 else 255) << (10 if bits == 16 else 23)]
        picked = picked[:3] + [picked[3] - 2] + [rng.randrange(1, picked[3] - 1) for _ in range(100)]
        texts = []
        for number in picked:
            pair = np.array([number, number + 1], f"u{bits // 8}").view(code).astype("f8")
            middle = pair.sum() / 2
            texts += [repr(float(x)) for x in (middle, np.nextafter(middle, 0), np.nextafter(middle, np.inf))]
        largest = float(np.finfo(code).max)
        texts += [repr(largest), repr(-largest), "65519.999999", "65520", "1.000488282181323", "3.4028235677973366e+38"]
        with np.errstate(over="ignore"):
            line(np.array(texts, "S"), code)
    text = "\n".join(json.dumps(line) for line in lines) + "\n"
    (HERE / "casts.jsonl").write_text(text, encoding="ascii", newline="\n")


def long_doubles():
    """Long doubles in both formats as other numbers: [format, dtype, bytes, bytes]. Those of the x87 are NumPy's; for the other format,
    which this machine does not have, Python divides the fractions, which rounds once."""
    lines = []
    rng = random.Random("long")

    def long(values):
        """The padding of a long double is not initialized."""
        array = np.array(values, "<f16")
        return np.frombuffer(b"".join(item.tobytes()[:10] + bytes(6) for item in array), "<f16")

    big = np.longdouble(2) ** 63
    values = [0, -0.0, 1, -1.5, 0.1, np.inf, -np.inf, np.nan, 1e300, 5e-324, 1e-320, 65519.999, 65520, 2.0**-149, 2.0**-150,
              3.4028235677973366e38, np.longdouble(1) / 3, np.longdouble(2) ** -1074 * 1.5, np.longdouble(2) ** 1024,
              np.longdouble(1) + np.longdouble(2) ** -53 + np.longdouble(2) ** -63, np.finfo(np.longdouble).tiny]
    values += [np.longdouble(rng.getrandbits(64)) * np.longdouble(2) ** rng.randrange(-1200, 1000) for _ in range(200)]
    array = long(values)
    with np.errstate(all="ignore"):
        for code in ("f8", ">f4", "f2", "?", "c16"):
            lines.append(["x87", np.dtype(code).str, array.tobytes().hex(), array.astype(code).tobytes().hex()])
    whole = long([0, 1, -1, 1.9, -1.9, big - 1, -big, 2**53 + 1, 1e-5, 127.5, -127.5])
    lines.append(["x87", "<i8", whole.tobytes().hex(), whole.astype("<i8").tobytes().hex()])
    small = whole[[0, 1, 2, 3, 4, 8, 9, 10]]
    for code in ("i1", "i2", "i4"):
        lines.append(["x87", np.dtype(code).str, small.tobytes().hex(), small.astype(code).tobytes().hex()])
    large = long([0, 1, 1.9, 2 * big - 1, big, 2**53 + 1])
    lines.append(["x87", "<u8", large.tobytes().hex(), large.astype("<u8").tobytes().hex()])
    pairs = array[:40].view("<c32")
    for code in ("<c16", "<c8", "?"):
        with np.errstate(all="ignore"):
            lines.append(["x87", np.dtype(code).str, pairs.tobytes().hex(), pairs.astype(code).tobytes().hex(), "<c32"])
    # From other numbers.
    for source in (np.array([0, -0.0, 1.5, 0.1, 5e-324, -1e308, np.inf]), np.array([0.1, 65504], "f2"), np.array([1e-45, 0.3], "f4"),
                   np.array([0, 1, 2**64 - 1, 2**53 + 1], "u8"), np.array([-(2**63), -1, 127], "i8"), np.array([-128, 5], "i1"),
                   np.array([True, False])):
        lines.append(["x87", "<f16", source.tobytes().hex(), long(source).tobytes().hex(), source.dtype.str])
    quads, doubles, integers = b"", [], []
    for _ in range(200):
        exponent, fraction = 16383 + rng.randrange(-1100, 1010), rng.getrandbits(112) & -(1 << rng.randrange(0, 112))
        number = Fraction((1 << 112) + fraction) * Fraction(2) ** (exponent - 16383 - 112)
        sign = rng.getrandbits(1)
        quads += (sign << 127 | exponent << 112 | fraction).to_bytes(16, "little")
        doubles.append(float(-number if sign else number))
    lines.append(["quad", "<f8", quads.hex(), np.array(doubles, "<f8").tobytes().hex()])
    # As text, with the fewest digits: those of the x87 by NumPy, and quads by exact arithmetic.
    edges = [np.finfo(np.longdouble).max, np.finfo(np.longdouble).smallest_subnormal, np.finfo(np.longdouble).tiny, -big, 1e22, 1e16, 123456.0, 1e-5, 9.99e15]
    edges += [np.longdouble(2) ** power for power in (-16000, 16000, *range(-300, 300, 7))]
    shown = np.concatenate([array[np.isfinite(array) & (array != 0)], long(edges)])
    texts = [np.format_float_scientific(number, unique=True, trim="-", exp_digits=1) for number in shown]
    lines.append(["x87", "text", shown.tobytes().hex(), texts])
    texts, some = [], b""
    for bits in [1 << 112, 0x3FFF << 112, 0x7FFE << 112 | (1 << 112) - 1, 1, 0x4000 << 112] + [int.from_bytes(quads[at : at + 16], "little") for at in range(0, 800, 16)]:
        exponent = max(bits >> 112 & 0x7FFF, 1) - 16383 - 112
        mantissa = (bits & (1 << 112) - 1) + ((bits >> 112 & 0x7FFF > 0) << 112)
        number = Fraction(mantissa) * Fraction(2) ** exponent
        below = number - Fraction(2) ** (exponent - (2 if mantissa == 1 << 112 and exponent > -16494 else 1))
        above = number + Fraction(2) ** (exponent - 1)
        power = int((mantissa.bit_length() + exponent) * 0.30103) + 2
        while Fraction(10) ** power > number:
            power -= 1
        for count in range(36):
            unit = Fraction(10) ** (power - count)
            digits = round(number / unit)
            if below < digits * unit < above or mantissa % 2 == 0 and digits * unit in (below, above):
                break
        point = power + len(str(digits)) - count - 1
        text = str(digits).rstrip("0")
        texts.append(("-" if bits >> 127 else "") + text[0] + ("." + text[1:] if text[1:] else "") + f"e{point:+}")
        some += bits.to_bytes(16, "little")
    lines.append(["quad", "text", some.hex(), texts])
    (HERE / "longdouble.jsonl").write_text(
        "\n".join(json.dumps(line) for line in lines) + "\n", encoding="ascii", newline="\n"
    )


def narrow():
    """The numbers of `ml_dtypes`: for each type, a file of all codes that `numpy.save` makes and their values as f8, and numbers of
    NumPy's own types, and the codes that they become."""
    lines = []
    rng = np.random.default_rng(8)
    names = sorted(name for name in dir(ml_dtypes) if re.fullmatch(r"(bfloat|float|int|uint)[0-9]+.*", name))
    for name in names:
        dtype = np.dtype(getattr(ml_dtypes, name))
        is_float, bits = "float" in name, int(re.search("[0-9]+", name)[0])
        codes = np.arange(2**bits, dtype=f"u{dtype.itemsize}")
        values = codes.view(dtype).astype("f8")
        file = io.BytesIO()
        np.save(file, (codes[::97] if bits == 16 else codes).view(dtype))
        known = values[::97] if bits == 16 else values
        line = {"type": name, "file": file.getvalue().hex(), "values": known.astype("<f8").tobytes().hex(), "from": {}}
        with np.errstate(all="ignore"):
            finite = np.unique(values[np.isfinite(values)])[:: 199 if bits == 16 else 1]
            middle = (finite[1:] + finite[:-1]) / 2
            edges = [0.0, -0.0, np.inf, -np.inf, np.nan, -np.nan, 1e300, -1e300, 5e-324, 1e-40, -1e-40, 1e-45, 3e38, finite[-1] * 1.01, finite[-1] * 1.1]
            spread = rng.choice([-1, 1], 30) * np.ldexp(rng.uniform(1, 2, 30), rng.integers(-30, 20, 30)) # exact on every machine
            near = middle[:: 3 if bits == 8 else 1].astype("f4")
            floats = np.concatenate([middle, np.nextafter(near, np.float32(np.inf)), np.nextafter(near, np.float32(-np.inf)),
                                     np.nextafter(middle[::9], np.inf), edges, spread])
            if not is_float:
                limits = ml_dtypes.iinfo(dtype)
                # Beyond the range of an integer, the result depends on the machine.
                floats = np.array([x for x in np.linspace(int(limits.min), int(limits.max), 31)] + [-0.0, int(limits.max) + 0.0])
            for code in ("<f8", ">f4", "<f2", "<i8", "|i1", "<u8", ">u2", "|b1"):
                few = floats if code == "<f8" else floats[::7]
                source = few.astype(code) if code[1] in "fb" else np.array([*range(17), 100, 127, 133, 200, *(2**rng.integers(0, 62, 9))]).astype(code)
                if code[1] == "i":
                    source = np.concatenate([source, -source])
                if is_float and code[1] == "f":
                    source = source if code != "<f2" else source[np.abs(source) < 6e4]
                line["from"][code] = [source.tobytes().hex(), source.astype(dtype).tobytes().hex()]
        lines.append(json.dumps(line))
    (HERE / "narrow.jsonl").write_text("\n".join(lines) + "\n", encoding="ascii", newline="\n")


def raw(array):
    file = io.BytesIO()
    np.lib.format.write_array(file, array)
    return file.getvalue()


def add(name, blob, *arrays, expect="ok", also=(), **more):
    file = f"{name}.npy" if more.get("written") else f"{name}.bin"
    (HERE / file).write_bytes(blob)
    LINES.append({"id": name, "file": file, "kind": "npy", "expect": expect, "also": list(also), **more,
                  "arrays": list(arrays)})


if __name__ == "__main__":
    main()
