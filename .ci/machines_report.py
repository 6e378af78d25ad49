"""What .ci/machines found, as a page: FOLDER OF OUTPUTS, PAGE."""

import pathlib
import re
import sys

NAMES = {
    "x86_64": "x86-64 Linux, Debian's newest compiler",
    "i686": "i686 Linux (32 bits)",
    "s390x": "s390x Linux (big-endian), under qemu",
    "aarch64": "aarch64 Linux, under qemu",
    "windows": "x86-64 Windows (GNU), under wine",
    "wasi": "wasm32-wasip1, under Node",
    "web": "wasm32-unknown-unknown: built",
    "macos": "aarch64 macOS: checked, not run",
    "minimal": "x86-64 Linux, the lowest versions of all dependencies",
}
# A test that is left out of a target, and why.
LEFT_OUT = {
    "s390x": {"memory_is_in_proportion": "takes 20 minutes under qemu, and counts allocations alone"},
    "aarch64": {"memory_is_in_proportion": "takes 20 minutes under qemu, and counts allocations alone"},
}


def tests(text):
    """The tests of an output: the program that has each, its name, and how it ended."""
    program, found = "", {}
    for line in text.splitlines():
        if match := re.match(r"\s+Running (?:unittests )?(\S+) \(", line):
            program = match[1].replace("\\\\", "/")
        # What a test prints may come between its name and its end.
        elif match := re.match(r"test (\S+)(?: - [^.]*)? \.\.\. (.*)", line):
            end = match[2].split(",")[0] or "?"
            found[program, match[1]] = end if end in ("ok", "ignored", "FAILED") else "?"
        elif (match := re.search(r"(ok|ignored|FAILED)$", line)) and "?" in found.values():
            name = next(name for name, end in reversed(found.items()) if end == "?")
            found[name] = match[1]
    return found


def main():
    folder, page = map(pathlib.Path, sys.argv[1:])
    results = {target: (folder / f"{target}.txt").read_text(errors="replace") for target in NAMES if (folder / f"{target}.txt").exists()}
    whole = tests(results.get("x86_64", ""))
    rows, notes = [], []
    for target, text in results.items():
        found = tests(text)
        count = lambda end: sum(1 for other in found.values() if other == end)  # noqa: E731
        compiler = re.search(r"^rustc (\S+)", text, re.M)
        ended = "built" if not found else f"{count('ok')} passed, {count('FAILED')} failed, {count('ignored')} need what is not there"
        missing = sorted(set(whole) - set(found)) if found and target not in ("x86_64", "minimal") else []
        extra = sorted(set(found) - set(whole)) if found and target not in ("x86_64", "minimal") else []
        rows.append(f"| {NAMES[target]} | {compiler[1] if compiler else ''} | {ended} | {len(missing)} | {len(extra)} |")
        reasons = LEFT_OUT.get(target, {})
        for title, names in [("not there", missing), ("there alone", extra), ("failed", [name for name, end in found.items() if end == "FAILED"])]:
            if names:
                listed = "\n".join(f"- `{name}` ({program}){': ' + reasons[name] if name in reasons else ''}" for program, name in names)
                notes.append(f"\n## {NAMES[target]}: {title}\n\n{listed}\n")
    table = "\n".join(rows)
    head = page.read_text().split("<!-- made by .ci/machines -->")[0] if page.exists() else "# Platforms\n\n"
    page.write_text(
        f"{head}<!-- made by .ci/machines -->\n\n| target | compiler | tests | of x86-64's not there | not on x86-64 |\n|---|---|---|---|---|\n{table}\n{''.join(notes)}"
    )


main()
