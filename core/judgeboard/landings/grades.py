"""Lands people's grades of responses, and what they said of pairs."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Any

from sqlalchemy import Connection

from judgeboard.domain import ImportedGrade
from judgeboard.landings.landing import Landed, Landings
from judgeboard.landings.named import Name, the_named
from judgeboard.pair_records import ImportedPreference
from judgeboard.store.pairs.pairs import pairs_named
from judgeboard.store.pairs.preferences import PreferenceOf, land_preferences
from judgeboard.store.responses.outside_ids import responses_named
from judgeboard.store.reviews.imported_reviews import ONLY_AT_THE_DESK, GradeOf, insert_grades


class GradeLanding:
    """Stores people's grades as reviews, and their preferences, of imported reviewers."""

    def __init__(self, _actor: str) -> None:
        pass

    def land(
        self,
        connection: Connection,
        records: Sequence[ImportedGrade | ImportedPreference],
        batch_id: int,
        now: datetime,
    ) -> Landed:
        """Store the grades whose response, or pair, is found."""
        grades = {index: one for index, one in enumerate(records) if isinstance(one, ImportedGrade)}
        preferences = {index: one for index, one in enumerate(records) if isinstance(one, ImportedPreference)}
        whole, rows = Landed(), Landings(len(preferences))
        if grades:
            whole = _grades(connection, grades, batch_id, now)
        if preferences:
            _preferences(connection, preferences, rows, batch_id, now)
        landed = rows.landed()
        problems = sorted((*whole.problems, *landed.problems), key=lambda problem: problem.index)
        return Landed(whole.new + landed.new, whole.unchanged + landed.unchanged, problems=problems)

    def finish(self, connection: Connection, now: datetime) -> int:  # noqa: ARG002 - the shape of all landings
        """Nothing is open."""
        return 0

    def shown(self, record: ImportedGrade | ImportedPreference) -> dict[str, Any]:
        """Return the grade as an import would take it again."""
        if isinstance(record, ImportedGrade):
            given = {name: value for name, value in asdict(record.grade).items() if name not in ONLY_AT_THE_DESK}
            named = {"response_id": record.response_id, "annotator": record.annotator, "source": record.source}
            return {**named, **given}
        said = record.given
        aspects = {
            aspect: one.value if one.preference is None else one.preference for aspect, one in said.aspects.items()
        }
        named = {"pair_id": record.pair_id, "annotator": said.annotator, "source": record.source}
        return {**named, "shown": said.shown, "aspects": aspects, "note": said.note}


def _grades(connection: Connection, records: Mapping[int, ImportedGrade], batch_id: int, now: datetime) -> Landed:
    rows = Landings(len(records))
    named = responses_named(connection, {record.response_id for record in records.values()})
    grades = []
    for index, record in records.items():
        found = the_named("response", Name(record.response_id, record.source), named)
        if isinstance(found, str):
            rows.refuse(index, "response_id", found)
        else:
            grades.append(GradeOf(found.id, found.source, record))
    landed = rows.landed()
    landed.new = insert_grades(connection, grades, batch_id, now) if grades else 0
    landed.unchanged = len(grades) - landed.new
    return landed


def _preferences(
    connection: Connection, records: Mapping[int, ImportedPreference], rows: Landings, batch_id: int, now: datetime
) -> None:
    named = pairs_named(connection, {record.pair_id for record in records.values()})
    given: dict[int, PreferenceOf] = {}
    for index, record in records.items():
        found = the_named("pair", Name(record.pair_id, record.source), named)
        if isinstance(found, str):
            rows.refuse(index, "pair_id", found)
        else:
            given[index] = PreferenceOf(found.id, found.source, record.pair_id, record.given)
    new = land_preferences(connection, list(given.values()), batch_id, now) if given else []
    rows.new |= {index for index, is_new in zip(given, new, strict=True) if is_new}
