"""The question, the answer and the passages of a review, with marked claims."""

import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import datetime
from functools import partial
from itertools import pairwise

import streamlit as st

from judgeboard.domain import Action, ClaimMark, ClaimStatus, Preference, Response, Shown
from judgeboard.formats.label_schema import FieldType
from judgeboard.judges.evidence_alignment import AlignedSentence, align, served_words
from judgeboard.judges.words import content_words, sentence_spans
from judgeboard.stats.estimates import percent
from judgeboard.store.comparisons import StoredComparison
from judgeboard.store.items import Item
from judgeboard.store.responses import NO_QUESTION
from judgeboard.store.reviews import ShownComment
from judgeboard.store.tables import Queue
from judgeboard_dashboard.evidence import Html, escaped, formatted, join, show, size, tag
from judgeboard_dashboard.gate import refusal
from judgeboard_dashboard.review.actions import Actions, MarkActions
from judgeboard_dashboard.review.again import again_section
from judgeboard_dashboard.review.claims import (
    STATUS_WORDS,
    NumberedClaim,
    Span,
    answer_spans,
    marked,
    passage_spans,
    shown_claims,
    statements_of,
    subject_of,
)
from judgeboard_dashboard.review.comments import CommentActions, comment_fields
from judgeboard_dashboard.review.context import context_block, passage_facts
from judgeboard_dashboard.review.drafts import TextView
from judgeboard_dashboard.review.fields import correction
from judgeboard_dashboard.review.judgments import judgments_pane, raw_calls_pane
from judgeboard_dashboard.review.schema_form import side_fields
from judgeboard_dashboard.review.trace import has_trace, trace_pane
from judgeboard_dashboard.session import in_row
from judgeboard_dashboard.widgets.keys import key_button
from judgeboard_dashboard.widgets.texts import WHY_DIFFERS, count, day

AlignedSpan = tuple[
    int, int, list[int]
]  # start and end in a passage, numbers of the answer's sentences

# The rest of a longer text is sent only on request, because texts are sent with every item.
LONGEST = 100_000
LONGEST_SEARCHED = (
    20_000  # characters; the passages are not searched for the words of a longer answer
)
LONGEST_UNFOLDED = 4_000  # characters of all passages
SHORTEST_FOLDED = 600  # characters of a passage
SHORTEST_FOLD = 160  # characters
MOST_SENTENCES = 400
LONGEST_QUOTE = (
    2_000  # characters of a judge's quote; passages that were found by words are shorter
)
WIDTHS = {1: (2.05, 0.85), 2: (1.0, 1.05, 0.85)}
"""Relative widths of the panes and of the side pane, by the number of panes."""
DRAWERS = {
    "judgments": ("Judgments side by side", "F7"),
    "calls": ("Raw calls", "F2"),
    "trace": ("Trace", "F10"),
}
"""The views that can replace the texts, with label and key."""
VIEWS: dict[TextView, str] = {
    "folded": "Texts as stored",
    "whole": "Unfold passages",
    "formatted": "Render Markdown",
}
"""What the button says that leads to each view of the texts."""
PANE_HEIGHT = 500  # the stylesheet stretches the panes to the window
STATUSES = (
    (
        ClaimStatus.SUPPORTED,
        "Supported",
        "B",
        "The passages support it. Press the key again to remove the mark.",
    ),
    (
        ClaimStatus.CONTRADICTED,
        "Contradicted",
        "X",
        "The passages contradict it. Press it again to remove the mark.",
    ),
    (
        ClaimStatus.UNSUPPORTED,
        "Unsupported",
        "P",
        "It is not in the passages. Press it again to remove the mark.",
    ),
)


def _question(item: Item, link: Html | None, *, whole: bool, about: str | None = None) -> Html:
    """Return the question and the label of the answer. ``about`` is a text at the end of the label's line."""
    right_refusal = None
    if item.right_refusal:
        retrieved = "nothing fitting" if item.response.passages else "nothing"
        right_refusal = tag("span", f"Refusal: {retrieved} was retrieved", cls="jb-mark")
    text = _evidence(
        item, item.response.query or NO_QUESTION, [], whole=whole, cls="jb-evidence jb-question"
    )
    question = tag("div", tag("div", "Question", cls="jb-label"), text)
    aside = tag("span", about) if about else None
    label = tag("div", "Answer", right_refusal, link, aside, cls="jb-label")
    words = served_words(item.response.metadata)
    served = tag("div", words, cls="jb-cap") if words else None
    return join((question, tag("div", cls="jb-rule"), label, served))


