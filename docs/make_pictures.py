"""Makes the pictures of README from real output: make_pictures.py NDIO

`docs/pictures/terminal-{light,dark}.svg` show a session of `ndio`, `speed-{light,dark}.svg` the table "Speed" of README. Blocks and
dots are drawn as shapes, so that no font has to have them.
"""

import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
PICTURES = ROOT / "docs" / "pictures"
# A character is 10 wide and 22 high; 120 of them and the frame are 1,240 wide.
WIDE, HIGH, COLUMNS, FRAME, TITLE = 10, 22, 120, 20, 44
THEMES = {
    "light": {"page": "#ffffff", "frame": "#d0d7de", "bar": "#f6f8fa", "text": "#1f2328", "faint": "#59636e", "ours": "#0969da", "other": "#afb8c1"},
    "dark": {"page": "#0d1117", "frame": "#30363d", "bar": "#161b22", "text": "#e6edf3", "faint": "#9198a1", "ours": "#4493f8", "other": "#484f58"},
}
FONT = "ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace"
SANS = "-apple-system, 'Segoe UI', 'Noto Sans', Helvetica, Arial, 'DejaVu Sans', sans-serif"
# Of the eight dots of a braille character, in the order of their bits: column and row.
DOTS = [(0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (1, 2), (0, 3), (1, 3)]

COMMANDS = [
    "ndio info docs/peaks.npy --stats",
    "ndio plot docs/peaks.npy --width 96 --height 22",
    "ndio plot docs/peaks.npy --histogram --width 118 --height 5",
    "ndio plot docs/chirp.npy --width 118 --height 8",
]


def escaped(text):
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def cells(line):
    """The characters of a line of a terminal, each with its colors (or None, for those of the theme)."""
    fore = back = None
    for escape, char in re.findall(r"\x1b\[([\d;]*)m|(.)", line):
        if char:
            yield char, fore, back
            continue
        codes = [int(code or 0) for code in escape.split(";")]
        while codes:
            code = codes.pop(0)
            if code in (38, 48):
                assert codes.pop(0) == 2, "a color of 24 bits"
                color = "#" + "".join(f"{codes.pop(0):02x}" for _ in range(3))
                fore, back = (color, back) if code == 38 else (fore, color)
            elif code == 0:
                fore = back = None
            elif code == 39:
                fore = None
            elif code == 49:
                back = None


def rect(x, y, width, height, color):
    return f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" fill="{color}"/>'


def draw_line(line, y, theme):
    """The shapes and texts of a line whose top is at `y`."""
    text, start = "", 0
    for column, (char, fore, back) in enumerate([*cells(line), (" ", None, None)]):
        x = FRAME + column * WIDE
        color = fore or theme["ours"]
        shape = None
        if back:
            yield rect(x, y, WIDE + 0.4, HIGH + 0.4, back)
        if char == "▀":
            shape = rect(x, y, WIDE + 0.4, HIGH / 2 + 0.2, color)
        elif "▁" <= char <= "█":
            eighths = ord(char) - ord("▁") + 1
            shape = rect(x, y + HIGH * (8 - eighths) / 8, WIDE + 0.4, HIGH * eighths / 8 + 0.4, color)
        elif "\u2800" <= char <= "\u28ff":
            bits = ord(char) - 0x2800
            dots = (DOTS[bit] for bit in range(8) if bits >> bit & 1)
            shape = "".join(f'<circle cx="{x + 2.5 + 5 * right:g}" cy="{y + 2.75 + 5.5 * down:g}" r="2.1" fill="{color}"/>' for right, down in dots)
        if shape is None and char != " ":
            if not text:
                start = column
            text = text.ljust(column - start) + char
        if (shape is not None or column - start - len(text) > 1 or column == len(line)) and text:
            yield text_at(start, text, y, theme["text"])
            text = ""
        if shape:
            yield shape
    if text:
        yield text_at(start, text, y, theme["text"])


def text_at(column, text, y, color, weight=""):
    text = text.rstrip()
    length = len(text) * WIDE
    return f'<text x="{FRAME + column * WIDE}" y="{y + 16:g}" textLength="{length}" fill="{color}"{weight} xml:space="preserve">{escaped(text)}</text>'


def window(lines, theme, title):
    width, height = COLUMNS * WIDE + 2 * FRAME, TITLE + len(lines) * HIGH + FRAME
    yield f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" font-family="{FONT}" font-size="16.6">'
    yield f'<rect x="0.5" y="0.5" width="{width - 1}" height="{height - 1}" rx="10" fill="{theme["page"]}" stroke="{theme["frame"]}"/>'
    yield f'<path d="M0.5 33 V10.5 a10 10 0 0 1 10 -10 H{width - 10.5} a10 10 0 0 1 10 10 V33 Z" fill="{theme["bar"]}" stroke="{theme["frame"]}"/>'
    for number, color in enumerate(("#ff5f57", "#febc2e", "#28c840")):
        yield f'<circle cx="{20 + 20 * number}" cy="17" r="6" fill="{color}"/>'
    yield f'<text x="{width / 2}" y="22" text-anchor="middle" font-size="14" fill="{theme["faint"]}">{title}</text>'
    for number, line in enumerate(lines):
        y = TITLE + number * HIGH
        if line.startswith("$ "):
            yield text_at(0, "$", y, theme["faint"])
            yield text_at(2, line[2:], y, theme["text"], ' font-weight="bold"')
        else:
            yield from draw_line(line, y, theme)
    yield "</svg>"


def session(ndio):
    for number, command in enumerate(COMMANDS):
        if number:
            yield ""
        yield f"$ {command}"
        arguments = command.split()[1:] + (["--color", "always"] if "plot" in command else [])
        done = subprocess.run([ndio, *arguments], capture_output=True, text=True, check=True, cwd=ROOT)
        yield from done.stdout.rstrip("\n").split("\n")


def speeds():
    """The rows of README's table: the name, and how much longer each of the others takes."""
    section = (ROOT / "README.md").read_text().split("### Speed")[1].split("\n## ")[0]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in section.splitlines() if line.startswith("| ")]
    names = rows[0][2:]
    for name, time, *others in rows[1:]:
        factors = [(who, float(found[1])) for who, cell in zip(names, others, strict=True) if (found := re.match(r"([\d.]+) ×", cell))]
        if factors:
            yield name, time, factors


