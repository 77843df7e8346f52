"""Options of commands that are drawn from the fields of a model (`settings.fields.Option`).

The options are made when a command is used, because pydantic loads slowly: ``judgeboard --help``
makes none.
"""

from collections.abc import Callable, Iterator
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Literal, get_args, get_origin

import click

from judgeboard.cli.groups import OPTION_GROUPS, LaterOptions
from judgeboard.registry.methods import load_object

if TYPE_CHECKING:
    from pydantic import BaseModel
    from pydantic.fields import FieldInfo

    from judgeboard.cli.options import F


def drawn(model: str, *names: str) -> "Callable[[F], F]":
    """Return the options that set the fields of a model, in the order of the help.

    An option that is not typed is None, also a flag.

    Args:
        model: The place of the model, such as ``judgeboard.settings.sections:JudgeSettings``.
        names: The fields, by the names in the project file. Without names, all fields with an
            `Option`.
    """
    later = LaterOptions(lambda _taken: _options(load_object(model), names))

    def decorate(command: "F") -> "F":
        command.__dict__.setdefault("__click_params__", []).append(later)
        return command

    return decorate


def _options(model: "type[BaseModel]", names: tuple[str, ...]) -> Iterator[click.Option]:
    from judgeboard.settings.fields import Option
    from judgeboard.settings.option_words import help_of, option_of

    for field, about in model.model_fields.items():
        name = about.alias or field
        about_option = option_of(about)
        if name not in names if names else about_option is None:
            continue
        about_option = about_option or Option()
        is_flag = about.annotation in {bool, bool | None}
        off = "" if about_option.off is None else f"/{about_option.off}"
        option = click.Option(
            [f"--{name.replace('_', '-')}{off}", *about_option.names, field],
            type=None if is_flag else FieldType(model, field, about),
            is_flag=is_flag,
            multiple=about_option.several,
            required=about.is_required(),
            default=None,
            metavar=about_option.metavar,
            help=help_of(about),
        )
        if about_option.group is not None:
            OPTION_GROUPS[option] = about_option.group
        yield option


class FieldType(click.ParamType[object]):
    """A word of a command line that is read as the project file reads the field."""

    def __init__(self, model: "type[BaseModel]", field: str, about: "FieldInfo") -> None:
        self.model, self.field, self.about = model, field, about
        kinds = [each for each in get_args(about.annotation) if each is not type(None)]
        literal = next(
            (each for each in (about.annotation, *kinds) if get_origin(each) is Literal), None
        )
        self.choices: tuple[str, ...] = get_args(literal)
        if isinstance(about.annotation, type) and issubclass(about.annotation, StrEnum):
            self.choices = tuple(each.value for each in about.annotation)
        self.is_list = get_origin(about.annotation) is tuple
        kind = kinds[0] if kinds and literal is None else about.annotation
        kind = getattr(kind, "__origin__", kind)  # of a type with limits
        self.name = _NAMES.get(getattr(kind, "__name__", ""), "text")

    def get_metavar(self, param: click.Parameter, ctx: click.Context) -> str | None:  # noqa: ARG002 - click's signature
        """Return the words that a user can choose from; None if any value fits."""
        return f"[{'|'.join(self.choices)}]" if self.choices else None

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> object:
        """Return the value of the field, or fail with the words of the project file."""
        from pydantic import ConfigDict, TypeAdapter, ValidationError

        from judgeboard.settings.option_words import reason_of

        if not isinstance(value, str) or getattr(param, "multiple", False):
            return value  # of a named table, which was read already, or one of several values
        try:
            form = self.about.rebuild_annotation()
            reader: TypeAdapter[object] = TypeAdapter(form, config=ConfigDict(allow_inf_nan=False))
            if self.is_list:
                names = [name for each in value.split(",") if (name := each.strip())]
                if value.strip() and not names:
                    return self.fail("only commas: separate the values by commas", param, ctx)
                return reader.validate_python(names)
            return reader.validate_strings(value)
        except ValidationError as error:
            name = self.about.alias or self.field
            return self.fail(reason_of(error.errors()[0], [name], {name: self.about}), param, ctx)


_NAMES = {"int": "integer", "float": "number", "Path": "path"}
