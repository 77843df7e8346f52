"""The settings of the environment and the project file, read in one place and shown without secrets."""

import ast
import json
import os
import re
from decimal import Decimal
from itertools import product
from pathlib import Path
from typing import Annotated

import click
import pytest
from pydantic import TypeAdapter, ValidationError

from judgeboard.cli.app import root
from judgeboard.cli.drawn_options import FieldType
from judgeboard.errors import BadInput, UnconfirmedFile
from judgeboard.settings.masking import masked
from judgeboard.settings.model import (
    Settings,
    Thresholds,
    load_settings,
    provider_address,
    provider_key,
    shown_settings,
)
from judgeboard.settings.project_file import confirm, project_file
from judgeboard.settings.sections import (
    SECTIONS,
    AlertSettings,
    JudgeSettings,
    JudgingRuleSettings,
    Price,
    QueueSettings,
    fields_of,
)
from result_fields import check_fields

CORE = Path(__file__).parents[2] / "core" / "judgeboard"


def test_nothing_is_set_by_default():
    assert {each.origin for each in shown_settings(load_settings(), ["openai"])} == {"default"}


def test_the_usual_names_are_read(monkeypatch):
    for name, value in (
        ("JUDGEBOARD_DB", "judgeboard.db"),
        ("OPENAI_BASE_URL", "http://localhost:8000/v1"),
        ("OPENAI_API_KEY", "sk-abcdefghijklmnopqrstuvwxyz"),
        ("JUDGEBOARD_ALWAYS_REVIEW", " sql,complex ,"),
    ):
        monkeypatch.setenv(name, value)
    check_fields(load_settings(), db="judgeboard.db", always_review=("sql", "complex"))
    assert provider_address("openai") == "http://localhost:8000/v1"
    assert provider_key("openai") == "sk-abcdefghijklmnopqrstuvwxyz"
    assert provider_key("anthropic") is None
    monkeypatch.setenv("JUDGEBOARD_DB", "")
    assert load_settings().db is None


def test_secrets_and_passwords_are_masked(monkeypatch):
    monkeypatch.setenv("JUDGEBOARD_DB", "postgresql://mara:hunter2@db/case?sslpassword=hunter3")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-abcdefghijklmnopqrstuvwxyz")
    monkeypatch.setenv("JUDGEBOARD_ALERT_COMMAND", "send --token S3CRET")
    settings = load_settings()
    shown = {each.name: each.value for each in shown_settings(settings, ["openai"])}
    database = "postgresql://mara:***@db/case?sslpassword=***"
    check_fields(shown, alert_command="********", db=database)
    assert shown["OPENAI_API_KEY"] == "********wxyz"
    assert "sk-abc" not in repr(settings)
    assert "S3CRET" not in repr(settings)
    assert masked("a/path.db") == "a/path.db"
    monkeypatch.setenv("OPENAI_API_KEY", "sk-short")
    assert "********" in [each.value for each in shown_settings(load_settings(), ["openai"])]


def test_a_value_of_the_wrong_kind_names_its_variable_and_not_the_value(monkeypatch):
    monkeypatch.setenv("JUDGEBOARD_RANDOM_SHARE", "secret words")
    with pytest.raises(BadInput, match="JUDGEBOARD_RANDOM_SHARE") as caught:
        load_settings()
    assert "secret words" not in str(caught.value)


def test_a_table_in_the_environment_that_is_no_json_names_its_variable(monkeypatch):
    monkeypatch.setenv("JUDGEBOARD_JUDGES", "secret words")
    with pytest.raises(BadInput, match="JUDGEBOARD_JUDGES"):
        load_settings()


def test_nothing_else_reads_the_environment():
    readers = {
        path.relative_to(CORE).as_posix()
        for path in CORE.rglob("*.py")
        if "environ" in (text := path.read_text()) or "getenv" in text
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Attribute) and node.attr in {"environ", "getenv"}
    }
    # The client is for assistants and has its own variables. The command line sets one of Pydantic.
    assert readers == {
        "cli/__init__.py",
        "settings/model.py",
        "settings/project_file.py",
        "client.py",
    }


@pytest.mark.parametrize(
    "address",
    [
        "postgresql://u:s3/cr@et@host/db",
        "postgresql://host/db?user=u&password=s3cret",
        "https://host/v1?key=s3cret",
        "https://host/v1?access_token=s3cret&x=1",
    ],
)
def test_no_part_of_a_password_is_shown(address):
    shown = masked(address)
    assert "***" in shown
    assert not any(part in shown for part in ("s3", "cret", "cr@et"))


@pytest.fixture
def project(tmp_path, monkeypatch):
    """The path of a project file; the working folder is a folder below it."""
    (tmp_path / "below").mkdir()
    monkeypatch.chdir(tmp_path / "below")
    return tmp_path / "judgeboard.toml"


