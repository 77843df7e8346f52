"""Comparing pairs: two calls a pair, each order once, stored as they come, and going on where it ended."""

import pytest

from engines import on_sqlite
from judgeboard.domain import Pair, RunState, Shown, Status
from judgeboard.errors import BadInput, UnknownPrice
from judgeboard.judges.judge import JudgeOptions
from judgeboard.judges.pairwise import PairwiseJudge
from judgeboard.llm.recording_endpoint import RecordingEndpoint, always, completion, failure
from judgeboard.runs.pairwise import compare_pairs
from judgeboard.store.comparisons import latest_asks, latest_comparisons
from judgeboard.store.pairs import store_pairs
from judgeboard.store.tables import COMPARISON
from pair_log import add_pairs, asked, by_pair, pairwise, said
from stored_rows import read, rows_of, write_to


def compare(store, script, pair_ids, **options):
    aspects = {"aspects": options.pop("aspects")} if "aspects" in options else {}
    with RecordingEndpoint(script) as endpoint:
        compared = compare_pairs(
            store, pairwise(endpoint, **aspects), pair_ids, **{"concurrency": 4} | options
        )
    return compared, endpoint


@on_sqlite
def test_each_pair_is_asked_once_in_each_order_and_a_second_call_asks_nothing(store):
    pair_ids = add_pairs(store, 20)
    compared, endpoint = compare(store, always(said("first")), pair_ids)
    assert asked(endpoint) == {(number, order): 1 for number in range(20) for order in ("ab", "ba")}
    account = compared.account
    assert (account.asked, account.ok, account.not_reached, account.state) == (
        40,
        40,
        0,
        RunState.DONE,
    )
    again, endpoint = compare(store, always(said("first")), pair_ids)
    assert (again.account.asked, again.account.run_id, endpoint.requests) == (0, None, [])
    assert again.version == compared.version


@on_sqlite
def test_what_was_said_is_stored_in_terms_of_the_stored_answers(store):
    (pair_id,) = add_pairs(store, 1)
    compared, _ = compare(store, always(said("first")), [pair_id])
    ab, ba = read(store, latest_comparisons, compared.version.id, pair_id)
    assert (ab.shown, ab.preferences) == (Shown.AB, {"overall": "a"})
    assert (ba.shown, ba.preferences) == (Shown.BA, {"overall": "b"})
    assert "first" in (ab.reasoning or "")
    row = rows_of(store, COMPARISON)[0]
    assert (row["condition"], row["prompt_tokens"], row["model_reported"]) == (
        "plain",
        100,
        "scripted-model",
    )


def test_each_outcome_is_counted_as_what_it_is_and_none_is_a_verdict(sqlite_store):
    pair_ids = add_pairs(sqlite_store, 4)
    replies = {
        (0, "ab"): completion("Hard to say."),
        (1, "ba"): completion(None, refusal="No."),
        (2, "ab"): failure(
            400, "maximum context length is 10 tokens", code="context_length_exceeded"
        ),
    }
    compared, endpoint = compare(sqlite_store, by_pair(replies), pair_ids)
    account = compared.account
    assert (account.ok, account.unparsable, account.refused, account.error) == (5, 1, 1, 1)
    assert account.exit_code == 1
    statuses = {
        each.shown: each.status
        for each in read(sqlite_store, latest_comparisons, compared.version.id, pair_ids[0])
    }
    assert statuses == {Shown.AB: Status.UNPARSABLE, Shown.BA: Status.OK}
    assert asked(endpoint)[0, "ab"] == 2, "one repair"


def test_unusable_orders_are_asked_again_on_request_and_the_usable_ones_are_not(sqlite_store):
    pair_ids = add_pairs(sqlite_store, 3)
    compare(sqlite_store, by_pair({(1, "ba"): completion("hm")}), pair_ids)
    compared, endpoint = compare(sqlite_store, always(said("second")), pair_ids, again=True)
    assert asked(endpoint) == {(1, "ba"): 1}
    with sqlite_store.reading() as connection:
        asks = latest_asks(connection, compared.version.id, pair_ids)
        assert latest_comparisons(connection, compared.version.id, pair_ids[1])[1].preferences == {
            "overall": "a"
        }
    assert (asks[pair_ids[1], Shown.BA].ask, asks[pair_ids[1], Shown.BA].usable) == (1, True)
    _, endpoint = compare(sqlite_store, always(said("second")), pair_ids, again=True)
    assert endpoint.requests == []


def test_a_later_failure_takes_no_usable_verdict_away(sqlite_store):
    pair_ids = add_pairs(sqlite_store, 1)
    compare(sqlite_store, by_pair({(0, "ab"): completion("hm")}), pair_ids)
    compared, _ = compare(sqlite_store, always(completion("hm again")), pair_ids, again=True)
    assert [
        each.status
        for each in read(sqlite_store, latest_comparisons, compared.version.id, pair_ids[0])
    ] == [
        Status.UNPARSABLE,
        Status.OK,
    ]


def test_a_refused_key_stops_and_the_same_call_goes_on_in_the_same_run(sqlite_store):
    pair_ids = add_pairs(sqlite_store, 6)

    def refuse_later(request, number):
        return said("first") if number < 5 else failure(401, "no such key")

    first, endpoint = compare(sqlite_store, refuse_later, pair_ids, concurrency=1)
    assert (first.account.state, first.account.exit_code, first.account.asked) == (
        RunState.STOPPED,
        2,
        5,
    )
    assert first.account.not_reached == 7
    done = set(asked(endpoint)) - {max(asked(endpoint))}
    second, endpoint = compare(sqlite_store, always(said("first")), pair_ids, concurrency=1)
    assert (second.account.run_id, second.account.asked, second.account.state) == (
        first.account.run_id,
        12,
        RunState.DONE,
    )
    assert len(endpoint.requests) == 7
    # Nothing that was stored is asked again.
    assert not done & set(asked(endpoint))


def test_newcomers_are_asked_in_a_run_of_their_own(sqlite_store):
    first, _ = compare(sqlite_store, always(said("tie")), add_pairs(sqlite_store, 2))
    more = add_pairs(sqlite_store, 3, first=2)
    second, endpoint = compare(sqlite_store, always(said("tie")), [1, 2, *more])
    assert len(endpoint.requests) == 6
    assert second.account.run_id != first.account.run_id


def test_a_forgotten_pair_is_left_out_and_nothing_to_compare_is_said(sqlite_store):
    (question,) = write_to(sqlite_store, store_pairs, [Pair("bench", "no answers", "Which?")]).new
    pair_ids = add_pairs(sqlite_store, 1)
    _, endpoint = compare(sqlite_store, always(said("tie")), [question, *pair_ids])
    assert set(asked(endpoint)) == {(0, "ab"), (0, "ba")}
    with pytest.raises(BadInput):
        compare(sqlite_store, always(said("tie")), [question])


def test_a_cost_limit_needs_a_price(sqlite_store):
    remote = JudgeOptions(model="scripted", base_url="https://models.example.org/v1").endpoint(
        "the test"
    )
    with pytest.raises(UnknownPrice, match="--prices"):
        compare_pairs(sqlite_store, PairwiseJudge(remote), add_pairs(sqlite_store, 1), max_cost=1.0)
