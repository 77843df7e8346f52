"""Measures self-reference from the store."""

import shlex
from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass, replace

import numpy as np
from sqlalchemy import Connection

from judgeboard.domain import OVERALL, Status
from judgeboard.errors import BadInput, NotFound
from judgeboard.measure.notes import note, paragraph
from judgeboard.measure.result import About, Result
from judgeboard.methods.self_reference import own_answers
from judgeboard.methods.self_reference import scores as figures
from judgeboard.methods.self_reference.queries import (
    FAILED,
    SampledQuestion,
    load_samples,
    most_samples,
    sampling_versions,
)
from judgeboard.runs.method import RunAccount
from judgeboard.store import comparisons
from judgeboard.store.comparisons import PLAIN, REFERENCE, load_comparisons
from judgeboard.store.engine import Readable
from judgeboard.store.judge_versions import get_version
from judgeboard.store.tables import StoredVersion


def load_items(
    connection: Connection,
    version_id: int,
    k: int,
    *,
    source: str | None = None,
    pair_ids: Collection[int] | None = None,
) -> figures.Items:
    """Return the items of a judge version from the first ``k`` samples of each question."""
    items, left_out, steps = list[figures.Item](), Counter[str](), Counter[Status]()
    ids = None if pair_ids is None else set(pair_ids)
    # The verdicts on the overall aspect, or on the judge's only aspect, by condition and pair.
    rows = load_comparisons(connection, [version_id])
    aspects = {row.aspect for row in rows}
    aspect = OVERALL if OVERALL in aspects or len(aspects) != 1 else next(iter(aspects))
    orders = {(row.condition, row.pair_id): row for row in rows if row.aspect == aspect}
    comparisons_of_pairs = comparisons.compared_pairs(connection, version_id)
    questions = comparisons.question_groups(connection)
    for question in load_samples(connection, version_id):
        if source not in {None, question.source} or (
            ids is not None and question.pair_id not in ids
        ):
            continue
        pair_comparisons = comparisons_of_pairs.get(question.pair_id, ())
        samples = question.samples
        steps.update(Status(each.status) for each in samples)
        steps.update(status for status, _ in pair_comparisons)
        if len(samples) < k:
            left_out["fewer_samples"] += 1
        elif any(each.status in FAILED for each in samples[:k]):
            left_out["failed_samples"] += 1
        # A usable sample whose text was forgotten; a sample without an answer has another status.
        elif any(each.answer is None and each.status == Status.OK for each in samples):
            left_out["forgotten_samples"] += 1
        else:
            answers = [each.answer for each in samples[:k]]
            majority = own_answers.majority(answers, question.options)
            plain, reference = (
                orders.get((condition, question.pair_id)) for condition in (PLAIN, REFERENCE)
            )
            references = {reference for _, reference in pair_comparisons if reference is not None}
            if any(not _same_answer(each, majority, question.options) for each in references):
                left_out["other_reference"] += 1
                reference = None  # verdicts with another reference are not condition B
            rights = _right_samples(question, k)
            right = None if majority.answer is None else rights[answers.index(majority.answer)]
            item = figures.Item(
                question.pair_id,
                question.query_type,
                question.gold,
                majority,
                right,
                plain,
                reference,
            )
            items.append(replace(item, question=questions[question.pair_id], samples_right=rights))
    return replace(figures.items_of(items, k), left_out=left_out, steps=steps)


def _right_samples(question: SampledQuestion, k: int) -> tuple[bool | None, ...]:
    """Return whether each of the first ``k`` samples is right, by the file or else by the correct answer."""
    correct = own_answers.reference_key(question.reference, question.options)
    return tuple(
        own_answers.answer_key(each.answer, question.options) == correct
        if each.correct is None and correct is not None
        else each.correct
        for each in question.samples[:k]
    )


def _same_answer(
    reference: str, majority: own_answers.Majority, options: tuple[str, ...] | None
) -> bool:
    if majority.answer is None:
        return False
    same_words = reference == own_answers.as_reference(majority.answer, options)
    return same_words or own_answers.answer_key(reference, options) == majority.key


@dataclass(frozen=True, slots=True, kw_only=True)
class SelfReferenceResult(Result):
    """The figures of self-reference over the items of one judge version.

    The gate is on if ``needed`` of ``k`` samples agree. The rows have the accuracy in each
    condition (``without``: A, ``always``: B, ``selective``: C), of all pairs and by gate and own
    answer. ``parts`` are further results: verdicts by condition, levels of agreement, other gates,
    categories, and gates tuned by category.
    """

    k: int
    needed: int
    account: RunAccount
    parts: tuple[Result, ...]