def test_the_nearest_project_file_above_is_read_below_the_environment(project, monkeypatch):
    project.write_text(
        'db = "log.db"\nrandom_share = 0.3\nlow_quality = 1\nalways_review = ["sql"]\n'
        'low_groundedness_by_type = {QA = 0.3}\n[judges.strict]\nmodel = "m"\nprice = {input = 0.1, output = 0.2}\n'
    )
    monkeypatch.setenv("JUDGEBOARD_LOW_QUALITY", "3")
    settings = load_settings({"random_share": 0.9, "feedback_gap": 1})
    # A path is relative to the file.
    check_fields(settings, db=str(project.parent / "log.db"), always_review=("sql",))
    check_fields(settings, random_share=0.3, low_quality=3, feedback_gap=1)
    assert settings.cuts.of("QA") == 0.3
    assert settings.price_of("m") == Price(Decimal("0.1"), Decimal("0.2"))
    for name, origin in (
        ("random_share", "judgeboard.toml, line 2"),
        ("low_quality", "JUDGEBOARD_LOW_QUALITY"),
        ("feedback_gap", "stored"),
        ("poor_rating", "default"),
    ):
        assert settings.origin(name) == origin
    project.write_text("random_share = 0.4\n")
    # A changed file counts at once.
    assert random_share() == 0.4
    monkeypatch.setenv("JUDGEBOARD_CONFIG", str(project.parent / "other.toml"))
    with pytest.raises(BadInput, match=r"other\.toml"):
        load_settings()


def random_share():
    return load_settings().random_share


def confirmed():
    """Return the settings, with a project file that the user confirms."""
    with pytest.raises(UnconfirmedFile) as caught:
        load_settings()
    confirm(caught.value)
    return load_settings()


def test_a_file_that_reaches_out_of_its_folder_counts_once_its_content_is_confirmed(
    project, monkeypatch
):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(project.parent / "config"))
    project.write_text('random_share = 0.3\nalert_command = "curl https://example.org"\n')
    assert confirmed().alert_command == "curl https://example.org"
    (mark,) = (project.parent / "config/judgeboard/confirmed").iterdir()
    assert mark.stat().st_mode & 0o777 == 0o600
    monkeypatch.chdir(project.parent)
    assert random_share() == 0.3
    monkeypatch.setenv("JUDGEBOARD_CONFIG", "judgeboard.toml")
    assert random_share() == 0.3
    project.write_text('random_share = 0.4\nalert_command = "curl https://example.org"\n')
    # Another content is confirmed anew.
    assert confirmed().random_share == 0.4
    (project.parent / "below" / "judgeboard.toml").symlink_to(project)
    monkeypatch.setenv("JUDGEBOARD_CONFIG", "below/judgeboard.toml")
    # A link in another folder is another file.
    assert confirmed().random_share == 0.4


def test_a_file_that_another_user_can_change_is_ignored(project, monkeypatch, caplog):
    project.write_text("random_share = 0.3\n")
    project.chmod(0o666)
    for folder in (project.parent / "below", project.parent):
        monkeypatch.chdir(folder)
        assert random_share() == 0.02
    # It is said once.
    assert [message.startswith(f"{project} is ignored") for message in caplog.messages] == [True]
    project.chmod(0o600)
    assert random_share() == 0.3
    project.parent.chmod(0o777)
    assert random_share() == 0.02
    project.parent.chmod(0o700)
    (project.parent / "below" / "judgeboard.toml").symlink_to(project)
    monkeypatch.chdir("below")
    assert random_share() == 0.3
    project.write_text("")  # the file behind the link, and the next one above
    other = project.with_name("other.toml")
    other.write_text("random_share = 0.4\n")
    link = Path("judgeboard.toml")
    link.unlink()
    link.symlink_to(other)
    assert random_share() == 0.4
    if os.getuid() == 0:
        os.chown(link, 12345, -1, follow_symlinks=False)
    else:
        monkeypatch.setattr(os, "getuid", lambda: project.stat().st_uid + 1)
    # A link of another user.
    assert random_share() == 0.02


