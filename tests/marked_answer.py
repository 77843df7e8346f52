"""An answer with a marker of its own in everything that anybody said of it, in every table that says something."""

import re
from dataclasses import dataclass, fields, is_dataclass
from datetime import UTC, datetime

from sqlalchemy import Integer, String, insert, select

from judgeboard.domain import (
    Claim,
    ClaimStatus,
    DimensionScore,
    JudgeVersion,
    Label,
    Response,
    ResponseKind,
    Status,
    Verdict,
)
from judgeboard.store.judge_versions import ensure_version
from judgeboard.store.judgments import NewJudgment
from judgeboard.store.storing import store_judgments, store_responses
from judgeboard.store.tables import METADATA

SCORE, SEVERITY, SECOND = 0.4319, 0.8713, 0.6127
MARKER = re.compile(rf"mark-[\w-]+|{SCORE}|{SEVERITY}|{SECOND}")
NOW = datetime(2026, 3, 1, 9, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class MarkedAnswer:
    """Where it stands: the answer, its flags, the pair that it is a side of, what was made from it, a run on it.

    ``plain_id`` is an answer of which as much is said, without a marker.
    """

    response_id: int
    flag_id: int
    pair_id: int
    attempt_id: int
    run_id: int
    versions: dict[str, int]
    plain_id: int


def mark_answer(store, by, marked_source="log"):
    """Store two answers, one of them with markers (``mark-...``); ``by`` is the person who spoke of them.

    The source of the plain one is ``log``.
    """
    with store.writing() as connection:
        plain, marked = store_responses(
            connection,
            [
                Response(
                    source,
                    name,
                    f"question of {name}?",
                    f"answer of {name}",
                    (f"passage of {name}",),
                    "QA",
                    generator_model=generator,
                    generator_cost=cost,
                    metadata=extra,
                    asked_at=NOW,
                )
                for source, name, generator, cost, extra in (
                    ("log", "plain", "plain-model", 0.52, {}),
                    (
                        *(marked_source, "marked", "mark-generator", SECOND),
                        {"written_by": "mark-extra"},
                    ),
                )
            ],
        ).new
        versions = {}
        for kind, name in (
            ("rag", "rag"),
            ("nli", "nli"),
            ("rubric", "house"),
            ("supreme", "high"),
            ("pairwise", "two"),
        ):
            versions[name] = ensure_version(connection, JudgeVersion(name, kind)).id
        for response_id, prefix, source in (
            (plain, "plain", "log"),
            (marked, "mark", marked_source),
        ):
            run = insert_row(
                connection,
                "run",
                "plain",
                kind="refine",
                judge_version_id=versions["nli"],
                state="done",
                selected=1,
            )
            _verdicts(connection, response_id, prefix, run)
            rows = _said(connection, response_id, versions, by, run, prefix, source)
    return MarkedAnswer(marked, **rows, versions=versions, plain_id=plain)


def _verdicts(connection, response_id, prefix, run):
    claim = Claim(
        f"{prefix}-claim", ClaimStatus.CONTRADICTED, f"{prefix}-quote", 1, f"{prefix}-passage-quote"
    )
    account = {"raw": f"{prefix}-raw", "model_reported": f"{prefix}-reported", "cost_micro": 5}
    first = Verdict(
        Status.OK,
        groundedness=SCORE if prefix == "mark" else 0.31,
        quality=2,
        label=Label.HALLUCINATED,
        reasoning=f"{prefix}-reasoning",
        claims=(claim,),
        **account,
    )
    second = Verdict(
        Status.OK, groundedness=SECOND if prefix == "mark" else 0.52, reasoning=f"{prefix}-second"
    )
    dimension = DimensionScore(f"{prefix}-dimension", 3, "1-5", f"{prefix}-rubric-reasoning")
    scored = Verdict(Status.OK, scores=(dimension,), raw=f"{prefix}-rubric-raw")
    failed = Verdict(Status.ERROR, error=f"{prefix}-error")
    for name, kind, verdict in (
        ("rag", "rag", first),
        ("nli", "nli", second),
        ("house", "rubric", scored),
        ("nli", "nli", failed),
    ):
        version = ensure_version(connection, JudgeVersion(name, kind))
        again = verdict is failed
        stored = NewJudgment(response_id, int(again), 0, verdict)
        store_judgments(connection, version, run if again else None, [stored], NOW)


def _said(connection, response_id, versions, by, run, prefix, source):
    judgment = _one(
        connection, "judgment", response_id=response_id, judge_version_id=versions["rag"]
    )
    flag = insert_row(
        connection,
        "flag",
        prefix,
        response_id=response_id,
        query_type="QA",
        source=source,
        judge_name="rag",
        groundedness=SCORE if prefix == "mark" else 0.31,
        severity=SEVERITY if prefix == "mark" else 0.61,
        judgment_id=judgment,
        details={"why": f"{prefix}-flag-details"},
        params={"at": f"{prefix}-flag-params"},
        state="open",
    )
    review = insert_row(
        connection,
        "review",
        prefix,
        response_id=response_id,
        judgment_seen_id=judgment,
        reviewer_id=by.id,
        stage=None,
        decision=None,
        label="grounded",
        groundedness=0.2,
        quality=3,
        spans=[{"start": 0, "end": 3, "text": f"{prefix}-span"}],
        claim_marks=[{"text": f"{prefix}-claim-mark", "status": "supported"}],
        why_differs=None,
        shown=None,
        seen=["judge"],
    )
    insert_row(connection, "review_score", prefix, review_id=review, value=3, scale="1-5")
    connection.execute(
        insert(METADATA.tables["review_flag"]).values(review_id=review, flag_id=flag)
    )
    insert_row(
        connection, "comment", prefix, response_id=response_id, pair_id=None, reviewer_id=by.id
    )
    insert_row(
        connection,
        "event",
        prefix,
        response_id=response_id,
        details={"note": f"{prefix}-event-details"},
        kind="decide",
    )
    insert_row(
        connection,
        "judgment_review",
        prefix,
        judgment_id=judgment,
        judge_version_id=versions["high"],
        correct=False,
    )
    score = {
        "groundedness": SCORE if prefix == "mark" else 0.31,
        "label": "grounded",
        "run_id": run,
    }
    insert_row(
        connection,
        "anchor_judgment",
        prefix,
        response_id=response_id,
        judge_version_id=versions["rag"],
        **score,
    )
    attempt = _attempt(connection, response_id, versions["rag"], run, judgment, prefix, source)
    pair = _pair(connection, response_id, versions["two"], by, prefix)
    return {"flag_id": flag, "pair_id": pair, "attempt_id": attempt, "run_id": run}


def _attempt(connection, response_id, version_id, run_id, judgment, prefix, source):
    """An answer made from it, judged too."""
    made = Response(
        source,
        f"{prefix}-attempt-id",
        "question?",
        f"{prefix}-attempt",
        ("p",),
        "QA",
        kind=ResponseKind.REGENERATED,
        derived_from=response_id,
        generator_model=f"{prefix}-attempt-generator",
    )
    (attempt,) = store_responses(connection, [made]).new
    rag = ensure_version(connection, JudgeVersion("rag", "rag"))
    assert rag.id == version_id
    verdict = Verdict(Status.OK, groundedness=0.9, reasoning=f"{prefix}-attempt-reasoning")
    store_judgments(connection, rag, None, [NewJudgment(attempt, 0, 0, verdict)], NOW)
    judged = _one(connection, "judgment", response_id=attempt, judge_version_id=version_id)
    insert_row(
        connection, "generation", prefix, run_id=run_id, subject="s", number=1, response_id=attempt
    )
    for number, of, by in ((0, response_id, judgment), (1, attempt, judged)):
        insert_row(
            connection,
            "refinement",
            prefix,
            run_id=run_id,
            method="refine",
            subject="s",
            number=number,
            root_response_id=response_id,
            response_id=of,
            judgment_id=by,
            judgment_before_id=judgment,
            rating=2,
        )
    return attempt


def _pair(connection, response_id, version_id, by, prefix):
    """A pair of which it is a side, compared by a judge and by a person."""
    other = Response(
        "other",
        f"other of {prefix}",
        "question?",
        "the other",
        ("p",),
        "QA",
        kind=ResponseKind.PAIR_SIDE,
    )
    (side,) = store_responses(connection, [other]).new
    pair = insert_row(
        connection,
        "pair",
        prefix,
        query_type="QA",
        response_a_id=response_id,
        response_b_id=side,
        gold="a",
        options=None,
    )
    for shown in ("ab", "ba"):
        comparison = insert_row(
            connection,
            "comparison",
            prefix,
            pair_id=pair,
            judge_version_id=version_id,
            shown=shown,
            condition="plain",
        )
        insert_row(
            connection,
            "comparison_score",
            prefix,
            comparison_id=comparison,
            aspect="overall",
            preference="a",
        )
    insert_row(connection, "sample", prefix, pair_id=pair, judge_version_id=version_id, number=0)
    review = insert_row(
        connection,
        "review",
        prefix,
        pair_id=pair,
        reviewer_id=by.id,
        shown="ab",
        **dict.fromkeys(("stage", "seen", "decision", "label", "why_differs")),
    )
    insert_row(
        connection,
        "preference_score",
        prefix,
        review_id=review,
        aspect="overall",
        preference="b",
        scale=None,
    )
    details = {"review": review, "pair": pair, "said": f"{prefix}-pair-event"}
    insert_row(connection, "event", prefix, kind="prefer", details=details)
    return pair


def insert_row(connection, table_name, prefix, **columns):
    """Insert a row: other texts get a marker, other columns a value where they need one."""
    table = METADATA.tables[table_name]
    row = dict(columns)
    for column in table.c:
        if (
            column.name in row
            or column.primary_key
            or column.default is not None
            or column.foreign_keys
        ):
            continue
        if column.name == "status":
            row[column.name] = Status.OK.value
        elif isinstance(getattr(column.type, "impl", column.type), String):
            row[column.name] = f"{prefix}-{table_name}-{column.name}"
        elif column.name.endswith(("_at", "at")) and not column.nullable:
            row[column.name] = NOW
        elif isinstance(column.type, Integer) and not column.nullable:
            row[column.name] = 1
    row |= {"request_key": f"{prefix}-{table_name}-{columns}"} if "request_key" in table.c else {}
    key = next(iter(table.primary_key))
    return connection.execute(insert(table).returning(key), row).scalar_one()


def _one(connection, name, **by):
    table = METADATA.tables[name]
    query = select(table.c.id).where(*(table.c[key] == value for key, value in by.items())).limit(1)
    return int(connection.execute(query.order_by(table.c.id)).scalar_one())


def found_in(content):
    return set(MARKER.findall("\n".join(words(content))))


def words(content):
    """All that stands in a result: fields of its own classes too, whether or not they are in its repr."""
    if isinstance(content, dict):
        for name, value in content.items():
            yield from (*words(name), *words(value))
    elif is_dataclass(content) and not isinstance(content, type):
        for field in fields(content):
            yield from words(getattr(content, field.name))
    elif isinstance(content, list | tuple | set | frozenset):
        for value in content:
            yield from words(value)
    elif hasattr(content, "__dict__") and type(content).__module__.startswith("judgeboard"):
        yield from words(vars(content))
    else:
        yield repr(content)
