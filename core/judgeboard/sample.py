"""Finds the bundled sample log, in a checkout as in an installed wheel."""

from pathlib import Path

from judgeboard.errors import BadInput

_PACKAGE = Path(__file__).parent
_PLACES = (_PACKAGE / "bundled_sample", _PACKAGE.parents[1] / "data" / "sample")


def sample_folder() -> Path:
    """Return the folder with ``responses``, ``grades`` and ``verdicts`` (each ``.jsonl.gz``) of the sample log.

    Raises:
        BadInput: The installation is incomplete: the wheel carries the folder, and so does a checkout.
    """
    for folder in _PLACES:
        if (folder / "responses.jsonl.gz").is_file():
            return folder
    raise BadInput(f"the sample log is missing from this installation ({_PLACES[0]}): install judgeboard again")
