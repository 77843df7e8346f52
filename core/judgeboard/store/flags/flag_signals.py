"""Turns what is said of responses into what the flag rules read, with the primary judge told from the others."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace

from sqlalchemy import Connection, select

from judgeboard.domain import Label, Status
from judgeboard.flags.rule import FailedSignal, JudgeSignal, Signals, SupremeMark, Texts
from judgeboard.judge_kinds import JURY
from judgeboard.store.audits.audit_marks import WrongMark, wrong_marks
from judgeboard.store.judgments.judge_versions import version_title
from judgeboard.store.judgments.signals import Said, ShortJudgment
from judgeboard.store.schema.tables import JUDGMENT, RESPONSE, VERSION

SPLIT = "split"


def read_signals(
    connection: Connection, said: Sequence[Said], primary_judge: str | None, *, with_texts: bool = False
) -> list[Signals]:
    """Return the signals of each response, in their order.

    One statement for what supreme judges say, and one more each where the primary judge failed, where a jury judged,
    and where a rule reads the texts.
    """
    failures = _failures(connection, said, primary_judge)
    wrong = wrong_marks(connection, said) if any(one.by_judge for one in said) else {}
    members = _jury_members(connection, said)
    signals = [_signals(one, primary_judge, failures.get(one.response.id), wrong, members) for one in said]
    if not with_texts:
        return signals
    texts = _texts(connection, [one.response.id for one in said])
    return [replace(each, texts=texts[one.response.id]) for one, each in zip(said, signals, strict=True)]


def _texts(connection: Connection, response_ids: Sequence[int]) -> dict[int, Texts]:
    columns = (RESPONSE.c.id, RESPONSE.c.query, RESPONSE.c.answer, RESPONSE.c.passages)
    rows = connection.execute(select(*columns).where(RESPONSE.c.id.in_(response_ids)))
    return {row.id: Texts(row.query, row.answer, row.passages and tuple(row.passages)) for row in rows}


def _signals(
    said: Said,
    primary_judge: str | None,
    failed: FailedSignal | None,
    wrong: Mapping[int, WrongMark],
    members_of: Mapping[int, frozenset[str]],
) -> Signals:
    primary = _latest(said.by_judge.values(), primary_judge)
    others = sorted((judgment for judgment in said.by_judge.values() if judgment is not primary), key=_by_name)
    in_jury = frozenset(member for jury in _juries(said) for member in members_of.get(jury.version_id, frozenset()))
    signals = {judgment.id: _judge_signal(judgment, in_jury) for judgment in said.by_judge.values()}
    return Signals(
        source=said.response.source,
        external_id=said.response.external_id,
        query_type=said.response.query_type,
        feedback=said.feedback,
        primary=None if primary is None else signals[primary.id],
        failed=failed,
        others=tuple(signals[judgment.id] for judgment in others),
        marks=tuple(
            SupremeMark(signals[judgment.id], mark.supremes, mark.probability)
            for judgment in sorted(said.by_judge.values(), key=_by_name)
            if (mark := wrong.get(judgment.id)) is not None
        ),
    )


def _juries(said: Said) -> list[ShortJudgment]:
    """What juries last said of a response, split ones included."""
    spoken = (*said.by_judge.values(), *said.failed.values())
    return [judgment for judgment in spoken if judgment.kind == JURY]


def _jury_members(connection: Connection, said: Sequence[Said]) -> dict[int, frozenset[str]]:
    """The members' fingerprints of every jury version that judged one of these responses."""
    juries = {judgment.version_id for one in said for judgment in _juries(one)}
    if not juries:
        return {}
    rows = connection.execute(select(VERSION.c.id, VERSION.c.params).where(VERSION.c.id.in_(juries)))
    return {id_: frozenset(params.get("members", ())) for id_, params in rows}


def _failures(connection: Connection, said: Sequence[Said], primary_judge: str | None) -> dict[int, FailedSignal]:
    """The primary judge's latest judgment of each response on which none of its judgments is ok."""
    latest = (
        _latest(one.failed.values(), primary_judge)
        for one in said
        if one.failed and _latest(one.by_judge.values(), primary_judge) is None
    )
    failed = {judgment.id: judgment for judgment in latest if judgment is not None}
    if not failed:
        return {}
    columns = (JUDGMENT.c.id, JUDGMENT.c.attempts, JUDGMENT.c.error)
    rows = connection.execute(select(*columns).where(JUDGMENT.c.id.in_(failed)))
    # A combined verdict is made without a call: its error is one of our own words.
    last_calls = {id_: (attempts or [{"status": error} if error == SPLIT else {}])[-1] for id_, attempts, error in rows}
    return {
        judgment.response_id: FailedSignal(
            judgment_id=judgment.id,
            name=judgment.name,
            title=version_title(judgment.name, judgment.number),
            fingerprint=judgment.fingerprint,
            status=Status(judgment.status),
            cause=last_calls[judgment.id].get("status"),
            tokens=last_calls[judgment.id].get("completion_tokens"),
        )
        for judgment in failed.values()
    }


def _judge_signal(judgment: ShortJudgment, in_jury: Collection[str]) -> JudgeSignal:
    return JudgeSignal(
        judgment_id=judgment.id,
        kind=judgment.kind,
        name=judgment.name,
        title=version_title(judgment.name, judgment.number),
        fingerprint=judgment.fingerprint,
        groundedness=judgment.groundedness,
        quality=judgment.quality,
        label=None if judgment.label is None else Label(judgment.label),
        in_jury=judgment.fingerprint in in_jury,
    )


def _latest(judgments: Iterable[ShortJudgment], name: str | None) -> ShortJudgment | None:
    # Two kinds of judge may go by one name; what was said last counts then too.
    return max((judgment for judgment in judgments if judgment.name == name), key=_by_id, default=None)


def _by_id(judgment: ShortJudgment) -> int:
    return judgment.id


def _by_name(judgment: ShortJudgment) -> tuple[str, str]:
    return judgment.name, judgment.kind
