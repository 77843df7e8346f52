"""Label Studio: the task of an answer."""

from types import SimpleNamespace

import pytest

from judgeboard.tools import label_studio
from judgeboard.tools.target import Refused


def test_a_name_that_only_looks_like_a_number_is_no_task_of_label_studio():
    with pytest.raises(Refused):
        label_studio._task_of(SimpleNamespace(metadata={}, external_id="\u00b2"))
