"""Files that are written: other layouts of arrays of any dtype."""

import concurrent.futures

import numpy as np

from casts import NUMBERS
from common import run


def random_dtype(rng, depth=0, padded=True):
    if rng.random() < 0.6 or depth > 2:
        code = rng.choice([code for code in NUMBERS + ["S5", "S0", "U4", "V7", "M8[s]", "M8[25ms]", "m8", "M8", "m8[D]"]])
        return np.dtype(code).newbyteorder(rng.choice("<>"))
    if rng.random() < 0.2:
        base = random_dtype(rng, depth + 1, padded)
        return np.dtype((base, rng.choice([2, (2,), (1, 2)]))) if base.itemsize else base
    names = rng.sample(["a", "é", "x y", "漢", "it's", "tab\t", "b"], rng.randrange(0, 4))
    dtypes = [random_dtype(rng, depth + 1, padded) for _ in names]
    if padded and rng.random() < 0.3 and names:
        ends = np.cumsum([dtype.itemsize + rng.randrange(3) for dtype in dtypes])
        starts = [int(end) - dtype.itemsize for end, dtype in zip(ends, dtypes)]
        return np.dtype({"names": names, "formats": dtypes, "offsets": starts, "itemsize": int(ends[-1]) + rng.randrange(4)})
    titled = [((f"title {name}", name) if rng.random() < 0.1 else name, dtype) for name, dtype in zip(names, dtypes)]
    return np.dtype(titled)


def random_array(rng, padded=True):
    dtype = random_dtype(rng, padded=padded)
    while dtype.subdtype:
        dtype = dtype.base
    shape = tuple(rng.choice([0, 1, 2, 3]) for _ in range(rng.randrange(0, 4)))
    count = int(np.prod(shape))
    items = np.zeros(count, dtype)
    fill(items, rng)
    return np.asarray(items.reshape(shape), order=rng.choice("CF"))


def fill(array, rng):
    """Fills an array with random elements; the padding of records stays 0, and bools and text are valid."""
    if array.dtype.names is not None:
        for name in array.dtype.names:
            fill(array[name], rng)
    elif array.dtype.kind in "bU":
        array[...] = np.array([rng.choice([0, 1]) if array.dtype.kind == "b" else rng.choice(["", "a", "éa", "漢字"]) for _ in range(array.size)]).reshape(array.shape)
    elif array.dtype.itemsize:
        bytes_of = np.frombuffer(rng.randbytes(array.nbytes), f"V{array.dtype.itemsize}")
        array[...] = bytes_of.view(array.dtype).reshape(array.shape)


def writes(program, rng, count, tally, folder):
    jobs = []
    for number in range(count):
        order, byte_order, suffix = rng.choice(["", "c", "fortran"]), rng.choice(["", "little", "big"]), rng.choice(["npy", "npy", "npz"])
        jobs.append((program, folder, number, random_array(rng), order, byte_order, suffix))
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        for job, found in zip(jobs, pool.map(ask_write, jobs)):
            *before, array, order, byte_order, suffix = job
            # Of records, those fields are kept that are needed for it.
            part = lambda names: array[list(names)] if names else array[:0]
            compare = lambda names: compare_write(part(names), order, byte_order, suffix, ask_write((*before, part(names), order, byte_order, suffix)))
            tally.case(*compare_write(array, order, byte_order, suffix, found), array.dtype.names, compare if array.dtype.names else None, "what explain_write allows")


def compare_write(array, order, byte_order, suffix, found):
    wanted = array.dtype.newbyteorder({"little": "<", "big": ">", "": "="}[byte_order]) if byte_order else array.dtype
    what = f"written {array.dtype} {array.shape} {order} {byte_order} {suffix}: {array.tobytes().hex():.200}; here {raw_text(found)}"
    return explain_write(array, wanted, order, found), what


def ask_write(job):
    program, folder, number, array, order, byte_order, suffix = job
    source, made = folder / f"{number}.npy", folder / f"{number}.out.{suffix}"
    np.save(source, array)
    options = (["--order", order] if order else []) + (["--byte-order", byte_order] if byte_order else [])
    done = run(program, "convert", source, made, *options)
    result = done.stderr.strip()
    if done.returncode == 0:
        result = np.load(made)
        if suffix == "npz":
            with result as archive:
                result = archive["arr_0"]
    source.unlink()
    made.unlink(missing_ok=True)
    return result


def raw_text(found):
    """NumPy cannot print all of its arrays."""
    return found if isinstance(found, str) else f"{found.dtype} {found.shape} {found.tobytes().hex():.200}"


def explain_write(array, dtype, order, found):
    if isinstance(found, str):
        return None
    has_order = not order or found.flags[{"c": "C_CONTIGUOUS", "fortran": "F_CONTIGUOUS"}[order]]
    return True if has_order and found.dtype == dtype and found.shape == array.shape and leaves(found) == leaves(array) else None


def leaves(array):
    """The bytes of all elements in native byte order, without the padding of records, which `numpy.save` does not keep."""
    if array.dtype.names is not None:
        return [leaves(array[name]) for name in array.dtype.names]
    native = array.dtype.newbyteorder("=")
    return (array if array.dtype == native else array.byteswap()).tobytes()
