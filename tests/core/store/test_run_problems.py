"""What went wrong in a run is grouped by its reason, the most frequent first."""

from datetime import UTC, datetime

from engines import on_sqlite
from judgeboard.domain import JudgeVersion, Pair, Response, Shown, Status, StepRecord, Verdict
from judgeboard.store.comparisons import NewComparison, store_comparisons
from judgeboard.store.engine import Store
from judgeboard.store.judge_versions import ensure_version
from judgeboard.store.judgments import NewJudgment
from judgeboard.store.pairs import store_pairs
from judgeboard.store.refinements import NewGeneration, store_generations
from judgeboard.store.run_steps import RunProblem, run_problems
from judgeboard.store.runs import start_or_continue_method_run, start_or_continue_run
from judgeboard.store.storing import store_judgments, store_responses


@on_sqlite
def test_reasons_are_counted_with_an_answer_each(store: Store) -> None:
    verdicts = [
        *[Verdict(Status.UNPARSABLE, error="groundedness 85 is above 1")] * 3,
        Verdict(Status.ERROR, error="context too long" + "!" * 400),
        Verdict(Status.ERROR, error="context too long" + "!" * 500),
        Verdict(Status.REFUSED),
        Verdict(Status.OK, groundedness=0.5),
    ]
    with store.writing() as connection:
        answers = [Response("log", f"a{number}", "q", f"answer {number}") for number in range(len(verdicts))]
        ids = store_responses(connection, answers).new
        version = ensure_version(connection, JudgeVersion("rag", "rag"))
        run = start_or_continue_run(connection, version, actor="test")
        items = [NewJudgment(id_, 0, 0, verdict) for id_, verdict in zip(ids, verdicts, strict=True)]
        store_judgments(connection, version, run.id, items)
    with store.reading() as connection:
        problems = run_problems(connection, run.id)
        assert run_problems(connection, run.id, limit=1) == problems[:1]
        assert run_problems(connection, run.id + 1) == []
    assert problems == [
        RunProblem("unparsable", "groundedness 85 is above 1", 3, ids[0], None, "a0"),
        RunProblem("error", "context too long" + "!" * 284, 2, ids[3], None, "a3"),
        RunProblem("refused", None, 1, ids[5], None, "a5"),
    ]


@on_sqlite
def test_reasons_of_steps_about_a_pair_name_the_pair(store: Store) -> None:
    lost = StepRecord(Status.UNPARSABLE, error="winner is null")
    with store.writing() as connection:
        (pair,) = store_pairs(connection, [Pair("log", "p1", "?", "left", "right")]).new
        version = ensure_version(connection, JudgeVersion("pairwise", "pairwise"))
        run = start_or_continue_method_run(connection, "compare", version, {}, selected=3, actor="test")
        orders = [NewComparison(pair, shown, lost, {}) for shown in Shown]
        store_comparisons(connection, version, run.id, orders)
        failed = NewGeneration("q7", 1, "m", StepRecord(Status.ERROR, error="HTTP 500"), None)
        store_generations(connection, run.id, [failed], datetime.now(UTC))
        assert run_problems(connection, run.id) == [
            RunProblem("unparsable", "winner is null", 2, None, pair, "p1"),
            RunProblem("error", "HTTP 500", 1, None, None, "q7"),
        ]
