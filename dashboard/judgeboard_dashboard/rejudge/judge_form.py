"""The fields that say which judge is asked: a version that is known, or another one."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import streamlit as st

from judgeboard.judges.kinds import JUDGES
from judgeboard.judges.options import DEFAULT_DOMAIN, DEFAULT_MAX_OUTPUT
from judgeboard.llm.openai_provider import OPENAI
from judgeboard.settings import load_settings, provider_address
from judgeboard.store.judgments.judge_versions import StoredVersion

OTHER = 0
KINDS = {"rag": "Chat model", "lexical": "Word overlap, offline"}
_BLANK: dict[str, Any] = {
    "kind": "rag",
    "name": "",
    "model": "",
    "base_url": "",
    "domain": DEFAULT_DOMAIN,
    "max_output": DEFAULT_MAX_OUTPUT,
    "claims": False,
}


@dataclass(frozen=True, slots=True)
class Askable:
    """A stored version that can be asked again, with the job's fields that ask it."""

    version: StoredVersion
    spec: dict[str, Any]

    @property
    def words(self) -> str:
        """What the select calls it: "rag v3 · llama-3.1-8b"."""
        return " · ".join(part for part in (self.version.title, self.version.model) if part)


@dataclass(frozen=True, slots=True)
class JudgeAsked:
    """What the fields say: the judge of a job, and how many calls are in flight at most."""

    spec: dict[str, Any]
    concurrency: int

    @property
    def offline(self) -> bool:
        """Whether no model is asked."""
        return "model" not in self.spec


def judge_form(askable: Sequence[Askable], first: int | None) -> JudgeAsked:
    """Show the fields and return what they say.

    Args:
        askable: The versions that can be asked again, those likely to be meant first.
        first: The version that is chosen at the start, None for another one.
    """
    known = {one.version.id: one for one in askable}
    st.session_state.setdefault(_key("version"), first if first in known else OTHER)
    _complete(known)
    if known:
        st.selectbox(
            "With",
            [*known, OTHER],
            format_func=lambda version_id: known[version_id].words if version_id in known else "Another judge",
            key=_key("version"),
            on_change=_prefill,
            args=(known,),
        )
    if st.session_state[_key("version")] == OTHER:
        st.segmented_control(
            "Judge", list(KINDS), format_func=KINDS.__getitem__, key=_key("kind"), required=True, default=None
        )
    kind = st.session_state[_key("kind")]
    if kind != "rag":
        return JudgeAsked({"kind": kind, **_given("name")}, 16)
    st.text_input("Model", key=_key("model"), placeholder=load_settings().model or "as its endpoint names it")
    st.text_input(
        "Address",
        key=_key("base_url"),
        placeholder=provider_address("openai") or OPENAI.base_url,
        help="Address of an OpenAI-compatible endpoint, with /v1. Models named claude-… need none: they are asked at "
        "Anthropic. The key of the server (OPENAI_API_KEY) is sent only to its own address (OPENAI_BASE_URL, else "
        "OpenAI's).",
    )
    return JudgeAsked(_chat_spec(), _more())


def judge_as_set_up(askable: Sequence[Askable]) -> JudgeAsked | None:
    """Show the versions alone, for whom nothing else of a judge is to choose; None where none can be asked again."""
    if not askable:
        return None
    known = {one.version.id: one for one in askable}
    chosen = st.selectbox(
        "With", list(known), format_func=lambda version_id: known[version_id].words, key=_key("set_up")
    )
    return JudgeAsked(known[chosen].spec, 16)


def askable_kinds() -> frozenset[str]:
    """Return the kinds of judges that this page has fields for."""
    return frozenset(KINDS) & frozenset(JUDGES)


def _more() -> int:
    with st.popover("More", icon=":material/tune:", width="stretch"):
        st.text_input("Expert of", key=_key("domain"), help="What the prompt says the judge is an expert of.")
        st.number_input("Tokens of a verdict", 1, 100_000, key=_key("max_output"), step=64)
        st.toggle("Ask for each claim with its quotes", key=_key("claims"))
        st.text_input("Name", key=_key("name"), help="Versions count within a name; current and primary go by it.")
        return int(st.number_input("Calls in flight", 1, 1024, key=_key("concurrency"), step=8))


def _chat_spec() -> dict[str, Any]:
    spec: dict[str, Any] = {"kind": "rag", **_given("name"), **_given("model"), **_given("base_url")}
    spec.setdefault("model", load_settings().model)
    spec["max_output"] = int(st.session_state[_key("max_output")])
    spec["domain"] = (st.session_state[_key("domain")] or "").strip() or DEFAULT_DOMAIN
    spec["claims"] = bool(st.session_state[_key("claims")])
    return spec


def _given(field: str) -> dict[str, str]:
    text = (st.session_state[_key(field)] or "").strip()
    return {field: text} if text else {}


def _prefill(known: dict[int, Askable]) -> None:
    """Set the fields as the chosen version has them; another judge is a chat model under a name of its own."""
    chosen = known.get(st.session_state[_key("version")])
    values = _BLANK | (chosen.spec if chosen else {})
    for field in _BLANK if chosen else ("kind", "name"):
        st.session_state[_key(field)] = values[field]


def _complete(known: dict[int, Askable]) -> None:
    """Set the fields that have no value.

    Streamlit forgets those that it did not show, a number field can be emptied, and a browser that is slow to hear of a
    choice says meanwhile that there is none.
    """
    chosen = known.get(st.session_state[_key("version")])
    for field, value in (_BLANK | {"concurrency": 16} | (chosen.spec if chosen else {})).items():
        if st.session_state.get(_key(field)) is None:
            st.session_state[_key(field)] = value


def _key(field: str) -> str:
    return f"ask_{field}"  # apart from the fields of the filter row
