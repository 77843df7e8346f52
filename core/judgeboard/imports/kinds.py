"""KINDS, the kinds of files that can be imported: one file and one line here each."""

from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

from judgeboard.errors import BadInput

if TYPE_CHECKING:
    from judgeboard.imports.kind import ImportKind


@dataclass(frozen=True, slots=True)
class Kind:
    """How one kind of file is offered to people, and where its class is.

    ``home`` is read when the kind is used, so that listing the kinds loads no database library. ``noun`` is one record
    in a sentence; ``next_step`` is the command to run after an import, None where a page follows.
    """

    home: str
    title: str
    noun: str
    help: str
    next_step: str | None = None


# In the order in which people are offered them.
KINDS: dict[str, Kind] = {
    "responses": Kind(
        "judgeboard.imports.responses:ResponseImport",
        "Answers",
        "answer",
        "logged answers: question, answer, passages, ...",
    ),
    "grades": Kind(
        "judgeboard.imports.grades:GradeImport",
        "People's grades",
        "grade",
        "people's grades, by response_id, or by pair_id with aspects and a scale",
    ),
    "verdicts": Kind(
        "judgeboard.imports.verdicts:VerdictImport",
        "Verdicts",
        "verdict",
        "a judge's verdicts by response_id; with a scale of their own they are scores",
    ),
    "pairs": Kind(
        "judgeboard.imports.pairs:PairImport",
        "Pairs of answers",
        "row",
        "two answers to a question, with a judge's verdicts in both orders and people's preferences",
        "judgeboard compare --recorded --judge-version NAME",
    ),
    "comparisons": Kind(
        "judgeboard.imports.comparisons:ComparisonImport",
        "Verdicts on pairs",
        "verdict",
        "a judge's verdicts by pair_id, one order a row",
        "judgeboard compare --recorded --judge-version NAME",
    ),
    "samples": Kind(
        "judgeboard.imports.samples:SampleImport",
        "Samples of answers",
        "question",
        "a question with a model's answers in several tries",
        "judgeboard ssr --recorded",
    ),
    "repeats": Kind(
        "judgeboard.imports.repeats:RepeatImport",
        "Repeated scores",
        "answer",
        "an answer with a judge's scores in several tries, by a rubric",
        "judgeboard health --judge-version NAME",
    ),
}


def kind_class(kind: str) -> "type[ImportKind[Any]]":
    """Return the class of a kind.

    Raises:
        BadInput: There is no such kind.
    """
    if kind not in KINDS:
        raise BadInput(f"--kind is one of {', '.join(KINDS)}, not {kind!r}")
    module, _, name = KINDS[kind].home.partition(":")
    found: type[ImportKind[Any]] = getattr(import_module(module), name)
    return found
