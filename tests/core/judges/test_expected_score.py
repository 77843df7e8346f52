"""The expected score by token probabilities: only on request, only where the endpoint gives them."""

import json
import math
from dataclasses import replace

import pytest

from command_lines import run_line
from endpoint_scripts import in_turn, rejects_parameter
from judgeboard.cli.app import run
from judgeboard.domain import JudgeInput, Status
from judgeboard.judges.expected_scores import expected_scores
from judgeboard.judges.judge import JudgeOptions, fingerprint
from judgeboard.llm.chat import TokenChance
from judgeboard.llm.openai_provider import read_token_chances
from judgeboard.llm.recording_endpoint import (
    RecordingEndpoint,
    always,
    completion,
    verdict,
)
from judgeboard.registry.judge_kinds import JUDGES
from judging_log import address, judge_once, judgments, store_answers

ITEM = JudgeInput(1, "q", "a", ("p",), external_id="r1")
TEXT = '{"reasoning": "quality: 1, or \\"quality\\": 2", "groundedness": 0.5, "quality": 3}'


def with_chances(reply, tokens):
    """Return a completion with its tokens' probabilities: each token's text, and the likeliest texts at its place."""
    content = [
        {"token": text, "logprob": _log(chances.get(text, 1.0)), "top_logprobs": _top(chances)}
        for text, chances in tokens
    ]
    choice = {**reply.body["choices"][0], "logprobs": {"content": content}}
    return replace(reply, body={**reply.body, "choices": [choice]})


def _top(chances):
    return [{"token": text, "logprob": _log(chance)} for text, chance in chances.items()]


def _log(chance):
    return math.log(chance) if chance > 0 else -9999.0  # as servers write what cannot come


def judged(script, kind="rag", **options):
    with RecordingEndpoint(script) as endpoint:
        options = {"model": "m", "base_url": endpoint.base_url, "logprobs": True} | options
        return judge_once(JUDGES[kind].make(JudgeOptions(**options)), ITEM), endpoint


def reply(digit, token="3"):
    before, _, after = TEXT.rpartition(token)
    return with_chances(
        completion(TEXT), [(before, {before: 1.0}), (token, digit), (after, {after: 1.0})]
    )


@pytest.mark.parametrize(
    ("token", "chances", "expected"),
    [
        ("3", {"3": 0.5, "4": 0.25, "2": 0.25}, 3.0),
        ("3", {"3": 0.6, "4": 0.4}, 3.4),
        ("3", {"3": 0.6, "4": 0.2, " I": 0.2}, 3.25),  # what is no level is left out
        ("3", {"3": 0.5, "5": 0.3, "34": 0.1, "3.5": 0.1}, 3.0),
        (" 3", {" 3": 0.5, "1": 0.5}, 2.0),
        ("3}", {"3}": 0.5, "4}": 0.5}, 3.5),
        ("3", {"3": 1.0}, 3.0),
    ],
)
def test_it_is_the_mean_of_the_levels_by_their_probability(token, chances, expected):
    verdict_, endpoint = judged(always(reply(chances, token)))
    (score,) = verdict_.scores
    assert (score.dimension, score.scale) == ("expected quality", "1-4")
    assert score.value == pytest.approx(expected)
    assert verdict_.quality == 3  # beside the integer, not in its place
    body = endpoint.requests[0].body
    assert (body["logprobs"], body["top_logprobs"]) == (True, 10)


def test_without_probabilities_nothing_is_kept():
    for given in (completion(TEXT), with_chances(completion(TEXT), [])):
        verdict_, _ = judged(always(given))
        assert (verdict_.status, verdict_.quality, verdict_.scores) == (Status.OK, 3, ())


def test_an_endpoint_that_refuses_the_parameter_is_asked_without_it():
    script = rejects_parameter(always(verdict()), "logprobs", "Unsupported parameter: logprobs")
    verdict_, endpoint = judged(script)
    assert (verdict_.status, verdict_.scores, verdict_.dropped_parameters) == (
        Status.OK,
        (),
        ("logprobs",),
    )
    assert [
        ("logprobs" in each.body, "top_logprobs" in each.body) for each in endpoint.requests
    ] == [
        (True, True),
        (False, False),
    ]


