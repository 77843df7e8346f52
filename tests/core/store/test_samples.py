"""The tries of a model at a question: in their order, one without an answer kept as such."""

from engines import on_sqlite
from judgeboard.domain import Pair, Preference, Status, StepRecord
from judgeboard.store.pairs import store_pairs
from judgeboard.store.samples import NewSample, load_samples, store_samples, stored_samples, tries_at

OK, LOST = StepRecord(Status.OK), StepRecord(Status.UNPARSABLE)


def test_tries_come_back_in_their_order_once(case) -> None:
    version, other = case.version(), case.version(t=1)
    with case.store.writing() as connection:
        pair = Pair("s", "q", "?", query_type="math", reference="B", gold=Preference.TIE)
        (pair_id,) = store_pairs(connection, [pair]).new
        tries = [NewSample(pair_id, n, answer, OK if answer else LOST) for n, answer in ((2, "C"), (0, "A"), (1, None))]
        store_samples(connection, version, None, tries)
        store_samples(connection, version, None, [NewSample(pair_id, 0, "Z", OK)])
        store_samples(connection, other, None, tries[:1])
        (one,) = load_samples(connection, version.id)
        assert (one.query_type, one.reference, one.gold) == ("math", "B", Preference.TIE)
        assert (one.answers, one.statuses) == (("A", None, "C"), ("ok", "unparsable", "ok"))
        assert load_samples(connection, other.id)[0].answers == ("C",)
        assert stored_samples(connection, version.id, [pair_id])[pair_id, 2][:2] == ("C", "ok")


@on_sqlite
def test_of_a_try_that_was_asked_for_again_the_latest_counts(case) -> None:
    version = case.version()
    with case.store.writing() as connection:
        (pair_id,) = store_pairs(connection, [Pair("s", "q", "?")]).new
        down = StepRecord(Status.ERROR)
        store_samples(connection, version, None, [NewSample(pair_id, n, None, down) for n in (0, 1)])
        store_samples(connection, version, None, [NewSample(pair_id, 0, "B", OK, ask=1)])
        (one,) = load_samples(connection, version.id)
        assert (one.answers, one.statuses) == (("B", None), ("ok", "error"))
        assert stored_samples(connection, version.id, [pair_id])[pair_id, 0] == ("B", "ok", 1, None, None)
        tries = tries_at(connection, version.id, pair_id)
        assert [(each.number, each.answer) for each in tries] == [
            (0, "B"),
            (1, None),
        ]
