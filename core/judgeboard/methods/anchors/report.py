"""Drift of a judge: a judge judges fixed answers again and again, and new verdicts are compared with earlier ones."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np
from sqlalchemy import Connection

from judgeboard.errors import BadInput, NotFound
from judgeboard.judges.prompt import example_responses
from judgeboard.measure.notes import Note, note, paragraph
from judgeboard.measure.ratings import is_given, judge_values, people_values
from judgeboard.measure.result import ALL, About, Result, Row
from judgeboard.measure.samples import LabelledAnswers
from judgeboard.measure.scored_labels import drawn
from judgeboard.measure.verdict_changes import side_of
from judgeboard.methods.anchors.queries import (
    AnchorCandidates,
    anchor_candidates,
    anchor_groups,
    anchor_ids,
    anchor_runs,
    first_verdicts,
    insert_anchor_set,
    newest_anchors,
    verdicts_of_run,
)
from judgeboard.runs.judging import judge_options
from judgeboard.stats.anchors import (
    LOOKS,
    AnchorChange,
    anchor_change,
    one_flip_share,
    seen_share,
    shown_tests,
)
from judgeboard.stats.arrays import BoolArray, FloatArray, IntArray, among, grouping
from judgeboard.stats.ratings import SCALES
from judgeboard.stats.sample_size import allocated
from judgeboard.store.alignments import stored_looks
from judgeboard.store.clock import utc_now
from judgeboard.store.engine import AdvisoryLock, Store, take_lock
from judgeboard.store.events import record_event
from judgeboard.store.grades import HALLUCINATED, Grades, graded_reviews
from judgeboard.store.judge_versions import get_version, list_versions
from judgeboard.store.responses import answer_starts
from judgeboard.store.settings import thresholds
from judgeboard.store.tables import Run, StoredVersion
from judgeboard.store.verdicts import by_repeat
from judgeboard.text import counted, day_words, utc_day

SIZE = 60
"""The default number of anchors: if a change of the judge affects 5 % of answers, at least one verdict flips."""

SEED = "anchors"
TO_MAKE = "To draw anchors: `judgeboard test anchors make`"
_UNLABELLED, _GOOD, _BAD = range(3)
_LISTED = 1_000


def make_anchors(
    store: Store, *, n: int = SIZE, seed: str = SEED, replace: bool = False, by: str
) -> Result:
    """Draw and store about ``n`` anchors with ``seed``: whole evidence groups, labelled answers first.

    The shares of query types and of bad answers are similar to the shares among all labelled
    answers. Groups with an answer in a judge's prompt, or with a label that `align` used, are not
    drawn. Raises BadInput if there is no answer to draw, or if anchors exist and ``replace`` is
    False.
    """
    at = utc_now()
    with store.reading() as connection:
        _check_free(connection, replace=replace)
        labels = _Labels(connection)
        answers = anchor_candidates(connection, labels.response_ids.tolist())
        # The evidence groups, ascending, of the answers that any judge version saw as examples.
        examples = {
            id_
            for version in list_versions(connection)
            for id_ in example_responses(version.params)
        }
        prompts = np.unique(anchor_candidates(connection, examples).evidence_groups)
        # The groups whose labels chose or tested a prompt in `align`, which leaves out present anchors.
        version_ids = sorted({each.look.version_id for each in stored_looks(connection)})
        groups_of_labels = {
            group
            for version_id in version_ids
            for sample in [LabelledAnswers(connection, get_version(connection, version_id))]
            for group in sample.answers.evidence_groups[sample.labelled].tolist()
        }
        group_ids = sorted(groups_of_labels - anchor_groups(connection))
        align_groups = np.array(group_ids, dtype=np.int64)
        in_prompts = among(answers.evidence_groups, prompts)
        left_out = {
            "prompt": int(in_prompts.sum()),
            "align": int((among(answers.evidence_groups, align_groups) & ~in_prompts).sum()),
        }
        draws = [_drawn(answers, labels, np.union1d(prompts, align_groups), n, seed)]
        labelled_ids = draws[0].response_ids
        if len(labelled_ids) < n:
            answers_of_log = anchor_candidates(connection, None)
            excluded_groups = np.unique(np.concatenate([prompts, answers.evidence_groups]))
            draws.append(
                _drawn(answers_of_log, labels, excluded_groups, n - len(labelled_ids), seed)
            )
    caveats = [note(f"not_drawn_{reason}", n=count) for reason, count in left_out.items() if count]
    ids = [id_ for draw in draws for id_ in draw.response_ids.tolist()]
    if not ids:
        why = paragraph((note("no_anchors"), *caveats))
        raise BadInput(f"{why} To import a log: `judgeboard import FILE`")
    with store.writing() as connection:
        take_lock(connection, AdvisoryLock.ANCHOR_SETS)
        _check_free(
            connection, replace=replace
        )  # another process may have drawn anchors in the meantime
        insert_anchor_set(connection, ids, seed, by, at)
        record_event(connection, "make_anchors", by, details={"anchors": len(ids)}, now=at)
    groups = sum(len(np.unique(draw.evidence_groups)) for draw in draws)
    counts = {"anchors": len(ids), "labelled": len(labelled_ids)}
    headline = note("anchors_made", groups=groups, **counts)
    bad = int((labels.kinds(labelled_ids) == _BAD).sum())
    counts |= {"bad": bad, "evidence_groups": groups}
    about = About(unit="anchors", where={"seed": seed}, counts=counts)
    caveats = [note("anchors_show", share=one_flip_share(len(ids))), *caveats]
    return Result(about=about, headline=headline, rows=(), caveats=tuple(caveats))


def _check_free(connection: Connection, *, replace: bool) -> None:
    anchors = newest_anchors(connection)
    if anchors is not None and not replace:
        n = len(anchor_ids(connection, anchors))
        raise BadInput(
            f"{counted(n, 'anchor')} were drawn on {day_words(utc_day(anchors.at))}. "
            "To draw others: --replace. A judge is then compared only with its verdicts on the new anchors"
        )


class _Labels:
    """People's labels, one per answer, by id."""

    def __init__(self, connection: Connection) -> None:
        people = people_values(graded_reviews(connection), SCALES["label"])
        self.response_ids = people.response_ids
        self.bad = people.values == HALLUCINATED

    def kinds(self, response_ids: IntArray) -> IntArray:
        """Return for each answer ``_UNLABELLED``, ``_GOOD`` or ``_BAD``."""
        kinds = np.full(len(response_ids), _UNLABELLED)
        rows = among(response_ids, self.response_ids)
        bad = self.bad[np.searchsorted(self.response_ids, response_ids[rows])]
        kinds[rows] = np.where(bad, _BAD, _GOOD)
        return kinds


