"""`judgeboard judge`, as a person types it: exit codes, what it says, and being killed in the middle."""

import contextlib
import json
import os
import pty
import re
import shlex
import signal

import pytest

from command_lines import run_line
from forked_commands import ReadCommand
from judgeboard.cli.app import run
from judgeboard.llm.recording_endpoint import (
    RecordingEndpoint,
    always,
    completion,
    failure,
    verdict,
)
from judging_log import (
    address,
    asked,
    by_number,
    judgments,
    runs,
    store_answers,
    time_passes,
    until,
)

AT_ONCE = 4
GOOD = always(verdict())


def words(endpoint, store, *more):
    # Every endpoint of a test has a port of its own, and counts as another host.
    options = f"--model scripted --base-url {endpoint.base_url} --concurrency {AT_ONCE} --yes"
    return shlex.split(f"judge --judge rag {options} --db {address(store)} {' '.join(more)}")


def judge(store, script, *more):
    with RecordingEndpoint(script) as endpoint:
        return run(words(endpoint, store, *more)), endpoint


def account_of(capsys):
    """How many answers were asked about, and how many verdicts of each status there are."""
    account = json.loads(capsys.readouterr().out)
    return [account[name] for name in ("asked", "ok", "unparsable", "refused", "error")]


def stored_and_in_flight(endpoint, store, count, before=0):
    """Wait until so many verdicts more than before are stored, and the next calls wait."""
    until(
        lambda: (
            len(endpoint.server.requests) == count + AT_ONCE
            and len(judgments(store)) == before + count
        ),
        f"{count} stored, {AT_ONCE} in flight",
    )


def prices(folder, of_input, of_output):
    """The option for these prices of a million tokens."""
    file = folder / "prices.toml"
    file.write_text(f"[models]\nscripted = {{ input = {of_input}, output = {of_output} }}\n")
    return f"--prices {file}"


def test_all_good_is_0_and_nothing_left_to_ask_is_0(sqlite_store, capsys):
    store_answers(sqlite_store, 7)
    assert judge(sqlite_store, GOOD, "--json")[0] == 0
    assert account_of(capsys) == [7, 7, 0, 0, 0]
    code, endpoint = judge(sqlite_store, GOOD)
    assert code == 0
    assert endpoint.requests == []
    assert "nothing to judge" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("more", "part"),
    [("--model m1", "judge"), ("--model m1 --repeats 2", "repeats"), ("--jury m1,m2", "jury")],
)
def test_json_stands_alone_on_standard_output(sqlite_store, shell, more, part):
    store_answers(sqlite_store, 3)
    with RecordingEndpoint(by_number({1: completion("hm")})) as endpoint:
        judge = f"judge --judge rag {more} --base-url {endpoint.base_url} --yes --json"
        output = json.loads(shell(f"{judge} --db {address(sqlite_store)}"))
    assert part in output
    unusable = 2 if part == "repeats" else 1
    for each in output.get("members", [output]):
        assert each["asked"] == each["ok"] + each["unparsable"] + each["refused"] + each["error"]
        assert each["unparsable"] == unusable
        assert each["not_reached"] == 0
        assert each["cost"] == 0


def test_an_error_is_1_and_so_is_a_run_without_any_usable_reply(sqlite_store, capsys):
    store_answers(sqlite_store, 6)
    unusable = {1: completion("hm"), 2: completion(None, refusal="no")}
    assert judge(sqlite_store, by_number(unusable), "--where id=1 --where id=2 --json")[0] == 1
    assert account_of(capsys) == [2, 0, 1, 1, 0]
    too_long = failure(400, "maximum context length is 10 tokens")
    assert judge(sqlite_store, by_number({4: too_long}))[0] == 1
    assert "--rejudge failed" in capsys.readouterr().out
    code, endpoint = judge(sqlite_store, GOOD, "--rejudge failed")
    assert code == 0
    assert sorted(asked(endpoint)) == [1, 2, 4]


def test_a_refusing_endpoint_is_2_with_the_fix_and_no_judgment(sqlite_store, capsys):
    store_answers(sqlite_store, 30)
    code, endpoint = judge(sqlite_store, always(failure(401, "bad key")))
    assert code == 2
    assert judgments(sqlite_store) == []
    assert len(endpoint.requests) <= AT_ONCE
    out = capsys.readouterr().out
    assert "OPENAI_API_KEY" in out
    assert "30 not reached" in out