EVERY_SETTING = {
    f"{name}.{key}" if name in SECTIONS else name
    for name in Settings.model_fields
    for key in (fields_of(SECTIONS[name]) if name in SECTIONS else ("",))
}
IN_THE_FOLDER = {  # these name no address, no command and no file outside of the folder
    *(name for name in Thresholds.model_fields if name not in {"checks", "flag_rules"}),
    *("primary_judge", "provider", "model", "requests_per_minute", "tokens_per_minute", "reply_mb"),
    *("trace_quiet", "trace_longest", "feedback_days", "sources.map", "sources.dates"),
    "sources.keep_texts",
    *(
        f"judges.{name}"
        for name in fields_of(JudgeSettings).keys() - {"prompt", "rubric", "judge_file", "base_url"}
    ),
    *(f"suites.{name}" for name in ("by", "baseline", "threshold", "max_unmeasured", "max_drop")),
    *(f"queues.{name}" for name in fields_of(QueueSettings).keys() - {"guidelines"}),
    *(f"alerts.{name}" for name in fields_of(AlertSettings).keys() - {"to"}),
    *(f"judging_rules.{name}" for name in fields_of(JudgingRuleSettings).keys() - {"base_url"}),
} - {"judges.schema", "queues.schema"}
FILES = (
    *("prices", "families", "checks", "suites.file", "queues.guidelines"),
    *("judges.prompt", "judges.rubric", "judges.judge_file"),
)
OUTSIDE = {
    **dict.fromkeys(FILES, "/etc/hosts"),
    **dict.fromkeys(("judges.schema", "queues.schema"), "/etc/hosts.yaml"),
    "db": "../log.db",
    "suites.candidate": "python:answers:ask",
    "alerts.to": "email:eve@example.org",
    "admin": "eve@example.org",
    "receive_grpc": "0.0.0.0:4317",
    "alert_command": "send",
    "alert_networks": "10.0.0.0/8",
    "smtp_from": "eve@example.org",
}


@pytest.mark.parametrize("name", sorted(EVERY_SETTING - IN_THE_FOLDER))
def test_a_setting_that_reaches_out_of_the_folder_is_not_in_force_unconfirmed(name, project):
    section, _, key = name.partition(".")
    written = json.dumps(OUTSIDE.get(name, "http://example.org/v1"))
    if name == "flag_rules":
        written = f"{{mine = {{address = {written}}}}}"
    project.write_text(f"[{section}.a]\n{key} = {written}\n" if key else f"{name} = {written}\n")
    file = project_file()
    with pytest.raises(UnconfirmedFile, match=key or name):
        file.check_confirmed()


def test_a_file_that_stays_in_its_folder_needs_no_confirmation(project):
    for name in ("prompt.md", "suite.yaml", "guide.md"):
        (project.parent / name).write_text("x")
    project.write_text(
        'db = "data/log.db"\nprimary_judge = "strict"\n[judges.strict]\nmodel = "m"\nprompt = "prompt.md"\n'
        '[sources.shop.map]\nurl = "query"\nadmin = "https://example.org/answer"\n[suites.a]\nfile = "suite.yaml"\n'
        'candidate = "model:m"\n[queues.a]\nguidelines = "guide.md"\nschema = "support"\n'
        '[alerts.a]\nwhen = "old_flags"\nafter = "2d"\nto = "slack:env:SLACK_URL"\n'
        '[[checks]]\nname = "no links"\nnot_regex = "http://"\n'
    )
    assert load_settings().primary_judge == "strict"
    (project.parent / "prompt.md").unlink()
    (project.parent / "prompt.md").symlink_to("/etc/hosts")
    with pytest.raises(UnconfirmedFile, match=r"judges\.strict\.prompt"):
        load_settings()


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        (
            "\nlow_groundednes = 0.4",
            "line 2: low_groundednes is unknown; did you mean low_groundedness?",
        ),
        ("random_share = 2", "line 1: random_share must be a number from 0 to 1, not 2"),
        ('excuse_refusals = "maybe"', "line 1: excuse_refusals must be true or false, not 'maybe'"),
        ("always_review = 3", "line 1: always_review must be a list, not 3"),
        ("always_review = {a = {b = 1}}", "line 1: always_review.0 must be a text"),
        ('\nchecks = "a\\u0000b"', "line 2: checks contains NUL at character 2"),
        ('\ndb = "a\\u0000b"', "line 2: db contains NUL at character 2"),
        ("[queues.a]\nwhere = {text = {a = 1}}", "line 2: queues.a.where.0 must be a text"),
        ("db =", "line 1: Invalid value"),
        (
            "low_groundedness_by_type = {QA = 2}",
            "line 1: low_groundedness_by_type 'QA' must lie from 0 to 1, not 2",
        ),
        ('[judges.a]\nmodell = "m"', "line 2: judges.a.modell is unknown; did you mean model?"),
        (
            "[judges.a]\ntemperature = 5",
            "line 2: judges.a.temperature must be a number from 0 to 2, not 5",
        ),
        (
            '[judges.a]\nprompt = "none.md"',
            "line 2: judges.a.prompt names the file .*none.md, which does not exist",
        ),
        (
            '[judges.a]\napi_key = "sk-1"',
            "line 2: judges.a.api_key does not belong into this file: .*OPENAI_API_KEY",
        ),
        ("[judges.a]\n[judges.b]\n[judges.a]", r"line 3: \[judges.a\] stands twice"),
        ("[judges]\na = 3", "line 2: judges.a must be a table, not 3"),
        ("[judges.a.price]\ninput = 1", "line 1: judges.a.price.output is required"),
        (
            '[sources.shop]\ndates = "dutch"',
            "line 2: sources.shop.dates must be 'day-first' or 'month-first'",
        ),
        (
            '[suites.shop]\nfile = "none.yaml"',
            "line 2: suites.shop.file names the file .*none.yaml, which does not",
        ),
        ("[suites.shop]\nthreshold = 4", "line 1: suites.shop.file is required"),
        (
            "[queues.a]\nneeded = 2\nneded = 3",
            "line 3: queues.a.neded is unknown; did you mean needed?",
        ),
        ("[queues.a]\nneeded = 50", "line 2: queues.a.needed must be .* 20, not 50"),
        ('[queues.a]\norder = "best"', "line 2: queues.a.order must be 'severity', .*, not 'best'"),
        ('[alerts.a]\nwhen = "spend"', "line 1: alerts.a.to is required"),
        (
            '[alerts.a]\nwhen = "spend"\nto = "command"\nafer = "2d"',
            "line 4: alerts.a.afer is unknown; did you mean after",
        ),
        (
            "[judging_rules.live]\nrate = [2]",
            "line 2: judging_rules.live.rate must have rates from 0 to 1, .* not '2'",
        ),
    ],
)
def test_a_mistake_in_the_project_file_is_one_line_with_its_place(project, text, fault):
    project.write_text(text)
    with pytest.raises(BadInput, match=f"judgeboard.toml, {fault}") as caught:
        load_settings()
    assert "\n" not in str(caught.value)
    assert "sk-1" not in str(caught.value)