def _drawn(
    answers: AnchorCandidates, labels: _Labels, without: IntArray, n: int, seed: str
) -> AnchorCandidates:
    """Return about ``n`` answers of whole groups, but no group of ``without``.

    The strata are the query type of a group, and whether most answers of the group are bad.
    """
    answers = answers.at(~among(answers.evidence_groups, without))
    numbers, groups = drawn(seed, answers.evidence_groups), answers.evidence_groups
    distinct, first, rows = np.unique(groups, return_index=True, return_inverse=True)
    sizes = np.bincount(rows, minlength=len(distinct))
    is_bad = labels.kinds(answers.response_ids) == _BAD
    mostly_bad = 2 * np.bincount(rows, weights=is_bad, minlength=len(distinct)) > sizes
    strata = np.unique(2 * answers.query_types.codes[first] + mostly_bad, return_inverse=True)[1]
    quotas = np.array(
        allocated(n, np.bincount(strata, weights=sizes).astype(int).tolist(), least=0),
        dtype=np.int64,
    )
    is_drawn = np.zeros(len(distinct), dtype=np.bool_)
    for group in np.argsort(numbers[first], kind="stable"):
        if quotas[strata[group]] > 0:
            is_drawn[group] = True
            quotas[strata[group]] -= sizes[group]
    return answers.at(is_drawn[rows])


def stored_anchors(connection: Connection) -> tuple[int, ...]:
    """Return the ids of the anchors; raise NotFound if there are none."""
    anchors = newest_anchors(connection)
    if anchors is None:
        raise NotFound(f"there are no anchors yet. {TO_MAKE}")
    return anchor_ids(connection, anchors)


