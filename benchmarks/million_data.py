"""Fills the tables with a large plausible log: responses, judgments, feedback, flags, reviews."""

import itertools
import json
import random
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy import Connection, text

from judgeboard.store.engine import Store

NOW = datetime(2026, 11, 2, 12, tzinfo=UTC)
TODAY = (NOW - datetime(1970, 1, 1, tzinfo=UTC)).days
DAYS = 140
CHUNK = 20_000
RARE, MIDDLE, COMMON = "zyzzogeton", "quartzite", "anchor"
RULES = (
    "low_groundedness",
    "low_quality",
    "feedback_gap",
    "judge_failed",
    "judges_disagree",
    "random_sample",
)
REVIEWERS = ("Mara", "Jon", "Ada", "Li", "Noor")
UNSURE_BY = 2  # the reviewer with the most flags marked unsure

Rows = Iterable[tuple[Any, ...]]


def make(store: Store, rows: int, say: Callable[[str], None]) -> None:
    """Fill an empty database with ``rows`` responses, a fifth as many flags and a twentieth as many reviews."""
    with store.writing() as connection:
        _set_up(connection)
        trigger = _lift_search_trigger(connection) if store.is_sqlite else None
        for name, columns, made in (
            ("response", RESPONSE, _responses(rows, sqlite=store.is_sqlite)),
            ("user_feedback", FEEDBACK, _feedback(rows, sqlite=store.is_sqlite)),
            ("judgment", JUDGMENT, _judgments(rows, sqlite=store.is_sqlite)),
            ("current_judgment", CURRENT, _currents(rows)),
            ("flag", FLAG, _flags(rows, sqlite=store.is_sqlite)),
            ("review", REVIEW, _reviews(rows, sqlite=store.is_sqlite)),
            ("review_flag", "review_id, flag_id", _review_flags(rows)),
        ):
            say(f"making {name}")
            _fill(connection, name, columns, made)
        if trigger is not None:
            say("indexing texts")
            _index_texts(connection, trigger)
        else:
            for table in ("response", "user_feedback", "judgment", "flag", "review"):
                connection.execute(
                    text(
                        f"SELECT setval(pg_get_serial_sequence('{table}', 'id'), max(id)) FROM {table}"
                    )
                )
    if not store.is_sqlite:
        with store.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
            connection.execute(text("VACUUM ANALYZE"))


def _lift_search_trigger(connection: Connection) -> str:
    """Take the trigger of the text index away and return it: indexing all rows at the end is much faster."""
    name = "search_response_insert"
    statement = connection.exec_driver_sql(
        f"SELECT sql FROM sqlite_master WHERE name = '{name}'"
    ).scalar_one()
    connection.exec_driver_sql(f"DROP TRIGGER {name}")
    return str(statement)


def _index_texts(connection: Connection, trigger: str) -> None:
    """Index every text in large pieces, then lay the trigger again."""
    setting = "INSERT INTO response_search(response_search, rank) VALUES ('hashsize', ?)"
    connection.exec_driver_sql(setting, (64 << 20,))
    connection.exec_driver_sql("INSERT INTO response_search(response_search) VALUES ('rebuild')")
    connection.exec_driver_sql(setting, (1 << 20,))
    connection.exec_driver_sql(trigger)


def _set_up(connection: Connection) -> None:
    at = NOW.replace(tzinfo=None) if connection.dialect.name == "sqlite" else NOW
    for number, (name, version) in enumerate((("rag", 1), ("rag", 2), ("nli", 1)), 1):
        connection.execute(
            text(
                "INSERT INTO judge_version(id, name, kind, number, params, scale, fingerprint, created_at) "
                "VALUES (:id, :name, :name, :number, '{}', 'groundedness 0-1, quality 1-4', :print, :at)"
            ),
            {"id": number, "name": name, "number": version, "print": f"{number:064x}", "at": at},
        )
        connection.execute(
            text(
                "INSERT INTO run(id, kind, judge_version_id, filter, actor, selected, started_at, finished_at, state) "
                "VALUES (:id, 'judge', :id, '{}', 'benchmark', 0, :at, :at, 'done')"
            ),
            {"id": number, "at": at},
        )
    for number, name in enumerate(REVIEWERS, 1):
        connection.execute(
            text(
                "INSERT INTO reviewer(id, origin, name, role, created_at) VALUES (:id, 'page', :name, 'reviewer', :at)"
            ),
            {"id": number, "name": name, "at": at},
        )


