"""Audits: four counts, three rates with their intervals, and the answers of each list."""

from app_pages import table, text_with, texts
from graded_log import BAD, GradedLog, labels_in
from judgeboard.llm.recording_endpoint import RecordingEndpoint, always, completion
from judgeboard.measure.notes import note
from judgeboard.methods.audits.run import audit, audit_recorded, make_supreme

HOSTILE = "<script>alert(1)</script> **bold** $x$"


def audited(store):
    """Twelve answers: 4 wrong verdicts are caught, 2 missed, 1 right one is accused, 5 are left alone."""
    log = GradedLog(store)
    ids = [*log.answers(11), *log.answers(1, query_type=HOSTILE)]
    for name, bad in (("teacher", ids[6:]), ("supreme", ids[:4] + ids[7:])):
        log.say(log.version(name), labels_in(ids, bad))
    log.review_all(ids, label=BAD)
    audit_recorded(store, "supreme", "teacher")
    return log


def test_an_audit_is_said_counted_and_listed(open_page, sqlite_store):
    audited(sqlite_store)
    app = open_page("judges", version="teacher v1")
    assert texts(app, "jb-say")[-1] == note("audit", supreme="supreme v1", caught=4, wrong=6).text
    assert table(app, "Verdict")["n"].tolist() == [4, 2, 1, 5]
    rates = table(app, "Rate")
    assert rates["Rate"].tolist() == ["Precision", "Recall", "False alarms"]
    assert rates["Of"].tolist() == [5, 6, 6]
    caught = table(app, "Id")
    assert caught["Answer"].tolist() == [f"answer {number}" for number in range(1, 5)]
    assert set(caught["Judge"]) == {"grounded"}
    assert caught["Id"].notna().all()
    for name, answers in (("Missed", ["answer 5", "answer 6"]), ("Accused", ["answer 7"])):
        app = open_page("judges", version="teacher v1", list=name)
        assert table(app, "Id")["Answer"].tolist() == answers


def test_without_grades_nobody_knows_and_the_lists_are_empty(open_page, log, sqlite_store):
    ids = log.answers(2)
    log.say_all(log.version("teacher"), ids, groundedness=0.9)
    log.say_all(log.version("supreme"), ids, label=BAD)
    audit_recorded(sqlite_store, "supreme", "teacher")
    app = open_page("judges", version="teacher v1")
    # A reason would be cut in a cell.
    assert table(app, "Rate")["Value"].isna().all()
    assert text_with(app, "Not available: ", cls="jb-cap")
    assert not any("Id" in each.value for each in app.dataframe)


def test_an_audit_without_a_usable_review_says_so_and_is_not_shown_first(open_page, sqlite_store):
    log = audited(sqlite_store)
    with RecordingEndpoint(always(completion("Hm."))) as endpoint:
        supreme = make_supreme(model="deaf", base_url=endpoint.base_url, tries=1)
        audit(log.store, supreme, "teacher")
    assert texts(open_page("judges", version="teacher v1"), "jb-say")[-1].startswith(
        "supreme v1 marked "
    )
    app = open_page("judges", version="teacher v1", supreme="supreme v2")
    assert texts(app, "jb-say")[-1] == note("audit_unusable", supreme="supreme v2", reviews=12).text
    assert text_with(app, "--rejudge failed", cls="jb-cap")
