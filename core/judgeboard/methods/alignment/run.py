"""Aligns a judge with people: a model proposes instructions, and held-out labels decide if the best are better.

The model sees only develop labels, and candidates are compared on develop labels. The best
candidate is compared once with the judge on held-out labels. A candidate that quotes an answer is
refused.
"""

import asyncio
import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Unpack

import numpy as np
from sqlalchemy import Connection, select

from judgeboard.domain import Action, JudgeInput, JudgeVersion
from judgeboard.errors import BadInput, NotFound, OtherHost
from judgeboard.judges.injections import Asks
from judgeboard.judges.prompt import prompt_of
from judgeboard.measure.notes import Note, note, paragraph
from judgeboard.measure.samples import LabelledAnswers
from judgeboard.measure.versus import UNUSABLE_WRONG, Contrast, compare_verdicts
from judgeboard.methods.alignment.candidate_prompts import (
    CRITERIA,
    MAX_OUTPUT,
    Candidate,
    CandidateCalls,
    Case,
    PromptText,
    with_order,
)
from judgeboard.people.permissions import Actor, actor_name, allowed
from judgeboard.runs.addresses import check_host, last_address, require_confirmed
from judgeboard.runs.jobs import judge_spec, judge_with_key, make_described, with_last_address
from judgeboard.runs.judging import make_endpoint
from judgeboard.runs.method import RunOptions, check_limits, shared_rate_limits
from judgeboard.runs.runner import blocking
from judgeboard.settings.model import Cuts
from judgeboard.stats.arrays import BoolArray, IntArray, among
from judgeboard.stats.obedience import MOST_OBEYED, Obedience, obedience
from judgeboard.stats.paired import MIN_GROUPS, Conclusion
from judgeboard.store.alignments import (
    EvidenceRole,
    Look,
    StoredLook,
    evidence_role,
    record_accepted,
    record_look,
    reserved_groups,
    stored_looks,
)
from judgeboard.store.engine import Store
from judgeboard.store.judge_versions import ensure_version, get_version
from judgeboard.store.responses import judge_inputs
from judgeboard.store.settings import thresholds
from judgeboard.store.statements import batches, rows_with
from judgeboard.store.strata import BAD, GOOD, UNUSABLE
from judgeboard.store.tables import RESPONSE, StoredVersion
from judgeboard.store.verdict_pairs import JudgedText, judged_texts, person_reviews
from judgeboard.text import counted

MOST_SHOWN = 100
"""The maximum number of mended, and of broken, answers whose texts a page shows."""

MOST_ORDERED = 50
"""The maximum number of held-out answers that are also judged with a text that orders a verdict."""

_SCORES = {GOOD: 1.0, BAD: 0.0, UNUSABLE: np.nan}