def _fill(connection: Connection, table: str, columns: str, rows: Rows) -> None:
    if connection.dialect.name == "sqlite":
        marks = ", ".join("?" for _ in columns.split(","))
        statement = f"INSERT INTO {table}({columns}) VALUES ({marks})"
        waiting = iter(rows)
        while chunk := list(itertools.islice(waiting, CHUNK)):
            connection.exec_driver_sql(statement, chunk)
        return
    cursor = connection.connection.cursor()
    with cursor.copy(f"COPY {table}({columns}) FROM STDIN") as copy:
        for row in rows:
            copy.write_row(row)


def _moment(day: int, second: int, *, sqlite: bool) -> Any:
    """A time as the driver wants it: SQLAlchemy's text on SQLite, aware elsewhere."""
    moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(days=day, seconds=second % 86_400)
    return moment.strftime("%Y-%m-%d %H:%M:%S.%f") if sqlite else moment


def _asked_day(number: int, rows: int) -> int | None:
    """Answers come in by time; one in a hundred does not say when."""
    return None if number % 100 == 17 else TODAY - DAYS + (number * DAYS) // rows


def _mixed(number: int, salt: int) -> int:
    """A number without a pattern, the same for a response wherever it is asked for."""
    value = (number * 0x9E3779B1 + salt * 0x85EBCA6B) & 0xFFFFFFFF
    value = ((value ^ value >> 15) * 0x2C1B3C6D) & 0xFFFFFFFF
    return value ^ value >> 12


def _query_type(number: int) -> str:
    place = _mixed(number, 1) % 1000
    return next(
        name
        for name, up_to in (
            ("simple", 500),
            ("complex", 750),
            ("sql", 950),
            ("table", 990),
            ("legal", 1000),
        )
        if place < up_to
    )


def _source(number: int) -> str:
    place = _mixed(number, 2) % 100
    return "web" if place < 80 else "app" if place < 99 else "pilot"


def _group(number: int) -> int:
    """One answer in four stands on the same evidence as the one before."""
    return number * 3 // 4


def _user_quality(number: int) -> float | None:
    place = _mixed(number, 3) % 100
    return 1.0 if place < 8 else 4.0 if place < 27 else 2.5 if place < 30 else None


def _score(number: int) -> tuple[float, int] | None:
    """Groundedness and quality of the primary judge; one in two hundred has no usable verdict."""
    if number % 200 == 33:
        return None
    groundedness = round((_mixed(number, 4) % 1009 / 1009) ** 0.35, 2)
    return groundedness, min(4, max(1, 1 + int(groundedness * 3.4) - (number % 13 == 0)))


RESPONSE = (
    "id, kind, source, external_id, query_type, query, passages, answer, generator_model, asked_at, asked_day, extra, "
    "content_hash, evidence_group, imported_at"
)


