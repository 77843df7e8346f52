"""Reads the real labelled data that lie beside the checkout."""

import gzip
import json

from judgeboard.flags.rules import sampling_number

# The detectors of RAGTruth, whose verdicts on all answers are recorded.
DETECTORS = (
    "approach_1_modernbert",
    "baseline_nli",
    "track_a_deberta",
    "track_b_arm_b",
    "track_b_arm_c",
    "track_b_large",
    "track_b_modernbert",
)


def records(path):
    """Return the records of a gzipped file of JSON lines."""
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def in_sample(share):
    """Return whether the random sample with this share has a recorded answer."""
    return lambda answer: sampling_number("judgeboard", "default", str(answer["id"])) < share
