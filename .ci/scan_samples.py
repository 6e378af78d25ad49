"""Files on which scanners and Python disagreed, and what `ndio scan` says of each: the table of docs/safety.md.

    scan_samples.py NDIO            compares the table with what the program says
    scan_samples.py NDIO --update   writes it

The payload of the files prints a word.
"""

import gzip
import io
import pathlib
import pickle
import struct
import subprocess
import sys
import tempfile
import tarfile
import zipfile
import zlib

WORD = b"echo this came from a pickle"
EVIL0 = b"cposix\nsystem\n(S'%s'\ntR." % WORD
EVIL4 = b"\x80\x04\x8c\x05posix\x8c\x06system\x93\x8c" + bytes([len(WORD)]) + WORD + b"\x85R."
PLAIN = pickle.dumps([1, 2, 3], 4)


def npy(descr, shape, data):
    text = b"{'descr': '%s', 'fortran_order': False, 'shape': %s, }" % (descr, shape)
    text += b" " * (-(len(text) + 11) % 64) + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text + data


def local(name, data):
    sizes = (zlib.crc32(data), len(data), len(data), len(name), 0)
    return struct.pack("<IHHHHHIIIHH", 0x04034B50, 20, 0, 0, 0, 0x21, *sizes) + name + data


def central(name, data, offset):
    sizes = (zlib.crc32(data), len(data), len(data), len(name), 0, 0, 0, 0, 0, offset)
    return struct.pack("<IHHHHHHIIIHHHHHII", 0x02014B50, 20, 20, 0, 0, 0, 0x21, *sizes) + name


def end(count, length, offset, comment=b""):
    return struct.pack("<IHHHHIIH", 0x06054B50, 0, 0, count, count, length, offset, len(comment)) + comment


def end_record_in_comment():
    """`zipfile` takes the last signature, although it does not end at the end of the file."""
    name, plain, evil = b"a.npy", npy(b"<f8", b"(3,)", struct.pack("<3d", 0, 1, 2)), npy(b"|O", b"(1,)", EVIL4)
    first, directory = local(name, plain), central(name, plain, 0)
    base = len(first) + len(directory) + 22
    second = local(name, evil)
    hidden = central(name, evil, base)
    comment = second + hidden + end(1, len(hidden), base + len(second)) + b"x"
    return first + directory + end(1, len(directory), len(first), comment)


def frame_that_is_crossed(padding=20000):
    """CPython, from a file, drops the rest of its buffer when a text crosses the end of a frame."""
    tail = b"0cposix\nsystem\n(S'%s'\ntR0]K\x01a." % WORD
    count = 16
    body = b"B" + struct.pack("<I", padding) + bytes(padding) + b"0\x8c" + bytes([count]) + b"junk!"
    after = b"A" * (count - 5) + b"B" + struct.pack("<I", len(tail))
    return b"\x80\x04\x95" + struct.pack("<Q", len(body)) + body + after + tail + b"0]Na."


def old_tar():
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        for name, data in ("N.", b""), ("storages", EVIL4), ("tensors", EVIL4), ("pickle", EVIL4):
            entry = tarfile.TarInfo(name)
            entry.size = len(data)
            tar.addfile(entry, io.BytesIO(data))
    return file.getvalue()


def in_zip(name, data):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr(name, data)
    return file.getvalue()



def two_records_of_zip64():
    """A locator names one record, and another one is right before the locator."""
    name, plain, evil = b"a.npy", npy(b"<f8", b"(1,)", bytes(8)), npy(b"|O", b"(1,)", EVIL4)
    first, second = local(name, plain), local(name, evil)
    one, other = central(name, plain, 0), central(name, evil, len(first))
    start = len(first) + len(second)
    record = lambda size, place: struct.pack("<IQHHIIQQQQ", 0x06064B50, 44, 45, 45, 0, 0, 1, 1, size, place)
    records = record(len(one), start) + other + record(len(other), start + len(one) + 56)
    locator = struct.pack("<IIQI", 0x07064B50, 0, start + len(one), 1)
    return first + second + one + records + locator + end(0xFFFF, 0xFFFFFFFF, 0xFFFFFFFF)


