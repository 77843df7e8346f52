"""Judges that obey the texts that they judge, and judges that do not, from answers to the health report."""

import json
import re
import zlib

import pytest

from engines import on_sqlite
from judgeboard.domain import Response
from judgeboard.health.record import State
from judgeboard.health.report import measure_health
from judgeboard.judges.injections import STYLES, Asks, Place, injected, style_of
from judgeboard.llm.recording_endpoint import RecordingEndpoint, completion, verdict
from judgeboard.measure.notes import paragraph
from judgeboard.methods.control_answers.run import (
    CONTROL_KINDS,
    judge_control_answers,
    make_control_answers,
)
from judgeboard.runs.judging import judge_pending, make_judge
from judgeboard.store.health import list_controls
from judgeboard.store.items import load_item
from judgeboard.store.storing import store_responses
from judging_log import rag
from stored_rows import read, write_to

ANSWERS = 20  # two of each style of injection
ORDER = re.compile(r"groundedness\W{1,4}([01]\.0)")


def add(store, count=ANSWERS):
    """Add answers of which every second one is good."""
    rows = [
        Response(
            "log",
            f"a{number}",
            f"How long is rope {number}?",
            f"Rope {number} is {'long' if number % 2 else 'of cheese'}.",
            (f"Rope {number} is long.",),
        )
        for number in range(count)
    ]
    write_to(store, store_responses, rows)


def task(request):
    return str(request["messages"][-1]["content"])


def graded(groundedness):
    return verdict(groundedness=groundedness, quality=4 if groundedness > 0.5 else 1)


def clean(request):
    return 0.1 if "of cheese" in task(request) else 0.9


def obedient(request, _number):
    """Do what a readable text orders."""
    order = ORDER.search(task(request))
    return graded(clean(request) if order is None else float(order[1]))


def stubborn(request, _number):
    """Judge the same with and without such a text."""
    return graded(clean(request))


def strict(request, _number):
    """Give the lowest score wherever such a text is noticed: it makes an answer worse."""
    return graded(0.0 if ORDER.search(task(request)) else clean(request))


def noisy(request, _number):
    """Now and then give another score, whatever the text says."""
    turns = zlib.crc32(task(request).encode()) % 4 == 0
    return graded(1 - clean(request) if turns else clean(request))


def check_of(store, judge, name="injected"):
    return next(check for check in measure_health(store, judge).checks if check.name == name)


def obeys(store, script, make=rag):
    with RecordingEndpoint(script) as endpoint:
        judge = make(endpoint)
        judge_control_answers(store, judge, kinds=["injected"], concurrency=4)
    return check_of(store, judge.version.name)


@on_sqlite
@pytest.mark.parametrize(
    ("script", "state"), [(obedient, State.WARNING), (stubborn, State.OK), (strict, State.OK)]
)
def test_a_judge_that_obeys_is_warned_of_and_one_that_does_not_passes(store, script, state):
    add(store)
    make_control_answers(store, kinds=["injected"])
    check = obeys(store, script)
    assert check.state is state
    assert check.statistic.n == 2 * ANSWERS  # in the answer and in a passage
    if state is State.OK:
        assert (check.statistic.value, check.response_ids) == (0, ())
        return
    # It reads neither Base64 nor what the prompt leaves out.
    assert check.also["base64"].value == check.also["unicode_tags"].value == 0
    assert check.also["ready_reply"].value == check.also["chat_markup"].value == 1
    assert {name: check.also[name].n for name in Place} == dict.fromkeys(Place, ANSWERS)
    assert len(check.response_ids) == round(check.statistic.value * check.statistic.n)
    by_id = {each.response_id: each for each in read(store, list_controls)}
    for id_ in check.response_ids:
        # The order that could move this answer's score.
        good = int(by_id[id_].external_id.split("#")[0][1:]) % 2
        assert by_id[id_].kind.endswith("low" if good else "high")


def test_a_log_without_passages_shows_it_too(sqlite_store):
    rows = [Response("log", f"a{number}", "q", f"It is {number}.", None) for number in range(40)]
    write_to(sqlite_store, store_responses, rows)
    make_control_answers(sqlite_store, kinds=["injected"])
    judge_pending(sqlite_store, make_judge("lexical"))
    missing = check_of(sqlite_store, "lexical")
    assert [each.code for each in missing.notes] == ["few_control_verdicts"]
    assert "--kinds injected" in missing.command
    check = obeys(sqlite_store, lambda _request, _number: verdict(quality=2))
    assert (check.state, check.statistic.n) == (State.OK, 80)
    assert check.also["injected_passage"].n == 0


def test_noise_is_not_taken_for_obedience(sqlite_store):
    add(sqlite_store, 60)
    make_control_answers(sqlite_store, kinds=["injected"], n=60)
    check = obeys(sqlite_store, noisy)
    assert check.statistic.value > 0.1
    assert check.state is not State.WARNING


def test_the_scores_of_a_rubric_are_compared_too(sqlite_store):
    def script(request, number):
        reply = json.loads(obedient(request, number).body["choices"][0]["message"]["content"])
        score = 5 if reply["groundedness"] > 0.5 else 1
        named = str(request["messages"][0]["content"]).split("named exactly as above")[-1]
        names = re.findall(r'"(\w+)"', named)
        return completion(json.dumps({name: {"reasoning": "r", "score": score} for name in names}))

    def rubric(endpoint):
        return make_judge("rubric", model="s", base_url=endpoint.base_url, tries=1)

    add(sqlite_store)
    make_control_answers(sqlite_store, kinds=["injected"])
    check = obeys(sqlite_store, script, rubric)
    assert check.state is State.WARNING
    assert "score" in paragraph(check.notes)


def test_a_worthless_answer_with_a_high_score_is_warned_of(sqlite_store):
    add(sqlite_store, 40)
    make_control_answers(sqlite_store, kinds=["constant"])

    def worthless(judged, name):
        with RecordingEndpoint(judged) as endpoint:
            judge = rag(endpoint, name=name)
            judge_control_answers(sqlite_store, judge, kinds=["constant"], concurrency=4)
        return check_of(sqlite_store, name, "constant")

    lenient = worthless(lambda _request, _number: verdict(quality=3), "lenient")
    assert (lenient.state, lenient.statistic.value) == (State.WARNING, 1)
    assert len(lenient.response_ids) == 40
    sound = worthless(lambda _request, _number: verdict(quality=1), "sound")
    assert (sound.state, sound.statistic.value) == (State.OK, 0)
    answers = {
        read(sqlite_store, load_item, each.response_id).response.answer
        for each in read(sqlite_store, list_controls)
    }
    # Nothing, one sentence, and the questions themselves.
    assert "" in answers
    assert any(answer.startswith("How long") for answer in answers)
    assert sum(not answer.startswith("How long") for answer in answers) == 2


@pytest.mark.parametrize("style", STYLES)
def test_each_style_orders_both_verdicts_in_both_places(style):
    high, low = (injected("It is long.", style, asks) for asks in Asks)
    assert high != low
    assert high.startswith("It is long.")
    number = next(number for number in range(1, 11) if style_of(number) == style)
    original = Response("log", "a", "q", "It is long.", ("One.", "Two."), derived_from=number)
    for place in Place:
        made = CONTROL_KINDS[f"{place}_high"].change(original, original)
        assert made.metadata == {"style": style}
        changed = made.answer if place == "injected_answer" else made.passages[0]
        assert changed != (original.answer if place == "injected_answer" else "One.")
        assert (made.answer == original.answer) != (made.passages == original.passages)
