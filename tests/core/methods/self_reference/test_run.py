"""Asking a judge with and without its own answer: exactly the calls it needs, everything stored, nothing twice."""

from collections import Counter

import pytest

from engines import on_sqlite
from judgeboard.domain import Pair, Preference
from judgeboard.errors import BadInput
from judgeboard.llm.recording_endpoint import RecordingEndpoint, failure
from judgeboard.methods.self_reference.queries import most_samples, sampling_versions, tries_at
from judgeboard.methods.self_reference.report import load_items, measure_self_reference
from judgeboard.methods.self_reference.run import self_refer
from judgeboard.methods.self_reference.tables import SAMPLE
from judgeboard.store.comparisons import PLAIN, REFERENCE, latest_comparisons
from judgeboard.store.forgetting import forget_response
from judgeboard.store.judge_versions import list_versions
from judgeboard.store.pairs import store_pairs
from judgeboard.store.tables import COMPARISON
from judging_log import runs
from result_fields import check_fields
from solving_log import TORN, Solver, self_reference, store_questions
from stored_rows import read, rows_of, write_to


def ask(store, solver, ids, conditions="ABC", k=5, **options):
    with RecordingEndpoint(solver) as endpoint:
        judge = self_reference(endpoint, k=k)
        report = self_refer(store, judge, ids, conditions=conditions, **options)
    return report, endpoint


def items(result):
    """How many items have figures."""
    return result.figure("n").n if result.has("n") else 0


def counts(result):
    """The numbers of its caveats."""
    return {each.code: each.values["n"] for each in result.caveats}


@on_sqlite
@pytest.mark.parametrize(("conditions", "calls"), [("C", 7), ("A", 7), ("B", 7), ("ABC", 9)])
def test_one_condition_takes_k_plus_2_calls_an_item_and_all_of_them_k_plus_4(
    store, conditions, calls
):
    ids = store_questions(store, 3)
    report, endpoint = ask(store, Solver({0: TORN}), ids, conditions)
    calls *= 3
    check_fields(report.account, asked=calls, ok=calls, not_reached=0, exit_code=0)
    assert len(endpoint.requests) == runs(store)[0]["selected"] == calls
    figure = {"A": "without", "B": "always", "C": "selective"}[conditions[-1]]
    assert report.figure(figure).value == 1


def test_c_alone_shows_its_answer_where_samples_agree_and_nothing_where_they_do_not(sqlite_store):
    ids = store_questions(sqlite_store, 2)
    solver = Solver({0: TORN})
    report, endpoint = ask(sqlite_store, solver, ids, "C")
    assert solver.compared == Counter(
        [(0, "ab", False), (0, "ba", False), (1, "ab", True), (1, "ba", True)]
    )
    assert solver.references == {"B. Rome"}
    temperatures = Counter(request.body["temperature"] for request in endpoint.requests)
    assert temperatures == {0.7: 10, 0: 4}
    assert (items(report), report.figure("gate_on").value) == (2, 0.5)
    assert counts(report) == {"tied_samples": 1}
    rows = rows_of(sqlite_store, COMPARISON)
    assert Counter((row["condition"], row["reference"], row["reasoning"]) for row in rows) == {
        ("plain", None, "So it is."): 2,
        ("reference", "B. Rome", "So it is."): 2,
    }


def test_asking_for_all_conditions_later_asks_only_what_is_missing(sqlite_store):
    ids = store_questions(sqlite_store, 2)
    ask(sqlite_store, Solver({0: TORN}), ids, "C")
    report, endpoint = ask(sqlite_store, Solver({0: TORN}), ids)
    assert (len(endpoint.requests), report.account.asked, items(report)) == (4, 4, 2)
    again, endpoint = ask(sqlite_store, Solver(), ids)
    assert endpoint.requests == []
    # The stored account.
    check_fields(again.account, ok=18, run_id=None)
    assert again.rows == report.rows
    assert len(runs(sqlite_store)) == 2


def test_the_sweep_and_other_thresholds_make_no_calls(sqlite_store):
    ids = store_questions(sqlite_store, 3)
    report, _ = ask(sqlite_store, Solver({0: TORN, 1: "AAABB"}), ids)
    gates = report.parts[2]
    assert [gates.figure("gate_on", f"{n} of 5").value for n in (3, 4, 5)] == pytest.approx(
        [2 / 3, 1 / 3, 1 / 3]
    )
    lower = measure_self_reference(sqlite_store, tau=0.6)
    assert lower.figure("gate_on").value == pytest.approx(2 / 3)
    assert lower.figure("right_if_on").value == 0.5


def test_an_unreadable_sample_is_kept_as_one_of_its_own_without_an_answer(sqlite_store):
    ids = store_questions(sqlite_store, 1)
    report, endpoint = ask(sqlite_store, Solver({0: "B--BBB"}), ids, "C")
    check_fields(report.account, asked=7, unparsable=1)
    assert len(endpoint.requests) == 8  # the repair of the one that could not be read
    assert report.parts[1].slices == ["4 of 5"]


def test_a_tie_that_reaches_another_threshold_goes_to_the_first_seen_and_says_so(sqlite_store):
    ids = store_questions(sqlite_store, 1)
    solver = Solver({0: "CBBC"})
    report, _ = ask(sqlite_store, solver, ids, "C", k=4, tau=0.5)
    assert solver.references == {"C. Oslo"}
    assert counts(report) == {"tied_samples_on": 1}


