"""Makes the archives of this folder by other programs: Python's zipfile, 7-Zip, Info-ZIP and libarchive.

Their bytes differ from run to run (times, random salts), so that the committed ones are read by the tests and not made anew.
Needs NumPy and the Debian packages 7zip, zip and libarchive-tools.
"""

import pathlib
import subprocess
import tempfile
import zipfile

import numpy as np

HERE = pathlib.Path(__file__).parent
PASSWORD = "pass word"


def run(*arguments, where):
    subprocess.run(arguments, cwd=where, check=True, stdout=subprocess.DEVNULL)


def main():
    arrays = {
        "ramp": np.arange(1000, dtype="<f8").reshape(20, 50),
        "noise": np.random.default_rng(7).integers(0, 256, 300, dtype="u1"),
    }
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        names = []
        for name, array in arrays.items():
            np.save(folder / f"{name}.npy", array)
            names.append(f"{name}.npy")
        for name, method in [("bzip2", zipfile.ZIP_BZIP2), ("lzma", zipfile.ZIP_LZMA)]:
            with zipfile.ZipFile(HERE / f"{name}-python.npz", "w", method) as archive:
                for member in names:
                    archive.write(folder / member, member)
        for method in ["Deflate64", "BZip2", "LZMA", "XZ"]:
            out = HERE / f"{method.lower()}-7zip.npz"
            out.unlink(missing_ok=True)
            run("7zz", "a", "-tzip", f"-mm={method}", str(out), *names, where=folder)
        encrypted = [("Copy", "ZipCrypto"), ("Deflate", "ZipCrypto"), ("Copy", "AES128"), ("Deflate", "AES192"),
                     ("Deflate", "AES256"), ("BZip2", "AES256"), ("LZMA", "AES256"), ("XZ", "AES256")]
        for method, encryption in encrypted:
            out = HERE / f"{method.lower()}-{encryption.lower()}-7zip.npz"
            out.unlink(missing_ok=True)
            run("7zz", "a", "-tzip", f"-mm={method}", f"-mem={encryption}", f"-p{PASSWORD}", str(out), *names, where=folder)
        out = HERE / "deflate-zipcrypto-infozip.npz"
        out.unlink(missing_ok=True)
        run("zip", "-q", "-P", PASSWORD, str(out), *names, where=folder)
        run("bsdtar", "--format", "zip", "--options", "zip:encryption=aes256", "--passphrase", PASSWORD, "-cf",
            str(HERE / "deflate-aes256-bsdtar.npz"), *names, where=folder)
        for name, array in arrays.items():
            np.save(HERE / f"{name}.npy", array)


main()
