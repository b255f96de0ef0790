#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Draw docs/run.svg: a terminal with what two commands of the demo really print.

usage: dev/make_picture.py RETORT [OUTPUT.svg]
"""

import os
import subprocess
import sys
import unicodedata
from xml.sax.saxutils import escape

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
COMMANDS = [
    ["retort", "run", "-v", "demo/orders.csv:orders.csv", "demo/margin.py"],
    ["retort", "run", "demo/hostile.py"],
]
LINES_MAX, COLUMNS = 25, 96
CHAR_PX, LINE_PX, PAD_PX, BAR_PX = 8.4, 20, 18, 34
COLOURS = {
    "command": "#f4f4f5", "prompt": "#7dd3a8", "text": "#c9ccd3", "refused": "#7dd3a8", "retort": "#f2b880",
    "answer": "#f4f4f5",
}


def capture(retort, root=ROOT):
    """(kind, text) of each line, in order."""
    lines = []
    for command in COMMANDS:
        if lines:
            lines.append(("text", ""))
        lines.append(("command", " ".join(command)))
        done = subprocess.run([retort, *command[1:]], cwd=root, stdin=subprocess.DEVNULL, check=False,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, encoding="utf-8")
        for line in done.stdout.splitlines():
            kind = "retort" if line.startswith("retort: ") else "text"
            lines.append(("answer" if line.startswith("average ") else kind, line))
    return lines


def span(kind, text, weight=""):
    return f'<tspan fill="{COLOURS[kind]}"{weight}>{escape(text)}</tspan>'


def draw_line(kind, text):
    if kind == "command":
        return span("prompt", "$ ") + span("command", text, ' font-weight="bold"')
    if kind == "answer":
        return span("answer", text, ' font-weight="bold"')
    what, arrow, reason = text.partition(" → refused: ")
    if arrow:
        return span("text", what + " → ") + span("refused", "refused: " + reason)
    return span(kind, text)


def draw(lines):
    assert all(unicodedata.category(c) != "Cc" for _, text in lines for c in text)
    width = COLUMNS * CHAR_PX + 2 * PAD_PX
    height = BAR_PX + len(lines) * LINE_PX + PAD_PX
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height}" width="{width:.0f}"'
        f' height="{height}" role="img" aria-labelledby="title">',
        "<title id=\"title\">Two runs of retort in a terminal: an answer, and a program whose every attempt"
        " to do harm is refused</title>",
        f'<rect width="{width:.0f}" height="{height}" rx="8" fill="#16181d"/>',
    ]
    for i, colour in enumerate(("#5b5f69",) * 3):
        out.append(f'<circle cx="{PAD_PX + 4 + 18 * i}" cy="18" r="5" fill="{colour}"/>')
    out.append('<g font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, \'DejaVu Sans Mono\', monospace"'
               ' font-size="14" xml:space="preserve">')
    for i, (kind, text) in enumerate(lines):
        y = BAR_PX + (i + 1) * LINE_PX - 5
        n = len(text) + (2 if kind == "command" else 0)
        if n:
            out.append(f'<text x="{PAD_PX}" y="{y}" textLength="{n * CHAR_PX:.1f}">{draw_line(kind, text)}</text>')
    out += ["</g>", "</svg>", ""]
    return "\n".join(out)


def main():
    if len(sys.argv) not in (2, 3):
        print(__doc__.strip().splitlines()[-1], file=sys.stderr)
        return 2
    lines = capture(os.path.abspath(sys.argv[1]))
    longest = max(len(text) for _, text in lines)
    if len(lines) > LINES_MAX or longest > COLUMNS:
        print(f"make_picture: {len(lines)} lines of up to {longest} columns do not fit", file=sys.stderr)
        return 1
    with open(sys.argv[2] if len(sys.argv) == 3 else os.path.join(ROOT, "docs/run.svg"), "w",
              encoding="utf-8") as f:
        f.write(draw(lines))
    return 0


if __name__ == "__main__":
    sys.exit(main())