@dataclass(frozen=True, slots=True)
class ChangedAnchor:
    """An anchor whose newest verdict, ``now``, differs from the first. ``people`` is people's label or None."""

    response_id: int
    external_id: str
    question: str | None
    now: str
    people: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class AnchorReport(Result):
    """The drift of a judge version on the anchors, in the newest ``run``.

    ``about.counts``: ``usable`` of the ``anchors`` got a usable verdict in this run, and
    ``labelled`` have a label of people. The slices compare the run with the first verdicts and with
    the run before; ``tests_shown`` counts the tests that show drift. All tests share the
    probability 0.05 / ``looks`` of a false alarm. ``changed`` are the anchors whose verdict differs
    from the first, by id, at most 1,000. The row ``seen`` is the share of verdicts that must change
    in one direction for drift to be shown in 80 % of cases.
    """

    run: int
    at: datetime
    looks: int
    drift: bool
    changed: tuple[ChangedAnchor, ...]


def _rows(since: str, change: AnchorChange, tests: Sequence[str]) -> Iterator[Row]:
    counts = {
        "n": change.n,
        "to_bad": change.to_bad,
        "to_good": change.to_good,
        "tests_shown": len(tests),
    }
    right = change.agreement
    counts |= {"right_before": right.first_right, "right_now": right.second_right}
    counts |= {"newly_wrong": right.only_first, "newly_right": right.only_second}
    numbers = counts | {f"p_{test}": p for test, p in change.p_values.items()}
    yield from (
        Row(name, since, number, None, None, change.n, None) for name, number in numbers.items()
    )
    yield Row.of("flip_rate", since, change.flip_rate)
    yield Row.of("right_change", since, right.change)
    yield Row.of("score_change", since, change.score_shift)


def anchor_report(
    connection: Connection, *, judge_version: int | str | None = None, looks: int = LOOKS
) -> AnchorReport:
    """Compare a judge version's newest verdicts on the anchors with the first verdicts and with the run before.

    The default version is the one that judged the anchors last. ``looks`` is the number of reports
    that share a probability of 5 %: the probability that any report shows drift by chance. Raises
    NotFound if there are no anchors, or if the version has not judged the anchors.
    """
    anchors = stored_anchors(connection)
    choice = None if judge_version is None else get_version(connection, judge_version)
    runs = anchor_runs(connection, anchors, None if choice is None else choice.id)
    if not runs:
        command = (
            f"judgeboard test anchors judge {(choice and judge_options(choice)) or '--judge KIND'}"
        )
        whose = "" if choice is None else f" of {choice.title}"
        raise NotFound(
            f"there is no usable verdict{whose} on the anchors yet. To judge them: `{command}`"
        )
    newest = runs[0]
    version = choice or get_version(connection, newest.judge_version_id or 0)
    earlier = [run for run in runs[1:] if run.judge_version_id == version.id]
    compare = _Comparing(connection, anchors, newest)
    parts = [("the first judging", first_verdicts(connection, version.id, anchors, newest.id))]
    if earlier:
        since = f"run {earlier[0].id} on {day_words(utc_day(earlier[0].started_at))}"
        parts.append((since, verdicts_of_run(connection, earlier[0].id)))
    changes = [compare.with_earlier(verdicts) for _, verdicts in parts]
    test_names = shown_tests(changes, looks)
    tests = sum(len(change.p_values) for change in changes)
    drift = [
        code
        for change, names in zip(changes, test_names, strict=True)
        for code in drift_codes(change, names)
    ]
    detectable_share = seen_share(changes[0].n, tests, looks)
    rows = [Row("seen", ALL, detectable_share, None, None, changes[0].n, None)]
    for (since, _), change, names in zip(parts, changes, test_names, strict=True):
        rows += _rows(since, change, names) if change.n else ()
    counts = {
        "anchors": len(anchors),
        "labelled": int(compare.labelled.sum()),
        "usable": compare.usable,
    }
    if not changes[0].n:
        headline = note("anchors_first", judge=version.title)
    elif drift:
        headline = note(drift[0], judge=version.title)
    elif detectable_share is None:
        headline = note("few_anchors", n=changes[0].n)
    else:
        headline = note("no_drift", share=detectable_share)
    return AnchorReport(
        about=About(judges=(version.title,), by="since", unit="anchors", counts=counts),
        headline=headline,
        rows=tuple(rows),
        caveats=tuple(_caveats(version, newest.id, counts, changes[0], drift)),
        run=newest.id,
        at=newest.started_at,
        looks=looks,
        drift=bool(drift),
        changed=compare.changed(connection, parts[0][1]),
    )


