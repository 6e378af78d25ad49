"""Whether `ndio json --exact` gives what a manifest says: FOLDER with manifest.jsonl, and the program."""

import json
import pathlib
import subprocess
import sys

KEYS = ["name", "member", "method", "version", "descr", "fortran_order", "shape", "n", "start", "data_start", "itemsize",
        "dtype", "sha256", "values", "object_values"]

# What Python's `zipfile` cannot read and the feature `zip-methods` can.
READ_BY_US = ["badzip-method-deflate64"]
# What NumPy writes (for float8_e5m2 of ml_dtypes, and on 32-bit x86), and does not read where the corpus is made.
ALSO_READ = ["bad-dtype-f1", "bad-dtype-f12"]


def ask(program, path, *options):
    done = subprocess.run([program, "json", "--exact", *options, str(path)], capture_output=True, text=True)
    assert "panicked" not in done.stderr, (path, done.stderr)
    found = json.loads(done.stdout)
    assert done.returncode == (1 if "error" in found else 0), (path, done)
    return found


def compare(found, wanted, opted_in):
    """What differs, or None; members with an error of an allowed class are equal."""
    if "error" in found:
        return None if found["error"] == wanted.get("expect") else f"{found['error']}: {found['message']}"
    if wanted.get("expect", "ok") not in ("ok", opted_in):
        return f"was read, not {wanted['expect']}"
    for key in KEYS:
        if key in wanted and wanted[key] is not None and found.get(key) != wanted[key]:
            return f"{key}: {str(found.get(key))[:300]} and not {str(wanted[key])[:300]}"
    return None


def check(case, found, expect, also, opted_in):
    allowed = {expect, *also}
    if "error" in found:
        return None if found["error"] in allowed else f"{found['error']}, not {allowed}: {found['message']}"
    errors = {array["error"] for array in found["arrays"] if "error" in array}
    if errors and errors <= allowed:
        return None
    if "ok" not in allowed:
        return f"was read, not {allowed}"
    if not case["arrays"] and expect != "ok":
        return None
    if expect != "ok" and len(found["arrays"]) < len(case["arrays"]):
        return None
    if len(found["arrays"]) != len(case["arrays"]):
        return f"{len(found['arrays'])} arrays, not {len(case['arrays'])}"
    differing = [compare(*pair, opted_in) for pair in zip(found["arrays"], case["arrays"])]
    others = case.get("other_members")
    if others is not None and found.get("other_members") != others:
        differing.append(f"other members {found.get('other_members')}")
    return next(filter(None, differing), None)


def main(program, folder):
    folder = pathlib.Path(folder)
    failed = passed = 0
    for line in (folder / "manifest.jsonl").read_text().splitlines():
        case = json.loads(line)
        if case["id"] in READ_BY_US:
            case["expect"] = "ok"
            for array in case["arrays"]:
                array["expect"] = "ok"
        if case["id"] in ALSO_READ:
            case["also"].append("ok")
        offset = case["arrays"][0].get("start", 0) if case["arrays"] and case["kind"] == "npy" else 0
        runs = [((), case["expect"], case["also"])]
        if case.get("allow_pickle"):
            runs.append((("--allow-objects",), case["opt_in"], case["also_opt_in"]))
        for options, expect, also in runs:
            options += ("--offset", str(offset)) if offset else ()
            opted_in = "object_needs_opt_in" if "--allow-objects" in options else None
            wrong = check(case, ask(program, folder / case["file"], *options), expect, also, opted_in)
            passed += wrong is None
            if wrong:
                failed += 1
                print(f"{case['id']} {' '.join(options)}: {wrong}")
    print(f"{passed} passed, {failed} failed")
    return failed > 0


sys.exit(main(sys.argv[1], sys.argv[2]))
