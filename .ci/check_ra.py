"""Whether this library read the RA files of a folder as they are decoded here, from the description of the format, and packs
blocks of LZ4 that another decoder unpacks to the same."""

import hashlib
import pathlib
import sys

import lz4.block
import numpy as np

KINDS = {1: "i", 2: "u", 3: "f", 4: "c"}


def decode(path):
    blob = path.read_bytes()
    magic, flags, eltype, elbyte, size, ndims = np.frombuffer(blob, "<u8", 6)
    assert magic == 8746397786917265778, path
    dims = np.frombuffer(blob, "<u8", int(ndims), 48).astype(int)
    data = blob[48 + 8 * int(ndims):][:int(size)]
    if flags:
        assert flags == 2, path
        data = lz4.block.decompress(data, uncompressed_size=int(dims.prod() * elbyte))
    return np.frombuffer(data, f"<{KINDS[int(eltype)]}{elbyte}").reshape(dims, order="F")


def main(originals, written):
    paths = sorted(pathlib.Path(originals).glob("*.ra"))
    assert len(paths) > 5, paths
    for path in paths:
        array, ours = decode(path), np.load(f"{written}/{path.stem}.npy")
        packed = decode(pathlib.Path(f"{written}/{path.stem}.lz4.ra"))
        for other in (ours, packed):
            assert other.dtype == array.dtype and other.shape == array.shape, path
            assert other.tobytes() == array.tobytes(), path
    print(len(paths), "files of the format's own programs are read and packed as they should be")


main(sys.argv[1], sys.argv[2])
page = pathlib.Path(__file__).parent.parent / "testdata/ra/page.ra"
assert hashlib.md5(page.read_bytes()).hexdigest() == "1dd9f98a0d57ec3c4d8ad50343bd20cd"
