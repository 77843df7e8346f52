"""What a lead asks of a queue is checked before anything is stored."""

import pytest

from judgeboard.errors import BadInput
from judgeboard.reviews.queues import QueueRules


@pytest.mark.parametrize("grade", ["q\x01", "a\nb", "\u202e", " ", "x" * 201])
def test_a_grade_has_a_name_that_can_be_shown(grade) -> None:
    with pytest.raises(BadInput, match="a grade must be label"):
        QueueRules("q", grades=("quality", grade))
    assert QueueRules("q", grades=("quality", "Stil und Ton")).grades == ("quality", "Stil und Ton")


@pytest.mark.parametrize("grade", ["", "q\x01", "a\nb", "\u202e", " ", "x" * 201])
def test_a_grade_has_a_name_that_can_be_shown(grade) -> None:
    with pytest.raises(BadInput, match="a grade must be label"):
        QueueRules("q", grades=("quality", grade))
    assert QueueRules("q", grades=("quality", "Stil und Ton")).grades == ("quality", "Stil und Ton")
