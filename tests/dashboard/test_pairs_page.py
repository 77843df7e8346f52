"""The page of pairs without a browser: what it says when it is empty, what it lists, what it hides."""

from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from app_pages import OpenPage, labels, press, texts
from judgeboard.agreement.pair_report import Listed
from judgeboard.agreement.pair_screen import pair_screen
from judgeboard.domain import Pair, Preference, QueueOrder, Shown, Status, StepRecord
from judgeboard.people.roster import ensure_reviewer
from judgeboard.reviews.decisions import prefer
from judgeboard.reviews.shown import order_for, stored_side
from judgeboard.store.comparisons import NewComparison, store_comparisons
from judgeboard.store.engine import Store
from judgeboard.store.filters import RowFilter
from judgeboard.store.pairs import store_pairs
from judgeboard.store.preferences import load_preferences
from judgeboard.store.tables import PREFERENCE_SCORE, REVIEW
from judgeboard_dashboard import session
from judgeboard_dashboard.review.drafts import ReviewSession
from judgeboard_dashboard.review.pairs import PairActions, PairAddress, screen_row
from pair_log import add_pairs, people_say, record
from query_plans import plans_of, whole_tables
from queue_case import queue_case
from stored_rows import rows_of


@pytest.fixture
def pair_ids(page_store: Store) -> list[int]:
    """Six pairs in it."""
    ids = add_pairs(page_store, 6, query_type="QA", model_a="alpha-model", model_b="beta-model", gold=Preference.A)
    record(page_store, ids, {"ab": "aabta-", "ba": "aabbba"}, name="strict")
    return ids


def lines_of(app: AppTest) -> Any:
    """The list of pairs."""
    return next(table.value for table in app.dataframe if "Question" in table.value)


def shown(app: AppTest, number: int) -> list[list[object]]:
    """The lines of the table with this place."""
    return list(app.dataframe[number].value.astype(object).to_numpy().tolist())


@pytest.mark.usefixtures("page_store")
def test_figures_and_pairs_are_listed(pair_ids: list[int], sqlite_store: Store, open_page: OpenPage) -> None:
    people_say(sqlite_store, pair_ids[0], "a", "b", "b")
    app = open_page("pairs")
    assert "strict v1, overall. 6 pairs. Same verdict in both orders: A better 2, B better 1, tie 0" in " ".join(
        texts(app)
    )
    (group,) = shown(app, 0)
    assert group[:3] == ["All pairs", 6, "60 % [23, 88]"], "one aspect needs no column"
    lines = lines_of(app)
    assert list(lines["Judge"]) == ["A", "A", "B", "inconsistent", "inconsistent", "unmeasured"]
    assert lines["People"].tolist()[0] == "B (3)"
    assert "Overruled" not in lines, "nobody did"
    models = next(table.value for table in app.dataframe if "Strength" in table.value)
    assert models["Model"].tolist() == ["alpha-model", "beta-model"] * 2 + ["beta-model", "alpha-model"] * 2
    by = ["the judge", "gold", "people", "each person's vote"]
    assert models["Preferences of"].tolist() == [name for name in by for _ in range(2)]


def test_a_judge_of_one_order_is_not_said_to_agree_with_itself(page_store: Store, open_page: OpenPage) -> None:
    ids = add_pairs(page_store, 2, gold=Preference.A)
    assert open_page("pairs").selectbox(key="version").placeholder == "None compared yet"
    record(page_store, ids, {"ab": "ab", "ba": "  "}, name="once")
    app = open_page("pairs")
    words = " ".join(texts(app))
    assert "asked in one order only" in words
    assert "Each pair was asked in one order only. That verdict counts" in words
    assert "if both orders agree" not in words
    figures = app.dataframe[0].value
    assert {"Change with order", "Tie in one order", "Same in both orders", "If consistent"}.isdisjoint(figures)
    assert figures["Accuracy"].tolist()[0].startswith("50 %")


def test_several_aspects_of_all_pairs_need_no_slice(page_store: Store, open_page: OpenPage) -> None:
    ids, version = add_pairs(page_store, 2), record(page_store, [], {}, name="fine")
    said = {(ids[0], Shown.BA): Preference.B}
    items = [
        NewComparison(
            id_, order, StepRecord(Status.OK), dict.fromkeys(("style", "depth"), said.get((id_, order), Preference.A))
        )
        for id_ in ids
        for order in Shown
    ]
    with page_store.writing() as connection:
        store_comparisons(connection, version, None, items)
    figures = open_page("pairs").dataframe[0].value
    assert "Slice" not in figures, "all of them are of all pairs"
    assert "Accuracy" not in figures, "there is none"
    assert figures["Change with order"].tolist() == [1, 1]


@pytest.mark.parametrize(
    ("listed", "pairs"),
    [("Inconsistent", ["p3", "p4"]), ("Wrong", ["p2"]), ("Unmeasured", ["p5"]), ("Not judged by people", ["p1"])],
)
def test_the_list_narrows(
    pair_ids: list[int], sqlite_store: Store, open_page: OpenPage, listed: str, pairs: list[str]
) -> None:
    for pair_id in (pair_ids[0], *pair_ids[2:]):
        people_say(sqlite_store, pair_id, "a")
    app = open_page("pairs", list=listed)
    assert list(lines_of(app)["Pair"]) == pairs


