"""Whether `ndio` accepts archives in which another program sees other members (names, sizes, bytes).

    check_zip.py NDIO [--cases N] [--seed S] [--others N] [--keep FOLDER] [--list] [--only MUTATION]

Archives are made by structure: 1 to 4 members, to which one or several of the MUTATIONS below are applied. The first cases are every
mutation alone, the others are combinations. Each is read by `ndio` and by Python's zipfile, and the first `--others` cases as well by
Info-ZIP, 7-Zip and bsdtar (from a file, by the directory; from a pipe, by the local records), as far as they are installed. A case
counts as a difference if both accept and see other members. Differences of combinations are attributed to the mutations that alone make
one. Those that are known, and not about content, are in HARMLESS. The exit status is 1 if any other was found.
"""

import argparse
import collections
import concurrent.futures
import itertools
import json
import os
import pathlib
import random
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
import zlib

from zip_cases import MUTATIONS, make

# (mutation or "*", reader or "*", kind or "*"): why a difference is none of content.
HARMLESS = {
    # Names without the flag of UTF-8 are in the code page of the reader's locale; ndio and zipfile take 437.
    **{(name, "*", "names"): "the encoding is not stated" for name in ("cp437", "cp437_dos", "latin1_windows", "utf8_without_flag")},
    # Names as lists show them.
    ("name_control", "*", "names"): "control characters are shown as escapes",
    ("name_newline", "*", "names"): "control characters are shown as escapes",
    ("name_backslash", "*", "names"): "7-Zip and bsdtar take backslashes for slashes, depending on the system that made it",
    ("name_empty", "*", "names"): "a member without a name is given one",
    ("name_twice_normal_form", "*", "names"): "bsdtar composes characters",
    ("name_folder", "7zz", "names"): "7-Zip shows folders without the slash",
    ("name_folder_deflated", "7zz", "names"): "7-Zip shows folders without the slash",
    # The attributes make something else than a file of a member. zipfile and Info-ZIP return its content all the same.
    **{(name, "*", "*"): "the attributes do not say that it is a file" for name in ("attribute_folder_dos", "attribute_folder_unix", "attribute_link", "attribute_device")},
    # What libarchive does not find, it lists as nothing, without an error.
    ("zip64_prefix", "bsdtar", "count"): "the offset of the ZIP64 record does not include the bytes before the archive",
    # What reads a stream cannot know where a stored member ends, and takes what looks like a descriptor for one.
    ("descriptor_within_stored", "bsdtar-pipe", "*"): "where a stored member ends cannot be told from a stream",
}


# What each reader sees: a list of (name, size, bytes), each None if unknown, or the error as a string.


def run(*command, stdin=subprocess.DEVNULL):
    return subprocess.run(command, stdin=stdin, capture_output=True, env=os.environ | {"LC_ALL": "C.UTF-8", "TZ": "UTC"}, timeout=60)


def reason(done):
    return (done.stderr or done.stdout).decode("utf-8", "replace").split("a.npz: ", 1)[-1].strip() or "fails"


def by_ndio(ndio, path, folder):
    info = run(ndio, "info", "--json", path)
    text = info.stdout.decode("utf-8", "replace")
    assert b"panicked" not in info.stderr, (path, info.stderr)
    if info.returncode not in (0, 1) or not text.startswith("{") or "members" not in (facts := json.loads(text)):
        return reason(info)
    found = []
    for number, member in enumerate(facts["members"]):
        output = folder / str(number)
        done = run(ndio, "unpack", "--index", str(number), "-o", output, path)
        error = reason(done)
        files = [file for file in output.rglob("*") if file.is_file()] if output.exists() else []
        content = files[0].read_bytes() if files else b"" if done.returncode == 0 else None
        if done.returncode and "outside the output folder" not in error:
            return error
        found.append((member["member"], member["size"], content))
    if any(content is None for _, _, content in found):  # its name keeps it from being unpacked
        done = run(ndio, "verify", path)
        if done.returncode and b"NPY" not in done.stderr + done.stdout:
            return reason(done)
    return found


def by_zipfile(path):
    try:
        with zipfile.ZipFile(path) as archive:
            return [(info.filename, info.file_size, archive.read(info)) for info in archive.infolist()]
    except Exception as error:
        return f"{type(error).__name__}: {error}"


def by_listing(listing, names, content):
    """What programs see that print a list, and the contents of all members without saying where each begins."""
    for done in (listing, content):
        if done.returncode:
            return (done.stderr or done.stdout).decode("utf-8", "replace").strip()[-200:] or "fails"
    return (names(listing.stdout.decode("utf-8", "replace")), content.stdout)


def by_unzip(path):
    listing, content = run("unzip", "-Z1", path), run("unzip", "-p", path)
    for done in (listing, content):
        done.returncode -= done.returncode == 1  # a warning
    if b"mpty zipfile" in listing.stdout or b"zipfile is empty" in listing.stderr:
        return [], b""
    return by_listing(listing, lambda text: text.split("\n")[:-1], content)


def by_7zz(path):
    listing, content = run("7zz", "l", "-slt", "-ba", "-tzip", "-sccUTF-8", path), run("7zz", "x", "-so", "-tzip", path)
    for done in (listing, content):
        done.returncode -= done.returncode == 1  # a warning
    return by_listing(listing, lambda text: re.findall(r"^Path = (.*)$", text, re.M), content)


def by_bsdtar(path):
    return by_listing(run("bsdtar", "-tf", path), lambda text: text.split("\n")[:-1], run("bsdtar", "-xOf", path))


