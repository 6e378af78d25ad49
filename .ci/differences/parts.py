"""Slices of arrays, and joins."""

import concurrent.futures
import json
import re

import numpy as np

from common import run, same, shown


def random_index(rng, length):
    bound = lambda: rng.choice(["", "", str(rng.randrange(-length - 3, length + 4))])
    choice = rng.random()
    if choice < 0.25:
        return str(rng.randrange(-length - 1, length + 1))
    if choice < 0.3:
        return "..."
    if choice < 0.35:
        return rng.choice(["None", "True", "[0, 1]", "", "::0", "1:2:3:4", " 1 : 2 ", "- 1", "1.0", "0x1", "1_0", "np.newaxis", "+1", "01"])
    return f"{bound()}:{bound()}" + rng.choice(["", "", f":{rng.choice(['', '1', '2', '-1', '-2', '3', str(10**6), '-' + str(10**6)])}"])


def slices(program, rng, count, tally, folder):
    jobs = []
    for number in range(count):
        shape = tuple(rng.choice([0, 1, 2, 3, 5, 8]) for _ in range(rng.randrange(0, 4)))
        array = np.arange(int(np.prod(shape)), dtype="i4").reshape(shape)
        if rng.random() < 0.3:
            array = np.asfortranarray(array)
        parts = [random_index(rng, rng.choice(shape or (1,))) for _ in range(rng.randrange(1, len(shape) + 2))]
        text = rng.choice([", ", ","]).join(parts)
        if number < len(SLICES):
            array, text = np.arange(12).reshape(3, 4), SLICES[number]
        jobs.append((program, folder, number, array, text))
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        for job, found in zip(jobs, pool.map(ask_slice, jobs)):
            *before, array, text = job
            compare = lambda text: compare_slice(array, text, ask_slice((*before, array, text)))
            tally.case(*compare_slice(array, text, found), text, compare, "a row of rows.py, with its condition in explain_slice, and the text to SLICES")


def compare_slice(array, text, found):
    try:
        # An empty text is the whole array, which has no notation in Python.
        wanted = array[eval(f"np.s_[{text.strip() or '...'}]", {"np": np})]
    except Exception as error:
        wanted = error
    return explain_slice(array, text, wanted, found), f"slice {array.shape} [{text}]: NumPy {wanted!r}; here {found!r}"


SLICES = ["None", "[0, 1]", "True", "0x1"]


def ask_slice(job):
    program, folder, number, array, text = job
    path = folder / f"{number}.npy"
    np.save(path, array)
    done = run(program, "show", path, f"--slice={text}", "--json")
    path.unlink()
    return json.loads(done.stdout) if done.returncode == 0 else done.stderr.strip()


def explain_slice(array, text, wanted, found):
    refused, refuses = isinstance(wanted, Exception), isinstance(found, str)
    is_found = lambda wanted: list(np.shape(wanted)) == found["shape"] and np.asarray(wanted).tolist() == found["values"]
    if refused and refuses:
        return True
    if not refuses:
        if not refused and is_found(wanted):
            return True
        # The brackets are those of the index here, and those of a list there, whose indices may be out of bounds.
        if text.startswith("[") and text.endswith("]"):
            try:
                is_index = is_found(array[eval(f"np.s_{text}", {"np": np})])
            except (IndexError, SyntaxError, TypeError):
                is_index = False
            if is_index:
                return "index-brackets"
        if not refused:
            return None
    rows = {
        "new-axis": "None" in text or "newaxis" in text,
        "chosen-by-array": "[" in text or "True" in text,
        "python-number": re.search("0x|_|\\b0\\d|- ", text),
    }
    return next((name for name, holds in rows.items() if holds and (refuses or name == "python-number")), None)


def joins(program, rng, count, tally, folder):
    jobs = []
    for number in range(count):
        base = [rng.choice([0, 1, 2, 3]) for _ in range(rng.randrange(0, 4))]
        axis, arrays = rng.randrange(-len(base) - 1, len(base) + 1), []
        dtypes = [rng.choice(["i4", ">i4", "f8", "U3", "M8[s]", "?"])] * 3
        if rng.random() < 0.2:
            dtypes[1] = rng.choice(["i8", "f4", "U5", ">f8"])
        for dtype in dtypes[: rng.randrange(1, 4)]:
            shape = list(base)
            if shape and rng.random() < 0.7:
                shape[rng.randrange(len(shape)) if rng.random() < 0.2 else axis % len(shape)] = rng.choice([0, 1, 2, 4])
            array = np.arange(int(np.prod(shape))).astype("i8").astype(dtype).reshape(shape)
            arrays.append(np.asfortranarray(array) if rng.random() < 0.3 else array)
        verb = rng.choice(["cat", "stack"])
        if number < len(JOINS):
            verb, axis, arrays = JOINS[number]
        jobs.append((program, folder, number, verb, axis, arrays))
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        for job, found in zip(jobs, pool.map(ask_join, jobs)):
            *before, verb, axis, arrays = job
            compare = lambda arrays: compare_join(verb, axis, arrays, ask_join((*before, verb, axis, arrays))) if arrays else (True, "")
            tally.case(*compare_join(verb, axis, arrays, found), arrays, compare, "a row of rows.py, with its condition in explain_join, and the case to JOINS")


def compare_join(verb, axis, arrays, found):
    try:
        wanted = (np.concatenate if verb == "cat" else np.stack)(arrays, axis)
    except Exception as error:
        wanted = error
    shapes = [(array.dtype.str, array.shape) for array in arrays]
    return explain_join(arrays, wanted, found), f"{verb} {shapes} along {axis}: NumPy {shown(wanted)}; here {shown(found)}"


JOINS = [("cat", 0, [np.zeros(2), np.zeros(2, "f4")])]


def ask_join(job):
    program, folder, number, verb, axis, arrays = job
    paths = [folder / f"{number}-{part}.npy" for part in range(len(arrays))]
    for path, array in zip(paths, arrays):
        np.save(path, array)
    made = folder / f"{number}.npy"
    done = run(program, verb, *paths, f"--axis={axis}", "-o", made)
    result = np.load(made) if done.returncode == 0 else done.stderr.strip()
    for path in [*paths, made]:
        path.unlink(missing_ok=True)
    return result


def explain_join(arrays, wanted, found):
    refused, refuses = isinstance(wanted, Exception), isinstance(found, str)
    if refused and refuses:
        return True
    if not refused and not refuses:
        native = [made.astype(made.dtype.newbyteorder("=")) for made in (wanted, found)]
        return True if same(*native) else None
    several = len({array.dtype for array in arrays}) > 1
    return "one-dtype" if refuses and several else None
