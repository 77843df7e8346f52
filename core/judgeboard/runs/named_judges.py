"""The judge with a name: of the project file, of the database, or a kind of judge."""

import shlex
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from judgeboard.errors import BadInput, MissingDatabase, NotFound
from judgeboard.judges.judge import AskedJudge, fingerprint
from judgeboard.judges.rubric_file import Rubric, default_rubric, read_rubric, rubric_of
from judgeboard.registry.judge_kinds import JUDGES
from judgeboard.runs import addresses
from judgeboard.runs.addresses import address_options, known_address
from judgeboard.runs.jobs import judge_spec, judge_with_key, make_described
from judgeboard.runs.judging import options_of_version
from judgeboard.settings.model import load_settings
from judgeboard.settings.option_words import checked
from judgeboard.settings.sections import STORED_FIELDS, JudgeSettings
from judgeboard.store.alignments import accepted_version
from judgeboard.store.engine import Store
from judgeboard.store.grades import examples_from_reviews
from judgeboard.store.judge_versions import find_version, get_version
from judgeboard.store.label_schemas import schema_named

OF_A_TERMINAL = ("price", "requests_per_minute", "tokens_per_minute", "concurrency", "timeout_s")
Opening = Callable[[], Store]
"""Returns the open database, or raises MissingDatabase."""


def find_judge(open_store: Opening, judge_name: str, say: Callable[[str], None]) -> dict[str, Any]:
    """Return the options of the judge ``judge_name``, with the ``kind``.

    The judge is one of the project file, otherwise the newest version of a judge in the database,
    otherwise a kind of judge. If a candidate of `align` was accepted for what the project file
    describes, the result is the accepted version, and ``say`` gets a sentence about this.

    Raises:
        NotFound: There is no such judge.
        BadInput: The verdicts of this judge were imported: nobody can ask the judge.
    """
    return (
        _accepted_judge(open_store, judge_name, say)
        or judge_of_project(judge_name)
        or stored_judge(open_store, judge_name)
    )


def judge_of_project(judge_name: str) -> dict[str, Any] | None:
    """Return the options of a judge of the project file, None if there is no such judge."""
    judge = load_settings().judges.get(judge_name)
    return None if judge is None else judge.given()


def _accepted_judge(
    open_store: Opening, judge_name: str, say: Callable[[str], None]
) -> dict[str, Any] | None:
    """Return the options of a judge of the project file with the accepted prompt, None without an accepted prompt."""
    judge = judge_of_project(judge_name)
    if judge is None or {"rubric", *STORED_FIELDS}.intersection(
        judge
    ):  # only the kinds rag and grade are aligned
        return None
    described = {"kind": "rag", "name": judge_name} | {
        name: value for name, value in judge.items() if name not in OF_A_TERMINAL
    }
    try:
        with open_store().reading() as connection:
            version = find_version(connection, fingerprint(make_described(described).version))
            accepted = None if version is None else accepted_version(connection, version.id)
            if version is None or accepted is None:
                return None
            better = get_version(connection, accepted)
            spec = judge_spec(connection, better) or {}
    except MissingDatabase:
        return None
    if "prompt" not in spec:
        return None
    older = f"`judgeboard judge {shlex.quote(judge_name)} --judge-version {version.number}`"
    say(f"{better.title} is used, which was accepted for {version.title}. To use that one: {older}")
    return judge | {"kind": better.kind, "prompt": spec["prompt"]}


def stored_judge(open_store: Opening, judge_name: str) -> dict[str, Any]:
    """Return the options of the judge of the database with this name or title, otherwise of the kind of judge."""
    in_file = ", ".join(load_settings().judges)
    there_are = f"judgeboard.toml has {in_file}" if in_file else "judgeboard.toml names none"
    try:
        with open_store().reading() as connection:
            version = get_version(connection, judge_name)
            try:
                judge = options_of_version(connection, version)
            except BadInput as error:
                raise BadInput(f"{version.title} cannot be asked: {error}") from error
            if version.model is not None:
                judge |= address_options(known_address(connection, version.id))
            return judge_with_key(
                judge
            )  # an address of the database gets no key of the environment
    except (MissingDatabase, NotFound) as error:
        if judge_name in JUDGES:
            return {"kind": judge_name}
        raise NotFound(f"there is no judge {judge_name!r}: {there_are}; {error}") from error


def judge_keywords(
    open_store: Opening, kind: str, fields: Mapping[str, object]
) -> dict[str, object]:
    """Return the options of `make_judge`: `STORED_FIELDS` become a rubric and examples."""
    options = {n: value for n, value in fields.items() if n not in STORED_FIELDS}
    stored_fields = checked(JudgeSettings, {n: fields[n] for n in fields.keys() - options.keys()})
    schema, count = stored_fields.label_schema, stored_fields.examples_from_reviews
    rubric = options.get("rubric")
    if schema is not None and rubric is not None:
        raise BadInput("--schema and --rubric both define the scores: remove one")
    if schema is None and not count:
        return options
    with open_store().reading() as connection:
        if schema is not None:
            rubric = rubric_of(schema_named(connection, schema).content)
        elif kind == "rubric":
            rubric = read_rubric(rubric) if isinstance(rubric, Path) else default_rubric()
        if count:
            dimensions = rubric.weights if kind == "rubric" and isinstance(rubric, Rubric) else None
            options["examples"] = examples_from_reviews(connection, count, dimensions=dimensions)
    options["rubric"] = rubric
    return options


def at_last_address(
    store: Store, make: Callable[..., AskedJudge], options: dict[str, object]
) -> dict[str, object]:
    """Return the options of a judge, with the address of the last run, unless the options have one (`addresses`).

    The key of the environment is left out for another address, because somebody may have entered
    that address on a page.
    """
    with store.reading() as connection:
        options_with_address = addresses.at_last_address(connection, make, options)
    if options_with_address == options:
        return options
    keyed = judge_with_key(options_with_address)
    return {
        **options,
        "provider": keyed["provider"],
        "base_url": keyed["base_url"],
        "api_key": keyed.get("api_key"),
    }
