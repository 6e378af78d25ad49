"""Headers: random dtypes and shapes, keys in any order, and slips of the pen."""

import ast
import hashlib
import io
import json
import re
import warnings

import numpy as np
from numpy.lib import _format_impl

from common import IS_2_5, run

PLAIN = ["?", "b1", "i1", "u1", "<i2", ">i2", "i4", "=u4", "|i8", "u8", "<f2", "f4", ">f8", "c8", "<c16", "f16", "c32", "S5", "a3", "|S0",
         "U4", ">U0", "V7", "|V0", "M8[s]", "<M8[25ms]", "m8", ">m8[D]", "M8", "O", "bool", "int8", "uint16", "float32", "complex64",
         "float", "int", "str", "bytes", "unicode", "object", "void", "datetime64[ns]", "timedelta64", "half", "single", "double",
         "longdouble", "intc", "intp", "B", "H", "q", "Q", "e", "d", "g", "F", "D", "p", "2i4", "(2,3)f8", "M8[0D]", "M8[s/2]", "M8[2s/4]",
         "i3", "f1", "S-1", "U", "S", "V", "i4,f8", "x4", "", "<", "i 4", "<f\t2", "<U\n +3", "M8[ 2s]", "m8[s/ +4]", "S\x0b2", "M 8", "I4", "M8[]", "M8[fortnight]", "m8[-1s]", "S99999999999",
         "T", "c4", "f12", "N", "n", "l", "L", "P", "?1", "int4", "bfloat16", "float8_e4m3fn", "complex32", "<W4", "c24", "b", "h", "i", "f", "c", "G", "O8", "|O", "<O4"]


def random_descr(rng, depth=0):
    choice = rng.random()
    if choice < 0.6 or depth > 2:
        return repr(rng.choice(PLAIN))
    if choice < 0.7:
        # For an array of nothing, NumPy has a size that is not 0.
        return f"({random_descr(rng, depth + 1).replace('[]', '[(1, 2)]')}, {rng.choice(['3', '(2,)', '(2, 3)', '()', '-1', '(1, -2)', 'True', '2.0'])})"
    fields = []
    for number in range(rng.randrange(0, 4)):
        name = rng.choice([f"'f{number}'", f"'f{number}'", "'é'", "''", "'x y'", "'a'", "('title', 'b')", "1", "None", "b'c'"])
        shape = rng.choice(["", "", "", ", (2,)", ", 3", ", ()", ", (2, 2)", ", '2'"])
        fields.append(f"({name}, {random_descr(rng, depth + 1)}{shape})")
    return "[" + ", ".join(fields) + "]"


# One for each row, so that every run meets them.
HEADERS = [f"{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}, }}\n" for descr, shape in [
    ("'?'", "(40,)"), ("[('a', '2i4')]", "(2,)"), ("'M8[0D]'", "(2,)"), ("'M8[s/-2]'", "(2,)"), ("'T'", "(2,)"), ("'O'", "(-1,)"), ("[('', 'O', 3), ('a', 'i4')]", "(2,)"),
    ("'<i4'", "(2,), 'shape': (1,)"), ("('<f4', (2, 3))", "(2,)"),
    ("['a?']", "(2,)"), ("'f1'", "(2,)"), ("'f01'", "(2,)"), ("'\t'", "(2,)"),
]]


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
    # A zero as a divisor ends NumPy's process with SIGFPE.
    text = re.sub("/[ +]*0+", "/", text)
    text += rng.choice(["\n", " " * 20 + "\n", "", " \n\n"])
    return encoded(text, rng.choice([(1, 0), (1, 0), (1, 0), (2, 0), (3, 0), (1, 1), (4, 0)]))


def encoded(text, version):
    try:
        text = text.encode("utf8" if version == (3, 0) else "latin1")
    except UnicodeEncodeError:
        text = text.encode("utf8")
    length = len(text).to_bytes(2 if version[0] == 1 else 4, "little")
    return b"\x93NUMPY" + bytes(version) + length + text


def headers(program, rng, count, tally, folder):
    cases = []
    for number in range(count):
        head = encoded(HEADERS[number], (1, 0)) if number < len(HEADERS) else random_header(rng)
        cases.append((head, *answer(head, rng.randbytes(600))))
    for at in range(0, count, 500):
        some = cases[at : at + 500]
        for case, found in zip(some, ask_headers(program, folder, some), strict=True):
            head, data, _ = case

            def compare(text):
                if re.search(rb"/[ +]*0", text):
                    return True, ""  # see `random_header`
                shorter = head[:8] + len(text).to_bytes(2 if head[6] == 1 else 4, "little") + text
                again = (shorter, *answer(shorter, data.ljust(600, b"\1")))
                return compare_header(again, ask_headers(program, folder, [again])[0])

            tally.case(*compare_header(case, found), head[10 if head[6] == 1 else 12 :], compare, "a row of rows.py, with its condition in explain_header, and the header to HEADERS")


