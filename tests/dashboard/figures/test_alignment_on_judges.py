"""The part Align of the page Judges: what a look found, which lines changed, and the button that accepts a prompt."""

from pathlib import Path

import pytest

from aligned_log import CAREFUL, KIND, STRONG, kind_judge, measured_routes, numbers_of, script
from app_pages import OpenPage, labels, press, shown, table_rows, texts
from judgeboard.llm.recording_endpoint import RecordingEndpoint
from judgeboard.methods.alignment import align
from judgeboard.store.alignments import EvidenceRole
from judgeboard.store.engine import Store
from judgeboard.store.judge_versions import list_versions

FEW = {*numbers_of(EvidenceRole.HELD_OUT, 40)[:2], *numbers_of(EvidenceRole.DEVELOP, 40)[:2]}


@pytest.mark.parametrize(("bad", "better"), [(set(range(0, 40, 2)), True), (FEW, False)])
def test_a_look_shows_its_prompt_and_answers_and_a_better_prompt_is_accepted(
    open_page: OpenPage, sqlite_store: Store, tmp_path: Path, bad: set[int], *, better: bool
) -> None:
    measured_routes(sqlite_store, 40, bad=bad.__contains__)
    with RecordingEndpoint(script([CAREFUL])) as endpoint:
        kind_judge(sqlite_store, endpoint, tmp_path)
        assert "judgeboard align --judge-version 'rag v1' --model MODEL" in [
            each.value for each in open_page("judges").code
        ]
        where = {"base_url": endpoint.base_url}
        result = align(sqlite_store, "rag", candidates=1, model={"model": STRONG, **where}, judge=where)
    app = open_page("judges", reviewer="Mara")
    assert result.sentence in texts(app, "jb-say")
    assert f"−{KIND}" in shown(app)
    assert f"+{CAREFUL}" in shown(app)
    assert f"Mended, {len(result.mended)}" in shown(app)
    assert "Broken, 0" in shown(app)
    assert len(table_rows(app, "Judge's reason")) == len(result.mended)
    if not better:
        assert "Accept prompt" not in labels(app)
        assert "This prompt was not shown to be better, so it cannot be accepted." in shown(app)
        return
    app = press(app, "align_accept")
    assert "Accepted as rag v2." in shown(app)
    with sqlite_store.reading() as connection:
        assert [each.title for each in list_versions(connection)] == ["rag v1", "rag v2", "rag candidate v1"]
