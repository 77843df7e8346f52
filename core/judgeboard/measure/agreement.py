"""Agreement of people, judges and repeats: all figures of agreement are computed here from the store."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from shlex import quote

import numpy as np
from sqlalchemy import Connection

from judgeboard.domain import JURY, Estimate
from judgeboard.errors import BadInput, NotFound
from judgeboard.measure.agreement_notes import (
    compared_with,
    correlated_judges,
    judge_caveats,
    judge_headline,
    luck,
    nothing_to_compare,
    order_note,
    other_grades,
    people_caveats,
)
from judgeboard.measure.agreement_result import (
    AgreementResult,
    Statistics,
    answers_words,
    for_all,
    headline_name,
    judge_statistics,
    of_raters,
    order_statistics,
    pair_line,
    part_of,
    rows_of,
    slice_of,
    with_accuracy,
    with_alpha,
)
from judgeboard.measure.all_answers import InAllAnswers, in_all_answers, slices_of_answers
from judgeboard.measure.choice import (
    EVERYBODY,
    GRADES,
    AgreementChoice,
    By,
    CountedGrades,
    GradeName,
    Of,
    Unit,
    slices_of,
)
from judgeboard.measure.notes import Note, note
from judgeboard.measure.pair_ratings import PairRatings
from judgeboard.measure.ratings import (
    AnswerRatings,
    ItemRatings,
    PairSource,
    are_related,
    combined_as,
    labels_by_notice,
    unjudged_answers,
)
from judgeboard.measure.repeats import of_repeats
from judgeboard.measure.result import About, Result, Row, without_zeros
from judgeboard.measure.samples import LabelledAnswers, labelled_answers
from judgeboard.registry.judge_kinds import kind_of
from judgeboard.stats.alternative_annotator import (
    AlternativeAnnotatorTest,
    Small,
    alternative_annotator_test,
    alternative_annotator_tests_by_slice,
)
from judgeboard.stats.arrays import BoolArray, IntArray, no_ints
from judgeboard.stats.detection import MIN_CALIBRATION, Tenth, calibration
from judgeboard.stats.estimates import MIN_PAIRS, unmeasured
from judgeboard.stats.pair_orders import NONE, InconsistentAs, UnusableAs
from judgeboard.stats.rater_agreement import (
    against_gold,
    overall_agreement,
    pairs_of_raters,
    self_agreement,
)
from judgeboard.stats.ratings import Human
from judgeboard.store.engine import Readable
from judgeboard.store.filters import RowFilter
from judgeboard.store.flags import judged_again
from judgeboard.store.grades import dimensions_scored
from judgeboard.store.judge_versions import (
    choose_version,
    get_version,
    list_versions,
)
from judgeboard.store.tables import StoredVersion

Source = AnswerRatings | PairRatings

_OF_NUMBERS = ("alpha_ordinal", "alpha_interval", "pearson", "spearman", "kendall")


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
    inconsistent: InconsistentAs = "net",
    by: By | None = None,
    epsilon: float | None = None,
    small: Small = "skip",
    implied_labels: bool = True,
    where: RowFilter | None = None,
) -> AgreementResult:
    """Return how far people, a judge and people, judges, or a judge's repeats agree.

    Args:
        store: The database.
        of: ``people`` with each other, a ``judge`` with people, ``judges`` with each other, a
            judge's own ``repeats``.
        judge_versions: One judge version for a judge and repeats (default: the primary judge's
            newest), several for judges (default: all); ids, names, titles ("rag v3") or
            fingerprints.
        unit: ``responses`` (logged answers) or ``pairs`` (which of two answers is better).
        aspect: The aspect of pairs (default: overall).
        grade: label (default), groundedness, quality, a dimension of a rubric, or a category of a
            label schema.
        human: The grades that a judge is compared with: ``gold`` (the gold label, or else people
            combined), ``majority`` (people combined), ``mean`` (the mean of people's scores) or
            ``each`` (every person's grade, stacked).
        unusable: How unusable verdicts on pairs count: not at all (``drop``), as ``wrong`` or as a
            ``tie``.
        inconsistent: How pairs count if the judge changes its preference with the order of the
            answers: by the ``net`` vote of both orders (A: -1, tie: 0, B: 1), not at all
            (``drop``), as ``wrong`` or as a ``tie``.
        by: Also measures each slice: query_type, judge_version, generator, source, time (months),
            length, rule, or a metadata field as ``metadata.tenant``.
        epsilon: Also runs the alternative annotator test: how much worse than a person the judge
            may be, 0 to 1.
        small: How that test treats people with fewer than 30 items: it skips them (``skip``) or
            uses Wilcoxon's test.
        implied_labels: Counts labels that a decision on a flag implies.
        where: Measures only the answers or pairs that match (default: all). Pairs have a query
            type, a source, an id and models.

    Raises:
        BadInput: Arguments that cannot be combined.
        NotFound: No such judge version, grade or aspect, or no judge with rating pairs.
    """
    people = CountedGrades(human=human, implied_labels=implied_labels, where=where or RowFilter())
    versions = tuple(judge_versions)
    choice = AgreementChoice(
        of, versions, unit, aspect, grade, people, unusable, inconsistent, by, epsilon, small
    )
    with store.reading() as connection:
        return agreement_of(connection, choice)


def agreement_of(
    connection: Connection,
    choice: AgreementChoice,
    source: Source | None = None,
    *,
    of_slices: Collection[str] | None = None,
) -> AgreementResult:
    """Return the same as `measure_agreement`, in an open transaction.

    ``source`` has the ratings, if loaded already. ``of_slices`` limits the statistics of a judge's
    slices.
    """
    if choice.of == "repeats":
        result = of_repeats(connection, choice)
    else:
        grade = choice.grade or "label"
        source = source or (
            PairRatings(connection, choice)
            if choice.unit == "pairs"
            else AnswerRatings(PairSource(connection, choice.counted, grade), grade)
        )
        if choice.of == "people":
            result = _people(choice, source)
        elif choice.of == "judges":
            result = _judges(choice, source)
        else:
            versions = list(source.versions)
            if choice.judge_versions:
                which = choice.judge_versions[0]
                try:
                    version = choose_version(
                        source.connection, which, versions, "judged what people graded too"
                    )
                except NotFound:
                    version = get_version(source.connection, which)
                    # Raises NotFound without verdicts on pairs; without rating pairs n is 0.
                    source.compared(version)
            elif versions:
                version = versions[0]
            else:
                if isinstance(source, AnswerRatings):
                    reason = nothing_to_compare(source.source, None, source.grade)
                    if reason.code != "nothing_in_common":
                        raise NotFound(reason.text)
                raise NotFound(
                    f"no judge version has a verdict on {choice.things} that people graded; ties do "
                    "not count: see the page Conflicts. To see which answers to label: `judgeboard labels rate`"
                )
            result = _JudgeFigures(choice, source, version).whole(of_slices)
    return replace(result, about=replace(result.about, where=choice.counted.where.as_dict()))


def every_judge(
    connection: Connection,
    grades: Sequence[GradeName] = GRADES,
    *,
    only: Collection[str] | None = None,
) -> Iterator[AgreementResult]:
    """Yield the agreement of each judge version with people, by version, then by grade; without notes.

    ``only`` limits the statistics.
    """
    source = PairSource(connection)
    ratings = {grade: AnswerRatings(source, grade) for grade in grades}
    for version in list_versions(connection):
        for grade in grades:
            choice = AgreementChoice("judge", (version.id,), grade=grade, by="query_type")
            yield _JudgeFigures(choice, ratings[grade], version, only).result(only)


def stand_in_test(
    connection: Connection,
    version: StoredVersion,
    grade: str,
    epsilon: float,
    counted: CountedGrades = EVERYBODY,
) -> AlternativeAnnotatorTest:
    """Return the alternative annotator test of a judge version on the answers that people graded, one by one."""
    source = AnswerRatings(PairSource(connection, counted, grade), grade)
    verdicts, people = source.with_people(version)
    return alternative_annotator_test(verdicts, people.ratings, epsilon)


def _people(choice: AgreementChoice, source: Source) -> AgreementResult:
    items = source.people()
    result = of_raters(choice, items.ratings)
    statistics, rater_pairs = result.statistics, result.parts
    if isinstance(source, PairRatings) and (numbers := source.people_numbers()) is not None:
        statistics = _with_numbers(statistics, of_raters(choice, numbers.ratings).statistics)
        statistics_of_pairs = {
            (each.first, each.second): each.statistics for each in pairs_of_raters(numbers.ratings)
        }
        pairs = (
            replace(
                each,
                statistics=_with_numbers(
                    each.statistics, statistics_of_pairs.get((each.first, each.second), {})
                ),
            )
            for each in pairs_of_raters(items.ratings)
        )
        rater_pairs = tuple(part_of("rater_pairs", "raters", map(pair_line, pairs)))
    twice, gold = source.rated_twice(), source.gold(items.ids)
    of_themselves = self_agreement(
        twice.raters, twice.first, twice.second, source.scale, twice.groups
    )
    with_gold = against_gold(items.ratings, gold) if not np.isnan(gold).all() else ()
    result = replace(
        result, rows=(*rows_of(result.n, statistics), *_slices_of_raters(choice, source, items))
    )
    caveats = people_caveats(items, statistics, picked=source.picked, luck=luck(result, "alpha"))
    left_out = {"one_person": int((items.ratings.per_item == 1).sum()), "revealed": source.revealed}
    return replace(
        result,
        about=replace(result.about, left_out=without_zeros(left_out)),
        aspect=source.aspect,
        title="people",
        parts=(
            *rater_pairs,
            *part_of(
                "self_agreement",
                "person",
                ((each.first, each.n, each.statistics) for each in of_themselves),
            ),
            *part_of(
                "against_gold",
                "person",
                ((each.first, each.n, each.statistics) for each in with_gold),
            ),
        ),
        caveats=tuple(caveats),
        next=(*_other_grades(source), *_other_grades_of_people(source, result.n)),
    )


def _other_grades_of_people(source: Source, n: int) -> Iterator[Note]:
    """Yield the grades that two people gave to the same answers, if no answer has the chosen grade by two people."""
    if n or isinstance(source, PairRatings):
        return
    grades = []
    for name in (*GRADES, *dimensions_scored(source.source.connection)):
        pair_source = source.source
        other = PairSource(pair_source.connection, pair_source.counted.of_everybody(), name)
        if (AnswerRatings(other, name).people().ratings.per_item >= 2).any():
            grades.append(name)
    if grades:
        yield note("choose_grade", grades=grades)


def _judges(choice: AgreementChoice, source: Source) -> AgreementResult:
    versions = [get_version(source.connection, which) for which in choice.judge_versions]
    for jury in (each for each in versions if each.kind == JURY):
        raise BadInput(
            f"{jury.title} combines the verdicts of other judges, so it is no further judge beside them. To compare it "
            f"with people: `judgeboard agreement --judge-version {quote(jury.title)}`"
        )
    versions = versions or [
        each for each in list_versions(source.connection) if not kind_of(each.kind).combined
    ]
    items = source.judges(versions)
    if not len(items.ids):
        raise NotFound("no judge version has a usable verdict of this kind")
    result = of_raters(choice, items.ratings)
    result = replace(result, rows=(*result.rows, *_slices_of_raters(choice, source, items)))
    titles = tuple(each.title for each in versions if each.title in items.ratings.raters)
    left_out = without_zeros(source.left_out_of_judges(versions, items))
    return replace(
        result,
        about=replace(result.about, judges=titles, left_out=left_out),
        aspect=source.aspect,
        title="judges",
        caveats=(*_correlated(source, combinations(versions, 2)), *luck(result, "alpha")),
    )


def _slices_of_raters(choice: AgreementChoice, source: Source, items: ItemRatings) -> Iterator[Row]:
    if choice.by is not None:
        for name, inside in slices_of(source.connection, choice.unit, choice.by, items.ids):
            ratings = items.at(inside).ratings
            overall = overall_agreement(ratings)
            yield from rows_of(overall.items, with_alpha(overall, ratings.scale), name)


class _JudgeFigures:
    """The figures of a judge version with people; ``only`` limits the statistics.

    Figures describe all answers if the labels came by known chances (``in_all``), else the graded
    answers.
    """

    def __init__(
        self,
        choice: AgreementChoice,
        source: Source,
        version: StoredVersion,
        only: Collection[str] | None = None,
    ) -> None:
        self._choice, self._source, self._version, self._only = choice, source, version, only
        self._answers = source if isinstance(source, AnswerRatings) else None
        self._human = choice.counted.human
        self._pairs = source.compared(version)
        of_graded = judge_statistics(self._pairs, choice.unit, self._human, only=only)
        self._all_answers: LabelledAnswers | None = None
        self._in_all: InAllAnswers | None = None
        if self._answers is not None and (only is None or of_graded.n >= MIN_PAIRS):
            self._all_answers = weighted_labels(self._answers, version)
            if self._all_answers is not None:
                self._in_all = in_all_answers(self._all_answers)
            elif only is None:
                self._in_all = unweighted(self._answers, version)
        self._of_pairs, self._graded_figures = for_all(of_graded, self._in_all)

    def whole(self, of_slices: Collection[str] | None) -> AgreementResult:
        """Return the figures with caveats; ``of_slices`` limits the statistics of slices."""
        result = self.result(of_slices)
        source, version, answers = self._source, self._version, self._answers
        caveats = judge_caveats(
            self._of_pairs,
            self._pairs,
            in_all=self._in_all,
            cut_at=None if answers is None else answers.source.cuts.words,
            picked=no_ints() if self._graded_figures else source.picked,
            judged_again=() if answers is None else judged_again(source.connection, version.id),
            correlated=_correlated(source, ((version, each) for each in source.versions)),
            luck=luck(result, headline_name(self._pairs.scale)),
        )
        # Notes on how pairs with verdicts that differ by order, and unusable verdicts, count.
        of_orders = list[Note]()
        comparisons, choice = self._pairs.comparisons, self._choice
        if comparisons is not None and comparisons.differences is None:
            of_orders += order_note(comparisons.orders.changed_with_order(), choice.inconsistent)
            unusable = int((comparisons.orders.verdicts == NONE).sum())
            if unusable and choice.unusable != "drop":
                of_orders.append(note(f"unusable_{choice.unusable}", n=unusable))
        # Notes on the ways to figures if the judge has judged too few of the graded answers.
        next_steps, unjudged = list[Note](), result.unjudged
        if unjudged is not None:
            next_steps.append(note("judge_graded", title=unjudged.title, n=unjudged.answers))
            if unjudged.other is not None:
                title, pairs = unjudged.other
                next_steps.append(note("choose_version", title=title, n=pairs))
        next_steps += _other_grades(source)
        others = [each.title for each in source.versions if each.id != version.id]
        if others and not choice.judge_versions:
            next_steps.append(note("other_versions", title=version.title, others=others))
        return replace(
            result,
            parts=(*result.parts, *self._reactions()),
            caveats=(*of_orders, *caveats),
            next=tuple(next_steps),
        )

    def _reactions(self) -> Iterator[Result]:
        """Yield how people moved to the verdicts that people saw, and the labels of served answers by notice."""
        if self._answers is not None:
            shares = self._answers.anchoring(self._version)
            yield from part_of(
                "anchoring",
                "grade",
                ((grade, share.n, {"moved": share}) for grade, share in shares.items()),
                note("anchoring_means"),
            )
        if self._answers is not None and self._answers.grade == "label":
            lines = (
                (name, bad.n, {"bad_answers": bad})
                for name, bad in labels_by_notice(self._answers.source)
            )
            yield from part_of(
                "notices", "notice", lines, note("notices_means"), note("notices_names")
            )

    def result(self, of_slices: Collection[str] | None) -> AgreementResult:
        """Return the figures without caveats."""
        choice, source, in_all = self._choice, self._source, self._in_all
        unjudged = None
        if self._answers is not None and self._only is None:
            unjudged = unjudged_answers(self._answers, self._version)
        alt_test, tests = self._stand_in_tests()
        everybody = choice.counted.reviewer_id is None
        version, left_out = self._version, dict(self._pairs.left_out)
        if in_all is not None and in_all.hidden:
            left_out = {"hidden": in_all.hidden} | left_out
        graded_figures = {f"graded_{name}": each for name, each in self._graded_figures.items()}
        answers = None if in_all is None else in_all.described
        statistics = with_accuracy(self._of_pairs) | order_statistics(self._pairs.comparisons)
        if isinstance(source, PairRatings) and (numbers := source.compared_numbers(version)).n:
            of_numbers = judge_statistics(numbers, choice.unit, self._human)
            statistics = _with_numbers(statistics, of_numbers.estimates)
        return AgreementResult(
            about=About(
                judges=(version.title,),
                people=compared_with(self._human, combined_as(self._pairs.scale))
                if everybody
                else None,
                grade=source.scale.grade,
                by=choice.by,
                unit=choice.things,
                counts={}
                if in_all is None or in_all.ungraded is None
                else {"ungraded": in_all.ungraded},
                left_out=left_out,
            ),
            headline=self._headline(),
            rows=(
                *rows_of(self._of_pairs.n, statistics | graded_figures, answers=answers),
                *self._slices(of_slices),
            ),
            of=choice.of,
            unit=choice.unit,
            title=version.title,
            aspect=source.aspect,
            to_label=in_all.to_label if in_all is not None and in_all.statistics else None,
            unjudged=unjudged,
            confusion=self._of_pairs.confusion,
            calibration=self._calibration(),
            alt_test=alt_test,
            alt_tests=tests,
            parts=tuple(part_of("classes", "class", self._of_pairs.classes)),
        )

    def _calibration(self) -> tuple[Tenth, ...] | None:
        pairs = self._pairs
        has_score = ~np.isnan(pairs.scores)
        if pairs.scale.grade != "label" or int(has_score.sum()) < MIN_CALIBRATION:
            return None
        return calibration(pairs.scores[has_score], pairs.people[has_score] != pairs.scale.bad)

    def _slices(self, only: Collection[str] | None) -> Iterator[Row]:
        """Yield the figures of each slice, for all its answers if the labels of the slice came by known chances."""
        by, source, all_answers = self._choice.by, self._source, self._all_answers
        if by is None:
            return
        by_version = by == "judge_version"
        versions = {each.title: each for each in source.versions} if by_version else {}
        whole: dict[str, BoolArray] = {}
        if all_answers is not None and not by_version:
            whole = dict(slices_of_answers(source.connection, all_answers, by))
        parts = (
            ((title, source.compared(each)) for title, each in versions.items())
            if by_version
            else source.slices(by, self._pairs)
        )
        for name, part in parts:
            of_pairs = judge_statistics(part, self._choice.unit, self._human, only=only)
            in_all = None
            if of_pairs.n >= MIN_PAIRS and all_answers is not None and name in whole:
                in_all = in_all_answers(all_answers, whole[name])
            elif (
                of_pairs.n >= MIN_PAIRS
                and all_answers is not None
                and self._answers is not None
                and name in versions
            ):
                of_version = weighted_labels(self._answers, versions[name])
                in_all = None if of_version is None else in_all_answers(of_version)
            yield from slice_of(name, of_pairs, in_all)
            yield from (
                Row.of(figure, name, each)
                for figure, each in order_statistics(part.comparisons).items()
            )

    def _stand_in_tests(
        self,
    ) -> tuple[AlternativeAnnotatorTest | None, Mapping[str, AlternativeAnnotatorTest]]:
        """Return the alternative annotator tests of all items and of each slice, if ``epsilon`` is given."""
        choice = self._choice
        if choice.epsilon is None:
            return None, {}
        verdicts, items = self._source.with_people(self._version)
        test = alternative_annotator_test(
            verdicts, items.ratings, choice.epsilon, small=choice.small
        )
        if choice.by is None or choice.by in {"rule", "judge_version"}:
            return test, {}
        slices = np.full(len(items.ids), "", dtype=object)
        for name, inside in slices_of(self._source.connection, choice.unit, choice.by, items.ids):
            slices[inside] = name
        return test, alternative_annotator_tests_by_slice(
            verdicts, items.ratings, slices, choice.epsilon, choice.small
        )

    def _headline(self) -> Note:
        statistics, answers = self._of_pairs, self._answers
        if statistics.n == 0 and answers is not None and self._only is None:
            return nothing_to_compare(answers.source, self._version, answers.grade)
        described = None if self._in_all is None else self._in_all.described
        single = "graded answer" if answers is not None else "graded pair"
        on = answers_words(statistics.n, described, "grade" if self._human == "each" else single)
        return judge_headline(statistics, on)


def weighted_labels(source: AnswerRatings, version: StoredVersion) -> LabelledAnswers | None:
    """Return all answers with the labels that figures of all answers weight.

    Returns None if figures are not weighted: for other grades, for one person, and if each person's
    grade counts alone.
    """
    pair_source = source.source
    if (
        source.grade != "label"
        or pair_source.counted.reviewer_id is not None
        or pair_source.counted.human not in {"gold", "majority"}
    ):
        return None
    where, implied_labels = pair_source.counted.where, pair_source.counted.implied_labels
    if pair_source.counted.human == "majority":
        people = pair_source.people("label")
        return LabelledAnswers(
            pair_source.connection,
            version,
            where,
            implied_labels=implied_labels,
            majority=people,
            scores=False,
        )
    return labelled_answers(pair_source.connection, version, where, implied_labels=implied_labels)


def unweighted(source: AnswerRatings, version: StoredVersion) -> InAllAnswers | None:
    """Return all answers, for figures of the graded answers that are not weighted."""
    pairs, grade = source.source, next((each for each in GRADES if each == source.grade), None)
    if grade is None:
        return None
    grades = pairs.counted
    all_answers = labelled_answers(
        pairs.connection, version, grades.where, grade=grade, implied_labels=grades.implied_labels
    )
    in_all = in_all_answers(all_answers)
    if pairs.counted.reviewer_id is not None:  # the labels are of everybody
        return InAllAnswers(answers=in_all.answers, hidden=in_all.hidden)
    return replace(in_all, statistics={})


def _correlated(
    source: Source, versions: Iterable[tuple[StoredVersion, StoredVersion]]
) -> Iterator[Note]:
    """Yield the note on unrelated judge versions that agree more with each other than with people."""
    pairs_by_id = {each.id: (each.title, source.compared(each)) for each in source.versions}
    judges = (
        (pairs_by_id[a.id], pairs_by_id[b.id])
        for a, b in versions
        if {a.id, b.id} <= pairs_by_id.keys() and not are_related(a, b)
    )
    return correlated_judges(judges, source.unit, source.human)


def _with_numbers(categories: Statistics, numbers: Mapping[str, Estimate]) -> Statistics:
    """Add the correlations and the interval alpha of graded preferences to the statistics of preferences."""
    return categories | {
        name: numbers[name] for name in _OF_NUMBERS if name in numbers and name not in categories
    }


def _other_grades(source: Source) -> tuple[Note, ...]:
    if isinstance(source, PairRatings):
        return ()
    return tuple(
        other_grades(source.source.reviews, source.grade, source.source.counted.reviewer_id)
    )


@dataclass(frozen=True, slots=True)
class AgreedWithPeople:
    """Agreement of a judge version with people: the figures of `measure_agreement`.

    Both figures describe ``answers`` answers. None: the figures describe the graded answers alone,
    which are no random sample.
    """

    judge_version: str
    accuracy: Estimate
    kappa: Estimate
    answers: int | None = None


def agreed_with_people(
    ratings: AnswerRatings, version: StoredVersion, response_ids: IntArray | None = None
) -> AgreedWithPeople:
    """Return how far a judge version agrees with people on these answers (ascending ids; default: all).

    The figures are those of `measure_agreement`: if the labels represent all these answers, the
    figures describe all these answers.
    """
    pairs = ratings.compared(version)
    if response_ids is not None:
        pairs = pairs.at(np.isin(pairs.response_ids, response_ids))
    statistics = judge_statistics(pairs, only=("agreement", "kappa"))
    in_all = None
    if statistics.n >= MIN_PAIRS:
        answers = weighted_labels(ratings, version)
        if answers is None:
            in_all = unweighted(ratings, version)
        else:
            inside = (
                None
                if response_ids is None
                else np.isin(answers.answers.response_ids, response_ids)
            )
            in_all = in_all_answers(answers, inside)
    statistics, _ = for_all(statistics, in_all)
    return AgreedWithPeople(
        version.title,
        statistics.estimates["agreement"],
        statistics.estimates.get(
            "kappa", unmeasured(statistics.n, "this grade has no unweighted kappa")
        ),
        None if in_all is None else in_all.described,
    )
