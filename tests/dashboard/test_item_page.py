"""The item page in every state, with what its keys do."""

import re

import pytest
from sqlalchemy import insert, update

from app_pages import (
    body_with,
    check_shown,
    enter,
    field_of,
    in_address,
    keys,
    markup,
    plain,
    press,
    shown,
)
from graded_log import GradedLog
from judgeboard.domain import (
    Claim,
    ClaimStatus,
    Feedback,
    FeedbackKind,
    Grade,
    JudgeVersion,
    Label,
    Response,
    Status,
    StepRecord,
)
from judgeboard.judges.evidence_alignment import DISCLAIMER_LINE
from judgeboard.methods.refining.serving import serve_answer_blocking
from judgeboard.runs.raw_calls import raw_calls
from judgeboard.store.forgetting import forget_response
from judgeboard.store.items import load_item
from judgeboard.store.judge_versions import ensure_version
from judgeboard.store.judgment_reviews import NewJudgmentReview, store_judgment_reviews
from judgeboard.store.reviews import corrections, mark_leading_flags
from judgeboard.store.settings import set_setting
from judgeboard.store.storing import store_responses
from judgeboard.store.tables import FLAG
from judgeboard_dashboard.review.screen import implied_words
from page_rows import ANSWER
from queue_case import CONFIRM, DISMISS, queue_case
from stored_rows import read, rows_of, write_to


def reviews_on(store, response_id):
    return read(store, load_item, response_id).reviews


def head(app):
    """What the head line shows; its heading is for screen readers alone."""
    return plain(re.sub("<h1.*?</h1>", "", body_with(app, 'class="jb-head"')))


@pytest.mark.parametrize(
    ("name", "says"),
    {
        "two-judges": "thumbs down",
        "unusable": "No usable verdict: the model answered 85 where 0 to 1 was asked",
        "good": "No open flag to decide",
        "not-judged": "Not judged yet.",
        "no-passages": "This log has no passages. Groundedness cannot be judged.",
        "nothing-found": "The search found nothing: 0 passages were given to the model.",
        "plain-01": "Groundedness 0.03 (threshold 0.5)",
    }.items(),
)
def test_every_state_is_said(open_answer, name, says):
    page = open_answer(name)
    assert says in shown(page)


@pytest.mark.parametrize("name", ["response", "id"])
def test_an_answer_opens_by_the_id_of_its_log_and_a_number_is_the_own_id_first(
    page_rows, open_page, sqlite_store, name
):
    assert head(open_page("item", **{name: "good"})).startswith("good · ")
    unknown = open_page("item", **{name: "nobody"})
    assert ": nobody" in shown(unknown)
    assert "flag" not in unknown.query_params
    with sqlite_store.writing() as connection:
        number = str(page_rows.responses["good"])
        newest = [Response("second", each, "q?", "an answer") for each in ("good", number)]
        store_responses(connection, newest)
    assert head(open_page("item", **{name: number})).startswith("good · ")
    page = open_page("item", **{name: "good"})
    assert head(page).startswith("2 sources ")
    assert "from second." in head(page)
    assert in_address(page, "response") != number


def shortcuts_of(page, part=""):
    """The keys on the keyboard of the buttons that have this part in their name."""
    return [
        button.proto.shortcut
        for button in page.button
        if button.proto.shortcut and part in f"{button.key}"
    ]


def labels(page, *starts):
    return [button.label for button in page.button if f"{button.key}_".startswith(starts)]


def test_a_decision_shows_the_label_that_it_implies_and_stores_it_so(
    page_rows, open_page, open_flag, sqlite_store
):
    write_to(sqlite_store, set_setting, "implied_labels", None, "test")
    page = open_flag("claims")
    shortcuts = shortcuts_of(page)
    assert len(shortcuts) == len(set(shortcuts)), "a key presses one button"
    press(page, "groundednessD_")
    # A person's own grade implies nothing.
    assert "N: grounded" not in shown(page)
    press(press(page, "groundednessD_"), "dismiss_")
    # Nothing is stored before the answer.
    assert in_address(page, "flag") == str(page_rows.flags["claims"])
    implied = set(shortcuts_of(page, "implied_"))
    assert len(implied) == 2
    # Who presses N twice chooses nothing for all decisions.
    assert not implied & {"y", "n", "u"}
    press(page, "implied_True_")
    [review] = reviews_on(sqlite_store, page_rows.responses["claims"])
    assert review.decision == "dismiss"
    assert review.grade.label == "grounded"
    assert review.grade.label_implied is True
    reopen(sqlite_store)
    page = open_flag("claims")
    # The answer is remembered.
    assert implied_words({CONFIRM: Label.HALLUCINATED, DISMISS: Label.GROUNDED}) in shown(page)
    # An own decision on an open flag is changed, not replaced unseen.
    assert "You dismissed this" in shown(page)
    write_to(sqlite_store, set_setting, "implied_labels", (), "test")
    # A lead chooses for everybody.
    assert "N: grounded" not in shown(open_page("item"))


