"""Tables of old and new verdicts on the same answers."""

from judgeboard.formats.output import Column, Columns, Table
from judgeboard.measure.verdict_changes import Compared, Comparison, ComparisonPage

_PEOPLE = {"good": "grounded", "bad": "hallucinated"}
_DIRECTIONS = {"towards": "towards people", "away": "away from people"}


COUNTS: Columns[Comparison] = {
    Column("Verdicts", "count"): lambda both: both.compared,
    Column("From bad to good", "count"): lambda both: both.now_good,
    Column("From good to bad", "count"): lambda both: both.now_bad,
    Column("Graded by people", "count"): lambda both: both.graded,
    Column("Old right", "count"): lambda both: both.old_right,
    Column("New right", "count"): lambda both: both.new_right,
}


def change_table(page: ComparisonPage) -> Table:
    """Return the verdicts of a page, one row per answer."""

    def text_of(row: Compared, name: str) -> str | None:
        return getattr(page.texts.get(row.pair.response_id), name, None)

    def question_of(row: Compared) -> str | None:
        question = text_of(row, "question")
        return None if question is None else " ".join(question.split())

    columns: Columns[Compared] = {
        Column("Question", width=250): question_of,
        Column("Old", "number", width=60, help="Groundedness of the old verdict"): lambda row: (
            row.pair.old.groundedness
        ),
        Column("New", "number", width=60, help="Groundedness of the new verdict"): lambda row: (
            row.pair.new.groundedness
        ),
        Column("Change", "number"): lambda row: row.change,
        Column(
            "Flip", width=85, help="New verdict, if it differs between good and bad"
        ): lambda row: f"now {row.flip}" if row.flip else None,
        Column(
            "Direction", width=130, help="Whether a changed verdict moved to the side of people"
        ): lambda row: _DIRECTIONS[row.direction] if row.direction else None,
        Column("Old quality", "integer", width=90): lambda row: row.pair.old.quality,
        Column("New quality", "integer", width=95): lambda row: row.pair.new.quality,
        Column("People", width=100): lambda row: _PEOPLE[row.people] if row.people else None,
        Column("Id", width=125): lambda row: text_of(row, "external_id"),
    }
    return Table.of(page.shown, columns)
