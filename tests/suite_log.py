"""A suite with a few runs, for its page."""

from judgeboard.llm.recording_endpoint import RecordingEndpoint, completion
from judgeboard.methods.suites.file import Case
from judgeboard.methods.suites.run import run_suite
from suite_runs import playing, scored, suite

HOSTILE = "What is number-3? <b>bold</b> $x^2$ :red[x]"


def house(count=24):
    """Return the suite; its fourth question is hostile text."""
    cases = list(suite(count).cases)
    cases[3] = Case(HOSTILE, "3")
    return suite(count, cases=tuple(cases))


def fill_suites(store, *, candidates=("one", "two", "three")):
    """Run the suite three times: well, with two cases that nobody could score, and clearly worse; return the runs."""
    plays = [
        {n: scored(5, 4) for n in range(10)} | {3: scored(2, 3)},
        {n: scored(5, 5) for n in range(6)}
        | {3: scored(2, 3), 7: completion("Hm."), 8: completion(None, refusal="No")},
        {n: scored(2, 3) for n in range(9)},
    ]
    runs = []
    for name, scores in zip(candidates, plays, strict=True):
        with RecordingEndpoint(playing(scores=scores)) as endpoint:
            options = {"model": "judge", "base_url": endpoint.base_url}
            runs.append(run_suite(store, house(), f"model:{name}", **options).run)
    return runs