def reopen(store):
    """Make all flags open again."""
    with store.writing() as connection:
        connection.execute(update(FLAG).values(state="open"))


def states(store, response_id):
    return sorted(each.state for each in read(store, load_item, response_id).flags)


def raise_second(store, flag):
    """Raise another flag on the answer of a flag."""
    second = flag | {"rule": "low_quality", "raise_key": "low_quality:x", "severity": 0.01}
    del second["id"]
    with store.writing() as connection:
        connection.execute(insert(FLAG), second)
        mark_leading_flags(connection, [flag["response_id"]])


def test_a_decision_on_one_of_the_open_flags_is_shown_with_its_values_and_what_is_removed_stays_removed(
    page_rows, open_page, sqlite_store
):
    response_id = page_rows.responses["claims"]
    case = queue_case(sqlite_store)
    [flag] = [each for each in case.flags() if each["response_id"] == response_id]
    given = {"quality": 2, "groundedness": 0.2, "note": "made up", "corrected_answer": "Better."}
    case.decide(flag["id"], case.mara, **given)
    reopen(sqlite_store)  # a queue keeps the first flag open
    raise_second(sqlite_store, flag)
    page = open_page("item", response=response_id)
    assert "confirmed one flag" in shown(page)
    note = field_of(page, "note_")
    assert note.value == "made up"
    page = note.set_value("").run()
    press(press(page, "quality2_"), "quality2_")  # the first press keeps the stored grade
    press(page, "confirm_")
    assert head(page).startswith("Saved: confirmed claims")
    # The reviewer stays where the answer was opened.
    assert "response" in page.query_params
    review = next(each for each in reviews_on(sqlite_store, response_id) if each.stands)
    assert len(review.flag_ids) == 2
    assert review.grade == Grade(groundedness=0.2, corrected_answer="Better.")


@pytest.mark.parametrize(
    ("key", "stored"),
    [
        ("contradicted_confirm", ("confirm", "hallucinated")),
        ("contradicted_dismiss", ("dismiss", "grounded")),
    ],
)
def test_a_contradiction_is_said_and_each_way_out_is_one_key(
    page_rows, open_flag, sqlite_store, key, stored
):
    page = open_flag("claims")
    press(press(page, "labelW_"), "dismiss_")
    assert head(page).startswith("Not saved: ")
    assert "hallucinated" in head(page)
    assert labels(page, "contradicted_")
    press(page, "labelW_")
    # Without the label, nothing contradicts the decision.
    assert not labels(page, "contradicted_")
    press(press(press(page, "labelW_"), "dismiss_"), key)
    assert head(page).startswith("Saved")
    [review] = reviews_on(sqlite_store, page_rows.responses["claims"])
    assert (review.decision, review.grade.label) == stored


def test_several_flags_are_decided_together_or_one_alone(page_rows, open_page, sqlite_store):
    response_id = page_rows.responses["claims"]
    [flag] = [each for each in rows_of(sqlite_store, FLAG) if each["response_id"] == response_id]
    raise_second(sqlite_store, flag)
    page = open_page("item", flag=flag["id"])
    assert labels(page, "flag_") == ["All 2 flags"]
    press(page, "flag_")
    (chosen,) = labels(page, "flag_")
    assert chosen.startswith("Only low ")
    press(page, "dismiss_")
    assert head(page).startswith("Saved: dismissed claims")
    assert states(sqlite_store, response_id) == ["dismissed", "open"]
    press(page, "confirm_")
    assert states(sqlite_store, response_id) == ["confirmed", "dismissed"]


