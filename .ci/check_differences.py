"""Generates cases, asks NumPy and the program, and compares. Each difference must be a row of docs/numpy-differences.md, and each row
must have been met: PROGRAM [--cases N] [--seed N] [--update].

The rows are below. The page is made from them: `--update` writes it.
"""

import argparse
import concurrent.futures
import io
import json
import pathlib
import random
import subprocess
import sys
import tempfile
import warnings
import zipfile

import numpy as np
from numpy.lib import _format_impl

warnings.simplefilter("ignore")
PAGE = pathlib.Path(__file__).parent.parent / "docs" / "numpy-differences.md"

# Section, name, what NumPy does, what this library does, why. The name is what `explain_...` returns.
ROWS = [
    # Rows come here.
]


class Tally:
    def __init__(self):
        self.cases, self.hits, self.unexplained = 0, {}, []

    def case(self, explained, what):
        """`explained`: True if both agree, the name of a row, or None."""
        self.cases += 1
        if explained is None:
            self.unexplained.append(what)
        elif explained is not True:
            self.hits[explained] = self.hits.get(explained, 0) + 1


def run(program, *arguments):
    done = subprocess.run([program, *map(str, arguments)], capture_output=True, text=True)
    assert "panicked" not in done.stderr, (arguments, done.stderr)
    return done


# Headers.

PLAIN = ["?", "b1", "i1", "u1", "<i2", ">i2", "i4", "=u4", "|i8", "u8", "<f2", "f4", ">f8", "c8", "<c16", "f16", "c32", "S5", "a3", "|S0",
         "U4", ">U0", "V7", "|V0", "M8[s]", "<M8[25ms]", "m8", ">m8[D]", "M8", "O", "bool", "int8", "uint16", "float32", "complex64",
         "float", "int", "str", "bytes", "unicode", "object", "void", "datetime64[ns]", "timedelta64", "half", "single", "double",
         "longdouble", "intc", "intp", "B", "H", "q", "Q", "e", "d", "g", "F", "D", "p", "2i4", "(2,3)f8", "M8[0D]", "M8[s/2]", "M8[2s/4]",
         "i3", "f1", "S-1", "U", "S", "V", "i4,f8", "x4", "", "<", "i 4", "I4", "M8[]", "M8[fortnight]", "m8[-1s]", "S99999999999",
         "T", "c4", "f12", "N", "n", "l", "L", "P", "?1", "b", "h", "i", "f", "c", "G", "O8", "|O", "<O4"]


def random_descr(rng, depth=0):
    choice = rng.random()
    if choice < 0.6 or depth > 2:
        return repr(rng.choice(PLAIN))
    if choice < 0.7:
        return f"({random_descr(rng, depth + 1)}, {rng.choice(['3', '(2,)', '(2, 3)', '()', '0', '(0,)', '-1', '(1, -2)', 'True', '2.0'])})"
    fields = []
    for number in range(rng.randrange(0, 4)):
        name = rng.choice([f"'f{number}'", f"'f{number}'", "'é'", "''", "'x y'", "'a'", "('title', 'b')", "1", "None", "b'c'"])
        shape = rng.choice(["", "", "", ", (2,)", ", 3", ", ()", ", (2, 2)", ", '2'"])
        fields.append(f"({name}, {random_descr(rng, depth + 1)}{shape})")
    return "[" + ", ".join(fields) + "]"


