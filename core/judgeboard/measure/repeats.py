"""A judge and its own repeats: the same answer judged several times, or a pair in both orders."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from sqlalchemy import Connection

from judgeboard.domain import OVERALL, Status
from judgeboard.errors import BadInput, NotFound
from judgeboard.measure.agreement_result import AgreementResult, Statistics, of_raters
from judgeboard.measure.choice import AgreementChoice
from judgeboard.measure.notes import Note, note
from judgeboard.measure.ratings import RESAMPLED
from judgeboard.measure.result import without_zeros
from judgeboard.measure.verdict_changes import Side, side_of
from judgeboard.stats.arrays import grouping
from judgeboard.stats.pair_orders import NONE
from judgeboard.stats.ratings import LABEL, PREFERENCE, QUALITY, Ratings, Scale
from judgeboard.stats.repeats import repeated_measures
from judgeboard.store.comparisons import PLAIN, BothOrders, load_comparisons, versions_that_compared
from judgeboard.store.items import Item, ItemJudgment
from judgeboard.store.judge_versions import (
    choose_version,
    list_versions,
    not_found,
    versions_asked_again,
)
from judgeboard.store.pairs import matching_pairs
from judgeboard.store.preferences import is_one_order, order_verdicts
from judgeboard.store.tables import StoredVersion
from judgeboard.store.verdicts import repeated_answers, values_of


def of_repeats(connection: Connection, choice: AgreementChoice) -> AgreementResult:
    """Return how far a judge agrees with itself, on the items with a usable verdict every time."""
    if choice.unit == "pairs":
        return _of_pairs(connection, choice)
    # All versions of a judge name, or the one version that is named.
    candidates = versions_asked_again(connection)
    names = sorted({each.name for each in candidates})
    if choice.judge_versions:
        which = choice.judge_versions[0]
        versions = [each for each in candidates if each.name == which]
        if not versions and any(each.name == which for each in list_versions(connection)):
            raise not_found(connection, which, candidates, "asked more than once", what="judge")
        if not versions:
            versions = [choose_version(connection, which, candidates, "were asked more than once")]
        title = str(which) if len(versions) > 1 else versions[0].title
    elif len(names) == 1:
        title, versions = names[0], candidates
    elif names:
        raise BadInput(f"choose a judge with --judge-version: {', '.join(names)}")
    else:
        raise NotFound("no judge has repeats; make some: `judgeboard judge --repeats 3`")
    repeats = repeated_answers(connection, [each.id for each in versions], choice.counted.where)
    if not repeats.answers:
        raise NotFound(f"{title} judged no answer twice")
    measures = {each.measure: each for each in repeats.measures()}
    if not measures:
        raise NotFound(f"{title} has no usable verdict in any repeat")
    grade = choice.grade or next(iter(measures))
    if grade not in measures:
        raise NotFound(f"the repeats of {title} have no {grade}, only {', '.join(measures)}")
    measure = measures[grade]
    scale = {"label": LABEL, "quality": QUALITY}.get(measure.measure, Scale(measure.measure))
    more = {
        name: getattr(measure, name)
        for name in ("self_consistency", "spread", "icc", "cronbach_alpha")
    }
    values = (
        measure.values - 1 if scale is QUALITY else measure.values
    )  # positions among 1 to 4; labels are 0 or 1
    raters = tuple(f"ask {number}" for number in range(1, values.shape[1] + 1))
    ratings = Ratings(values, raters, scale, grouping(repeats.groups[measure.rows], len(values)))
    left_out = {"incomplete": measure.incomplete, "no_value": measure.no_value}
    result = _result(choice, ratings, title, versions, more, left_out)
    return replace(result, caveats=(temperature_note(temperature_of(versions)),))


def temperature_of(versions: Sequence[StoredVersion]) -> float | None:
    """Return the temperature of judge versions; None if it is unknown or differs."""
    temperatures = {each.params.get("temperature") for each in versions}
    return temperatures.pop() if len(temperatures) == 1 else None


def temperature_note(temperature: float | None) -> Note:
    """Return the temperature of repeats, which determines most of the spread."""
    if temperature is None:
        return note("temperature_unknown")
    return note("temperature", temperature=temperature) if temperature else note("temperature_zero")


@dataclass(frozen=True, slots=True)
class AnswerRepeats:
    """The repeats of one judge version on one answer; ``usable`` repeats have a verdict.

    ``ranges`` has the lowest and the highest value by measure. ``bad`` of the ``sided`` usable
    verdicts call the answer bad, by label or else by the threshold of groundedness.
    """

    repeats: int
    usable: int
    ranges: Mapping[str, tuple[float, float]]
    bad: int
    sided: int


def repeats_of_judgment(item: Item, judgment: ItemJudgment, cut: float) -> AnswerRepeats | None:
    """Return the repeats of a judgment's judge version on an answer; None if this version judged it only once.

    Reads nothing: the item has all its judgments that the reader may see. ``cut`` is the threshold
    of groundedness.
    """
    first_ask = [
        each
        for each in item.judgments
        if each.version_title == judgment.version_title and each.ask == 0
    ]
    if not any(each.repeat for each in first_ask):
        return None
    verdicts = {each.repeat: each for each in first_ask if each.status == Status.OK}
    values = {number: values_of(verdict) for number, verdict in verdicts.items()}
    measures = repeated_measures([values], np.zeros(1, dtype=np.int64))
    sides = [side_of(verdict.label, verdict.groundedness, cut) for verdict in verdicts.values()]
    return AnswerRepeats(
        repeats=len(first_ask),
        usable=len(verdicts),
        ranges={
            each.measure: (float(each.values.min()), float(each.values.max()))
            for each in measures
            if each.rows.size
        },
        bad=sides.count(Side.BAD),
        sided=len(sides) - sides.count(None),
    )


def _of_pairs(connection: Connection, choice: AgreementChoice) -> AgreementResult:
    versions = versions_that_compared(connection)
    if choice.judge_versions:
        version = choose_version(connection, choice.judge_versions[0], versions, "compared pairs")
    elif len(versions) == 1:
        version = versions[0]
    else:
        titles = ", ".join(each.title for each in versions)
        raise BadInput(
            f"choose a judge with --judge-version: {titles or 'none has compared pairs'}"
        )
    every = load_comparisons(connection, [version.id], condition=PLAIN)
    if is_one_order(version, every):
        raise NotFound(f"{version.title} judged each pair in one order only, so it has no repeats")
    aspect = choice.aspect or OVERALL
    matching_ids = matching_pairs(connection, choice.counted.where)
    rows: list[BothOrders] = [
        row
        for row in every
        if row.aspect == aspect and (matching_ids is None or row.pair_id in matching_ids)
    ]
    if not rows:
        raise NotFound(f"{version.title} has no comparison on the aspect {aspect!r}")
    verdicts = order_verdicts(rows, one_order=False)
    both = verdicts.both
    values = np.stack((verdicts.ab, verdicts.ba), axis=1).astype(np.float64)
    values[values == NONE] = np.nan
    row, group = RESAMPLED["pairs"]
    groups = grouping(verdicts.questions[both], int(both.sum()), row=row, group=group)
    ratings = Ratings(values[both], ("A shown first", "B shown first"), PREFERENCE, groups)
    more = {
        "self_consistency": verdicts.self_consistency(),
        "first_position": verdicts.first_position(),
    }
    left_out = {"incomplete": int((~both).sum())}
    result = _result(choice, ratings, version.title, [version], more, left_out)
    return replace(result, aspect=aspect)


def _result(
    choice: AgreementChoice,
    ratings: Ratings,
    title: str,
    versions: Sequence[StoredVersion],
    more: Statistics,
    left_out: dict[str, int],
) -> AgreementResult:
    result = of_raters(choice, ratings, more)
    return replace(
        result,
        about=replace(
            result.about,
            judges=tuple(each.title for each in versions),
            left_out=without_zeros(left_out),
        ),
        title=title,
    )