def test_before_the_decision_the_page_holds_nothing_of_judge_or_models(
    pair_ids: list[int], sqlite_store: Store, open_page: OpenPage
) -> None:
    people_say(sqlite_store, pair_ids[3], "a")
    app = open_page("pairs", pair=pair_ids[3], of=1)
    words = " ".join(texts(app) + labels(app))
    assert "left-3" in words
    assert "right-3" in words
    for hidden in ("strict", "alpha-model", "beta-model", "Judge", "Gold", "p3", "nconsistent", "person 0"):
        assert hidden not in words, hidden
    assert len(app.dataframe) == 0


def test_after_it_the_page_says_both_orders_in_terms_of_the_screen(
    pair_ids: list[int], sqlite_store: Store, open_page: OpenPage
) -> None:
    mara = ensure_reviewer(sqlite_store, "page", "Mara")
    order = order_for(pair_ids[0], mara.id)
    prefer(sqlite_store, pair_id=pair_ids[0], reviewer=mara, preference=Preference.A, shown=order, request_key="one")
    words = " ".join(texts(open_page("pairs", pair=pair_ids[0], of=1)))
    side = "left" if order == "ab" else "right"
    assert f"YouThe {side} answer is better" in words
    assert f"Judge, left answer shown firstThe {side} answer is better" in words
    assert f"Judge, right answer shown firstThe {side} answer is better" in words
    assert "The same in both orders" in words
    assert f"{side.capitalize()} answer byalpha-model" in words


def test_a_note_on_a_pair_survives_a_reload_and_is_stored_with_the_preference(
    pair_ids: list[int], sqlite_store: Store, open_page: OpenPage
) -> None:
    def note(app: AppTest) -> str:
        [field] = [each for each in app.text_input if each.key and each.key.startswith("note_")]
        return str(field.value)

    app = open_page("pairs", pair=pair_ids[0], of=1)
    [field] = [each for each in app.text_input if each.key and each.key.startswith("note_")]
    field.input("It names the source.").run()
    again = open_page("pairs", pair=pair_ids[0], of=1)
    assert note(again) == "It names the source."
    assert note(press(again, "left_")) == ""
    assert [row["note"] for row in rows_of(sqlite_store, REVIEW)] == ["It names the source."]


def test_opened_by_its_line_a_pair_is_shown_with_the_verdict_and_can_be_overruled(
    pair_ids: list[int], sqlite_store: Store, open_page: OpenPage
) -> None:
    app = open_page("pairs", pair=pair_ids[0], of=1, seen=1)
    words = " ".join(texts(app))
    assert "strict v1" in words
    assert "Overrule the judge" in words
    (tie,) = (button for button in app.button if button.label == "Tie")
    assert tie.proto.shortcut == "", "a click, no key"
    with sqlite_store.reading() as connection:
        assert load_preferences(connection) == []


def test_what_was_in_view_once_stays_seen_in_this_session(pair_ids: list[int], open_page: OpenPage) -> None:
    app = open_page("pairs", pair=pair_ids[0], of=1, seen=1)
    del app.query_params["seen"]
    assert "strict v1" in " ".join(texts(app.run()))
    app.query_params["pair"] = str(pair_ids[1])
    assert "strict v1" not in " ".join(texts(app.run()))


def test_a_mind_may_be_changed_back_and_forth_and_every_press_is_stored(pair_ids: list[int], page_store: Store) -> None:
    mara, session_state = ensure_reviewer(page_store, "page", "Mara"), ReviewSession()
    for side in ("left", "tie", "left", "tie", "left"):
        with page_store.reading() as connection:
            screen = pair_screen(connection, pair_ids[0], aspect="overall", reviewer_id=mara.id, version_id=1)
        row = screen_row(screen)
        actions = PairActions(
            store=page_store,
            session=session_state,
            reviewer=mara,
            row=row,
            request_key=session_state.request_key(row),
            subject=-pair_ids[0],
            name="pair",
            seconds=lambda: 1.0,
            screen=screen,
        )
        for _ in range(2):  # the same key press, arriving twice
            actions.decide(stored_side(side, screen.shown))
        assert not session_state.refused, session_state.message
    rows = rows_of(page_store, REVIEW)
    assert [not row["seen"] for row in rows] == [True, False, False, False, False]
    assert [row["replaces"] for row in rows] == [None, None, *(row["id"] for row in rows[1:4])]


def test_the_pair_after_one_opened_by_its_line_is_blind_again() -> None:
    opened = PairAddress(1, 1, "overall", Listed.ALL, (), verdict_seen=True)
    assert "seen" in opened.rows().query
    assert "seen" not in opened.at(2).rows().query


