"""Options with which a person grades an answer in a terminal."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

import click

from judgeboard.cli import options

if TYPE_CHECKING:
    from judgeboard.domain import Grade

F = TypeVar("F", bound=Callable[..., Any])

_OPTIONS = (
    click.option("--label", type=click.Choice(["grounded", "hallucinated"]), help="What the answer is."),
    click.option("--groundedness", type=options.FiniteRange(0, 1), help="How far the passages support it, 0 to 1."),
    click.option("--quality", type=click.IntRange(1, 4), help="How good it is, 1 to 4."),
    click.option("--score", "scores", multiple=True, metavar="DIMENSION=N", help="A dimension, 1 to 5; repeat."),
)
note_option = click.option("--note", help="Why.")


def grade_options(command: F) -> F:
    """Give a command the options of a grade, without its note."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def given_grade(given: Mapping[str, Any]) -> "Grade":
    """Return the grade that the options make.

    Raises:
        BadInput: ``--score`` is not DIMENSION=N.
    """
    from judgeboard.domain import DimensionScore, Grade, Label
    from judgeboard.errors import BadInput
    from judgeboard.judges.rubric_file import SCALE

    scores = []
    for text in given["scores"]:
        name, equals, value = text.rpartition("=")
        if not equals or not name.strip() or not value.strip().isdecimal():
            raise BadInput(f"--score {text!r} is not DIMENSION=N, as relevance=4")
        scores.append(DimensionScore(name.strip(), int(value), SCALE))
    label = given["label"]
    return Grade(
        label=None if label is None else Label(label),
        groundedness=given["groundedness"],
        quality=given["quality"],
        note=given.get("note"),
        scores=tuple(scores),
    )