def passage_list(
    item: Item,
    claims: Sequence[NumberedClaim],
    *,
    whole: bool,
    view: TextView,
    aligned: Mapping[int, list[AlignedSpan]] | None = None,
) -> Html:
    """Return the numbered passages. The quotes of claims are marked, or the spans of ``aligned``."""
    response, passages = item.response, item.response.passages
    if not passages:
        if passages is not None:
            reason = "The search found nothing: 0 passages were given to the model."
        elif item.forgotten_at:
            reason = forgotten(item.forgotten_at)
        else:
            reason = "This log has no passages. Groundedness cannot be judged."
        return tag("div", tag("div", "Passages", cls="jb-label"), tag("div", reason))
    claims = [
        claim for claim in claims if not claim.sentence
    ]  # marked sentences are only in the answer
    left = sys.maxsize if whole else LONGEST
    places = None
    if folds(response) and view == "folded" and not whole:
        places = _aligned_spans(align(response.answer, passages, [claim.claim for claim in claims]))
    parts: list[Html] = []
    for number, passage in enumerate(passages, start=1):
        if left <= 0:
            break
        beginning = passage[:left]
        left -= len(beginning)
        spans = None if aligned is None else aligned.get(number, [])
        near = None if places is None else [place[:2] for place in places.get(number, [])]
        parts.append(
            _passage(
                response,
                number,
                beginning,
                claims,
                spans,
                as_formatted=view == "formatted",
                evidence=near,
            )
        )
    total = f"{count(len(passages), 'passage')}, {size(sum(len(passage) for passage in passages))}"
    return tag(
        "div",
        tag(
            "div",
            tag(
                "input",
                type="search",
                cls="jb-search",
                aria_label="Search the passages",
                placeholder="Search (C), next (R)",
            ),
            tag("span", total),
            join(
                tag("a", str(number), href=f"#p{number}") for number in range(1, len(passages) + 1)
            ),
            cls="jb-jumps",
        ),
        *parts,
    )


def text_views(response: Response) -> list[TextView]:
    """Return the ways to show the texts of an answer that differ from each other; the first one is the default."""
    views: list[TextView] = ["folded"]
    if folds(response):
        views.append("whole")
    if any(formatted(text) for text in item_texts(response)[1:]):
        views.append("formatted")
    return views


def folds(response: Response) -> bool:
    """Return whether the passages are so long that only the sentences around evidence are open at first."""
    lengths = [len(passage) for passage in response.passages or ()]
    return sum(lengths) > LONGEST_UNFOLDED and max(lengths, default=0) >= SHORTEST_FOLDED


def item_texts(response: Response) -> tuple[str, ...]:
    """Return the texts of an answer: the question, the answer itself and the passages."""
    return (response.query, response.answer, *(response.passages or ()))


def unsent(texts: Sequence[str | None], passages: Sequence[str] | None) -> int:
    """Return the total number of characters if the first page lacks some characters, otherwise 0."""
    lengths = [len(text or "") for text in texts]
    passages_length = sum(len(passage) for passage in passages or ())
    return sum(lengths) + passages_length if max([*lengths, passages_length]) > LONGEST else 0


def _evidence(
    item: Item,
    text: str,
    claims: Sequence[NumberedClaim],
    *,
    whole: bool,
    cls: str,
    as_formatted: bool = False,
) -> Html:
    if item.forgotten_at:
        return tag("div", forgotten(item.forgotten_at), cls="jb-mut")
    part = text if whole else text[:LONGEST]
    spans = [span for span in answer_spans(claims, text) if span.end <= len(part)]
    if as_formatted and not spans and (markup := formatted(text)) is not None:
        return tag("div", markup, cls=cls)
    if "jb-answer" not in cls:
        return tag("div", escaped(part), cls=cls)
    # An answer has marked claims, and each sentence has the words to search for in the passages.
    begun, parts, behind = set[str](), list[Html](), 0
    for start, end in sentence_spans(part) if len(part) <= LONGEST_SEARCHED else ():
        words = dict.fromkeys(word.written.lower() for word in content_words(part[start:end]))
        parts += [
            marked(part, spans, here="a", there="q", part=(behind, start), begun=begun),
            tag(
                "span",
                marked(part, spans, here="a", there="q", part=(start, end), begun=begun),
                data_w=" ".join(words) or None,
            ),
        ]
        behind = end
    rest = marked(part, spans, here="a", there="q", part=(behind, len(part)), begun=begun)
    return tag("div", *parts, rest, cls=cls)


