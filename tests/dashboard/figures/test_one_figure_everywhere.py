"""Page, CSV and the command's JSON give the same figures of audits, pairs and self-reference, bit by bit."""

import io
import json
from collections.abc import Callable
from typing import Any

import pytest

from graded_log import BAD, GOOD, GradedLog
from judgeboard.cli.app import run
from judgeboard.formats.output import to_plain
from judgeboard.imports.importing import import_file
from judgeboard.measure.pair_report import ComparedPairs
from judgeboard.methods.audits.report import audit_report, done_audits
from judgeboard.methods.self_reference.report import load_items, result_of
from judgeboard.store.engine import Store
from judgeboard.store.judge_versions import get_version
from judging_log import address
from pair_log import add_pairs, people_say, record


@pytest.fixture
def command(sqlite_store: Store, capsys: pytest.CaptureFixture[str]) -> Callable[..., Any]:
    def json_of(*words: str) -> Any:
        assert run([*words, "--json", "--db", address(sqlite_store)]) == 0
        return json.loads(capsys.readouterr().out)

    return json_of


@pytest.mark.parametrize(("n", "wrong", "graded"), [(10, 4, 8), (25, 0, 25), (7, 7, 0)])
def test_an_audit(
    sqlite_store: Store, command: Callable[..., Any], n: int, wrong: int, graded: int
) -> None:
    log = GradedLog(sqlite_store)
    ids = log.answers(n)
    log.say_all(log.version("teacher"), ids, label=GOOD)
    log.say_all(log.version("second"), ids[: n // 2], label=BAD)
    log.say_all(log.version("second"), ids[n // 2 :], label=GOOD)
    log.review_all(ids[: min(wrong, graded)], label=BAD.value)
    log.review_all(ids[wrong:graded], label=GOOD.value)
    printed = command("test", "audit", "teacher", "--recorded", "--by", "second")
    with sqlite_store.reading() as connection:
        (audit,) = done_audits(connection)
        shown = to_plain(audit_report(connection, *audit, reviewed_only=True))
    assert {name for name in printed if printed[name] != shown[name]} == set()


@pytest.mark.parametrize(
    "verdicts", [{"ab": "abtab-", "ba": "aatbb-"}, {"ab": "aabt", "ba": "    "}]
)
@pytest.mark.parametrize("kind", ["pairwise", "replay"])
def test_pairs(
    sqlite_store: Store, command: Callable[..., Any], verdicts: dict[str, str], kind: str
) -> None:
    pair_ids = add_pairs(sqlite_store, len(verdicts["ab"]))
    record(sqlite_store, pair_ids, verdicts, kind=kind, name="old")
    for pair_id, letter in zip(pair_ids, "aba", strict=False):
        people_say(sqlite_store, pair_id, letter)
    printed = command("compare", "--recorded", "--judge-version", "old", "--by", "query_type")
    with sqlite_store.reading() as connection:
        figures = ComparedPairs(connection, get_version(connection, "old")).figures(
            by_query_type=True
        )
    assert to_plain(figures) == printed["aspects"]


@pytest.mark.parametrize(("k", "tau", "needed"), [(5, 0.8, 4), (5, 1.0, 5), (3, 0.6, 2)])
def test_self_reference(
    sqlite_store: Store, command: Callable[..., Any], k: int, tau: float, needed: int
) -> None:
    samples = ("CCCCC", "CCDCC", "CDCDC", "BDBCA", "CCCCD", "ABABC")
    lines = [
        {
            "id": f"q{number}",
            "question": f"Question {number}?",
            "options": ["w", "x", "y", "z"],
            "category": "law" if number % 2 else "math",
            "reference": "C",
            "samples": list(samples[number % len(samples)]),
            "judge": "paper",
            "gold": "a",
            "verdicts": {
                "A": dict.fromkeys(("ab", "ba"), "ab"[number % 2]),
                "B": {"ab": "a", "ba": "ab"[number % 3 == 0]},
            },
        }
        for number in range(40)
    ]
    file = io.BytesIO("".join(json.dumps(line) + "\n" for line in lines).encode())
    import_file(sqlite_store, file, kind="samples", name="samples.jsonl")
    printed = command("compare", "ssr", "--recorded", "--k", str(k), "--tau", str(tau))
    with sqlite_store.reading() as connection:
        version = get_version(connection, "paper")
        shown, _ = result_of(version, load_items(connection, version.id, k), k, needed)
    assert shown.to_dict() == printed
