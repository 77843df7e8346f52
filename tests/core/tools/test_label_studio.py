"""Label Studio: the task of an answer."""

from types import SimpleNamespace

import pytest

from judgeboard.tools import label_studio
from judgeboard.tools.target import Refused


def test_a_name_that_only_looks_like_a_number_is_no_task_of_label_studio():
    with pytest.raises(Refused):
        label_studio._task_of(SimpleNamespace(metadata={}, external_id="\u00b2"))


def test_a_grade_is_dated_when_it_was_changed_else_when_it_was_made():
    made, changed = {"created_at": "2026-03-01"}, {"updated_at": "2026-03-02"}
    times = (made, changed, made | changed)
    annotations = [each | {"person": str(n)} for n, each in enumerate(times)]
    grades = label_studio._grades(annotations, lambda each: (each["person"], {"quality": 3}))
    assert [grade["at"] for grade in grades] == ["2026-03-01", "2026-03-02", "2026-03-02"]