def chart(theme):
    rows = list(speeds())
    widest, bar, left = 760, 18, 400
    height = 30 + sum(14 + (1 + len(others)) * (bar + 3) for _, _, others in rows)
    most = 10
    yield f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 1240 {height}" width="1240" height="{height}" font-family="{SANS}" font-size="16">'
    yield rect(0, 0, 1240, height, theme["page"])
    y = 20
    for name, time, others in rows:
        middle = y + (1 + len(others)) * (bar + 3) / 2 + 5
        yield f'<text x="{left - 20}" y="{middle:g}" text-anchor="end" fill="{theme["text"]}">{escaped(name.replace("`", ""))}</text>'
        for who, factor in [("ndarray-io", 1.0), *others]:
            length = widest * min(factor, most) / most
            ours = who == "ndarray-io"
            yield rect(left, y, length, bar, theme["ours" if ours else "other"])
            label = f"{who}, {time}" if ours else f"{who.replace('`', '')}: {factor:g} ×"
            inside = length > 600
            x, anchor = (left + length - 8, "end") if inside else (left + length + 8, "start")
            more = " →" if factor > most else ""
            yield f'<text x="{x:g}" y="{y + 14}" font-size="14" text-anchor="{anchor}" fill="{theme["text"] if inside else theme["faint"]}">{escaped(label)}{more}</text>'
            y += bar + 3
        y += 14
    yield "</svg>"


def main():
    lines = list(session(pathlib.Path(sys.argv[1]).resolve()))
    for name, theme in THEMES.items():
        (PICTURES / f"terminal-{name}.svg").write_text("\n".join(window(lines, theme, "ndio")) + "\n")
        (PICTURES / f"speed-{name}.svg").write_text("\n".join(chart(theme)) + "\n")


if __name__ == "__main__":
    main()
