"""The one palette of pages and charts, light and dark, and the style sheet and script of every page."""

from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

import streamlit as st

from judgeboard_dashboard.evidence import show, tag

SPANS = ("#d97706", "#2563eb", "#7c3aed", "#059669", "#dc2626", "#0891b2")
"""The colours of the span types of a label schema, readable in both themes."""


@dataclass(frozen=True, slots=True)
class Palette:
    """The colours of one theme. Each severity (``good``, ``doubt``, ``bad``, ``quiet``) is (mark, background).

    ``series`` are three colours that colour-blind readers can tell apart; for more series use
    panels. ``heat`` are five steps of a heat map, and ``heat_ink`` are the text colours on the
    steps. ``track`` is the colour of the empty part of bars. White text on ``button`` is readable.
    """

    page: str
    pane: str
    ink: str
    muted: str
    line: str
    accent: str
    track: str
    button: str
    header: str
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
    track="#eceae6",
    button="#1d5c8f",
    header="#f1eee8",
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
    track="#2a2d33",
    button="#2f7ab8",
    header="#1f2227",
    series=("#6fb3e6", "#f0985a", "#7cc4c0"),
    heat=("#1f2a36", "#20425f", "#2d6391", "#558dbd", "#9bc1e3"),
    heat_ink=("#e4e2dd", "#e4e2dd", "#e4e2dd", "#0e1116", "#0e1116"),
    good=("#86c0ec", "#143352"),
    doubt=("#f5cb5c", "#4d3d05"),
    bad=("#ffa196", "#6a1d1d"),
    quiet=("#a9adb5", "#2a2d33"),
)


def palette() -> Palette:
    """Return the colours of the theme in use; light until the browser has reported a theme."""
    return DARK if st.context.theme.type == "dark" else LIGHT


def dress(reviewer: str, *, suggested: bool) -> None:
    """Send the style sheet, the scripts and the reviewer's name, which keys.js keeps in cookies.

    ``suggested``: nobody has entered the name or decided under the name yet.
    """
    st.html(f"<style>{style_sheet()}</style>")
    with st.container(key="unseen"):
        send_script("keys.js", "words.js", "cells.js")
        show(
            tag(
                "span",
                cls="jb-reviewer",
                data_name=reviewer,
                data_suggested=reviewer if suggested else None,
            )
        )


def follow_theme() -> None:
    """Send a script and an unseen button. After a change of theme, the script presses the button to redraw charts."""
    with st.container(key="redraw"):
        send_script("theme.js")
        st.button("Draw in the new colours", key="theme_changed")


def mark_in_menu(address: str) -> None:
    """Mark the link to an address in the menu as the open page."""
    link = f'[data-testid="stTopNavLink"][href$="/{address}"]'
    st.html(f"<style>{link} {{ background: var(--jb-track); font-weight: 600; }}</style>")


def send_script(*names: str) -> None:
    """Send scripts of this package. The browser starts the scripts of a page in the order of sending."""
    st.html(f"<script>{''.join(map(_text, names))}</script>", unsafe_allow_javascript=True)


@cache
def style_sheet() -> str:
    """Return the whole style sheet: the colours as variables, style.css, and the colours of spans."""
    # Each type has an underline at another depth, so that overlapping spans are visible.
    spans = "".join(
        f"::highlight(jb-span-{number}){{background:{colour}2e;text-decoration:underline 2px {colour};"
        f"text-underline-offset:{2 * number + 1}px}}.jb-span-{number}{{border-bottom:2px solid {colour}}}"
        for number, colour in enumerate(SPANS)
    )
    return f".stApp {{ {colour_variables()}}}\n{_text('style.css')}{spans}"


def colour_variables() -> str:
    """Return the colours as variables of CSS, for elements that set ``color-scheme``, such as .stApp."""
    names = {
        "ink": "ink",
        "mut": "muted",
        "line": "line",
        "page": "page",
        "pane": "pane",
        "track": "track",
        "acc": "accent",
        "button": "button",
    }
    colours = [(name, getattr(LIGHT, field), getattr(DARK, field)) for name, field in names.items()]
    for name, field in {"good": "good", "doubt": "doubt", "bad": "bad", "none": "quiet"}.items():
        for place, ending in enumerate(("", "-ground")):
            colours.append(
                (f"{name}{ending}", getattr(LIGHT, field)[place], getattr(DARK, field)[place])
            )
    return "".join(f"--jb-{name}: light-dark({light}, {dark}); " for name, light, dark in colours)


@cache
def _text(name: str) -> str:
    return (files("judgeboard_dashboard") / name).read_text(encoding="utf-8")


def streamlit_options() -> dict[str, Any]:
    """Return the theme as options of Streamlit; .streamlit/config.toml repeats the theme for `streamlit run`."""
    options: dict[str, Any] = {
        "font": "sans-serif",
        "baseFontSize": 15,
        "baseRadius": "6px",
        "buttonRadius": "6px",
        "headingFontSizes": ["1.35rem", "1.25rem", "1.05rem", "1rem", "0.95rem", "0.9rem"],
        "headingFontWeights": [650, 600, 600, 600, 600, 600],
        "metricValueFontSize": "1.75rem",
        "showWidgetBorder": True,
        "paddingTop": "0.75rem",
        "paddingBottom": "1.5rem",
        "linkUnderline": False,
        "light.secondaryBackgroundColor": LIGHT.pane,
        "light.codeBackgroundColor": "#f0eee9",
        "dark.secondaryBackgroundColor": DARK.header,
    }
    for name, colours in (("light", LIGHT), ("dark", DARK)):
        options |= {
            f"{name}.primaryColor": colours.button,
            f"{name}.backgroundColor": colours.page,
            f"{name}.dataframeHeaderBackgroundColor": colours.header,
            f"{name}.textColor": colours.ink,
            f"{name}.borderColor": colours.line,
            f"{name}.linkColor": colours.accent,
        }
    return {f"theme.{name}": value for name, value in options.items()}
