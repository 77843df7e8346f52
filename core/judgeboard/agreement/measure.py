"""Agreement of people, judges and repeats: the one way from the store to every figure."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace

import numpy as np
from sqlalchemy import Connection

from judgeboard.agreement import notes as explain
from judgeboard.agreement.answer_pairs import GRADES, AnswerPairs, GradeName, combined_as
from judgeboard.agreement.choice import SLICES, AgreementChoice, By, Of, Unit, slices_of
from judgeboard.agreement.notes import EMPTY, PEOPLE_SAY, judge_sentence, people_sentence
from judgeboard.agreement.pair_ratings import PairRatings
from judgeboard.agreement.ratings import AnswerRatings, ItemRatings, PairSource, of_one_making
from judgeboard.agreement.repeats import of_repeats
from judgeboard.agreement.result import (
    AgreementResult,
    AgreementSlice,
    MeasuredVersion,
    Note,
    alpha_of,
    anchoring_by_grade,
    calibration_of,
    counting_wrong,
    cut_words,
    headline_name,
    measured,
    of_grade,
    of_raters,
    with_numbers,
)
from judgeboard.domain import Estimate
from judgeboard.errors import NotFound
from judgeboard.stats.alternative_annotator import (
    AlternativeAnnotatorTest,
    alternative_annotator_test,
    alternative_annotator_tests_by_slice,
)
from judgeboard.stats.both_orders import UnusableAs
from judgeboard.stats.estimates import MIN_PAIRS
from judgeboard.stats.pair_statistics import PairStatistics
from judgeboard.stats.rater_agreement import against_gold, overall_agreement, pairs_of_raters, self_agreement
from judgeboard.stats.ratings import Human
from judgeboard.store.engine import Readable
from judgeboard.store.flags import judged_again
from judgeboard.store.judge_versions import StoredVersion, choose_version, get_version, list_versions

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


def agreement_of(
    connection: Connection,
    choice: AgreementChoice,
    source: Source | None = None,
    *,
    of_slices: Collection[str] | None = None,
) -> AgreementResult:
    """Return what `measure_agreement` does, in an open transaction.

    ``source`` is what was read for this choice already; ``of_slices`` names the statistics of a judge's slices, where
    not all are needed.
    """
    if choice.of == "repeats":
        return of_repeats(connection, choice)
    source = source or _source(connection, choice)
    if choice.of == "people":
        return _people(connection, choice, source)
    if choice.of == "judges":
        return _judges(connection, choice, source)
    return _judge(connection, choice, source, of_slices)


def every_judge(
    connection: Connection,
    grades: Sequence[GradeName] = GRADES,
    *,
    versions: Collection[int] | None = None,
    by: By | None = "query_type",
    only: Collection[str] | None = None,
) -> Iterator[AgreementResult]:
    """Yield the figures of each judge version with people, by version, then by grade; without notes.

    Args:
        connection: An open transaction.
        grades: The grades.
        versions: Ids of judge versions, None for all.
        by: The slices.
        only: The names of the statistics, where not all are needed.
    """
    source = PairSource.open(connection)
    ratings = {grade: AnswerRatings(connection, grade, source=source) for grade in grades}
    for version in list_versions(connection):
        if versions is None or version.id in versions:
            for grade in grades:
                choice = AgreementChoice("judge", (version.id,), grade=grade, by=by)
                yield _judge_figures(connection, choice, ratings[grade], version, only, only)[0]


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
        return PairRatings(connection, aspect, choice.unusable, choice.human)
    grade = choice.grade or "label"
    return AnswerRatings(connection, grade, source=PairSource.open(connection, choice.reviewer_id, choice.human, grade))


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
    gold = source.gold(rated.ids)
    slices = tuple(_slices_of_raters(connection, choice, rated))
    notes = explain.notes_on_people(
        rated,
        agreed,
        picked=source.picked,
        slices=_enough(slices),
        sliced_by=SLICES[choice.by or "query_type"],
        things=choice.things,
    )
    left_out = {
        "one_person": int((rated.ratings.per_item == 1).sum()),
        "revealed": source.revealed if isinstance(source, PairRatings) else 0,
    }
    return AgreementResult(
        of=choice.of,
        unit=choice.unit,
        grade=source.scale.grade,
        aspect=_aspect(source),
        title="people",
        sentence=people_sentence(agreed, getattr(agreed, alpha_of(source.scale)), choice.things, "people"),
        n=agreed.items,
        left_out={why: n for why, n in left_out.items() if n},
        statistics=statistics,
        rater_pairs=pairs,
        self_agreement=self_agreement(twice.raters, twice.first, twice.second, source.scale, twice.groups),
        against_gold=against_gold(rated.ratings, gold) if not np.isnan(gold).all() else (),
        by=choice.by,
        slices=slices,
        notes=(*notes, *_other_grades(source)),
    )


def _slices_of_raters(connection: Connection, choice: AgreementChoice, rated: ItemRatings) -> Iterator[AgreementSlice]:
    if choice.by is None:
        return
    for name, inside in slices_of(connection, choice.unit, choice.by, rated.ids):
        some = rated.at(inside).ratings
        agreed = overall_agreement(some)
        yield AgreementSlice(name, agreed.items, of_raters(agreed, some.scale, ()))


def _judge(
    connection: Connection, choice: AgreementChoice, source: Source, of_slices: Collection[str] | None
) -> AgreementResult:
    version, others = _judge_version(connection, choice, source)
    result, statistics = _judge_figures(connection, choice, source, version, None, of_slices)
    compared = source.compared(version)
    answers = isinstance(source, AnswerRatings)
    cut = cut_words(version.title, compared.pairs, source.source.cut) if isinstance(source, AnswerRatings) else None
    notes = explain.notes(
        explain.Compared(version.title, statistics, compared.pairs, compared.left_out, cut, choice.things),
        picked=source.picked,
        judged_again=judged_again(connection, version.id) if answers else (),
        others=[(each.title, source.compared(each).pairs) for each in others if choice.human != "each"],
        slices=_enough(result.slices),
        sliced_by=SLICES[choice.by or "query_type"],
    )
    return replace(
        result,
        anchoring=anchoring_by_grade(connection, version) if answers else {},
        notes=(*notes, *_other_grades(source), *_not_named(choice, source, version)),
    )


def _judge_figures(
    connection: Connection,
    choice: AgreementChoice,
    source: Source,
    version: StoredVersion,
    only: Collection[str] | None,
    of_slices: Collection[str] | None,
) -> tuple[AgreementResult, PairStatistics]:
    """Return all figures of a judge version with people, as a result without notes and as the notes read them."""
    compared = source.compared(version)
    found = measured(compared.pairs, choice.unit, choice.human, only=only)
    statistics, table = counting_wrong(of_grade(found), compared, choice.unit, choice.human)
    if isinstance(source, PairRatings) and (graded := source.graded) is not None:
        numbers = graded.compared(version)
        if numbers.n:
            statistics = with_numbers(statistics, of_grade(measured(numbers.pairs, choice.unit, choice.human)))
    rated = source.people() if choice.epsilon is not None else None
    alt_test = None
    if rated is not None and choice.epsilon is not None:
        alt_test = alternative_annotator_test(source.judge_on(version, rated.ids), rated.ratings, choice.epsilon)
    result = AgreementResult(
        of=choice.of,
        unit=choice.unit,
        grade=source.scale.grade,
        aspect=_aspect(source),
        human=choice.human,
        people_say=None if choice.reviewer_id is not None else PEOPLE_SAY[choice.human][combined_as(source.scale)],
        title=version.title,
        judge_versions=_named([version]),
        sentence=_judge_sentence(choice, found) if only is None else "",
        n=compared.n,
        left_out=compared.left_out,
        statistics=statistics,
        confusion=table or found.confusion,
        calibration=calibration_of(compared.pairs),
        alt_test=alt_test,
        by=choice.by,
        slices=tuple(_slices_of_judge(connection, choice, source, version, rated, of_slices)),
    )
    return result, found


def _slices_of_judge(
    connection: Connection,
    choice: AgreementChoice,
    source: Source,
    version: StoredVersion,
    rated: ItemRatings | None,
    only: Collection[str] | None,
) -> Iterator[AgreementSlice]:
    def of(name: str, pairs: AnswerPairs) -> AgreementSlice:
        statistics = of_grade(measured(pairs, choice.unit, choice.human, only=only))
        return AgreementSlice(name, pairs.n, statistics, tests.get(name))

    tests: dict[str, AlternativeAnnotatorTest] = {}
    if choice.by is None:
        return
    if choice.by == "judge_version":
        for each in source.versions:
            yield of(each.title, source.compared(each).pairs)
        return
    if rated is not None and choice.epsilon is not None and choice.by != "rule":
        codes, names = np.full(len(rated.ids), -1), []
        for code, (name, inside) in enumerate(slices_of(connection, choice.unit, choice.by, rated.ids)):
            codes[inside] = code
            names.append(name)
        judge = source.judge_on(version, rated.ids)
        by_code = alternative_annotator_tests_by_slice(judge, rated.ratings, codes, choice.epsilon)
        tests = {name: by_code[str(code)] for code, name in enumerate(names) if str(code) in by_code}
    pairs = source.compared(version).pairs
    for name, inside in source.slices(choice.by, pairs):
        yield of(name, pairs.at(inside))


def _judges(connection: Connection, choice: AgreementChoice, source: Source) -> AgreementResult:
    versions = [get_version(connection, which) for which in choice.judge_versions] or list_versions(connection)
    rated = source.judges(versions)
    if not len(rated.ids):
        raise NotFound("no judge version has a usable verdict of this kind")
    agreed, pairs = overall_agreement(rated.ratings), pairs_of_raters(rated.ratings)
    slices = tuple(_slices_of_raters(connection, choice, rated))
    one = int((rated.ratings.per_item == 1).sum())
    people = {each.title: found for each in versions if (found := _with_people(source, each)) is not None}
    return AgreementResult(
        of=choice.of,
        unit=choice.unit,
        grade=source.scale.grade,
        aspect=_aspect(source),
        title="judges",
        judge_versions=_named([each for each in versions if each.title in rated.ratings.raters]),
        sentence=people_sentence(agreed, getattr(agreed, alpha_of(source.scale)), choice.things, "judge versions"),
        n=agreed.items,
        left_out={"one_judge": one} if one else {},
        statistics=of_raters(agreed, source.scale, pairs),
        rater_pairs=pairs,
        by=choice.by,
        slices=slices,
        notes=(
            *explain.judges_more_alike(pairs, people, source.scale),
            *explain.luck(_enough(slices), SLICES[choice.by or "query_type"]),
        ),
    )


def _with_people(source: Source, version: StoredVersion) -> Estimate | None:
    """Return the figure that leads of a judge version and people, None where it judged too little that they graded."""
    try:
        compared = source.compared(version)
    except NotFound:
        return None
    if compared.pairs.n < MIN_PAIRS:
        return None
    name = headline_name(source.scale)
    return of_grade(measured(compared.pairs, source.unit, source.human, only=(name,)))[name]


def _judge_sentence(choice: AgreementChoice, found: PairStatistics) -> str:
    if found.n == 0 and choice.unit == "responses":
        return EMPTY
    if choice.human == "each":
        return judge_sentence(found, f"grades that people gave {choice.things}")
    return judge_sentence(found, f"{choice.things} that people graded")


def _judge_version(
    connection: Connection, choice: AgreementChoice, source: Source
) -> tuple[StoredVersion, list[StoredVersion]]:
    """Return the judge version that is meant, and those of other names that can be compared with people."""
    known = list(source.versions)
    if choice.judge_versions:
        named = choice.judge_versions[0]
        try:
            version = choose_version(connection, named, known, "said what people graded too")
        except NotFound:
            version = get_version(connection, named)
            source.compared(version)  # it may be known, with nothing that people graded: then n is 0
    elif known:
        version = known[0]
    else:
        why = "".join(f": {note.text.removesuffix('.')}" for note in _other_grades(source))
        raise NotFound(f"no judge version has said anything of {choice.things} that people graded{why}")
    return version, [each for each in known if not of_one_making(each, version)]


def _other_grades(source: Source) -> tuple[Note, ...]:
    if isinstance(source, PairRatings):
        return ()
    return tuple(explain.other_grades(source.source.graded.reviews, source.grade, source.source.reviewer_id))


def _not_named(choice: AgreementChoice, source: Source, version: StoredVersion) -> Iterator[Note]:
    """Say which judge versions could have been meant as well where none was named."""
    others = [each.title for each in source.versions if each.id != version.id]
    if others and not choice.judge_versions:
        said = f"No judge version was named: this is {version.title}"
        yield Note("other_versions", f"{said}; --judge-version takes {', '.join(others)} too.")


def _enough(slices: Sequence[AgreementSlice]) -> int:
    return sum(each.n >= MIN_PAIRS for each in slices)


def _named(versions: Sequence[StoredVersion]) -> tuple[MeasuredVersion, ...]:
    return tuple(MeasuredVersion(each.title, each.fingerprint) for each in versions)


def _aspect(source: Source) -> str | None:
    return source.aspect if isinstance(source, PairRatings) else None
