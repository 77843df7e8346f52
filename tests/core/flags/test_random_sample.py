"""The random sample: a fixed share, the same on every run, and a larger share holds the smaller one."""

from pathlib import Path

import pytest

from judgeboard.flags.rule import Signals, Thresholds
from judgeboard.flags.rules import random_sample, sampling_number
from recordings import records

ANSWERS = [Signals("log", f"answer-{number}", "QA") for number in range(20_000)]


def sample(share: float, seed: str = "judgeboard") -> set[str]:
    thresholds = Thresholds(random_share=share, random_seed=seed)
    return {answer.external_id for answer in ANSWERS if random_sample(answer, thresholds) is not None}


def test_the_share_is_what_was_asked_for() -> None:
    # 400 expected, standard deviation 20: five of them.
    assert abs(len(sample(0.02)) - 400) < 100
    assert sample(0) == set()
    assert len(sample(1)) == len(ANSWERS)


def test_a_second_run_draws_the_same_and_a_larger_share_more() -> None:
    assert sample(0.02) == sample(0.02) < sample(0.05)
    assert sample(0.02) != sample(0.02, seed="another")


def test_the_draw_is_the_same_for_ever() -> None:
    # A change of these numbers would draw a second sample on every stored log.
    assert [round(sampling_number("judgeboard", "log", name), 6) for name in ("a", "b")] == [0.684274, 0.912533]
    assert sampling_number("s", "a", "bc") != sampling_number("s", "ab", "c")


def test_its_probability_is_stored() -> None:
    reason = random_sample(ANSWERS[0], Thresholds(random_share=1))
    assert reason is not None
    assert (reason.inclusion_probability, reason.severity, reason.raise_key) == (1.0, 0.0, "random_sample:-")
    drawn = next(answer for answer in ANSWERS if answer.external_id in sample(0.02))
    reason = random_sample(drawn, Thresholds(random_share=0.02))
    assert reason is not None
    assert reason.inclusion_probability == 0.02


@pytest.mark.shared
def test_after_the_share_grew_stored_probabilities_weigh_too_much(shared: Path) -> None:
    """Why rates use the labelled share of each stratum: an answer keeps the probability of its first draw."""
    answers = [
        Signals("default", str(row["id"]), "") for row in records(shared / "data" / "ragtruth.responses.jsonl.gz")
    ]
    stored: dict[str, float] = {}
    for share in (0.05, 0.15):
        for answer in answers:
            reason = random_sample(answer, Thresholds(random_share=share))
            if reason is not None:
                stored.setdefault(answer.external_id, reason.inclusion_probability)
    assert sorted(stored.values()) == [0.05] * 154 + [0.15] * 258
    assert (round(sum(1 / each for each in stored.values())), len(answers)) == (4800, 2912)