def member_not_in_directory():
    name, plain = b"a.npy", npy(b"<f8", b"(1,)", bytes(8))
    first, hidden = local(name, plain), local(b"b.npy", npy(b"|O", b"(1,)", EVIL4))
    directory = central(name, plain, 0)
    return first + hidden + directory + end(1, len(directory), len(first) + len(hidden))


SAMPLES = {
    "end_in_comment.npz": ("a second end record in the comment, which `zipfile` takes", end_record_in_comment()),
    "two_zip64_records.npz": ("two ZIP64 end records, of which programs take one or the other", two_records_of_zip64()),
    "hidden_member.npz": ("a member that only programs see that read archives as they come", member_not_in_directory()),
    "crossed_frame.pkl": ("a text that goes beyond its frame, where CPython drops the rest of its buffer", frame_that_is_crossed()),
    "after_stop.pkl": ("a pickle that ends before its frame, and another one", b"\x80\x04\x95" + struct.pack("<Q", 2 + len(EVIL4)) + b"N." + EVIL4),
    "old_after_global.zip": ("a pickle of protocol 0 that goes on with an opcode of protocol 4", in_zip("model/data", b"cposix\nsystem\n\x8c" + bytes([len(WORD)]) + WORD + b"\x85R.")),
    "old_hexadecimal.zip": ("a number of a spelling that pickles do not have, but CPython reads", in_zip("data", b"I0x10\n0" + EVIL0)),
    "old_ambiguous.zip": ("a number that is a bool for CPython, and not for its unpickler in Python", in_zip("data", b"I 1\n0" + EVIL0)),
    "old_state.zip": ("a state of an object that can have none", in_zip("data", b"NNb0" + EVIL0)),
    "two_in_gz.pkl.gz": ("two pickles in one compressed stream", gzip.compress(PLAIN + EVIL4)),
    "twice.pkl.gz": ("a compressed file that is compressed", gzip.compress(zlib.compress(EVIL4))),
    "two.pkl": ("two pickles in one file", PLAIN + EVIL4),
    "two_damaged.pkl": ("a pickle, and one that is damaged", PLAIN + EVIL4[:-1] + b"\xff"),
    "torch.pt": ("an archive of PyTorch", in_zip("archive/data.pkl", EVIL4)),
    "nested.zip": ("an archive in an archive", in_zip("a", in_zip("b", EVIL4))),
    "legacy_tar.pt": ("a tar file of PyTorch whose first name is a pickle", old_tar()),
    "joblib_old": ("a compressed file of joblib before 0.10", b"ZF" + b"0x%x" % len(EVIL0) + b" " * (19 - len(b"0x%x" % len(EVIL0))) + zlib.compress(EVIL0)),
    "unknown.npz": ("a member of an unknown kind", in_zip("a.bin", b"\xff\0\1")),
}
CODES = {0: "clean", 1: "names that plain data do not have", 2: "partly looked at"}
BEGIN, END = "<!-- samples -->\n", "<!-- end of the samples -->\n"


def said(ndio, path):
    done = subprocess.run([ndio, "scan", path.name], cwd=path.parent, capture_output=True, text=True)
    lines = [line.removeprefix("ndio: ").removeprefix(f"{path.name}: ") for line in (done.stdout + done.stderr).splitlines()]
    found = [line.strip() for line in lines if line.startswith("  imports") or line in done.stderr]
    return CODES[done.returncode], "; ".join(f"`{' '.join(line.split())}`" for line in found)


def main(ndio, update):
    rows = ["| file | what it is | answer | what is said |", "|---|---|---|---|"]
    with tempfile.TemporaryDirectory() as folder:
        for name, (what, content) in SAMPLES.items():
            path = pathlib.Path(folder, name)
            path.write_bytes(content)
            answer, text = said(pathlib.Path(ndio).absolute(), path)
            assert answer != "clean", name
            rows.append(f"| `{name}` | {what} | {answer} | {text} |")
    page = pathlib.Path(__file__).parents[1] / "docs" / "safety.md"
    before, rest = page.read_text().split(BEGIN)
    text = before + BEGIN + "\n" + "\n".join(rows) + "\n\n" + END + rest.split(END)[1]
    if update:
        page.write_text(text)
    assert page.read_text() == text, f"{page.name}: --update writes the samples as they are now"
    print(f"{len(SAMPLES)} samples: docs/safety.md has what the program says")


if __name__ == "__main__":
    main(sys.argv[1], "--update" in sys.argv)
