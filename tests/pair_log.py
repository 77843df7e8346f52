"""Pairs to compare, an endpoint that knows which pair it is asked about and in which order, and verdicts by hand."""

import json
import re
from collections import Counter

from judgeboard.domain import (
    AspectPreference,
    GivenPreference,
    JudgeVersion,
    Pair,
    Preference,
    Shown,
    Status,
    StepRecord,
)
from judgeboard.judges.judge import JudgeOptions
from judgeboard.judges.pairwise import OVERALL, PairwiseJudge
from judgeboard.llm.recording_endpoint import completion
from judgeboard.store.clock import utc_now
from judgeboard.store.comparisons import NewComparison, store_comparisons
from judgeboard.store.judge_versions import ensure_version
from judgeboard.store.pairs import store_pairs
from judgeboard.store.preferences import ImportedPreference, store_preferences
from judgeboard.store.reviews import Review, insert_review

SIDES = {"a": Preference.A, "b": Preference.B, "t": Preference.TIE}


def add_pairs(store, count, *, source="bench", first=0, **fields):
    """Store pairs with the ids p0, p1, …; each answer names its pair and its side."""
    pairs = [
        Pair(
            source, f"p{number}", f"Which, {number}?", f"left-{number}", f"right-{number}", **fields
        )
        for number in range(first, first + count)
    ]
    with store.writing() as connection:
        return store_pairs(connection, pairs).new


def said(verdict, *aspects):
    """Return a good reply: first, second or tie on each aspect."""
    entry = {"reasoning": f"The {verdict} of the two.", "verdict": verdict}
    return completion(json.dumps(dict.fromkeys(aspects or ("overall",), entry)))


def asked_of(request):
    """Return which pair a request is about, and in which order it shows the answers."""
    match = re.search(r"(left|right)-(\d+)", request["messages"][1]["content"])
    return int(match[2]), "ab" if match[1] == "left" else "ba"


def asked(endpoint):
    """Count the requests by pair and order."""
    return Counter(asked_of(request.body) for request in endpoint.requests)


def by_pair(replies, other=None):
    """Answer by pair and order; ``other`` (a tie) for those not named."""
    return lambda request, _number: replies.get(asked_of(request), other or said("tie"))


def pairwise(endpoint, *, priced=False, aspects=(OVERALL,), **options):
    """Return the pairwise judge over a fake endpoint."""
    return PairwiseJudge(
        JudgeOptions(model="scripted", base_url=endpoint.base_url, tries=1).endpoint("the test"),
        JudgeOptions(**options),
        aspects=aspects,
    )


def record(store, pair_ids, said, *, name="recorded", kind="replay", aspect="overall"):
    """Store what a judge said by hand: ``{"ab": "aat-", "ba": "ab. "}``, a letter a pair.

    a, b and t are verdicts, - an unusable one, and a blank was not asked.
    """
    items = [
        NewComparison(
            pair_id,
            Shown(order),
            StepRecord(Status.OK if letter in SIDES else Status.UNPARSABLE),
            {aspect: SIDES[letter]} if letter in SIDES else {},
        )
        for order, letters in said.items()
        for pair_id, letter in zip(pair_ids, letters, strict=True)
        if letter != " "
    ]
    with store.writing() as connection:
        version = ensure_version(connection, JudgeVersion(name, kind))
        store_comparisons(connection, version, None, items)
    return version


def prefer_outside(
    store, pair_id, by, preference, key, *, seen=(), shown=Shown.AB, aspect="overall"
):
    """Store a preference outside queues, as releases did that asked for it on the page of pairs; return its id."""
    preferences = {aspect: AspectPreference(preference)}
    with store.writing() as connection:
        return insert_review(
            connection,
            Review(
                by.id,
                key,
                utc_now(),
                pair_id=pair_id,
                preferences=preferences,
                shown=shown,
                seen=seen,
            ),
        )


def people_say(store, pair_id, *letters, aspect="overall"):
    """Let imported people say which answer they prefer, each a letter."""
    given = [
        GivenPreference(f"person {place}", {aspect: _said(letter)})
        for place, letter in enumerate(letters)
    ]
    with store.writing() as connection:
        store_preferences(
            connection,
            [ImportedPreference(f"p{pair_id}", "bench", one, pair_id=pair_id) for one in given],
        )


def _said(letter):
    if letter in SIDES:
        return AspectPreference(SIDES[letter])
    return AspectPreference(None, float(letter), "-2..2")
