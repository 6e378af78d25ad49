#!/usr/bin/env python3
"""Files of other programs for `formats/tests/others.rs`, and what these programs see in the files that it writes.

    .ci/check_formats.py make FOLDER            files of SciPy, safetensors, gguf and PyTorch, with their arrays as NumPy's files beside them
    .ci/check_formats.py check FOLDER WRITTEN   opens what the test has written, and compares
"""

import io
import pickle
import struct
import sys
import types
import zipfile
from pathlib import Path

import gguf
import ml_dtypes
import numpy as np
import safetensors.numpy
import scipy.sparse as sp

# safetensors' NumPy interface knows these by the names of ml_dtypes.
NARROW = {
    "BF16": ml_dtypes.bfloat16,
    "F8_E4M3": ml_dtypes.float8_e4m3fn,
    "F8_E5M2": ml_dtypes.float8_e5m2,
}


def sparse(random):
    """Sparse matrices and arrays of all layouts, dtypes and kinds of indices."""
    dense = random.integers(-3, 4, (6, 8)) * (random.random((6, 8)) < 0.4)
    for kind in ("matrix", "array"):
        for layout in ("csr", "csc", "bsr", "coo", "dia"):
            for dtype in ("?", "i1", "u2", "i4", "u8", "f4", "f8", "c8", "c16"):
                made = getattr(sp, f"{layout}_{kind}")(dense.astype(dtype))
                yield f"{layout}_{kind}_{dtype.replace('?', 'bool')}", made
    for dtype in ("i8", "u4"):
        made = sp.csr_array(dense)
        made.indices, made.indptr = made.indices.astype(dtype), made.indptr.astype(dtype)
        yield f"indices_{dtype}", made
    yield "empty", sp.csr_array((0, 5))
    yield "no_elements", sp.coo_array((3, 4))
    yield "one_axis_coo", sp.coo_array(np.array([0, 2.5, 0, -1]))
    yield "one_axis_csr", sp.csr_array(np.array([0, 2.5, 0, -1]))
    yield "three_axes", sp.coo_array(random.integers(0, 2, (3, 4, 5)))
    yield "duplicates", sp.coo_array((np.array([1.5, 2.5, -1.0, 4.0]), ([2, 0, 2, 2], [1, 0, 1, 1])), shape=(3, 2))
    yield "duplicates_i1", sp.coo_array((np.array([100, 100], "i1"), ([0, 0], [0, 0])), shape=(1, 1))
    twice = (np.ones((3, 2, 2), "?"), np.array([0, 0, 0]), np.array([0, 2, 3]))
    yield "duplicate_blocks_bool", sp.bsr_array(twice, shape=(4, 4))
    yield "duplicate_blocks", sp.bsr_array((np.asfortranarray(np.arange(12.0).reshape(3, 2, 2)), *twice[1:]), shape=(4, 4))
    swapped = sp.csr_array(dense)
    swapped.indices, swapped.indptr = swapped.indices.astype(">i4"), swapped.indptr.astype(">i8")
    yield "big_endian_indices", swapped
    unsorted = sp.csr_array((np.array([1, 2, 3]), np.array([3, 0, 1]), np.array([0, 2, 3])), shape=(2, 4))
    yield "unsorted", unsorted
    yield "zeros", sp.csr_array((np.array([0.0, -0.0, 5.0]), np.array([0, 1, 2]), np.array([0, 3])), shape=(1, 3))
    yield "tail", sp.csr_array((np.array([1, 2, 9]), np.array([0, 1, 0]), np.array([0, 1, 2])), shape=(2, 2))
    yield "wide_blocks", sp.bsr_array(np.kron(np.array([[0, 1], [2, 0]]), np.arange(6).reshape(2, 3)), blocksize=(2, 3))
    yield "long_diagonals", sp.dia_array((np.arange(1, 13).reshape(2, 6), [-1, 2]), shape=(4, 5))


