"""Makes testdata/ra: RA files, each with the array that it holds as NumPy saves it, and ra.jsonl, which lists them.

Nothing of the library is used: headers are packed with struct, elements come from NumPy, and the packings are written here from
their descriptions.
"""

import json
import pathlib
import struct

import numpy as np

HERE = pathlib.Path(__file__).parent / "ra"
LINES = []
KINDS = {"i": 1, "u": 2, "f": 3, "c": 4, "V": 0}
BIG, PACKED, BITS = 1, 2, 4


def header(flags, eltype, elbyte, size, dims, order="<"):
    numbers = [int.from_bytes(b"rawarray", "little"), flags, eltype, elbyte, size, len(dims), *dims]
    return struct.pack(f"{order}{len(numbers)}Q", *numbers)


def elements(array):
    """The first axis varies fastest."""
    return array.tobytes(order="F")


def add(name, blob, array=None, expect="ok", **more):
    (HERE / f"{name}.ra").write_bytes(blob)
    if array is not None:
        np.save(HERE / f"{name}.npy", array)
    LINES.append({"id": name, "expect": expect, **more})


def plain(name, array, flags=0, eltype=None, order="<", **more):
    eltype = KINDS[array.dtype.kind] if eltype is None else eltype
    data = elements(array)
    add(name, header(flags, eltype, array.dtype.itemsize, len(data), array.shape, order) + data, array, **more)


def leb128(numbers, signed):
    packed = bytearray()
    for number in map(int, numbers):
        if signed:
            number = number << 1 if number >= 0 else (-number << 1) - 1
        while number > 127:
            packed.append(number & 127 | 128)
            number >>= 7
        packed.append(number)
    return bytes(packed)


