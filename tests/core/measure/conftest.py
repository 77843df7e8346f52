"""Agreement as a program gets it, on whatever a test has stored."""

import json
import shutil

import pytest

from judgeboard.imports.importing import import_file
from judgeboard.measure.agreement import measure_agreement
from judgeboard.people.roster import change_settings, raise_flags
from recordings import in_sample, records


@pytest.fixture
def measured(store):
    """Return ``measured(of=…, …)`` on a fresh database of each engine."""

    def measure(**choice):
        return measure_agreement(store, **choice)

    return measure


@pytest.fixture
def bring_grades(store, tmp_path):
    """Return ``bring_grades(rows)``, which imports grades of people."""

    def bring(rows):
        file = tmp_path / "grades.jsonl"
        file.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
        summary = import_file(store, file, kind="grades")
        assert (summary.new, summary.rejected) == (len(rows), 0)

    return bring


@pytest.fixture
def labelled_ragtruth(sqlite_store, shared, unlabelled_ragtruth_file, tmp_path, fill_once):
    """Return ``labelled_ragtruth(name, is_labelled, share, …)``: RAGTruth with all verdicts and some labels.

    ``share`` is that of the random sample; more arguments are further settings. What has one
    ``name`` is stored once. Logs made by hand prove that both engines give the same figures.
    """
    data = shared / "data"

    def labelled(name, is_labelled, share=0, **more):
        def label(new):
            new.close()
            shutil.copyfile(unlabelled_ragtruth_file, str(new.engine.url.database))
            change_settings(new, {"random_share": share} | more, "library")
            raise_flags(new)
            answers = {row["id"]: row for row in records(data / "ragtruth.responses.jsonl.gz")}
            people = records(data / "ragtruth.human.jsonl.gz")
            labels = [row for row in people if is_labelled(answers[row["response_id"]])]
            (tmp_path / "people.jsonl").write_text("\n".join(map(json.dumps, labels)))
            rejected = tmp_path / "rejected.jsonl"
            import_file(new, tmp_path / "people.jsonl", kind="grades", rejected=rejected)

        fill_once(f"ragtruth with labels: {name}", sqlite_store, label)
        return sqlite_store

    return labelled


@pytest.fixture
def sampled_ragtruth(labelled_ragtruth):
    """RAGTruth with labels on the random sample of 15 %; no rule flags an answer."""
    return labelled_ragtruth("15 %", in_sample(0.15), 0.15, low_groundedness=0.0)
