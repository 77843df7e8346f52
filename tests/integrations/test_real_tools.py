"""An answer that Judgeboard and a real tool both received: its scores are found in the tool."""

import time

import httpx
import pytest
from servers import tool_server
from sqlalchemy import select

from graded_log import BAD, GOOD, GradedLog
from judgeboard.store.opening import open_store
from judgeboard.store.tables import RESPONSE, REVIEW
from judgeboard.tools.pull import pull
from judgeboard.tools.push import push
from sent_traces import PROTOBUF, Sent, gathered, receiving, request, send_spans, trace

ROOT = Sent(7)
TOOL_SECONDS = 120  # a tool imports much with its first requests


def in_phoenix(http):
    path = "/v1/projects/default/span_annotations"
    found = http.get(path, params={"span_ids": ROOT.span_id}).json()["data"]
    return {
        (
            each["name"],
            each["annotator_kind"] == "HUMAN",
            result["label"] or result["score"],
            result["explanation"],
        )
        for each in found
        if (result := each["result"])
    }


def in_mlflow(http):
    found = http.get(f"/api/3.0/mlflow/traces/tr-{ROOT.trace_id}").json()["trace"]["trace_info"]
    values = (
        (each, each["feedback"]["value"], each.get("rationale") or None)
        for each in found["assessments"]
    )
    return {
        (each["assessment_name"], each["source"]["source_type"] == "HUMAN", *of)
        for each, *of in values
    }


def add_scores(name, http):
    """Let a person and a judge of the tool score the trace."""
    if name == "phoenix":
        common = {"span_id": ROOT.span_id, "metadata": {}}
        label = {
            "name": "label",
            "annotator_kind": "HUMAN",
            "result": {"label": "grounded"},
            "identifier": "ada",
        }
        score = {
            "name": "relevance",
            "annotator_kind": "LLM",
            "result": {"score": 0.5},
            "identifier": "",
        }
        body = {"data": [common | label, common | score]}
        assert http.post("/v1/span_annotations?sync=true", json=body).is_success
        return
    for assessment in (
        {"assessment_name": "label", "source": {"source_type": "HUMAN", "source_id": "ada"}}
        | {"feedback": {"value": "grounded"}},
        {
            "assessment_name": "relevance",
            "source": {"source_type": "LLM_JUDGE", "source_id": "scorer"},
        }
        | {"feedback": {"value": 0.5}},
    ):
        path = f"/api/3.0/mlflow/traces/tr-{ROOT.trace_id}/assessments"
        assert http.post(path, json={"assessment": assessment}).is_success


@pytest.mark.timeout(600)
@pytest.mark.parametrize(("name", "scores_in"), [("phoenix", in_phoenix), ("mlflow", in_mlflow)])
def test_scores_are_found_in_the_real_tool(name, scores_in, sqlite_store, tmp_path):
    body = request(trace(7))
    with receiving(sqlite_store) as http:
        assert send_spans(http, body).status_code == 200
    assert gathered(sqlite_store) == 1
    log = GradedLog(sqlite_store)
    with sqlite_store.reading() as connection:
        answer = connection.execute(select(RESPONSE.c.id)).scalar_one()
    (unknown,) = log.answers(metadata={"trace_id": "ef" * 16, "span_id": "ef" * 8})
    judge = log.version("lexical")
    log.say(
        judge,
        {
            answer: {"groundedness": 0.9, "label": GOOD, "reasoning": "cited"},
            unknown: {"quality": 1},
        },
    )
    mara = log.review(answer, "mara", label=GOOD.value, quality=2)
    log.review(answer, "jon", label=GOOD.value)
    with (
        tool_server(name, tmp_path) as (address, _, headers),
        httpx.Client(base_url=address, timeout=TOOL_SECONDS) as http,
    ):
        assert send_spans(http, body, PROTOBUF | headers).is_success
        deadline = time.monotonic() + TOOL_SECONDS
        while not (first := push(sqlite_store, name, address=address, environment={})).sent[
            "judgments"
        ]:
            assert time.monotonic() < deadline, first
            time.sleep(1)  # it stores spans some time after it took them
        assert sum(first.refused.values()) == 1
        log.review(answer, "mara", label=BAD.value, quality=3, note="no source", replaces=mara)
        log.say(judge, {answer: {"groundedness": 0.3, "label": GOOD}})
        again = push(sqlite_store, name, address=address, environment={}, with_notes=True)
        assert again.sent == {"judgments": 1, "reviews": 1, "gold": 0}
        assert scores_in(http) == {
            ("groundedness", False, 0.3, None),
            ("label", False, "grounded", None),
            ("label", True, "hallucinated", "no source"),
            ("quality", True, 3.0, "no source"),
            ("label", True, "grounded", None),
        }
        add_scores(name, http)
        for store, answers in (
            (sqlite_store, 0),
            (open_store(tmp_path / "other.db", create=True), 1),
        ):
            result = pull(store, name, address=address, environment={}, actor="test")
            assert result.stopped is None, result
            # The scores that Judgeboard sent are not among them.
            assert {kind: count for kind, count in result.new.items() if count} == (
                {"verdicts": 1, "grades": 1} | ({"responses": answers} if answers else {})
            ), result
            again = pull(store, name, address=address, environment={}, actor="test")
            assert sum(again.new.values()) == 0
        with store.reading() as connection:
            pulled = connection.execute(select(RESPONSE)).one()
            grade = connection.execute(select(REVIEW.c.label)).scalar_one()
        assert (pulled.external_id, pulled.query, pulled.answer) == (
            ROOT.trace_id,
            "question 7",
            "answer 7",
        )
        assert pulled.passages == ("passage 1 of 7",)
        assert grade == GOOD
        store.close()