def test_a_repaired_reply_is_judged_by_its_own_tokens():
    verdict_, endpoint = judged(
        in_turn([with_chances(completion("hm"), [("hm", {"hm": 1.0})]), reply({"3": 1.0})])
    )
    assert len(endpoint.requests) == 2
    assert [score.value for score in verdict_.scores] == [3.0]


def test_an_unusable_verdict_has_no_expected_score():
    text = '{"reasoning": "r", "groundedness": 9, "quality": 3}'
    verdict_, _ = judged(always(with_chances(completion(text), [(text, {text: 1.0})])))
    assert (verdict_.status, verdict_.scores) == (Status.UNPARSABLE, ())


def test_it_is_off_by_default_and_then_the_version_is_the_same_as_ever():
    verdict_, endpoint = judged(always(reply({"3": 0.5, "4": 0.5})), logprobs=False)
    assert verdict_.scores == ()
    assert "logprobs" not in endpoint.requests[0].body
    for kind in ("rag", "rubric"):
        plain = JUDGES[kind].make(JudgeOptions(model="m", base_url="http://127.0.0.1:1/v1")).version
        asked = (
            JUDGES[kind]
            .make(JudgeOptions(model="m", base_url="http://127.0.0.1:1/v1", logprobs=True))
            .version
        )
        assert "logprobs" not in plain.params
        assert fingerprint(plain) != fingerprint(asked)


def test_a_rubric_has_one_for_each_dimension():
    levels = {"accuracy": 2, "helpfulness": 4, "safety": 5, "coherence": 4}
    text = json.dumps(
        {name: {"reasoning": 'a "score": 1', "score": level} for name, level in levels.items()}
    )
    tokens = [
        (
            letter,
            {letter: 0.5, str(int(letter) - 1): 0.5}
            if letter.isdigit() and letter != "1"
            else {letter: 1.0},
        )
        for letter in text
    ]
    verdict_, _ = judged(always(with_chances(completion(text), tokens)), "rubric")
    expected = {
        score.dimension: score.value
        for score in verdict_.scores
        if score.dimension.startswith("expected")
    }
    assert expected == {f"expected {name}": level - 0.5 for name, level in levels.items()}


@pytest.mark.parametrize(
    "choice",
    [
        {},
        {"logprobs": None},
        {"logprobs": {"content": None}},
        {"logprobs": {"content": [{"token": 3}]}},
        {"logprobs": {"tokens": ["3"], "token_logprobs": [-0.1]}},
        {"logprobs": {"content": [{"token": "3", "logprob": "high", "top_logprobs": [{}]}]}},
        {"logprobs": []},
    ],
)
def test_probabilities_in_another_shape_are_none(choice):
    assert read_token_chances(choice) is None


def test_a_certain_level_that_a_server_writes_oddly_stays_within_the_scale():
    tokens = [TokenChance('"quality": ', ()), TokenChance("3", (("3", 1e-7), ("4", -9999.0)))]
    (score,) = expected_scores(tokens, [("quality", 3, r'"quality"\s*:\s*')], low=1, high=4)
    assert score.value == 3.0
    assert expected_scores(tokens, [("quality", 2, r'"quality"\s*:\s*')], low=1, high=4) == ()


@pytest.mark.parametrize(
    ("given", "says"),
    [
        (reply({"3": 0.5, "4": 0.5}), "expected score: 2 of 2"),
        (completion(TEXT), "expected score: 0 of 2"),
    ],
)
def test_the_run_says_whether_there_were_any(sqlite_store, capsys, given, says):
    store_answers(sqlite_store, 2)
    with RecordingEndpoint(always(given)) as endpoint:
        model = f"--judge rag --model m --base-url {endpoint.base_url}"
        assert run_line(f"judge {model} --logprobs --db {address(sqlite_store)}") == 0
    assert says in capsys.readouterr().out
    assert len(judgments(sqlite_store)) == 2


def test_a_judge_that_writes_no_digit_takes_none(sqlite_store, capsys, tmp_path):
    for kind in ("lexical", "grade"):
        model = [] if kind == "lexical" else ["--model", "m", "--base-url", "http://127.0.0.1:1/v1"]
        assert (
            run(["judge", "--judge", kind, *model, "--logprobs", "--db", address(sqlite_store)])
            == 2
        )
        assert "--logprobs" in capsys.readouterr().err
