"""A judge version judges again where it judged last; another host is confirmed before anything is sent."""

import io
import shlex
import sys

import pytest
from sqlalchemy import update

from command_lines import run_line
from engines import on_sqlite
from job_steps import done
from judgeboard.domain import RuleState
from judgeboard.errors import AddressUnknown, OtherHost
from judgeboard.llm.endpoint import Address
from judgeboard.llm.recording_endpoint import RecordingEndpoint
from judgeboard.runs.addresses import LastAddress, at_last_address, last_address
from judgeboard.runs.jobs import job_address, judge_spec, request_rejudge
from judgeboard.runs.judging import judge_pending, make_judge
from judgeboard.runs.judging_rules import add_rule, set_judge, with_model
from judgeboard.runs.rules import change_rule
from judgeboard.store.filters import RowFilter
from judgeboard.store.judge_versions import ensure_version, list_versions
from judgeboard.store.runs import last_asked_run
from judgeboard.store.tables import RUN, JudgingRule
from judging_log import address, asked, rag, runs, store_answers
from stored_rows import read, write_to

RAG = {"kind": "rag", "model": "scripted"}
LOCAL_URL = "--base-url http://localhost:8000/v1"
PUBLIC_KEY = ("OPENAI_API_KEY", "sk-of-the-public-address")


@pytest.fixture
def ours():
    """The private endpoint that judged first."""
    with RecordingEndpoint() as endpoint:
        yield endpoint


@pytest.fixture
def other():
    with RecordingEndpoint() as endpoint:
        yield endpoint


@pytest.fixture
def judged(store, ours, monkeypatch):
    """A log with one judged answer and three others; the environment has a key for the public address."""
    store_answers(store, 1)
    judge_pending(store, rag(ours))
    monkeypatch.setenv(*PUBLIC_KEY)
    store_answers(store, 3, first=1)
    return store


def at(endpoint, **more):
    """A judge at the address of an endpoint."""
    return RAG | {"base_url": endpoint.base_url} | more


def add_judging(store, judge, name="live", **options):
    return add_rule(store, name, judge=judge, actor="Mara", **options)


def request(store, judge=RAG, **options):
    return request_rejudge(store, judge=judge, actor="Mara", **options)


def specs(store):
    """What the forms show of each stored version."""
    with store.reading() as connection:
        return [judge_spec(connection, version) for version in list_versions(connection)]


def host(endpoint):
    return endpoint.base_url.split("/")[2]


def judging(store, options="", model="scripted"):
    return f"judge --judge rag --model {model} --db {address(store)} {options}"


def went_last_to(store, endpoint):
    """Whether the only version judged last at an endpoint."""
    (version,) = read(store, list_versions)
    there = LastAddress(host(endpoint), Address("openai", endpoint.base_url))
    return read(store, last_address, version.id) == there


def as_stored_by_an_earlier_release(store, **values):
    with store.writing() as connection:
        connection.execute(update(RUN).values({"provider": None, "base_url": None, **values}))


@on_sqlite
def test_the_same_command_without_an_address_goes_where_the_version_judged_last(
    judged, ours, shell
):
    shell(judging(judged))
    assert sorted(asked(ours)) == [0, 1, 2, 3]
    # The key of the environment is for the public address: this one may have been entered on a
    # page.
    assert PUBLIC_KEY[1] not in str([request.headers for request in ours.requests])
    assert went_last_to(judged, ours)


@on_sqlite
def test_another_host_is_refused_with_both_hosts_the_number_and_the_command(
    judged, ours, other, shell
):
    command = judging(judged, f"--base-url {other.base_url}")
    error = shell(command, code=2)
    assert all(part in error for part in ("rag v1", host(ours), "3 answers", host(other)))
    assert f"`{shlex.join(['judgeboard', *shlex.split(command), '--yes'])}`" in error
    assert other.requests == []
    assert len(runs(judged)) == 1
    # The number is that of the filter.
    assert "1 answer " in shell(f"{command} --where id=2", code=2)
    shell(f"{command} --yes")
    assert sorted(asked(other)) == [1, 2, 3]
    assert went_last_to(judged, other)


@on_sqlite
def test_on_a_terminal_another_host_is_a_question(judged, other, monkeypatch, capsys):
    def answer(text):
        terminal = io.StringIO(text)
        terminal.isatty = lambda: True
        monkeypatch.setattr(sys, "stdin", terminal)
        return run_line(judging(judged, f"--base-url {other.base_url}"))

    assert answer("n\n") == 2
    assert other.requests == []
    assert answer("y\n") == 0
    assert len(other.requests) == 3
    assert "[y/N]" in capsys.readouterr().err


@on_sqlite
def test_an_address_of_the_environment_is_confirmed_too(judged, other, monkeypatch, shell):
    monkeypatch.setenv("OPENAI_BASE_URL", other.base_url)
    assert host(other) in shell(judging(judged), code=2)
    shell(judging(judged, "--yes"))
    assert len(other.requests) == 3


@on_sqlite
def test_a_program_never_falls_back_to_a_public_address(judged, other):
    with pytest.raises(OtherHost, match=r"3 answers .*api\.openai\.com"):
        judge_pending(judged, make_judge("rag", model="scripted"))
    assert len(runs(judged)) == 1
    assert judge_pending(judged, rag(other)).ok == 3  # the program named this address


@on_sqlite
def test_a_job_goes_where_the_version_judged_last(judged, ours):
    assert job_address(judged, RAG).host == host(ours)
    (spec,) = specs(judged)
    assert (spec["provider"], spec["base_url"]) == ("openai", ours.base_url)
    assert done(judged, request(judged, mode="plain")).ok == 3
    assert sorted(asked(ours)) == [0, 1, 2, 3]


