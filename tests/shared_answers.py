"""RAGTruth's answers that detectors judged, as arrays, and the published figures of thresholds and calibration."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

import numpy as np

from judgeboard.flags.rules import sampling_number
from judgeboard.stats.arrays import AnyArray, BoolArray, FloatArray, Grouping, grouping
from recordings import records


@dataclass(frozen=True)
class SharedAnswers:
    """One row per answer, by id: whether people call it bad, its evidence group, and each detector's verdict."""

    bad: BoolArray
    groups: Grouping
    query_types: AnyArray
    ids: tuple[str, ...]
    source_ids: tuple[str, ...]
    models: tuple[str, ...]
    judged_bad: Mapping[str, BoolArray]
    badness: Mapping[str, FloatArray]

    def drawn(self, name):
        """The number of each answer's source in a draw."""
        return np.array([sampling_number(name, "ragtruth", each) for each in self.source_ids])

    @property
    def choosing(self):
        """The half that chooses thresholds."""
        return self.drawn("cal") < 0.5

    def of_model(self, model):
        """The row of a generator's answer to each source."""
        return {self.source_ids[row]: row for row, each in enumerate(self.models) if each == model}

    def of_type(self, query_type):
        every = np.ones(len(self.bad), dtype=np.bool_)
        return every if query_type is None else self.query_types == query_type


@cache
def shared_answers(folder):
    """Read the recorded answers, labels and verdicts."""
    answers = {row["id"]: row for row in records(folder / "ragtruth.responses.jsonl.gz")}
    people = {
        row["response_id"]: row["label"] for row in records(folder / "ragtruth.human.jsonl.gz")
    }
    verdicts = {}
    for row in records(folder / "ragtruth.judgements.jsonl.gz"):
        verdicts.setdefault(row["judge"], {})[row["response_id"]] = row
    ids = sorted(verdicts["track_b_modernbert"], key=str)
    evidence = np.array(
        [json.dumps([answers[each]["query"], answers[each]["context"]]) for each in ids]
    )

    def column(detector, name):
        return [verdicts[detector][each].get(name) for each in ids]

    return SharedAnswers(
        bad=np.array([people[each] == "hallucinated" for each in ids]),
        groups=grouping(evidence, len(ids)),
        query_types=np.array([answers[each]["query_type"] for each in ids]),
        ids=tuple(str(each) for each in ids),
        source_ids=tuple(str(answers[each]["source_id"]) for each in ids),
        models=tuple(str(answers[each]["model"]) for each in ids),
        judged_bad={name: np.array(column(name, "label")) == "hallucinated" for name in verdicts},
        badness={
            name: np.round(1 - np.array(column(name, "groundedness"), dtype=float), 9)
            for name in verdicts
            if None not in column(name, "groundedness")
        },
    )


@cache
def published(folder, part):
    """The figures of one part of `validity-expected.json`."""
    figures = json.loads((folder.parent / "reading" / "validity-expected.json").read_text())
    return figures[part]
