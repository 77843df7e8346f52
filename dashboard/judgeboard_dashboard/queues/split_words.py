"""What reviewers said of one item, side by side."""

from judgeboard.domain import Preference, Stage
from judgeboard.queues import Split
from judgeboard.store.queues.item_reviews import QueueReview
from judgeboard_dashboard.evidence import Html, tag
from judgeboard_dashboard.item.history import DECIDED
from judgeboard_dashboard.words import capital, short, when

STAGES = {
    Stage.BLIND: "blind",
    Stage.REVEALED: "after seeing the judge, does not count",
    Stage.ADJUDICATION: "the last word",
}
SIDES = {Preference.A.value: "the left answer", Preference.B.value: "the right answer", Preference.TIE.value: "a tie"}


def words_block(split: Split) -> Html:
    """Return a card for each review, with its grades, note, name and time; then who put the item aside."""
    differ = f"differ on {' and '.join(split.differ_on)}" if split.differ_on else ""
    label = tag("div", "What people said", tag("span", differ), cls="jb-label")
    cards = [_card(word) for word in split.reviews]
    aside = [
        tag("div", f"Skipped {when(one.at)}{f': {one.reason}' if one.reason else ''}", cls="jb-cap")
        for one in split.skips
    ]
    return tag("div", tag("div", label, tag("div", *cards, cls="jb-words"), *aside, cls="jb-block"), cls="jb-pane")


def _card(word: QueueReview) -> Html:
    stage = "" if word.stage is None else STAGES[word.stage]
    said = DECIDED.get(word.decision or "") or SIDES.get(word.decision or "")
    lines = [
        tag("div", tag("b", word.reviewer), cls="jb-who"),
        tag("div", capital(said), cls="jb-big") if said else None,
        *(tag("div", tag("span", name), tag("b", value), cls="jb-grade") for name, value in _grades(word)),
        tag("div", word.note, cls="jb-reason") if word.note else None,
        tag("div", " · ".join(part for part in (when(word.at), stage) if part), cls="jb-cap"),
    ]
    return tag("div", *lines, cls=f"jb-word{' jb-gold' if word.stage is Stage.ADJUDICATION else ''}")


def _grades(word: QueueReview) -> list[tuple[str, str]]:
    given = [
        ("Groundedness", None if word.groundedness is None else short(word.groundedness)),
        ("Quality", None if word.quality is None else f"{word.quality} / 4"),
        ("Label", None if word.label is None else str(word.label)),
        *((name, f"{short(value)} / 5") for name, value in word.scores.items()),
    ]
    return [(name, value) for name, value in given if value is not None]
