"""Failure modes: listed by leads, part of a review, counted, hidden from blind reviewers, exported and imported."""

import json
from datetime import UTC, datetime

import pytest

from engines import on_sqlite
from judgeboard.errors import BadInput
from judgeboard.imports.importing import import_file
from judgeboard.reviews.failure_modes import (
    failure_mode_counts,
    save_mode,
    suggested_modes,
)
from judgeboard.store.export import export_tables
from judgeboard.store.filters import parse_where
from judgeboard.store.hidden_rows import Seen
from judgeboard.store.issues import list_modes
from judgeboard.store.items import load_item
from judgeboard.store.response_pages import response_page
from judgeboard.store.reviews import find_review
from queue_case import CONFIRM, DISMISS

ENTITY, OUTDATED = "wrong entity", "outdated source"


@pytest.fixture
def modes(case):
    save_mode(case.store, ENTITY, "Mixes up people", key="p", by=case.lead)
    save_mode(case.store, OUTDATED, by=case.lead)
    return case


def counts(case, by="query_type", viewer=None):
    with Seen(case.store, viewer).reading() as connection:
        counted = failure_mode_counts(connection, by)
        for each in counted:
            assert response_page(connection, each.where).total == each.answers
    return {(each.group, each.mode): (each.answers, each.share.n) for each in counted}


@on_sqlite
def test_a_tag_is_stored_edited_and_undone_with_its_review(modes):
    first, _ = modes.flagged(0.1, 0.2)
    modes.queue()
    stored = modes.review(modes.mara, modes=(ENTITY, OUTDATED, ENTITY))
    (of_item,) = modes.read(load_item, first).reviews
    for review in (modes.read(find_review, stored.review_id), of_item):
        assert review.grade.modes == (OUTDATED, ENTITY)
    with pytest.raises(BadInput, match="'else'"):
        modes.review(modes.jon, modes=("else",))
    changed = modes.change(stored.review_id, modes.mara, CONFIRM, modes=(ENTITY,))
    assert counts(modes) == {("QA", ENTITY): (1, 1)}
    modes.undo(changed, modes.mara)
    assert counts(modes) == {}


def test_counts_are_answers_among_those_reviewed_by_type_version_and_week(modes):
    for number, (day, query_type) in enumerate(((2, "Summary"), (8, "QA"), (9, "QA"))):
        asked = {"query_type": query_type, "asked_at": datetime(2026, 3, day, tzinfo=UTC)}
        (response_id,) = modes.add(f"w{number}", **asked)
        modes.judge(response_id, 0.1 + number / 10)
        modes.judge(response_id, 0.3, judge="other")
    modes.queue(needed=2)
    for who, second in ((modes.mara, (OUTDATED,)), (modes.jon, ())):
        for named in ((ENTITY,), second, ()):
            modes.review(who, modes=named)
    assert counts(modes) == {
        ("QA", ENTITY): (0, 2),
        ("QA", OUTDATED): (1, 2),
        ("Summary", ENTITY): (1, 1),
        ("Summary", OUTDATED): (0, 1),
    }
    assert counts(modes, "judge_version") == {
        (f"{judge} v1", mode): (1, 3) for judge in ("rag", "other") for mode in (ENTITY, OUTDATED)
    }
    assert counts(modes, "week") == {
        ("2026-03-02", ENTITY): (1, 2),
        ("2026-03-02", OUTDATED): (1, 2),
    }


def test_a_blind_reviewer_sees_no_tag_of_a_hidden_answer(modes):
    (response_id,) = modes.flagged(0.1)
    modes.queue(needed=2, blind_people=True, assigned=(modes.mara, modes.jon))
    modes.review(modes.mara, modes=(ENTITY,), note="mixes up two people")
    assert counts(modes, viewer=modes.jon.id) == {}
    assert counts(modes, viewer=modes.mara.id) == {("QA", ENTITY): (1, 1)}
    assert modes.read_as(modes.jon, load_item, response_id).reviews == ()
    where = parse_where([f"failure_mode={ENTITY}"])
    assert modes.read_as(modes.jon, response_page, where).total == 0


@on_sqlite
def test_leads_keep_the_list_and_retired_modes_keep_their_tags(modes):
    modes.queue_of(0.1)
    modes.review(modes.mara, modes=(ENTITY,))
    save_mode(modes.store, "Wrong Entity", "Names another person", key="n", by=modes.lead)
    save_mode(modes.store, OUTDATED, retired=True, by=modes.lead)
    listed = [(mode.name, mode.key, mode.retired) for mode in modes.read(list_modes).values()]
    assert listed == [(ENTITY, "N", False), (OUTDATED, None, True)]
    for name, key in (("another", "N"), ("another", "R"), (" ", None), ("x" * 61, None)):
        with pytest.raises(BadInput):
            save_mode(modes.store, name, key=key, by=modes.lead)
    assert counts(modes) == {("QA", ENTITY): (1, 1)}


def test_tags_are_exported_and_imported(modes, tmp_path):
    modes.queue_of(0.1)
    modes.review(modes.mara, label="hallucinated", modes=(ENTITY,))
    file = tmp_path / "reviews.jsonl"
    export_tables(modes.store, {"reviews": file, "failure_modes": tmp_path / "modes.jsonl"})
    (exported,) = map(json.loads, file.read_text().splitlines())
    assert exported["failure_modes"] == [ENTITY]
    row = {"annotator": "Ines", "failure_modes": [ENTITY, "rude tone"]}
    file.write_text(json.dumps(row | {"external_id": exported["external_id"]}))
    for new in (1, 0):
        assert import_file(modes.store, file, kind="grades").new == new
    assert counts(modes) == {("QA", ENTITY): (1, 1), ("QA", "rude tone"): (1, 1)}


def test_notes_about_problems_without_a_mode_are_grouped_by_a_phrase(modes):
    modes.queue_of(0.1, 0.2, 0.3, 0.4, 0.15, 0.25)
    for note in ("The fee table is outdated.", "Fee table outdated again", "wrong person"):
        modes.review(modes.mara, note=note)
    modes.review(modes.mara, note="fee table", modes=(ENTITY,))
    # A note is in one group.
    assert modes.read(suggested_modes) == {"fee table": 2}
    save_mode(modes.store, "Fee table", by=modes.lead)
    # These words are in names of failure modes.
    assert modes.read(suggested_modes) == {}
    for _ in range(2):
        modes.review(modes.mara, DISMISS, note="Well said")
    # Praise is no failure.
    assert modes.read(suggested_modes) == {}
