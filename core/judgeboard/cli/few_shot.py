"""Options of commands whose judge reads a rubric or is shown worked examples."""

from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any, TypeVar

import click

F = TypeVar("F", bound=Callable[..., Any])

_OPTIONS = (
    click.option(
        "--rubric",
        type=click.Path(path_type=Path),
        help="YAML file of dimensions, levels in words, weights and examples, for the rubric judge.",
    ),
    click.option(
        "--judge-file", type=click.Path(path_type=Path), help="YAML file of domain and examples, for the rag judge."
    ),
    click.option(
        "--examples-from-reviews",
        type=click.IntRange(1, 50),
        metavar="N",
        help="Show the judge N answers with what people gave them; its agreement leaves those out.",
    ),
)


def few_shot_options(command: F) -> F:
    """Give a command the options of rubrics and examples."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def reviewed_examples(db: str | None, kind: str, count: int, chosen: Mapping[str, Any]) -> dict[str, Any]:
    """Return the choices that ``--examples-from-reviews`` makes: the examples, and the rubric that was read for them.

    Raises:
        BadInput: Too few answers are graded, or the rubric file cannot be used.
    """
    from judgeboard.judges.rubric_file import default_rubric, read_rubric
    from judgeboard.store.engine import open_store
    from judgeboard.store.reviews.example_reviews import examples_from_reviews

    more: dict[str, Any] = {}
    if kind == "rubric":
        more["rubric"] = read_rubric(chosen["rubric"]) if chosen.get("rubric") else default_rubric()
    dimensions = more["rubric"].weights if more else None
    with closing(open_store(db)) as store, store.reading() as connection:
        return more | {"examples": examples_from_reviews(connection, count, dimensions=dimensions)}
