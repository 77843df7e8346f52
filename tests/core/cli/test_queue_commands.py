"""`judgeboard queue` and `judgeboard queue adjudicate`, as people type them."""

import json
import shlex
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from judgeboard.cli.app import run
from judgeboard.domain import ClaimMark, ClaimStatus, DimensionScore, Label
from judgeboard.store.filters import RowFilter
from judging_log import address
from pair_log import add_pairs
from queue_case import CONFIRM, DISMISS, QueueCase, queue_case


@pytest.fixture
def case(sqlite_store) -> QueueCase:
    return queue_case(sqlite_store)


Typed = Callable[..., Any]


@pytest.fixture
def typed(case: QueueCase, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Typed:
    """Run a command as somebody; return what it printed, parsed where it is asked for JSON."""

    def type_(user: str, *words: str, code: int = 0) -> Any:
        monkeypatch.setenv("LOGNAME", user)
        assert run([*words, "--db", address(case.store)]) == code
        output = capsys.readouterr()
        if code:
            assert "Traceback" not in output.err
            return output.err
        return json.loads(output.out) if "--json" in words else output.out

    return type_


def test_a_queue_is_made_worked_through_adjudicated_and_closed(case: QueueCase, typed: Typed, tmp_path: Path) -> None:
    case.flagged(0.4, 0.1)
    guide = tmp_path / "guide.txt"
    guide.write_text("Read every clause.")
    made = typed(
        *("lead", "queue", "create", "legal", "--needed", "2", "--order", "oldest", "--guidelines", str(guide)),
        *("--grades", "label", "--json"),
    )
    assert made == {"queue": "legal", "items": 2, "sampled": 0, "short": 0, "assigned_to": [], "invited": []}
    for user, decision in (("ann", "confirm"), ("bob", "dismiss")):
        shown = typed(user, "queue", "next", "legal")
        assert "Read every clause." in shown
        assert "rag v1" in shown
        token = typed(user, "queue", "next", "legal", "--json")["token"]
        assert f"{token} confirm|dismiss|unsure --label grounded|hallucinated [--quality 1..4]" in shown
        say = ("queue", "decide", token, decision, "--note", f"{user} thinks so")
        assert "the queue 'legal' requires label; missing: label" in typed(user, *say, code=2)
        label = {"confirm": "hallucinated", "dismiss": "grounded"}[decision]
        decided = typed(user, *say, "--label", label, "--json")
    assert decided["state"] == "conflict"
    (conflict,) = typed("lead", "queue", "adjudicate", "--queue", "legal", "--json")["conflicts"]
    assert (conflict["item"]["item_id"], conflict["differ_on"], conflict["reviews"]) == (
        decided["item"],
        ["decision", "label"],
        2,
    )
    item = str(decided["item"])
    shown = typed("lead", "queue", "adjudicate", item)
    assert "bob thinks so" in shown
    assert "--reason" in typed("lead", "queue", "adjudicate", item, "--decision", "confirm", code=2)
    typed("lead", "queue", "adjudicate", item, "--decision", "confirm", "--reason", "clause 3", "--quality", "1")
    shown = typed("lead", "queue", "list", "legal", "--json")
    assert (shown["items"], shown["waiting"], shown["adjudicated"]) == (2, 1, 1)
    assert [(each["reviewer"]["name"], each["done"]) for each in shown["people"]] == [("cli:ann", 1), ("cli:bob", 1)]
    typed("lead", "queue", "close", "legal")
    assert "'legal' is closed" in typed("ann", "queue", "next", "legal", code=2)
    assert typed("lead", "queue", "list", "--open", "--json") == {"queues": []}
    assert case.flag_states() == ["confirmed", "open"]


def test_the_json_of_a_queue_has_its_columns_in_a_fixed_order(case: QueueCase, typed: Typed) -> None:
    case.flagged(0.1)
    typed("lead", "queue", "create", "q", "--where", "query_type=QA", "--order", "oldest", "--needed", "2")
    (item,) = case.items()
    shown = typed("lead", "queue", "list", "q", "--json")["queue"]
    assert " ".join(shown) == (
        "id name subject state filter sort reviews_needed overlap seed blind_people blind_judge reveal grades "
        "optional_grades flagged_only max_items drawn_from plan sampling_rate repeat_rate test_rate training "
        "implied_labels lease_seconds guidelines created_by created_at label_schema_id label_schema"
    )
    assert (shown["sort"], shown["reviews_needed"], shown["filter"]["query_types"]) == ("oldest", 2, ["QA"])
    assert shown["filter"].keys() == {field.name for field in fields(RowFilter)}
    assert typed("lead", "queue", "list", "--json")["queues"][0]["queue"] == shown
    assert typed("lead", "queue", "adjudicate", str(item["id"]), "--json")["queue"] == shown


def test_a_blind_queue_prints_nothing_of_the_judge_until_after_the_review(case: QueueCase, typed: Typed) -> None:
    case.flagged(0.123)
    words = ("queue", "create", "q", "--blind-judge", "--grades", "groundedness")
    refused = typed("lead", *words, code=2)
    command = ["judgeboard", *words, "--db", address(case.store), "--assign", "cli:lead"]
    assert f"must name them: assign it to them, for example to yourself: `{shlex.join(command)}`" in refused
    assert typed("lead", *words, "--assign", "cli:lead,cli:ann,Newcomer", "--json")["assigned_to"] == [
        "cli:lead",
        "cli:ann",
        "Newcomer",
    ]
    for shown in (typed("ann", "queue", "next", "q"), json.dumps(typed("ann", "queue", "next", "q", "--json"))):
        assert not any(word in shown for word in ("0.12", "rag", "low_groundedness", "below"))
    token = typed("ann", "queue", "next", "q", "--json")["token"]
    revealed = typed("ann", "queue", "decide", token, "dismiss", "--groundedness", "0.9", "--reveal")
    assert "groundedness 0.12" in revealed
    (review,) = case.reviews()
    again = typed("ann", "queue", "reveal", str(review["id"]), "confirm", "--groundedness", "0.5", "--json")
    assert again["blind"] == review["id"]
    assert [row["stage"] for row in case.reviews()] == ["blind", "revealed"]
    assert "only after your own blind review" in typed("bob", "queue", "reveal", str(review["id"]), code=2)


def test_what_is_skipped_or_given_back_is_said(case: QueueCase, typed: Typed) -> None:
    case.flagged(0.1)
    typed("lead", "queue", "create", "q")
    token = typed("ann", "queue", "next", "q", "--json")["token"]
    assert typed("ann", "queue", "release", token, "--json") == {"released": True}
    assert "no longer lease this item" in typed("ann", "queue", "release", token)
    token = typed("ann", "queue", "next", "q", "--json")["token"]
    assert typed("ann", "queue", "skip", token, "--reason", "in French", "--json") == {"skipped": True}
    assert typed("ann", "queue", "next", "q", "--json") == {"item": None, "leased": 0, "skipped": 1}
    words = "nothing left for cli:ann. You skipped 1 item, which still needs a review.\n"
    assert words in typed("ann", "queue", "next", "q")
    case.flagged(0.2)
    for who in ("bob", "cid"):  # bob has what ann skipped, cid the other
        token = typed(who, "queue", "next", "q", "--json")["token"]
    words = "nothing left for cli:ann. Others have leased 1 item, which may become available later.\n"
    assert words in typed("ann", "queue", "next", "q")
    assert typed("ann", "queue", "next", "q", "--json") == {"item": None, "leased": 1, "skipped": 0}
    fine = ("dismiss", "--label", "grounded", "--groundedness", "1")
    typed("cid", "queue", "decide", token, *fine)
    typed("bob", "queue", "decide", typed("bob", "queue", "next", "q", "--json")["token"], *fine)
    assert "nothing left for cli:ann. All 2 items are reviewed.\n" in typed("ann", "queue", "next", "q")


def test_a_queue_is_given_to_names_and_taken_from_them(case: QueueCase, typed: Typed) -> None:
    case.flagged(0.1)
    assert (
        "Marra is new here, and invited. To review, Marra opens the pages and enters this name. A similar name was "
        "known before: Mara.\n" in typed("lead", "queue", "create", "misspelt", "--assign", "Marra")
    )
    typed("ann", "queue", "create", "other", "--assign", "cli:ann")
    typed("lead", "queue", "create", "q", "--assign", "mara, cli:ann")
    assert "assigned to others" in typed("bob", "queue", "next", "q", code=2)
    assert typed("lead", "queue", "assign", "q", "cli:bob", "--remove", "MARA", "--json") == {
        "queue": "q",
        "assigned_to": ["cli:ann", "cli:bob"],
        "invited": [],
    }
    typed("bob", "queue", "next", "q")
    assert "eve@example.org is not a person here" in typed("lead", "queue", "assign", "q", "eve@example.org", code=2)
    for _ in range(2):  # the first refusal stored nobody
        assert "nobody is named 'Eve'" in typed("lead", "queue", "assign", "q", "--remove", "Eve", code=2)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--blind-judge", "--order", "severity"), "order by oldest or random"),
        (("--where", "colour=red"), "colour"),
        (("--guidelines", "none.txt"), "--guidelines none.txt"),
        (
            ("--subject", "pairs", "--assign", "Mara", "--where", "rule=low_groundedness"),
            "pairs can be filtered only by",
        ),
        (("--where", "rule=lowgroundedness"), "no rule 'lowgroundedness'; rules: low_groundedness, uncertain_verdict"),
        (("--where", "state=confirmed"), "a queue has open flags only: leave out state=confirmed"),
        (("--lease-minutes", "2000"), "the number must be above 0 and at most 1440"),
    ],
)
def test_a_queue_that_cannot_be_made_says_why(words: tuple[str, ...], message: str, typed: Typed) -> None:
    assert message in typed("lead", "queue", "create", "q", *words, code=2)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--where", "query_type=QA", "--where", "state=open", "--where", "rule=low_quality"), ""),
        (("--where", "query_type=qa"), "no answer has the query type 'qa'\n"),
        (("--where", "source=logs"), "no answer has the source 'logs'\n"),
        (
            ("--grades", "quality,groundednes"),
            "nothing is scored on 'groundednes' yet: reviewers score it as a dimension",
        ),
        (
            ("--subject", "pairs", "--assign", "Mara"),
            "there are no pairs yet: add some with `judgeboard import FILE --kind pairs",
        ),
    ],
)
def test_what_a_new_queue_asks_for_and_occurs_nowhere_is_said(
    words: tuple[str, ...], message: str, case: QueueCase, capsys: pytest.CaptureFixture[str]
) -> None:
    case.flagged(0.1)
    assert run(["queue", "create", "q", *words, "--db", address(case.store)]) == 0
    heard = capsys.readouterr().err
    assert message in heard
    assert bool(message) == bool(heard)