def answer(head, data):
    """Returns the bytes of elements, and what NumPy reads of a file of both, or its error."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            stream = io.BytesIO(head + data)
            version = np.lib.format.read_magic(stream)
            shape, fortran, dtype = _format_impl._read_array_header(stream, version)
            items = int(np.prod(shape, dtype=object)) * dtype.itemsize
            data = data[: min(items, len(data))]
            if dtype.hasobject:
                return data, "objects"
            if items > len(data):
                return data, "long"
            np.lib.format.read_array(io.BytesIO(head + data))
            # The bytes in C order, whatever they mean.
            stored = np.frombuffer(data, f"V{dtype.itemsize}") if items else np.zeros(shape, "V0")
            return data, (shape, dtype.itemsize, stored.reshape(shape, order="F" if fortran else "C").tobytes())
    except Exception as error:  # NumPy has no common one
        return data, error


def ask_headers(program, folder, cases):
    files = [folder / f"{number}.npy" for number in range(len(cases))]
    for path, (head, data, _) in zip(files, cases):
        path.write_bytes(head + data)
    return [json.loads(line) for line in run(program, "json", "--exact", *files).stdout.splitlines()]


def compare_header(case, found):
    head, data, answer = case
    fault = found.get("error") or next((array["error"] for array in found["arrays"] if "error" in array), None)
    message = found.get("message") or next((array.get("message") for array in found["arrays"] if "error" in array), None) if fault else None
    try:
        ast.literal_eval(head[10 if head[6] == 1 else 12 :].decode("latin1"))
        literal = "a literal of Python"
    except Exception as error: # unhashable keys, too
        literal = f"no literal of Python: {error}"
    what = f"header {head!r}, {literal}: NumPy {answer!r:.300}; here {fault}: {message} {found if not fault else ''!s:.300}"
    return explain_header(head, data, answer, fault, message, found), what


def explain_header(head, data, answer, fault, message, found):
    if isinstance(answer, Exception):
        # These faults are found in the data: the header was accepted.
        is_accepted = fault in (None, "extra_data", "truncated", "truncated_data", "bad_bool", "object_needs_opt_in")
        is_array_dtype = "could only read" in str(answer)
        is_narrow = re.search(r"['\"][<>|=]?(f\s*\+?0*12?|c\s*\+?0*24|W\s*\+?0*4|int4|bfloat16|float8_e4m3fn|complex32)['\"]", head.decode("latin1"))
        is_alias = IS_2_5 and re.search(r"""["'][<>|=]?a\d+["']""", head.decode("latin1"))
        return True if not is_accepted else "array-dtype" if is_array_dtype else "narrow-dtype" if is_narrow else "old-alias" if is_alias else None
    if isinstance(answer, str):
        if fault in {"objects": ["object_needs_opt_in"], "long": ["truncated", "truncated_data"]}[answer]:
            return True
    elif not fault:
        array = found["arrays"][0]
        is_same = (tuple(array["shape"]), array["itemsize"]) == answer[:2] and array["sha256"] == hashlib.sha256(answer[2]).hexdigest()
        return True if is_same else None
    text = head.decode("latin1")
    rows = {
        "bool": fault == "bad_bool",
        "key-twice": "duplicate key" in message or max(text.count(key) for key in ("shape", "descr")) > 1,
        "comma-dtype": fault == "unsupported_dtype" and re.search(r"""["'][<>=|]? *[(\d]|\d +[a-z]|[a-z]\d+,\d*[a-z]""", text),
        "text-field": "field is not a tuple" in message,
        "zero-multiple": re.search(r"(?:[Mm]8|(?:datetime|timedelta)64)\[(?:\s*[+-]?0+[A-Za-z]|[^]]*/\s*-)", text) and "unknown unit" in message,
        "type-number": fault == "unsupported_dtype" and re.search(r"""["'][<>=|]?([\0-\x1f]|\\[0-7]{1,3}|\\x[0-9a-f]{2}|\\[abfnrtv])["']""", text),
        "string-dtype": fault == "unsupported_dtype" and re.search("[\"']T[\"']", text),
        "unnamed-array": (fault == "object_needs_opt_in" or "duplicate field name ''" in message) and re.search(r"""\(\s*(''|"")\s*,""", text),
        # Of what is too long to be made, the shape is not used either.
        "axis-of-objects": answer in ("objects", "long") and ("negative length" in message or "not an integer" in message),
    }
    return next((name for name, holds in rows.items() if holds), None)
