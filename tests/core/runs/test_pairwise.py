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


def compare(store, script, pair_ids, concurrency=4, **options):
    with RecordingEndpoint(script) as endpoint:
        judge = pairwise(endpoint)
        compared = compare_pairs(store, judge, pair_ids, concurrency=concurrency, **options)
    return compared, endpoint


FIRST, SECOND, TIE = (always(said(verdict)) for verdict in ("first", "second", "tie"))


@on_sqlite
def test_each_pair_is_asked_once_in_each_order_and_a_second_call_asks_nothing(store):
    pair_ids = add_pairs(store, 20)
    compared, endpoint = compare(store, FIRST, pair_ids)
    assert asked(endpoint) == {(number, order): 1 for number in range(20) for order in ("ab", "ba")}
    account = compared.account
    assert (account.asked, account.ok, account.not_reached) == (40, 40, 0)
    assert account.state is RunState.DONE
    again, endpoint = compare(store, FIRST, pair_ids)
    assert (again.account.asked, again.account.run_id, endpoint.requests) == (0, None, [])
    assert again.version == compared.version


@on_sqlite
def test_what_was_said_is_stored_in_terms_of_the_stored_answers(store):
    (pair_id,) = add_pairs(store, 1)
    compared, _ = compare(store, FIRST, [pair_id])
    ab, ba = read(store, latest_comparisons, compared.version.id, pair_id)
    assert (ab.shown, ab.preferences) == (Shown.AB, {"overall": "a"})
    assert (ba.shown, ba.preferences) == (Shown.BA, {"overall": "b"})
    assert "first" in (ab.reasoning or "")
    row = rows_of(store, COMPARISON)[0]
    expected = {"condition": "plain", "prompt_tokens": 100, "model_reported": "scripted-model"}
    assert row | expected == row


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
    of_first = read(sqlite_store, latest_comparisons, compared.version.id, pair_ids[0])
    statuses = {each.shown: each.status for each in of_first}
    assert statuses == {Shown.AB: Status.UNPARSABLE, Shown.BA: Status.OK}
    assert asked(endpoint)[0, "ab"] == 2, "one repair"


def test_unusable_orders_are_asked_again_on_request_and_the_usable_ones_are_not(sqlite_store):
    pair_ids = add_pairs(sqlite_store, 3)
    compare(sqlite_store, by_pair({(1, "ba"): completion("hm")}), pair_ids)
    compared, endpoint = compare(sqlite_store, SECOND, pair_ids, again=True)
    assert asked(endpoint) == {(1, "ba"): 1}
    version_id, pair_id = compared.version.id, pair_ids[1]
    _, ba = read(sqlite_store, latest_comparisons, version_id, pair_id)
    assert ba.preferences == {"overall": "a"}
    ask = read(sqlite_store, latest_asks, version_id, pair_ids)[pair_id, Shown.BA]
    assert (ask.ask, ask.usable) == (1, True)
    _, endpoint = compare(sqlite_store, SECOND, pair_ids, again=True)
    assert endpoint.requests == []


def test_a_later_failure_takes_no_usable_verdict_away(sqlite_store):
    pair_ids = add_pairs(sqlite_store, 1)
    compare(sqlite_store, by_pair({(0, "ab"): completion("hm")}), pair_ids)
    compared, _ = compare(sqlite_store, always(completion("hm again")), pair_ids, again=True)
    ab, ba = read(sqlite_store, latest_comparisons, compared.version.id, pair_ids[0])
    assert (ab.status, ba.status) == (Status.UNPARSABLE, Status.OK)


def test_a_refused_key_stops_and_the_same_call_goes_on_in_the_same_run(sqlite_store):
    pair_ids = add_pairs(sqlite_store, 6)

    def refuse_later(request, number):
        return said("first") if number < 5 else failure(401, "no such key")

    first, endpoint = compare(sqlite_store, refuse_later, pair_ids, concurrency=1)
    stopped = first.account
    assert (stopped.exit_code, stopped.asked, stopped.not_reached) == (2, 5, 7)
    assert stopped.state is RunState.STOPPED
    done = set(asked(endpoint)) - {max(asked(endpoint))}
    second, endpoint = compare(sqlite_store, FIRST, pair_ids, concurrency=1)
    assert (second.account.run_id, second.account.asked) == (stopped.run_id, 12)
    assert second.account.state is RunState.DONE
    assert len(endpoint.requests) == 7
    # Nothing that was stored is asked again.
    assert not done & set(asked(endpoint))


def test_newcomers_are_asked_in_a_run_of_their_own(sqlite_store):
    first, _ = compare(sqlite_store, TIE, add_pairs(sqlite_store, 2))
    more = add_pairs(sqlite_store, 3, first=2)
    second, endpoint = compare(sqlite_store, TIE, [1, 2, *more])
    assert len(endpoint.requests) == 6
    assert second.account.run_id != first.account.run_id


def test_a_forgotten_pair_is_left_out_and_nothing_to_compare_is_said(sqlite_store):
    (question,) = write_to(sqlite_store, store_pairs, [Pair("bench", "no answers", "Which?")]).new
    pair_ids = add_pairs(sqlite_store, 1)
    _, endpoint = compare(sqlite_store, TIE, [question, *pair_ids])
    assert set(asked(endpoint)) == {(0, "ab"), (0, "ba")}
    with pytest.raises(BadInput):
        compare(sqlite_store, TIE, [question])


def test_a_cost_limit_needs_a_price(sqlite_store):
    remote = JudgeOptions(model="scripted", base_url="https://models.example.org/v1").endpoint(
        "the test"
    )
    with pytest.raises(UnknownPrice, match="--prices"):
        compare_pairs(sqlite_store, PairwiseJudge(remote), add_pairs(sqlite_store, 1), max_cost=1.0)
