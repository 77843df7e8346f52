"""Files of tools: written for a test, and read as an import reads them."""

import csv
import json

from judgeboard.domain import Response
from judgeboard.imports.reading import read_records

INSPECT_SAMPLE = {
    "id": "s1",
    "epoch": 1,
    "input": [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": [{"type": "text", "text": "q"}]},
    ],
    "target": ["a", "b"],
    "output": {
        "model": "openai/m",
        "completion": "a",
        "usage": {"input_tokens": 3, "output_tokens": 2},
    },
    "scores": {
        "match": {"value": "C"},
        "graded": {"value": {"depth": 0.5}, "explanation": "short"},
    },
    "metadata": {"documents": ["p1", "p2"], "level": 3},
}


def written(folder, *rows, name="any.jsonl"):
    file = folder / name
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return file


def written_csv(file, *rows):
    """Write rows as a table; None is an empty cell, and any other value that is no text is JSON."""
    with file.open("w", encoding="utf-8", newline="") as stream:
        table = csv.DictWriter(stream, list(dict.fromkeys(name for row in rows for name in row)))
        table.writeheader()
        for row in rows:
            table.writerow(
                {
                    name: value if value is None or isinstance(value, str) else json.dumps(value)
                    for name, value in row.items()
                }
            )
    return file


def opened(file, kind="responses", **options):
    reading = read_records(file, kind=kind, **options)
    return reading, list(reading)


def records(file, kind="responses"):
    """Return what a file is taken for, and its records with the rejected rows."""
    reading, items = opened(file, kind)
    return reading.export and reading.export.title, items


def only(file):
    """Return what a file is taken for, and its only answer."""
    title, (response,) = records(file)
    assert title is not None
    assert isinstance(response, Response), response
    return title, response


def counts(summary):
    """Return how many rows of a file were new, unchanged and rejected."""
    return summary.new, summary.unchanged, summary.rejected


def wrong_last(*parts):
    """Return each of these parts of rows with the field that is wrong in it: the last one."""
    return [(part, list(part)[-1]) for part in parts]
