"""The review of pairs outside queues: two answers side by side, three keys, then the reveal."""

from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

import streamlit as st

from judgeboard.agreement.pair_report import ComparedPairs, Listed, ModelRanking, PairGroup, PairLine
from judgeboard.agreement.pair_screen import ListedPairs, PairScreen, Revealed, pair_screen
from judgeboard.domain import Preference, Status
from judgeboard.reviews.decisions import prefer
from judgeboard.store.comparisons import LatestComparison
from judgeboard.store.judge_versions import StoredVersion, get_version
from judgeboard.store.pairs import last_rows
from judgeboard.store.reviewers import Reviewer
from judgeboard_dashboard.evidence import Html, show, tag
from judgeboard_dashboard.review.actions import SIDES, Actions
from judgeboard_dashboard.review.drafts import keep_draft, review_session
from judgeboard_dashboard.review.screen import appear, bar, head_line, move, side_choices, take_input
from judgeboard_dashboard.review.texts import pair_block
from judgeboard_dashboard.session import (
    as_query,
    ask_reviewer,
    current_reviewer,
    kept_until_new_rows,
    reading,
    store,
)
from judgeboard_dashboard.widgets.navigation import Rows, number_in_address
from judgeboard_dashboard.widgets.texts import UNKNOWN, capital, count, sentence

