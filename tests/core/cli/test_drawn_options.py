"""Options of commands that are drawn from the fields of a model."""

import subprocess
import sys
from typing import Annotated, Literal

import click
import pytest
from click.testing import CliRunner
from pydantic import BaseModel, Field

from judgeboard.cli.drawn_options import drawn
from judgeboard.cli.groups import OPTION_GROUPS, Command
from judgeboard.errors import BadInput
from judgeboard.settings.fields import Option
from judgeboard.settings.option_words import checked


class Kettle(BaseModel):
    degrees: Annotated[
        float,
        Field(ge=0, le=100, description="Heat of the water. Hotter takes longer."),
        Option("Heat"),
    ] = 95
    cups: Annotated[
        int | None, Field(ge=1, description="Number of cups."), Option(names=("--n",))
    ] = None
    tea: Annotated[Literal["green", "black"], Field(description="Kind of tea."), Option()] = "black"
    milk: Annotated[bool, Field(description="Add milk."), Option()] = False
    owner: str = "nobody"


@click.command(cls=Command)
@drawn(f"{__name__}:Kettle")
def boil(**options: object) -> None:
    """Boil water."""
    click.echo(repr(options))


def test_an_option_has_the_name_the_help_the_range_and_the_default_of_its_field():
    shown = CliRunner().invoke(boil, ["--help"]).output
    assert "Heat of the water, from 0 to 100 (default: 95). Hotter" in " ".join(shown.split())
    assert "--cups, --n INTEGER" in shown
    assert "--tea [green|black]" in shown
    assert "owner" not in shown
    assert OPTION_GROUPS[boil.params[0]] == "Heat"


def test_an_option_that_is_not_typed_is_none_and_a_typed_one_is_read_as_the_field_reads_it():
    assert "{'degrees': 80.0, 'milk': True, 'cups': None, 'tea': None}" in str(
        CliRunner().invoke(boil, ["--degrees", "80", "--milk"]).output
    )


@pytest.mark.parametrize(
    ("option", "value", "reason"),
    [
        ("degrees", "300", "must be a number from 0 to 100, not '300'"),
        ("cups", "0", "must be at least 1, not '0'"),
        ("tea", "mint", "must be 'green' or 'black', not 'mint'"),
    ],
)
def test_a_command_and_python_refuse_a_value_with_the_same_words(option, value, reason):
    assert f": {reason}" in CliRunner().invoke(boil, [f"--{option}", value]).output
    with pytest.raises(BadInput, match=f"{option} {reason}"):
        checked(Kettle, {option: value})


def test_the_help_of_all_commands_makes_no_option(tmp_path):
    program = (
        "import sys; from judgeboard.cli import main; sys.argv = ['judgeboard', '--help']\n"
        "try: main()\nfinally: print('pydantic' in sys.modules)"
    )
    shown = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=tmp_path
    )
    assert shown.stdout.splitlines()[-1] == "False"