def random_header(rng):
    shape = rng.choice(["(2,)", "()", "(3, 2)", "(0,)", "(1, 0, 2)", "(2L,)", "[2]", "2", "(2.0,)", "(-1,)", "(True,)", "(2, )", "(0x2,)", "(1_0,)",
                        "(+2,)", "(02,)", "None", "('2',)", "(2,) + (3,)"])
    order = rng.choice(["False", "False", "True", "0", "None", "'C'", "false"])
    keys = [("'descr'", random_descr(rng)), ("'fortran_order'", order), ("'shape'", shape)]
    change = rng.random()
    if change < 0.05:
        keys.pop(rng.randrange(3))
    elif change < 0.1:
        keys.append(rng.choice([("'more'", "1"), ("'shape'", "(1,)"), ("'descr'", "'<i4'")]))
    elif change < 0.2:
        rng.shuffle(keys)
    text = "{" + ", ".join(f"{key}: {value}" for key, value in keys) + rng.choice(["}", ", }", ",}"])
    if rng.random() < 0.1:
        text = text.replace("'", '"', rng.choice([2, -1]))
    if rng.random() < 0.15:  # a slip of the pen
        at = rng.randrange(len(text))
        text = text[:at] + rng.choice(["", " ", ",", "'", "0", "x", "\\", "(", "#", "\n", "\t", "é", "\0"]) + text[at + rng.randrange(2) :]
    text += rng.choice(["\n", " " * 20 + "\n", "", " \n\n"])
    version = rng.choice([(1, 0), (1, 0), (1, 0), (2, 0), (3, 0), (1, 1), (4, 0)])
    try:
        encoded = text.encode("utf8" if version == (3, 0) else "latin1")
    except UnicodeEncodeError:
        encoded = text.encode("utf8")
    length = len(encoded).to_bytes(2 if version[0] == 1 else 4, "little")
    return b"\x93NUMPY" + bytes(version) + length + encoded


def headers(program, rng, count, tally, folder):
    files, answers = [], []
    for number in range(count):
        head = random_header(rng)
        data = rng.randbytes(600)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                stream = io.BytesIO(head + data)
                version = np.lib.format.read_magic(stream)
                shape, fortran, dtype = _format_impl._read_array_header(stream, version)
                items = int(np.prod(shape, dtype=object)) * dtype.itemsize
                if dtype.hasobject:
                    answer = "objects"
                elif items > len(data):
                    answer = "long"
                else:
                    stream = io.BytesIO(head + data[:items])
                    array = np.lib.format.read_array(stream)
                    answer = (list(array.shape), dtype.itemsize, array.tobytes("F" if fortran else "C"), dtype)
                data = data[: min(items, len(data))]
        except Exception as error:  # NumPy has no common one
            answer = error
        path = folder / f"{number}.npy"
        path.write_bytes(head + data)
        files.append(path)
        answers.append((head, data, answer))
    lines = []
    for at in range(0, len(files), 500):
        lines += run(program, "json", "--exact", *files[at : at + 500]).stdout.splitlines()
    assert len(lines) == len(files)
    for line, (head, data, answer) in zip(lines, answers):
        found = json.loads(line)
        fault = found.get("error") or next((array["error"] for array in found["arrays"] if "error" in array), None)
        message = found.get("message") or next((array.get("message") for array in found["arrays"] if "error" in array), None) if fault else None
        tally.case(explain_header(head, data, answer, fault, message, found), f"header {head!r}: NumPy {answer!r:.300}; here {fault}: {message} {found if not fault else ''!s:.300}")
    for path in files:
        path.unlink()


def explain_header(head, data, answer, fault, message, found):
    refused = isinstance(answer, Exception)
    if refused:
        return True if fault else None
    if answer == "objects":
        return True if fault in ("object_needs_opt_in",) else None
    if answer == "long":
        return True if fault in ("truncated",) else None
    if fault:
        return None
    shape, itemsize, content, dtype = answer
    array = found["arrays"][0]
    return True if (array["shape"], array["itemsize"]) == (shape, itemsize) else None


# Casts.

NUMBERS = ["?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", "c8", "c16"]
TARGETS = NUMBERS + ["S3", "S20", "S64", "U3", "U20", "U64", "M8[s]", "M8[D]", "M8[M]", "M8[Y]", "M8[10D]", "M8[ns]", "M8[as]", "M8", "m8[s]", "m8[D]",
                     "m8[M]", "m8[ns]", "m8", "V4", "V8"]