def test_f9_closes_a_typed_correction_and_z_brings_it_back_before_it_undoes_a_review(open_flag):
    page = press(open_flag("plain-01", rule="low_groundedness"), "confirm_")
    press(page, "correct_")
    typed = "Another text."
    [field] = page.text_area
    page = field.set_value(typed).run()
    press(page, "correct_")
    assert not page.text_area
    discarded = head(page).split(" · ")[0]
    press(page, "undo_")
    assert [field.value for field in page.text_area] == [typed]
    assert head(page).split(" · ")[0] != discarded
    assert head(press(page, "undo_")).startswith("Undone: plain-01")


def test_a_corrected_answer_is_compared_with_the_answer_and_becomes_a_case(
    page_rows, open_flag, sqlite_store
):
    page = press(open_flag("claims"), "correct_")
    [field] = page.text_area
    corrected = f"{field.value} It is younger."
    field.set_value(corrected).run()
    assert "It is younger.</ins>" in markup(page)
    page.number_input[0].set_value(0.35)
    field_of(page, "note_").set_value("second sentence")
    press(press(page, "suite_"), "confirm_")
    [review] = reviews_on(sqlite_store, page_rows.responses["claims"])
    assert review.grade.groundedness == 0.35
    assert review.grade.note == "second sentence"
    assert [*read(sqlite_store, corrections).values()] == [(corrected, True)]


def test_an_earlier_decision_of_ones_own_can_be_undone_in_a_new_session(
    page_rows, open_page, sqlite_store
):
    case = queue_case(sqlite_store)
    flag = page_rows.flags["claims"]
    grade = {"groundedness": 0.8, "note": "half of it"}
    case.decide(flag, case.mara, DISMISS, **grade)
    page = open_page("item", flag=flag)
    assert "Dismissed by Mara" in shown(page)
    press(page, "undo")
    assert head(page).startswith("Undone: claims")
    assert page.session_state["review_session"].draft(
        page_rows.responses["claims"]
    ).grade() == Grade(**grade)


def test_without_a_name_nothing_is_decided(open_flag):
    page = open_flag("claims", reviewer="")
    assert "confirm" not in keys(page)
    enter(page, "who_name", " Mara\n ")
    assert "confirm" in keys(page)


def test_the_last_one_says_so(open_flag):
    page = open_flag("claims", text="Which rock is older?", rule="low_groundedness")
    press(page, "confirm_")
    assert not labels(page, "confirm_")
    assert re.search(r"\d+ other answers", shown(page))
    press(page, "undo")
    assert head(page).startswith("Undone: claims")


def test_a_forgotten_text_is_said(open_answer, sqlite_store):
    write_to(sqlite_store, forget_response, "plain-01", actor="Mara")
    page = open_answer("plain-01")
    assert "removed on" in shown(page)
    assert f"{ANSWER} Number 1." not in shown(page)


def test_no_name_from_a_log_becomes_markup(page_rows, open_page, sqlite_store):
    [new] = write_to(
        sqlite_store,
        store_responses,
        [Response("<b>log", "<i>id", "q", "a", ("p",), "<u>type", "<s>model")],
    ).new
    bodies = markup(open_page("item", response=new))
    assert not re.search(r"<(b|i|u|s)>(log|id|type|model)", bodies)
    assert "&lt;i&gt;id" in bodies


def test_every_judgment_is_shown_and_those_that_a_flag_compares_are_open(
    page_rows, open_page, sqlite_store
):
    response = page_rows.responses["two-judges"]
    log = GradedLog(sqlite_store)
    claim = Claim("Basalt forms columns.", ClaimStatus.UNSUPPORTED, answer_start=70, answer_end=91)
    agrees = {"groundedness": 0.6, "quality": 3, "reasoning": "Two thirds stand."}
    log.say(log.version("third"), {response: agrees | {"claims": (claim,)}})
    log.say(log.version("broken"), {response: {"status": Status.ERROR, "error": "HTTP 500"}})
    with sqlite_store.writing() as connection:
        supreme = ensure_version(connection, JudgeVersion("supreme", "audit", "m"))
        judged = load_item(connection, response).with_claims
        audit = NewJudgmentReview(response, judged.id, 0, False, StepRecord(Status.OK))
        store_judgment_reviews(connection, supreme.id, None, [audit])
    page = open_page("item", response=response)
    pane = body_with(page, "jb-signals")
    lines = re.findall(r'<details class="jb-other"( open="")?><summary><span[^>]*>([^<]+)', pane)
    assert lines == [(' open=""', "second v1"), ("", "third v1"), ("", "broken v1")]
    words = plain(pane)
    for reason in (
        "Half of it stands.",
        "Fine.",
        "Two thirds stand.",
        "no usable verdict: HTTP 500",
        "0 of 1",
    ):
        assert reason in words
    assert re.search(r"supreme v1 [^.]*wrong", words)
    answer = body_with(page, "jb-answer")
    assert [
        mark[1] for mark in re.findall('<mark class="[^"]*jb-unsupported"([^>]*)>([^<]*)', answer)
    ] == [claim.text]
    past = plain(pane[pane.index("jb-history") :])
    assert "second v10.95" in past
    assert "third v1 wrong" in past


