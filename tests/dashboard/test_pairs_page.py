"""The page of pairs without a browser: what it says when it is empty, what it lists, what it hides."""

import json
import re

import pytest

from app_pages import in_address, keys, labels, press, shown, table, texts
from judgeboard.domain import Preference, Shown
from judgeboard.imports.importing import import_file, undo_import
from judgeboard.people.roster import ensure_reviewer, set_sources
from judgeboard.reviews.shown import order_for
from judgeboard.store.filters import RowFilter
from judgeboard.store.tables import PREFERENCE_SCORE
from judgeboard_dashboard import session
from pair_log import add_pairs, people_say, prefer_outside, record
from query_plans import plans_of
from queue_case import queue_case
from stored_rows import rows_of


@pytest.fixture
def pair_ids(page_store):
    """Six pairs in it."""
    ids = add_pairs(
        page_store,
        6,
        query_type="QA",
        model_a="alpha-model",
        model_b="beta-model",
        gold=Preference.A,
    )
    record(page_store, ids, {"ab": "aabta-", "ba": "aabbba"}, name="strict")
    return ids


def lines_of(app):
    """The list of pairs."""
    return table(app, "Question")


def groups(app):
    """The lines of the first table, of figures."""
    return app.dataframe[0].value.astype(object).to_numpy().tolist()


@pytest.mark.usefixtures("page_store")
def test_figures_and_pairs_are_listed(pair_ids, sqlite_store, open_page):
    people_say(sqlite_store, pair_ids[0], "a", "b", "b")
    app = open_page("pairs")
    (group,) = groups(app)
    assert group[:3] == ["all pairs", 6, "60 % [23, 88]"]
    lines = lines_of(app)
    assert list(lines["Judge"]) == ["A", "A", "B", "inconsistent", "inconsistent", "unmeasured"]
    assert lines["People"].tolist()[0] == "B (3)"


def test_the_list_narrows(pair_ids, open_page):
    assert list(lines_of(open_page("pairs", list="Inconsistent"))["Pair"]) == ["p3", "p4"]


def test_a_pair_is_shown_with_the_verdicts_of_judges_and_the_preferences_of_people(
    pair_ids, sqlite_store, open_page
):
    mara = ensure_reviewer(sqlite_store, "page", "Mara")
    prefer_outside(sqlite_store, pair_ids[3], mara, Preference.TIE, "one", seen=("judge", "people"))
    people_say(sqlite_store, pair_ids[3], "b")
    app = open_page("pairs", pair=pair_ids[3])
    words = shown(app)
    assert re.search(r"strict v1\.[^.]*A first[^.]*tie\.", words)
    assert re.search(r"strict v1\.[^.]*B first[^.]*answer B\.", words)
    for part in (
        "Answer A · alpha-model",
        "Answer B · beta-model",
        "left-3",
        "right-3",
        "p3",
        "Gold: A.",
        "Mara, overall: tie",
        "0, overall: B",
    ):
        assert part in words, part
    assert len(lines_of(press(app, "pairs_back"))) == len(pair_ids)


def test_a_pair_to_review_blind_is_shown_only_after_the_own_preference(pair_ids, case, open_page):
    case.queue("blind", subject="pairs", order="oldest", assigned=(case.mara,))
    assert "alpha-model" not in shown(open_page("pairs", pair=pair_ids[0]))
    case.review(case.mara, Preference.A, "blind")
    assert "alpha-model" in shown(open_page("pairs", pair=pair_ids[0]))


def test_the_listed_pairs_go_into_the_form_of_a_queue(pair_ids, open_page):
    press(open_page("pairs", list="Inconsistent"), "pairs_queue")
    form = open_page("queues", new="pairs", id=["p3", "p4"])
    assert form.session_state["nq_subject"] == "Pairs"
    assert "will have 2." in shown(form)


def test_the_list_is_worked_out_again_only_where_something_was_added(
    pair_ids, page_store, open_page
):
    app = open_page("pairs")
    with plans_of(session.store()) as plans:
        app.run()
    assert not [plan for plan in plans if "comparison_score" in plan]
    assert len(lines_of(app)) == len(pair_ids)
    people_say(page_store, pair_ids[0], "b")
    assert lines_of(app.run())["People"].tolist()[0] == "B (1)"


