"""Thresholds and the primary judge: stored values, and the values in force."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

from sqlalchemy import Connection, exists, func, insert, select

from judgeboard.domain import ResponseKind
from judgeboard.errors import BadInput
from judgeboard.flags.rules import RULES
from judgeboard.registry.judge_kinds import JUDGES, KINDS
from judgeboard.settings.model import (
    THRESHOLDS,
    Settings,
    Thresholds,
    checked_thresholds,
    load_settings,
    naming,
)
from judgeboard.store.clock import utc_now
from judgeboard.store.engine import kept_while_reading
from judgeboard.store.events import record_event
from judgeboard.store.judge_versions import list_versions, retired_versions
from judgeboard.store.listing import occurring_values
from judgeboard.store.sql_compiler import with_hidden_rows
from judgeboard.store.statements import LOGGED, any_row, rows_of
from judgeboard.store.tables import JUDGMENT, RESPONSE, SETTING, VERSION, Setting
from judgeboard.text import some_of

PRIMARY_JUDGE = "primary_judge"
_MAPPING = "mapping:"  # and the source
SETTING_KEYS: tuple[str, ...] = (*THRESHOLDS, PRIMARY_JUDGE)

# Built once, because storing a batch always reads the settings.
_IS_LATEST = SETTING.c.id.in_(
    select(func.max(SETTING.c.id)).where(SETTING.c.key.in_(SETTING_KEYS)).group_by(SETTING.c.key)
)
_LATEST = select(SETTING.c.key, SETTING.c.value).where(_IS_LATEST)
_NEVER_FIRST = [name for name, kind in KINDS.items() if not kind.may_be_primary]
# The first judge of a logged answer. A judge of other answers, such as a suite's, does not count.
# The primary judge does not depend on hidden rows.
_FIRST_JUDGE = with_hidden_rows(
    select(VERSION.c.name).where(
        VERSION.c.id
        == select(JUDGMENT.c.judge_version_id)
        .where(
            exists().where(
                RESPONSE.c.id == JUDGMENT.c.response_id, RESPONSE.c.kind == ResponseKind.LOG
            ),
            JUDGMENT.c.judge_version_id.not_in(
                select(VERSION.c.id).where(VERSION.c.kind.in_(_NEVER_FIRST))
            ),
        )
        .order_by(JUDGMENT.c.id)
        .limit(1)
        .scalar_subquery()
    )
)


@dataclass(frozen=True, slots=True)
class SettingLine:
    """A setting in force. ``origin`` is stored, default, a variable, or a line of the project file.

    ``stored`` is the row whose value is in force.
    """

    key: str
    value: Any
    origin: str
    stored: Setting | None = None

    @property
    def is_fixed(self) -> bool:
        """Whether the environment or the project file gives the value. A stored value would not count."""
        return self.origin not in ("stored", "default")


class RulesInForce(NamedTuple):
    """The thresholds and the name of the primary judge (None before the first judgment)."""

    thresholds: Thresholds
    primary_judge: str | None


@kept_while_reading
def settings_in_force(connection: Connection) -> Settings:
    """Return all settings, also from the database. Raises BadInput if a setting is not valid."""
    latest = connection.execute(_LATEST)
    settings = load_settings({key: value for key, value in latest if value is not None})
    if settings.implied_labels and settings.origin("implied_labels") != "stored":
        _check_rules(settings.origin("implied_labels"), settings.implied_labels)
    if settings.checks and settings.origin("checks") != "stored":
        from judgeboard.flags.checks import named_checks  # few databases have checks

        try:
            named_checks(settings.checks)
        except BadInput as error:
            file = settings.origin("checks").partition(", line ")[
                0
            ]  # the lines of the checks are lines of the file
            raise BadInput(str(error).replace("checks", file, 1)) from None
    return settings


def thresholds(connection: Connection) -> Thresholds:
    """Return the thresholds in force. Raises BadInput if a setting is not valid."""
    return settings_in_force(connection).thresholds


def primary_judge(connection: Connection) -> str | None:
    """Return the primary judge: the judge that a setting names, otherwise the first judge of the log."""
    return settings_in_force(connection).primary_judge or _first_judge(connection)


def rules_in_force(connection: Connection) -> RulesInForce:
    """Return thresholds and primary judge in two statements."""
    settings = settings_in_force(connection)
    return RulesInForce(settings.thresholds, settings.primary_judge or _first_judge(connection))


def check_primary_judge(connection: Connection | None, *new: str) -> None:
    """Raise BadInput if the environment or the project file names a primary judge that does not exist.

    The flag rules for low scores would flag nothing. A judge exists if the project file describes
    the judge, if the database has a version, or if ``new`` names the judge. Before the first judge,
    each kind is a name too. ``connection`` is None where there is no database yet.
    """
    settings = load_settings() if connection is None else settings_in_force(connection)
    name = settings.primary_judge
    if name is None or settings.origin(PRIMARY_JUDGE) == "stored":
        return
    judges = [] if connection is None else [version.name for version in list_versions(connection)]
    if name in {*settings.judges, *new, *(judges or JUDGES)}:
        return
    names = ", ".join(dict.fromkeys((*settings.judges, *judges))) or "none"
    raise settings.fail(
        f"names the judge {name!r}, which does not exist, so no answer is flagged for a low score. Judges: {names}. "
        "Correct the name, or describe the judge under [judges]",
        PRIMARY_JUDGE,
    )


def set_setting(
    connection: Connection, key: str, value: Any, by: str, now: datetime | None = None
) -> None:
    """Store a setting (None: the default). Raises BadInput. `judgeboard flags apply` applies it to responses."""
    if key not in SETTING_KEYS:
        raise BadInput(f"no setting {key!r}; known: {', '.join(SETTING_KEYS)}")
    if value is not None and key == PRIMARY_JUDGE:
        versions = list_versions(connection)
        retired_ids = retired_versions(connection)
        in_use = sorted({version.name for version in versions if version.id not in retired_ids})
        if value not in in_use:
            reason = (
                f"every version of {value} is retired"
                if value in {each.name for each in versions}
                else f"no judge {value!r}"
            )
            raise BadInput(
                f"{reason}; in use: {', '.join(in_use) or 'none, no judge has judged yet'}"
            )
    elif value is not None:
        # The thresholds with this value, and defaults for the others. Raises BadInput if the value
        # is not valid.
        thresholds = checked_thresholds({key: value})
        if key == "checks" and value:
            from judgeboard.flags.checks import named_checks  # few databases have checks

            named_checks(thresholds.checks)
        value = getattr(thresholds, key)
        field_naming = naming(Thresholds.model_fields[key])
        if field_naming is not None and field_naming.what == "query type":
            check_query_types(connection, key, field_naming.names(value))
        elif field_naming is not None:
            _check_rules(key, field_naming.names(value))
    value = list(value) if isinstance(value, tuple) else value
    setting = Setting(key=key, value=value, by=by, at=now or utc_now())
    connection.execute(insert(SETTING), setting.new_values())
    record_event(connection, "set_setting", by, details={"key": key, "value": value}, now=now)


def remember_mapping(
    connection: Connection, source: str, mapping: Mapping[str, Any], by: str
) -> None:
    """Store how a person mapped the columns of a source's file, unless this mapping is the stored one."""
    if mapping != remembered_mapping(connection, source):
        row = Setting(key=f"{_MAPPING}{source}", value=dict(mapping), by=by, at=utc_now())
        connection.execute(insert(SETTING), row.new_values())


