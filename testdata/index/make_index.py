"""Makes the archives of this folder: members with block indexes that follow docs/internals/block-index.md, and that do not.

Written from that page, without this library. What the tests expect of each archive is in `expected.json`, which says what this
script meant. Python's decoders say, at the end, that the streams are what other programs read.

    python make_index.py        needs Python 3.14, or the package backports.zstd
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

from forge_deflate import forged

FOLDER = Path(__file__).parent
STORED, DEFLATED, BZIP2, ZSTD = 0, 8, 12, 93
FLUSH = b"\x00\x00\xff\xff"
HEAD = bytes.fromhex("28b52ffd0050")


def header(count, dtype):
    text = f"{{'descr': '{dtype}', 'fortran_order': False, 'shape': ({count},), }}".encode()
    text += b" " * (118 - len(text) - 1) + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", 118) + text


def npy(count):
    """An array of numbers that compress well, and differ from block to block."""
    return header(count, "<u4") + b"".join(struct.pack("<I", at // 100 * 7919) for at in range(count))


def bytes_of(count, start):
    """The first block of an array of bytes that ends in the second, which has `count`."""
    return (header((1 << 16) + count - 128, "|u1") + bytes(range(256)) * 256)[: (1 << 16) - len(start)] + start


def cut(content, log):
    return [content[at : at + (1 << log)] for at in range(0, len(content), 1 << log)]


# Streams, as a list with what is compressed of each block.


def deflated(blocks, flush=zlib.Z_FULL_FLUSH):
    """One stream, flushed after each block but the last."""
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    packed = [packer.compress(block) + packer.flush(flush) for block in blocks[:-1]]
    return packed + [packer.compress(blocks[-1]) + packer.flush()]


def zstandard(blocks, **more):
    """One frame, of which each block is a job that a worker compresses without what is before it."""
    options = {"nb_workers": 1, "overlap_log": 1, "job_size": 2 << 20, "window_log": 20, "content_size_flag": 0, **more}
    packer = zstd.ZstdCompressor(options={zstd.CompressionParameter[name]: value for name, value in options.items()})
    packed = [packer.compress(block, packer.FLUSH_BLOCK) for block in blocks[:-1]]
    return packed + [packer.compress(blocks[-1], packer.FLUSH_FRAME)]


def zstd_block(kind, content, length=None, last=False):
    head = (len(content) if length is None else length) << 3 | kind << 1 | last
    return struct.pack("<I", head)[:3] + content


def raw_blocks(content, last=False):
    parts = cut(content, 17)
    return b"".join(zstd_block(0, part, last=last and part is parts[-1]) for part in parts)


def copying_block(literals, offset_value, length):
    """A compressed block of at most 15 literals and one match: all three codes are written as one symbol each."""
    code = offset_value.bit_length() - 1
    section = bytes([len(literals) << 3]) + literals
    section += bytes([1, 0b01_01_01_00, len(literals), code, length - 3])
    # The extra bits of the offset, and above them the bit that marks the end: together, the value itself.
    section += offset_value.to_bytes(code // 8 + 1, "little")
    return zstd_block(2, section)


# The index, and archives of one member.


def index(blocks, packed, log, version=1, crc=None, size=None, packed_size=None, lengths=None, sums=None, more=b""):
    content, stream = b"".join(blocks), b"".join(packed)
    field = struct.pack(
        "<BBIQQ",
        version,
        log,
        zlib.crc32(content) if crc is None else crc,
        len(content) if size is None else size,
        len(stream) if packed_size is None else packed_size,
    )
    lengths = lengths or [len(part) for part in packed]
    sums = sums or [zlib.crc32(block) for block in blocks]
    for length, crc in zip(lengths, sums):
        field += struct.pack("<II", length, crc)
    return struct.pack("<HH", 0x646E, len(field) + len(more)) + field + more


def archive(name, method, content, stream, extra):
    file_name = b"a.npy"
    common = struct.pack("<HHIIII", 0, method, 0x210000, zlib.crc32(content), len(stream), len(content))
    needed = struct.pack("<H", 63 if method == ZSTD else 20)
    local = b"PK\3\4" + needed + common + struct.pack("<HH", len(file_name), 0) + file_name
    central = b"PK\1\2" + needed + needed + common
    central += struct.pack("<HHHHHII", len(file_name), len(extra), 0, 0, 0, 0, 0) + file_name + extra
    at = len(local) + len(stream)
    end = b"PK\5\6" + struct.pack("<HHHHIIH", 0, 0, 1, 1, len(central), at, 0)
    (FOLDER / f"{name}.npz").write_bytes(local + stream + central + end)


EXPECTED = {}


def vector(name, rule, state, method, blocks, packed, log, reads=True, remark=None, fields=None, content=None, **other):
    """Writes an archive and what is expected of a reader.

    `state`: what the directory alone says of the index: "used", "stale" or "ignored". `reads`: whether the member can be read at
    all, as programs that do not know the index read it. `remark`: what verifying says of a readable member; it refuses one of
    which a block follows the rules and nevertheless "differs" from the stream.
    """
    content = b"".join(blocks) if content is None else content
    fields = [index(blocks, packed, log, **other)] if fields is None else fields
    archive(name, method, content, b"".join(packed), b"".join(fields))
    remark = {"stale": "stale", "ignored": "unusable"}.get(state, remark)
    EXPECTED[name] = {"rule": rule, "state": state, "reads": reads}
    if reads:
        EXPECTED[name] |= {"remark": remark, "crc": zlib.crc32(content), "size": len(content)}


def conforming():
    small, large = npy(55_000), npy(700_000)
    for log, content in [(16, small), (20, large)]:
        blocks = cut(content, log)
        vector(f"deflate-{log}", "W1 W3", "used", DEFLATED, blocks, deflated(blocks), log)
        vector(f"zstd-{log}", "W1 W4", "used", ZSTD, blocks, zstandard(blocks), log)
    pieces = deflated(cut(small, 16))
    pairs = [b"".join(pieces[at : at + 2]) for at in range(0, len(pieces), 2)]
    vector("deflate-pieces", "W3", "used", DEFLATED, cut(small, 17), pairs, 17)
    whole = cut(npy((3 << 16) // 4 - 32), 16)
    assert len(whole[-1]) == 1 << 16
    vector("whole-blocks", "W1", "used", DEFLATED, whole, deflated(whole), 16)
    # Without an encoder: blocks that are not compressed, a run, and matches at an offset that the block has set before.
    first, last = cut(npy(16_400), 16)
    raw = [HEAD + raw_blocks(first), raw_blocks(last, last=True)]
    vector("zstd-raw", "W4", "used", ZSTD, [first, last], raw, 16)
    start = bytes_of(123, b"")
    own = [HEAD + raw_blocks(start), b""]
    own[1] = raw_blocks(b"0123456789") + copying_block(b"abc", 13 + 3, 5) + copying_block(b"d", 1, 4)
    own[1] += zstd_block(1, b"z", 100, last=True)
    made = b"0123456789abc01234d"
    made += made[-13:][:4] + b"z" * 100
    vector("zstd-own-offsets", "W4", "used", ZSTD, [start, made], own, 16)
    # More than one field.
    blocks = cut(small, 16)
    packed = deflated(blocks)
    sound, stale = index(blocks, packed, 16), index(blocks, packed, 16, crc=1)
    later, time = index(blocks, packed, 16, version=2), struct.pack("<HHBI", 0x5455, 5, 1, 0)
    vector("stale-first", "R1", "used", DEFLATED, blocks, packed, 16, fields=[time, stale, sound, time])
    vector("later-first", "R1", "used", DEFLATED, blocks, packed, 16, fields=[later, sound])


def contradicting():
    """The directory is enough to see that the index is not for use."""
    blocks = cut(npy(55_000), 16)
    packed = deflated(blocks)
    lengths, sums = [len(part) for part in packed], [zlib.crc32(block) for block in blocks]

    def bad(name, rule, state="ignored", log=16, **other):
        vector(name, rule, state, DEFLATED, blocks, packed, log, **other)

    bad("version-2", "R1", version=2)
    bad("version-0", "R1", version=0)
    bad("short-field", "R1", fields=[struct.pack("<HH", 0x646E, 20) + index(blocks, packed, 16)[4:24]])
    bad("stale-crc", "R2", "stale", crc=zlib.crc32(b"other content"))
    bad("stale-size", "R2", "stale", size=sum(map(len, blocks)) + 1)
    bad("stale-packed", "R2", "stale", packed_size=sum(lengths) - 1)
    bad("flag-6", "R3", log=16 | 1 << 6)
    bad("flag-7", "R3", log=16 | 1 << 7)
    bad("other-step", "R3", log=17)
    fine = cut(b"".join(blocks), 15)
    vector("step-15", "R3", "ignored", DEFLATED, fine, deflated(fine), 15)
    coarse = cut(npy(700_000), 21)
    vector("step-21", "R3", "ignored", DEFLATED, coarse, deflated(coarse), 21)
    one = cut(npy(1000), 16)
    vector("one-block", "R3", "ignored", DEFLATED, one, deflated(one), 16)
    bad("entry-less", "R3", lengths=lengths[:-1])
    bad("entry-more", "R3", lengths=[*lengths, 0], sums=[*sums, 0])
    bad("byte-more", "R3", more=b"\0")
    bad("sum-of-lengths", "R4", lengths=[lengths[0] + 1, *lengths[1:]])
    bad("other-sum", "R4", sums=[sums[0] ^ 1, *sums[1:]])
    bad("sums-exchanged", "R4", sums=[sums[1], sums[0], *sums[2:]])
    bad("too-dense", "R4", lengths=[63, lengths[1] + lengths[0] - 63, *lengths[2:]])
    tiny = cut(npy(16_400), 16)
    vector("stored", "R5", "ignored", STORED, tiny, tiny, 16)
    vector("stored-stale", "R2", "stale", STORED, tiny, tiny, 16, crc=1)


def lying():
    """Nothing in the directory contradicts itself, but the blocks are not what the rules say."""
    blocks = cut(npy(55_000), 16)
    packed = deflated(blocks)
    lengths = [len(part) for part in packed]

    def lie(name, rule, method, blocks, packed, **other):
        vector(name, rule, "used", method, blocks, packed, 16, **{"remark": "unusable", **other})

    for more in [1, -1, 5]:
        moved = [lengths[0] + more, lengths[1] - more, *lengths[2:]]
        lie(f"boundary{more:+}", "R6", DEFLATED, blocks, packed, lengths=moved)
    # The bytes fit, but the second block refers to the first.
    lie("sync-flush", "R6", DEFLATED, blocks, deflated(blocks, zlib.Z_SYNC_FLUSH))
    # Stored blocks, cut where one ends, but without the flush that a reader looks for.
    tiny = cut(npy(16_400), 16)
    bare = [b"".join(b"\0" + struct.pack("<HH", len(part), len(part) ^ 0xFFFF) + part for part in cut(block, 15)) for block in tiny]
    lie("no-flush", "R6", DEFLATED, tiny, [bare[0], bare[1] + b"\1" + FLUSH])
    # The last Deflate block of the first block of the index is marked as the last of the stream, and has five bytes of
    # content more than it has: those that a reader appends. For other programs the stream is another, and too short.
    first, appended = bytes(65531), b"\1" + FLUSH
    early = b"\0" + struct.pack("<HH", 65527, 65527 ^ 0xFFFF) + first[:65527] + b"\1" + struct.pack("<HH", 9, 9 ^ 0xFFFF) + FLUSH
    lie("early-end", "R6", DEFLATED, [first[:65527] + FLUSH + appended, *blocks[1:]], [early, *packed[1:]], reads=False)

    first, alone, framed, opened, second = forged(header)
    vector("deflate-forged", "R6", "used", DEFLATED, [first, alone], [opened, second], 16, remark="differs", content=first + framed)

    sound = zstandard(blocks)
    lie("zstd-window", "R7", ZSTD, blocks, [HEAD[:5] + b"\x48" + sound[0][6:], *sound[1:]])
    size = b"\x28\xb5\x2f\xfd\x80\x50" + struct.pack("<I", sum(map(len, blocks)))
    lie("zstd-content-size", "R7", ZSTD, blocks, [size + sound[0][6:], *sound[1:]])
    lie("zstd-checksum", "R7", ZSTD, blocks, zstandard(blocks, checksum_flag=1))
    frames = [zstd.compress(block) for block in blocks]
    lie("zstd-frames", "R7", ZSTD, blocks, frames, remark="unusable frames")
    # Compressed one after another by one thread, so that a block may use what is before it.
    lie("zstd-window-used", "R7", ZSTD, blocks, zstandard(blocks, nb_workers=0))
    # The second block repeats an offset that it has not set. Alone it means 1, the first offset of a frame, and
    # copies the last byte. In its frame it means 16, because the first block has set that.
    first = bytes_of(121, b"sixteen bytes 0k" + b"sixteen")
    starts = HEAD + raw_blocks(first[:-7]) + copying_block(b"", 16 + 3, 7)
    alone_copy = b"!" * 5
    # The two differ by the polynomial of CRC-32 itself, so both have the same checksum.
    framed_copy = bytes(one ^ two for one, two in zip(alone_copy, POLYNOMIAL))
    before = framed_copy + b"in between" + b"!"
    repeats = raw_blocks(before[:-1]) + copying_block(b"!", 1, 5) + zstd_block(1, b"z", 100, last=True)
    alone, framed = (before + copy + b"z" * 100 for copy in (alone_copy, framed_copy))
    assert zlib.crc32(alone) == zlib.crc32(framed) and alone != framed
    vector("zstd-forged", "R7", "used", ZSTD, [first, alone], [starts, repeats], 16, remark="unusable", content=first + framed)
    # The same by mistake: the index and the directory have the checksum of what each block says alone.
    other = before[1:2] + before[1:]
    mistaken = raw_blocks(other[:-1]) + copying_block(b"!", 1, 5) + zstd_block(1, b"z", 100, last=True)
    alone = other + alone_copy + b"z" * 100
    vector("zstd-mistaken", "R7", "used", ZSTD, [first, alone], [starts, mistaken], 16, reads=False)
    # What each block says is right, but one is damaged.
    broken = bytearray(packed[1])
    broken[len(broken) // 2] ^= 0x55
    vector("damaged", "R9", "used", DEFLATED, blocks, [packed[0], bytes(broken), *packed[2:]], 16, reads=False)


# CRC-32 is a remainder modulo this polynomial of 33 bits, in the order in which the bits are processed.
POLYNOMIAL = (0xEDB88320 << 1 | 1).to_bytes(5, "little")


def check():
    """Compares what each archive is expected to be with what Python's decoders make of it."""
    for name, wanted in EXPECTED.items():
        bytes_ = (FOLDER / f"{name}.npz").read_bytes()
        central = bytes_.rindex(b"PK\1\2")
        method = struct.unpack_from("<H", bytes_, central + 10)[0]
        crc, packed, size = struct.unpack_from("<III", bytes_, central + 16)
        stream = bytes_[35 : 35 + packed]
        try:
            if method == STORED:
                content = stream
            elif method == DEFLATED:
                decoder = zlib.decompressobj(-15)
                content = decoder.decompress(stream)
                assert decoder.eof and not decoder.unused_data
            else:
                content = zstd.decompress(stream)
            reads = (len(content), zlib.crc32(content)) == (size, crc)
        except (AssertionError, zlib.error, zstd.ZstdError):
            reads = False
        assert reads == wanted["reads"], name


conforming()
contradicting()
lying()
check()
(FOLDER / "expected.json").write_text(json.dumps(EXPECTED, indent=1) + "\n")
print(len(EXPECTED), "archives", file=sys.stderr)