def _folded(passage: str, spans: Sequence[Span], evidence: Sequence[tuple[int, int]]) -> Html:
    """Return a folded passage. Sentences with evidence and the sentences beside evidence are open.

    Without evidence, the first sentence is open. The text content of the HTML equals the text.
    """
    starts = [start for start, _ in sentence_spans(passage)]
    edges = [0, *starts[1:], len(passage)]
    pieces = list(pairwise(edges))
    near = {
        at + step
        for at, (start, end) in enumerate(pieces)
        for step in (-1, 0, 1)
        if any(first < end and start < last for first, last in evidence)
    } or {0}
    parts: list[Html] = []
    begun = set[str]()
    changes = [
        0,
        *(at for at in range(1, len(pieces)) if (at in near) is not (at - 1 in near)),
        len(pieces),
    ]
    for first, behind in pairwise(changes):
        start, end = edges[first], edges[behind]
        text = marked(passage, spans, here="q", there="a", part=(start, end), begun=begun)
        if first in near or end - start < SHORTEST_FOLD:
            parts.append(text)
        else:
            summary = tag(
                "summary", data_n=f"{count(behind - first, 'sentence')} ({size(end - start)})"
            )
            parts.append(tag("details", summary, text, cls="jb-fold"))
    return join(parts)


def forgotten(at: datetime | None = None) -> str:
    """Return the sentence that replaces a removed text."""
    when = f" on {day(at)}" if at else ""
    return f"This text was removed{when} (judgeboard db forget)."


def _passage(
    response: Response,
    number: int,
    beginning: str,
    claims: Sequence[NumberedClaim],
    aligned: Sequence[AlignedSpan] | None,
    *,
    as_formatted: bool,
    evidence: Sequence[tuple[int, int]] | None = None,
) -> Html:
    """Return a passage. A long passage is folded around ``evidence``, unless ``evidence`` is None."""
    passage = (response.passages or ())[number - 1]
    spans = [span for span in passage_spans(claims, number, passage) if span.end <= len(beginning)]
    citing = [str(claim.number) for claim in claims if claim.claim.passage == number]
    text = formatted(passage) if as_formatted and not aligned and not spans else None
    if text is None:
        if aligned is not None:
            parts: list[Html] = []
            behind = 0
            for start, end, numbers in aligned:
                if end > len(beginning):
                    break
                ids = join(tag("i", id=f"l{number}", cls="jb-goal") for number in numbers)
                back = join(
                    tag(
                        "a",
                        cls="jb-n",
                        href=f"#e{number}",
                        data_n=str(number),
                        aria_label=f"sentence {number}",
                    )
                    for number in numbers
                )
                parts += [
                    escaped(beginning[behind:start]),
                    tag("mark", ids, beginning[start:end], back, cls="jb-m jb-found"),
                ]
                behind = end
            text = join((*parts, escaped(beginning[behind:])))
        elif evidence is not None and len(beginning) >= SHORTEST_FOLDED:
            text = _folded(
                beginning, spans, [*evidence, *((span.start, span.end) for span in spans)]
            )
        else:
            text = marked(beginning, spans, here="q", there="a")
    cited = (
        f"{'claim' if len(citing) == 1 else 'claims'} {', '.join(citing)}"
        if citing
        else "not cited"
    )
    return tag(
        "div",
        tag(
            "div",
            tag("span", str(number), cls="jb-number"),
            tag("span", size(len(passage))),
            *passage_facts(response, number),
            tag("span", cited) if claims else tag("span"),
            cls="jb-passage-head",
        ),
        tag("div", text, cls="jb-evidence"),
        cls="jb-passage",
        id=f"p{number}",
    )


