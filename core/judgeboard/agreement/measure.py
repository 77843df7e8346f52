"""Agreement as the command, the page and the report give it: one way from the store to every figure."""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace

import numpy as np
from sqlalchemy import Connection

from judgeboard.agreement import notes as saying
from judgeboard.agreement.anchoring import anchored
from judgeboard.agreement.choice import AgreementChoice, By, Of
from judgeboard.agreement.other_grades import other_grades
from judgeboard.agreement.own_repeats import of_repeats
from judgeboard.agreement.pair_source import calibration_of, cut_words, of_one_making
from judgeboard.agreement.rated_answers import AnswerRatings
from judgeboard.agreement.rated_pairs import PairRatings
from judgeboard.agreement.rating_source import HeldAgainst, ItemRatings, Unit
from judgeboard.agreement.result import AgreementResult, AgreementSlice, Statistics
from judgeboard.agreement.slices import SLICES, slices_of
from judgeboard.agreement.statistics import alpha_of, counting_wrong, measured, of_grade, of_raters, with_numbers
from judgeboard.agreement.words import EMPTY, PEOPLE_SAY, judge_sentence, people_sentence
from judgeboard.answer_pairs import GradeName, combined_as
from judgeboard.domain import Estimate
from judgeboard.errors import NotFound
from judgeboard.flag_worth import flags_worth
from judgeboard.stats.alternative_annotator import (
    EPSILONS,
    AlternativeAnnotatorTest,
    alternative_annotator_test,
    alternative_annotator_tests_by_slice,
)
from judgeboard.stats.arrays import IntArray
from judgeboard.stats.both_orders import UnusableAs
from judgeboard.stats.confusion import Confusion
from judgeboard.stats.estimates import MIN_PAIRS
from judgeboard.stats.pair_statistics import PairStatistics
from judgeboard.stats.people import Human
from judgeboard.stats.rater_agreement import against_gold, overall_agreement, pairs_of_raters, self_agreement
from judgeboard.store.engine import Readable
from judgeboard.store.flags.flag_outcomes import judged_again
from judgeboard.store.judgments.judge_versions import StoredVersion, choose_version, get_version, list_versions

Source = AnswerRatings | PairRatings


def measure_agreement(
    store: Readable,
    *,
    of: Of = "judge",
    judge_versions: Sequence[int | str] = (),
    unit: Unit = "responses",
    aspect: str | None = None,
    grade: str | None = None,
    human: Human = "gold",
    unusable: UnusableAs = "drop",
    by: By | None = None,
    epsilon: float | None = None,
) -> AgreementResult:
    """Return how far people, a judge and people, judges, or a judge's repeats agree.

    Args:
        store: The database.
        of: ``people`` with each other, a ``judge`` with people, ``judges`` with each other, a judge's own ``repeats``.
        judge_versions: One judge version for a judge and repeats (None: the one with people's grades that is meant
            unasked), several for judges (none: all); ids, names, titles ("rag v3") or fingerprints.
        unit: ``responses``: logged answers; ``pairs``: which of two answers is better.
        aspect: Of pairs: on which aspect; ``overall`` unasked.
        grade: Of answers: label, groundedness, quality, or a dimension of a rubric; label unasked.
        human: What a judge is held against: ``gold`` where a lead settled it, else what people together say;
            ``majority``: what people together say throughout; ``each``: every person's grade, stacked.
        unusable: Of pairs: what a verdict counts as that cannot be used: left out (``drop``), ``wrong`` or a ``tie``.
        by: Also slice by slice: query_type, judge_version, generator, source, time (months), length, rule.
        epsilon: Also the alternative annotator test: how much worse than a person the judge may be, 0 to 1.

    Raises:
        BadInput: Arguments that do not go together.
        NotFound: No such judge version, grade or aspect, or no judge with people's grades.
    """
    choice = AgreementChoice(of, tuple(judge_versions), unit, aspect, grade, human, unusable, by, epsilon)
    with store.reading() as connection:
        return agreement_of(connection, choice)


