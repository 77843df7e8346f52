"""Thresholds and the primary judge: stored values, and the values in force."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, NamedTuple

from sqlalchemy import Connection, exists, func, insert, select

from judgeboard.domain import AUDIT, REPEATS, ResponseKind
from judgeboard.errors import BadInput
from judgeboard.flags.rule import THRESHOLDS, Thresholds
from judgeboard.flags.rules import RULES
from judgeboard.settings import load_settings, variable_of
from judgeboard.store.clock import utc_now
from judgeboard.store.events import record_event
from judgeboard.store.judge_versions import list_versions, retired_versions
from judgeboard.store.listing import occurring_values
from judgeboard.store.row_filter import with_hidden_rows
from judgeboard.store.statements import LOGGED, any_row
from judgeboard.store.tables import JUDGMENT, RESPONSE, SETTING, VERSION
from judgeboard.text import file_text, some_of, unstorable

PRIMARY_JUDGE = "primary_judge"
LONGEST_SEED = 200  # characters
LONGEST_CHECKS = 50_000
KEYS: tuple[str, ...] = (*THRESHOLDS, PRIMARY_JUDGE)

# Built once, because storing a batch always reads the settings.
_LATEST = select(SETTING).where(
    SETTING.c.id.in_(select(func.max(SETTING.c.id)).where(SETTING.c.key.in_(KEYS)).group_by(SETTING.c.key))
)
# Kinds of judges without groundedness, quality or label: rules about low scores could not use them.
_NEVER_FIRST = ("rubric", "rating", AUDIT, REPEATS)
# The first judge of a logged answer. A judge of other answers, such as a suite's, does not count.
_FIRST_JUDGE = select(VERSION.c.name).where(
    VERSION.c.id
    == select(JUDGMENT.c.judge_version_id)
    .where(
        exists().where(RESPONSE.c.id == JUDGMENT.c.response_id, RESPONSE.c.kind == ResponseKind.LOG.value),
        JUDGMENT.c.judge_version_id.not_in(select(VERSION.c.id).where(VERSION.c.kind.in_(_NEVER_FIRST))),
    )
    .order_by(JUDGMENT.c.id)
    .limit(1)
    .scalar_subquery()
)


@dataclass(frozen=True, slots=True)
class SettingLine:
    """A setting in force: ``origin`` is env, stored or default. A stored setting also has ``by`` and ``at``."""

    key: str
    value: Any
    origin: str
    by: str | None = None
    at: datetime | None = None


class RulesInForce(NamedTuple):
    """The thresholds and the name of the primary judge (None before the first judgment)."""

    thresholds: Thresholds
    primary_judge: str | None


def thresholds(connection: Connection) -> Thresholds:
    """Return each threshold from the environment, otherwise as stored, otherwise its default; or raise BadInput."""
    return _thresholds(_stored_values(connection))


def primary_judge(connection: Connection) -> str | None:
    """Return the primary judge: named by the environment, otherwise as stored, otherwise the first judge of the log."""
    return _primary(connection, _stored_values(connection))


def rules_in_force(connection: Connection) -> RulesInForce:
    """Return thresholds and primary judge in two statements."""
    stored = _stored_values(connection)
    return RulesInForce(_thresholds(stored), _primary(connection, stored))


def set_setting(connection: Connection, key: str, value: Any, by: str, now: datetime | None = None) -> None:
    """Store a setting (None: the default), or raise BadInput. `judgeboard flag` applies it to stored responses."""
    if key not in KEYS:
        raise BadInput(f"no setting {key!r}; known: {', '.join(KEYS)}")
    if value is not None and key == PRIMARY_JUDGE:
        _check_judge(connection, value)
    elif value is not None:
        try:
            value = getattr(replace(Thresholds(), **{key: value}), key)
        except ValueError as error:
            raise BadInput(str(error)) from error
        longest = LONGEST_CHECKS if key == "checks" else LONGEST_SEED
        if isinstance(value, str) and len(value) > longest:
            raise BadInput(f"{key} must have at most {longest:,} characters, not {len(value):,}")
        if isinstance(value, str) and (fault := unstorable(value)):
            raise BadInput(f"{key} contains text that a database cannot store: {fault}")
        if key == "always_review":
            check_query_types(connection, key, value)
        if key == "low_groundedness_by_type":
            check_query_types(connection, key, replace(Thresholds(), **{key: value}).cuts.by_type)
        if key == "implied_labels":
            _check_rules(key, value)
    row = {"key": key, "value": list(value) if isinstance(value, tuple) else value, "by": by}
    connection.execute(insert(SETTING), row | {"at": now or utc_now()})
    record_event(connection, "set_setting", by, details={"key": key, "value": row["value"]}, now=now)


def _check_judge(connection: Connection, name: str) -> None:
    versions = list_versions(connection)
    retired = retired_versions(connection)
    in_use = sorted({version.name for version in versions if version.id not in retired})
    if name not in in_use:
        gone = (
            f"every version of {name} is retired" if name in {each.name for each in versions} else f"no judge {name!r}"
        )
        raise BadInput(f"{gone}; in use: {', '.join(in_use) or 'none, no judge has judged yet'}")


def check_query_types(connection: Connection, setting: str, types: Collection[str]) -> None:
    """Raise BadInput if any of these query types occurs in no logged answer."""
    for each in types:
        if not any_row(connection, LOGGED, RESPONSE.c.query_type == each):
            there_is = some_of(occurring_values(connection, RESPONSE.c.query_type, LOGGED))
            raise BadInput(f"{setting}: no answer has the query type {each!r}; known: {there_is}")


def _check_rules(key: str, names: Collection[str]) -> None:
    known = [rule.name for rule in RULES]
    for each in names:
        if each not in known:
            raise BadInput(f"{key}: there is no rule {each!r}; known: {', '.join(known)}")


def setting_origins(connection: Connection) -> list[SettingLine]:
    """Return every setting in force with its origin."""
    stored = _stored_rows(connection)
    environment = load_settings()
    in_force = rules_in_force(connection)
    lines = []
    for key in KEYS:
        value = in_force.primary_judge if key == PRIMARY_JUDGE else getattr(in_force.thresholds, key)
        row = stored.get(key)
        if getattr(environment, key) is not None:
            lines.append(SettingLine(key, value, "env"))
        elif row is None or row.value is None:
            lines.append(SettingLine(key, value, "default"))
        else:
            lines.append(SettingLine(key, value, "stored", row.by, row.at))
    return lines


def _stored_rows(connection: Connection) -> dict[str, Any]:
    return {row.key: row for row in connection.execute(_LATEST)}


def _stored_values(connection: Connection) -> dict[str, Any]:
    return {key: row.value for key, row in _stored_rows(connection).items() if row.value is not None}


def _thresholds(stored: Mapping[str, Any]) -> Thresholds:
    environment = load_settings()
    in_environment = {key: value for key in THRESHOLDS if (value := getattr(environment, key)) is not None}
    if environment.checks is not None:
        in_environment["checks"] = file_text(environment.checks, most=LONGEST_CHECKS)
    if environment.implied_labels:
        _check_rules(variable_of("implied_labels"), environment.implied_labels)
    try:
        return Thresholds(**{key: stored[key] for key in THRESHOLDS if key in stored} | in_environment)
    except ValueError as error:
        key = str(error).split(maxsplit=1)[0].rstrip(",")
        raise BadInput(f"{variable_of(key)}: {error}") from error


def _primary(connection: Connection, stored: Mapping[str, Any]) -> str | None:
    named = load_settings().primary_judge or stored.get(PRIMARY_JUDGE)
    if named is not None:
        return str(named)
    # The primary judge does not depend on hidden rows.
    return connection.execute(with_hidden_rows(_FIRST_JUDGE)).scalar_one_or_none()