def sentence_pane(
    item: Item,
    aligned: Sequence[AlignedSentence],
    claims: Sequence[NumberedClaim],
    *,
    whole: bool,
    link: Html | None = None,
) -> Html:
    """Return the pane that shows an answer sentence by sentence, each beside the matching text of a passage.

    ``whole``: show every sentence, and the passages beyond the first 100,000 characters.
    """
    response = item.response
    if item.forgotten_at:
        rows: list[Html] = [tag("div", forgotten(item.forgotten_at), cls="jb-mut")]
    else:
        spans, begun = answer_spans(claims, response.answer), set[str]()
        sentences = aligned if whole else aligned[:MOST_SENTENCES]
        rows = [
            tag(
                "div",
                tag(
                    "div",
                    marked(
                        response.answer,
                        spans,
                        here="a",
                        there="q",
                        part=(sentence.start, sentence.end),
                        begun=begun,
                    ),
                    cls="jb-evidence",
                ),
                _aligned_passage(number, sentence, response.passages or ()),
                cls="jb-sentence",
                id=f"e{number}",
            )
            for number, sentence in enumerate(sentences, start=1)
        ]
    unsent = len(aligned) - MOST_SENTENCES if not whole else 0
    placed = sum(sentence.passage is not None for sentence in aligned)
    summary = (
        f"{placed:,} of {count(len(aligned), 'sentence')} with a matching passage"
        if aligned
        else ""
    )
    more = tag("div", f"{unsent:,} more sentences: Show all", cls="jb-cap") if unsent > 0 else None
    return tag(
        "div",
        _question(item, link, whole=whole, about=summary),
        tag("div", *rows),
        more,
        tag("div", cls="jb-rule"),
        context_block(response),
        passage_list(item, claims, whole=whole, view="whole", aligned=_aligned_spans(aligned)),
        cls="jb-pane",
    )


def _aligned_passage(number: int, sentence: AlignedSentence, passages: Sequence[str]) -> Html:
    if sentence.passage is None or sentence.passage_start is None or sentence.passage_end is None:
        return tag("div", "no passage contains enough of its words", cls="jb-place jb-mut")
    text = passages[sentence.passage - 1][sentence.passage_start : sentence.passage_end]
    share = f"{percent(sentence.share or 0)} of its words"
    return tag(
        "div",
        tag(
            "a",
            f"passage {sentence.passage}",
            href=f"#l{number}" if sentence.passage_end <= LONGEST else f"#p{sentence.passage}",
        ),
        tag("span", "quoted by the judge" if sentence.by == "quote" else share, cls="jb-cap"),
        tag(
            "div",
            text if len(text) <= LONGEST_QUOTE else f"{text[:LONGEST_QUOTE]} …",
            cls="jb-evidence",
        ),
        cls="jb-place",
    )


def _aligned_spans(aligned: Sequence[AlignedSentence]) -> dict[int, list[AlignedSpan]]:
    """Return the spans by passage, each with sentence numbers. Of overlapping spans, the first gets all numbers."""
    spans: dict[int, dict[tuple[int, int], list[int]]] = {}
    for number, sentence in enumerate(aligned, start=1):
        if (
            sentence.passage is not None
            and sentence.passage_start is not None
            and sentence.passage_end is not None
        ):
            span = (sentence.passage_start, sentence.passage_end)
            spans.setdefault(sentence.passage, {}).setdefault(span, []).append(number)
    by_passage: dict[int, list[AlignedSpan]] = {}
    for passage, numbers_by_span in spans.items():
        end = 0
        for (start, stop), numbers in sorted(numbers_by_span.items()):
            if start >= end:
                by_passage.setdefault(passage, []).append((start, stop, numbers))
                end = stop
            else:
                by_passage[passage][-1][2].extend(numbers)
    return by_passage


