"""Checks the package trinity_go as a user of notebooks meets it: its types with mypy --strict, and the notebook of examples, executed.

    check.py --trinity bin/trinity --work DIR

A virtual environment is made below DIR the first time and kept.
"""

import argparse
import os
import pathlib
import shutil
import subprocess
import tempfile
import venv

HERE = pathlib.Path(__file__).resolve().parent
NOTEBOOK = HERE.parents[2] / "examples" / "notebook" / "reward.ipynb"
EXECUTE = """
import sys, nbclient, nbformat
notebook = nbformat.read(sys.argv[1], as_version=4)
nbclient.NotebookClient(notebook, timeout=300).execute()
outputs = [o for c in notebook.cells if c.cell_type == "code" for o in c.outputs]
steps = [o for o in outputs if o.output_type == "display_data" and o.data["text/plain"].startswith("step 20/20")]
assert len(steps) == 1, f"the steps are not one display that ends at step 20: {outputs}"
print(steps[0].data["text/plain"])
"""


def main():
    a = argparse.ArgumentParser()
    a.add_argument("--trinity", type=pathlib.Path, required=True)
    a.add_argument("--work", type=pathlib.Path, required=True)
    a = a.parse_args()
    python = a.work.resolve() / "venv" / "bin" / "python"
    if not python.exists():
        venv.create(a.work / "venv", with_pip=True)
        subprocess.run([python, "-m", "pip", "install", "-q", "mypy", "nbclient", "ipykernel"], check=True)
    subprocess.run([python, "-m", "mypy", "--strict", "--cache-dir", a.work.resolve() / "mypy", "--python-version", "3.10", "trinity_go"],
                   cwd=HERE, check=True)
    path = os.pathsep.join([str(a.trinity.resolve().parent), os.environ["PATH"]])
    with tempfile.TemporaryDirectory() as folder:
        shutil.copy(NOTEBOOK, folder)
        subprocess.run([python, "-c", EXECUTE, NOTEBOOK.name], cwd=folder, check=True, env={
            **os.environ, "PATH": path, "PYTHONPATH": str(HERE), "PYTHONDONTWRITEBYTECODE": "1"})


if __name__ == "__main__":
    main()
