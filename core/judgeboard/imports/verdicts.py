"""Verdicts of judges that were recorded elsewhere."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import ClassVar

from sqlalchemy import Connection

from judgeboard.domain import Claim, ClaimStatus, Label, Status, Verdict, checked_groundedness, checked_quality
from judgeboard.imports.fields import (
    ERROR,
    JUDGE,
    MAX_ID,
    RAW,
    REASONING,
    RESPONSE_ID,
    Cells,
    ColumnNames,
    Unusable,
    checked,
    raw_text,
)
from judgeboard.imports.kinds import RowOutcomes, Stored
from judgeboard.imports.recorded import RecordedImport, RecordedJudge, recorded_version
from judgeboard.imports.scales import own_scale, scores_in
from judgeboard.judges.rag import located
from judgeboard.store.judgments import NewJudgment, first_recorded_verdicts
from judgeboard.store.pairs import sides_named
from judgeboard.store.responses import Named, judge_inputs, responses_named
from judgeboard.store.storing import store_judgments


@dataclass(frozen=True, slots=True)
class ImportedVerdict:
    """A recorded verdict, with the external id of its response."""

    response_id: str
    judge: str
    verdict: Verdict
    source: str | None = None


class VerdictImport(RecordedImport[ImportedVerdict]):
    """Judgments of recorded judges, one run for each judge and file; a judge judges a response once in a file.

    A verdict has a label, a groundedness or a quality; a row without a verdict has a ``status`` (unparsable, refused,
    error). With a ``scale``, its quality and the numbers in ``scores`` are scores on that scale.
    """

    columns: ClassVar[ColumnNames] = {
        "external_id": RESPONSE_ID,
        "source": ("source",),
        "judge": JUDGE,
        "label": ("label", "verdict", "prediction", "predicted_label"),
        "groundedness": ("groundedness", "faithfulness", "groundedness_score", "faithfulness_score"),
        "quality": ("quality", "quality_score"),
        "scores": ("scores", "dimensions"),
        "scale": ("scale",),
        "reasoning": REASONING,
        "claims": ("claims",),
        "raw": RAW,
        "status": ("status",),
        "error": ERROR,
    }
    needed = ("external_id", "judge")

    def build(self, cells: Cells) -> ImportedVerdict:
        """Return the verdict of a row."""
        response_id = cells.required_name("external_id", MAX_ID)
        judge = cells.required_name("judge")
        status = cells.choice("status", Status) or Status.OK
        label = cells.choice("label", Label)
        groundedness = checked("groundedness", checked_groundedness, cells.number("groundedness"))
        scale = own_scale(cells)
        quality = None if scale else checked("quality", checked_quality, cells.number("quality"))
        scores = scores_in(cells, scale, "scores")
        has_verdict = bool(scores) or (label, groundedness, quality) != (None, None, None)
        if has_verdict and status is not Status.OK:
            raise Unusable("status", f"a judgment that is {status} has no verdict")
        if not has_verdict and status is Status.OK:
            raise Unusable(None, "no verdict: give label, groundedness or quality, or a status with the reason")
        verdict = Verdict(
            status=status,
            groundedness=groundedness,
            quality=quality,
            label=label,
            reasoning=cells.text("reasoning"),
            claims=_claims(cells),
            raw=raw_text(cells.get("raw")),
            error=cells.text("error"),
            scores=scores,
        )
        source = cells.name("source") or self.source
        if not self.seen.add(f"{source or ''}\0{response_id}\0{judge}"):
            raise Unusable("external_id", f"{judge} has judged {response_id!r} in an earlier row of this file")
        return ImportedVerdict(response_id, judge, verdict, source)

    def store(self, connection: Connection, records: Sequence[ImportedVerdict], now: datetime) -> Stored:
        """Store the verdicts on responses of logs and pairs; a verdict that differs from the stored one is rejected."""
        rows = RowOutcomes(len(records))
        names = {index: (record.response_id, record.source) for index, record in enumerate(records)}
        named = responses_named(connection, {external_id for external_id, _ in names.values()})
        unknown = {external_id for external_id, _ in names.values()} - named.keys()
        if unknown:  # a log has no empty answers, pairs do
            sides = sides_named(connection, unknown)
            named |= {name: [Named(*side) for side in sides_of_name] for name, sides_of_name in sides.items()}
        by_judge: dict[str, dict[int, int]] = {}
        for index, response in rows.find("response", "external_id", names, named).items():
            by_judge.setdefault(records[index].judge, {})[index] = response.id
        for judge, response_ids in by_judge.items():
            version = recorded_version(connection, RecordedJudge(judge), now)
            known = first_recorded_verdicts(connection, version.id, set(response_ids.values()))
            new: dict[int, NewJudgment] = {}
            with_claims = [id_ for index, id_ in response_ids.items() if records[index].verdict.claims]
            inputs = judge_inputs(connection, with_claims) if with_claims else {}
            for index, response_id in response_ids.items():
                verdict = records[index].verdict
                if verdict.claims and (item := inputs.get(response_id)) is not None:
                    claims = tuple(located(claim, item.answer, item.passages) for claim in verdict.claims)
                    verdict = replace(verdict, claims=claims)
                if response_id not in known:
                    new[index] = NewJudgment(response_id, 0, 0, verdict)
                elif not known[response_id].equals(verdict):
                    reason = f"{version.name} has another verdict on {records[index].response_id!r}"
                    rows.refuse(index, "external_id", reason, differs=True)
            if new:
                stored = store_judgments(connection, version, self.run(connection, version, now), [*new.values()], now)
                # Another process may have stored some of them between the two statements.
                rows.new |= set(list(new)[:stored])
        return rows.stored()


_QUOTES = ("answer_quote", "passage_quote")


def _claims(cells: Cells) -> tuple[Claim, ...] | None:
    """Return the claims of a row: objects with ``text`` and ``status``, and what they quote of answer and passage."""
    objects = cells.objects("claims")
    if objects is None:
        return None
    claims = []
    for number, each in enumerate(objects, start=1):
        texts = [each.get("text"), *(each.get(name) for name in _QUOTES if each.get(name) is not None)]
        passage = each.get("passage")
        if not all(isinstance(text, str) for text in texts):
            raise Unusable("claims", f"claim {number} needs a text; quotes are texts too")
        if passage is not None and (isinstance(passage, bool) or not isinstance(passage, int)):
            raise Unusable("claims", f"claim {number}: the passage is its number, from 1")
        status = checked("claims", ClaimStatus, each.get("status"))
        claims.append(Claim(each["text"], status, each.get("answer_quote"), passage, each.get("passage_quote")))
    return tuple(claims)
