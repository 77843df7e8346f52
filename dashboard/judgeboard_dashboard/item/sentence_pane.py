"""The answer sentence by sentence, each beside the place that says most of it; under it the passages."""

from collections.abc import Sequence

from judgeboard.evidence_alignment import AlignedSentence
from judgeboard.store.responses.items import Item
from judgeboard_dashboard.evidence import Html, join, tag
from judgeboard_dashboard.item.marks import NumberedClaim, answer_spans, marked
from judgeboard_dashboard.item.text_panes import LONGEST, passage_list, question_block, removed_words
from judgeboard_dashboard.words import count

MOST_SENTENCES = 400
LONGEST_PLACE = 2_000  # characters of a judge's quote; the words find shorter places


def sentence_pane(
    item: Item,
    aligned: Sequence[AlignedSentence],
    claims: Sequence[NumberedClaim],
    *,
    whole: bool,
    link: Html | None = None,
) -> Html:
    """Return the pane.

    Args:
        item: The answer.
        aligned: Its sentences with their places (`evidence_alignment.align`).
        claims: What is marked in the texts (`statements.shown_claims`).
        whole: Whether to send more than the first 100,000 characters of the passages, and every sentence.
        link: Leads to more about the answer.
    """
    answer = item.answer
    if answer is None:
        rows: list[Html] = [tag("div", removed_words(item), cls="jb-mut")]
    else:
        spans, begun = answer_spans(claims, answer), set[str]()
        shown = aligned if whole else aligned[:MOST_SENTENCES]
        rows = [
            _row(
                number,
                one,
                marked(answer, spans, here="a", there="q", part=(one.start, one.end), begun=begun),
                item.passages or (),
            )
            for number, one in enumerate(shown, start=1)
        ]
    unsent = len(aligned) - MOST_SENTENCES if answer is not None and not whole else 0
    found = sum(one.passage is not None for one in aligned)
    said = f"{found:,} of {count(len(aligned), 'sentence')} with a place in the passages" if aligned else ""
    return tag(
        "div",
        question_block(item, whole=whole),
        tag("div", cls="jb-rule"),
        tag("div", join(("Answer", *((" ", link) if link else ()))), tag("span", said), cls="jb-label"),
        tag("div", *rows, cls="jb-sentences"),
        tag("div", f"{unsent:,} more sentences: Show all", cls="jb-cap") if unsent > 0 else None,
        tag("div", cls="jb-rule"),
        passage_list(item, claims, whole=whole, places=_places(aligned)),
        cls="jb-pane",
    )


def _row(number: int, one: AlignedSentence, sentence: Html, passages: Sequence[str]) -> Html:
    return tag(
        "div",
        tag("div", sentence, cls="jb-evidence"),
        _place(number, one, passages),
        cls="jb-sentence",
        id=f"e{number}",
    )


def _place(number: int, one: AlignedSentence, passages: Sequence[str]) -> Html:
    if one.passage is None or one.passage_start is None or one.passage_end is None:
        return tag("div", "no passage holds enough of its words", cls="jb-place jb-mut")
    text = passages[one.passage - 1][one.passage_start : one.passage_end]
    goal = f"#l{number}" if one.passage_end <= LONGEST else f"#p{one.passage}"
    how = "quoted by the judge" if one.by == "quote" else f"{one.share or 0:.0%} of its words".replace("%", " %")
    return tag(
        "div",
        tag("a", f"passage {one.passage}", href=goal),
        tag("span", how, cls="jb-cap"),
        tag("div", text if len(text) <= LONGEST_PLACE else f"{text[:LONGEST_PLACE]} …", cls="jb-evidence"),
        cls="jb-place",
    )


def _places(aligned: Sequence[AlignedSentence]) -> dict[int, list[tuple[int, int, list[int]]]]:
    """The places by passage in order, each with the numbers of its sentences; of two that overlap the first."""
    found: dict[int, dict[tuple[int, int], list[int]]] = {}
    for number, one in enumerate(aligned, start=1):
        if one.passage is not None and one.passage_start is not None and one.passage_end is not None:
            span = (one.passage_start, one.passage_end)
            found.setdefault(one.passage, {}).setdefault(span, []).append(number)
    places: dict[int, list[tuple[int, int, list[int]]]] = {}
    for passage, spans in found.items():
        end = 0
        for (start, stop), numbers in sorted(spans.items()):
            if start >= end:
                places.setdefault(passage, []).append((start, stop, numbers))
                end = stop
            else:
                places[passage][-1][2].extend(numbers)
    return places