def answer_panes(
    actions: Actions,
    item: Item,
    side: Callable[[Sequence[NumberedClaim]], tuple[Html, Html]],
    *,
    own_marks: tuple[ClaimMark, ...] = (),
    link: Html | None = None,
    rules: Queue | None = None,
    correctable: bool = True,
    comments: Sequence[ShownComment],
) -> None:
    """Show the line of tools, the texts of an answer and the side pane.

    Only the claims of one judgment are marked (`Item.with_claims`). ``side`` gets the marked claims
    and returns two parts of the side pane. Between the two parts stand the fields of label schema
    and failure modes, then the button that judges the answer again. The fields for ``comments`` are
    below both parts. ``rules`` are the rules of the queue. ``correctable``: the answer can be
    corrected. ``own_marks`` are the reviewer's own stored marks. ``link`` is shown beside the label of
    the answer. For a label schema with spans, texts are shown whole and as stored, because a span
    is a place in the stored text.
    """
    session, response = actions.session, item.response
    judgment = item.with_claims
    claims = () if judgment is None else judgment.claims or ()
    statements = statements_of(response.answer, claims, None if judgment is None else judgment.id)
    marks = MarkActions(session, item.response_id, statements, own_marks)
    marked_claims = shown_claims(claims, statements, marks.shown, marks.at)
    _tools_line(actions, marks)
    whole = item.response_id in session.whole
    schema = actions.draft.schema
    views: list[TextView] = (
        ["whole"]
        if schema is not None and schema.of_type(FieldType.SPANS)
        else text_views(response)
    )
    view = session.texts if session.texts in views else views[0]
    panes = {"judgments": judgments_pane, "calls": raw_calls_pane} if item.judgments else {}
    panes |= {"trace": trace_pane} if has_trace(item) else {}
    drawer = session.drawer if session.drawer in panes else None
    parts: list[tuple[str, Html]]
    if drawer is not None:
        parts = [(drawer, panes[drawer](item))]
    elif session.by_sentence:
        aligned = align(response.answer, response.passages, claims)
        parts = [("evidence", sentence_pane(item, aligned, marked_claims, whole=whole, link=link))]
    else:
        answer = _evidence(
            item,
            response.answer,
            marked_claims,
            whole=whole,
            cls="jb-evidence jb-answer",
            as_formatted=view == "formatted",
        )
        passages = passage_list(item, marked_claims, whole=whole, view=view)
        parts = [
            (
                "answer",
                tag(
                    "div",
                    _question(item, link, whole=whole),
                    answer,
                    context_block(response),
                    cls="jb-pane",
                ),
            ),
            ("passages", tag("div", passages, cls="jb-pane")),
        ]
    more = 0 if whole or drawer else unsent([response.query, response.answer], response.passages)
    with st.container(key="panes_two" if len(parts) == 1 else "panes"):
        *columns, side_column = st.columns(WIDTHS[len(parts)], gap="small")
        for column, (name, markup) in zip(columns, parts, strict=True):
            with column, _pane(name):
                show(markup)
                if more:
                    label = f"Show all ({size(more)})"
                    key_button(label, actions.whole, key=f"whole_{name}")
                if name == "answer" and len(views) > 1:
                    following = views[(views.index(view) + 1) % len(views)]
                    key_button(
                        VIEWS[following],
                        partial(actions.show_texts, following),
                        key="texts",
                        shortcut="F4",
                        quiet=True,
                    )
                if name == "answer" and correctable:
                    correction(actions, item)
        with side_column, _pane("judge"):
            first, rest = side(marked_claims)
            show(first)
            side_fields(actions, rules, response)
            again_section(actions, item)
            show(rest)
            _drawer_buttons(actions, panes, drawer)
            comment_fields(CommentActions(actions.store, session, actions.reviewer, item), comments)


def _drawer_buttons(actions: Actions, names: Collection[str], drawer: str | None) -> None:
    """Show the buttons of the views that can replace the texts of this answer; ``drawer`` is the open one."""
    if not names:
        return
    with st.container(horizontal=True, gap="small"):
        for name in names:
            label, shortcut = DRAWERS[name]
            key_button(
                "Back to the texts" if name == drawer else label,
                partial(actions.open_drawer, name),
                key=name,
                shortcut=shortcut,
                quiet=True,
            )


def _pane(name: str) -> st.delta_generator.DeltaGenerator:
    return st.container(height=PANE_HEIGHT, border=True, key=f"pane_{name}")