def length(number):
    """What follows the four bits of a length in LZ4."""
    if number < 15:
        return b""
    number -= 15
    return b"\xff" * (number // 255) + bytes([number % 255])


def lz4(data):
    """A block of LZ4: runs of the byte before become matches of offset 1, all else stays as it is."""
    packed, start, at = bytearray(), 0, 1
    while at < len(data) - 12:  # the last match begins 12 bytes before the end at the latest
        end = at
        while end < len(data) - 5 and data[end] == data[at - 1]:
            end += 1
        if end - at < 4:
            at += 1
            continue
        literals = data[start:at]
        packed.append(min(len(literals), 15) << 4 | min(end - at - 4, 15))
        packed += length(len(literals)) + literals + b"\x01\x00" + length(end - at - 4)
        start = at = end
    literals = data[start:]
    packed.append(min(len(literals), 15) << 4)
    return bytes(packed + length(len(literals)) + literals)


def more():
    """What RawArray.jl writes with compress=true (rawrite in its source): a number of variable length for each bool, as for each integer, and
    all else as it is."""
    rng = np.random.default_rng(50)
    bools = np.asfortranarray(rng.integers(0, 2, (5, 4)).astype(bool))
    packed = leb128(bools.flatten(order="F"), False)
    add("julia-bools", header(PACKED, 5, 1, bools.nbytes, bools.shape) + packed, bools)
    plain("python-bools", bools.view("V1"))  # as ra.py writes them
    packed = leb128(np.zeros(6), False)
    add("julia-bools-false", header(PACKED, 5, 1, 6, (6,)) + packed, np.zeros(6, bool))
    points = np.asfortranarray((rng.normal(size=(3, 2)) + 1j * rng.normal(size=(3, 2))).astype("<c8"))
    plain("julia-complex", points, flags=PACKED)
    plain("julia-half", points.real.astype("<f2", order="F"), flags=PACKED)
    plain("marked-ints", np.frombuffer(rng.bytes(200) + b"\x80", "u1"), flags=PACKED, expect="bad_packing", ignoring_flags="ok")
    blob = bytes([0, 1, 2, 1])
    add("julia-bools-2", header(PACKED, 5, 1, 4, (4,)) + blob, np.frombuffer(blob, bool), expect="bad_packing", ignoring_flags="ok")
    add("bad-julia-bools-cut", header(PACKED, 5, 1, 4, (4,)) + bytes([0, 1, 1]), expect="truncated")
    add("julia-bools-trailing", header(PACKED, 5, 1, bools.nbytes, bools.shape) + elements(bools) + b"a note", bools, trailing="a note")
    plain("julia-complex-big", points.astype(">c8", order="F"), flags=PACKED | BIG)
    data = elements(points)
    add("julia-complex-trailing", header(PACKED, 4, 8, len(data), points.shape) + data + b"a note", points, trailing="a note")
    # Numbers of 128 bits, which NumPy does not have.
    wide = [0, 1, -1, 2**64, -(2**127), 2**127 - 1]
    blob = b"".join(number.to_bytes(16, "little", signed=True) for number in wide)
    add("julia-int128", header(PACKED, 1, 16, len(blob), (6,)) + leb128(wide, True), np.frombuffer(blob, "V16"))
    # Of one byte each, which could also be blocks of LZ4 that a decoder accepts.
    for number, values in enumerate([[16, 97, 1, 0, 0], [16, 7, 1, 0, 16, 9]]):
        plain(f"julia-small-{number}", np.array(values, "u1"), flags=PACKED)
    # Floats of which a block happens to be as long as they are.
    for count in range(1, 200):
        floats = np.concatenate([rng.normal(size=1), [0.0], rng.normal(size=count)])
        data = elements(floats)
        packed = lz4(data)
        if len(packed) == len(data):
            add("lz4-same-length", header(PACKED, 3, 8, len(data), floats.shape) + packed, floats)
            break
    else:
        raise AssertionError("no such block was found")


def main():
    HERE.mkdir(exist_ok=True)
    rng = np.random.default_rng(6)
    shapes = [(), (5,), (3, 4), (2, 3, 4), (0,), (3, 0), (1, 5), (5, 1)]
    for code in ["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", "c8", "c16"]:
        for index, shape in enumerate(shapes if code in ["u1", "i4", "c8"] else shapes[1:4]):
            raw = np.frombuffer(rng.bytes(int(np.prod(shape)) * np.dtype(code).itemsize), code).reshape(shape, order="F")
            raw = np.asfortranarray(raw) if np.dtype(code).kind in "iu" else np.asfortranarray((np.arange(raw.size) / 7 - 1).astype(code).reshape(shape))
            same = "same" if raw.dtype.kind != "b" else None
            plain(f"{code}-{index}-little", raw.astype("<" + code, order="F"), back=same)
            if raw.dtype.itemsize > 1:
                plain(f"{code}-{index}-big", raw.astype(">" + code, order="F"), flags=BIG, back=same)
    k = np.arange(12.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        page = np.empty(12, "c8")
        page.real, page.imag = k, -(1 / k)
    plain("page", page.reshape(3, 4, order="F"), back="same")

    record = np.zeros(7, [("info", "S12"), ("index", "<u4"), ("v", "<f8", 8)])
    record["info"], record["index"] = [f"number {i}" for i in range(7)], np.arange(7) ** 9
    record["v"] = rng.normal(size=(7, 8))
    plain("composite", record.view("V80"), back="same")
    big = record.astype([("info", "S12"), ("index", ">u4"), ("v", ">f8", 8)])
    plain("composite-big", big.view("V80"), flags=BIG)
    plain("raw-int-3", np.frombuffer(rng.bytes(12), "V3"), eltype=1)
    plain("raw-float-3", np.frombuffer(rng.bytes(12), "V3"), eltype=3)
    plain("complex-2x16", np.frombuffer(np.arange(12, dtype="<f2").tobytes(), "V4"), eltype=4)
    plain("bool", np.array([[True, False, True], [False, False, True]], order="F"), eltype=5, back="eltype_5")
    plain("bf16", np.frombuffer(np.array([1.0, -2.5, 256.0], "<f4").tobytes(), "V2")[1::2].copy(), eltype=5, back="eltype_5")

    numbers = np.asfortranarray(rng.integers(-9, 9, (3, 4)).astype("i4"))
    plain("julia-on-big-endian", numbers.astype(">i4", order="F"), flags=BIG, order=">")
    data = elements(numbers.astype(">i4"))
    add("c-on-big-endian", header(0, 1, 4, len(data), (3, 4), ">") + data, numbers.astype(">i4", order="F"))

    bits = rng.integers(0, 2, (9, 11)).astype(bool)
    words = np.packbits(bits.flatten(order="F"), bitorder="little").tobytes()
    words += bytes(-len(words) % 8)
    add("bits", header(PACKED | BITS, 5, 8, len(words), bits.shape) + words, np.asfortranarray(bits))
    add("bits-unmarked", header(BITS, 5, 8, len(words), bits.shape) + words, np.asfortranarray(bits))

    image = np.zeros((40, 30), "<u2", order="F")
    image[5:9, 3:20] = rng.integers(0, 9, (4, 17))
    data = elements(image)
    packed = lz4(data)
    add("lz4", header(PACKED, 2, 2, len(packed), image.shape) + packed, image)
    add("lz4-trailing", header(PACKED, 2, 2, len(packed), image.shape) + packed + b"a note", image, trailing="a note")
    swapped = lz4(elements(image.astype(">u2")))
    add("lz4-big", header(PACKED | BIG, 2, 2, len(swapped), image.shape) + swapped, image.astype(">u2", order="F"))
    literal = np.frombuffer(rng.bytes(900), "u1")
    add("lz4-grown", header(PACKED, 2, 1, len(lz4(literal.tobytes())), literal.shape) + lz4(literal.tobytes()), literal)
    for code in ["i4", "u2", "i8", "u1"]:
        info = np.iinfo(code)
        values = np.concatenate([[0, 1, 63, 64, info.min, info.max], rng.integers(0, 99, 30)]).astype("<" + code).reshape(6, 6, order="F")
        values = np.asfortranarray(values)
        packed = leb128(values.flatten(order="F"), info.min < 0)
        add(f"leb128-{code}", header(PACKED, KINDS[code[0]], values.itemsize, values.nbytes, values.shape) + packed, values)

    floats = np.asfortranarray(rng.normal(size=(3, 4)))
    plain("marked-but-plain", floats, flags=PACKED)  # as RawArray.jl marks floats that it should compress
    plain("unknown-flag", floats, flags=1 << 7, expect="unknown_flags", ignoring_flags="ok")
    plain("bits-of-floats", floats, flags=BITS, expect="unknown_flags", ignoring_flags="ok")
    good = header(0, 3, 8, 96, (3, 4)) + elements(floats)
    add("trailing", good + b"taken on Monday", floats, trailing="taken on Monday")
    for end in [0, 1, 7, 8, 47, 48, 55, 63, 64, 159]:
        add(f"bad-cut-{end}", good[:end], expect="truncated")
    add("bad-magic", b"rawarrax" + good[8:], expect="bad_magic")
    add("bad-size", header(0, 3, 8, 95, (3, 4)) + elements(floats), expect="bad_header")
    add("bad-size-bits", header(BITS, 5, 8, 8, (65,)) + bytes(8), expect="bad_header")
    add("bad-eltype", header(0, 6, 8, 96, (3, 4)) + elements(floats), expect="bad_header")
    add("bad-elbyte", header(0, 0, 1 << 40, 0, (0,)), expect="bad_header")
    add("bad-ndims", header(0, 3, 8, 96, (1,) * 65) + bytes(96), expect="limit")
    add("bad-ndims-huge", struct.pack("<6Q", int.from_bytes(b"rawarray", "little"), 0, 3, 8, 96, 1 << 60), expect="limit")
    add("bad-product", header(0, 3, 8, 0, (1 << 32, 1 << 32)), expect="overflow")
    add("bad-empty-product", header(0, 3, 8, 0, (0, 1 << 40, 1 << 40)), expect="overflow")
    add("bad-promise", header(0, 3, 8, 8 << 40, (1 << 40,)), expect="truncated")
    packed = lz4(data)
    for name, block in [("garbage", rng.bytes(len(packed))), ("short", lz4(data[:-1])), ("long", lz4(data + b"\0")),
                        ("cut", packed[:-1]), ("offset-0", packed.replace(b"\x01\x00", b"\x00\x00", 1)), ("empty", b"")]:
        add(f"bad-lz4-{name}", header(PACKED, 2, 2, len(block), image.shape) + block, expect="bad_packing")
    add("bad-lz4-bomb", header(PACKED, 2, 8, 100, (1 << 36,)) + bytes(100), expect="bad_packing")
    add("bad-lz4-promise", header(PACKED, 2, 2, 1 << 50, image.shape) + packed, expect="truncated")
    add("bad-leb128-cut", header(PACKED, 1, 4, 144, (36,)) + bytes(35), expect="truncated")
    add("bad-leb128-long", header(PACKED, 1, 4, 144, (36,)) + bytes(37), expect="truncated")
    for eltype in range(1, 6):
        add(f"bad-size-0-{eltype}", header(0, eltype, 0, 0, (3,)), expect="bad_header")
    add("bad-complex-3", header(0, 4, 3, 9, (3,)) + bytes(9), expect="bad_header")
    more()
    (HERE / "ra.jsonl").write_text("".join(json.dumps(line) + "\n" for line in LINES))


if __name__ == "__main__":
    main()