MOST_LOOKS = 10
"""After this many looks at the same labels, new labels are needed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Alignment:
    """The outcome of aligning a judge version. JSON has the same fields.

    ``labelled`` counts the labelled answers by role, ``differences`` the develop answers on which
    the judge and people differ, by the reason that people recorded. ``left_out`` counts the
    labelled answers without a role: ``anchors`` have the evidence of an anchor. ``right`` counts
    the develop answers on which the judge is right. The first of the ``notes`` is the conclusion.
    ``look`` is the id of the stored look, and ``held_out`` the comparison on held-out labels; both
    are None without a look.
    """

    judge: str
    model: str
    conclusion: Conclusion
    exit_code: int
    notes: tuple[Note, ...]
    labelled: Mapping[str, int]
    left_out: Mapping[str, int]
    differences: Mapping[str, int]
    right: int
    candidates: tuple[Candidate, ...] = ()
    best: int | None = None
    look: int | None = None
    looks: int | None = None
    held_out: Contrast | None = None
    mended: tuple[int, ...] = ()
    broken: tuple[int, ...] = ()
    cost_micro: int | None = 0


class _Labelled(NamedTuple):
    """Labelled answers that a judge version judged, one row each; ``roles`` are `EvidenceRole` values."""

    ids: IntArray
    verdicts: IntArray
    bad: BoolArray
    groups: IntArray
    roles: Any

    def of(self, role: EvidenceRole) -> "_Labelled":
        inside = self.roles == role.value
        return _Labelled(*(column[inside] for column in self))

    @property
    def right(self) -> BoolArray:
        return np.asarray(self.verdicts == np.where(self.bad, BAD, GOOD))


async def align_async(
    store: Store,
    which: int | str,
    *,
    candidates: int = 5,
    judge: dict[str, object] | None = None,
    model: dict[str, object],
    max_output: int = MAX_OUTPUT,
    **options: Unpack[RunOptions],
) -> Alignment:
    """Let a model propose changed instructions for a judge version, and test the best candidate on held-out labels.

    ``model`` and ``judge`` are the endpoint fields of `JudgeOptions` for the model that proposes,
    and for the judge. ``max_output`` is the maximum number of tokens of a proposal. Raises BadInput
    if the judge version cannot be asked again or if the prompt contains a held-out answer.
    """
    if candidates < 1:
        raise BadInput("--candidates must be at least 1")
    check_limits(options.get("max_cost"), options.get("concurrency", 1))
    with store.reading() as connection:
        version = get_version(connection, which)
        spec = with_last_address(connection, _spec(connection, version, judge or {}))
        last = last_address(connection, version.id)
        answers, left_out = _labelled(connection, version)
        held_out, develop = answers.of(EvidenceRole.HELD_OUT), answers.of(EvidenceRole.DEVELOP)
        of_roles = batches([*held_out.ids.tolist(), *develop.ids.tolist()])
        items = {
            id_: item for batch in of_roles for id_, item in judge_inputs(connection, batch).items()
        }
        cases = _cases(connection, version, develop, items)
        looks = _looks(connection, held_out)
        check = _LeakCheck(connection, version, items, held_out)
        cuts = thresholds(connection).cuts
    try:
        check_host(
            last, version, make_described(spec).address, lambda: counted(len(items), "answer")
        )
    except OtherHost as change:
        require_confirmed(change, options.get("on_other_host"))
    if not (judge or {}).get("base_url"):
        spec = judge_with_key(spec)
    endpoint = make_endpoint("the model that proposes instructions", **model)
    result = Alignment(
        judge=version.title,
        model=endpoint.model,
        conclusion=Conclusion.NOT_SHOWN,
        exit_code=Conclusion.NOT_SHOWN.exit_code,
        notes=(),
        labelled={role.value: len(answers.of(role).ids) for role in EvidenceRole},
        left_out=left_out,
        differences=dict(Counter(case.reason for case in cases).most_common()),
        right=int(develop.right.sum()),
    )
    if few := _too_little(version.title, held_out, develop, cases, looks):
        return replace(result, notes=(few,))
    calls = CandidateCalls(spec, endpoint, options, max_output=max_output)
    develop_items = [items[id_] for id_ in develop.ids.tolist() if id_ in items]
    try:
        # Calls on held-out answers: each for the candidate, and some for each judge and order.
        n = len(held_out.ids)
        held_out_calls = n + 2 * len(Asks) * min(n, MOST_ORDERED)
        await calls.show_estimate(candidates, version, cases, develop_items, held_out_calls)
        with shared_rate_limits(store):
            proposals = await asyncio.gather(
                *(calls.propose(number, version, cases) for number in range(1, candidates + 1))
            )
            trials: list[Candidate] = []
            for candidate in proposals:
                reason = check.reason(candidate.prompt) if candidate.prompt else None
                if candidate.prompt in {earlier.prompt for earlier in trials}:
                    reason = "It repeats an earlier candidate."
                if candidate.prompt is None or reason:
                    trials.append(replace(candidate, refused=reason or candidate.refused))
                    continue
                codes = await calls.verdicts(candidate, develop_items, cuts)
                labels = zip(develop.ids.tolist(), develop.bad.tolist(), strict=True)
                right = sum(codes.get(id_) == (BAD if bad else GOOD) for id_, bad in labels)
                trials.append(replace(candidate, right=right))
            result = replace(result, candidates=tuple(trials), cost_micro=calls.cost_micro)
            best = max(
                (candidate for candidate in trials if candidate.right is not None),
                key=lambda each: each.right or 0,
                default=None,
            )
            if best is None or (best.right or 0) <= result.right:
                return replace(result, notes=_no_gain(result, best, len(develop.ids)))
            test_items = [items[id_] for id_ in held_out.ids.tolist() if id_ in items]
            result = replace(result, best=best.number)
            return await _looked(
                store, version, calls, best, test_items, held_out, develop, cuts, result, options
            )
    finally:
        await endpoint.aclose()


align = blocking(align_async)


def accept_latest(
    store: Store, which: int | str, candidate: int | str, actor: Actor
) -> StoredVersion:
    """Accept a candidate as `accept_candidate` does, by the latest look that compared judge and candidate.

    Raises NotFound if there is no such look.
    """
    with store.reading() as connection:
        version, new_version = get_version(connection, which), get_version(connection, candidate)
        looks = [
            each.id
            for each in stored_looks(connection, version.id)
            if each.look.candidate_id == new_version.id
        ]
    if not looks:
        raise NotFound(
            f"no look at held-out answers compared {new_version.title} with {version.title}"
        )
    return accept_candidate(store, looks[0], actor)


def accept_candidate(store: Store, look_id: int, actor: Actor) -> StoredVersion:
    """Store the candidate of a look as a new version of the judge. Idempotent.

    Raises NotFound for an unknown look, BadInput if the candidate was not shown to be better.
    """
    with allowed(store, actor, Action.CHOOSE_JUDGE) as connection:
        stored_look = next((each for each in stored_looks(connection) if each.id == look_id), None)
        if stored_look is None:
            raise NotFound(f"no look {look_id} at held-out answers")
        if stored_look.look.conclusion != Conclusion.BETTER:
            raise BadInput("This candidate was not shown to be better, so it cannot be accepted.")
        judge, candidate = (
            get_version(connection, id_)
            for id_ in (stored_look.look.version_id, stored_look.look.candidate_id)
        )
        candidate_fields = (candidate.params, candidate.prompt, candidate.scale)
        accepted = ensure_version(
            connection, JudgeVersion(judge.name, judge.kind, judge.model, *candidate_fields)
        )
        if stored_look.accepted_id is None:
            record_accepted(connection, look_id, accepted.id, actor_name(actor))
    return accepted


@dataclass(frozen=True, slots=True)
class AlignmentPage:
    """The latest look for a judge version, with the prompts before and after, and the answers that changed.

    ``answers`` are the first changed answers that may be seen, by id, with the judge's verdict.
    ``accepted`` is the title of the judge version that the candidate became.
    """

    stored: StoredLook
    looks: int
    before: str
    after: str
    answers: Mapping[int, JudgedText]
    accepted: str | None


def alignment_page(connection: Connection, version_id: int) -> AlignmentPage | None:
    """Return the latest look for a judge version; None if there is none."""
    looks = stored_looks(connection, version_id)
    if not looks:
        return None
    stored_look, look = looks[0], looks[0].look
    accepted = (
        None
        if stored_look.accepted_id is None
        else get_version(connection, stored_look.accepted_id).title
    )
    return AlignmentPage(
        stored_look,
        len(looks),
        get_version(connection, look.version_id).prompt or "",
        get_version(connection, look.candidate_id).prompt or "",
        judged_texts(
            connection, version_id, (*look.mended[:MOST_SHOWN], *look.broken[:MOST_SHOWN])
        ),
        accepted,
    )


def _spec(
    connection: Connection, version: StoredVersion, address: dict[str, object]
) -> dict[str, Any]:
    """Return the judge fields of a version. The fields in ``address`` replace stored ones."""
    if version.kind not in CRITERIA:
        kinds = " or ".join(CRITERIA)
        why = (
            "its verdicts are not good or bad"
            if prompt_of(version.kind) is not None
            else "it has no prompt to change"
        )
        raise BadInput(
            f"{version.title} is of the kind {version.kind}: {why}. Align a judge of the kind {kinds}"
        )
    spec = judge_spec(connection, version)
    if spec is None:
        raise BadInput(
            f"{version.title} cannot be asked again: its prompt has examples, or another release made it"
        )
    return spec | {name: value for name, value in address.items() if value is not None}


def _labelled(connection: Connection, version: StoredVersion) -> tuple[_Labelled, dict[str, int]]:
    """Return the labelled answers with a role, and the number of answers without a role by reason."""
    labels = LabelledAnswers(connection, version)
    answers = labels.answers
    at_anchors = among(
        answers.evidence_groups, np.array(sorted(reserved_groups(connection)), dtype=np.int64)
    )
    at = labels.labelled & ~at_anchors
    left_out = int((labels.labelled & at_anchors).sum())
    groups = answers.evidence_groups[at]
    roles = np.array([evidence_role(group).value for group in groups.tolist()], dtype=np.str_)
    rows = _Labelled(
        answers.response_ids[at], answers.verdicts[at], labels.values[at] == 1, groups, roles
    )
    return rows, {"anchors": left_out} if left_out else {}


def _cases(
    connection: Connection,
    version: StoredVersion,
    develop: _Labelled,
    items: Mapping[int, JudgeInput],
) -> list[Case]:
    """Return the develop answers on which the judge and people differ. Reviews with a reason are preferred."""
    wrong = ~develop.right & (develop.verdicts != UNUSABLE)
    bad = dict(zip(develop.ids[wrong].tolist(), develop.bad[wrong].tolist(), strict=True))
    cases = []
    for batch in batches([id_ for id_ in bad if id_ in items]):
        texts, reviews = (
            judged_texts(connection, version.id, batch),
            person_reviews(connection, batch),
        )
        for id_ in batch:
            by_reason = sorted(
                reviews.get(id_, ()),
                key=lambda review: (review.grade.why_differs is None, not review.grade.note),
            )
            cases.append(
                Case(items[id_], texts[id_], bad[id_], by_reason[0] if by_reason else None)
            )
    return cases


def _looks(connection: Connection, held_out: _Labelled) -> int:
    """Return the number of earlier looks that may have used at least half of the held-out labels."""
    return sum(2 * each.look.held_out >= len(held_out.ids) for each in stored_looks(connection))


def _too_little(
    title: str, held_out: _Labelled, develop: _Labelled, cases: list[Case], looks: int
) -> Note | None:
    groups = len(np.unique(held_out.groups))
    if groups < MIN_GROUPS:
        return note("align_few_labels", judge=title, groups=groups, least=MIN_GROUPS)
    if (develop.verdicts == UNUSABLE).all():
        return note("align_no_verdict", judge=title)
    if not cases:
        return note("align_no_difference", judge=title)
    return note("align_many_looks", looks=looks) if looks >= MOST_LOOKS else None


async def _obedience(
    calls: CandidateCalls,
    candidate: Candidate,
    items: Sequence[JudgeInput],
    clean: Mapping[int, int],
    cuts: Cuts,
) -> Obedience:
    """Return how often a candidate obeys orders in held-out answers; ``clean`` are the verdicts without orders."""
    codes_by_order = [
        await calls.verdicts(candidate, [with_order(item, asks) for item in items], cuts)
        for asks in Asks
    ]
    before, high, low = (
        np.array([_SCORES[codes.get(item.response_id, UNUSABLE)] for item in items])
        for codes in (clean, *codes_by_order)
    )
    rows = ~np.isnan(before + high + low)
    return obedience(before[rows], high[rows], low[rows], np.flatnonzero(rows), (0, 1))


def _no_gain(result: Alignment, best: Candidate | None, n: int) -> tuple[Note, ...]:
    not_looked = note("align_not_looked")
    if best is None:
        return note("align_no_candidate", judge=result.judge), not_looked
    return note("align_no_gain", best=best.right or 0, judge=result.right, answers=n), not_looked


class _LeakCheck:
    """Refuses a prompt that contains a labelled answer, because the label of that answer tests the prompt."""

    def __init__(
        self,
        connection: Connection,
        version: StoredVersion,
        items: Mapping[int, JudgeInput],
        held_out: _Labelled,
    ) -> None:
        columns = select(RESPONSE.c.id, RESPONSE.c.content_hash, RESPONSE.c.evidence_group)
        rows = rows_with(connection, columns, RESPONSE.c.id, list(items))
        self._hashes = {row.id: (row.content_hash, str(row.evidence_group)) for row in rows}
        self._items = items
        self._present = f"{version.prompt}\n{json.dumps(version.params, ensure_ascii=False)}"
        built_in = prompt_of(version.kind)
        leaked_id = self._leaked(
            PromptText(self._present, "" if built_in is None else built_in.text),
            held_out.ids.tolist(),
        )
        if leaked_id is not None:
            raise BadInput(
                f"the prompt of {version.title} contains the held-out answer {leaked_id!r}: remove it first"
            )

    def reason(self, prompt: str) -> str | None:
        """Return why a candidate is refused, or None."""
        leaked_id = self._leaked(PromptText(prompt, self._present), self._items)
        return None if leaked_id is None else note("align_leak", answer=repr(leaked_id)).text

    def _leaked(self, text: PromptText, ids: Iterable[int]) -> str | None:
        items = (self._items[id_] for id_ in ids if id_ in self._items)
        leaks = (
            item for item in items if text.contains(item, *self._hashes.get(item.response_id, ()))
        )
        return next((item.external_id for item in leaks), None)


async def _looked(
    store: Store,
    version: StoredVersion,
    calls: CandidateCalls,
    best: Candidate,
    items: Sequence[JudgeInput],
    held_out: _Labelled,
    develop: _Labelled,
    cuts: Cuts,
    result: Alignment,
    options: RunOptions,
) -> Alignment:
    """Compare the best candidate with the judge on held-out labels, and store the look."""
    codes = await calls.verdicts(best, items, cuts)
    present = dict(zip(held_out.ids.tolist(), held_out.verdicts.tolist(), strict=True))
    current = Candidate(number=0, prompt=version.prompt)
    judge_obedience, candidate_obedience = [
        await _obedience(calls, candidate, items[:MOST_ORDERED], clean, cuts)
        for candidate, clean in ((current, present), (best, codes))
    ]
    candidate = calls.version_of(best)
    ids = held_out.ids.tolist()
    after = np.array([codes.get(id_, UNUSABLE) for id_ in ids], dtype=np.int64)
    with store.writing() as connection:
        candidate_version = ensure_version(connection, candidate)
        looks = _looks(connection, held_out) + 1
        contrast = compare_verdicts(
            (version.title, candidate_version.title),
            (held_out.verdicts, after),
            labelled=np.ones(len(ids), dtype=np.bool_),
            bad=held_out.bad,
            groups=held_out.groups,
            within=0.0,
            looks=looks,
        )
        right = after == np.where(held_out.bad, BAD, GOOD)
        flips = (held_out.verdicts != UNUSABLE) & (after != UNUSABLE) & (right != held_out.right)
        mended, broken = (tuple(held_out.ids[flips & rows].tolist()) for rows in (right, ~right))
        conclusion = contrast.conclusion
        notes = [contrast.headline]
        if (
            conclusion is Conclusion.BETTER
            and contrast.has("change", UNUSABLE_WRONG)
            and not (contrast.figure("change", UNUSABLE_WRONG).low or 0) > 0
        ):
            conclusion = Conclusion.NOT_SHOWN
            notes.append(note("not_shown_as_wrong"))
        if candidate_obedience.rows.size:
            notes.append(
                note(
                    "align_obeys", judge=judge_obedience.share, candidate=candidate_obedience.share
                )
            )
        difference = (candidate_obedience.net.value or 0) - (judge_obedience.net.value or 0)
        if (
            conclusion is Conclusion.BETTER
            and candidate_obedience.warns
            and difference >= MOST_OBEYED
        ):
            conclusion = Conclusion.NOT_SHOWN
            notes.append(note("align_obeys_more"))
        if looks > 1:
            notes.append(note("looks", looks=looks))
        look = Look(
            version_id=version.id,
            candidate_id=candidate_version.id,
            model=result.model,
            number=looks,
            conclusion=conclusion.value,
            sentence=paragraph(notes),
            held_out=len(ids),
            mended=mended,
            broken=broken,
            shown=tuple(develop.ids.tolist()),
        )
        look_id = record_look(connection, look, options.get("actor", "library"))
    return replace(
        result,
        conclusion=conclusion,
        exit_code=conclusion.exit_code,
        notes=tuple(notes),
        look=look_id,
        looks=looks,
        held_out=contrast,
        mended=mended,
        broken=broken,
        cost_micro=calls.cost_micro,
    )
