"""A name that no judge has is answered with those that can be meant."""

import pytest

from engines import on_sqlite
from judgeboard.errors import NotFound
from judgeboard.store.judge_versions import closest, closest_of_all, get_version


@on_sqlite
def test_an_unknown_name_is_answered_with_the_closest_not_with_hundreds(case) -> None:
    for number in range(20):
        case.version(f"GPT-4/prompt-{number}")
    case.version("lexical")
    with case.store.reading() as connection:
        with pytest.raises(NotFound, match=r"known: GPT-4/prompt-0, .* and 12 more$"):
            get_version(connection, "GPT-4")
        with pytest.raises(NotFound, match=r"known: lexical v1$"):
            get_version(connection, "lexcal")


@on_sqlite
def test_the_closest_stand_first_and_the_others_after_them(case) -> None:
    versions = [case.version(name) for name in ("nli", "GPT-4", "gpt-4 turbo", "rag")]
    assert closest("gpt4", versions) == "GPT-4 v1, gpt-4 turbo v1, nli v1, rag v1"
    assert closest_of_all("gpt4", versions) == "known: GPT-4 v1, gpt-4 turbo v1"
    assert closest_of_all("gpt4", []) == "no judge has judged yet"