def by_bsdtar_pipe(path):
    def piped(option):
        with subprocess.Popen(["cat", path], stdout=subprocess.PIPE) as cat:
            return run("bsdtar", option, "-", stdin=cat.stdout)
    return by_listing(piped("-tf"), lambda text: text.split("\n")[:-1], piped("-xOf"))


OTHERS = {"unzip": by_unzip, "7zz": by_7zz, "bsdtar": by_bsdtar, "bsdtar-pipe": by_bsdtar_pipe}


def difference(ours, theirs):
    """How what a program sees differs from what ndio sees; None if it does not, or if one of them refuses."""
    if isinstance(ours, str) or isinstance(theirs, str):
        return None
    key = lambda member: (member[0], member[1], member[2] or b"")
    if isinstance(theirs, list):
        if sorted(name for name, _, _ in ours) != sorted(name for name, _, _ in theirs):
            return "count" if len(ours) != len(theirs) else "names"
        same = all(one[:2] == other[:2] and one[2] in (None, other[2]) for one, other in zip(sorted(ours, key=key), sorted(theirs, key=key)))
        return None if same else "content"
    names, content = theirs
    if sorted(names) != sorted(name for name, _, _ in ours):
        return "count" if len(ours) != len(names) else "names"
    contents = [member[2] for member in ours]
    if None in contents:
        return None if sum(size for _, size, _ in ours) == len(content) else "content"
    return None if any(b"".join(order) == content for order in itertools.permutations(contents)) else "content"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("ndio")
    parser.add_argument("--cases", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--others", type=int, help="how many cases other programs read (default: each mutation alone, twice)")
    parser.add_argument("--keep", type=pathlib.Path, help="where to keep an archive of each difference")
    parser.add_argument("--only", help="only this mutation")
    parser.add_argument("--list", action="store_true", help="show what each program says")
    asked = parser.parse_args()
    others = {name: function for name, function in OTHERS.items() if shutil.which(name.split("-")[0])}
    print("compared with zipfile", *others, f"seed {asked.seed}")
    alone = sum(len(variants) for _, variants in MUTATIONS.values())
    sample = 2 * alone if asked.others is None else asked.others
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(2) as pool:
        def ask(number):
            rng = random.Random(f"{asked.seed} {number}")
            names, content = make(rng, number, asked.only)
            place = pathlib.Path(folder, str(number))
            place.mkdir()
            (path := place / "a.npz").write_bytes(content)
            found = {"ndio": by_ndio(asked.ndio, path, place), "zipfile": by_zipfile(path)}
            if number < sample:
                found |= {name: function(path) for name, function in others.items()}
            shutil.rmtree(place)
            return names, content, found
        report(asked, others, pool.map(ask, range(asked.cases)))


def brief(found):
    """What a program sees, in one line."""
    if isinstance(found, str):
        return found[:160]
    if isinstance(found, tuple):
        return f"{found[0]} of {len(found[1])} bytes in all, CRC {zlib.crc32(found[1]):08x}"
    return " ".join(f"{name!r} ({size}, {'?' if content is None else format(zlib.crc32(content), '08x')})" for name, size, content in found) or "no members"


def report(asked, others, cases):
    seen, refused, accepted, known = collections.defaultdict(list), collections.defaultdict(list), 0, collections.Counter()
    for number, (names, content, found) in enumerate(cases):
        if asked.list:
            print(number, *names, *(f"\n    {reader}: {what if isinstance(what, str) else repr(what)[:150]}" for reader, what in found.items()))
        ours = found.pop("ndio")
        accepted += not isinstance(ours, str)
        for reader, theirs in found.items():
            if kind := difference(ours, theirs):
                # A combination is attributed to a mutation that makes the same program differ alone.
                reasons = [name for name in names if len(names) > 1 and any((name, reader, other) in seen for other in ("names", "count", "content"))]
                seen[reasons[0] if reasons else " + ".join(names), reader, kind].append((number, content, ours, theirs))
        # Refused here, and read in the same way by all others: where all programs have read it, this may be too strict.
        if isinstance(ours, str) and len(found) > len(others) and not any(isinstance(theirs, str) for theirs in found.values()):
            zipped = found.pop("zipfile")
            if not any(difference(zipped, theirs) for theirs in found.values()):
                refused[" + ".join(names)].append((number, ours))
    print(f"{accepted} of {asked.cases} accepted")
    for names, numbers in refused.items():
        print(f"refused only here, {len(numbers)} cases: {names}: {numbers[0][1]:.150}")
    failed = False
    for names in sorted({names for names, _, _ in seen}):
        found = {(reader, kind): examples for (other, reader, kind), examples in seen.items() if other == names}
        unknown = {}
        for (reader, kind), examples in found.items():
            keys = itertools.product((names.split("=")[0], "*"), (reader, "*"), (kind, "*"))
            known.update(key for key in keys if key in HARMLESS)
            if not any(key in HARMLESS for key in itertools.product((names.split("=")[0], "*"), (reader, "*"), (kind, "*"))):
                unknown[reader, kind] = examples
        if not unknown:
            continue
        failed = True
        print(f"DIFFERENCE: {names}:", *(f"{reader} ({kind}, {len(examples)} cases)" for (reader, kind), examples in unknown.items()))
        shown = None
        for (reader, _), [(number, content, ours, theirs), *_] in unknown.items():
            if ours != shown:
                print(f"    case {number}\n    {'ndio':12} {brief(ours)}")
            shown = ours
            print(f"    {reader:12} {brief(theirs)}")
        if asked.keep:
            asked.keep.mkdir(parents=True, exist_ok=True)
            (asked.keep / f"{names.replace(' ', '')}.zip").write_bytes(content)
    for key, count in known.items():
        print(f"known, {count} times:", *key, "-", HARMLESS[key])
    sys.exit(failed)


if __name__ == "__main__":
    main()
