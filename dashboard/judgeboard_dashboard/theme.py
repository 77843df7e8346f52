"""The one palette, the style sheet and the script of all pages."""

from dataclasses import dataclass
from functools import cache
from importlib.resources import files

import streamlit as st

from judgeboard_dashboard.evidence import show, tag
from judgeboard_dashboard.review.claims import MOST_LIT

SHEETS = ("style.css", "figures.css", "operations.css", "pairs.css", "judges.css", "queues.css")


@dataclass(frozen=True, slots=True)
class Palette:
    """The colours of one theme.

    ``series`` are the three that stay apart for colour-blind readers: use panels for more. ``heat`` are five discrete
    steps with ``heat_ink`` as the text on each. ``good``, ``doubt``, ``bad`` and ``quiet`` are the severities, as pairs
    of the colour of a mark and of its ground. Contrasts meet WCAG AA (text 4.5, marks 3).
    """

    page: str
    pane: str
    ink: str
    muted: str
    line: str
    accent: str
    series: tuple[str, str, str]
    heat: tuple[str, str, str, str, str]
    heat_ink: tuple[str, str, str, str, str]
    good: tuple[str, str]
    doubt: tuple[str, str]
    bad: tuple[str, str]
    quiet: tuple[str, str]


LIGHT = Palette(
    page="#f8f6f2",
    pane="#ffffff",
    ink="#23262b",
    muted="#5f6269",
    line="#d9d5cc",
    accent="#1d5c8f",
    series=("#1d5c8f", "#c2570c", "#4f8a8b"),
    heat=("#eef3f8", "#b6cfe3", "#6c9ec5", "#2c6c9c", "#134167"),
    heat_ink=("#23262b", "#23262b", "#23262b", "#ffffff", "#ffffff"),
    good=("#1b5e9b", "#dcebf9"),
    doubt=("#7a5600", "#fff0b0"),
    bad=("#9c1127", "#f6beb8"),
    quiet=("#5b5f66", "#eceae6"),
)
DARK = Palette(
    page="#15171b",
    pane="#1a1d22",
    ink="#e4e2dd",
    muted="#a3a6ad",
    line="#383c43",
    accent="#86c0ec",
    series=("#6fb3e6", "#f0985a", "#7cc4c0"),
    heat=("#1f2a36", "#20425f", "#2d6391", "#558dbd", "#9bc1e3"),
    heat_ink=("#e4e2dd", "#e4e2dd", "#e4e2dd", "#0e1116", "#0e1116"),
    good=("#86c0ec", "#143352"),
    doubt=("#f5cb5c", "#4d3d05"),
    bad=("#ffa196", "#6a1d1d"),
    quiet=("#a9adb5", "#2a2d33"),
)


def palette() -> Palette:
    """Return the colours of the theme in use: light until the browser has sent its choice."""
    return DARK if st.context.theme.type == "dark" else LIGHT


def dress(reviewer: str) -> None:
    """Send stylesheet and script, both constants of this package, and the reviewer's name as data for the script.

    The script keeps the name in a cookie of the browser's session. None of the three takes room on the page.
    """
    st.html(f"<style>{_variables()}{''.join(map(_text, SHEETS))}{_lit_claims()}</style>")
    with st.container(key="unseen"):
        st.html(f"<script>{_text('keys.js')}</script>", unsafe_allow_javascript=True)
        show(tag("span", cls="jb-reviewer", data_name=reviewer))


@cache
def _variables() -> str:
    """The palette as variables of the style sheet; Streamlit sets color-scheme on .stApp."""
    plain = {"ink": "ink", "mut": "muted", "line": "line", "page": "page", "pane": "pane", "acc": "accent"}
    colours = {name: (getattr(LIGHT, field), getattr(DARK, field)) for name, field in plain.items()}
    for name, field in {"good": "good", "doubt": "doubt", "bad": "bad", "none": "quiet"}.items():
        (mark, ground), (dark_mark, dark_ground) = getattr(LIGHT, field), getattr(DARK, field)
        colours |= {name: (mark, dark_mark), f"{name}-ground": (ground, dark_ground)}
    colours["track"] = colours["none-ground"]
    lines = "".join(f"--jb-{name}:light-dark({light},{dark});" for name, (light, dark) in colours.items())
    return f".stApp{{{lines}}}"


@cache
def _lit_claims() -> str:
    """A claim under the pointer lights up in all panes at once, without a script."""
    numbers = range(1, MOST_LIT + 1)
    return "".join(f"body:has(.c{n}:hover) .c{n}{{outline:1.5px solid var(--jb-acc)}}" for n in numbers)


@cache
def _text(name: str) -> str:
    return (files("judgeboard_dashboard") / name).read_text(encoding="utf-8")