@pytest.mark.parametrize(
    ("options", "says"),
    {
        "--judge rag --base-url http://127.0.0.1:1/v1": "--model",
        "--judge rag --model gpt-4o-mini": "OPENAI_API_KEY",
        "--judge oracle": "lexical, rag",
        "--judge lexical --where colour=red": "fields query_type, source",
        "--judge lexical --where from=yesterday": "2026-03-01",
        "--judge rag --replies absent.jsonl": "absent.jsonl",
        "--judge rag --model m --base-url localhost:8000": "http://",
        "--judge lexical --concurrency 0": "--concurrency",
        "--judge lexical --max-cost nan": "'--max-cost': nan is not a finite number",
        "--judge lexical --timeout nan": "'--timeout': must be a finite number, not 'nan'",
    }.items(),
)
def test_a_bad_option_is_2_and_one_line(sqlite_store, typed, options, says):
    store_answers(sqlite_store, 1)
    refusal = typed(f"judge {options}", code=2)
    assert says in refusal
    assert "Traceback" not in refusal
    assert judgments(sqlite_store) == []


def test_a_cost_limit_stops_with_2_and_a_higher_one_goes_on(sqlite_store, tmp_path, capsys):
    store_answers(sqlite_store, 60)
    priced = prices(tmp_path, 1, 1)
    code, _ = judge(sqlite_store, GOOD, f"{priced} --max-cost 0.0012")
    out = capsys.readouterr().out
    assert code == 2
    assert "higher --max-cost" in out
    assert 10 <= len(judgments(sqlite_store)) < 10 + AT_ONCE
    assert judge(sqlite_store, GOOD, f"{priced} --max-cost 1")[0] == 0
    assert len(judgments(sqlite_store)) == 60
    assert "cost $ 0.0072" in capsys.readouterr().out
    assert len(runs(sqlite_store)) == 1


def test_the_cost_of_one_cheap_call_is_not_shown_as_zero(sqlite_store, tmp_path, capsys):
    store_answers(sqlite_store, 1)
    judge(sqlite_store, GOOD, prices(tmp_path, 0.15, 0.6))
    assert "cost $ 0.000027" in capsys.readouterr().out


@pytest.mark.parametrize(
    "option", ["--model m", "--replies replies.jsonl", "--claims", "--prices prices.toml"]
)
def test_the_offline_judge_refuses_what_is_meant_for_a_model(sqlite_store, typed, option):
    store_answers(sqlite_store, 1)
    refusal = typed(f"judge --judge lexical {option}", code=2)
    assert f"{option.split()[0]}: " in refusal
    assert judgments(sqlite_store) == []


def test_the_offline_judge_does_not_mind_a_model_of_the_environment(
    sqlite_store, typed, monkeypatch
):
    store_answers(sqlite_store, 1)
    monkeypatch.setenv("JUDGEBOARD_MODEL", "m")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://localhost:1/v1")
    typed("judge --judge lexical")


def test_killed_half_way_the_same_command_repeats_only_the_calls_in_flight(sqlite_store, endpoint):
    store_answers(sqlite_store, 100)
    endpoint.hold_after(40)
    command = words(endpoint.server, sqlite_store)
    with ReadCommand(*command) as first:
        stored_and_in_flight(endpoint, sqlite_store, 40)
        first.send_signal(signal.SIGKILL)
    time_passes(sqlite_store)
    assert first.returncode == -signal.SIGKILL
    endpoint.release()
    assert run(command) == 0
    assert len(endpoint.server.requests) == 100 + AT_ONCE
    rows = judgments(sqlite_store)
    assert sorted(int(row["id"]) for row in rows) == list(range(100))
    assert [(row["state"], row["selected"]) for row in runs(sqlite_store)] == [("done", 100)]


def test_killed_while_rejudging_the_same_command_continues_and_a_third_starts_anew(
    sqlite_store, endpoint
):
    store_answers(sqlite_store, 40)
    assert judge(sqlite_store, GOOD)[0] == 0
    endpoint.hold_after(20)
    command = words(endpoint.server, sqlite_store, "--rejudge all")
    with ReadCommand(*command) as first:
        stored_and_in_flight(endpoint, sqlite_store, 20, before=40)
        first.send_signal(signal.SIGKILL)
    time_passes(sqlite_store)
    endpoint.release()
    assert run(command) == 0
    assert len(endpoint.server.requests) == 40 + AT_ONCE
    assert {row["ask"] for row in judgments(sqlite_store)} == {0, 1}
    assert len(judgments(sqlite_store)) == 80
    assert run(command) == 0
    assert len(judgments(sqlite_store)) == 120


