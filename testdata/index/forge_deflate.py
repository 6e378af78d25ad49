"""A member of which each block, decompressed alone, is what its entry says, and of which the stream is something else, with the
same length and the same CRC-32.

The first block is complete in content, but its last bytes begin the header of a further Deflate block, a dynamic one. `00 00 FF FF`
is part of that header, and so are the five bytes that a reader appends: with them, the header is complete and the block is empty.
In the stream, the header continues in the second block, whose bytes are then codes of six bits each.
"""

import bisect
import random
import struct
import zlib

FLUSH = b"\0\0\xff\xff"
LENGTHS = [3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 15, 17, 19, 23, 27, 31, 35, 43, 51, 59, 67, 83, 99, 115, 131, 163, 195, 227, 258]
STORED = 2048


class Bits:
    """Bits in the order of Deflate: numbers from their lowest bit on, codes from their highest."""

    def __init__(self):
        self.bits = []

    def number(self, value, count):
        self.bits += [value >> at & 1 for at in range(count)]

    def code(self, value, count):
        self.bits += [value >> at & 1 for at in reversed(range(count))]

    def to_bytes(self):
        return bytes(sum(bit << place for place, bit in enumerate(self.bits[at : at + 8])) for at in range(0, len(self.bits), 8))


def open_header():
    """A header of 257 and 20 code lengths, complete up to the 178th: 6 is written as `0`, and a run of zeros begins with `1`."""
    bits = Bits()
    for value, count in [(1, 1), (2, 2), (0, 5), (19, 5), (9 - 4, 4)]:
        bits.number(value, count)
    for symbol in [16, 17, 18, 0, 8, 7, 9, 6, 10]:
        bits.number(symbol in (6, 17), 3)
    for run in [10] * 14 + [5, 5]:
        bits.number(1, 1)
        bits.number(run - 3, 3)
    bits.bits += [0] * 28
    return bits.to_bytes()


def fixed_block(matches, literals):
    """A last block with the fixed codes: matches at the distance 1, literals, and ones up to a whole byte."""
    bits = Bits()
    bits.number(1, 1)
    bits.number(1, 2)
    for length in matches:
        place = bisect.bisect_right(LENGTHS, length) - 1
        symbol = 257 + place
        bits.code(*((symbol - 256, 7) if symbol < 280 else (0xC0 + symbol - 280, 8)))
        bits.number(length - LENGTHS[place], 0 if place < 8 or place == 28 else (place - 4) // 4)
        bits.code(0, 5)
    for literal in literals:
        bits.code(*((0x30 + literal, 8) if literal < 144 else (0x190 + literal - 144, 9)))
    bits.code(0, 7)
    padding = -len(bits.bits) % 8
    bits.bits += [1] * padding
    return bits.to_bytes(), padding


def inflate(stream):
    decoder = zlib.decompressobj(-15)
    content = decoder.decompress(stream)
    assert decoder.eof and not decoder.unused_data
    return content


def second_block(data, end):
    return b"\0" + struct.pack("<HH", STORED, STORED ^ 0xFFFF) + data + end


def ends_once(block):
    """Whether the codes of six bits, as which the stream reads the block, end with the only code for the end."""
    bits = [byte >> place & 1 for byte in block for place in range(8)][32:]
    codes = [tuple(bits[at : at + 6]) for at in range(0, len(bits), 6)]
    return codes[-1] == (1,) * 6 and (1,) * 6 not in codes[:-1]


def end_of_equal_length(rng):
    """The end of the second block with which both ways of reading it make the same number of bytes."""
    for count in range(4, 60):
        literals = [150, 161, 172, 183] + [rng.randrange(144) for _ in range(count - 4)]
        for last in range(3, 258):
            end, padding = fixed_block([258, 258, last], literals)
            total = 8 * (5 + STORED + len(end)) - 32
            if padding >= 6 and total % 6 == 0 and STORED + 516 + last + count == total // 6 - 1:
                return end
    raise AssertionError("no such end")


def forged(header):
    """Returns the contents of the two blocks as they are alone, the second one as the stream has it, and both streams."""
    rng = random.Random(1)
    end = end_of_equal_length(rng)
    while True:
        data = bytearray(rng.getrandbits(8) & rng.getrandbits(8) & 0x77 for _ in range(STORED))
        if ends_once(second_block(data, end)):
            break
    length = len(inflate(second_block(data, end)))
    first = (header((1 << 16) + length - 128, "|u1") + bytes(at * 7 % 251 for at in range(1 << 16)))[: 1 << 16]
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    opened = packer.compress(first) + packer.flush(zlib.Z_FULL_FLUSH) + open_header() + FLUSH

    def both(data):
        block = second_block(data, end)
        return inflate(block), inflate(opened + block)[1 << 16 :]

    def difference(data):
        alone, framed = both(data)
        assert len(alone) == len(framed)
        return zlib.crc32(alone) ^ zlib.crc32(framed)

    # Which bits to change so that the checksums are the same: each one changes the difference by a constant.
    wanted, basis = difference(data), {}
    for at in range(200, 1500, 3):
        changed = bytearray(data)
        changed[at] ^= 2
        if not ends_once(second_block(changed, end)):
            continue
        effect, places = difference(changed) ^ wanted, {at}
        while effect and effect.bit_length() in basis:
            other, others = basis[effect.bit_length()]
            effect, places = effect ^ other, places ^ others
        if effect:
            basis[effect.bit_length()] = effect, places
    rest, places = wanted, set()
    while rest:
        effect, others = basis[rest.bit_length()]
        rest, places = rest ^ effect, places ^ others
    for at in places:
        data[at] ^= 2
    alone, framed = both(data)
    assert zlib.crc32(alone) == zlib.crc32(framed) and alone != framed
    return first, alone, framed, opened, second_block(data, end)
