"""Checks the requirements of judging and serving, and the settings; names the fix of each fault."""

import asyncio
import shlex
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from stat import S_IROTH, filemode
from typing import Any

from sqlalchemy import Connection

from judgeboard.alerts.rules import checked_rule, fault_in_project
from judgeboard.domain import JudgeInput, Status, Verdict
from judgeboard.errors import BadInput, DamagedDatabase, JudgeboardError, MissingDatabase
from judgeboard.flags.rules import RULES
from judgeboard.llm.endpoint import PROVIDERS, choose_provider
from judgeboard.registry.judge_kinds import JUDGES
from judgeboard.registry.masks import mask_kinds
from judgeboard.registry.methods import methods
from judgeboard.registry.plugins import Plugin, Registry
from judgeboard.registry.tools import IMPORTS, TARGETS
from judgeboard.reviews.queues import check_flag_rules
from judgeboard.runs.judging import make_judge
from judgeboard.settings.masking import masked
from judgeboard.settings.model import Settings, load_settings, provider_address, setting_hashes
from judgeboard.store.engine import Readable, Store, damaged
from judgeboard.store.filters import parse_where
from judgeboard.store.integrity import MOST_FAULTS, check_integrity, compare_hashes
from judgeboard.store.jobs import worker_settings
from judgeboard.store.opening import open_store
from judgeboard.store.overview import count_log, count_open_flags
from judgeboard.store.settings import check_primary_judge
from judgeboard.text import counted

_SMALL = JudgeInput(
    0, "What colour is the sky?", "The sky is blue.", ("On a clear day the sky is blue.",)
)

