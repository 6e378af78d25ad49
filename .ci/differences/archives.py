"""Archives: their members, and what is read of damaged ones."""

import concurrent.futures
import hashlib
import io
import json
import zipfile

import numpy as np

from common import run
from writes import random_array

# (what is replaced in an archive of a member é.npy, by what), one for each row.
DAMAGES = [(b"PK\x03\x04", b"PK\0\0"), (b"PK\x01\x02\x2d\x03\x2d", b"PK\x01\x02\x2d\x03\xff"), (b"PK\x01\x02\x2d\x03\x2d\0\0\x08", b"PK\x01\x02\x2d\x03\x2d\0\0\0"), (b"NUMPY", b"numpy")]


def damages(program, rng, count, tally, folder):
    """Archives of which a byte is another, or which end early: what NumPy reads is read, and what it refuses is refused."""
    jobs = []
    for number in range(count):
        file = io.BytesIO()
        (np.savez if rng.random() < 0.5 else np.savez_compressed)(file, **{name: random_array(rng, padded=False) for name in rng.sample(["a", "b", "é"], rng.randrange(1, 3))})
        content = file.getvalue()
        if number < len(DAMAGES):
            file = io.BytesIO()
            np.savez(file, **{"a": np.zeros(2), "é": np.ones(2)})
            jobs.append((program, folder, number, file.getvalue().replace(*DAMAGES[number]), []))
            continue
        edits, length = [], len(content)
        if rng.random() < 0.2:
            length = rng.randrange(length)
            edits.append((length, None))  # the end
        for _ in range(rng.randrange(1, 3)):
            if length:
                edits.append((rng.randrange(length), rng.choice([0, 1, 0x20, 0xFF, rng.randrange(256)])))
        jobs.append((program, folder, number, content, edits))
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        for job, found in zip(jobs, pool.map(ask_damaged, jobs)):
            *before, content, edits = job
            compare = lambda edits: compare_damage(content, edits, ask_damaged((*before, content, edits)))
            tally.case(*compare_damage(content, edits, found), edits, compare, "a row of rows.py, with its condition in explain_damage, and a damage to DAMAGES")


def compare_damage(content, edits, found):
    damage = damaged(content, edits)
    wanted = read_archive(damage)
    shown = damage.hex() if len(damage) < 400 else len(damage)
    return explain_damage(wanted, found), f"archive of {len(content)} bytes, damaged by {edits}: {shown}: NumPy {wanted!r:.300}; here {found!r:.300}"


def damaged(content, edits):
    """With other bytes at some positions; where there is no byte, it ends."""
    content = bytearray(content)
    for at, byte in edits:
        content[at:] = b"" if byte is None else bytes([byte]) + content[at + 1 :]
    return bytes(content)


def read_archive(content):
    """Returns shape and hash of each array by the name of its member, or the error for it; or that of the archive."""
    try:
        with np.load(io.BytesIO(content)) as archive:
            found = {}
            for info in archive.zip.infolist():
                try:
                    inner = archive.zip.read(info)
                    array = np.lib.format.read_array(io.BytesIO(inner))
                    found[info.filename] = (array.shape, hashlib.sha256(array.tobytes()).hexdigest())
                except Exception as error:
                    found[info.filename] = repr(error)
            return found
    except Exception as error:
        return repr(error)


def ask_damaged(job):
    program, folder, number, content, edits = job
    path = folder / f"{number}.npz"
    path.write_bytes(damaged(content, edits))
    done = run(program, "json", "--exact", path)
    path.unlink()
    return json.loads(done.stdout)


def explain_damage(wanted, found):
    if "error" in found:
        return True if isinstance(wanted, str) else "contradictions"
    if isinstance(wanted, str):
        return "first-bytes" if "allow_pickle" in wanted else "zip-version" if "zip file version" in wanted else None
    row = True
    for array in found["arrays"]:
        one = wanted.get(array["member"])
        if "error" in array:
            row = row if isinstance(one, str) else "contradictions"
        elif one != (tuple(array["shape"]), array["sha256"]):
            return None
    return row


def archives(program, rng, count, tally, folder):
    for number in range(count):
        path = folder / "a.npz"
        names = [rng.choice(["a", "a.npy", "b.npy", "folder/c.npy", "é.npy", "d", ".npy", "x y.npy", "e.NPY"]) for _ in range(rng.randrange(0, 5))]
        with zipfile.ZipFile(path, "w") as archive:
            for name in names:
                content = io.BytesIO()
                np.save(content, np.arange(rng.randrange(0, 4)))
                content = content.getvalue() if rng.random() < 0.85 else rng.choice([b"", b"text", content.getvalue()[:30], b"\x93NUMPY"])
                archive.writestr(name, content, rng.choice([zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED]))
        found = json.loads(run(program, "info", "--json", path).stdout)
        with np.load(path) as archive, zipfile.ZipFile(path) as raw:
            for info, member in zip(raw.infolist(), found["members"], strict=True):
                if names.count(info.filename) > 1:
                    continue  # NumPy sees the last one only
                try:
                    content = archive.zip.read(info.filename)
                    wanted = np.lib.format.read_array(io.BytesIO(content)) if content.startswith(b"\x93NUMPY") else content
                except Exception as error:
                    wanted = error
                tally.case(explain_member(info.filename, wanted, member), f"member {info.filename} of {names}: NumPy {wanted!r}; here {member}")
        path.unlink()


def explain_member(name, wanted, found):
    is_array, is_fault = isinstance(wanted, np.ndarray), "error" in found
    if isinstance(wanted, Exception):
        return True if is_fault or found.get("is_whole") is False else None
    if is_array:
        return True if found.get("shape") == list(wanted.shape) and found.get("dtype") == wanted.dtype.str else None
    if "shape" not in found and not is_fault:
        return True
    return "not-an-array" if name.endswith(".npy") and is_fault else None