def test_no_wrong_value_shows_a_sentence_about_types_of_python(project):
    values = [
        '"abc"',
        "true",
        "-1",
        "1.5",
        "1e400",
        "[1]",
        "[[1]]",
        "{a = 1}",
        "2026-01-01",
        "99999999",
    ]
    required = {"suites": {"file": '"f"'}, "alerts": {"when": '"spend"', "to": '"command"'}}
    starts = [f"{name} = " for name in Settings.model_fields]
    starts.append("[judges.a.price]\noutput = 1\ninput = ")
    for section, table in SECTIONS.items():
        starts.append(f"[{section}]\na = ")
        for name in fields_of(table):
            given = required.get(section, {}).items()
            others = "".join(f"{key} = {value}\n" for key, value in given if key != name)
            starts.append(f"[{section}.a]\n{others}{name} = ")
    faults = []
    for start, value in product(starts, values):
        project.write_text(start + value)
        try:
            load_settings()
        except BadInput as error:
            faults.append(str(error))
    assert len(faults) > 500
    of_python = re.compile("Input|valid |unable|Decimal|pathlib|tuple")
    assert [fault for fault in faults if of_python.search(fault)] == []


@pytest.mark.parametrize(
    ("section", "command"),
    [
        ("judges", ["judge"]),
        ("queues", ["queue", "create"]),
        ("suites", ["suite", "run"]),
        ("alerts", ["rule", "add", "alert"]),
        ("judging_rules", ["rule", "add", "judge"]),
    ],
)
def test_each_name_in_a_section_is_an_option_of_its_command(section, command):
    context = click.Context(root)
    for word in command:
        context = click.Context(context.command.get_command(context, word), parent=context)
    options = {name: option for option in context.command.params for name in option.opts}
    fields = {
        f"--{name.replace('_', '-')}": about for name, about in fields_of(SECTIONS[section]).items()
    }
    # A suite is its file, or a name. A kind of judge is --judge. Prices and limits are those of a model.
    of_a_model = {"--price", "--requests-per-minute", "--tokens-per-minute"}
    assert fields.keys() - options.keys() <= {"--file", "--kind", *of_a_model}
    for name in fields.keys() & options.keys():
        about, range_ = fields[name], options[name].type
        # A type of a field reads the words of the option.
        if isinstance(range_, FieldType) or not isinstance(
            range_, click.IntRange | click.FloatRange
        ):
            continue
        reads = TypeAdapter(Annotated[about.annotation, about]).validate_python
        bounds = [bound for bound in (range_.min, range_.max) if bound is not None]
        for bound, step in product(bounds, (-1, 0, 1)):
            accepted = is_accepted(range_.convert, bound + step, None, None)
            assert is_accepted(reads, bound + step) == accepted, f"{name} = {bound + step}"


def is_accepted(read, *arguments):
    try:
        read(*arguments)
    except (click.BadParameter, ValidationError):
        return False
    return True