class _Comparing:
    """The newest verdicts on the anchors, with the labels of people, to compare with earlier verdicts."""

    def __init__(self, connection: Connection, anchors: Collection[int], newest: Run) -> None:
        self._cut = thresholds(connection).low_groundedness
        candidates = anchor_candidates(connection, anchors)
        self._ids = candidates.response_ids
        self._groups = candidates.evidence_groups
        kinds = _Labels(connection).kinds(self._ids)
        self.labelled: BoolArray = kinds != _UNLABELLED
        self._people_bad: BoolArray = kinds == _BAD
        pairs = [
            (each.opinions[0].verdict, each.opinions[1].verdict)
            for each in by_repeat(connection, newest.judge_version_id or 0).values()
            if 0 in each.opinions and 1 in each.opinions
        ]
        pair_sides = [
            tuple(side_of(each.label, each.groundedness, self._cut) for each in pair)
            for pair in pairs
        ]
        self._repeat_flips: BoolArray = np.array(
            [first is not second for first, second in pair_sides if first and second],
            dtype=np.bool_,
        )
        verdicts = verdicts_of_run(connection, newest.id)
        self.usable = len(set(anchors) & set(verdicts.response_ids.tolist()))
        self._now = self._by_id(verdicts)

    def with_earlier(self, verdicts: Grades) -> AnchorChange:
        """Return the change from earlier verdicts to the newest."""
        (labels, scores), (before, scores_before) = self._now, self._by_id(verdicts)
        rows = is_given(labels) & is_given(before)
        return anchor_change(
            before[rows] == HALLUCINATED,
            labels[rows] == HALLUCINATED,
            groups=grouping(self._groups[rows], int(rows.sum())),
            labelled=self.labelled[rows],
            people_bad=self._people_bad[rows],
            score_changes=(scores - scores_before)[rows],
            repeat_flips=self._repeat_flips,
        )

    def changed(self, connection: Connection, verdicts: Grades) -> tuple[ChangedAnchor, ...]:
        """Return the anchors whose newest verdict differs from ``verdicts``."""
        now, before = self._now[0], self._by_id(verdicts)[0]
        rows = np.flatnonzero(is_given(now) & is_given(before) & (now != before))[:_LISTED]
        starts = answer_starts(connection, self._ids[rows].tolist())
        return tuple(
            ChangedAnchor(
                start.response_id,
                start.external_id,
                start.question,
                _verdict(now[row] == HALLUCINATED),
                _verdict(self._people_bad[row]) if self.labelled[row] else None,
            )
            for row in rows.tolist()
            if (start := starts.get(int(self._ids[row]))) is not None
        )

    def _by_id(self, verdicts: Grades) -> tuple[IntArray, FloatArray]:
        """Return the labels (0: none) and the groundedness (NaN: none) of each anchor."""
        labels, scores = np.zeros(len(self._ids), dtype=np.int64), np.full(len(self._ids), np.nan)
        rows = among(verdicts.response_ids, self._ids)
        at = np.searchsorted(self._ids, verdicts.response_ids[rows])
        labels[at] = judge_values(verdicts, "label", self._cut)[0][rows]
        scores[at] = verdicts.groundedness[rows]
        return labels, scores


def _verdict(is_bad: bool) -> str:
    return "bad" if is_bad else "good"


def drift_codes(change: AnchorChange, tests: Sequence[str]) -> Iterator[str]:
    """Yield the code of a note for each of the ``tests`` that show drift."""
    worse, lower = (
        each.value is not None and each.value < 0
        for each in (change.agreement.change, change.score_shift)
    )
    codes = {
        "direction": "drift_to_bad" if change.to_bad > change.to_good else "drift_to_good",
        "agreement": "drift_worse" if worse else "drift_better",
        "score": "drift_lower" if lower else "drift_higher",
        "flips": "drift_flips",
    }
    yield from (codes[test] for test in tests)


def _caveats(
    version: StoredVersion,
    run_id: int,
    counts: Mapping[str, int],
    change: AnchorChange,
    drift: Sequence[str],
) -> Iterator[Note]:
    yield from (
        note(code, judge=version.title) for code in dict.fromkeys(drift) if code != drift[0]
    )
    if counts["usable"] < counts["anchors"]:
        yield note(
            "anchors_unusable", run=run_id, usable=counts["usable"], anchors=counts["anchors"]
        )
    if change.n and "flips" not in change.p_values and version.model is not None:
        yield note("flips_unknown", options=judge_options(version) or "")