def _responses(rows: int, *, sqlite: bool) -> Iterator[tuple[Any, ...]]:
    draw = random.Random(7)
    letters = "bcdfghklmnprstvz"
    words = [
        "".join(draw.choice(letters) + draw.choice("aeiou") for _ in range(draw.randint(1, 4)))
        + draw.choice("nrst ")
        for _ in range(6_000)
    ]
    words[:12] = [
        "the",
        "of",
        "and",
        "rope",
        COMMON,
        "is",
        "to",
        "a",
        "belay",
        "in",
        "route",
        "pitch",
    ]
    weights = list(itertools.accumulate(1 / (rank + 6) for rank in range(len(words))))
    sentences = [
        " ".join(
            word.strip() for word in draw.choices(words, cum_weights=weights, k=draw.randint(8, 15))
        ).capitalize()
        + "."
        for _ in range(30_000)
    ]
    imported = _moment(TODAY, 0, sqlite=sqlite)
    for number in range(1, rows + 1):
        day = _asked_day(number, rows)
        said = draw.choices(sentences, k=12)
        answer = " ".join(said[:5])
        if number % (rows // 7 or 1) == 5:
            answer += f" See {RARE}."
        if number % 100 == 9:
            answer += f" {MIDDLE.capitalize()} holds well."
        passages = [" ".join(said[5:9]), " ".join(said[9:]), said[0]][: 2 + number % 2]
        yield (
            number,
            "log",
            _source(number),
            f"log-{number:07d}",
            _query_type(number),
            said[11].rstrip(".") + "?",
            json.dumps(passages),
            answer,
            ("llama-3.1-8b", "mistral-7b", "gpt-4o-mini")[number % 3],
            None if day is None else _moment(day, number * 37, sqlite=sqlite),
            day,
            "{}",
            f"{number:064x}",
            _group(number),
            imported,
        )


FEEDBACK = "id, response_id, kind, value, imported_at"


def _feedback(rows: int, *, sqlite: bool) -> Iterator[tuple[Any, ...]]:
    stored = _moment(TODAY, 0, sqlite=sqlite)
    counted = itertools.count(1)
    for number in range(1, rows + 1):
        given = _user_quality(number)
        if given is not None:
            kind, value = ("stars", 3.0) if given == 2.5 else ("thumbs", 1.0 if given == 4 else 0.0)
            yield (next(counted), number, kind, value, stored)


JUDGMENT = (
    "id, response_id, judge_version_id, run_id, ask, repeat, status, groundedness, quality, reasoning, raw, "
    "prompt_tokens, completion_tokens, cost_micro, latency_ms, error, created_at"
)


def _version(number: int, rows: int) -> int:
    return 1 if number * 2 <= rows else 2


def _judgments(rows: int, *, sqlite: bool) -> Iterator[tuple[Any, ...]]:
    """Judgment ``n`` is the primary judge's of response ``n``; those of the second judge follow."""
    reasoning = (
        "Most statements are found in the passages; the figures in the second sentence are not. "
        * 2
    )
    for number in range(1, rows + 1):
        scored = _score(number)
        status: tuple[Any, ...] = ("unparsable", None, None) if scored is None else ("ok", *scored)
        said, error = (None, "groundedness 85 is above 1") if scored is None else (reasoning, None)
        version = _version(number, rows)
        at = _moment(TODAY - DAYS + (number * DAYS) // rows, number, sqlite=sqlite)
        raw = f'{{"groundedness": {status[1]}, "quality": {status[2]}}}'
        yield (
            number,
            number,
            version,
            version,
            0,
            0,
            *status,
            said,
            raw,
            1400,
            90,
            220,
            800,
            error,
            at,
        )
    for place, number in enumerate(range(10, rows + 1, 10), rows + 1):
        groundedness = round((_mixed(number, 5) % 997 / 997) ** 0.3, 2)
        at = _moment(TODAY, number, sqlite=sqlite)
        yield (
            place,
            number,
            3,
            3,
            0,
            0,
            "ok",
            groundedness,
            None,
            None,
            "",
            None,
            None,
            None,
            12,
            None,
            at,
        )


CURRENT = (
    "judge_version_id, response_id, judgment_id, judge_kind, judge_name, is_current, response_kind, query_type, "
    "source, asked_day, evidence_group, groundedness, quality, user_quality"
)


def _currents(rows: int) -> Iterator[tuple[Any, ...]]:
    for number in range(1, rows + 1):
        scored = _score(number)
        if scored is not None:
            copied = (
                "log",
                _query_type(number),
                _source(number),
                _asked_day(number, rows),
                _group(number),
            )
            version = _version(number, rows)
            yield (
                version,
                number,
                number,
                "rag",
                "rag",
                True,
                *copied,
                *scored,
                _user_quality(number),
            )
    for place, number in enumerate(range(10, rows + 1, 10), rows + 1):
        copied = (
            "log",
            _query_type(number),
            _source(number),
            _asked_day(number, rows),
            _group(number),
        )
        groundedness = round((_mixed(number, 5) % 997 / 997) ** 0.3, 2)
        yield (
            3,
            number,
            place,
            "nli",
            "nli",
            True,
            *copied,
            groundedness,
            None,
            _user_quality(number),
        )


FLAG = (
    "id, response_id, query_type, source, asked_day, judge_name, groundedness, quality, judgment_id, rule, raise_key, "
    "params, details, severity, inclusion_probability, state, leads, created_at"
)


def _flag_state(number: int, flags: int) -> str:
    """The first eighth is decided, a few are superseded, the others wait."""
    if number * 8 <= flags:
        return "confirmed" if number % 5 < 3 else "dismissed"
    return "superseded" if number % 40 == 0 else "open"


def _flagged(flag: int) -> int:
    """The response of a flag: one in five has one."""
    return flag * 5 - flag * 7 % 5


def _details(groundedness: float | None, quality: int | None) -> dict[str, Any]:
    """What any of the rules names in its sentence."""
    pair = {
        "judges": ["rag v2", "nli v1"],
        "measure": "groundedness",
        "values": [groundedness or 0, 1],
        "delta": 0.5,
    }
    return {
        "judge": "rag v2",
        "groundedness": groundedness or 0,
        "quality": quality or 1,
        "feedback": "thumbs",
        "value": 0,
        "user_quality": 1,
        "gap": 3,
        "status": "unparsable",
        "cause": "unparsable",
        "pairs": [pair],
    }


def _flags(rows: int, *, sqlite: bool) -> Iterator[tuple[Any, ...]]:
    draw = random.Random(11)
    flags = rows // 5
    for number in range(1, flags + 1):
        response = _flagged(number)
        rule = draw.choices(RULES, (38, 22, 9, 3, 18, 10))[0]
        scored = _score(response)
        groundedness, quality = scored or (None, None)
        severity = {"judge_failed": 0.5, "random_sample": 0.0}.get(rule)
        yield (
            number,
            response,
            _query_type(response),
            _source(response),
            _asked_day(response, rows),
            "nli" if rule == "judges_disagree" and number % 4 == 0 else "rag",
            groundedness,
            quality,
            response,
            rule,
            f"{rule}:{_version(response, rows)}",
            json.dumps({"threshold": 2 if rule == "low_quality" else 0.5, "share": 0.02}),
            json.dumps(_details(groundedness, quality)),
            round(draw.random(), 3) if severity is None else severity,
            0.02 if rule == "random_sample" else 1.0,
            _flag_state(number, flags),
            True,
            _moment(TODAY - DAYS + (number * DAYS) // flags, number, sqlite=sqlite),
        )


def _review_flags(rows: int) -> Iterator[tuple[int, int]]:
    """The flag of each review of `_reviews` that decides one or is unsure."""
    flags, reviews = rows // 5, rows // 20
    for number in range(1, reviews + 1):
        if number <= flags // 8:
            yield number, number
        elif number % 17 == 0:
            yield number, flags - number


REVIEW = (
    "id, response_id, label_implied, judgment_seen_id, reviewer_id, decision, groundedness, quality, label, note, "
    "seconds, replaces, request_key, at"
)


def _reviews(rows: int, *, sqlite: bool) -> Iterator[tuple[Any, ...]]:
    """One per decided flag, some flags marked unsure, the rest grades; one in twenty replaces the one before it."""
    draw = random.Random(13)
    flags, reviews = rows // 5, rows // 20
    decided = flags // 8
    for number in range(1, reviews + 1):
        reviewer, decision, replaces = 1 + draw.randrange(5), None, None
        response = 1 + draw.randrange(rows)
        if number <= decided:
            response, decision = _flagged(number), "confirm" if number % 5 < 3 else "dismiss"
        elif number % 17 == 0:
            response, decision, reviewer = _flagged(flags - number), "unsure", UNSURE_BY
        elif number % 20 == 1:
            replaces = number - 1 if (number - 1) % 17 else None
        groundedness = draw.choice((0.0, 0.2, 0.5, 0.8, 1.0))
        yield (
            number,
            response,
            False,
            response,
            reviewer,
            decision,
            groundedness,
            draw.randint(1, 4),
            "grounded" if groundedness >= 0.5 else "hallucinated",
            "The second figure is not in the passages." if number % 3 == 0 else None,
            draw.uniform(8, 60),
            replaces,
            f"made-{number}",
            _moment(TODAY - 60 + number * 60 // reviews, number * 11, sqlite=sqlite),
        )
