"""The Self-reference page: its sentence, its pictures, its list, and what a judge tried at one question."""

import pytest

from app_pages import click, in_address, table_rows, text_with, texts
from judgeboard.domain import JudgeVersion, Pair, Preference, Shown, Status, StepRecord
from judgeboard.methods.self_reference.queries import NewSample, store_samples
from judgeboard.store.comparisons import NewComparison, store_comparisons
from judgeboard.store.judge_versions import ensure_version
from judgeboard.store.pairs import store_pairs
from page_rows import HOSTILE

# Samples of a question whose right answer is B, then what was preferred in both orders without and
# with a reference.
ITEMS = [
    ("BBBBB", "bb", "aa"),
    ("BBBBA", "ab", "aa"),
    ("AAAAA", "aa", "bb"),
    ("ABCAB", "aa", "bb"),
    ("-----", "aa", ""),
]


def fill(store, items, question="Which?"):
    """Store these items of a judge; its better answer is the first."""
    with store.writing() as connection:
        version = ensure_version(connection, JudgeVersion("solver", "ssr", params={"samples": 5}))
        pairs = [
            Pair(
                "log",
                f"q{number}",
                f"{question} ({number})",
                "left",
                "right",
                "geo",
                ("w", "x", "y"),
                "B",
                gold=Preference.A,
            )
            for number in range(len(items))
        ]
        ids = store_pairs(connection, pairs).new
        for pair_id, (samples, plain, reference) in zip(ids, items, strict=True):
            tries = [
                NewSample(pair_id, number, None if said == "-" else said, _record(said))
                for number, said in enumerate(samples)
            ]
            store_samples(connection, version, None, tries)
            verdicts = [
                NewComparison(
                    pair_id,
                    shown,
                    StepRecord(Status.OK),
                    {"overall": Preference(one)},
                    condition,
                    reasoning=f"Because of {question}",
                )
                for condition, said in (("plain", plain), ("reference", reference))
                for shown, one in zip(Shown, said, strict=False)
            ]
            store_comparisons(connection, version, None, verdicts)
    return ids


REASONING = "I worked it out."


def _record(said):
    if said == "-":
        return StepRecord(Status.UNPARSABLE, raw="hm")
    return StepRecord(Status.OK, raw=f'{{"reasoning": "{REASONING}", "answer": "{said}"}}')


@pytest.fixture
def filled(sqlite_store):
    return fill(sqlite_store, ITEMS)


def test_the_figures_the_list_and_the_chosen_pair(open_page, filled):
    app = open_page("self_reference")
    slices = table_rows(app, "Share of all")
    assert [row[1] for row in slices] == [3, 2, 2, 1, 0, 1, 5]
    assert [str(cell).split(" [")[0] for cell in slices[2][2:4]] == ["50 %", "25 %"]
    assert table_rows(app, "Category")[0][:2] == ["geo", 5]
    assert [row[0][0] for row in table_rows(app, "Condition")] == ["A", "B", "C"]
    assert table_rows(app, "Own answer right")[-1][:2] == ["5 of 5", 2]
    assert len(table_rows(app, "Gate threshold")) == 5
    lines = table_rows(app, "Own answer")
    assert lines[0][2:] == ["5 of 5", "A", "no", "right", "wrong", "wrong"]
    assert ["0 of 5", "no answer"] in [line[2:4] for line in lines]
    assert len(lines) == 5
    (panel,) = texts(app, "jb-one")
    assert panel.count(REASONING) == 5
    for part in ("Correct option B", "no reference", "its own answer", "prefers answer B."):
        assert part in panel
    assert "More samples" not in panel
    click(app, "open_pair")
    assert in_address(app, "pair") == str(filled[2])


def test_a_slice_a_gate_and_a_number_of_samples_are_chosen_in_the_address(open_page, filled):
    narrowed = open_page("self_reference", listed="Gate on, own answer right")
    assert [line[3] for line in table_rows(narrowed, "Own answer")] == ["B", "B"]
    app = open_page("self_reference", samples="3", gate="3 of 3")
    assert app.selectbox(key="gate").options == ["3 of 3", "2 of 3", "1 of 3"]
    (panel,) = texts(app, "jb-one")
    counted, _, more = panel.partition("More samples")
    assert "3. " in counted
    assert "4. " not in counted
    assert "4. " in more


def test_samples_alone_show_the_calibration_and_say_what_is_missing(open_page, sqlite_store):
    fill(sqlite_store, [("BBBBB", "", ""), ("ABBAB", "", "")])
    app = open_page("self_reference")
    assert "not available" in texts(app, "jb-say")[0]
    assert table_rows(app, "Own answer right")
    assert "ssr --pairs FILE" in " ".join(texts(app, "jb-cap"))
    assert text_with(app, "2 of 2", cls="jb-part")
    for empty in ("A no reference", "C selective", "Condition A"):
        # Columns of conditions that nobody was asked in.
        assert not any(empty in each.value for each in app.dataframe)


@pytest.mark.parametrize("name", ["script", "markdown", "marks"])
def test_hostile_texts_are_shown_as_they_are(open_page, sqlite_store, name):
    fill(sqlite_store, ITEMS[:1], question=HOSTILE[name])
    (panel,) = texts(open_page("self_reference"), "jb-one")
    assert HOSTILE[name].split("\n")[0][:40] in panel
