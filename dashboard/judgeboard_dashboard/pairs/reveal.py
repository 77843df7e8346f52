"""What a person sees of the judge, the models and other people once they have decided a pair."""

from judgeboard.domain import Preference, Shown, Status
from judgeboard.pairs.screen import PairScreen, Revealed
from judgeboard.store.pairs.compared_pairs import SaidOfPair
from judgeboard_dashboard.evidence import Html, tag
from judgeboard_dashboard.pairs.words import SIDES
from judgeboard_dashboard.words import UNKNOWN, capital


def reveal(screen: PairScreen, revealed: Revealed, judge: str | None) -> Html:
    """Return what was hidden, all of it in terms of the left and the right answer on the screen.

    Args:
        screen: The pair as this person sees it.
        revealed: What was hidden.
        judge: The title of the judge version, None where no judge is looked at.
    """
    facts = [
        _fact("You", _side(screen, screen.own) or "Nothing yet, without having seen the judge"),
        _fact(
            "You, having seen the judge" if revealed.said else "You, having seen this", _side(screen, screen.overruled)
        )
        if screen.overruled is not None
        else None,
        _fact("Judge", judge) if judge is not None else None,
        *(_order(screen, said) for said in revealed.said),
        _fact("Together", _together(screen, revealed.said)) if revealed.said else None,
        _fact("Gold", _side(screen, revealed.gold)) if revealed.gold is not None else None,
        _fact("People", _people(screen, revealed)),
        _fact("Left answer by", revealed.model_left or UNKNOWN),
        _fact("Right answer by", revealed.model_right or UNKNOWN),
        _fact("Pair", revealed.external_id),
    ]
    reasons = [_reason(screen, said) for said in revealed.said]
    return tag("div", tag("div", *facts, cls="jb-facts"), *reasons, cls="jb-revealed")


def _order(screen: PairScreen, said: SaidOfPair) -> Html:
    return _fact(_order_words(screen, said.shown), _verdict(screen, said))


def _order_words(screen: PairScreen, shown: Shown) -> str:
    return f"Judge, {'left' if shown is screen.shown else 'right'} answer shown first"


def _verdict(screen: PairScreen, said: SaidOfPair) -> str:
    if said.status is not Status.OK:
        return f"No usable verdict ({said.status.value})"
    return _side(screen, said.preferences.get(screen.aspect)) or "Nothing on this aspect"


def _together(screen: PairScreen, said: tuple[SaidOfPair, ...]) -> str:
    if len(said) == 1:
        return "Asked in this order only"
    verdicts = {each.preferences.get(screen.aspect) for each in said}
    if None in verdicts:
        return "Unmeasured: one order has no usable verdict"
    return "The same in both orders" if len(verdicts) == 1 else "Inconsistent: the order decided"


def _people(screen: PairScreen, revealed: Revealed) -> str:
    votes = revealed.votes
    if votes is None:
        return "Nobody yet"
    said = _side(screen, votes.majority) or "No majority"
    mine = ", you among them" if (screen.own, screen.overruled) != (None, None) else ""
    return f"{said} ({votes.people:,}{mine})"


def _side(screen: PairScreen, preference: Preference | None) -> str:
    return "" if preference is None else capital(SIDES[screen.side(preference)])


def _reason(screen: PairScreen, said: SaidOfPair) -> Html | None:
    text = said.reasoning or said.error
    if not text:
        return None
    return tag(
        "div",
        tag(
            "div",
            f"Its reasons, {'left' if said.shown is screen.shown else 'right'} answer shown first",
            cls="jb-label",
        ),
        tag("div", text, cls="jb-reason"),
    )


def _fact(name: str, value: str) -> Html:
    return tag("div", tag("span", name, cls="jb-who"), tag("span", value), cls="jb-fact")
