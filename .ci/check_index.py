"""Reads the archives in testdata/index as docs/internals/block-index.md says, without this library, and compares what it finds with
what their writer expected.

Independence is decided in the simplest way: what each block says alone is compared with what the stream says there.
"""

import json
import struct
import sys
import zlib
from pathlib import Path

try:
    from compression import zstd
except ImportError:
    from backports import zstd

HEAD = bytes.fromhex("28b52ffd0050")
FLUSH = b"\x00\x00\xff\xff"


class Unusable(Exception):
    pass


def members(archive):
    """The only member of an archive: how it is compressed, checksum, lengths, extra fields and stream."""
    at = archive.rindex(b"PK\1\2")
    flags, method, _, crc, packed, size, name, extra = struct.unpack_from("<HHIIIIHH", archive, at + 8)
    fields, place = [], at + 46 + name
    while place < at + 46 + name + extra:
        identifier, length = struct.unpack_from("<HH", archive, place)
        fields.append((identifier, archive[place + 4 : place + 4 + length]))
        place += 4 + length
    local = struct.unpack_from("<I", archive, at + 42)[0]
    name, extra = struct.unpack_from("<HH", archive, local + 26)
    start = local + 30 + name + extra
    return flags, method, crc, size, fields, archive[start : start + packed]


def read_field(field, method, flags, crc, size, packed):
    """The blocks of an index, each with its place in the stream, its length and its checksum; or else a word."""
    if len(field) < 22 or field[0] != 1:  # R1
        return "ignored"
    if struct.unpack_from("<IQQ", field, 2) != (crc, size, packed):  # R2
        return "stale"
    log = field[1]
    if not 16 <= log <= 62 or (len(field) - 22) % 8:  # R3
        return "ignored"
    entries = list(struct.iter_unpack("<II", field[22:]))
    count = -(-size >> log)
    if count < 2 or len(entries) != count or log > 20 and count <= 2030:
        return "ignored"
    blocks, at, combined = [], 0, 0
    ratio = {8: 1032, 93: 32768}.get(method)
    if ratio is None or flags & 1:  # R5
        return "ignored"
    for number, (length, block_crc) in enumerate(entries):  # R4
        content = min(1 << log, size - (number << log))
        if content > length * ratio:
            return "ignored"
        blocks.append((at, at + length, content, block_crc))
        at += length
        combined = combine(combined, block_crc, content)
    return blocks if (at, combined) == (packed, crc) else "ignored"


def combine(first, second, length):
    """The CRC-32 of two parts, of which the second has this length."""
    # A checksum is a remainder: the first is moved on by `length` bytes of zeros. What zlib adds at the beginning and the end cancels.
    zeros = bytes(length)
    return zlib.crc32(zeros, first) ^ zlib.crc32(zeros) ^ second


def decode(method, stream):
    """The content as a program makes it that does not know the index, and whether it has further frames."""
    if method == 0:
        return stream, False
    if method == 8:
        decoder = zlib.decompressobj(-15)
        content = decoder.decompress(stream)
        if not decoder.eof or decoder.unused_data:
            raise zlib.error("not one stream")
        return content, False
    decoder = zstd.ZstdDecompressor()
    first = decoder.decompress(stream)
    content = zstd.decompress(stream)
    return content, len(content) > len(first)


def block_alone(method, packed, is_first, is_last, length):  # R6 and R7
    try:
        if method == 8:
            decoder = zlib.decompressobj(-15)
            content = decoder.decompress(packed)
            if not is_last:
                if not packed.endswith(FLUSH) or decoder.eof or len(content) != length:
                    raise Unusable("the end of a block")
                content += decoder.decompress(b"\1" + FLUSH)
            if not decoder.eof or decoder.unused_data:
                raise Unusable("not at an end")
        else:
            if is_first and not packed.startswith(HEAD):
                raise Unusable("another header")
            decoder = zstd.ZstdDecompressor()
            content = decoder.decompress(packed if is_first else HEAD + packed)
            if not is_last:
                if decoder.eof or len(content) != length:
                    raise Unusable("the end of a block")
                content += decoder.decompress(b"\1\0\0")
            if not decoder.eof or decoder.unused_data:
                raise Unusable("not at an end")
    except (zlib.error, zstd.ZstdError) as error:
        raise Unusable(str(error)) from error
    if len(content) != length:
        raise Unusable("another length")
    return content


def look(path):
    flags, method, crc, size, fields, stream = members(path.read_bytes())
    state, blocks = "absent", None
    for identifier, field in fields:
        if identifier == 0x646E and blocks is None:
            found = read_field(field, method, flags, crc, size, len(stream))
            if isinstance(found, list):
                state, blocks = "used", found
            elif state == "absent":
                state = found
    found = {"state": state}
    try:
        content, more_frames = decode(method, stream)
    except (zlib.error, zstd.ZstdError):
        content = None
    found["reads"] = content is not None and (len(content), zlib.crc32(content)) == (size, crc)
    if not found["reads"]:
        return found
    remarks = {"stale": ["stale"], "ignored": ["unusable"]}.get(state, [])
    at = 0
    for number, (start, end, length, block_crc) in enumerate(blocks or []):
        try:
            alone = block_alone(method, stream[start:end], number == 0, number + 1 == len(blocks), length)
            if zlib.crc32(alone) != block_crc:
                raise Unusable("another checksum")
            if alone != content[at : at + length]:
                # In Zstandard, it has used offsets that it has not set.
                if method == 93:
                    raise Unusable("another content")
                remarks.append("differs")
                break
        except Unusable:
            remarks.append("unusable")
            break
        at += length
    if more_frames:
        remarks.append("frames")
    return found | {"remark": " ".join(remarks) or None, "crc": zlib.crc32(content), "size": len(content)}


folder = Path(sys.argv[1])
expected = json.loads((folder / "expected.json").read_text())
wrong = 0
for name, wanted in expected.items():
    found = look(folder / f"{name}.npz")
    wanted = {key: value for key, value in wanted.items() if key != "rule"}
    if found != wanted:
        wrong += 1
        print(f"{name}: {found} instead of {wanted}")
if wrong or len(expected) < 40:
    sys.exit(f"{wrong} of {len(expected)} archives are not as expected")
print(f"{len(expected)} archives are as their writer expected")
