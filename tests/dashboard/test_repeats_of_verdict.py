"""How far a judge's repeats differ stands beside its verdict, and is hidden with it."""

from app_pages import shown
from judgeboard.domain import JudgeVersion, Status, Verdict
from judgeboard.methods.repeats.run import repeats_report
from judgeboard.store.filters import RowFilter
from judgeboard.store.judge_versions import ensure_version
from judgeboard.store.judgments import NewJudgment
from judgeboard.store.storing import store_judgments
from stored_rows import read, write_to

FIVE = [(0.4, 2), (0.45, 2), (0.42, 2), (0.8, 3), (0.41, 2)]


def ok(groundedness, quality):
    return Verdict(Status.OK, groundedness=groundedness, quality=quality)


LATER = (ok(0.1, 1),)


def judged(case, *verdicts, later=LATER):
    """An answer that one judge version judged so often; a later ask has another verdict."""
    [response_id] = case.add(f"of {len(verdicts)}")
    items = [
        NewJudgment(response_id, ask, number, verdict)
        for ask, repeats in enumerate((verdicts, later))
        for number, verdict in enumerate(repeats)
    ]
    version = write_to(case.store, ensure_version, JudgeVersion("rag", "rag", model="m"))
    write_to(case.store, store_judgments, version, None, items)
    return response_id


def test_the_range_is_that_of_the_repeats_report(case, open_page):
    response_id = judged(case, *(ok(*each) for each in FIVE))
    line = "5 repeats: quality 2 to 3, groundedness 0.40 to 0.80, bad in 4 of 5"
    assert line in shown(open_page("item", response=response_id))
    report = read(
        case.store, repeats_report, version="rag v1", where=RowFilter(response_ids=(response_id,))
    )
    assert {each.measure: each.spread.value for each in report.measures} == {
        "quality": 1.0,
        "groundedness": 0.4,
    }


def test_repeats_without_a_verdict_are_counted_and_equal_values_stand_once(case, open_page):
    broken = Verdict(Status.UNPARSABLE, error="no JSON")
    response_id = judged(case, ok(0.7, 3), broken, ok(0.7, 3))
    line = "3 repeats: 1 without a usable verdict, quality 3, groundedness 0.70, bad in 0 of 2"
    assert line in shown(open_page("item", response=response_id))


def test_a_judge_that_was_asked_once_or_is_hidden_shows_no_repeats(case, open_page):
    once = judged(case, ok(0.2, 1))
    assert "repeat" not in shown(open_page("item", response=once))
    hidden = judged(case, *(ok(*each) for each in FIVE), later=())
    assert "5 repeats" in shown(open_page("item", response=hidden))
    where = RowFilter(response_ids=(hidden,))
    case.queue(where=where, order="oldest", blind_judge=True)
    assert "repeats" not in shown(open_page("item", response=hidden))
