# SPDX-License-Identifier: Apache-2.0
"""Notebooks that nbclient and papermill run in the kernel. Prints a line of JSON for each check."""

import json
import os
import sys
import tempfile

import nbclient
import nbformat
import papermill
from nbformat.v4 import new_code_cell, new_notebook


def check(name, found, wanted):
    print(json.dumps({"name": name, "good": found == wanted, "found": repr(found)[:1000]}), flush=True)


def notebook(*codes):
    made = new_notebook(metadata={"kernelspec": {"name": "retort", "display_name": "retort", "language": "python"}})
    made.cells = [new_code_cell(code) for code in codes]
    return made


def run(*codes, **how):
    made = notebook(*codes)
    nbclient.NotebookClient(made, kernel_name="retort", timeout=300, **how).execute()
    nbformat.validate(made)
    return made.cells


def shown(cells):
    return [[output.output_type for output in cell.outputs] for cell in cells]


FRAME = "import pandas as pd\npd.DataFrame({'a': [1, 2]})"
PLOT = "import matplotlib.pyplot as plt\nplt.plot([1, 2])\nplt.show()"

cells = run("print('a')\n6 * 7", FRAME, PLOT, "n = 1")
check("outputs", shown(cells), [["stream", "execute_result"], ["execute_result"], ["display_data"], []])
check("numbers", [cell.execution_count for cell in cells], [1, 2, 3, 4])
check("frame", "<table" in cells[1].outputs[0].data["text/html"], True)
check("plot", cells[2].outputs[0].data["image/png"][:4], "iVBO")

try:
    run("1 / 0", "2")
    check("error", "went on", "CellExecutionError")
except nbclient.exceptions.CellExecutionError as e:
    check("error", (e.ename, e.evalue), ("ZeroDivisionError", "division by zero"))
check("errors allowed", shown(run("1 / 0", "2", allow_errors=True)), [["error"], ["execute_result"]])

try:
    run("input('x')")
    check("input", "went on", "CellExecutionError")
except nbclient.exceptions.CellExecutionError as e:
    check("input", e.ename, "EOFError")

cells = run("from IPython.display import clear_output, display\nprint('old')\nclear_output()\nh = display(1, display_id='d')\n"
            "h.update(2)")
check("cleared and updated", [output.get("data", {}).get("text/plain") for output in cells[0].outputs], ["2"])

with tempfile.TemporaryDirectory() as place:
    source = notebook("n = 3", "n * 2")
    source.cells[0].metadata["tags"] = ["parameters"]
    nbformat.write(source, os.path.join(place, "in.ipynb"))
    done = papermill.execute_notebook(os.path.join(place, "in.ipynb"), os.path.join(place, "out.ipynb"),
                                      parameters={"n": 5}, progress_bar=False)
    check("papermill", done.cells[-1].outputs[0]["data"]["text/plain"], "10")
sys.exit(0)