def measure_self_reference(
    store: Readable,
    judge_version: int | str | None = None,
    *,
    k: int | None = None,
    tau: float = own_answers.TAU,
    source: str | None = None,
    pair_ids: Collection[int] | None = None,
    account: RunAccount | None = None,
) -> SelfReferenceResult:
    """Measure the stored samples and comparisons of a judge version; makes no model calls.

    ``judge_version`` is optional if only one version has samples. The first ``k`` samples count
    (default: as many as the version takes, or 5). The gate is on if the agreement is at least
    ``tau`` (above 0, at most 1). ``account`` is the account of a run (default: the stored steps).
    Raises NotFound, or BadInput if ``tau`` is invalid or, without ``pair_ids``, no question has
    ``k`` samples.
    """
    with store.reading() as connection:
        version = chosen_version(connection, judge_version)
        sample_count = samples_used(version, k)
        needed = own_answers.samples_needed(tau, sample_count)
        items = load_items(connection, version.id, sample_count, source=source, pair_ids=pair_ids)
        if not items.n and pair_ids is None:
            if not items.left_out:
                raise BadInput(f"{version.title} has no samples of these questions")
            why = paragraph(note(code, n=n) for code, n in items.left_out.items())
            most = most_samples(connection, version.id)
            raise BadInput(
                f"no question has {sample_count} samples of {version.title}, the most is --k {most}. {why}"
            )
    return result_of(version, items, needed, account)


def result_of(
    version: StoredVersion, items: figures.Items, needed: int, account: RunAccount | None = None
) -> SelfReferenceResult:
    """Return the figures of loaded items; the gate is on if ``needed`` of the samples of an item agree."""
    rows = tuple(figures.main_rows(items, needed))
    conditions = items.conditions(needed)
    everywhere = np.ones(items.n, dtype=np.bool_)
    accuracy = figures.accuracy(items, items.selective(needed), everywhere)
    ties, ties_on = (int((items.tie & rows).sum()) for rows in (items.answered, items.gate(needed)))
    left_out = {
        "tied_samples_on" if ties_on else "tied_samples": ties_on or ties,
        "no_sample_answer": int((~items.answered).sum()),
        "no_correct_answer": int((items.answered & (items.right == figures.UNKNOWN)).sum()),
        "no_better_answer": int((~items.gold).sum()) if conditions else 0,
        **items.left_out,
    }
    gain = next((row.estimate for row in rows if row.figure == "gain_without"), None)
    if accuracy.value is None:
        headline = note("own_answer_unknown", accuracy=accuracy)
    elif gain is None or gain.low is None or gain.high is None:
        headline = note("own_answer", accuracy=accuracy)
    else:
        headline = note(gain_code(gain.low, gain.high), change=gain)
    return SelfReferenceResult(
        about=About(
            judges=(version.title,), by="slice", unit="pairs" if conditions else "questions"
        ),
        headline=headline,
        rows=rows,
        caveats=tuple(note(code, n=n) for code, n in left_out.items() if n),
        next=tuple(
            note("ask_all_conditions", model=shlex.quote(version.model or "MODEL"))
            for each in (items.without, items.always)
            if figures.never_asked(items, each, everywhere)
        )[:1],
        k=items.k,
        needed=needed,
        account=account or RunAccount.of(items.steps),
        parts=(
            figures.conditions_part(items, needed),
            figures.levels_part(items),
            figures.gates_part(items),
            figures.categories_part(items, needed),
            figures.tuned_part(items),
        ),
    )


def gain_code(low: float, high: float) -> str:
    """Return what the interval of a difference between C and A shows."""
    if low == high == 0:
        return "own_answer_no_difference"
    if low <= 0 <= high:
        return "own_answer_unclear"
    return "own_answer_helps" if low > 0 else "own_answer_harms"


def samples_used(version: StoredVersion, k: int | None = None) -> int:
    """Return the number of samples that count: ``k``, by default the version's number, or 5."""
    return k or int(version.params.get("samples") or own_answers.SAMPLES)


def chosen_version(connection: Connection, which: int | str | None) -> StoredVersion:
    """Return the requested judge version; without a name, the only one with comparisons."""
    if which is not None:
        return get_version(connection, which)
    versions = sampling_versions(connection)
    if not versions:
        raise NotFound(
            "no judge has samples yet. To make them: `judgeboard compare ssr --pairs FILE --model M`. To import them: "
            "`judgeboard import --kind samples FILE`"
        )
    if len(versions) > 1:
        titles = ", ".join(sorted(version.title for version in versions))
        raise BadInput(f"several judges have samples. Choose one with --judge-version: {titles}")
    return versions[0]