def test_going_on_reads_the_pair_and_not_the_whole_list(
    pair_ids: list[int], page_store: Store, open_page: OpenPage
) -> None:
    mara = ensure_reviewer(page_store, "page", "Mara")
    app = open_page("pairs", pair=pair_ids[0], of=1)
    with plans_of(session.store()) as plans:
        app.query_params["pair"] = str(pair_ids[1])
        app.run()
        assert "Pair 2 of 6" in " ".join(texts(app))
        order = order_for(pair_ids[1], mara.id)
        prefer(page_store, pair_id=pair_ids[1], reviewer=mara, preference=Preference.A, shown=order, request_key="one")
        app.run()
        assert "strict v1" in " ".join(texts(app)), "now it is revealed"
    assert whole_tables(plans) == []


def test_the_list_is_worked_out_again_only_where_something_was_added(
    pair_ids: list[int], page_store: Store, open_page: OpenPage
) -> None:
    app = open_page("pairs")
    with plans_of(session.store()) as plans:
        app.run()
    assert not [plan for plan in plans if "comparison_score" in plan]
    assert len(lines_of(app)) == len(pair_ids)
    people_say(page_store, pair_ids[0], "b")
    assert lines_of(app.run())["People"].tolist()[0] == "B (1)"


def test_an_aspect_of_the_address_that_the_judge_does_not_know_is_not_judged(
    pair_ids: list[int], open_page: OpenPage
) -> None:
    words = " ".join(texts(open_page("pairs", **{"pair": pair_ids[0], "of": 1, "in": "made up"})))
    assert "Pair 1 of 6 · QA · overall" in words


def test_a_pair_that_lost_a_text_cannot_be_decided(pair_ids: list[int], page_store: Store, open_page: OpenPage) -> None:
    with page_store.writing() as connection:
        (question,) = store_pairs(connection, [Pair("bench", "no answers", "Which?")]).new
    app = open_page("pairs", pair=question)
    assert all(button.disabled for button in app.button if button.label in {"Left is better", "Tie"})


@pytest.mark.parametrize("pair", ["99", "x"])
def test_an_address_without_its_pair_says_so(pair_ids: list[int], open_page: OpenPage, pair: str) -> None:
    assert any("no pair" in text for text in texts(open_page("pairs", pair=pair), cls="jb-note")), pair_ids


def test_without_a_name_nothing_can_be_decided(pair_ids: list[int], open_page: OpenPage) -> None:
    app = open_page("pairs", reviewer="", pair=pair_ids[0])
    assert "Left is better" not in labels(app)
    assert [field.label for field in app.text_input] == ["Your name"]
    assert "You will judge 6 pairs" in texts(app, "jb-say")[0]


def test_a_queue_of_pairs_stands_where_pairs_are_judged_and_under_queues(
    page_rows, open_page: OpenPage, sqlite_store: Store
) -> None:
    case = queue_case(sqlite_store)
    add_pairs(sqlite_store, 2, source="own", query_type="QA")
    add_pairs(sqlite_store, 3, query_type="pairs")
    mara = ensure_reviewer(sqlite_store, "page", "Mara")
    only_some = RowFilter(query_types=("pairs",))
    for name, subject, where in (("old or new", "pairs", only_some), ("answers", "answers", RowFilter())):
        case.queue(name, subject=subject, where=where, order=QueueOrder.OLDEST, assigned=(mara,))
    app = open_page("pairs")
    assert "old or new · 3 pairs left for you, 0 done" in texts(app)
    assert [each.key for each in app.button if (each.key or "").startswith("your_queue_")] == ["your_queue_1"]
    assert "judge_pairs" in [each.key for each in app.button]
    app = press(app, "your_queue_1")
    assert "Which answer is better?" in [each.label for each in app.get("button_group")] + texts(app)
    listed = next(each.value for each in open_page("queues").dataframe if "Queue" in each.value)
    assert dict(zip(listed["Queue"], listed["Items"], strict=True))["old or new"] == "3 pairs"


def test_pairs_of_a_queue_are_decided_by_the_sides_of_the_reader_and_nothing_hidden_is_shown(
    page_store: Store, open_page: OpenPage
) -> None:
    case = queue_case(page_store)
    ids = add_pairs(page_store, 6, gold=Preference.B, model_a="hiddenmodel", model_b="hiddenwriter")
    record(page_store, ids, {"ab": "aaaaaa", "ba": "aaaaaa"}, name="hiddenjudge")
    case.queue("pairs", subject="pairs", order=QueueOrder.OLDEST, assigned=(case.mara,))
    app = open_page("item", queue="pairs")
    lefts, said = set(), []
    for side in ("left", "tie", "right", "right", "tie", "left"):
        assert not app.dataframe
        assert "hidden" not in " ".join(texts(app) + labels(app))
        [pair] = texts(app, "jb-pane jb-pair")
        left = pair.index("left-") < pair.index("right-")
        lefts.add(left)
        said.append({"left": "a" if left else "b", "tie": "tie", "right": "b" if left else "a"}[side])
        app = press(app, f"{side}_")
    assert "Nothing is left for you" in texts(app, "jb-empty")[0]
    assert [row["preference"] for row in rows_of(page_store, PREFERENCE_SCORE)] == said
    assert lefts == {True, False}
