# SPDX-License-Identifier: Apache-2.0
"""Execute notebooks with nbclient, on a kernel of ours, and with `retort run`: both are valid, and equal but for the form of
names. Prints "good"."""

import os
import subprocess

import nbformat
from nbclient import NotebookClient
from nbformat import v4

CELLS = [
    "n = 1", "print('a')\nimport sys\nprint('e', file=sys.stderr)\nn + 1", "", "1 / 0",
    "from IPython.display import display, HTML\nh = display(HTML('<b>x</b>\\n<i>y</i>'), display_id=True)",
    "h.update(HTML('<b>z</b>'))", "!echo hello", "%%bash\necho $((6 * 7))", "'é\\n\u2028'",
]


def outputs(nb):
    found = []
    for cell in (c for c in nb.cells if c.cell_type == "code"):
        for output in cell.outputs:
            output.pop("transient", None)
            found.append((cell.execution_count, output))
    return found


def main():
    for minor in (4, 5):
        nb = v4.new_notebook(cells=[v4.new_markdown_cell("# é\n"), *map(v4.new_code_cell, CELLS)],
                             metadata={"kernelspec": {"name": "retort", "display_name": "x", "language": "python"}})
        nb.nbformat_minor = minor
        for i, cell in enumerate(nb.cells):
            cell.pop("id", None)
            if minor == 5:
                cell["id"] = f"cell-{i}"
            if cell.source == "1 / 0":
                cell.metadata["tags"] = ["raises-exception"]
        nbformat.write(nb, "n.ipynb")
        subprocess.run([os.environ["RETORT"], "run", "-q", "--param", "n=2", "n.ipynb"], check=True)
        ours = nbformat.read("n.executed.ipynb", as_version=4)
        nbformat.validate(ours)
        subprocess.run([os.environ["RETORT"], "run", "-q", "n.ipynb"], check=True)
        ours = nbformat.read("n.executed.ipynb", as_version=4)
        nbformat.validate(ours)
        theirs = NotebookClient(nb, kernel_name="retort", timeout=120).execute()
        for a, b in zip(outputs(ours), outputs(theirs), strict=True):
            if a != b:
                raise SystemExit(f"{a}\n{b}")
    print("good")


main()