def agreement_of(connection: Connection, choice: AgreementChoice, source: Source | None = None) -> AgreementResult:
    """Return what `measure_agreement` does, in an open transaction; ``source`` is what was read already."""
    if choice.of == "repeats":
        return of_repeats(connection, choice)
    source = source or _source(connection, choice)
    if choice.of == "people":
        return _people(connection, choice, source)
    return _judge(connection, choice, source) if choice.of == "judge" else _judges(connection, choice, source)


def report_results(
    connection: Connection, grade: GradeName, version_id: int | None, human: Human
) -> list[AgreementResult]:
    """Return what a report holds: a judge beside people, people with each other, judges with each other.

    Args:
        connection: An open transaction.
        grade: What was graded.
        version_id: The judge version; None is the one that is meant unasked.
        human: What it is held against.
    """
    versions = () if version_id is None else (version_id,)
    choices = (
        AgreementChoice("judge", versions, grade=grade, human=human, by="query_type", epsilon=EPSILONS["experts"]),
        AgreementChoice("people", grade=grade, by="query_type"),
        AgreementChoice("judges", grade=grade),
    )
    found = []
    for choice in choices:
        with suppress(NotFound):  # nothing of the kind is there: the report says what is
            found.append(agreement_of(connection, choice))
    return found


def stand_in_test(
    connection: Connection, version: StoredVersion, grade: str, epsilon: float
) -> AlternativeAnnotatorTest:
    """Return the alternative annotator test of a judge version on the answers that people graded."""
    source = AnswerRatings(connection, grade)
    people = source.people()
    return alternative_annotator_test(source.judge_on(version, people.ids), people.ratings, epsilon)


def _source(connection: Connection, choice: AgreementChoice) -> Source:
    if choice.unit == "pairs":
        aspect = choice.aspect if choice.grade in {None, "preference"} else choice.grade
        return PairRatings(connection, aspect, choice.unusable)
    return AnswerRatings(connection, choice.grade or "label")


def _people(connection: Connection, choice: AgreementChoice, source: Source) -> AgreementResult:
    rated = source.people()
    agreed, pairs = overall_agreement(rated.ratings), pairs_of_raters(rated.ratings)
    statistics = of_raters(agreed, source.scale, pairs)
    if isinstance(source, PairRatings) and (graded := source.graded) is not None:
        numbers = graded.people().ratings
        of_numbers = pairs_of_raters(numbers)
        statistics = with_numbers(statistics, of_raters(overall_agreement(numbers), graded.scale, of_numbers))
        known = {(each.first, each.second): each.statistics for each in of_numbers}
        pairs = tuple(
            replace(each, statistics=with_numbers(each.statistics, known.get((each.first, each.second), {})))
            for each in pairs
        )
    twice = source.rated_twice()
    themselves = self_agreement(twice.raters, twice.first, twice.second, source.scale, twice.groups)
    gold = source.gold(rated.ids)
    held = against_gold(rated.ratings, gold) if not np.isnan(gold).all() else ()
    slices = tuple(_slices_of_people(connection, choice, rated))
    shown = sum(each.n >= MIN_PAIRS for each in slices)
    said = saying.notes_on_people(
        rated,
        agreed,
        picked=_picked(connection, choice.unit),
        slices=shown,
        sliced_by=SLICES[choice.by or "query_type"],
        things=choice.things,
    )
    left_out = {
        "one_person": int((rated.ratings.per_item == 1).sum()),
        "revealed": source.revealed if isinstance(source, PairRatings) else 0,
    }
    return AgreementResult(
        choice=choice,
        grade=source.scale.grade,
        aspect=_aspect(source),
        title="people",
        sentence=people_sentence(agreed, getattr(agreed, alpha_of(source.scale)), choice.things, "people"),
        n=agreed.items,
        left_out={why: n for why, n in left_out.items() if n},
        statistics=statistics,
        raters=pairs,
        themselves=themselves,
        against_gold=held,
        slices=slices,
        notes=(*said, *_other_grades(source)),
    )


