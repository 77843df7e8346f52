"""Finds the faults of the project file that otherwise only the command that reads a table would notice."""

from collections.abc import Iterator, Mapping

from sqlalchemy import Connection

from judgeboard.alerts.rules import checked_rule, fault_in_project
from judgeboard.errors import BadInput
from judgeboard.flags.rules import RULES
from judgeboard.llm.endpoint import PROVIDERS
from judgeboard.registry.judge_kinds import JUDGES
from judgeboard.reviews.queues import check_flag_rules
from judgeboard.settings.model import Settings
from judgeboard.store.filters import parse_where
from judgeboard.store.settings import check_primary_judge

_CHOICES: Mapping[tuple[str, str], Mapping[str, object]] = {
    ("judges", "kind"): JUDGES,
    ("judges", "provider"): PROVIDERS,
    ("judging_rules", "provider"): PROVIDERS,
}


def settings_faults(settings: Settings, connection: Connection | None) -> Iterator[BadInput]:
    """Yield an error with its place for each setting below that names something unknown.

    These settings are the primary judge, the kind and the provider of a judge, the preset of a
    queue, the provider of a judging rule, the filters of queues and judging rules, the options of a
    flag rule, and all fields of an alert. Without a database, a rule or a judge that exists only
    there is unknown.
    """
    try:
        check_primary_judge(connection)
    except BadInput as error:
        yield error
    for (section, field), choices in _CHOICES.items():
        for name, table in getattr(settings, section).items():
            value = getattr(table, field)
            if value is not None and value not in choices:
                yield settings.fail(
                    f"{value!r} is unknown; known: {', '.join(choices)}", section, name, field
                )
    for section in ("queues", "judging_rules"):
        for name, table in getattr(settings, section).items():
            try:
                check_flag_rules(connection, parse_where(table.where))
            except BadInput as error:
                yield settings.fail(str(error), section, name, "where")
    for name in settings.flag_rules:
        model = RULES[name].options if name in RULES else None
        if model is None:
            names = (
                ", ".join(rule.name for rule in RULES.values() if rule.options is not None)
                or "none"
            )
            yield settings.fail(f"has no options; known: {names}", "flag_rules", name)
            continue
        try:
            settings.options_of(name, model)
        except BadInput as error:
            yield error
    for name, alert in settings.alerts.items():
        try:
            checked_rule(name, alert)
        except BadInput as error:
            yield fault_in_project(settings.fail, str(error), "alerts", name)