def tensors(random):
    """Arrays of all dtypes that safetensors and NumPy have."""
    made = {}
    for dtype in ("?", "u1", "i1", "u2", "i2", "u4", "i4", "u8", "i8", "f2", "f4", "f8", "c8"):
        name = np.dtype(dtype).name
        made[name] = (random.random((3, 5)) * 2).astype(dtype)
        made[f"{name}.scalar"] = np.array(1).astype(dtype)
        made[f"{name}.empty"] = np.zeros((0, 4), dtype)
    for name, dtype in NARROW.items():
        made[name] = (random.random((2, 3)) * 3 - 1).astype(dtype)
    return made


def torch_archive(path, values, order="little"):
    """An archive as `torch.save` writes it: a pickle whose tensors refer to storages. PyTorch itself is too large for each run."""
    torch, utils = types.ModuleType("torch"), types.ModuleType("torch._utils")
    names = {"f4": "Float", "f8": "Double", "f2": "Half", "i8": "Long", "i4": "Int", "i2": "Short", "i1": "Char", "u1": "Byte", "b1": "Bool"}
    for name in names.values():
        setattr(torch, f"{name}Storage", type(f"{name}Storage", (), {"__module__": "torch"}))

    def _rebuild_tensor_v2(*_):
        pass

    _rebuild_tensor_v2.__module__, _rebuild_tensor_v2.__qualname__ = "torch._utils", "_rebuild_tensor_v2"
    utils._rebuild_tensor_v2 = _rebuild_tensor_v2
    sys.modules.update({"torch": torch, "torch._utils": utils})
    storages = []

    class Storage:
        def __init__(self, data):
            self.data = data
            storages.append(self)
            self.key = str(len(storages) - 1)

    class Tensor:
        def __init__(self, storage, first, shape, strides):
            self.args = (storage, first, shape, strides, False, {})

        def __reduce__(self):
            return _rebuild_tensor_v2, self.args

    class Pickler(pickle.Pickler):
        def persistent_id(self, value):
            if not isinstance(value, Storage):
                return None
            kind = getattr(torch, names[value.data.dtype.str[1:]] + "Storage")
            return ("storage", kind, value.key, "cpu", len(value.data))

    stored = io.BytesIO()
    Pickler(stored, protocol=2).dump(values(Storage, Tensor))
    del sys.modules["torch"], sys.modules["torch._utils"]
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("archive/data.pkl", stored.getvalue())
        archive.writestr("archive/byteorder", order)
        for storage in storages:
            data = storage.data.astype(storage.data.dtype.newbyteorder("<" if order == "little" else ">"))
            archive.writestr(f"archive/data/{storage.key}", data.tobytes())
        archive.writestr("archive/version", "3\n")


