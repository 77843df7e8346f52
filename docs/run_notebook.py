"""Runs the how-to that is a notebook. `python docs/run_notebook.py` writes its new outputs into it."""

import tempfile
from pathlib import Path

import nbformat
from nbclient import NotebookClient

NOTEBOOK = Path(__file__).parent / "how-to" / "notebook.ipynb"


def executed(folder: Path) -> nbformat.NotebookNode:
    """Return the notebook with the outputs of a run in a folder, without progress and without what differs per run."""
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    metadata = dict(notebook.metadata)
    client = NotebookClient(
        notebook,
        resources={"metadata": {"path": str(folder)}},
        record_timing=False,
        coalesce_streams=True,
    )
    client.execute()
    notebook.metadata = nbformat.from_dict(metadata)
    for cell in notebook.cells:
        cell.metadata = nbformat.from_dict({})
        if cell.cell_type == "code":
            cell.outputs = [output for output in cell.outputs if output.get("name") != "stderr"]
            for output in cell.outputs:
                if "text/html" in output.get("data", {}):
                    output.data.pop("text/plain")
    return notebook


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as temporary:
        nbformat.write(executed(Path(temporary)), NOTEBOOK)