LISTED = {
    Listed.ALL: "All pairs",
    Listed.INCONSISTENT: "Inconsistent",
    Listed.WRONG: "Wrong",
    Listed.UNMEASURED: "Unmeasured",
    Listed.UNJUDGED: "Not judged by people",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class PairActions(Actions):
    """The actions for a pair outside queues."""

    screen: PairScreen

    def _decide(self, reviewer: Reviewer, decision: Preference) -> None:
        """Store a preference, blind or after the judgment was shown."""
        screen = self.screen
        prefer(
            self.store,
            pair_id=screen.pair_id,
            reviewer=reviewer,
            preference=decision,
            shown=screen.shown,
            request_key=self.request_key,
            aspect=screen.aspect,
            comparison_seen_id=screen.seen_id,
            revealed=screen.revealed is not None,
            grade=self.grade_for(decision),
            seconds=self.seconds(),
        )
        self.session.drafts.pop(self.subject, None)
        self.session.finish_key(self.row, self.request_key)
        if screen.seen_id is not None:
            self.session.say("Saved: your preference overrules the judge.")
        elif screen.revealed is not None and screen.own is not None:
            self.session.say("Saved. Your first preference is the one that counts.")
        else:
            self.session.say("Saved.")


def stored_words(preference: Preference | None) -> str | None:
    """Return A, B or tie; None for no preference."""
    return None if preference is None else {Preference.A: "A", Preference.B: "B", Preference.TIE: "tie"}[preference]


def verdict_words(line: PairLine) -> str:
    """Return the judge's verdict on a pair, or why there is none."""
    return stored_words(line.verdict) or ("inconsistent" if line.inconsistent else "unmeasured")


def people_words(line: PairLine) -> str | None:
    """Return "B (3)" or "no majority (2)"; None if there is no review."""
    if line.people is None:
        return None
    return f"{stored_words(line.people.majority) or 'no majority'} ({line.people.people:,})"


PAGE = "pairs"
# The parameters of the list are bound to input fields. This file reads the parameters of one pair.
LIST_FIELDS = ("version", "aspect", "list", "types")
PAIR_FIELDS = ("pair", "of", "in", "among", "type", "seen")


@dataclass(frozen=True, slots=True)
class PairAddress:
    """The address of a pair in a list. Without ``version_id``, the list has the pairs that no judge compared.

    ``verdict_seen``: the pair was opened from the list, which shows the judge's verdict.
    """

    pair_id: int
    version_id: int | None
    aspect: str
    listed: Listed
    query_types: tuple[str, ...]
    verdict_seen: bool = False

    def rows(self) -> Rows:
        """Return the address as page and parameters."""
        query: dict[str, str | int | list[str] | None] = {
            "pair": self.pair_id,
            "in": self.aspect,
            "of": self.version_id,
            "among": list(Listed).index(self.listed) or None,
            "type": list(self.query_types),
            "seen": 1 if self.verdict_seen else None,
        }
        return Rows(PAGE, as_query(query))

    def at(self, pair_id: int) -> "PairAddress":
        """Return the address of another pair in the list, whose verdict was not shown."""
        return replace(self, pair_id=pair_id, verdict_seen=False)


def pair_in_address() -> PairAddress | None:
    """Return the pair that the address names, None if it names no pair."""
    pair_id = number_in_address("pair", "pair")
    if pair_id is None:
        return None
    among = number_in_address("among", "pair") or 0
    return PairAddress(
        pair_id=pair_id,
        version_id=number_in_address("of", "pair"),
        aspect=st.query_params.get("in") or "overall",
        listed=list(Listed)[among] if among < len(Listed) else Listed.ALL,
        query_types=tuple(st.query_params.get_all("type")),
        verdict_seen=st.query_params.get("seen") == "1",
    )


def list_rows(address: PairAddress, title: str | None) -> Rows:
    """Return the address of the list that a pair was opened from; ``title`` names its judge version."""
    listed = None if address.listed is Listed.ALL else LISTED[address.listed]
    types = list(address.query_types)
    return Rows(PAGE, as_query({"aspect": address.aspect, "version": title, "list": listed, "types": types}))


class PairList(NamedTuple):
    """The pairs of one judge version as one reviewer sees them, with their figures."""

    compared: ComparedPairs
    groups: tuple[PairGroup, ...]
    rankings: tuple[ModelRanking, ...]


def pair_list(version: StoredVersion | None, reviewer_id: int | None) -> PairList:
    """Return all pairs that a version compared; they are kept until rows are added."""
    return kept_until_new_rows(
        last_rows,
        lambda connection: _pair_list(ComparedPairs(connection, version, reviewer_id)),
        ("pairs", None if version is None else version.id, reviewer_id),
    )


def _pair_list(compared: ComparedPairs) -> PairList:
    return PairList(compared, compared.groups(), compared.rankings())


def one_pair(address: PairAddress) -> None:
    """Show a pair. The verdict and the models are not sent to the browser until the reviewer has decided.

    If the pair was opened from the list, which shows the verdict, nothing is hidden.
    """
    session = review_session()
    take_input(session)
    session.goal = None
    reviewer = current_reviewer()
    with reading() as connection:
        version = None if address.version_id is None else get_version(connection, address.version_id)
    if reviewer is None:
        _before(address, version)
        ask_reviewer()
        return
    key = (address.version_id, address.aspect, address.listed, address.query_types, reviewer.id)
    pairs = session.pair_list(key, partial(_list, address, version, reviewer))
    with reading() as connection:
        screen = pair_screen(
            connection,
            address.pair_id,
            aspect=pairs.aspect,
            reviewer_id=reviewer.id,
            version_id=address.version_id,
            verdict_seen=address.verdict_seen or (reviewer.id, address.pair_id) in session.pairs_seen,
        )
    if screen.revealed is not None:
        session.pairs_seen.add((reviewer.id, address.pair_id))
    if screen.last_id is not None:
        pairs.judged(address.pair_id)
    row = screen_row(screen)
    actions = PairActions(
        store=store(),
        session=session,
        reviewer=reviewer,
        row=row,
        request_key=session.request_key(row),
        subject=-address.pair_id,
        name=f"pair {address.pair_id}",
        seconds=appear(session, -address.pair_id, row, [screen.question, screen.left, screen.right, *screen.passages]),
        screen=screen,
    )
    keep_draft(session, actions.store, reviewer, actions.subject)
    number, following = pairs.position(address.pair_id), pairs.following(address.pair_id)
    position = "Pair" if number is None else f"Pair {number:,} of {len(pairs):,}"
    title = None if version is None else version.title
    head_line(
        actions,
        position,
        tag("span", position),
        [screen.query_type, screen.aspect],
        [
            move("next", "Next", "J", None if following is None else partial(actions.go, address.at(following).rows())),
            move("list", "List", "L", partial(actions.go, list_rows(address, title))),
        ],
        named=False,
    )
    show(pair_block(screen.question, screen.options, screen.passages, screen.left, screen.right))
    if screen.revealed is not None:
        show(reveal_block(screen, screen.revealed, title))
    # After the reveal, the choices have no keys: a second press of a key must not overrule an unread verdict.
    choices = side_choices(
        actions.decide,
        screen.shown,
        keys={"left": "A", "right": "B", "tie": "T"} if screen.revealed is None else None,
        chosen=screen.own if screen.overruled is None else screen.overruled,
        enabled=screen.decidable,
    )
    bar(actions, _question(screen), choices, note=("Note (M)", "Optional: why it is better"))


def screen_row(screen: PairScreen) -> str:
    """Return the id of a screen. It changes after every preference."""
    return f"p{screen.pair_id}n{screen.last_id or 0}"


def _list(address: PairAddress, version: StoredVersion | None, reviewer: Reviewer) -> ListedPairs:
    compared = pair_list(version, reviewer.id).compared
    aspect = compared.known_aspect(address.aspect)
    return ListedPairs(aspect, compared.lines(aspect, address.listed, address.query_types))


def _before(address: PairAddress, version: StoredVersion | None) -> None:
    """Explain the review to a person without a name. A pair needs a name: its sides depend on the reviewer."""
    if address.verdict_seen:
        sentence("You will see this pair with the judge's verdict, and you can overrule the verdict.")
        return
    compared = pair_list(version, None).compared
    n = len(compared.lines(compared.known_aspect(address.aspect), address.listed, address.query_types))
    sentence(
        f"You will judge {count(n, 'pair')}, one after the other: which of two answers is better? The models and the "
        "judge's verdict are hidden until you have decided."
    )


def _question(screen: PairScreen) -> str:
    if screen.revealed is None or (screen.seen_id is None and screen.own is None):
        return "Which answer is better?"
    if screen.seen_id is None:
        return "Change your preference (the first one counts)"
    return "Overrule the judge" if screen.own is None else "Overrule the judge, or change your preference"


def reveal_block(screen: PairScreen, revealed: Revealed, judge: str | None) -> Html:
    """Return the facts that were hidden, by left and right answer; ``judge`` is the title of the judge version."""
    after = "You, after the judge was shown" if revealed.latest_comparisons else "You, after the reveal"
    facts = {
        "You": _side(screen, screen.own) or "No blind preference",
        after: _side(screen, screen.overruled),
        "Judge": judge,
        **{
            f"Judge, {_first(screen, comparison)} answer shown first": _verdict(screen, comparison)
            for comparison in revealed.latest_comparisons
        },
        "Together": _together(screen, revealed.latest_comparisons) if revealed.latest_comparisons else None,
        "Gold": _side(screen, revealed.gold),
        "People": _people(screen),
        "Left answer by": revealed.model_left or UNKNOWN,
        "Right answer by": revealed.model_right or UNKNOWN,
        "Pair": revealed.external_id,
    }
    lines = [
        tag("div", tag("span", name, cls="jb-who"), tag("span", value), cls="jb-fact")
        for name, value in facts.items()
        if value is not None
    ]
    reasons = [_reason(screen, comparison) for comparison in revealed.latest_comparisons]
    return tag("div", tag("div", *lines, cls="jb-facts"), *reasons, cls="jb-revealed")


def _first(screen: PairScreen, comparison: LatestComparison) -> str:
    return "left" if comparison.shown is screen.shown else "right"


def _verdict(screen: PairScreen, comparison: LatestComparison) -> str:
    if comparison.status is not Status.OK:
        return f"No usable verdict ({comparison.status.value})"
    return _side(screen, comparison.preferences.get(screen.aspect)) or "No verdict on this aspect"


def _together(screen: PairScreen, comparisons: tuple[LatestComparison, ...]) -> str:
    if len(comparisons) == 1:
        return "Asked in this order only"
    verdicts = {comparison.preferences.get(screen.aspect) for comparison in comparisons}
    if None in verdicts:
        return "Unmeasured: one order has no usable verdict"
    return "The same in both orders" if len(verdicts) == 1 else "Inconsistent: the preference changed with the order"


def _people(screen: PairScreen) -> str:
    votes = None if screen.revealed is None else screen.revealed.votes
    if votes is None:
        return "No preferences yet"
    you = ", including you" if (screen.own, screen.overruled) != (None, None) else ""
    return f"{_side(screen, votes.majority) or 'No majority'} ({votes.people:,}{you})"


def _side(screen: PairScreen, preference: Preference | None) -> str | None:
    return None if preference is None else capital(SIDES[screen.side(preference)])


def _reason(screen: PairScreen, comparison: LatestComparison) -> Html | None:
    text = comparison.reasoning or comparison.error
    if not text:
        return None
    label = f"Reasons of the judge, {_first(screen, comparison)} answer shown first"
    return tag("div", tag("div", label, cls="jb-label"), tag("div", text, cls="jb-reason"))
