"""Options that several commands share: the judge, the generator, the grade."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click
from click.core import ParameterSource

from judgeboard.cli import options
from judgeboard.cli.options import FiniteRange
from judgeboard.errors import BadInput

if TYPE_CHECKING:
    from judgeboard.domain import Grade
    from judgeboard.llm.asking import Generator
    from judgeboard.runs.method import RunOptions


F = TypeVar("F", bound=Callable[..., Any])

_MODEL = click.option("--model", help="The chat model, as its endpoint names it.")
_OPTIONS = (
    click.option("--provider", help="API of the endpoint: openai or anthropic (default: by the model's name)."),
    click.option("--base-url", help="Address of the endpoint, with /v1 (OPENAI_BASE_URL, else the provider's)."),
    click.option(
        "--replies", type=click.Path(path_type=Path), help="Read recorded raw replies (JSONL: response_id, raw)."
    ),
    click.option("--concurrency", type=click.IntRange(1, 1024), default=16, show_default=True, help="Calls in flight."),
    click.option("--max-cost", type=FiniteRange(0, min_open=True), help="Stop when the calls have cost this much."),
    click.option("--prices", type=click.Path(path_type=Path), help="A price file of your own (TOML)."),
    click.option("--max-output", type=click.IntRange(1), help="Tokens a reply may have (512)."),
    click.option("--timeout", "timeout_s", type=FiniteRange(1), help="Seconds a call may take (60)."),
)

as_json = click.option("--json", "as_json", is_flag=True, help="JSON alone on standard output.")


def model_options(command: F) -> F:
    """Give a command the options of the model that it asks."""
    return _MODEL(endpoint_options(command))


def endpoint_options(command: F) -> F:
    """Give a command the same options but for ``--model``: one that calls its model by another name."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


@contextmanager
def run_options(concurrency: int, max_cost: float | None) -> Iterator["RunOptions"]:
    """Give the fields of `RunOptions` for a run in a terminal: a progress bar, Ctrl-C, what is said where it stops."""
    from judgeboard.cli.options import actor, judging_progress
    from judgeboard.runs.runner import INTERRUPTED

    def stopping(why: str, in_flight: int) -> None:
        if in_flight:
            again = "; Ctrl-C again breaks them off" if why == INTERRUPTED else ""
            click.echo(f"{why}: finishing {in_flight:,} calls in flight{again}", err=True)

    with judging_progress() as show:
        yield {
            "concurrency": concurrency,
            "max_cost": max_cost,
            "actor": actor(),
            "on_progress": show,
            "on_stop": stopping,
        }


def check_pairs(file: str | Path, source: str | None) -> None:
    """Refuse a file of pairs that cannot be read, before a model that is not set up is complained of.

    Raises:
        BadInput: There is no such file, or it is none that can be read.
    """
    from judgeboard.imports.importing import read_records

    read_records(file, kind="pairs", source=source).close()


# What only an asked model takes, whatever the method.
_FOR_A_MODEL = frozenset(
    (
        "model",
        "provider",
        "base_url",
        "replies",
        "concurrency",
        "max_cost",
        "prices",
        "max_output",
        "timeout_s",
        "rejudge",
        "name",
    )
)


def nobody_asked(context: click.Context, *own: str) -> None:
    """Refuse options that only an asked model takes: ``--recorded`` would leave them without effect.

    Args:
        context: That of the command.
        own: Such options beside the common ones, as the command's parameters are called.

    Raises:
        BadInput: One of them was given.
    """
    needless = [
        parameter.opts[0]
        for parameter in context.command.params
        if parameter.name in _FOR_A_MODEL | {*own}
        and context.get_parameter_source(parameter.name) is ParameterSource.COMMANDLINE
    ]
    if needless:
        raise BadInput(f"--recorded asks nobody: it takes no {', '.join(needless)}")


def show_json(result: object) -> None:
    """Write a result on standard output as JSON."""
    from judgeboard.reports.json_output import to_json

    click.echo(to_json(result))


_GRADE_OPTIONS = (
    click.option("--label", type=click.Choice(["grounded", "hallucinated"]), help="What the answer is."),
    click.option("--groundedness", type=options.FiniteRange(0, 1), help="How far the passages support it, 0 to 1."),
    click.option("--quality", type=click.IntRange(1, 4), help="How good it is, 1 to 4."),
    click.option("--score", "scores", multiple=True, metavar="DIMENSION=N", help="A dimension, 1 to 5; repeat."),
)
note_option = click.option("--note", help="Why.")


def grade_options(command: F) -> F:
    """Give a command the options of a grade, without its note."""
    for option in reversed(_GRADE_OPTIONS):
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


_FEW_SHOT_OPTIONS = (
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
    for option in reversed(_FEW_SHOT_OPTIONS):
        command = option(command)
    return command


def reviewed_examples(db: str | None, kind: str, count: int, chosen: Mapping[str, Any]) -> dict[str, Any]:
    """Return the choices that ``--examples-from-reviews`` makes: the examples, and the rubric that was read for them.

    Raises:
        BadInput: Too few answers are graded, or the rubric file cannot be used.
    """
    from judgeboard.judges.rubric_file import default_rubric, read_rubric
    from judgeboard.store.engine import open_store
    from judgeboard.store.grades import examples_from_reviews

    more: dict[str, Any] = {}
    if kind == "rubric":
        more["rubric"] = read_rubric(chosen["rubric"]) if chosen.get("rubric") else default_rubric()
    dimensions = more["rubric"].weights if more else None
    with closing(open_store(db)) as store, store.reading() as connection:
        return more | {"examples": examples_from_reviews(connection, count, dimensions=dimensions)}


_GENERATOR_OPTIONS = (
    click.option("--generator", required=True, metavar="MODEL", help="The chat model that answers."),
    click.option("--generator-base-url", help="Its OpenAI-compatible address. Default: that of the judge."),
    click.option("--generator-max-output", type=click.IntRange(1), default=2048, show_default=True, help="Its tokens."),
    click.option("--generator-temperature", type=FiniteRange(0), help="Sent only where given: its own settings hold."),
    click.option(
        "--generator-replies", type=click.Path(path_type=Path), help="Recorded answers (JSONL: response_id, raw)."
    ),
)


def generator_options(command: F) -> F:
    """Give a command the options of the model that answers."""
    for option in reversed(_GENERATOR_OPTIONS):
        command = option(command)
    return command


def chosen_generator(chosen: dict[str, Any]) -> "Generator":
    """Take the generator's options out of ``chosen`` and return the generator.

    Address, price file, time limit and concurrency are those of the judge where the generator has none of its own.
    """
    from judgeboard.methods.generation import make_generator

    return make_generator(
        chosen.pop("generator"),
        max_output=chosen.pop("generator_max_output"),
        temperature=chosen.pop("generator_temperature"),
        base_url=chosen.pop("generator_base_url") or chosen.get("base_url"),
        provider=chosen.get("provider"),
        replies=chosen.pop("generator_replies"),
        prices=chosen.get("prices"),
        timeout_s=chosen.get("timeout_s"),
        concurrency=chosen["concurrency"],
    )
