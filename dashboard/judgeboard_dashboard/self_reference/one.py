"""One pair with the judge's own tries at its question, and its verdicts in both conditions and orders."""

import json

import streamlit as st

from judgeboard.domain import Preference
from judgeboard.judges.option_letters import lettered
from judgeboard.self_reference.page import OneItem
from judgeboard.store.pairs.self_reference_steps import StoredOrder, StoredTry
from judgeboard_dashboard.evidence import Html, show, tag
from judgeboard_dashboard.picking import Rows, pick_rows
from judgeboard_dashboard.saying import caption
from judgeboard_dashboard.words import UNKNOWN, shortened

_GOLD = {Preference.A: "answer A", Preference.B: "answer B", Preference.TIE: "neither"}
LONGEST = 1_200  # characters of a question or an answer; the pair's own page has all of it
LONGEST_TRY = 240
SHOWN = {"ab": "Answer A first", "ba": "Answer B first"}
PREFERS = {"a": "prefers answer A", "b": "prefers answer B", "tie": "calls it a tie"}


def one_item_panel(found: OneItem, version_id: int, k: int) -> None:
    """Show one item and the button that opens its pair; the first ``k`` tries count."""
    pair = found.pair
    more = found.tries[k:]
    with st.container(border=True, key="one_item"):
        show(
            tag(
                "div",
                tag("div", "Question", cls="jb-label"),
                tag("div", shortened(pair.question or "forgotten", LONGEST), cls="jb-reason"),
                *(tag("div", option, cls="jb-cap") for option in lettered(pair.options or ())),
                *_line("Correct option" if pair.options else "Correct answer", pair.reference),
                *_line("Better of the two", None if pair.gold is None else _GOLD[pair.gold]),
                tag("div", "Its own tries", cls="jb-label"),
                *(_try(each) for each in found.tries[:k]),
                tag("div", f"Recorded too, but only the first {k} count", cls="jb-label") if more else None,
                *(_try(each) for each in more),
                *(part for condition in ("plain", "reference") for part in _verdicts(found.orders, condition)),
                cls="jb-one",
            )
        )
        if pair.answer_a is None:
            why = "Only the question was recorded, no answers to compare."
            caption("Its texts were removed." if pair.question is None else why)
            return
        st.button(
            "Open the pair",
            key="open_pair",
            icon=":material/open_in_full:",
            on_click=pick_rows,
            args=(Rows("pairs", {"pair": str(pair.id), "of": str(version_id)}),),
            wrap=False,
        )


def _line(name: str, value: str | None) -> list[Html]:
    if value is None:
        return []
    return [tag("div", tag("b", f"{name} "), shortened(value, LONGEST), cls="jb-cap jb-start")]


def _try(each: StoredTry) -> Html:
    said = "no answer" if each.answer is None else each.answer
    why = "" if each.status == "ok" else f" ({each.status})"
    reasoning = shortened(" ".join(_reasoning(each.raw).split()), LONGEST_TRY)
    head = tag("b", f"{each.number + 1}. {shortened(said, LONGEST_TRY)}{why} ")
    return tag("div", head, reasoning, cls="jb-cap jb-start")


def _reasoning(raw: str | None) -> str:
    """The reasoning of a reply, or the reply itself where it holds none."""
    try:
        said = json.loads(raw or "")
    except (ValueError, RecursionError):
        return raw or ""
    reasoning = said.get("reasoning") if isinstance(said, dict) else None
    return reasoning if isinstance(reasoning, str) else raw or ""


def _verdicts(orders: tuple[StoredOrder, ...], condition: str) -> list[Html]:
    said = [each for each in orders if each.condition == condition]
    if not said:
        return []
    shown = next((each.reference for each in said if each.reference is not None), None)
    title = "Without a reference" if condition == "plain" else f"Shown as correct: {shown or 'its own answer'}"
    return [tag("div", shortened(title, LONGEST_TRY), cls="jb-label"), *(_order(each) for each in said)]


def _order(each: StoredOrder) -> Html:
    prefers = PREFERS.get(each.preference or "", f"no usable verdict ({each.status})")
    reasoning = shortened(each.reasoning, LONGEST_TRY) if each.reasoning else UNKNOWN
    return tag("div", tag("b", f"{SHOWN[each.shown]}: {prefers}. "), reasoning, cls="jb-cap jb-start")