def test_a_refusal_where_nothing_was_retrieved_is_shown_as_one(page_rows, open_page, sqlite_store):
    log = GradedLog(sqlite_store)
    [refusal] = log.answers(answer="I could not find that.", passages=())
    label = "Refusal: nothing was retrieved"
    assert label in shown(open_page("item", response=refusal))
    assert label not in shown(open_page("item", response="nothing-found"))


def test_judgments_are_side_by_side_each_beside_the_one_that_a_rejudge_replaced(
    page_rows, open_answer, sqlite_store
):
    claims = (
        Claim("Granite cools <slowly>.", ClaimStatus.SUPPORTED, answer_start=0, answer_end=39),
        Claim("Basalt is older.", ClaimStatus.SUPPORTED, answer_start=40, answer_end=69),
        Claim("Quartz is hard.", ClaimStatus.UNSUPPORTED),
    )
    verdict = {"groundedness": 0.61, "reasoning": "One is right.", "claims": claims}
    log = GradedLog(sqlite_store)
    for name, quality in (("rag", 3), ("second", 1)):
        again = verdict | {"quality": quality}
        log.say(log.version(name), {page_rows.responses["claims"]: again})
    page = open_answer("claims")
    assert "jb-judgments" not in markup(page)
    table = body_with(press(page, "judgments_"), 'class="jb-judgments"')
    lines = [line.split("<td>") for line in table.split("<tr>")[2:]]
    rows = {plain(name): [plain(cell) for cell in cells] for name, *cells in lines}
    assert re.findall('scope="col">([^<]+)', table) == ["rag v1, before", "rag v2", "second v2"]
    assert rows["Groundednessdiffer"] == ["0.42", "0.61", "0.61"]
    assert rows["Qualitydiffer"] == ["3 / 4", "3 / 4", "1 / 4"]
    assert "<del>wrong.</del>" in table
    assert "<ins>right.</ins>" in table
    before, after, other = rows["Claims"]
    assert re.search(r"✗2[\w ]+\.now supported", before)
    assert f"✓2{claims[1].text}was contradicted" in after
    assert f"∅3{claims[2].text}new" in after
    assert re.search(r"\?3[\w ]+dropped", before)
    # A claim with the same status is not marked.
    assert f"{claims[0].text}✓" in after
    assert "new" not in other
    press(page, "judgments_")
    assert "jb-judgments" not in markup(page)


def test_raw_calls_take_the_place_of_the_texts_and_are_read_only_then(
    open_page, open_flag, monkeypatch
):
    read = []
    monkeypatch.setattr(
        "judgeboard_dashboard.review.judgments.raw_calls",
        lambda *asked: read.append(1) or raw_calls(*asked),
    )
    page = open_flag("two-judges")
    assert read == []
    assert "Raw calls" not in shown(page)
    press(page, "calls_")
    assert read
    check_shown(page, "rag v1: ok", "versionJudge.")
    assert "jb-answer" not in markup(page)
    press(page, "calls_")
    assert "jb-answer" in markup(page)
    assert "calls_" not in str(keys(open_page("item", response="not-judged")))


