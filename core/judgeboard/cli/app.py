"""Puts the commands together; a command is one file and one line here."""

import importlib
import io
import sys
import traceback
from collections.abc import Sequence

import click

from judgeboard.cli.options import example
from judgeboard.errors import JudgeboardError

# Command -> its module in judgeboard.cli, which defines `NAME_command`. In the order in which a newcomer needs them.
COMMANDS: dict[str, str] = {
    "demo": "demo",
    "import": "import_command",
    "judge": "judge",
    "compare": "compare",
    "ssr": "ssr",
    "audit": "audit",
    "jury": "combined",
    "repeats": "combined",
    "control-answers": "health",
    "health": "health",
    "reflect": "refine",
    "refine": "refine",
    "suite": "suite",
    "flag": "database",
    "queue": "queue",
    "adjudicate": "adjudicate",
    "serve": "serve",
    "worker": "serve",
    "agreement": "agreement",
    "stats": "database",
    "people": "administration",
    "events": "administration",
    "versions": "administration",
    "export": "database",
    "forget": "database",
    "migrate": "database",
    "config": "database",
    "doctor": "database",
}


class CommandsOnDemand(click.Group):
    """Loads a command's module only when it is named, so that each starts fast."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        """Name the commands in the order of their table."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 - click's signature
        """Load one command, None where there is none of this name."""
        module = COMMANDS.get(cmd_name)
        if module is None:
            return None
        command: click.Command = getattr(
            importlib.import_module(f"judgeboard.cli.{module}"), f"{cmd_name.replace('-', '_')}_command"
        )
        return command


@click.group(
    cls=CommandsOnDemand,
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
    epilog=example("judgeboard import log.jsonl", "judgeboard judge --judge lexical", "judgeboard serve"),
)
@click.version_option(package_name="judgeboard")
@click.option("--debug", is_flag=True, expose_value=False, help="Show the traceback of an error.")
def root() -> None:
    """The desk where people check an LLM judge. To look around first: judgeboard demo."""


def run(arguments: Sequence[str]) -> int:
    """Run one command line and return its exit code; ``--debug`` anywhere in it shows tracebacks."""
    debug = "--debug" in arguments
    _print_anything()
    try:
        result = root.main(
            args=[word for word in arguments if word != "--debug"], prog_name="judgeboard", standalone_mode=False
        )
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except (click.Abort, KeyboardInterrupt):
        click.echo("stopped", err=True)
        return 130
    except BrokenPipeError:
        sys.stderr.close()  # the reader of a pipe went away: say nothing, as `head` expects
        return 0
    except Exception as error:  # noqa: BLE001 - the last resort: one line for the user, the rest on request
        return _failed(error, debug=debug)
    return result if isinstance(result, int) else 0


def _words(error: Exception) -> str:
    """What an error says of itself, without the statement and the texts that a database error repeats."""
    cause = getattr(error, "orig", None)
    if cause is not None:
        from judgeboard.store.engine import with_advice

        return f"the database refused: {with_advice(str(cause).partition(chr(10))[0])}"
    return error.strerror or str(error) if type(error) is OSError else str(error)


def _print_anything() -> None:
    """Show what a terminal's encoding lacks, as half characters of file names, as escapes instead of failing."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _failed(error: Exception, *, debug: bool) -> int:
    expected = isinstance(error, JudgeboardError)
    if debug:
        traceback.print_exception(error)
    else:
        text = " ".join(_words(error).split()) or type(error).__name__
        hint = "" if expected else f" ({type(error).__name__}; --debug shows where)"
        click.echo(f"judgeboard: {text}{hint}", err=True)
    return error.exit_code if isinstance(error, JudgeboardError) else 2