def _slices_of_people(connection: Connection, choice: AgreementChoice, rated: ItemRatings) -> Iterator[AgreementSlice]:
    if choice.by is None:
        return
    for name, inside in slices_of(connection, choice.unit, choice.by, rated.ids):
        some = rated.at(inside).ratings
        agreed = overall_agreement(some)
        yield AgreementSlice(name, agreed.items, of_raters(agreed, some.scale, ()))


def _judge(connection: Connection, choice: AgreementChoice, source: Source) -> AgreementResult:
    version, others = _judge_version(connection, choice, source)
    held = source.held(version, choice.human)
    found = measured(held, choice.unit, choice.human)
    statistics, table = _of_judge(choice, source, version, held, found)
    rated = source.people() if choice.epsilon is not None else None
    slices = tuple(_slices_of_judge(connection, choice, source, version, held, rated))
    alt_test = None
    if rated is not None and choice.epsilon is not None:
        alt_test = alternative_annotator_test(source.judge_on(version, rated.ids), rated.ratings, choice.epsilon)
    compared = saying.Compared(
        version.title, found, held.pairs, held.left_out, _cut(source, version, held), choice.things
    )
    said = saying.notes(
        compared,
        picked=_picked(connection, choice.unit),
        judged_again=judged_again(connection, version.id) if choice.unit == "responses" else (),
        others=[(each.title, source.held(each, choice.human).pairs) for each in others if choice.human != "each"],
        slices=sum(each.n >= MIN_PAIRS for each in slices),
        sliced_by=SLICES[choice.by or "query_type"],
    )
    return AgreementResult(
        choice=choice,
        grade=source.scale.grade,
        aspect=_aspect(source),
        title=version.title,
        versions=(version,),
        sentence=_judge_sentence(choice, found),
        people_say=PEOPLE_SAY[choice.human][combined_as(source.scale)],
        n=held.pairs.n if held.wrong is None else held.wrong.n,
        left_out=held.left_out,
        statistics=statistics,
        confusion=table or found.confusion,
        calibration=calibration_of(held.pairs),
        alt_test=alt_test,
        slices=slices,
        anchoring=anchored(connection, version) if choice.unit == "responses" else (),
        notes=(*said, *_other_grades(source), *_not_named(choice, source, version)),
    )


def _of_judge(
    choice: AgreementChoice, source: Source, version: StoredVersion, held: HeldAgainst, found: PairStatistics
) -> tuple[Statistics, Confusion | None]:
    statistics, table = counting_wrong(of_grade(found), held, choice.unit, choice.human)
    if isinstance(source, PairRatings) and (graded := source.graded) is not None:
        numbers = graded.held(version, choice.human)
        if numbers.pairs.n:
            statistics = with_numbers(statistics, of_grade(measured(numbers, choice.unit, choice.human)))
    return statistics, table


def _slices_of_judge(
    connection: Connection,
    choice: AgreementChoice,
    source: Source,
    version: StoredVersion,
    held: HeldAgainst,
    rated: ItemRatings | None,
) -> Iterator[AgreementSlice]:
    if choice.by is None:
        return
    if choice.by == "judge_version":
        for each in source.versions():
            one = source.held(each, choice.human)
            yield AgreementSlice(each.title, one.pairs.n, _plain(choice, one))
        return
    tests: dict[str, AlternativeAnnotatorTest] = {}
    if rated is not None and choice.epsilon is not None and choice.by != "rule":
        codes, names = np.full(len(rated.ids), -1), []
        for code, (name, inside) in enumerate(slices_of(connection, choice.unit, choice.by, rated.ids)):
            codes[inside] = code
            names.append(name)
        judge = source.judge_on(version, rated.ids)
        by_code = alternative_annotator_tests_by_slice(judge, rated.ratings, codes, choice.epsilon)
        tests = {name: by_code[str(code)] for code, name in enumerate(names) if str(code) in by_code}
    for name, inside in slices_of(connection, choice.unit, choice.by, held.pairs.response_ids):
        some = HeldAgainst(held.pairs.at(inside), {})
        yield AgreementSlice(name, some.pairs.n, _plain(choice, some), tests.get(name))


