"""The two views that can replace the texts: the judgments of all judges side by side, and the raw calls."""

from collections.abc import Sequence

from judgeboard.domain import Attempt, Claim, StepRecord
from judgeboard.runs.raw_calls import RawCall, raw_calls
from judgeboard.store.items import Item, ItemJudgment
from judgeboard.store.verdicts import RUBRIC
from judgeboard.text import money
from judgeboard_dashboard.evidence import Html, beginning, both_sides, join, tag
from judgeboard_dashboard.review.claims import ICONS, STATUS_WORDS, numbered
from judgeboard_dashboard.review.signals import audit_lines, shown_judgments
from judgeboard_dashboard.session import read
from judgeboard_dashboard.widgets.texts import count, score, when

SCORES = ("Groundedness", "Quality", "Label")
LONGEST = 200_000  # characters of one text
REBUILT = "Prompt, rebuilt from the judge version and the answer. Prompts are not stored."
Column = dict[str, str | None]
"""The parts of a judgment by the title of the row."""


def judgments_pane(item: Item) -> Html:
    """Return the table of judgments. Scores that differ and changes in reasons and claims are marked."""
    columns = []
    for judgment in shown_judgments(item):
        reasons, changes = judgment.reasoning, None
        before = item.before(judgment)
        # The judgment replaced an earlier judgment, whose column comes first.
        if before is not None:
            old_reasons, reasons = both_sides(before.reasoning or "", judgment.reasoning or "")
            old, new = before.claims or (), judgment.claims or ()
            title = f"{before.version_title}, before"
            claims_gone = _changes(old, new, "dropped", "now")
            columns.append(_column(item, before, title, old_reasons, claims_gone))
            changes = _changes(new, old, "new", "was")
        columns.append(_column(item, judgment, judgment.version_title, reasons, changes))
    rows = []
    for name in columns[0]:
        cells = [column[name] for column in columns]
        values = {cell for cell in cells if cell}
        if values and name != "Judge":
            differ = name in SCORES and len(values) > 1
            mark = tag("em", "differ", cls="jb-mark") if differ else None
            title = tag("th", name, mark, scope="row")
            rows.append(tag("tr", title, *(tag("td", cell) for cell in cells)))
    heads = [tag("th", column["Judge"], scope="col") for column in columns]
    head = tag("thead", tag("tr", tag("td"), *heads))
    table = tag(
        "table", head, tag("tbody", *rows), cls="jb-judgments", style=f"--jb-columns:{len(columns)}"
    )
    label = tag(
        "div",
        "Judgments side by side",
        tag("span", f"{count(len(columns), 'judgment')} · F7: back to the texts"),
        cls="jb-label",
    )
    return tag("div", label, table, cls="jb-pane")


def _column(
    item: Item,
    judgment: ItemJudgment,
    title: str,
    reasons: str | None,
    changes: Sequence[str | None] | None,
) -> Column:
    claims = numbered(judgment.claims or ())
    lines = [
        tag(
            "div",
            tag("b", f"{ICONS[claim.status]}{claim.number}", aria_label=claim.words),
            tag("span", claim.claim.text),
            tag("em", change) if change else tag("span"),
            cls=f"jb-claim jb-{claim.status}",
        )
        for claim, change in zip(claims, changes or [None] * len(claims), strict=True)
    ]
    rubric = "scored on a rubric" if judgment.judge_kind == RUBRIC else None
    return {
        "Judge": title,
        "Model": judgment.model,
        "Judged": when(judgment.created_at),
        "Verdict": rubric
        if judgment.status == "ok"
        else f"not usable: {judgment.error or judgment.status}",
        "Groundedness": None if judgment.groundedness is None else score(judgment.groundedness),
        "Quality": None if judgment.quality is None else f"{judgment.quality} / 4",
        "Label": judgment.label,
        "Reasons": reasons and tag("div", reasons, cls="jb-reason"),
        "Claims": join(lines),
        "Audits": join(audit_lines(item, judgment)),
    }


def _changes(
    claims: Sequence[Claim], others: Sequence[Claim], absent: str, change_word: str
) -> list[str | None]:
    """Return how each claim differs from the other judgment's claim on the same words; None without a difference."""
    statuses = {_words(other): other.status for other in others}
    changes: list[str | None] = []
    for claim in claims:
        status = statuses.get(_words(claim))
        change = absent if status is None else f"{change_word} {STATUS_WORDS[status]}"
        changes.append(None if status is claim.status else change)
    return changes


def _words(claim: Claim) -> object:
    """Return the words that a claim is about: the place in the answer, otherwise the claim's own text."""
    return claim.text if claim.answer_start is None else (claim.answer_start, claim.answer_end)


def raw_calls_pane(item: Item) -> Html:
    """Read the raw call of each shown judgment from the store. Return the calls; the first one is open."""
    judgment_ids = [judgment.id for judgment in shown_judgments(item)]
    calls = read(raw_calls, item.response_id, judgment_ids)
    parts = [
        tag(
            "details",
            tag("summary", f"{raw.judgment.version_title}: {_account(raw)}"),
            *_texts(raw),
            cls="jb-block",
            open="" if place == 0 else None,
        )
        for place, raw in enumerate(calls)
    ]
    return tag(
        "div",
        tag("div", "Raw calls", tag("span", "F2: back to the texts"), cls="jb-label"),
        *parts,
        cls="jb-pane",
    )


def _account(raw: RawCall) -> str:
    call = raw.judgment
    cost = f"cost {'unknown' if call.cost_micro is None else money(call.cost_micro)}"
    calls = f"{len(call.attempts)} calls" if len(call.attempts) > 1 else None
    return _line(call.status, call.model_reported, *_spent(call), cost, calls)


def _line(*facts: str | None) -> str:
    return " · ".join(filter(None, facts))


def _spent(call: StepRecord | Attempt) -> list[str]:
    """Return the known tokens and time of a call."""
    amounts = (
        (call.prompt_tokens, "tokens sent"),
        (call.completion_tokens, "tokens received"),
        (call.latency_ms, "ms"),
    )
    return [f"{number:,} {unit}" for number, unit in amounts if number is not None]


def _texts(raw: RawCall) -> list[Html | None]:
    call = raw.judgment
    message_texts = [
        labelled_text(message["role"].capitalize(), message["content"]) for message in raw.messages
    ]
    attempts = [
        labelled_text(
            _line(
                f"Call {number}: {attempt.why}", attempt.status, *_spent(attempt), attempt.detail
            ),
            attempt.raw,
        )
        for number, attempt in enumerate(call.attempts, start=1)
    ]
    return [
        tag("div", f"Error: {call.error}", cls="jb-why") if call.error else None,
        tag("div", REBUILT, cls="jb-cap")
        if message_texts
        else tag("div", raw.note, cls="jb-cap")
        if raw.note
        else None,
        *message_texts,
        labelled_text("Prompt of the judge version", raw.prompt)
        if raw.prompt and not message_texts
        else None,
        labelled_text("Reply", call.raw) if call.raw else None,
        *(attempts if len(attempts) > 1 or call.error else ()),
    ]


def labelled_text(label: str, text: str | None) -> Html:
    """Return a stored text of a call under a label."""
    raw = tag("div", beginning(text, LONGEST), cls="jb-raw") if text else None
    return tag("div", tag("div", label, cls="jb-label"), raw, cls="jb-block")