def random_values(rng, dtype):
    """A few elements of this dtype."""
    count = rng.randrange(1, 6)
    kind = dtype.kind
    if kind == "b":
        return np.array([rng.random() < 0.5 for _ in range(count)])
    if kind in "iu":
        limits = np.iinfo(dtype)
        edges = [0, 1, limits.max, limits.min, 100, limits.max // 2 + 1]
        return np.array([rng.choice(edges) if rng.random() < 0.5 else rng.randint(limits.min, limits.max) for _ in range(count)], dtype)
    if kind in "fc":
        numbers = [0.0, -0.0, 1.5, -2.5, 1e5, 3e38, 1e300, 65519.9, 65520.0, np.nan, np.inf, -np.inf, 5e-324, 0.1, 123.0, 2.0**63, -129.0]
        def one():
            return rng.choice(numbers) if rng.random() < 0.6 else rng.uniform(-1, 1) * 10.0 ** rng.randrange(-10, 20)
        with np.errstate(all="ignore"):
            return np.array([complex(one(), rng.choice([0, one()])) if kind == "c" else one() for _ in range(count)]).astype(dtype)
    if kind in "mM":
        ticks = [0, 1, -1, 1999, -(2**63), 2**63 - 1, -(2**63) + 1, 10**15]
        return np.array([rng.choice(ticks) if rng.random() < 0.6 else rng.randrange(-(10**6), 10**6) for _ in range(count)], "i8").view(dtype)
    if kind in "SU":
        texts = ["", "1", "-12", "1.5", "nan", "inf", " 7 ", "1e3", "abc", "0x10", "1_000", "True", "2000-01-01", "2000-01-01T00:00", "NaT", "3+4j",
                 "1" * 20, "é", "٣", "+5", "a\0b", "1.0", "300", "-1", "1j", "(1+2j)", "0", "1e400", "1__0", "\t3\n"]
        kept = [text for text in (rng.choice(texts) for _ in range(count)) if kind == "U" or text.isascii()] or ["1"]
        return np.array(kept, dtype)
    return np.frombuffer(rng.randbytes(dtype.itemsize * count), dtype)


def ask_cast(job):
    program, folder, number, array, target, casting = job
    source, made = folder / f"{number}.npy", folder / f"{number}.out.npy"
    np.save(source, array)
    done = run(program, "convert", source, made, "--dtype", target.str, "--casting", {"same_kind": "same-kind"}.get(casting, casting))
    result = np.load(made) if done.returncode == 0 else done.stderr.strip()
    source.unlink()
    made.unlink(missing_ok=True)
    return result


def casts(program, rng, count, tally, folder):
    jobs = []
    for number in range(count):
        source, target = (np.dtype(rng.choice(TARGETS)).newbyteorder(rng.choice("<<<>")) for _ in range(2))
        jobs.append((program, folder, number, random_values(rng, source).astype(source), target, rng.choice(["safe", "same_kind", "unsafe", "unsafe"])))
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        for job, found in zip(jobs, pool.map(ask_cast, jobs)):
            _, _, _, array, target, casting = job
            try:
                with np.errstate(all="ignore"):
                    wanted = array.astype(target, casting=casting)
            except Exception as error:
                wanted = error
            tally.case(explain_cast(array, target, casting, wanted, found), f"cast {shown(array)} to {target.str}, {casting}: NumPy {shown(wanted)}; here {shown(found)}")


def shown(value):
    if not isinstance(value, np.ndarray):
        return repr(value)
    return f"{value.dtype.str} {(value.view('i8') if value.dtype.kind in 'mM' else value).tolist()}"


def same(one, other):
    if one.dtype != other.dtype or one.shape != other.shape:
        return False
    return one.tobytes() == other.tobytes() or one.dtype.kind in "fc" and np.array_equal(one, other, equal_nan=True)


def explain_cast(array, target, casting, wanted, found):
    refused, refuses = isinstance(wanted, Exception), isinstance(found, str)
    if refused and refuses or not refused and not refuses and same(found, wanted):
        return True
    return None


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program", type=pathlib.Path)
    parser.add_argument("--cases", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=random.randrange(2**32))
    parser.add_argument("--only", default="headers,casts")
    parser.add_argument("--update", action="store_true")
    asked = parser.parse_args()
    print("seed", asked.seed)
    rng, tally = random.Random(asked.seed), Tally()
    program = asked.program.resolve()
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        for what in asked.only.split(","):
            {"headers": headers, "casts": casts}[what](program, rng, asked.cases, tally, folder)
    for what in tally.unexplained[:400]:
        print(what)
    print(tally.cases, "cases;", len(tally.unexplained), "unexplained;", tally.hits)


main()