def test_a_withdrawn_import_leaves_the_figures_of_a_person_with_limited_sources(
    page_store, open_page, tmp_path
):
    for number in (1, 2):
        pair = {"id": f"p{number}", "query": "Which?", "answer_a": "left-1", "answer_b": "right-1"}
        file = tmp_path / f"{number}.jsonl"
        file.write_text(json.dumps(pair))
        import_file(page_store, file, kind="pairs", source="bench")
        record(page_store, [number], {"ab": "a", "ba": "a"}, name="strict")
    ensure_reviewer(page_store, "page", "Mara")
    set_sources(page_store, "Mara", ["bench"], "lead", origin="page")
    app = open_page("pairs", reviewer="Mara")
    assert groups(app)[0][:2] == ["all pairs", 2]
    # No row with a higher id is left that the person could see.
    undo_import(page_store, 1)
    assert groups(app.run())[0][:2] == ["all pairs", 1]


@pytest.mark.parametrize("pair", ["99", "x"])
def test_an_address_without_its_pair_says_so(pair_ids, open_page, pair):
    assert any("no pair" in text for text in texts(open_page("pairs", pair=pair), cls="jb-note")), (
        pair_ids
    )


def test_a_queue_of_pairs_stands_where_pairs_are_judged_and_under_queues(
    page_rows, open_page, sqlite_store
):
    case = queue_case(sqlite_store)
    add_pairs(sqlite_store, 2, source="own", query_type="QA")
    add_pairs(sqlite_store, 3, query_type="pairs")
    only_some = RowFilter(query_types=("pairs",))
    for name, subject, where in (
        ("old or new", "pairs", only_some),
        ("answers", "answers", RowFilter()),
    ):
        rules = {"subject": subject, "where": where, "order": "oldest"}
        case.queue(name, assigned=(case.mara,), **rules)
    app = open_page("pairs")
    [line] = [each for each in texts(app) if each.startswith("old or new")]
    assert "3 pairs left" in line
    assert "0 done" in line
    assert str(keys(app)).count("your_queue_") == 1
    press(app, "your_queue_1")
    assert in_address(app, "queue") == "old or new"
    listed = table(open_page("queues"), "Queue")
    assert dict(zip(listed["Queue"], listed["Items"], strict=True))["old or new"] == "3 pairs"


def test_pairs_of_a_queue_are_decided_by_the_sides_of_the_reader_and_nothing_hidden_is_shown(
    page_store, case, open_page
):
    ids = add_pairs(page_store, 6, gold=Preference.B, model_a="hiddenmodel", model_b="hiddenwriter")
    record(page_store, ids, {"ab": "aaaaaa", "ba": "aaaaaa"}, name="hiddenjudge")
    case.queue("pairs", subject="pairs", order="oldest", assigned=(case.mara,))
    app = open_page("item", queue="pairs")
    lefts, said = set(), []
    for side in ("left", "tie", "right", "right", "tie", "left"):
        assert not app.dataframe
        assert "hidden" not in " ".join(texts(app) + labels(app))
        [pair] = texts(app, "jb-pane jb-pair")
        left = pair.index("left-") < pair.index("right-")
        lefts.add(left)
        said.append(
            {"left": "a" if left else "b", "tie": "tie", "right": "b" if left else "a"}[side]
        )
        press(app, f"{side}_")
    assert len(texts(app, "jb-empty")) == 1
    assert [row["preference"] for row in rows_of(page_store, PREFERENCE_SCORE)] == said
    assert lefts == {True, False}


def test_a_pair_in_conflict_names_its_sides_as_this_page_and_who_saw_them_the_other_way_round(
    page_store, case, open_page
):
    [pair_id] = add_pairs(page_store, 1)
    case.queue("split", subject="pairs", order="oldest", needed=2)
    case.review(case.mara, Preference.A, "split")
    split = case.review(case.jon, Preference.B, "split")
    app = open_page("conflicts", reviewer="Lead", conflict=split.item_id)
    assert [label.split(" is ")[0] for label in labels(app) if " is " in label] == [
        "Answer A",
        "Answer B",
    ]
    [pair] = texts(app, "jb-pane jb-pair")
    assert (
        pair.index("Answer A")
        < pair.index("left-0")
        < pair.index("Answer B")
        < pair.index("right-0")
    )
    swapped = [who for who in (case.mara, case.jon) if order_for(pair_id, who.id) is Shown.BA]
    assert sum("left" in each for each in texts(app, "jb-cap")) == len(swapped)
