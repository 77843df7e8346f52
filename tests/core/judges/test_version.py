"""The content address of a judge version."""

from dataclasses import replace

import pytest

from judgeboard.domain import JudgeVersion
from judgeboard.judges.judge import fingerprint, replay_version

VERSION = JudgeVersion("rag", "rag", "m", {"temperature": 0, "max_output": 512}, "Judge é.", "0-1")


def test_the_address_stays_the_same_in_every_release() -> None:
    assert fingerprint(VERSION) == "96aa35dd5bb02995864d3fb25c0ba2cea78de5cb4dc73bdff2182befa2915ebd"


def test_the_order_of_parameters_does_not_count() -> None:
    assert fingerprint(replace(VERSION, params={"max_output": 512, "temperature": 0})) == fingerprint(VERSION)


@pytest.mark.parametrize(
    "changed",
    [
        replace(VERSION, name="x"),
        replace(VERSION, kind="x"),
        replace(VERSION, model=None),
        replace(VERSION, params={"temperature": 0}),
        replace(VERSION, prompt="Judge e."),
        replace(VERSION, prompt=None),
        replace(VERSION, scale="1-5"),
    ],
)
def test_every_part_counts(changed: JudgeVersion) -> None:
    assert fingerprint(changed) != fingerprint(VERSION)


def test_a_parameter_must_be_a_number_of_json() -> None:
    with pytest.raises(ValueError, match="JSON"):
        fingerprint(replace(VERSION, params={"temperature": float("nan")}))


def test_recorded_judges_are_told_apart_by_the_name_in_their_file() -> None:
    assert fingerprint(replay_version("a")) == fingerprint(replay_version("a"))
    assert (
        len({fingerprint(v) for v in (replay_version("a"), replay_version("b"), replay_version("a", model="m"))}) == 3
    )
    assert replay_version("a").kind == "replay"
