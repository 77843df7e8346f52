"""A small database for the tests of the pages: one answer for every state that the item page knows."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from sqlalchemy import select

from judgeboard.domain import (
    Claim,
    ClaimStatus,
    Feedback,
    FeedbackKind,
    JudgeVersion,
    Response,
    Status,
    Verdict,
)
from judgeboard.store.judge_versions import ensure_version
from judgeboard.store.judgments import NewJudgment
from judgeboard.store.settings import set_setting
from judgeboard.store.storing import store_judgments, store_responses
from judgeboard.store.tables import FLAG, RESPONSE

START = datetime(2026, 3, 2, 9, tzinfo=UTC)
PASSAGES = (
    "Granite is an intrusive rock. It cools slowly below the surface, and its crystals grow large enough to see.",
    "Basalt is an extrusive rock.\r\nIt cools fast and is fine-grained.\n\n    Columns form as it shrinks.",
)
ANSWER = (
    "Granite cools slowly below the surface. Basalt is older than granite. Basalt forms columns."
)

# Texts that a page must show exactly and never act on; each is one answer, its question and its
# passage.
HOSTILE = {
    "script": "<script>window.hacked = 1</script><img src=x onerror='window.hacked = 1'>",
    "markdown": "# head\n* a\n> b\n| c | d |\n[link](http://evil.example/) ![image](http://evil.example/i.png)",
    "streamlit": ":red[red] :material/home: :blue-background[x] $x^2$ $$\\int$$ `code`",
    "frames": "<iframe src='http://evil.example/'></iframe><form action='http://evil.example/'><input></form>",
    "marks": "</mark></div></div><style>body{display:none}</style><a href='javascript:alert(1)'>x</a>",
    "right_to_left": "abc \u202eevil\u202c עברית العربية \u200fx",
    "invisible": "zero\u200bwidth \ufeffbom \u00adsoft 👩\u200d👩\u200d👧 e\u0301 \u00a0end",
    "lines": "first\r\nsecond\rthird\n\n\n   indented\ttab   \nlast  ",
    "entities": "&lt;b&gt; &amp;amp; \"double\" 'single' < > & =1+1 {{x}} %s ${y}",
    "long": "word & <b> " * 10_000,
}


@dataclass(frozen=True)
class PageRows:
    """Ids by outside id; of several open flags on an answer, the worst."""

    responses: dict[str, int]
    flags: dict[str, int]


def as_read(text):
    """Return a text as it is read from a page: a browser has no carriage returns."""
    return text.replace("\r\n", "\n").replace("\r", "\n")


def fill_pages(store):
    """Store the answers and what judges and users said of them; return their ids."""
    responses = [*_plain(), *_states(), *_hostile()]
    with store.writing() as connection:
        set_setting(
            connection, "implied_labels", ("low_groundedness",), "test"
        )  # else the first decision asks
        store_responses(connection, responses, now=START)
        ids = _ids(connection)
        first = JudgeVersion("rag", "rag", "llama-3.1-8b", {"temperature": 0}, "Judge.")
        rag = ensure_version(connection, first, START)
        store_judgments(connection, rag, None, _verdicts(ids), START + timedelta(hours=1))
        second = ensure_version(
            connection, JudgeVersion("second", "rag", "gpt-4o-mini", {}, "Judge too."), START
        )
        other = Verdict(Status.OK, groundedness=0.95, quality=4, reasoning="Fine.")
        items = [NewJudgment(ids["two-judges"], 0, 0, other)]
        store_judgments(connection, second, None, items, START + timedelta(hours=2))
        return PageRows(ids, _worst_flags(connection))


def _plain():
    """Twelve answers that one rule flags, worse and worse."""
    return [
        Response(
            "log",
            f"plain-{number:02}",
            f"What is rock number {number}?",
            f"{ANSWER} Number {number}.",
            PASSAGES,
            "simple" if number % 2 else "complex",
            "writer-1",
            asked_at=START + timedelta(days=number),
        )
        for number in range(1, 13)
    ]


def _states():
    down = (Feedback(FeedbackKind.THUMBS, 0, at=START + timedelta(days=3)),)
    many = tuple(f"Passage {number}: {PASSAGES[0]}" for number in range(1, 31))
    return [
        Response(
            "log",
            "claims",
            "Which rock is older?",
            ANSWER,
            PASSAGES,
            "simple",
            "writer-1",
            asked_at=START,
        ),
        Response(
            "log",
            "two-judges",
            "Do they agree?",
            ANSWER,
            PASSAGES,
            "simple",
            asked_at=START,
            feedback=down,
        ),
        Response("log", "unusable", "Was it judged?", ANSWER, PASSAGES, "simple"),
        Response("log", "good", "Is it fine?", ANSWER, PASSAGES, "simple"),
        Response("log", "not-judged", "Who judges?", ANSWER, PASSAGES, "simple"),
        Response("log", "no-passages", "Where are the passages?", ANSWER, None, "simple"),
        Response("log", "nothing-found", "What was found?", ANSWER, (), "simple"),
        Response("log", "many-passages", "Which passage?", ANSWER, many, "simple"),
    ]


def _hostile():
    return [
        Response("log", f"hostile-{name}", text[:900], text, (text[:4000],), "odd")
        for name, text in HOSTILE.items()
    ]


def _verdicts(ids):
    said = {
        name: Verdict(
            Status.OK,
            groundedness=int(name[-2:]) * 0.03,
            quality=4,
            reasoning="Two statements are not there.",
        )
        for name in ids
        if name.startswith("plain")
    }
    said |= {
        f"hostile-{name}": Verdict(
            Status.OK,
            groundedness=0.45,
            quality=4,
            reasoning=text[:4000],
            claims=_in_the_middle(text),
        )
        for name, text in HOSTILE.items()
    }
    low = Verdict(Status.OK, groundedness=0.4, quality=3, reasoning="Half of it stands.")
    said |= dict.fromkeys(("no-passages", "nothing-found", "many-passages", "two-judges"), low)
    said["claims"] = Verdict(
        Status.OK, groundedness=0.42, quality=3, reasoning="One is wrong.", claims=_claims()
    )
    said["good"] = Verdict(Status.OK, groundedness=0.97, quality=4, reasoning="All of it stands.")
    said["unusable"] = Verdict(
        Status.UNPARSABLE,
        raw='{"groundedness": 85}',
        error="the model answered 85 where 0 to 1 was asked",
    )
    return [NewJudgment(ids[name], 0, 0, verdict) for name, verdict in said.items()]


def _claims():
    return (
        _claim(
            "Granite cools slowly below the surface.",
            ClaimStatus.SUPPORTED,
            1,
            "cools slowly below the surface",
        ),
        _claim(
            "Basalt is older than granite.",
            ClaimStatus.CONTRADICTED,
            2,
            "Basalt is an extrusive rock.\r\nIt",
        ),
        _claim("Basalt forms columns", ClaimStatus.UNSUPPORTED),
        _claim("Marble is soft.", ClaimStatus.SUPPORTED),
    )


def _claim(text, status, passage=None, quote=None):
    start = ANSWER.find(text)
    inside = PASSAGES[passage - 1].find(quote) if passage and quote else -1
    return Claim(
        text,
        status,
        answer_quote=text,
        passage=passage,
        passage_quote=quote,
        answer_start=start if start >= 0 else None,
        answer_end=start + len(text) if start >= 0 else None,
        passage_start=inside if inside >= 0 else None,
        passage_end=inside + len(quote or "") if inside >= 0 else None,
    )


def _in_the_middle(text):
    """One claim over the middle of a text, in the answer and in the passage."""
    start, end = len(text) // 4, max(len(text) // 4 + 1, len(text) // 2)
    if end > 4000:
        return ()
    quote = text[start:end]
    return (Claim(quote, ClaimStatus.CONTRADICTED, quote, 1, quote, start, end, start, end),)


def _ids(connection):
    response = RESPONSE
    return {
        row.external_id: row.id
        for row in connection.execute(select(response.c.external_id, response.c.id))
    }


def _worst_flags(connection):
    flag, response = FLAG, RESPONSE
    rows = connection.execute(
        select(response.c.external_id, flag.c.id)
        .join(response, response.c.id == flag.c.response_id)
        .where(flag.c.state == "open")
        .order_by(flag.c.severity, flag.c.id.desc())
    )
    return {row.external_id: row.id for row in rows}
