"""Tables of our own exports that come back row by row: comments, flags, audits, failure modes, issues, label schemas.

The columns of a kind, and the types of their values, are those of the exported table.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any, ClassVar

from sqlalchemy import Connection

from judgeboard.domain import FlagState, IssueState, Status, StepRecord
from judgeboard.errors import BadInput
from judgeboard.flags.rules import RULES
from judgeboard.formats.csv import defused
from judgeboard.formats.files import ColumnType
from judgeboard.formats.label_schema import LabelSchema, schema_from
from judgeboard.formats.yaml_file import YamlFile
from judgeboard.imports import known_names
from judgeboard.imports.fields import MAX_ID, Cells, ColumnNames, Unusable
from judgeboard.imports.kinds import RowOutcomes, Stored
from judgeboard.imports.recorded import RecordedImport, RecordedJudge, recorded_version
from judgeboard.store.export import exports
from judgeboard.store.filters import from_dict
from judgeboard.store.flags import StoredFlag, flags_on, insert_flag
from judgeboard.store.grades import imported_reviewers
from judgeboard.store.imported_reviews import FileComment, FileComments
from judgeboard.store.issues import (
    KEYS,
    LONGEST_MODE,
    LONGEST_TITLE,
    FailureMode,
    Issue,
    insert_issue,
    insert_mode,
    issue_versions,
    mode_changes,
)
from judgeboard.store.judgment_reviews import (
    AuditedJudgment,
    NewJudgmentReview,
    recorded_reviews,
    store_judgment_reviews,
)
from judgeboard.store.judgments import judgment_ids, read_responses
from judgeboard.store.label_schemas import insert_schema, list_schemas
from judgeboard.store.queue_filling import follow_queues
from judgeboard.store.responses import Named
from judgeboard.store.reviews import LONGEST_COMMENT, lock_responses, mark_leading_flags, set_flag_states
from judgeboard.text import MAX_NAME

_LAST_DAY = 2_932_896  # since 1970-01-01, that of the year 9999


@dataclass(frozen=True, slots=True)
class TableRow:
    """A row of an exported table: its values by column."""

    values: Mapping[str, Any]

    def __getitem__(self, column: str) -> Any:
        return self.values.get(column)


def _columns(table: str) -> ColumnNames:
    """Return the columns of an exported table as fields with one name each; an answer can have other names."""
    names = [column.name for column in exports()[table].columns]
    return {name: known_names.RESPONSE_ID if name == "external_id" else (name,) for name in names}


class TableImport(RecordedImport[TableRow]):
    """Reads each row by the types of the exported table. ``names`` are the columns with required names."""

    table: ClassVar[str]
    names: ClassVar[tuple[str, ...]]

    def build(self, cells: Cells) -> TableRow:
        """Return the values of a row."""
        row: dict[str, Any] = {}
        for column in exports()[self.table].columns:
            name = column.name
            if name in self.names:
                row[name] = cells.required_name(name, MAX_ID if name == "external_id" else MAX_NAME)
            elif name == "source":
                row[name] = cells.name(name) or self.source
            elif name in self.choices:
                row[name] = cells.choice(name, self.choices[name])
            else:
                row[name] = _value(cells, name, column.type)
        self.check(row)
        return TableRow(row)

    def check(self, row: dict[str, Any]) -> None:
        """Raise Unusable if a value cannot be stored; may replace values."""

    def answers(self, connection: Connection, rows: RowOutcomes, records: Sequence[TableRow]) -> dict[int, Named]:
        """Return the stored answer of each row; refuse a row without one."""
        names = {index: (record["external_id"], record["source"]) for index, record in enumerate(records)}
        named = self.responses_named(connection, {external_id for external_id, _ in names.values()})
        return self.find_answers(connection, rows, names, named)


def _value(cells: Cells, name: str, type_: ColumnType) -> Any:
    if type_ is ColumnType.TIME:
        return cells.time(name)
    if type_ is ColumnType.INTEGER:
        return cells.whole_number(name)
    if type_ is ColumnType.NUMBER:
        number = cells.number(name)
        if number is not None and (isinstance(number, bool) or not isinstance(number, int | float)):
            raise Unusable(name, "not a number")
        return number
    if type_ is ColumnType.BOOLEAN:
        word = cells.get(name)
        words = {"true": True, "false": False, "none": None}
        if str(word).casefold() not in words:
            raise Unusable(name, f"{str(word)[:40]!r} is not true or false")
        return words[str(word).casefold()]
    if type_ is ColumnType.JSON:
        return cells.json(name)
    text = cells.text(name)
    # In CSV, an export writes an apostrophe before a text that a spreadsheet would run, such as "@mara why?".
    return text[1:] if cells.textual and text and text[0] == "'" and defused(text[1:]) == text else text


def _required(row: Mapping[str, Any], *names: str) -> None:
    for name in names:
        if row.get(name) is None:
            raise Unusable(name, f"no {name.replace('_', ' ')}")


def _limit(row: Mapping[str, Any], name: str, longest: int) -> None:
    if len(row.get(name) or "") > longest:
        raise Unusable(name, f"longer than {longest:,} characters")


def _share(row: Mapping[str, Any], *names: str) -> None:
    for name in names:
        if row.get(name) is not None and not 0 <= row[name] <= 1:
            raise Unusable(name, f"{row[name]} is not between 0 and 1")


def _day(values: Mapping[str, Any], name: str, field: str) -> None:
    day = values.get(name)
    if day is not None and not (type(day) is int and 0 <= day <= _LAST_DAY):
        raise Unusable(field, f"{name} is not a day since 1970-01-01")


class CommentImport(TableImport):
    """Comments on stored answers, with their edits. The same comment again changes nothing.

    An edit, or a row without a text that withdraws a comment, names in ``replaces`` the number ``comment`` of an
    earlier row. The author becomes a person of the origin ``import``, unless a person with this name is stored.
    """

    table = "comments"
    columns: ClassVar[ColumnNames] = _columns(table)
    names = ("external_id", "reviewer")
    needed = ("external_id", "reviewer", "text")

    def __init__(self, source: str | None, actor: str = "library") -> None:
        super().__init__(source, actor)
        self._comments = FileComments()

    def check(self, row: dict[str, Any]) -> None:
        """Raise Unusable for a text that no person could write."""
        _limit(row, "text", LONGEST_COMMENT)
        if row["text"] is not None and not row["text"].strip():
            raise Unusable("text", "no text")

    def store(self, connection: Connection, records: Sequence[TableRow], now: datetime) -> Stored:
        """Store the comments whose answer is stored and not forgotten."""
        rows = RowOutcomes(len(records))
        answers = self.answers(connection, rows, records)
        reviewers = imported_reviewers(connection, {records[index]["reviewer"] for index in answers})
        comments = {
            index: FileComment(
                answers[index].id,
                reviewers[records[index]["reviewer"]],
                *(records[index][name] for name in ("text", "at", "comment", "replaces")),
            )
            for index in sorted(answers)
        }
        new, refused = self._comments.store(connection, comments, now)
        for index, refusal in refused.items():
            rows.refuse(index, refusal.field, refusal.reason, differs=refusal.differs)
        rows.new |= new
        return rows.stored()


class FailureModeImport(TableImport):
    """Failure modes with all their changes; the latest row of a name counts.

    Import them before grades: a grade adds a failure mode that is missing, without its description. A failure mode that
    was changed in this database at a later time stays as it is.
    """

    table = "failure_modes"
    columns: ClassVar[ColumnNames] = _columns(table)
    names = ("name",)
    needed = ("name", "retired")

    def check(self, row: dict[str, Any]) -> None:
        """Raise Unusable for a name or a key that the list cannot have."""
        row["name"] = " ".join(row["name"].split())
        row["retired"] = bool(row["retired"])
        _limit(row, "name", LONGEST_MODE)
        if row["key"] is not None and row["key"] not in tuple(KEYS):
            raise Unusable("key", f"{row['key'][:40]!r} is not one of the letters {KEYS}")

    def store(self, connection: Connection, records: Sequence[TableRow], now: datetime) -> Stored:
        """Store the changes that are not stored yet, in the order of the file."""
        rows = RowOutcomes(len(records))
        known = mode_changes(connection)
        for index, record in enumerate(records):
            latest = {mode.name: mode for mode in known}
            stored = latest.get(record["name"])
            at, by = record["at"], record["by"] or self.actor
            name, description, key, retired = (record[part] for part in ("name", "description", "key", "retired"))
            mode = FailureMode(name, description, key, retired, by, at or now)
            if mode in known or (at is None and stored is not None and _same_mode(mode, stored)):
                continue
            if stored is not None and mode.at < stored.at and not _is_bare(stored):
                rows.refuse(index, "name", f"{mode.name!r} was changed in this database later", differs=True)
                continue
            spelled = {each.casefold(): each for each in latest}.get(mode.name.casefold(), mode.name)
            if spelled != mode.name:
                rows.refuse(index, "name", f"the failure mode is stored as {spelled!r}: write it like this")
                continue
            same_key = [
                each for each in latest.values() if each.key == mode.key and each.name != mode.name and not each.retired
            ]
            if mode.key is not None and not mode.retired and same_key:
                rows.refuse(index, "key", f"{same_key[0].name!r} has the key {mode.key}: leave it out, or change one")
                continue
            insert_mode(connection, mode)
            known.append(mode)
            rows.new.add(index)
        return rows.stored()


def _same_mode(mode: FailureMode, stored: FailureMode) -> bool:
    return (mode.description, mode.key, mode.retired) == (stored.description, stored.key, stored.retired)


def _is_bare(mode: FailureMode) -> bool:
    """Whether a failure mode has only a name, as grades add it."""
    return mode.description is None and mode.key is None and not mode.retired


class IssueImport(TableImport):
    """Issues with all their versions. An issue whose number another issue has gets the next free number.

    An issue is the same if its first version has the same title, author and time.
    """

    table = "issues"
    columns: ClassVar[ColumnNames] = _columns(table)
    names = ("title",)
    needed = ("number", "version", "title", "filter")
    choices: ClassVar[Mapping[str, type[StrEnum]]] = {"state": IssueState}

    def __init__(self, source: str | None, actor: str = "library") -> None:
        super().__init__(source, actor)
        self._numbers: dict[int, int] = {}  # by their numbers in the file
        self._moved: dict[int, int] = {}

    def messages(self) -> Iterator[str]:
        """Yield the issues that have another number here than in the file."""
        yield from (f"issue {theirs} is issue {ours} in this database" for theirs, ours in self._moved.items())

    def check(self, row: dict[str, Any]) -> None:
        """Raise Unusable for an issue that cannot be stored."""
        _required(row, "number", "version", "filter")
        _limit(row, "title", LONGEST_TITLE)
        if not row["number"] or not row["version"]:
            raise Unusable("version" if row["number"] else "number", "not a whole number from 1")
        row["state"] = row["state"] or IssueState.OPEN
        try:
            row["where"] = from_dict(row["filter"])
        except (BadInput, TypeError, ValueError, AttributeError) as error:
            reason = str(error) if isinstance(error, BadInput) else "not a filter of answers"
            raise Unusable("filter", reason) from None
        _day(row, "fixed_day", "fixed_day")
        for name in ("day_from", "day_to"):
            _day(row["filter"], name, "filter")

    def store(self, connection: Connection, records: Sequence[TableRow], now: datetime) -> Stored:
        """Store the versions that are not stored yet, in the order of the file."""
        rows = RowOutcomes(len(records))
        versions = {(issue.number, issue.version): issue for issue in issue_versions(connection)}
        for index, record in enumerate(records):
            number = self._number(record, versions)
            if number is None:
                reason = f"no earlier row of this file has version 1 of issue {record['number']}: import it too"
                rows.refuse(index, "number", reason)
                continue
            parts = {name: record[name] for name in ("title", "where", "description", "owner", "state", "fixed_day")}
            by, at = record["by"] or self.actor, record["at"] or now
            issue = Issue(**parts, number=number, version=record["version"], by=by, at=at)
            stored = versions.get((number, issue.version))
            if stored is not None and stored != issue and (record["at"] is not None or stored.title != issue.title):
                rows.refuse(index, "version", f"issue {number} was changed in this database", differs=True)
            elif stored is None:
                own_ids = {"judge_version", "response_ids"} & issue.where.as_dict().keys()
                if own_ids:
                    reason = (
                        f"{min(own_ids)} names rows of another database by their ids: choose answers by other fields"
                    )
                    rows.refuse(index, "filter", reason)
                    continue
                insert_issue(connection, issue)
                versions[number, issue.version] = issue
                rows.new.add(index)
        return rows.stored()

    def _number(self, record: TableRow, versions: Mapping[tuple[int, int], Issue]) -> int | None:
        """Return the number of an issue in this database; None if its first version is in no row so far."""
        theirs: int = record["number"]
        if record["version"] == 1:
            same = (record["title"], record["by"] or self.actor)
            number = next(
                (
                    number
                    for (number, version), issue in versions.items()
                    if version == 1 and (issue.title, issue.by) == same and record["at"] in {None, issue.at}
                ),
                None,
            )
            if number is None:
                taken = {number for number, _ in versions}
                number = theirs if theirs not in taken else max(taken) + 1
            self._numbers[theirs] = number
            if number != theirs:
                self._moved[theirs] = number
        if theirs in self._numbers:
            return self._numbers[theirs]
        before = versions.get((theirs, record["version"] - 1))  # a row that was rejected earlier is alone in its file
        return theirs if before is not None and before.title == record["title"] else None


class LabelSchemaImport(TableImport):
    """Label schemas with all their versions.

    Import them before grades, which name the version, such as "support v2".
    """

    table = "label_schemas"
    columns: ClassVar[ColumnNames] = _columns(table)
    names = ("name",)
    needed = ("name", "number", "fields")

    def check(self, row: dict[str, Any]) -> None:
        """Raise Unusable for fields that are no label schema."""
        _required(row, "number", "fields")
        if not row["number"]:
            raise Unusable("number", "not a whole number from 1")
        content = {"name": row["name"], "fields": row["fields"]}
        try:
            row["schema"] = schema_from(YamlFile(row["name"], content, {(): 1}))
        except BadInput as error:
            raise Unusable("fields", str(error).removeprefix(f"{row['name']}, line 1: ")) from None

    def store(self, connection: Connection, records: Sequence[TableRow], now: datetime) -> Stored:
        """Store the versions that are not stored yet, under their numbers."""
        rows = RowOutcomes(len(records))
        stored = list_schemas(connection)
        titles = {(each.schema.name, each.number): each.schema.hash for each in stored}
        by_hash = {each.schema.hash: each.title for each in stored}
        for index, record in enumerate(records):
            schema: LabelSchema = record["schema"]
            title = f"{schema.name} v{record['number']}"
            known = titles.get((schema.name, record["number"]))
            if known is not None and known != schema.hash:
                reason = f"{title} has other fields in this database: rename the schema in all files"
                rows.refuse(index, "fields", reason, differs=True)
            elif known is None and schema.hash in by_hash:
                rows.refuse(index, "number", f"these fields are {by_hash[schema.hash]} in this database", differs=True)
            elif known is None:
                by, at = record["created_by"] or self.actor, record["created_at"] or now
                insert_schema(connection, schema, record["number"], by, at)
                titles[schema.name, record["number"]], by_hash[schema.hash] = schema.hash, title
                rows.new.add(index)
        return rows.stored()


class FlagImport(TableImport):
    """Flags with their states. Import them after verdicts and audits, and before grades, which decide them.

    A flag that the rules have raised in this database already is the same flag: it keeps its time and its state. If
    they raised it with other settings, for example with another share of the random sample, and nobody has reviewed it,
    the flag of the file takes its place.
    """

    table = "flags"
    columns: ClassVar[ColumnNames] = _columns(table)
    names = ("external_id", "rule")
    needed = ("external_id", "rule", "severity")
    choices: ClassVar[Mapping[str, type[StrEnum]]] = {"state": FlagState}

    def __init__(self, source: str | None, actor: str = "library") -> None:
        super().__init__(source, actor)
        self._superseded: Counter[tuple[int, str]] = Counter()  # so many rows of the file so far
        self._ids: dict[int, int] = {}  # by the numbers of flags in the file

    def check(self, row: dict[str, Any]) -> None:
        """Raise Unusable for a flag that no rule could raise."""
        if row["rule"] not in RULES:
            raise Unusable("rule", f"{row['rule']!r} is not one of {', '.join(RULES)}")
        _required(row, "severity")
        _share(row, "severity", "inclusion_probability", "groundedness")
        row["state"] = row["state"] or FlagState.OPEN
        if row["inclusion_probability"] is None:
            row["inclusion_probability"] = 1.0
        row["raise_key"] = row["raise_key"] or f"{row['rule']}:-"
        if not row["raise_key"].startswith(f"{row['rule']}:"):
            raise Unusable("raise_key", f"does not start with the rule {row['rule']}")
        for name in ("params", "details"):
            row[name] = {} if row[name] is None else row[name]
            if not isinstance(row[name], dict):
                raise Unusable(name, "not an object")
        if row["quality"] is not None and not 1 <= row["quality"] <= 4:
            raise Unusable("quality", "not a whole number from 1 to 4")

    def store(self, connection: Connection, records: Sequence[TableRow], now: datetime) -> Stored:
        """Store the flags that are not stored yet, and update the queues."""
        rows = RowOutcomes(len(records))
        answers = self.answers(connection, rows, records)
        named = {index: records[index] for index in answers}
        judged = _judgments(connection, rows, named, answers, now, ("judged_by", "judged_by_version"))
        ids = {answers[index].id for index in judged}
        responses = {response.id: response for response in read_responses(connection, ids, lock=True)}
        live: dict[tuple[int, str], StoredFlag] = {}
        superseded: dict[tuple[int, str], list[int]] = {}
        stored = flags_on(connection, ids)
        for flag in stored:
            if flag.state is FlagState.SUPERSEDED:
                superseded.setdefault((flag.response_id, flag.raise_key), []).append(flag.id)
            else:
                live[flag.response_id, flag.raise_key] = flag
        known_ids = {flag.id for flag in stored}
        changed: set[int] = set()
        for index, judgment in sorted(judged.items()):
            record, response = records[index], responses[answers[index].id]
            key = (response.id, judgment.key(record["raise_key"]))
            if record["state"] is FlagState.SUPERSEDED:
                same = superseded.get(key, [])[self._superseded[key] :][:1]
                self._superseded[key] += 1
                flag_id = same[0] if same else None
            else:
                other = live.get(key)
                if other is not None and _has_other_settings(other, record):
                    set_flag_states(connection, {other.id: FlagState.SUPERSEDED})
                    other = None
                flag_id = None if other is None else other.id
            if flag_id is None:
                before = self._ids.get(record["decided_before"] or 0)
                flag_id = insert_flag(
                    connection,
                    response,
                    {
                        **{name: record[name] for name in _COPIED},
                        "raise_key": key[1],
                        "judge_name": record["judge"],
                        "judgment_id": judgment.id,
                        "decided_before_id": before if before in known_ids else None,
                        "created_at": record["created_at"] or now,
                    },
                )
                known_ids.add(flag_id)
                if record["state"] is not FlagState.SUPERSEDED:
                    state, params, drawn = (record[name] for name in ("state", "params", "inclusion_probability"))
                    live[key] = StoredFlag(flag_id, *key, state, params, drawn, reviewed=False)
                changed.add(response.id)
                rows.new.add(index)
            if record["flag"] is not None:
                self._ids[record["flag"]] = flag_id
        mark_leading_flags(connection, sorted(changed))
        follow_queues(connection, sorted(changed), now)
        return rows.stored()


_COPIED = (
    *("rule", "groundedness", "quality", "auto_score", "params", "details", "severity", "inclusion_probability"),
    "state",
)


def _has_other_settings(flag: StoredFlag, record: TableRow) -> bool:
    """Whether the rules of this database raised an open flag with other settings, and nobody has reviewed it."""
    same = (flag.params, flag.inclusion_probability) == (record["params"], record["inclusion_probability"])
    return not same and flag.state is FlagState.OPEN and not flag.reviewed


@dataclass(frozen=True, slots=True)
class _Judgment:
    """The judgment that a row names, None if it names none; fingerprints of its version there and here."""

    id: int | None = None
    theirs: str | None = None
    ours: str | None = None

    def key(self, raise_key: str) -> str:
        """Return the key of a flag with the fingerprint of the version in this database."""
        rule, _, fingerprint = raise_key.partition(":")
        return f"{rule}:{self.ours}" if self.ours and fingerprint == self.theirs else raise_key


def _judgments(
    connection: Connection,
    rows: RowOutcomes,
    records: Mapping[int, TableRow],
    answers: Mapping[int, Named],
    now: datetime,
    columns: tuple[str, str],
) -> dict[int, _Judgment]:
    """Return the judgment that each row names by judge and version (``columns``), ask and repeat.

    Refuse a row whose judgment is not stored.
    """
    judge_column, version_column = columns
    by_judge: dict[RecordedJudge, list[int]] = {}
    judgments: dict[int, _Judgment] = {}
    for index, record in records.items():
        if record[judge_column] is None:
            judgments[index] = _Judgment()
        else:
            judge = RecordedJudge(record[judge_column], record[version_column])
            by_judge.setdefault(judge, []).append(index)
    for judge, indexes in by_judge.items():
        version = recorded_version(connection, judge, now)
        ids = judgment_ids(connection, version.id, {answers[index].id for index in indexes})
        for index in indexes:
            record = records[index]
            id_ = ids.get((answers[index].id, record["judgment_ask"] or 0, record["judgment_repeat"] or 0))
            if id_ is None:
                reason = f"no judgment of {record['external_id']!r} by {judge.name}: import the verdicts first"
                rows.refuse(index, judge_column, reason)
            else:
                judgments[index] = _Judgment(id_, judge.version, version.fingerprint)
    return judgments


class AuditImport(TableImport):
    """Reviews of verdicts by supreme judges. Import them after verdicts, and before flags.

    The cost of the calls counts where they were made.
    """

    table = "audits"
    columns: ClassVar[ColumnNames] = _columns(table)
    names = ("external_id", "judge", "supreme_judge")
    needed = ("external_id", "judge", "supreme_judge")
    choices: ClassVar[Mapping[str, type[StrEnum]]] = {"status": Status}

    def check(self, row: dict[str, Any]) -> None:
        """Raise Unusable for a result that no review has."""
        _share(row, "inclusion_probability")
        row["status"] = row["status"] or Status.OK
        if row["correct"] is not None and row["status"] is not Status.OK:
            raise Unusable("status", f"a row with a result cannot have the status {row['status']}")
        if row["correct"] is None and row["status"] is Status.OK:
            raise Unusable("correct", "no result: give true or false, or a status with the reason")

    def store(self, connection: Connection, records: Sequence[TableRow], now: datetime) -> Stored:
        """Store the reviews that are not stored yet, with the flags that they raise."""
        rows = RowOutcomes(len(records))
        answers = self.answers(connection, rows, records)
        locked = lock_responses(connection, {answer.id for answer in answers.values()})
        for index, answer in answers.items():
            if locked[answer.id].answer is None:
                rows.refuse(index, "external_id", "its answer is forgotten: reviews of its verdicts are not stored")
        left = {index: records[index] for index in answers if index not in rows.problems}
        judged = _judgments(connection, rows, left, answers, now, ("judge", "judge_version"))
        responses = {each.id: each for each in read_responses(connection, {answers[i].id for i in judged}, lock=True)}
        by_supreme: dict[RecordedJudge, list[int]] = {}
        for index in sorted(judged):
            supreme = RecordedJudge(records[index]["supreme_judge"], records[index]["supreme_judge_version"])
            by_supreme.setdefault(supreme, []).append(index)
        for supreme, indexes in by_supreme.items():
            version = recorded_version(connection, supreme, now)
            known = recorded_reviews(connection, version.id, {judged[index].id or 0 for index in indexes})
            new: dict[tuple[int, int], NewJudgmentReview] = {}
            for index in indexes:
                record, response = records[index], responses[answers[index].id]
                key, result = (judged[index].id or 0, record["ask"] or 0), (record["status"], record["correct"])
                if key in known and known[key] != result:
                    reason = f"{version.name} has another review of this verdict"
                    rows.refuse(index, "correct", reason, differs=True)
                if key in known:
                    continue
                known[key] = result
                audited = AuditedJudgment(
                    response.id, key[0], response.source, response.external_id, response.query_type
                )
                step = StepRecord(record["status"], raw=record["raw"], error=record["error"])
                drawn = record["inclusion_probability"]
                new[key] = NewJudgmentReview(
                    audited, key[1], record["correct"], step, 1.0 if drawn is None else drawn, record["reasoning"]
                )
                rows.new.add(index)
            if new:
                run_id = self.run(connection, version, now)
                store_judgment_reviews(connection, version.id, run_id, list(new.values()), now)
        return rows.stored()