def make(folder):
    random = np.random.default_rng(1)
    for part in ("sparse", "safetensors", "gguf", "torch"):
        (folder / part).mkdir(parents=True)
    for name, matrix in sparse(random):
        for compressed in (False, True):
            sp.save_npz(folder / "sparse" / f"{name}{'_compressed' * compressed}.npz", matrix, compressed=compressed)
        np.save(folder / "sparse" / f"{name}.npy", matrix.toarray())
    made = tensors(random)
    safetensors.numpy.save_file(made, folder / "safetensors" / "all.safetensors", metadata={"format": "np"})
    np.savez(folder / "safetensors" / "all.npz", **{name: array for name, array in made.items() if name not in NARROW})
    for name, array in made.items():
        np.save(folder / "safetensors" / f"{name}.npy", array.view(f"V{array.itemsize}") if name in NARROW else array)
    writer = gguf.GGUFWriter(folder / "gguf" / "all.gguf", "test")
    writer.add_uint32("a.number", 7)
    writer.add_array("a.list", ["x", "yz"])
    writer.add_float32("a.float", 1.5)
    for name in ("f2", "f4", "f8", "i1", "i2", "i4", "i8"):
        array = (random.random((2, 3, 5)) * 9).astype(name)
        writer.add_tensor(f"t.{name}", array)
        np.save(folder / "gguf" / f"t.{name}.npy", array)
    blocks = np.frombuffer(random.bytes(34 * 2), "u1").reshape(1, 68)
    writer.add_tensor("t.quantized", blocks, raw_dtype=gguf.GGMLQuantizationType.Q8_0)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    base = np.arange(60, dtype="f4")
    torch_archive(
        folder / "torch" / "all.pt",
        lambda storage, tensor: {
            "model": {
                "weight": tensor(shared := storage(base), 0, (5, 12), (12, 1)),
                "turned": tensor(shared, 0, (12, 5), (1, 12)),
                "part": tensor(shared, 13, (2, 3), (24, 2)),
                "later": tensor(shared, 36, (2, 12), (12, 1)),
            },
            "steps": [tensor(storage(np.arange(3, dtype="i8")), 0, (), ()), 7, "text"],
            "flags": tensor(storage(np.array([True, False])), 0, (2,), (1,)),
        },
    )
    arrays = {
        "model.weight": base.reshape(5, 12),
        "model.turned": base.reshape(5, 12).T,
        "model.part": np.array([[13, 15, 17], [37, 39, 41]], "f4"),
        "model.later": base[36:].reshape(2, 12),
        "steps.0": np.array(0, "i8"),
        "flags": np.array([True, False]),
    }
    for name, array in arrays.items():
        np.save(folder / "torch" / f"{name}.npy", array)
    torch_archive(folder / "torch" / "big.pt", lambda storage, tensor: [tensor(storage(np.arange(4, dtype="i2")), 1, (3,), (1,))], "big")


def same(one, two):
    return one.dtype == two.dtype and one.shape == two.shape and one.tobytes() == two.tobytes()


def members(path):
    with zipfile.ZipFile(path) as archive:
        return [(name, archive.read(name)) for name in archive.namelist()]


def check(folder, written):
    count = 0
    for path in sorted((written / "sparse").glob("*.npz")):
        original = folder / "sparse" / path.name
        ours, scipys = sp.load_npz(path), sp.load_npz(original)
        assert type(ours) is type(scipys), (path, type(ours), type(scipys))
        assert same(ours.toarray(), scipys.toarray()), path
        assert members(path) == members(original), f"{path}: other members than SciPy's"
        count += 1
    for layout in ("csr", "csc", "coo"):
        for path in sorted((written / layout).glob("*.npz")):
            ours, theirs = sp.load_npz(path), sp.load_npz(folder / "sparse" / path.name)
            wanted = np.load(folder / "sparse" / f"{path.stem}.npy")
            assert ours.format == layout and same(ours.toarray(), wanted), path
            if theirs.ndim == 2 and theirs.format != "bsr":  # whose blocks have zeros, which SciPy keeps in CSR and drops in COO
                theirs = theirs.tocsr(copy=True)
                theirs.sum_duplicates()
                theirs = theirs.asformat(layout)
                names = ("row", "col") if layout == "coo" else ("indices", "indptr")
                assert all(np.array_equal(getattr(ours, name), getattr(theirs, name)) for name in ("data", *names)), path
            if layout != "coo":
                ours.check_format(full_check=True)
                assert ours.has_canonical_format, path
            count += 1
    ours, theirs = written / "all.safetensors", folder / "safetensors" / "all.safetensors"
    assert ours.read_bytes() == theirs.read_bytes(), "other bytes than those of safetensors"
    converted = safetensors.numpy.load_file(written / "converted.safetensors")
    for name, array in np.load(folder / "safetensors" / "all.npz").items():
        assert same(converted.pop(name), array), name
    assert not converted
    with np.load(written / "back.npz") as back:
        for name, array in tensors(np.random.default_rng(2)).items():
            wanted = np.load(folder / "safetensors" / f"{name}.npy")
            assert back[name].tobytes() == wanted.tobytes() and back[name].shape == array.shape, name
            count += 1
    assert count > 450, count
    print(f"{count} files and tensors as SciPy and safetensors see them")


if __name__ == "__main__":
    {"make": make, "check": check}[sys.argv[1]](*map(Path, sys.argv[2:]))
