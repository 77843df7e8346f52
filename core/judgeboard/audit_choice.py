"""Makes the supreme judge that a command or a library call names."""

from typing import Any

from judgeboard.judge_choice import make_endpoint, make_judge
from judgeboard.judges.independent import IndependentSupreme
from judgeboard.judges.kinds import JUDGES, OFFLINE
from judgeboard.judges.options import DEFAULT_MAX_OUTPUT
from judgeboard.judges.supreme import SupremeJudge
from judgeboard.store.engine import Store
from judgeboard.store.judgments.judge_versions import get_version

NAME = "supreme"
_OF_JUDGE = ("model", "provider", "base_url", "concurrency", "replies", "prices", "max_output", "timeout_s")
# What the audited version was asked for: a judge of the same kind is asked for the same.
_OF_AUDITED: dict[str, type] = {"domain": str, "claims": bool}


def make_supreme(**chosen: Any) -> SupremeJudge:
    """Return a supreme judge that is shown verdicts; what is not chosen comes from the environment.

    Args:
        chosen: ``name``, ``max_output`` and the fields of the model (model, base_url, prices, …); None counts as not
            chosen, others are left out.

    Raises:
        BadInput: No model, no key for OpenAI's own endpoint, an address that is none, unreadable replies.
    """
    endpoint = make_endpoint("the supreme judge", **chosen)
    return SupremeJudge(
        endpoint, name=chosen.get("name") or NAME, max_output=chosen.get("max_output") or DEFAULT_MAX_OUTPUT
    )


def make_independent(store: Store, audited: int | str, *, kind: str | None = None, **chosen: Any) -> IndependentSupreme:
    """Return a supreme judge that scores answers itself.

    One of the audited version's kind has its domain too, and gives claims where it does. Its examples are not shown:
    the opinion is to be another one, not a copy.

    Args:
        store: Where the audited version is.
        audited: The judge version, as `get_version` takes it.
        kind: The kind of judge; by default the audited version's, ``rag`` where that cannot be asked or
            asks no model.
        chosen: As for `make_supreme`.

    Raises:
        NotFound: There is no such judge version.
        BadInput: The kind is unknown, or the options do not make such a judge.
    """
    with store.reading() as connection:
        version = get_version(connection, audited)
    own_kind = kind or (version.kind if version.kind in JUDGES.keys() - OFFLINE else "rag")
    as_audited = {
        name: version.params[name]
        for name, meant in _OF_AUDITED.items()
        if own_kind == version.kind and own_kind not in OFFLINE and isinstance(version.params.get(name), meant)
    }
    judge = make_judge(own_kind, **as_audited, **{name: chosen[name] for name in _OF_JUDGE if name in chosen})
    return IndependentSupreme(judge, name=chosen.get("name") or NAME)
