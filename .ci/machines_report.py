"""What .ci/machines found, as a page: FOLDER OF OUTPUTS, PAGE."""

import datetime
import pathlib
import re
import subprocess
import sys

NAMES = {
    "x86_64": "x86-64 Linux, Debian's newest compiler",
    "i686": "i686 Linux (32 bits)",
    "s390x": "s390x Linux (big-endian), under qemu",
    "aarch64": "aarch64 Linux, under qemu",
    "windows": "x86-64 Windows (GNU), under Wine",
    "wasi": "wasm32-wasip1, under Node",
    "web": "wasm32-unknown-unknown: the web page, in Chromium",
    "macos": "aarch64 macOS: checked, not run",
    "minimal": "x86-64 Linux, the lowest versions that `Cargo.toml` allows",
}
SLOW = "takes 20 minutes under qemu, and counts allocations alone"
# Why tests are not compiled or not chosen for a target: by the beginning of their names.
LEFT_OUT = {
    "i686": {"shell::verify_": "has lengths of 64 bits", "model::shape::tests::products_never_wrap": "has lengths of 64 bits"},
    "s390x": {
        "peak_memory_stays_within_bounds": SLOW,
        "hostile::messages_say": "the messages show dtypes of a little-endian machine",
        "mistakes::": "the messages show dtypes of a little-endian machine",
        "reports::": "the messages show dtypes of a little-endian machine",
        "joblib::objects_of": "the expected texts have the byte order of a little-endian machine",
        "objects::numpy_object_display": "the expected texts have the byte order of a little-endian machine",
        "flat::arrays_of_older": "compares bytes of a little-endian machine",
        "records::records_are_viewed": "views test data, which are little-endian",
        "shell::": "the session shows numbers in this machine's byte order, and was recorded on a little-endian one",
    },
    "aarch64": {"peak_memory_stays_within_bounds": SLOW},
    "windows": {
        "changes::unix::": "needs links, modes, pipes and descriptors of Unix",
        "paths::unix::": "needs links, modes, pipes and descriptors of Unix",
        "tiles::conversion_to_pipe": "needs links, modes, pipes and descriptors of Unix",
        "shell::": "needs a shell of Unix",
        "processes::": "needs signals and a shell of Unix",
        "engine::io::change::system::linux": "is of Linux",
        "engine::io::change::lock::tests::": "is of Linux",
        "client::tests::public_server": "needs 127.0.0.2, which is this machine on Linux only",
        "crowd::": "needs signals and a shell of Unix",
        "stacks::failed_commit": "needs links, modes, pipes and descriptors of Unix",
    },
    "wasi": {"": "its module needs maps, threads, processes, the program, or a C library"},
}
# Targets that run other tests than those of x86-64.
APART = ("x86_64", "minimal", "web", "macos")


def tests(text):
    """The tests of an output: the program that has each, its name, and how it ended."""
    program, found, waiting = "", {}, None
    for line in text.splitlines():
        if match := re.match(r"\s+Running (?:unittests )?(\S+) \(", line):
            program = match[1].replace("\\", "/")
        elif match := re.match(r"test (\S+)(?: - [^.]*)? \.\.\. ?(.*)", line):
            key, end = (program, match[1]), match[2]
            # What a test prints may come between its name and its end.
            waiting = None if re.match(r"ok|ignored|FAILED", end) else key
            found[key] = end or "?"
        elif waiting and (match := re.search(r"(ok|FAILED)$", line)):
            found[waiting], waiting = match[1], None
    return found


def listed(lines):
    """A line for each reason: the modules of its tests, each with their number, or the name of the only one."""
    listed = []
    for reason, names in sorted(lines.items()):
        modules = {}
        for name in names:
            modules.setdefault(name.rpartition("::")[0] or name, []).append(name)
        listed.append(f"- {reason}: " + ", ".join(f"`{tests[0]}`" if len(tests) == 1 else f"`{module}` ({len(tests)})" for module, tests in modules.items()))
    return "\n".join(listed)


def kept(page):
    """The rows and lists of a page, by the names of their targets: they remain if a target has not run again."""
    rows = {match[1]: match[0] for match in re.finditer(r"^\| ([^|]+) \| [0-9a-f]{8}.*\|$", page, re.M)}
    lists = {match[1]: match[0].rstrip() + "\n" for match in re.finditer(r"^\n## (.*): left out\n\n(?:- .*\n)+", page, re.M)}
    return rows, lists


def commits_since(commit):
    return int(subprocess.check_output(["git", "rev-list", "--count", f"{commit.split()[0]}..HEAD"]))


def main():
    folder, path = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    page = path.read_text()
    results = {target: (folder / f"{target}.txt").read_text(errors="replace") for target in NAMES if (folder / f"{target}.txt").exists()}
    whole = tests(results.get("x86_64", ""))
    ran_whole = {key for key, end in whole.items() if end.startswith("ok")}
    (rows, notes), wrong = kept(page), []
    for target, text in results.items():
        found = tests(text)
        compiler = re.search(r"^rustc (\S+)", text, re.M)
        count = {end: sum(1 for other in found.values() if other.startswith(end)) for end in ("ok", "FAILED", "ignored")}
        browser = re.search(r"^(\d+) passed, (\d+) failed$", text, re.M)
        passed, failed = (browser[1], browser[2]) if browser else (count["ok"], count["FAILED"]) if found else ("built", "")
        if "\ntarget: ended well" not in text:
            failed = f"{failed}, and did not end well".lstrip(", ")
            wrong.append(f"{target}: did not end well")
        left = {}
        for key in sorted(ran_whole if target not in APART else ()):
            end = found.get(key)
            if end is None:
                reasons = LEFT_OUT.get(target, {})
                reason = next((reason for name, reason in reasons.items() if key[1].startswith(name)), None)
                if reason is None:
                    wrong.append(f"{target}: {key[1]} did not run, and is not listed as left out")
                left.setdefault(reason or "for no known reason", []).append(key[1])
            elif end.startswith("ignored"):
                left.setdefault(end.removeprefix("ignored").strip(", ") or "ignored", []).append(key[1])
        count_left = sum(map(len, left.values()))
        extra = len({key for key, end in found.items() if end.startswith("ok")} - ran_whole) if target not in APART else 0
        commit = re.search(r"^target: of commit (.*)", text, re.M)[1]
        name = NAMES[target]
        rows[name] = f"| {name} | {commit} | {compiler[1] if compiler else ''} | {passed} | {failed} | {count_left or ''} | {extra or ''} |"
        failed_names = [key[1] for key, end in found.items() if not end.startswith(("ok", "ignored"))]
        if failed_names:
            left["failed"] = failed_names
        notes[name] = f"\n## {name}: left out\n\n{listed(left)}\n" if left else ""
    head = page.split("<!-- made by .ci/machines -->")[0]
    names = [name for name in NAMES.values() if name in rows]
    table = "\n".join(rows[name] for name in names)
    oldest = max((rows[name].split("|")[2].strip() for name in names), key=commits_since)
    path.write_text(
        f"{head}<!-- made by .ci/machines -->\n\n"
        f"Of commit {oldest}, the oldest of these, or later ones, on {datetime.date.today()}.\n\n"
        "| target | commit | compiler | passed | failed | left out of x86-64's | of its own |\n|---|---|---|---|---|---|---|\n"
        f"{table}\n{''.join(notes.get(name, '') for name in names)}"
    )
    for line in wrong:
        print(line)
    sys.exit(bool(wrong))


main()