def _tools_line(actions: Actions, marks: MarkActions) -> None:
    """Show the line over the panes. The line always has the same height."""
    reason = actions.draft.why
    noun = (
        "claim"
        if any(statement.judgment_id is not None for statement in marks.statements)
        else "sentence"
    )
    statement = None if marks.at is None else marks.statements[marks.at]
    mark = None if statement is None else marks.shown.get(subject_of(statement))
    disabled, refusal_text = not marks.statements, refusal(Action.REVIEW)
    with in_row("tools", wrap=False):
        show(_statement_line(marks, noun, None if mark is None else mark.status))
        if actions.differs():
            key_button(
                "Why do you differ?" if reason is None else WHY_DIFFERS[reason.value],
                actions.why,
                key="why",
                shortcut="O",
                quiet=reason is None,
                is_chosen=reason is not None,
                tip="Why you and the judge differ. Press the key again for the next reason.",
            )
        key_button(
            noun.capitalize(),
            marks.next,
            key="statement",
            shortcut="V",
            quiet=True,
            disabled=disabled,
            tip="Go to the next sentence or claim of the answer, and to its words. B, X and P mark it.",
        )
        for status, name, shortcut, tip in STATUSES:
            is_chosen = mark is not None and mark.status is status
            key_button(
                name,
                partial(marks.mark, status),
                key=f"mark_{status.value}",
                shortcut=shortcut,
                quiet=not is_chosen,
                is_chosen=is_chosen,
                disabled=disabled or refusal_text is not None,
                tip=refusal_text or tip,
            )
        key_button(
            "Whole texts" if actions.session.by_sentence else "By sentence",
            actions.switch,
            key="switch",
            shortcut="I",
            quiet=True,
            tip="Switch between the whole texts and single sentences, each beside the most similar passage",
        )


def _statement_line(marks: MarkActions, noun: str, status: ClaimStatus | None) -> Html:
    total = len(marks.statements)
    marked_by_you = f", {len(marks.shown):,} marked by you" if marks.shown else ""
    if marks.at is None:
        return tag(
            "div", f"{count(total, noun)}{marked_by_you}" if total else "", cls="jb-cap jb-line"
        )
    statement = marks.statements[marks.at]
    return tag(
        "div",
        tag("b", f"{noun.capitalize()} {marks.at + 1:,} of {total:,}"),
        "" if status is None else f" · you: {STATUS_WORDS[status]}",
        f"{marked_by_you} · {statement.text}",
        cls="jb-cap jb-line",
        title=statement.text,
    )


def pair_block(
    question: str | None,
    options: Sequence[str],
    passages: Sequence[str],
    left: str | None,
    right: str | None,
    names: tuple[str, str] = ("Left", "Right"),
) -> Html:
    """Return the question over two named answers side by side. A text that is None was removed."""
    lines = [tag("div", f"{chr(65 + at)}. {text}") for at, text in enumerate(options)]
    passage_blocks = [
        tag(
            "div",
            tag("div", f"Passage {number}", cls="jb-label"),
            tag("div", text, cls="jb-evidence"),
            cls="jb-block",
        )
        for number, text in enumerate(passages, start=1)
    ]
    sides = [
        tag(
            "div",
            tag("div", name, cls="jb-label"),
            tag("div", forgotten() if text is None else text, cls="jb-evidence"),
            cls="jb-answer-side",
        )
        for name, text in zip(names, (left, right), strict=True)
    ]
    return tag(
        "div",
        tag("div", question or forgotten(), cls="jb-evidence jb-question jb-asked"),
        tag("div", *lines, cls="jb-evidence") if lines else None,
        tag("details", tag("summary", count(len(passage_blocks), "passage")), *passage_blocks)
        if passage_blocks
        else None,
        tag("div", *sides, cls="jb-answers"),
        cls="jb-pane jb-pair",
    )


_PREFERS = {
    Preference.A: "prefers answer A",
    Preference.B: "prefers answer B",
    Preference.TIE: "calls it a tie",
}


def comparison_words(comparison: StoredComparison) -> str:
    """Return the order in which a judge saw a pair, and the judge's preference. Several aspects are named."""
    first = "Answer A first" if comparison.shown is Shown.AB else "Answer B first"
    has_aspects = len(comparison.preferences) > 1
    words = (
        f"{f'{aspect} ' if has_aspects else ''}{_PREFERS[each]}"
        for aspect, each in comparison.preferences.items()
    )
    return f"{first}: {'; '.join(words) or f'no usable verdict ({comparison.status})'}."
