"""The judge that a command asks: a judge with a known name, or a judge that the options describe."""

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
from judgeboard.errors import BadInput, NotFound
from judgeboard.registry.judge_kinds import JUDGES, kind_title
from judgeboard.text import file_text


class _KindOption(click.Option):
    """The option for a kind of judge. The help names all kinds, also the kinds of other packages."""

    def get_help_record(self, ctx: click.Context) -> tuple[str, str]:  # noqa: ARG002 - of click
        """Return the option and the help of the option."""
        *kinds, last = map(kind_title, JUDGES)
        default = "Default: rag if a model is given; rubric if a model and a rubric are given."
        return "--judge KIND", f"{self.help}: {', '.join(kinds)} or {last}. {default}"


def judge_kind(help_text: str = "Kind of judge") -> Callable[[F], F]:
    """Return the option ``--judge`` of a command that asks a judge; `chosen_kind` gives the value."""
    return click.option("--judge", "kind", cls=_KindOption, metavar="KIND", help=help_text)


named_judge: Callable[[F], F] = click.argument(
    "named", metavar="[NAME]", required=False, callback=options.checked_name
)


def judge_of_options(
    judge_name: str | None,
    kind: str | None,
    judge_fields: dict[str, object],
    *,
    with_models: bool = False,
    number: int | None = None,
) -> str:
    """Complete the fields of the judge to ask, and return the kind of the judge.

    ``judge_name`` is the name of a known judge (`use_named_judge`). With an option that describes a
    judge, such as ``--model``, an unknown name is the name of a new judge. With ``--judge`` or an
    option that names models, the options alone describe the judge.

    Raises:
        BadInput: The name and an option exclude each other.
        NotFound: No judge has this name, and no option describes a judge.
    """
    from judgeboard.settings.model import load_settings

    judge_fields["name"] = judge_name
    if kind is not None or with_models:
        if judge_name in load_settings().judges:
            raise BadInput(
                f"judgeboard.toml has the judge {judge_name!r}: remove --judge and --jury, or use another name"
            )
        return chosen_kind(kind, judge_fields, with_models=with_models)
    try:
        kind = use_named_judge(judge_name, judge_fields, number=number)
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
                f"{error}. To make it: `{command}`. To describe it without judging, write "
                f"[judges.{_key(judge_name)}] in judgeboard.toml"
            ) from error
    return chosen_kind(kind, judge_fields)


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
    judge_name: str | None,
    judge_fields: dict[str, object],
    *,
    as_kind: str | None = None,
    number: int | None = None,
) -> str | None:
    """Fill the options that were not typed from the judge ``judge_name``, and return the judge's kind.

    The judge is a judge of the project file, otherwise the newest version of a judge in the
    database, otherwise a kind of judge. If a candidate of `align` was accepted for the judge of the
    project file, the judge is the accepted version. With a ``number``, the judge is this version in
    the database. Without a name, a model or recorded replies, the judge is the primary judge of the
    project file, if the project file describes the primary judge. Of a judge of another kind than
    ``as_kind``, only the model is used: a prompt and a name are of one kind.

    Raises:
        NotFound: No judge has this name.
        BadInput: The verdicts of this judge were imported: nothing can ask such a judge.
    """
    from judgeboard.runs.named_judges import find_judge, stored_judge
    from judgeboard.settings.model import load_settings
    from judgeboard.store.tables import version_title

    context = click.get_current_context()
    if (
        judge_name is None
        and as_kind is None
        and not any(judge_fields.get(name) for name in ("model", "replies"))
    ):
        settings = load_settings()
        judge_name = settings.primary_judge if settings.primary_judge in settings.judges else None
    if judge_name is None:
        return None
    if number is not None:
        judge = stored_judge(options.open_store, version_title(judge_name, number))
        judge["name"] = judge_name
    else:
        judge = find_judge(
            options.open_store, judge_name, lambda words: options.echo(words, err=True)
        )
    kind: str | None = judge.pop("kind", None)
    if as_kind in (None, kind):
        judge = {"name": judge_name} | judge
    else:
        judge = {name: judge[name] for name in _OF_A_MODEL.intersection(judge)}
    not_typed = {
        name: value
        for name, value in judge.items()
        if (name in judge_fields or name in {"examples", "api_key"})
        and context.get_parameter_source(name) is not ParameterSource.COMMANDLINE
    }
    if judge_fields.get("label_schema") is not None:  # a schema replaces the stored rubric
        not_typed.pop("rubric", None)
    judge_fields.update(cast(dict[str, object], not_typed))
    return kind


def judge_for_workers(judge_name: str) -> dict[str, Any] | None:
    """Return the fields of a judge of the project file in the form for a rule; None without such a judge.

    Workers cannot read the files of this machine, so a prompt is stored as text. Raises BadInput
    for other files.
    """
    from judgeboard.runs.named_judges import OF_A_TERMINAL, judge_of_project

    judge = judge_of_project(judge_name)
    if judge is None:
        return None
    if files := {"rubric", "label_schema", "judge_file", "examples_from_reviews"}.intersection(
        judge
    ):
        raise BadInput(
            f"workers cannot ask the judge {judge_name!r}: it has {', '.join(sorted(files))}; choose another one"
        )
    if "prompt" in judge:
        judge["prompt"] = file_text(judge["prompt"])
    return {"name": judge_name} | {
        name: value for name, value in judge.items() if name not in OF_A_TERMINAL
    }


def chosen_kind(
    kind: str | None, judge_fields: Mapping[str, Any], *, with_models: bool = False
) -> str:
    """Return the kind of judge. Without ``--judge``: rag if a model is given, rubric if also a rubric is given.

    A model in the environment is not enough: people easily forget the variable, and calls cost money.

    Raises:
        BadInput: The kind is unknown, or neither a kind nor a model is given.
    """
    from judgeboard.settings.model import load_settings

    if kind is None and (with_models or judge_fields.get("model") or judge_fields.get("replies")):
        return "rubric" if judge_fields.get("rubric") or judge_fields.get("label_schema") else "rag"
    if kind is None:
        for_a_model = any(
            judge_fields.get(name)
            for name in ("rubric", "label_schema", "judge_file", "claims", "prompt", "domain")
        )
        likely = ("--judge", "rag" if load_settings().model else "lexical")
        command = options.same_command(*(("--model", EXAMPLE_MODEL) if for_a_model else likely))
        raise BadInput(f"choose a judge, or give --model NAME, for example: `{command}`")
    if kind not in JUDGES:
        import difflib

        near = difflib.get_close_matches(kind, JUDGES, n=1) or [
            "rag" if judge_fields.get("model") else "lexical"
        ]
        command = options.same_command(instead={kind: near[0]})
        raise BadInput(
            f"there is no judge of kind {kind!r}; choose {', '.join(sorted(JUDGES))}, for example: `{command}`"
        )
    return kind
