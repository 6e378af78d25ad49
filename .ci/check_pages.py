"""Plays pages as a reader would: makes the files, runs the programs, and compares the pages with what comes out.

    check_pages.py PROGRAMS NDIO [--update] PAGE…

In a new folder for each page, in order: blocks of Python are executed; `<!-- program: NAME -->` is followed by the program
`examples/cookbook/NAME.rs` and, if it prints something, by that; commands of console blocks are run. PROGRAMS is the built example `cookbook`.
With `--update`, writes the programs and what is printed into the page.
"""

import contextlib
import difflib
import io
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
BLOCK = re.compile(
    r"^<!-- program: (?P<program>\w+) -->\n(?:\n```rust,no_run\n.*?^```\n(?:\n```text\n.*?^```\n)?)?"
    r"|^```python\n(?P<python>.*?)^```\n(?P<printed>\n```text\n.*?^```\n)?"
    r"|^```console\n(?P<console>.*?)^```\n",
    re.M | re.S,
)


def text_block(printed):
    return f"\n```text\n{printed.rstrip()}\n```\n" if printed.strip() else ""


def run(command, **others):
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, **others)
    return done.stdout + done.stderr


def play(page, programs, ndio):
    names = {}
    folders = [pathlib.Path(path).parent for path in (ndio, programs, sys.executable)]
    path = os.pathsep.join([*map(str, folders), os.environ["PATH"]])
    environment = {**os.environ, "PATH": path, "NO_COLOR": "1"}

    def played(found):
        if name := found["program"]:
            code = (ROOT / "examples" / "cookbook" / f"{name}.rs").read_text()
            printed = run([programs, name])
            assert "name one of" not in printed, f"examples/cookbook/main.rs does not list {name}"
            return f"<!-- program: {name} -->\n\n```rust,no_run\n{code}```\n" + text_block(printed)
        if (code := found["python"]) is not None:
            printed = io.StringIO()
            with contextlib.redirect_stdout(printed):
                exec(compile(code, str(page), "exec"), names)
            return f"```python\n{code}```\n" + text_block(printed.getvalue())
        commands = [line[2:] for line in found["console"].splitlines() if line.startswith("$ ")]
        lines = (f"$ {command}\n{run(command, shell=True, env=environment)}" for command in commands)
        return f"```console\n{''.join(lines)}```\n"

    return BLOCK.sub(played, page.read_text())


def main():
    programs, ndio, *rest = sys.argv[1:]
    programs, ndio = (os.path.abspath(path) for path in (programs, ndio))
    update = "--update" in rest
    wrong, shown = 0, set()
    for page in (pathlib.Path(path).resolve() for path in rest if path != "--update"):
        folder = tempfile.mkdtemp()
        os.chdir(folder)
        shutil.copytree(ROOT / "testdata", "testdata")  # a copy: what a page writes is not kept
        shutil.copytree(ROOT / "docs", "docs", ignore=shutil.ignore_patterns("*.md", "pictures"))
        try:
            expected = play(page, programs, ndio)
        finally:
            os.chdir(ROOT)
            shutil.rmtree(folder)
        before = page.read_text()
        shown.update(re.findall(r"^<!-- program: (\w+) -->", expected, re.M))
        if update:
            page.write_text(expected)
        elif before != expected:
            wrong += 1
            sys.stdout.writelines(difflib.unified_diff(before.splitlines(True), expected.splitlines(True), str(page), "as played"))
    # README runs one of them by its name.
    known = {path.stem for path in (ROOT / "examples" / "cookbook").glob("*.rs")} - {"main", "append_forever"}
    if "README.md" in rest and len(rest) > 2 and shown != known:
        sys.exit(f"no page shows {sorted(known - shown)}")
    if wrong:
        sys.exit("write what is played into the pages with --update, once it is what they should say")
    print("the pages are what happens")


if __name__ == "__main__":
    main()
