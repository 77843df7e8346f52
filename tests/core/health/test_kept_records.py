"""The figures of a judge version are read anew when anything was stored, and only then."""

from typing import Any

from engines import on_sqlite
from graded_log import GOOD, GradedLog
from judgeboard.health.models import shipped_models
from judgeboard.health.record import MOST, SECONDS, JudgeRecord, KeptRecords
from judgeboard.store.forgetting import forget_response
from judgeboard.store.judge_versions import StoredVersion


def read(log: GradedLog, kept: KeptRecords, version: StoredVersion) -> JudgeRecord:
    with log.store.reading() as connection:
        return kept.read(connection, version, shipped_models())


@on_sqlite
def test_a_record_is_read_anew_when_anything_of_it_may_have_changed(log: GradedLog) -> None:
    version, kept = log.version(), KeptRecords()
    ids = log.answers(3)
    log.say_all(version, ids, quality=4)
    first = read(log, kept, version)
    assert read(log, kept, version) is first
    log.say_all(version, ids[:1], quality=2)
    second = read(log, kept, version)
    assert (first.asked, second.asked) == ({"ok": 3}, {"ok": 4})
    log.review(ids[0], quality=1)
    third = read(log, kept, version)
    assert (third.graded["quality"].people.tolist(), "quality" in second.graded) == ([1.0], False)
    with log.store.writing() as connection:
        forget_response(connection, "a3", actor="test")
    assert len(read(log, kept, version).scored.lengths) == 2


def test_a_record_does_not_live_for_ever_and_only_the_last_are_kept(log: GradedLog) -> None:
    now = [0.0]
    kept = KeptRecords(clock=lambda: now[0])
    versions = [log.version(f"judge {number}") for number in range(MOST + 1)]
    ids = log.answers(1)
    for each in versions:
        log.say_all(each, ids, label=GOOD)
    found: dict[Any, JudgeRecord] = {each.id: read(log, kept, each) for each in versions}
    assert read(log, kept, versions[-1]) is found[versions[-1].id]
    assert read(log, kept, versions[0]) is not found[versions[0].id]
    now[0] = SECONDS
    assert read(log, kept, versions[-1]) is not found[versions[-1].id]