@on_sqlite
def test_a_job_and_a_rule_at_another_host_need_the_host_that_a_person_confirmed(
    judged, ours, other
):
    shown = job_address(judged, at(other))
    assert (shown.host, shown.before) == (host(other), host(ours))
    two = RowFilter(ids=("1", "2"))
    for confirmed in (None, host(ours)):
        with pytest.raises(OtherHost, match="2 answers"):
            request(judged, at(other), where=two, mode="plain", confirmed_host=confirmed)
        with pytest.raises(OtherHost, match="3 answers"):
            add_judging(judged, at(other), existing=True, confirmed_host=confirmed)
    job_id = request(judged, at(other), mode="plain", confirmed_host=host(other))
    assert done(judged, job_id).ok == 3


@on_sqlite
def test_a_version_that_judged_nothing_yet_goes_to_the_address_of_its_judging_rule(
    judged, ours, shell
):
    add_judging(judged, at(ours))
    set_judge(judged, "live", judge=with_model(at(ours), "another-model"), actor="Mara")
    spec = specs(judged)[-1]
    assert (spec["model"], spec["base_url"]) == ("another-model", ours.base_url)
    new = with_model(RAG, "another-model")
    assert job_address(judged, new).host == host(ours)
    chosen = job_address(judged, new | {"provider": "anthropic"})
    assert chosen.host == "api.anthropic.com", "a person's choice"
    shell(judging(judged, model="another-model"))
    assert len(ours.requests) == 1 + 4


def test_a_version_that_a_rule_had_before_keeps_the_address_of_that_rule(judged, ours, other):
    """Nobody chose the provider's own address for these versions: their answers must not go there."""
    add_judging(judged, at(ours, model="second-model"))
    third, fourth = (with_model(RAG, model) for model in ("third-model", "fourth-model"))
    for judge in (third, fourth):
        set_judge(judged, "live", judge=at(ours) | judge, actor="Mara")
    change_rule(judged, JudgingRule, "live", RuleState.REMOVED, "Mara")
    assert {spec["base_url"] for spec in specs(judged)} == {ours.base_url}
    assert job_address(judged, third).host == host(ours)
    assert add_judging(judged, third, "again").judge["base_url"] == ours.base_url
    add_judging(judged, at(other) | fourth, "newer")
    # A rule in use counts first.
    assert job_address(judged, fourth).host == host(other)


@on_sqlite
def test_a_worker_sends_nothing_to_a_host_that_nobody_confirmed(store, ours, monkeypatch):
    monkeypatch.setenv(*PUBLIC_KEY)
    store_answers(store, 2)
    job_id = request(store)  # the first job of this version: the default address
    judge_pending(store, rag(ours), limit=1)  # meanwhile, it judges elsewhere
    job = done(store, job_id)
    assert job.state == "failed"
    assert host(ours) in job.why


@on_sqlite
def test_without_a_key_a_page_names_no_option_and_a_terminal_names_it(store, monkeypatch, shell):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    store_answers(store, 1)
    why = done(store, request(store)).why
    assert "OPENAI_API_KEY" in why
    assert "--base-url" not in why
    error = shell(judging(store), code=2)
    assert all(part in error for part in ("OPENAI_API_KEY", f"{LOCAL_URL}`"))


def test_where_an_earlier_release_stored_only_the_host_the_whole_address_is_asked_for(
    judged, ours, shell
):
    as_stored_by_an_earlier_release(judged)
    error = shell(judging(judged), code=2)
    assert all(part in error for part in ("rag v1", f"--base-url http://{host(ours)}/v1`"))
    for ask in (request, add_judging):
        with pytest.raises(AddressUnknown):
            ask(judged, RAG)
    assert len(ours.requests) == 1
    shell(judging(judged, f"--base-url {ours.base_url}"))
    assert went_last_to(judged, ours)


@pytest.mark.parametrize(
    ("base_url", "provider"),
    [("https://api.openai.com/v1", "openai"), ("https://api.anthropic.com/v1", "anthropic")],
    ids=["openai", "claude"],
)
@on_sqlite
def test_the_address_of_an_earlier_run_at_a_provider_is_known(judged, base_url, provider):
    as_stored_by_an_earlier_release(judged, endpoint_host=base_url.split("/")[2])
    options = read(judged, at_last_address, make_judge, RAG)
    assert options == RAG | {"provider": provider, "base_url": base_url}


@on_sqlite
def test_no_user_password_or_query_of_an_address_is_stored(store, ours):
    store_answers(store, 1)
    judge_pending(store, make_judge(**at(ours, base_url=f"{ours.base_url}?token=hidden")))
    stored = read(store, last_asked_run, 1)
    where = (stored.endpoint_host, stored.provider, stored.base_url)
    assert where == (host(ours), "openai", ours.base_url)


def test_a_stored_version_without_an_address_is_sent_nowhere_until_a_person_gives_one(
    store, ours, monkeypatch, shell
):
    monkeypatch.setenv(*PUBLIC_KEY)
    store_answers(store, 1)
    # As `align` stores an accepted prompt.
    write_to(store, ensure_version, make_judge(**at(ours)).version)
    words_of_error = r"rag v1 has used no host yet\. Its address is not stored: give it"
    for ask in (job_address, add_judging, request):
        with pytest.raises(AddressUnknown, match=words_of_error):
            ask(store, RAG)
    assert f"{LOCAL_URL}`" in shell(judging(store), code=2)
    chosen = job_address(store, RAG | {"provider": "openai"})
    assert chosen.host == "api.openai.com", "a person's choice"
    shell(judging(store, f"--base-url {ours.base_url}"))
    assert went_last_to(store, ours)