def test_other_samples_are_another_judge_version_and_the_threshold_is_not(sqlite_store):
    ids = store_questions(sqlite_store, 1)
    for k, tau in ((5, 0.8), (5, 0.6), (3, 0.8)):
        ask(sqlite_store, Solver(), ids, k=k, tau=tau)
    versions = read(sqlite_store, list_versions)
    assert [(version.kind, version.params["samples"]) for version in versions] == [
        ("ssr", 5),
        ("ssr", 3),
    ]
    with pytest.raises(BadInput, match="ssr v1, ssr"):
        measure_self_reference(sqlite_store)
    assert measure_self_reference(sqlite_store, "ssr v2").k == 3


def test_a_refused_key_stops_the_run_and_the_same_call_goes_on(sqlite_store):
    ids = store_questions(sqlite_store, 2)
    report, _ = ask(sqlite_store, lambda *_: failure(401, "no"), ids)
    check_fields(report.account, state="stopped", not_reached=18)
    assert items(report) == 0
    assert report.headline.code == "own_answer_unknown"
    report, endpoint = ask(sqlite_store, Solver(), ids)
    assert (len(endpoint.requests), report.account.run_id, len(runs(sqlite_store))) == (18, 1, 1)


def test_a_forgotten_pair_is_left_out_and_counted_and_not_taken_for_one_without_an_answer(
    sqlite_store,
):
    ids = store_questions(sqlite_store, 2)
    ask(sqlite_store, Solver(), ids)
    write_to(sqlite_store, forget_response, "pair:q0:a", actor="test")
    report = measure_self_reference(sqlite_store)
    assert (items(report), counts(report)) == (1, {"forgotten_samples": 1})
    again, endpoint = ask(sqlite_store, Solver(), ids)
    assert (items(again), endpoint.requests) == (1, [])


def outage(failing):
    """Answer as `Solver`, but not the requests whose number is one of these."""
    solver = Solver()
    return lambda request, number: (
        failure(500, "down") if failing(number) else solver(request, number)
    )


def ask_over(store, script, ids, **options):
    report, endpoint = ask(store, script, ids, concurrency=1, **options)
    return report, len(endpoint.requests)


@on_sqlite
def test_a_failed_sample_is_no_try_without_an_answer_and_is_asked_again(store):
    ids = store_questions(store, 2)
    report, calls = ask_over(store, outage(lambda number: number == 1), ids)
    assert calls == 5 + 9  # its answers are not compared
    check_fields(report.account, error=1, not_reached=0)
    assert (items(report), counts(report)) == (1, {"failed_samples": 1})
    same, calls = ask_over(store, Solver(), ids)
    assert calls == 0
    # What is stored.
    check_fields(same.account, asked=14, error=1, exit_code=1)
    again, calls = ask_over(store, Solver(), ids, again=True)
    assert (calls, items(again), counts(again)) == (5, 2, {})
    assert again.parts[1].slices == ["5 of 5"]
    after, calls = ask_over(store, Solver(), ids, again=True)
    assert calls == 0
    check_fields(after.account, asked=18, error=0, exit_code=0)
    (asked_again,) = (row for row in rows_of(store, SAMPLE) if row["ask"] > 0)
    check_fields(asked_again, number=1, ask=1, status="ok")


def test_a_failed_verdict_is_asked_again_in_its_order_alone(sqlite_store):
    ids = store_questions(sqlite_store, 1)
    report, _ = ask_over(sqlite_store, outage(lambda number: number == 8), ids)
    assert (items(report), report.account.error) == (1, 1)
    again, calls = ask_over(sqlite_store, Solver(), ids, again=True)
    assert calls == again.account.asked == 1
    assert again.parts[0].figure("unmeasured", "B always").value == 0


def test_pairs_without_their_texts_are_left_out(sqlite_store):
    bare = write_to(sqlite_store, store_pairs, [Pair("s", "x", "?", gold=Preference.A)]).new
    with pytest.raises(BadInput, match="two answers"):
        ask(sqlite_store, Solver(), bare)
    report, _ = ask(sqlite_store, Solver(), [*store_questions(sqlite_store, 1), *bare])
    assert items(report) == 1


def test_items_and_their_steps_come_from_what_was_asked(store):
    ids = store_questions(store, 3)
    ask(store, Solver({0: TORN, 1: "-BBBAB"}), ids, "C")
    with store.reading() as connection:
        (version,) = sampling_versions(connection)
        assert most_samples(connection, version.id) == 5
        loaded = load_items(connection, version.id, 5)
        assert (loaded.pair_ids.tolist(), loaded.agree.tolist()) == (ids, [2, 4, 5])
        samples = tries_at(connection, version.id, ids[0])
        assert [(each.number, each.answer, each.status) for each in samples] == [
            (number, answer, "ok") for number, answer in enumerate(TORN)
        ]
        orders = latest_comparisons(connection, version.id, ids[0], (PLAIN, REFERENCE))
        assert [(each.condition, each.shown, each.preferences["overall"]) for each in orders] == [
            ("plain", "ab", "a"),
            ("plain", "ba", "a"),
        ]
