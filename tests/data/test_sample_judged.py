"""What a newcomer sees of the bundled sample: the offline judge finds the drop that was planted in it."""

import json
import re
import shlex
import shutil
from pathlib import Path

import numpy as np
import pytest
from scipy import stats
from sqlalchemy import text

from judgeboard.cli.app import run
from judgeboard.measure.agreement_page import flags_worth
from judgeboard.measure.sample import answers_of
from judgeboard.measure.trend import trend
from judgeboard.store.opening import open_store

HOW_TO = Path(__file__).parents[2] / "docs" / "how-to"
WEEKS_BEFORE = 7


@pytest.fixture(scope="module")
def judged(demo):
    """The demo, open."""
    store = open_store(demo)
    yield store
    store.close()


def weekly(store):
    with store.reading() as connection:
        return {panel.group: panel for panel in trend(connection, judge="lexical").panels}


def bounds(point):
    assert point.estimate.low is not None
    assert point.estimate.high is not None
    return point.estimate.low, point.estimate.high


def test_the_offline_judge_shows_the_drop_in_the_last_three_weeks_of_complex_answers(judged):
    points = weekly(judged)["complex"].points
    assert len(points) == 10
    lowest_before = min(bounds(point)[0] for point in points[:WEEKS_BEFORE])
    highest_after = max(bounds(point)[1] for point in points[WEEKS_BEFORE:])
    # No interval of a week before reaches into one after.
    assert lowest_before > highest_after


def test_the_trends_page_says_when_it_fell_and_of_the_others_nothing(judged):
    panels = weekly(judged)
    complex_ = panels["complex"]
    assert complex_.change.from_day == complex_.points[WEEKS_BEFORE].start
    assert [panels[other].change for other in ("simple", "sql")] == [None, None]


def test_its_quality_takes_three_values_or_more_and_goes_with_that_of_people(judged):
    with judged.reading() as connection:
        given = connection.execute(
            text("SELECT response_id, quality FROM current_judgment WHERE judge_name = 'lexical'")
        ).all()
        people = {}
        for response_id, quality in connection.execute(
            text("SELECT response_id, quality FROM review")
        ):
            if quality is not None:
                people.setdefault(response_id, []).append(quality)
    judge = {row.response_id: row.quality for row in given}
    assert len(set(judge.values())) >= 3
    pairs = np.array([(judge[id_], np.mean(qualities)) for id_, qualities in people.items()])
    assert len(pairs) >= 100

    rng = np.random.default_rng(0)
    drawn = [
        stats.spearmanr(*pairs[rng.integers(0, len(pairs), len(pairs))].T).statistic
        for _ in range(400)
    ]
    assert np.quantile(drawn, 0.025) > 0


def test_low_groundedness_is_flagged_with_the_sentence_a_reviewer_reads(judged):
    with judged.reading() as connection:
        flags = connection.execute(
            text(
                "SELECT auto_score, params FROM flag WHERE rule = 'low_groundedness' AND state = 'open'"
            )
        ).all()
    assert len(flags) >= 20
    for auto_score, params in flags:
        assert auto_score < json.loads(params)["threshold"]


@pytest.mark.parametrize(
    ("command", "shown"),
    [
        ("labels rate --by source", "of all answers are bad (n = "),
        ("labels threshold --recall 0.8", "Flag groundedness below"),
        ("labels stand --agreement 0.8", "need no review"),
        ("labels stand --agreement 0.8 --jury lexical,climb-judge-8b", "need no review"),
        ("trends --corrected", "12 Oct 2026"),
        ("trends watch", "New alarm 2: The share of bad answers in query type complex rose"),
        ("trends watch", "--acknowledge 1"),
        ("compare versions lexical climb-judge-8b", "points ["),
        ("labels plan --reach 0.05", "Label "),
    ],
)
def test_commands_of_random_labels_show_a_figure(demo, command, shown, tmp_path, capsys):
    path = tmp_path / "demo.db"
    shutil.copyfile(demo, path)
    run([*command.split(), "--db", str(path)])
    assert shown in capsys.readouterr().out


def test_graded_answers_that_only_the_random_sample_selected_have_left_the_queue(judged):
    with judged.reading() as connection:
        answers = answers_of(connection, None)
        alone = set(answers.response_ids[answers.drawn & ~answers.picked].tolist())
        graded = set(
            connection.execute(
                text("SELECT response_id FROM review WHERE label IS NOT NULL")
            ).scalars()
        )
        waiting = set(
            connection.execute(text("SELECT response_id FROM flag WHERE state = 'open'")).scalars()
        )
        worth = flags_worth(connection)
    assert len(alone & graded) > 80
    # Reviewers differ on a few of them.
    assert len(alone & graded & waiting) <= 5
    # All labels that count, not only those with a decision.
    assert (worth.flagged.n, worth.not_flagged.n) == (89, 119)


@pytest.mark.parametrize("page", ["rates", "plans", "thresholds", "trends", "versions"])
def test_the_output_in_a_how_to_page_is_that_of_the_demo(demo, page, tmp_path, capsys, monkeypatch):
    path = tmp_path / "sample.db"
    shutil.copyfile(demo, path)
    monkeypatch.setenv("JUDGEBOARD_DB", str(path))
    written = (HOW_TO / f"{page}.md").read_text(encoding="utf-8")
    printed = re.findall(
        r"(?:^|\n)judgeboard ([^\n]+)\n```\n\n```text\n(.+?)```", written, re.DOTALL
    )
    assert printed
    for command, lines in printed:
        run(shlex.split(command))
        output = "".join(capsys.readouterr()).splitlines()
        assert [line for line in lines.splitlines() if line not in output] == [], command