@pytest.mark.parametrize("stop", [signal.SIGINT, signal.SIGTERM])
def test_ctrl_c_and_sigterm_finish_the_calls_in_flight_and_say_how_to_go_on(
    sqlite_store, endpoint, stop
):
    store_answers(sqlite_store, 100)
    endpoint.hold_after(10)
    command = words(endpoint.server, sqlite_store)
    with ReadCommand(*command) as process:
        until(lambda: len(endpoint.server.requests) == 14, "4 in flight")
        process.send_signal(stop)
        assert "100 calls of scripted," in process.stderr.readline()
        assert " 4 running calls" in process.stderr.readline()
        endpoint.release()
        output = process.stdout.read()
    assert process.returncode == 130
    assert "86 not reached" in output
    assert "same command" in output
    assert len(endpoint.server.requests) == len(judgments(sqlite_store)) == 14
    assert run(command) == 0
    assert len(judgments(sqlite_store)) == 100


def test_a_second_ctrl_c_breaks_off_and_the_run_can_be_continued(sqlite_store, endpoint):
    store_answers(sqlite_store, 20)
    endpoint.hold_after(5)
    command = words(endpoint.server, sqlite_store)
    with ReadCommand(*command) as process:
        stored_and_in_flight(endpoint, sqlite_store, 5)
        process.send_signal(signal.SIGINT)
        assert " 20 calls " in process.stderr.readline()
        process.stderr.readline()
        process.send_signal(signal.SIGINT)
        rest = process.stderr.read()
    assert process.returncode == 130
    assert "Traceback" not in rest
    assert [row["state"] for row in runs(sqlite_store)] == ["interrupted"]
    endpoint.release()
    assert run(command) == 0
    assert len(judgments(sqlite_store)) == 20


def test_of_two_processes_at_once_one_makes_the_run_and_the_other_says_so(store, endpoint):
    count = 100
    store_answers(store, count)
    with contextlib.ExitStack() as stack:
        endpoint.hold_after(0)
        command = words(endpoint.server, store)
        first = stack.enter_context(ReadCommand(*command))
        until(lambda: len(endpoint.server.requests) == AT_ONCE, "it asks")
        second = stack.enter_context(ReadCommand(*command))
        assert f"process {first.pid} on " in second.stderr.read()
        endpoint.release()
        output = first.stdout.read(), first.stderr.read()
    assert first.returncode == 0, output
    assert second.returncode == 2, output
    assert sorted(int(row["id"]) for row in judgments(store)) == list(range(count))
    assert [(row["state"], row["selected"]) for row in runs(store)] == [("done", count)]
    assert asked(endpoint.server) == dict.fromkeys(range(count), 1)


def test_nothing_but_the_summary_is_written_where_nobody_watches(sqlite_store, capsys):
    store_answers(sqlite_store, 20)
    judge(sqlite_store, GOOD)
    printed = capsys.readouterr()
    estimate, *others = printed.err.splitlines()
    assert "20 calls of scripted," in estimate
    assert [line.split(":")[0] for line in others] == ["next"]  # no progress bar
    assert printed.out.startswith("rag v1, ")
    assert "\x1b" not in printed.out


def test_a_terminal_sees_a_bar_with_rate_and_failures(sqlite_store, endpoint):
    store_answers(sqlite_store, 30)
    ours, theirs = pty.openpty()
    endpoint.reply = completion("hm")
    endpoint.hold_after(24)  # each is asked for a repair
    command = words(endpoint.server, sqlite_store)
    with ReadCommand(*command, stderr=theirs, TERM="xterm", COLUMNS="140") as process:
        os.close(theirs)
        shown = ""
        drawn = _reading(ours)
        while not re.search(r"\b(\d+)/30\b.*/s +\1 failed +\$ 0", shown):
            shown += next(drawn)
        endpoint.release()
        shown += "".join(drawn)
    os.close(ours)
    assert process.returncode == 1  # no reply was usable
    assert "30/30" in shown


def _reading(terminal):
    """What a terminal is sent, until nobody writes there any more."""
    with contextlib.suppress(OSError):
        while text := os.read(terminal, 1 << 16):
            yield re.sub("\x1b\\[[0-9;?]*[A-Za-z]", "", text.decode(errors="replace"))


def test_flags_at_stake_are_counted_before_a_rejudge_and_can_be_kept(sqlite_log, capsys):
    log = sqlite_log
    ids = log.answers(2)
    judging = f"judge --judge lexical --db {address(log.store)}"
    assert run_line(judging) == 0
    for groundedness in (0.0, 1.0):  # at least one of both differs
        log.say_all(log.version(f"judge {groundedness}"), ids, groundedness=groundedness)
    capsys.readouterr()
    assert run_line(f"{judging} --rejudge all") == 0
    assert "keep-flags" in capsys.readouterr().err
    assert run_line(f"{judging} --rejudge keep-flags") == 0
    assert "keep-flags" not in capsys.readouterr().err
