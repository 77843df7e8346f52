"""Judges that are asked one after another: each is closed once, those that are never reached as well."""

import pytest

from judgeboard.cli.judge import closed_if_unasked
from judgeboard.domain import JudgeInput, JudgeVersion, Status, Verdict


class Listening:
    """A judge that counts how often it was closed."""

    version = JudgeVersion("listening", "grade")
    endpoint_host = None
    priced = True
    closed = 0

    async def judge(self, item: JudgeInput) -> Verdict:
        return Verdict(Status.OK, reasoning=item.answer)

    async def aclose(self) -> None:
        self.closed += 1


@pytest.mark.parametrize("taken", [0, 1, 3])
def test_what_is_not_taken_is_closed_at_the_end(taken: int) -> None:
    judges = [Listening() for _ in range(3)]
    with closed_if_unasked(judges) as each:
        assert [next(each) for _ in range(taken)] == judges[:taken]
    assert [judge.closed for judge in judges] == [0] * taken + [1] * (3 - taken), "who takes one closes it"


def test_what_is_left_when_one_breaks_off_is_closed() -> None:
    judges = [Listening() for _ in range(2)]
    with pytest.raises(OSError, match="no database"), closed_if_unasked(judges):
        raise OSError("no database")
    assert [judge.closed for judge in judges] == [1, 1]
