"""Whether other programs read the archives of a folder that this library wrote: NumPy, Python's zipfile (as it is from 3.14 on for
Zstandard), Info-ZIP, 7-Zip, bsdtar and Java. Those that are not there are left out, but not with --all."""

import pathlib
import shutil
import subprocess
import sys
import zipfile

import numpy as np

try:
    from backports.zstd import zipfile as zipfile_3_14
except ImportError:
    zipfile_3_14 = zipfile

# How each program tests an archive. Info-ZIP and Java know no Zstandard.
PROGRAMS = {
    "unzip": (["unzip", "-tqq"], False),
    "7zz": (["7zz", "t", "-bso0", "-bsp0"], True),
    "bsdtar": (["bsdtar", "-xOf"], True),
    "java": (["java", str(pathlib.Path(__file__).with_name("Zip.java"))], False),
}


def arrays_of(path):
    """The names and arrays of an archive, as zipfile reads them, whose CRC-32 it checks."""
    module = zipfile_3_14 if path.name.startswith("zstd") else zipfile
    with module.ZipFile(path) as archive:
        assert archive.testzip() is None, path
        for member in archive.infolist():
            if member.file_size < 1 << 30:
                with archive.open(member) as file:
                    yield member.filename.removesuffix(".npy"), np.lib.format.read_array(file)


def check(path):
    arrays = dict(arrays_of(path))
    if not path.name.startswith("zstd"):
        with np.load(path) as loaded:
            for name in list(arrays)[:1000]:
                assert np.array_equal(loaded[name], arrays[name]), (path, name)
    if "many" in arrays:
        assert np.array_equal(arrays["many"], np.sqrt(np.arange(600_000, dtype="f4"))), path
        large = np.multiply.outer(np.arange(700), np.arange(300)) % 1000
        if "changed" not in path.name:
            assert np.array_equal(arrays["large"], large), path
            assert np.array_equal(arrays["strided"], large[::-2, ::3]), path


# How each program decrypts the members that an update has kept. Info-ZIP knows only the traditional encryption.
KEPT = {"unzip": (["unzip", "-tqq", "-P", "pass word"], False), "7zz": (["7zz", "t", "-bso0", "-bsp0", "-ppass word"], True)}


def check_kept(path, programs):
    """Checks an archive with members that an update has kept as they were, encrypted by other programs."""
    is_traditional = "zipcrypto" in path.name
    if is_traditional:
        with zipfile.ZipFile(path) as archive:
            for member in archive.infolist():
                archive.read(member, pwd=b"pass word")  # checks the password and the checksum
    for name in programs & KEPT.keys():
        command, knows_aes = KEPT[name]
        if not is_traditional and not knows_aes:
            continue
        tested = subprocess.run([*command, str(path)], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        assert tested.returncode == 0, (name, path, tested.stderr[:1000])


def main(folder, must_be_there):
    programs = {name: found for name, found in PROGRAMS.items() if shutil.which(name)}
    missing = PROGRAMS.keys() - programs.keys()
    assert not (missing and must_be_there), f"{missing} are missing"
    print("read by", *programs, *(f"(not by {name}, which is not there)" for name in missing))
    paths = sorted(pathlib.Path(folder).glob("*.npz"))
    assert len(paths) > 10, f"only {len(paths)} archives"
    for path in paths:
        check(path)
        for name, (command, knows_zstd) in programs.items():
            if path.name.startswith("zstd") and not knows_zstd:
                continue
            tested = subprocess.run([*command, str(path)], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
            assert tested.returncode == 0, (name, path, tested.stderr[:1000])
    print(len(paths), "archives are sound")
    kept = [path for path in sorted(pathlib.Path(folder).glob("kept-*.zip")) if path.name.count("-") == 3]
    assert len(kept) > 5, f"only {len(kept)} archives with encrypted members"
    for path in kept:
        check_kept(path, programs.keys())
    print(len(kept), "archives with encrypted members are sound")


main(sys.argv[1], "--all" in sys.argv)