def test_the_context_of_an_answer_is_shown_with_what_the_log_says_of_its_passages(
    page_rows, open_page, sqlite_store
):
    details = [
        {"rank": 1, "metadata": {"url": "http://crag.example/a?b=<c>"}, "score": 0.8312345678},
        {},
    ]
    call = {"name": "search", "arguments": '{"rock": "<b>granite"}'}
    comment = "Basalt is <b>older."
    turns = (
        {"role": "user", "content": "Hi"},
        {"role": "assistant", "content": None, "tool_calls": [{"id": "1", "function": call}]},
        {
            "role": "assistant",
            "content": [{"text": "Which <rock>?"}, {"type": "tool_use", **call, "name": "ask"}],
        },
    )
    metadata = {"tags": ["rock", "age"], "tenant": {"name": "acme"}, "context_details": details}
    down = Feedback(FeedbackKind.THUMBS, 0, comment=comment)
    [told] = GradedLog(sqlite_store).answers(
        answer="**Granite** is.",
        passages=("| rock | age |\n|---|---|\n| granite | 300 |", "Basalt."),
        messages=turns,
        reference="Granite is older.",
        generator_model="writer-2",
        metadata=metadata,
        feedback=(down, Feedback(FeedbackKind.THUMBS, 1)),
    )
    page = open_page("item", response=told)
    words = shown(page)
    for part in (
        "3 messages, reference",
        "3 fields",
        "Granite is older.",
        "UserHi",
        "AssistantWhich <rock>?",
        "modelwriter-2",
        "tagsrock, age",
        "tenant.nameacme",
        f"thumbs up{comment}",
        "rank 1score 0.831234http://crag.example/a?b=<c>",
    ):
        assert part in words
    of_call = call["arguments"]
    assert (
        words.index("Assistant")
        < words.index(f"search({of_call})")
        < words.index(f"ask({of_call})")
    )
    pane = body_with(page, 'class="jb-passage"')
    assert '<a href="http' not in pane
    # As stored, until the reviewer asks for Markdown.
    check_shown(page, "**Granite** is.", "| granite |")
    press(page, "texts_")
    assert "<td>granite</td>" in markup(page)
    text = body_with(page, "jb-answer")
    assert "<strong>Granite</strong> is." in text
    assert re.search('jb-context" open', text)
    press(page, "statement_")
    # Marks are shown in the text as stored.
    assert "**Granite** is." in shown(page)
    press(page, "texts_")
    assert "| granite |" in shown(page)
    assert "texts_" not in str(keys(open_page("item", response="good")))


def test_a_long_context_opens_around_the_evidence(open_page, page_store):
    filler = "The hall opens at nine. Coffee costs two euros. " * 60
    evidence = "A rope of 60 m is enough at Ferrera."
    passages = f"{filler}{evidence} {filler}", filler
    log = GradedLog(page_store)
    [long] = log.answers(answer="At Ferrera a rope of 60 m is enough.", passages=passages)
    page = open_page("item", response=long)
    pane = body_with(page, 'class="jb-passage"')
    folded = re.compile(
        '<details class="jb-fold"><summary data-n="([^"]+)"></summary>(.*?)</details>', re.DOTALL
    )
    assert [re.findall(r"[\d,]+", number) for number, _ in folded.findall(pane)] == [
        ["119", "2,856"]
    ] * 3
    assert evidence in folded.sub("", pane)
    # The text is whole.
    assert plain(re.sub("<summary[^>]*></summary>", "", pane)).count(filler.strip()) == 3
    press(page, "texts_")
    assert "jb-fold" not in markup(page)


def test_a_flag_that_is_raised_during_a_review_moves_nothing_above_it(
    page_rows, sqlite_store, open_flag
):
    why, new = "Why you see this", "New flags since you opened this answer"

    def reasons(page):
        return body_with(page, why)

    case = queue_case(sqlite_store)
    page = open_flag("claims")
    before = reasons(page)
    case.judge(page_rows.responses["claims"], 1.0, judge="second")
    press(page, "quality3_")
    assert reasons(page) == before
    assert shown(page).index("History (") < shown(page).index(new)
    assert "groundedness 0.42; second v2: groundedness 1" in shown(page).partition(new)[2]
    again = open_flag("claims")
    assert new not in shown(again)
    # Whoever opens the answer later sees all reasons together.
    assert reasons(again) != before


def test_what_the_reader_of_a_served_answer_saw_and_what_its_reflection_did_is_said(
    page_rows, open_page, sqlite_store
):
    bad, good = (
        "Marble dunes sing about violet engines while nobody listens.",
        "Dyneema melts at 145 degrees.",
    )
    serve_answer_blocking("How hot?", bad, [good], store=sqlite_store, external_id="plain")
    page = open_page("item", response="plain")
    assert f"“{DISCLAIMER_LINE}” (groundedness 0.00" in shown(page)
    assert "served.notice" not in shown(page)
    serve_answer_blocking(
        "How hot?",
        bad,
        [good],
        generate=lambda _: good,
        query_type="complex",
        store=sqlite_store,
        external_id="served",
    )
    page = open_page("item", response="served")
    check_shown(page, "(groundedness 1.00", "Self-reflection replaced")
    # The first attempt is there, too.
    assert bad in shown(page)
