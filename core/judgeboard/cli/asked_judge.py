"""The judge that a command asks: one that is known by its name, or one that the options describe."""

import json
import re
from collections.abc import Callable, Mapping
from typing import Any, cast

import click
from click.core import ParameterSource

from judgeboard.cli import options
from judgeboard.cli.asking import EXAMPLE_MODEL
from judgeboard.cli.groups import OPTION_GROUPS
from judgeboard.cli.options import F
from judgeboard.errors import BadInput
from judgeboard.registry.judge_kinds import JUDGES, kind_title
from judgeboard.text import file_text


class _KindOption(click.Option):
    """The option for a kind of judge. Its help names the kinds, with those of other packages."""

    def get_help_record(self, ctx: click.Context) -> tuple[str, str]:  # noqa: ARG002 - of click
        """Return the option and its help."""
        *kinds, last = map(kind_title, JUDGES)
        default = "Default: rag if a model is given; rubric if a model and a rubric are given."
        return "--judge KIND", f"{self.help}: {', '.join(kinds)} or {last}. {default}"


def judge_kind(help_text: str = "Kind of judge") -> Callable[[F], F]:
    """Return the option ``--judge`` of a command that asks a judge; `chosen_kind` gives its value."""
    return click.option("--judge", "kind", cls=_KindOption, metavar="KIND", help=help_text)


named_judge: Callable[[F], F] = click.argument(
    "named", metavar="[NAME]", required=False, callback=options.checked_name
)


def judge_of_options(
    named: str | None,
    kind: str | None,
    chosen: dict[str, object],
    *,
    with_models: bool = False,
    number: int | None = None,
) -> str:
    """Complete the options of the judge that is asked, and return its kind.

    NAME is a judge that is known (`use_named_judge`). With an option that describes a judge, such
    as ``--model``, an unknown NAME is the name of a new judge. With ``--judge`` or an option that
    names models, the options alone describe the judge.

    Raises:
        BadInput: NAME and an option exclude each other.
        NotFound: There is no judge NAME, and no option describes one.
    """
    from judgeboard.errors import NotFound
    from judgeboard.settings.model import load_settings

    chosen["name"] = named
    if kind is not None or with_models:
        if named in load_settings().judges:
            raise BadInput(
                f"judgeboard.toml has the judge {named!r}: remove --judge and --jury, or use another name"
            )
        return chosen_kind(kind, chosen, with_models=with_models)
    try:
        kind = use_named_judge(named, chosen, number=number)
    except NotFound as error:
        if number is not None:
            raise
        context = click.get_current_context()
        is_described = any(
            OPTION_GROUPS.get(parameter, "") in {"Judge", "Model"}
            and context.get_parameter_source(str(parameter.name)) is ParameterSource.COMMANDLINE
            for parameter in context.command.params
        )
        if not is_described:
            command = options.same_command("--model", EXAMPLE_MODEL)
            raise NotFound(
                f"{error}. To make it: `{command}`. To describe it without judging, write [judges.{_key(named)}] in "
                "judgeboard.toml"
            ) from error
    return chosen_kind(kind, chosen)


def _key(name: str | None) -> str:
    """Return a name as a key of TOML."""
    return (
        name
        if name and re.fullmatch(r"[A-Za-z0-9_-]+", name)
        else json.dumps(name, ensure_ascii=False)
    )


_OF_A_MODEL = frozenset(
    {
        "model",
        "provider",
        "base_url",
        "api_key",
        "temperature",
        "max_output",
        "timeout_s",
        "concurrency",
    }
)


