"""What the page lists: items that C gets wrong first, and one of them with everything that was tried and said."""

from judgeboard.llm.recording_endpoint import RecordingEndpoint
from judgeboard.methods.self_reference import self_refer
from judgeboard.methods.self_reference_report import self_reference_page
from judgeboard.store.comparisons import PLAIN, REFERENCE, latest_comparisons
from judgeboard.store.engine import Store
from judgeboard.store.samples import most_samples, sampling_versions, tries_at
from solving_log import TORN, Solver, self_reference, store_questions


def test_items_and_their_steps_come_from_what_was_asked(store: Store) -> None:
    ids = store_questions(store, 3)
    with RecordingEndpoint(Solver({0: TORN, 1: "-BBBAB"})) as endpoint:
        self_refer(store, self_reference(endpoint), ids, conditions="C")
    with store.reading() as connection:
        (version,) = sampling_versions(connection)
        assert most_samples(connection, version.id) == 5
        page = self_reference_page(connection, version, 5, 4)
        assert [(item.pair_id, item.agree, item.gate_on, item.selective) for item in page.items] == [
            (ids[2], 5, True, 1),
            (ids[1], 4, True, 1),
            (ids[0], 2, False, 1),
        ]
        assert [item.pair_id for item in page.listed(gate_on=False)] == [ids[0]]
        assert page.listed(category="law") == []
        samples = tries_at(connection, version.id, ids[0])
        assert [(each.number, each.answer, each.status) for each in samples] == [
            (number, answer, "ok") for number, answer in enumerate(TORN)
        ]
        orders = latest_comparisons(connection, version.id, ids[0], (PLAIN, REFERENCE))
        assert [(each.condition, each.shown, each.preference) for each in orders] == [
            ("plain", "ab", "a"),
            ("plain", "ba", "a"),
        ]