def remembered_mapping(connection: Connection, source: str) -> dict[str, Any] | None:
    """Return the latest mapping of a source's file, as stored by `remember_mapping`."""
    query = (
        select(SETTING.c.value)
        .where(SETTING.c.key == f"{_MAPPING}{source}")
        .order_by(SETTING.c.id.desc())
    )
    return connection.scalar(query.limit(1))


def check_query_types(connection: Connection, setting: str, types: Collection[str]) -> None:
    """Raise BadInput if any of these query types occurs in no logged answer."""
    for each in types:
        if not any_row(connection, LOGGED, RESPONSE.c.query_type == each):
            there_is = some_of(occurring_values(connection, RESPONSE.c.query_type, LOGGED))
            raise BadInput(f"{setting}: no answer has the query type {each!r}; known: {there_is}")


def _check_rules(key: str, names: Collection[str]) -> None:
    for each in names:
        if each not in RULES:
            raise BadInput(f"{key}: there is no rule {each!r}; known: {', '.join(RULES)}")


def setting_origins(connection: Connection) -> list[SettingLine]:
    """Return every setting in force, with the origin."""
    rows = rows_of(connection, select(Setting).where(_IS_LATEST))
    rows_by_key = {row.key: row for row in rows}
    settings = settings_in_force(connection)
    lines = []
    for key in SETTING_KEYS:
        value, origin = getattr(settings, key), settings.origin(key)
        if key == PRIMARY_JUDGE and value is None:
            value = _first_judge(connection)
        row = rows_by_key[key] if origin == "stored" else None
        lines.append(SettingLine(key, value, origin, row))
    return lines


@kept_while_reading
def _first_judge(connection: Connection) -> str | None:
    return connection.scalar(_FIRST_JUDGE)