def _plain(choice: AgreementChoice, held: HeldAgainst) -> Statistics:
    return of_grade(measured(held, choice.unit, choice.human))


def _judges(connection: Connection, choice: AgreementChoice, source: Source) -> AgreementResult:
    versions = [get_version(connection, which) for which in choice.judge_versions] or list_versions(connection)
    rated = source.judges(versions)
    if not len(rated.ids):
        raise NotFound("no judge version has a usable verdict of this kind")
    agreed, pairs = overall_agreement(rated.ratings), pairs_of_raters(rated.ratings)
    slices = tuple(_slices_of_people(connection, choice, rated))
    one = int((rated.ratings.per_item == 1).sum())
    people = {each.title: found for each in versions if (found := _with_people(source, each)) is not None}
    return AgreementResult(
        choice=choice,
        grade=source.scale.grade,
        aspect=_aspect(source),
        title="judges",
        versions=tuple(each for each in versions if each.title in rated.ratings.raters),
        sentence=people_sentence(agreed, getattr(agreed, alpha_of(source.scale)), choice.things, "judge versions"),
        n=agreed.items,
        left_out={"one_judge": one} if one else {},
        statistics=of_raters(agreed, source.scale, pairs),
        raters=pairs,
        slices=slices,
        notes=(
            *saying.judges_more_alike(pairs, people, source.scale),
            *saying.luck(sum(each.n >= MIN_PAIRS for each in slices), SLICES[choice.by or "query_type"]),
        ),
    )


def _with_people(source: Source, version: StoredVersion) -> Estimate | None:
    """Return the figure that leads of a judge version against people, None where it says nothing that they graded."""
    try:
        held = source.held(version, "gold")
    except NotFound:
        return None
    return saying.headline(measured(held, source.unit, "gold")) if held.pairs.n >= MIN_PAIRS else None


def _judge_sentence(choice: AgreementChoice, found: PairStatistics) -> str:
    if found.n == 0 and choice.unit == "responses":
        return EMPTY
    if choice.human == "each":
        return judge_sentence(found, f"grades that people gave {choice.things}")
    return judge_sentence(found, f"{choice.things} that people graded")


def _judge_version(
    connection: Connection, choice: AgreementChoice, source: Source
) -> tuple[StoredVersion, list[StoredVersion]]:
    """Return the judge version that is meant, and those of other names that people can be held beside."""
    known = list(source.versions())
    if choice.judge_versions:
        named = choice.judge_versions[0]
        try:
            version = choose_version(connection, named, known, "said what people graded too")
        except NotFound:
            version = get_version(connection, named)
            source.held(version, choice.human)  # it may be known, with nothing that people graded: then n is 0
    elif known:
        version = known[0]
    else:
        why = "".join(f": {note.text.removesuffix('.')}" for note in _other_grades(source))
        raise NotFound(f"no judge version has said anything of {choice.things} that people graded{why}")
    return version, [each for each in known if not of_one_making(each, version)]


def _other_grades(source: Source) -> tuple[saying.Note, ...]:
    return tuple(other_grades(source.graded.reviews, source.grade)) if isinstance(source, AnswerRatings) else ()


def _not_named(choice: AgreementChoice, source: Source, version: StoredVersion) -> Iterator[saying.Note]:
    """Say which judge versions could have been meant as well where none was named."""
    others = [each.title for each in source.versions() if each.id != version.id]
    if others and not choice.judge_versions:
        said = f"No judge version was named: this is {version.title}"
        yield saying.Note("other_versions", f"{said}; --judge-version takes {', '.join(others)} too.")


def _picked(connection: Connection, unit: Unit) -> IntArray:
    return flags_worth(connection).picked if unit == "responses" else np.empty(0, dtype=np.int64)


def _cut(source: Source, version: StoredVersion, held: HeldAgainst) -> str | None:
    if isinstance(source, PairRatings):
        return None
    return cut_words(version.title, int(held.pairs.cut.sum()), held.pairs.n, source.cut)


def _aspect(source: Source) -> str | None:
    return source.aspect if isinstance(source, PairRatings) else None