_CHOICES: Mapping[tuple[str, str], Mapping[str, object]] = {
    ("judges", "kind"): JUDGES,
    ("judges", "provider"): PROVIDERS,
    ("judging_rules", "provider"): PROVIDERS,
}


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of one check: ``value`` is what was found, ``fix`` the next step, if there is one."""

    ok: bool
    what: str
    value: str | None = None
    fix: str | None = None


def check_database(database: str | None, see: Callable[[Store], Readable]) -> Iterator[Finding]:
    """Open the database, count the answers and open flags that the user may see, and look for damage."""
    try:
        store = open_store(database)
    except JudgeboardError as error:
        yield Finding(ok=False, what="database", fix=str(error))
        if isinstance(error, MissingDatabase):  # otherwise it may be an error of the settings
            yield from _fault_findings(None)
        return
    with closing(store):
        try:
            with see(store).reading() as connection:
                answers, open_flags = count_log(connection), count_open_flags(connection)
            integrity = check_integrity(store.engine)
            # For a file, an unfinished check is a fault. Most servers have no extension for the
            # check, which is no fault.
            ok = not integrity.faults and (integrity.complete or not store.is_sqlite)
            fix = damaged(store.engine.url) if store.is_sqlite else "restore a backup"
            value = "; ".join(integrity.faults) or integrity.reason or "no fault"
            yield Finding(
                ok=ok, what="integrity", value=value, fix=fix if integrity.faults else None
            )
            with store.reading() as connection:
                comparison = compare_hashes(connection)
            fix = "these texts changed outside Judgeboard, or the file is damaged: restore a backup"
            count_words = f"{comparison.compared:,} of {counted(comparison.answers, 'answer')}"
            if comparison.differing:
                rows = ", ".join(map(str, comparison.differing[:MOST_FAULTS]))
                value = f"{len(comparison.differing):,} of {count_words}: row {rows}"
                yield Finding(
                    ok=False, what="answers that differ from their hash", value=value, fix=fix
                )
            if comparison.versions:
                value = ", ".join(comparison.versions[:MOST_FAULTS])
                yield Finding(
                    ok=False,
                    what="judge versions that differ from their fingerprint",
                    value=value,
                    fix=fix,
                )
            if not comparison.differing and not comparison.versions:
                yield Finding(ok=True, what="content compared with its hash", value=count_words)
            yield from _settings_findings(store)
        except DamagedDatabase as error:
            yield Finding(ok=False, what="database", fix=str(error))
            return
        counts = f"{counted(answers, 'answer')}, {counted(open_flags, 'open flag')}"
        yield Finding(ok=True, what=f"database {store.shown_url}", value=counts)
    if store.is_sqlite:
        # Warn if all users of this machine can read the database. Sharing it with a group is no finding.
        file = Path(str(store.engine.url.database))
        mode = file.stat().st_mode
        if mode & S_IROTH:
            fix = f"chmod o-rwx {shlex.quote(str(file))}*"
            yield Finding(
                ok=True,
                what="all users of this machine can read the database",
                value=filemode(mode),
                fix=fix,
            )
    if answers == 0:
        yield Finding(
            ok=False,
            what="no answers yet",
            fix="`judgeboard import FILE`, or `judgeboard quickstart`",
        )


def _settings_findings(store: Store) -> Iterator[Finding]:
    """Look for faults of the settings, and compare the settings with those of servers and workers on the database."""
    here = setting_hashes(load_settings())
    with store.reading() as connection:
        workers = worker_settings(connection)
        yield from _fault_findings(connection)
    fix = "use the same judgeboard.toml and variables on all machines; `judgeboard config` shows those of this terminal"
    for worker in workers:
        names = sorted(
            name for name in {*here, *worker.hashes} if here.get(name) != worker.hashes.get(name)
        )
        what = f"settings of process {worker.process} on {worker.host}"
        value = f"other values: {', '.join(names)}" if names else "equal"
        yield Finding(ok=not names, what=what, value=value, fix=fix if names else None)


def _fault_findings(connection: Connection | None) -> Iterator[Finding]:
    for fault in settings_faults(load_settings(), connection):
        yield Finding(ok=False, what="settings", fix=str(fault))


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


def plugins() -> list[Plugin]:
    """Return the plugins of all groups, each loaded: a plugin that cannot be used has its fault."""
    registries: tuple[Registry[Any], ...] = (
        *(JUDGES, RULES, IMPORTS, PROVIDERS, TARGETS),
        *(methods(), *mask_kinds()),
    )
    return [plugin for registry in registries for plugin in registry.plugins()]


def plugin_finding(plugin: Plugin) -> Finding:
    """Return whether a plugin can be used."""
    what = f"plugin {plugin.name} ({plugin.group}) of {plugin.source}"
    fix = None if plugin.fault is None else "install a version that works, or remove the package"
    return Finding(ok=plugin.fault is None, what=what, value=plugin.fault, fix=fix)


def check_endpoint(model: str | None, provider: str | None, base_url: str | None) -> Finding:
    """Ask the model for one small verdict. This makes one real call."""
    settings = load_settings()
    name = model or settings.model
    choice = choose_provider(
        provider or settings.provider, model=name, base_url=base_url or provider_address("openai")
    )
    endpoint = f"endpoint {masked(base_url or provider_address(choice.name) or choice.base_url)}"
    if not name:
        fix = (
            "choose a model with --model or JUDGEBOARD_MODEL; without a model, use --judge lexical"
        )
        return Finding(ok=True, what=endpoint, value="no model", fix=fix)
    try:
        verdict = asyncio.run(_ask(model, provider, base_url))
    except JudgeboardError as error:
        return Finding(ok=False, what=endpoint, fix=str(error))
    if verdict.status is not Status.OK:
        fix = f"{verdict.status}: {verdict.error}. A larger model, or --max-output, may help"
        return Finding(ok=False, what=endpoint, value=verdict.model_reported, fix=fix)
    values = verdict.model_reported, verdict.reply_format, f"{verdict.latency_ms} ms"
    return Finding(ok=True, what=endpoint, value=", ".join(map(str, values)))


async def _ask(model: str | None, provider: str | None, base_url: str | None) -> Verdict:
    judge = make_judge(
        "rag", model=model, provider=provider, base_url=base_url, concurrency=1, tries=1
    )
    try:
        return await judge.judge(_SMALL)
    finally:
        await judge.aclose()
