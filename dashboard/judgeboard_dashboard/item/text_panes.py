"""The two panes of evidence: the question with its answer, and the passages beside it."""

from collections.abc import Mapping, Sequence

from judgeboard.store.responses.items import Item
from judgeboard_dashboard.evidence import Html, escaped, join, size, tag
from judgeboard_dashboard.item.marks import NumberedClaim, answer_spans, marked, passage_spans
from judgeboard_dashboard.words import count, day

Place = tuple[int, int, list[int]]  # start and end in a passage, the numbers of the sentences beside it

# More than this of one text is sent only when asked for: it crosses the wire with every item.
LONGEST = 100_000
MOST_WITHOUT_JUMPS = 4
MOST_NUMBERS = 20

NO_PASSAGES_LOGGED = "This log has no passages. Groundedness cannot be judged."
NOTHING_FOUND = "The search found nothing: 0 passages were given to the model."


def answer_pane(item: Item, claims: Sequence[NumberedClaim], *, whole: bool, link: Html | None = None) -> Html:
    """Return question and answer, the answer's claims marked; ``link`` leads to more about the answer."""
    return tag(
        "div",
        question_block(item, whole=whole),
        tag("div", cls="jb-rule"),
        tag("div", "Answer", link, cls="jb-label"),
        _evidence(item, item.answer, claims, whole=whole, cls="jb-evidence jb-answer"),
        cls="jb-pane",
    )


def question_block(item: Item, *, whole: bool) -> Html:
    """Return the question under its label."""
    text = _evidence(item, item.query, [], whole=whole, cls="jb-evidence jb-question")
    return tag("div", tag("div", "Question", cls="jb-label"), text)


def passages_pane(item: Item, claims: Sequence[NumberedClaim], *, whole: bool) -> Html:
    """Return the numbered passages with the quotes of the claims marked.

    Args:
        item: The answer; its passages are None where the log has none, empty where the search found none.
        claims: The claims of the judge, empty where it gave none.
        whole: Whether to send more than the first 100,000 characters.
    """
    return tag("div", passage_list(item, claims, whole=whole), cls="jb-pane")


def passage_list(
    item: Item, claims: Sequence[NumberedClaim], *, whole: bool, places: Mapping[int, Sequence[Place]] | None = None
) -> Html:
    """Return the passages without a pane around them; ``places`` are marked in them instead of the quotes."""
    passages = item.passages
    if not passages:
        said = (
            NOTHING_FOUND if passages is not None else removed_words(item) if item.forgotten_at else NO_PASSAGES_LOGGED
        )
        return tag("div", tag("div", "Passages", cls="jb-label"), tag("div", said))
    claims = [one for one in claims if not one.sentence]  # a person's marks on sentences are in the answer alone
    left = None if whole else LONGEST
    parts: list[Html] = []
    for number, passage in enumerate(passages, start=1):
        if left is not None and left <= 0:
            break
        sent = passage if left is None else passage[:left]
        left = None if left is None else left - len(sent)
        parts.append(_passage(number, passage, sent, claims, None if places is None else places.get(number, ())))
    jumps = _jumps(passages, claims) if len(passages) > MOST_WITHOUT_JUMPS else None
    return tag("div", jumps, *parts)


def unsent(texts: Sequence[str | None], passages: Sequence[str] | None) -> int:
    """Return how many characters there are in all where a pane holds more than it sends at first, else 0."""
    lengths = [len(text or "") for text in texts]
    passages_length = sum(len(passage) for passage in passages or ())
    return sum(lengths) + passages_length if max([*lengths, passages_length]) > LONGEST else 0


def _evidence(item: Item, text: str | None, claims: Sequence[NumberedClaim], *, whole: bool, cls: str) -> Html:
    if text is None:
        return tag("div", removed_words(item), cls="jb-mut")
    sent = text if whole else text[:LONGEST]
    spans = [span for span in answer_spans(claims, text) if span.end <= len(sent)]
    return tag("div", marked(sent, spans, here="a", there="q"), cls=cls)


def removed_words(item: Item) -> str:
    """Return what stands in the place of a forgotten text."""
    when = f" on {day(item.forgotten_at)}" if item.forgotten_at else ""
    return f"This text was removed{when} (judgeboard forget)."


def _passage(
    number: int, passage: str, sent: str, claims: Sequence[NumberedClaim], places: Sequence[Place] | None
) -> Html:
    spans = [span for span in passage_spans(claims, number, passage) if span.end <= len(sent)]
    cited = [str(one.number) for one in claims if one.claim.passage == number]
    said = f"{'claim' if len(cited) == 1 else 'claims'} {', '.join(cited)}" if cited else "not cited"
    return tag(
        "div",
        tag(
            "div",
            tag("span", str(number), cls="jb-number"),
            tag("span", size(len(passage))),
            tag("span", said) if claims else tag("span"),
            cls="jb-passage-head",
        ),
        tag(
            "div",
            marked(sent, spans, here="q", there="a") if places is None else _with_places(sent, places),
            cls="jb-evidence",
        ),
        cls="jb-passage",
        id=f"p{number}",
    )


def _with_places(sent: str, places: Sequence[Place]) -> Html:
    """The passage with the places that sentences of the answer stand beside; numbers lead back to them."""
    parts: list[Html] = []
    behind = 0
    for start, end, numbers in places:
        if end > len(sent):
            break
        ids = join(tag("i", id=f"l{number}", cls="jb-goal") for number in numbers)
        back = join(
            tag("a", cls="jb-n", href=f"#e{number}", data_n=str(number), aria_label=f"sentence {number}")
            for number in numbers
        )
        parts += [escaped(sent[behind:start]), tag("mark", ids, sent[start:end], back, cls="jb-m jb-found")]
        behind = end
    return join((*parts, escaped(sent[behind:])))


def _jumps(passages: Sequence[str], claims: Sequence[NumberedClaim]) -> Html:
    """The line at the top of a long list: how much there is, where to jump."""
    said = f"{count(len(passages), 'passage')}, {size(sum(len(passage) for passage in passages))}"
    cited = sorted({one.claim.passage for one in claims if one.claim.passage is not None})
    if len(passages) <= MOST_NUMBERS:
        return _jump_line(said, "", range(1, len(passages) + 1))
    return _jump_line(said, "cited:" if cited else "", cited)


def _jump_line(said: str, before: str, numbers: Sequence[int]) -> Html:
    return tag(
        "div",
        tag("span", said),
        tag("span", before) if before else None,
        join(tag("a", str(number), href=f"#p{number}") for number in numbers),
        cls="jb-jumps",
    )
