"""Whether NumPy, Python's zipfile and, if it is there, Info-ZIP read the archives of a folder that this library wrote."""

import pathlib
import shutil
import subprocess
import sys
import zipfile

import numpy as np


def main(folder):
    unzip = shutil.which("unzip")
    print("Info-ZIP is", unzip or "not there: it is left out")
    paths = sorted(pathlib.Path(folder).glob("*.npz"))
    assert len(paths) > 10, f"only {len(paths)} archives"
    for path in paths:
        with zipfile.ZipFile(path) as archive:
            assert archive.testzip() is None, path
            sizes = {member.filename: member.file_size for member in archive.infolist()}
        with np.load(path) as arrays:
            assert [name + ".npy" for name in arrays.files] == list(sizes)
            for name in arrays.files[:1000]:
                if sizes[name + ".npy"] < 1 << 30:
                    assert arrays[name].nbytes <= sizes[name + ".npy"]
            if "many" in arrays.files:
                expected = np.sqrt(np.arange(600_000, dtype="f4"))
                assert np.array_equal(arrays["many"], expected), path
                large = np.multiply.outer(np.arange(700), np.arange(300)) % 1000
                if "changed" not in path.name:
                    assert np.array_equal(arrays["large"], large), path
                    assert np.array_equal(arrays["strided"], large[::-2, ::3]), path
        if unzip:
            tested = subprocess.run([unzip, "-tqq", str(path)], capture_output=True, text=True)
            assert tested.returncode == 0, (path, tested.stdout, tested.stderr)
    print(len(paths), "archives are sound")


main(sys.argv[1])
