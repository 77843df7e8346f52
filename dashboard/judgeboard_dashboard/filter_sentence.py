"""Says a filter as the pages do: a judge version by its title."""

from judgeboard.filter_words import describe
from judgeboard.filters import RowFilter
from judgeboard.store.judgments.judge_versions import list_versions
from judgeboard_dashboard.session import reading


def filter_sentence(where: RowFilter) -> str:
    """Return a filter in words, "all answers" where nothing narrows."""
    if where.judge_version is None:
        return describe(where)
    with reading() as connection:
        return describe(where, {version.id: version.title for version in list_versions(connection)})
