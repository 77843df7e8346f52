"""The expected score by token probabilities: only on request, only where the endpoint gives them."""

import json
import math
from dataclasses import replace

import pytest

from command_lines import run_line
from endpoint_scripts import in_turn, rejects_parameter
from judgeboard.domain import JudgeInput, Status
from judgeboard.judges.expected_scores import expected_scores
from judgeboard.judges.judge import fingerprint
from judgeboard.llm.chat import TokenChance
from judgeboard.llm.openai_provider import read_token_chances
from judgeboard.llm.recording_endpoint import (
    RecordingEndpoint,
    always,
    completion,
    verdict,
)
from judgeboard.runs.judging import make_judge
from judging_log import address, judged_by, judgments, store_answers

ITEM = JudgeInput(1, "q", "a", ("p",), external_id="r1")
TEXT = '{"reasoning": "quality: 1, or \\"quality\\": 2", "groundedness": 0.5, "quality": 3}'


def with_chances(text, tokens):
    """Return a completion with its tokens' probabilities: each token's text, and the likeliest texts at its place."""
    content = [
        _chance(token, chances.get(token, 1.0))
        | {"top_logprobs": [_chance(*each) for each in chances.items()]}
        for token, chances in tokens
    ]
    reply = completion(text)
    choice = reply.body["choices"][0] | {"logprobs": {"content": content}}
    return replace(reply, body=reply.body | {"choices": [choice]})


def _chance(token, chance):
    return {"token": token, "logprob": math.log(chance)}


def certain(text):
    return text, {text: 1.0}


def judged(script, kind="rag", logprobs=True):
    return judged_by(kind, ITEM, script, logprobs=logprobs)


def reply(digit, token="3"):
    before, _, after = TEXT.rpartition(token)
    return with_chances(TEXT, [certain(before), (token, digit), certain(after)])


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
    for given in (completion(TEXT), with_chances(TEXT, [])):
        verdict_, _ = judged(always(given))
        assert (verdict_.status, verdict_.quality, verdict_.scores) == (Status.OK, 3, ())


def test_an_endpoint_that_refuses_the_parameter_is_asked_without_it():
    script = rejects_parameter(always(verdict()), "logprobs", "Unsupported parameter: logprobs")
    verdict_, endpoint = judged(script)
    assert (verdict_.status, verdict_.scores) == (Status.OK, ())
    assert verdict_.dropped_parameters == ("logprobs",)
    parameters = {"logprobs", "top_logprobs"}
    assert [parameters & each.body.keys() for each in endpoint.requests] == [parameters, set()]


def test_a_repaired_reply_is_judged_by_its_own_tokens():
    unreadable = with_chances("hm", [certain("hm")])
    verdict_, endpoint = judged(in_turn([unreadable, reply({"3": 1.0})]))
    assert len(endpoint.requests) == 2
    assert [score.value for score in verdict_.scores] == [3.0]


def test_an_unusable_verdict_has_no_expected_score():
    text = '{"reasoning": "r", "groundedness": 9, "quality": 3}'
    verdict_, _ = judged(always(with_chances(text, [certain(text)])))
    assert (verdict_.status, verdict_.scores) == (Status.UNPARSABLE, ())


def test_it_is_off_by_default_and_then_the_version_is_the_same_as_ever():
    verdict_, endpoint = judged(always(reply({"3": 0.5, "4": 0.5})), logprobs=False)
    assert verdict_.scores == ()
    assert "logprobs" not in endpoint.requests[0].body
    for kind in ("rag", "rubric"):
        plain, asked = (
            make_judge(kind, model="m", base_url="http://127.0.0.1:1/v1", **options).version
            for options in ({}, {"logprobs": True})
        )
        assert "logprobs" not in plain.params
        assert fingerprint(plain) != fingerprint(asked)


def test_a_rubric_has_one_for_each_dimension():
    levels = {"accuracy": 2, "helpfulness": 4, "safety": 5, "coherence": 4}
    text = json.dumps(
        {name: {"reasoning": 'a "score": 1', "score": level} for name, level in levels.items()}
    )
    tokens = [
        (letter, {letter: 0.5, str(int(letter) - 1): 0.5})
        if letter.isdigit() and letter != "1"
        else certain(letter)
        for letter in text
    ]
    verdict_, _ = judged(always(with_chances(text, tokens)), "rubric")
    scores = {score.dimension: score.value for score in verdict_.scores}
    expected = {f"expected {name}": level - 0.5 for name, level in levels.items()}
    assert {name: scores[name] for name in scores if name.startswith("expected")} == expected


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
    values = [
        [score.value for score in expected_scores(tokens, [field], low=1, high=4)]
        for field in (("quality", level, r'"quality"\s*:\s*') for level in (3, 2))
    ]
    assert values == [[3.0], []]


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


@pytest.mark.parametrize("judge", ["lexical", "grade --model m --base-url http://127.0.0.1:1/v1"])
def test_a_judge_that_writes_no_digit_takes_none(sqlite_store, capsys, judge):
    assert run_line(f"judge --judge {judge} --logprobs --db {address(sqlite_store)}") == 2
    assert "--logprobs" in capsys.readouterr().err
