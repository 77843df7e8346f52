"""The Self-reference page: its sentence, its pictures, its list, and what a judge tried at one question."""

import pytest

from app_pages import OpenPage, table_rows, text_with, texts
from judgeboard.domain import JudgeVersion, Pair, Preference, Shown, Status, StepRecord
from judgeboard.methods.self_reference.queries import NewSample, store_samples
from judgeboard.store.comparisons import NewComparison, store_comparisons
from judgeboard.store.engine import Store
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


def fill(
    store: Store, items: list[tuple[str, str, str]], name: str = "solver", question: str = "Which?"
) -> list[int]:
    """Store these items of a judge; its better answer is the first."""
    with store.writing() as connection:
        version = ensure_version(connection, JudgeVersion(name, "ssr", params={"samples": 5}))
        pairs = [
            Pair(
                name,
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


def _record(said: str) -> StepRecord:
    if said == "-":
        return StepRecord(Status.UNPARSABLE, raw="hm")
    return StepRecord(Status.OK, raw=f'{{"reasoning": "{REASONING}", "answer": "{said}"}}')


@pytest.fixture
def filled(sqlite_store: Store) -> list[int]:
    return fill(sqlite_store, ITEMS)


def test_without_any_answer_the_page_has_the_button_of_the_next_step(open_page: OpenPage) -> None:
    assert "step_Import a log" in [button.key for button in open_page("self_reference").button]


def test_the_page_has_the_caveats(open_page: OpenPage, filled: list[int]) -> None:
    assert "On 1 question" in " ".join(texts(open_page("self_reference"), "jb-cap"))


def test_slices_and_categories_stand_in_tables(open_page: OpenPage, filled: list[int]) -> None:
    app = open_page("self_reference")
    rows = table_rows(app, "Share of all")
    assert [(*row[0].split(", own answer "), row[1]) for row in rows] == [
        ("Gate on", 3),
        ("Gate off", 2),
        ("Gate on", "right", 2),
        ("Gate on", "wrong", 1),
        ("Gate off", "right", 0),
        ("Gate off", "wrong", 1),
        ("all pairs", 5),
    ]
    # Of all, and right without a reference.
    assert [str(cell).split(" [")[0] for cell in rows[2][2:4]] == ["50 %", "25 %"]
    assert table_rows(app, "Category")[0][:2] == ["geo", 5]


def test_the_list_begins_with_what_c_gets_wrong_and_narrows_to_a_slice(
    open_page: OpenPage, filled: list[int]
) -> None:
    app = open_page("self_reference")
    lines = table_rows(app, "Own answer")
    assert lines[0][2:] == ["5 of 5", "A", "no", "right", "wrong", "wrong"]
    assert ["0 of 5", "no answer"] in [line[2:4] for line in lines]
    assert len(lines) == 5
    narrowed = open_page("self_reference", listed="Gate on, own answer right")
    assert [line[3] for line in table_rows(narrowed, "Own answer")] == ["B", "B"]


def test_another_gate_and_fewer_tries_are_a_matter_of_the_address(
    open_page: OpenPage, filled: list[int]
) -> None:
    app = open_page("self_reference", gate="5 of 5")
    app = open_page("self_reference", samples="3", gate="3 of 3")
    assert app.selectbox(key="gate").options == ["3 of 3", "2 of 3", "1 of 3"]


def test_the_chosen_pair_shows_every_try_and_both_conditions(
    open_page: OpenPage, filled: list[int]
) -> None:
    app = open_page("self_reference")
    (panel,) = texts(app, "jb-one")
    assert "Correct option B" in panel
    assert "answer A" in panel
    assert panel.count(REASONING) == 5
    assert "no reference" in panel
    assert "its own answer" in panel
    assert "prefers answer B." in panel
    app.button(key="open_pair").click().run()
    assert app.query_params["pair"] in (str(filled[2]), [str(filled[2])])


def test_a_try_without_an_answer_is_said_so(open_page: OpenPage, filled: list[int]) -> None:
    app = open_page("self_reference", listed="Gate off")
    lines = [line[3] for line in table_rows(app, "Own answer")]
    assert lines == ["A", "no answer"]


def test_samples_alone_show_the_calibration_and_say_what_is_missing(
    open_page: OpenPage, sqlite_store: Store
) -> None:
    fill(sqlite_store, [("BBBBB", "", ""), ("ABBAB", "", "")])
    app = open_page("self_reference")
    assert "not available" in texts(app, "jb-say")[0]
    assert table_rows(app, "Own answer right")
    assert "ssr --pairs FILE" in " ".join(texts(app, "jb-cap"))
    assert text_with(app, "2 of 2", cls="jb-part")
    for empty in ("A no reference", "C selective", "Condition A"):
        # Columns of conditions that nobody was asked in.
        assert not any(empty in each.value for each in app.dataframe)


def test_tries_beyond_those_chosen_are_set_apart(open_page: OpenPage, filled: list[int]) -> None:
    (panel,) = texts(open_page("self_reference", samples="3", gate="3 of 3"), "jb-one")
    counted, _, more = panel.partition("More samples")
    assert "3. " in counted
    assert "4. " not in counted
    assert "4. " in more
    (panel,) = texts(open_page("self_reference"), "jb-one")
    assert "More samples" not in panel


def test_conditions_levels_and_gates_have_a_table(open_page: OpenPage, filled: list[int]) -> None:
    app = open_page("self_reference")
    assert [row[0] for row in table_rows(app, "Condition")] == [
        "A no reference",
        "B always",
        "C selective",
    ]
    assert table_rows(app, "Own answer right")[-1][:2] == ["5 of 5", 2]
    assert len(table_rows(app, "Gate threshold")) == 5


@pytest.mark.parametrize("name", ["script", "markdown", "marks"])
def test_hostile_texts_are_shown_as_they_are(
    open_page: OpenPage, sqlite_store: Store, name: str
) -> None:
    fill(sqlite_store, ITEMS[:1], question=HOSTILE[name])
    (panel,) = texts(open_page("self_reference"), "jb-one")
    assert HOSTILE[name].split("\n")[0][:40] in panel
