"""Before a command calls a model, it says how many calls it makes at most and what they cost."""

import re

import pytest

from command_lines import run_line
from judgeboard.llm.recording_endpoint import RecordingEndpoint, always, failure, verdict
from judging_log import address, store_answers

ANSWERS = 30
UP_TO = re.compile(r"up to (\d+) calls? of ([\w ]+), at most about \$ ([\d.]+)")
SUITE = """
name: shop
cases:
- query: How long is it?
  reference: It is long.
- query: How wide is it?
  reference: It is wide.
"""


@pytest.fixture
def prices(tmp_path):
    file = tmp_path / "prices.toml"
    file.write_text(
        "[models]\nscripted = { input = 10, output = 20 }\nwriter = { input = 100, output = 200 }\n"
    )
    return str(file)


def judged_with_anchors_and_controls(store):
    store_answers(store, ANSWERS)
    db = f"--db {address(store)}"
    assert run_line(f"judge --judge lexical {db}") == 0
    run_line(f"test anchors make --n {ANSWERS} {db}")
    run_line(f"test controls make --kinds passages_removed --n {ANSWERS} {db}")


@pytest.mark.parametrize(
    ("command", "calls"),
    [
        ("judge --judge rag", ANSWERS),
        ("judge --judge rag --repeats 3", 3 * ANSWERS),
        ("judge --judge rag --limit 4", 4),
        ("test anchors judge --judge rag", ANSWERS),
        ("test audit lexical --sample 1", ANSWERS),
        ("test controls judge --judge rag", 2 * ANSWERS),
        ("compare --pairs pairs.csv", 4),
        ("refine --generator writer --max-repeats 2 --where source=log", 2 * 3 * ANSWERS),
        (
            "refine reflect --generator writer --min-chars 1 --query-type all --rebuild-messages",
            3 * ANSWERS,
        ),
        ("suite run suite.yaml --candidate model:writer", 4),
        ("suite run suite.yaml --candidate source:log", 1),
    ],
)
def test_each_command_that_calls_a_model_says_before_how_much_that_is(
    sqlite_store, fill_once, tmp_path, monkeypatch, capsys, prices, command, calls
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "suite.yaml").write_text(SUITE)
    pairs = [f"What is {n}?,It is {n}.,Nothing." for n in range(2)]
    (tmp_path / "pairs.csv").write_text("\n".join(("question,answer_a,answer_b", *pairs)))
    fill_once(
        "judged answers with anchors and controls", sqlite_store, judged_with_anchors_and_controls
    )
    capsys.readouterr()
    with RecordingEndpoint(always(failure(400, "no"))) as endpoint:
        model = f"--model scripted --base-url {endpoint.base_url} --prices {prices}"
        run_line(f"{command} {model} --db {address(sqlite_store)}")
        assert endpoint.requests
        # An estimate sends nothing.
        assert len(endpoint.requests) <= calls
    lines = [
        found for line in capsys.readouterr().err.splitlines() if (found := UP_TO.fullmatch(line))
    ]
    assert [int(found[1]) for found in lines] == [calls]
    assert lines[0][2] == ("writer and scripted" if "writer" in command else "scripted")
    assert float(lines[0][3]) > 0


def test_the_estimate_is_no_lower_than_the_cost_and_then_follows_the_tokens_of_earlier_calls(
    sqlite_store, capsys, prices
):
    store_answers(sqlite_store, ANSWERS)
    with RecordingEndpoint(always(verdict())) as endpoint:

        def judge(options):
            assert run_line(f"judge --judge {options} --db {address(sqlite_store)}") == 0
            return capsys.readouterr()

        model = f"rag --model scripted --base-url {endpoint.base_url}"
        shown = judge(f"{model} --prices {prices} --limit 10")
        most = UP_TO.search(shown.err)
        cost = re.search(r"cost \$ ([\d.]+)", shown.out)
        assert float(most[3]) >= float(cost[1]) == 10 * (100 * 10 + 20 * 20) / 1e6
        shown = judge(f"{model} --prices {prices}")
        assert all(part in shown.err for part in ("20 calls", "scripted", "$ 0.028"))
        assert "cost $ 0.028" in shown.out
        shown = judge(f"{model} --rejudge all")
        assert all(part in shown.err for part in ("30 calls", "scripted", "$ 0 "))
        # Nothing is left to judge.
        assert "calls of" not in judge(f"{model} --prices {prices}").err
    # No model is called.
    assert "calls of" not in judge("lexical").err