def test_the_next_command_that_is_printed_works_for_who_made_the_queue(
    case: QueueCase, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    case.flagged(0.1)
    monkeypatch.setenv("LOGNAME", "lead")
    for name, options in (("mine", ["--assign", "Mara,cli:lead"]), ("theirs", ["--assign", "Mara"]), ("all", [])):
        assert run(["queue", "create", name, *options, "--db", address(case.store)]) == 0
        printed = capsys.readouterr().err.splitlines()[-1].removeprefix("next: judgeboard ").split()
        assert printed[-2:] == ["--db", address(case.store)]
        assert run(printed) == 0
        assert name in capsys.readouterr().out


@pytest.mark.parametrize(
    "words", [("--needed", "0"), ("--overlap", "1.5"), ("--sampling-rate", "1"), ("--order", "worst")]
)
def test_a_value_out_of_range_is_named_with_its_option(
    words: tuple[str, str], case: QueueCase, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["queue", "create", "q", *words, "--db", address(case.store)]) == 2
    assert words[0] in capsys.readouterr().err


def test_a_text_of_a_log_does_not_steer_the_terminal(case: QueueCase, typed: Typed) -> None:
    (response_id,) = case.add("\x1b[2Jevil")
    case.judge(response_id, 0.1)
    typed("lead", "queue", "create", "q")
    shown = typed("ann", "queue", "next", "q")
    assert "\x1b" not in shown
    assert "[2Jevil" in shown
    name = "\x9b2Jevil\u202e"  # click leaves this control character as it is
    typed("lead", "problem", "mode", "add", name, "--description", name)
    listed = typed("lead", "problem", "mode", "list")
    refused = typed("ann", "queue", "confirm", "--mode", "other", "--yes", code=2)
    for shown in (listed, refused):
        assert "\ufffd2Jevil\ufffd" in shown
        assert name not in shown


def test_a_word_for_pairs_is_refused_on_an_answer_and_a_score_that_is_none_is_named(
    case: QueueCase, typed: Typed
) -> None:
    case.flagged(0.1)
    typed("lead", "queue", "create", "q", "--grades", "relevance")
    token = typed("ann", "queue", "next", "q", "--json")["token"]
    assert "item 1 is an answer" in typed("ann", "queue", "decide", token, "left", code=2)
    assert "DIMENSION=N" in typed("ann", "queue", "decide", token, "confirm", "--score", "relevance", code=2)
    typed("ann", "queue", "decide", token, "confirm", "--score", "relevance=4")
    assert "You decided this item already" in typed("ann", "queue", "decide", token, "confirm", code=2)


def test_a_bundle_goes_out_and_comes_back_and_a_bad_line_is_named(
    case: QueueCase, typed: Typed, tmp_path: Path
) -> None:
    case.flagged(0.1, 0.2)
    typed("lead", "queue", "create", "q", "--grades", "")
    file = tmp_path / "mara.jsonl"
    made = typed("lead", "queue", "export", "q", str(file), "--reviewer", "Mara", "--limit", "9", "--json")
    assert (made["items"], made["reviewer"]) == (2, "Mara")
    head, first, second = file.read_text().splitlines()
    file.write_text("\n".join([head, first.replace('"decision": null', '"decision": "perhaps"'), second]))
    assert f"{file}, line 2, decision: must be one of" in typed("lead", "queue", "merge", str(file), code=2)
    file.write_text("\n".join([head, first.replace('"decision": null', '"decision": "confirm"'), second]))
    assert typed("lead", "queue", "merge", str(file), "--json") == {
        "bundle": made["bundle"],
        "queue": "q",
        "reviewer": "Mara",
        "merged": 1,
        "already": 0,
        "unfilled": 1,
        "refused": [],
    }
    assert "0 stored, 1 stored before, 1 not filled in, 0 refused" in typed("lead", "queue", "merge", str(file))
    assert "exists already" in typed("lead", "queue", "export", "q", str(file), "--reviewer", "Mara", code=2)


def test_pairs_are_judged_by_side_and_adjudicated_as_stored(case: QueueCase, typed: Typed) -> None:
    add_pairs(case.store, 1)
    sides = ("--subject", "pairs", "--needed", "2", "--assign", "cli:ann,cli:bob")
    assert typed("lead", "queue", "create", "sides", *sides, "--json")["items"] == 1
    for user, answer in (("ann", "left-0"), ("bob", "right-0")):
        shown = typed(user, "queue", "next", "sides", "--json")
        assert "LEFT" in typed(user, "queue", "next", "sides")
        side = "left" if shown["texts"]["left"] == answer else "right"
        assert "has no grades" in typed(user, "queue", "decide", shown["token"], side, "--quality", "2", code=2)
        assert "is a pair" in typed(user, "queue", "decide", shown["token"], "confirm", code=2)
        decided = typed(user, "queue", "decide", shown["token"], side, "--note", f"{user} says so", "--json")
    assert decided["state"] == "conflict"
    conflict = typed("lead", "queue", "adjudicate", str(decided["item"]), "--json")
    assert [review["decision"] for review in conflict["reviews"]] == ["a", "b"]
    assert (conflict["pair"]["answer_a"], conflict["pair"]["answer_b"]) == ("left-0", "right-0")
    assert "bob says so" in typed("lead", "queue", "adjudicate", str(decided["item"]))
    item = ("queue", "adjudicate", str(decided["item"]), "--reason", "it is longer", "--decision")
    assert "is a pair" in typed("lead", *item, "confirm", code=2)
    assert "has no grades" in typed("lead", *item, "b", "--quality", "2", code=2)
    typed("lead", *item, "b")
    assert case.item_states() == ["adjudicated"]
    assert typed("lead", "queue", "adjudicate") == "There are no conflicts.\n"


def test_the_json_of_a_conflict_has_each_review_with_its_grade_in_one_object(case: QueueCase, typed: Typed) -> None:
    case.flagged(0.1)
    case.queue(needed=2)
    scores = (DimensionScore("tone", 4.0, "1-5"), DimensionScore("accuracy", 2.0, "1-5"))
    marks = (ClaimMark(ClaimStatus.CONTRADICTED, start=0, end=6),)
    span = {"start": 0, "end": 6}
    more = {"spans": (span,), "corrected_answer": "Better.", "in_suite": True, "claim_marks": marks}
    case.review(case.mara, groundedness=0.25, scores=scores, note="no", **more)
    item = case.review(case.jon, DISMISS, label=Label.GROUNDED, quality=4).item_id
    shown = typed("lead", "queue", "adjudicate", str(item), "--json")
    assert list(shown) == ["item", "queue", "answer", "pair", "reviews", "differ_on", "skips"]
    nothing = {"label": None, "groundedness": None, "quality": None, "scores": {}, "note": None}
    rest = {"seconds": None, "at": "2026-03-01T09:00:00Z", "choices": {}, "texts": {}, "spans": []}
    empty = {"stage": None, "decision": None} | nothing | rest | {"corrected_answer": None}
    mara = {"id": 1, "reviewer_id": case.mara.id, "reviewer": "Mara"} | empty
    mara |= {"decision": "confirm", "groundedness": 0.25, "scores": {"tone": 4.0, "accuracy": 2.0}, "note": "no"}
    mara |= {"spans": [span], "corrected_answer": "Better."}
    jon = {"id": 2, "reviewer_id": case.jon.id, "reviewer": "Jon"} | empty
    jon |= {"decision": "dismiss", "label": "grounded", "quality": 4}
    assert json.dumps(shown["reviews"]) == json.dumps([mara, jon]), "the order of the keys is the same too"


def test_who_is_to_review_it_blind_is_not_shown_what_others_said(case: QueueCase, typed: Typed) -> None:
    case.flagged(0.1)
    typed(
        "lead", "queue", "create", "q", "--blind-people", "--needed", "2", "--grades", "", "--assign", "cli:ann,cli:bob"
    )
    typed("lead", "queue", "assign", "q", "cli:ann,cli:bob")
    token = typed("ann", "queue", "next", "q", "--json")["token"]
    item = str(typed("ann", "queue", "decide", token, "confirm", "--note", "secret", "--json")["item"])
    assert "must review this item blind first" in typed("bob", "queue", "adjudicate", item, code=2)
    assert "secret" in typed("lead", "queue", "adjudicate", item)


def test_training_tells_the_gold_label_and_people_work_shows_how_each_person_reviews(
    case: QueueCase, typed: Typed
) -> None:
    case.flagged(0.1)
    case.queue("gold", needed=2)
    case.review(case.mara, CONFIRM, "gold", label=Label.HALLUCINATED)
    disputed = case.review(case.jon, DISMISS, "gold", label=Label.GROUNDED)
    case.adjudicate(disputed.item_id, CONFIRM, "the fee is made up", label=Label.HALLUCINATED)
    typed("lead", "queue", "create", "t", "--training", "--grades", "label", "--assign", "Ada")
    assert "reviews as Ada" in typed("ann", "people", "link", "ada")
    token = typed("ann", "queue", "next", "t", "--json")["token"]
    decided = typed("ann", "queue", "decide", token, "confirm", "--label", "grounded")
    assert "Differs from the gold label on label. Gold label: confirmed, hallucinated." in decided
    assert "Reason: the fee is made up" in decided
    people = typed("lead", "people", "work", "--json")["people"]
    assert {each["name"]: (each["gold"]["value"], each["training"]["value"]) for each in people} == {
        "Ada": (None, 0),  # also as the terminal's user ann
        "Jon": (0, None),
        "Mara": (1, None),
    }
    assert "100 % [21, 100], n = 1" in typed("lead", "people", "work")
    assert "cli:ann reviews as cli:ann" in typed("ann", "people", "link", "--remove")
    assert "is not a person on the pages" in typed("bob", "people", "link", "cli:ann", code=2)
    assert "zoe reviews as Ada\n" in typed("bob", "people", "link", "ada", "--annotator", "zoe")


def test_all_answers_of_a_filter_are_decided_and_undone(case: QueueCase, typed: Typed) -> None:
    case.flagged(0.1, 0.2)
    case.flagged(0.3, query_type="chat")
    for verb in (("dismiss",), ("confirm",), ("tag", "--mode", "x")):
        error = typed("mara", "queue", *verb, "--where", "state=dismissed", "--yes", code=2)
        assert "leave out state=dismissed" in error
    assert case.flag_states() == ["open"] * 3, "a filter that cannot match decides nothing"
    decide = ("queue", "dismiss", "--where", "query_type=chat")
    assert "--yes" in typed("mara", *decide, "--json", code=2)
    done = typed("mara", *decide, "--yes", "--json")
    assert done["decided"]["decided"] == 1
    assert case.flag_states() == ["open", "open", "dismissed"]
    again = typed("mara", *decide, "--yes", "--json", "--bulk", done["bulk"])
    assert again["decided"]["decided"] == 0, "the list of open flags does not have it any more"
    nothing = typed("mara", "queue", "tag", "--where", "query_type=none", "--mode", "x", "--yes")
    assert nothing == "No answer with an open flag matches, so nothing was changed.\n"
    assert typed("mara", "queue", "undo", done["bulk"], "--json")["undone"] == 1
    assert case.flag_states() == ["open"] * 3