def use_named_judge(
    named: str | None,
    chosen: dict[str, object],
    *,
    as_kind: str | None = None,
    number: int | None = None,
) -> str | None:
    """Fill the options that were not typed from the judge ``named``, and return its kind.

    The judge is one of the project file, otherwise the newest version of a judge in the database,
    otherwise a kind of judge. If a candidate of `align` was accepted for what the project file
    describes, it is the accepted version. With a ``number``, it is that version of the database.
    Without a name, a model or recorded replies, it is the primary judge of the project file, if
    that file describes it. If it is not of the kind ``as_kind``, only its model is used: a prompt
    and a name are of one kind.

    Raises:
        NotFound: There is no such judge.
        BadInput: The verdicts of this judge were imported: it cannot be asked.
    """
    from judgeboard.runs.named_judges import find_judge, stored_judge
    from judgeboard.settings.model import load_settings
    from judgeboard.store.tables import version_title

    context = click.get_current_context()
    if (
        named is None
        and as_kind is None
        and not any(chosen.get(name) for name in ("model", "replies"))
    ):
        settings = load_settings()
        named = settings.primary_judge if settings.primary_judge in settings.judges else None
    if named is None:
        return None
    if number is not None:
        judge = stored_judge(options.open_store, version_title(named, number))
        judge["name"] = named
    else:
        judge = find_judge(options.open_store, named, lambda words: options.echo(words, err=True))
    kind: str | None = judge.pop("kind", None)
    if as_kind in (None, kind):
        judge = {"name": named} | judge
    else:
        judge = {name: judge[name] for name in _OF_A_MODEL.intersection(judge)}
    not_typed = {
        name: value
        for name, value in judge.items()
        if (name in chosen or name in {"examples", "api_key"})
        and context.get_parameter_source(name) is not ParameterSource.COMMANDLINE
    }
    if chosen.get("label_schema") is not None:  # it replaces the rubric of a stored judge
        not_typed.pop("rubric", None)
    chosen.update(cast(dict[str, object], not_typed))
    return kind


def judge_for_workers(named: str) -> dict[str, Any] | None:
    """Return the fields of a judge of the project file as a rule stores them; None if there is no such judge.

    Workers cannot read the files of this machine, so a prompt is stored as text. Raises BadInput
    for other files.
    """
    from judgeboard.runs.named_judges import OF_A_TERMINAL, judge_of_project

    judge = judge_of_project(named)
    if judge is None:
        return None
    if files := {"rubric", "label_schema", "judge_file", "examples_from_reviews"}.intersection(
        judge
    ):
        raise BadInput(
            f"workers cannot ask the judge {named!r}: it has {', '.join(sorted(files))}; choose another one"
        )
    if "prompt" in judge:
        judge["prompt"] = file_text(judge["prompt"])
    return {"name": named} | {
        name: value for name, value in judge.items() if name not in OF_A_TERMINAL
    }


def chosen_kind(kind: str | None, chosen: Mapping[str, Any], *, with_models: bool = False) -> str:
    """Return the kind of judge. Without ``--judge`` it is rag if a model is given, and rubric if also a rubric is.

    A model in the environment is not enough: it is easily forgotten, and its calls cost money.

    Raises:
        BadInput: The kind is unknown, or neither it nor a model is given.
    """
    from judgeboard.settings.model import load_settings

    if kind is None and (with_models or chosen.get("model") or chosen.get("replies")):
        return "rubric" if chosen.get("rubric") or chosen.get("label_schema") else "rag"
    if kind is None:
        for_a_model = any(
            chosen.get(name)
            for name in ("rubric", "label_schema", "judge_file", "claims", "prompt", "domain")
        )
        likely = ("--judge", "rag" if load_settings().model else "lexical")
        command = options.same_command(*(("--model", EXAMPLE_MODEL) if for_a_model else likely))
        raise BadInput(f"choose a judge, or give --model NAME, for example: `{command}`")
    if kind not in JUDGES:
        import difflib

        near = difflib.get_close_matches(kind, JUDGES, n=1) or [
            "rag" if chosen.get("model") else "lexical"
        ]
        command = options.same_command(instead={kind: near[0]})
        raise BadInput(
            f"there is no judge of kind {kind!r}; choose {', '.join(sorted(JUDGES))}, for example: `{command}`"
        )
    return kind
