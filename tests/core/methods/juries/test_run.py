"""Juries of stored judges: what is kept, how far they agree, and what no longer counts as a disagreement."""

import json
from collections import Counter
from datetime import UTC, datetime
from unittest.mock import ANY

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import insert, select

from engines import on_sqlite
from graded_log import BAD, GOOD, GradedLog
from judgeboard.cli.app import run
from judgeboard.domain import DimensionScore, FlagState, Label, ResponseKind, Status, Verdict
from judgeboard.errors import BadInput, NotFound
from judgeboard.formats.output import text_lines
from judgeboard.health.report import measure_health
from judgeboard.llm.recording_endpoint import RecordingEndpoint, failure, verdict
from judgeboard.measure.agreement import measure_agreement
from judgeboard.measure.notes import note
from judgeboard.measure.rates import measure_rate
from judgeboard.measure.result import ALL, Row
from judgeboard.methods.juries.command import jury_lines
from judgeboard.methods.juries.run import combined, judge_by_jury, stored_jury_report
from judgeboard.people.roster import flags_to_supersede, raise_flags
from judgeboard.reports.rates import rate_lines
from judgeboard.reports.stats import judgments_table, measure_log, stats_notes
from judgeboard.stats.estimates import complement, percent_words
from judgeboard.store.filters import RowFilter
from judgeboard.store.hidden_rows import Seen
from judgeboard.store.judge_versions import get_version
from judgeboard.store.settings import set_setting
from judgeboard.store.tables import FLAG, JUDGMENT, VERSION
from judging_log import address, store_answers
from queue_case import queue_case
from recordings import DETECTORS
from result_fields import check_fields
from stored_rows import read, write_to


def of_jury(store, name="jury"):
    """The jury's judgments, in the order of storing."""
    query = (
        select(JUDGMENT)
        .join(VERSION, VERSION.c.id == JUDGMENT.c.judge_version_id)
        .where(VERSION.c.name == name)
    )
    with store.reading() as connection:
        return [dict(row._mapping) for row in connection.execute(query.order_by(JUDGMENT.c.id))]


def disagreements(store):
    with store.reading() as connection:
        query = select(FLAG.c.state).where(FLAG.c.rule == "judges_disagree").order_by(FLAG.c.id)
        return list(connection.execute(query).scalars())


def stored_flags(store):
    with store.reading() as connection:
        return [row._asdict() for row in connection.execute(select(FLAG).order_by(FLAG.c.id))]


def three(log, n, *said):
    """Answers on which the judges one, two, three say the same each."""
    ids = log.answers(n)
    for name, scores in zip(("one", "two", "three"), said, strict=True):
        log.say_all(log.version(name), ids, **scores)
    return ids


@on_sqlite
def test_the_jurys_verdict_is_a_judge_version_that_names_its_members(log):
    ids = three(
        log, 2, {"groundedness": 0.1}, {"groundedness": 0.9, "quality": 4}, {"groundedness": 0.8}
    )
    report = judge_by_jury(log.store, ["one", "two", "three"])
    assert (report.items, report.account.ok, report.split) == (2, 2, 0)
    rows = of_jury(log.store)
    assert [(row["response_id"], row["groundedness"], row["quality"]) for row in rows] == [
        (id_, 0.8, None) for id_ in ids
    ]
    version = read(log.store, get_version, report.jury.judge_version)
    check_fields(version, kind="jury", title="jury v1")
    assert version.params["members"] == sorted(
        log.version(name).fingerprint for name in ("one", "two", "three")
    )
    assert "majority" in version.params["rule"]["label"]
    assert report.spread["groundedness"].value == pytest.approx(0.8)


@on_sqlite
def test_a_second_time_keeps_nothing_new_and_a_changed_mind_one_more(log):
    ids = three(log, 3, {"quality": 4}, {"quality": 4}, {"quality": 1})
    first = judge_by_jury(log.store, ["one", "two", "three"])
    again = judge_by_jury(
        log.store, ["three", "two", "one", "two v1"]
    )  # in no order, and nobody twice
    assert again.jury.judge_version == first.jury.judge_version
    assert len(of_jury(log.store)) == 3
    log.say(log.version("two"), {ids[1]: {"quality": 1}})
    judge_by_jury(log.store, ["one", "two", "three"])
    assert [(row["response_id"], row["ask"], row["quality"]) for row in of_jury(log.store)][3:] == [
        (ids[1], 1, 1)
    ]


@on_sqlite
def test_a_tie_is_counted_and_is_no_verdict(log):
    ids = log.answers(3)
    log.say_all(log.version("one"), ids, label=GOOD)
    log.say(
        log.version("two"),
        {ids[0]: {"label": GOOD}, ids[1]: {"label": BAD}, ids[2]: {"status": Status.ERROR}},
    )
    log.review_all(ids, label=GOOD.value)
    report = judge_by_jury(log.store, ["one", "two"])
    assert (report.account.ok, report.account.unparsable, report.split) == (1, 2, 1)
    assert [(row["status"], row["error"]) for row in of_jury(log.store)][1] == (
        "unparsable",
        "split",
    )
    check_fields(report, labelled=2, unanimous_items=1)
    assert report.jury.accuracy.n == 1


@on_sqlite
def test_verdicts_and_answers_left_out_add_up_to_the_log(log):
    ids = log.answers(9)
    made = log.answers(1, kind=ResponseKind.CONTROL)
    log.say_all(log.version("one"), [*ids[:8], *made], label=GOOD)
    log.say_all(log.version("two"), [*ids[:3], *made], label=GOOD)
    log.say(
        log.version("two"),
        {ids[3]: {"label": BAD}, ids[4]: {"status": Status.ERROR}, ids[5]: {"quality": 2}},
    )
    report = judge_by_jury(log.store, ["one", "two"])
    assert list(report.left_out.values()) == [1, 2, 2, 1]
    # An answer waits until every member was asked.
    assert (report.items, report.account.not_reached) == (6, 2)
    assert {row["response_id"] for row in of_jury(log.store)} == {*ids[:6]}
    assert report.account.ok + sum(report.left_out.values()) == report.answers == 9
    with log.store.reading() as connection:
        stored = stored_jury_report(connection, get_version(connection, "jury"))
    check_fields(stored, left_out=report.left_out, answers=9)
    assert (report.headline().code, report.headline().values["ok"]) == ("jury_left_out", 3)


@on_sqlite
def test_jury_and_members_are_held_to_people_on_the_same_answers(log):
    ids = log.answers(10, query_type="english")
    others = log.answers(10)
    log.say_all(log.version("one"), others, label=GOOD)  # nobody else was asked about these
    german = log.answers(10, query_type="german")
    for name in ("one", "two", "three"):
        log.say_all(log.version(name), [*ids, *german], label=GOOD)
    log.review_all(ids, label=GOOD.value)
    log.review_all([*others, *german], label=BAD.value)
    judge_by_jury(
        log.store, ["one", "two", "three"]
    )  # the jury has a verdict on the german ones too
    report = judge_by_jury(
        log.store, ["one", "two", "three"], where=RowFilter(query_types=("english",))
    )
    assert report.items == 10
    for each in (report.jury, *report.members):
        assert (each.accuracy.value, each.accuracy.n, each.kappa.n) == (1.0, 10, 10), (
            each.version.title
        )


def two_judges(log):
    """240 answers. Two judges call the first 80 bad, and tie on every sixth of the others; some of both are right."""
    ids = log.answers(240)
    verdicts = [BAD if at < 80 else GOOD for at in range(240)]
    other = [
        GOOD if at >= 80 and at % 6 == 0 else BAD if at < 80 or at % 6 == 1 else GOOD
        for at in range(240)
    ]
    log.say(
        log.version("one"),
        {each: {"label": label} for each, label in zip(ids, verdicts, strict=True)},
    )
    log.say(
        log.version("two"), {each: {"label": label} for each, label in zip(ids, other, strict=True)}
    )
    return ids


def flagged(log, ids, rule):
    row = {
        "query_type": "",
        "source": "log",
        "rule": rule,
        "created_at": datetime(2026, 3, 1, tzinfo=UTC),
    }
    row |= {"state": FlagState.OPEN, "severity": 0.5}
    with log.store.writing() as connection:
        connection.execute(
            insert(FLAG),
            [row | {"response_id": each, "raise_key": f"{rule} {each}"} for each in ids],
        )


def labelled(log, ids):
    """Every fourth answer is bad, of those that one judge calls bad three of four."""
    log.reviews(
        {each: {"label": BAD if (each % 4 == 0) == (each > ids[79]) else GOOD} for each in ids}
    )


@on_sqlite
def test_figures_with_people_are_those_of_agreement_on_all_answers_with_a_verdict_of_the_jury(log):
    ids = two_judges(log)
    flagged(log, ids[:80], "low_groundedness")
    flagged(log, ids[80:140], "random_sample")
    labelled(log, ids[:140])
    report = judge_by_jury(log.store, ["one", "two"])
    agreement = measure_agreement(log.store, judge_versions=["jury"])
    figures = agreement.figure("agreement"), agreement.figure("kappa"), report.account.ok
    # The labels are weighted.
    assert agreement.graded
    assert agreement.answers == report.account.ok < 240
    for each in (report.jury, *report.members):
        accuracy, kappa = (
            Row.of("", ALL, figure).estimate for figure in (each.accuracy, each.kappa)
        )
        # A member is compared on the jury's answers.
        assert (accuracy, kappa, each.answers) == figures
    assert Row.of("", ALL, report.wrong_together).estimate == complement(figures[0])
    assert report.wrong_together_answers == report.account.ok
    check_fields(report, unanimous_items=report.account.ok, labelled=240)
    assert percent_words(figures[0]) in "\n".join(jury_lines(report))


@on_sqlite
def test_figures_without_an_interval_name_the_part_with_too_few_labels(log):
    ids = two_judges(log)
    flagged(log, ids[:80], "low_groundedness")
    flagged(log, ids[80:90], "random_sample")
    labelled(log, ids[:90])
    report = judge_by_jury(log.store, ["one", "two"])
    assert report.jury.answers is None
    assert "89 graded answers" in "\n".join(jury_lines(report))
    line = "\N{EN DASH} means: 134 answers that no rule flagged have 9 labels, at least 10 needed."
    assert line in list(rate_lines(measure_rate(log.store, judge_version="jury")))
    assert "no_sample" in [each.code for each in stats_notes(measure_log(log.store))]


@on_sqlite
def test_a_stored_jury_is_no_further_judge_beside_its_members(log):
    two_judges(log)
    before = measure_agreement(log.store, of="judges")
    jury = judge_by_jury(log.store, ["one", "two"]).jury.judge_version
    after = measure_agreement(log.store, of="judges")
    assert after == before
    with pytest.raises(BadInput, match="jury v1 combines "):
        measure_agreement(log.store, of="judges", judge_versions=[jury, "one"])
    with pytest.raises(BadInput, match="jury v1 is "):
        judge_by_jury(log.store, [jury, "one"], name="second")


@on_sqlite
def test_a_tie_is_named_as_a_tie_wherever_unusable_verdicts_are_counted(log):
    two_judges(log)
    report = judge_by_jury(log.store, ["one", "two"])
    assert report.split == 26
    check = next(
        each for each in measure_health(log.store, "jury").checks if each.name == "unusable"
    )
    assert (check.statistic.n, check.notes[0].values) == (240, {"kinds": ["ties 26"]})
    titles, jury, *others = [
        line.split() for line in text_lines(judgments_table(measure_log(log.store)))
    ]
    assert titles == ["Judge", "version", "ok", "unparsable", "refused", "error", "tied", "Cost"]
    assert jury[:7] == ["jury", "v1", "214", "0", "0", "0", "26"]
    assert [each[6] for each in others] == ["\N{EN DASH}", "\N{EN DASH}"]


@on_sqlite
def test_answers_that_the_viewer_reviews_blind_do_not_count_in_the_figures_of_a_jury(store):
    case = queue_case(store)
    ids = case.flagged(*([0.1] * 100))
    log = GradedLog(store)
    for name in ("one", "two"):
        log.say_all(log.version(name), ids, label=BAD)
    log.review_all(ids, label=BAD.value)
    case.queue(
        "q",
        assigned=(case.mara,),
        max_items=40,
        blind_people=True,
        blind_judge=True,
        order="oldest",
    )
    mara = Seen(store, case.mara.id)
    report = judge_by_jury(store, ["one", "two"], seen=mara)
    agreement = measure_agreement(mara, judge_versions=["jury"])
    # The verdicts of all answers are combined.
    assert (report.account.ok, len(of_jury(store))) == (100, 100)
    assert Row.of("", ALL, report.jury.accuracy).estimate == agreement.figure("agreement")
    assert (
        (report.jury.accuracy.n, report.jury.answers)
        == (60, None)
        == (agreement.n, agreement.answers)
    )
    assert judge_by_jury(store, ["one", "two"]).jury.answers == 100


@on_sqlite
def test_judges_can_agree_and_be_wrong_together(log):
    ids = three(log, 20, {"label": GOOD}, {"label": GOOD}, {"label": GOOD})
    log.review_all(ids[:15], label=BAD.value)
    log.review_all(ids[15:], label=GOOD.value)
    report = judge_by_jury(log.store, ["one", "two", "three"])
    assert (report.unanimous.value, report.wrong_together.value, report.wrong_together.n) == (
        1.0,
        0.75,
        20,
    )
    assert report.jury.accuracy.value == 0.25
    assert report.fleiss_kappa.value is None


@on_sqlite
def test_a_score_stands_for_a_label_among_judges_and_that_is_said(log):
    three(log, 4, {"label": BAD}, {"groundedness": 0.3}, {"groundedness": 0.7})
    report = judge_by_jury(log.store, ["one", "two", "three"])
    check_fields(report, labelled=4, unanimous_items=0)
    assert report.notes[0] == note("votes_on_no_label", judge="two v1", n=4, cut="0.5")
    assert {row["label"] for row in of_jury(log.store)} == {
        None
    }  # never derived on write: one label is no quorum


@on_sqlite
def test_a_jury_is_a_measurement_and_changes_no_flag(log):
    three(log, 1, {"groundedness": 0.1}, {"groundedness": 0.9}, {"groundedness": 0.95})
    write_to(
        log.store, set_setting, "low_groundedness", 0.05, "test"
    )  # stored, and not applied yet
    before = stored_flags(log.store)
    assert {flag["state"] for flag in before} == {"open"}
    for members in (["one", "two", "three"], ["one", "two"]):  # all judges, and one outside
        judge_by_jury(log.store, members)
        assert stored_flags(log.store) == before
    write_to(log.store, set_setting, "low_groundedness", None, "test")
    raise_flags(log.store)
    assert stored_flags(log.store) == before


def test_a_jury_as_the_primary_judge_counts_in_place_of_its_members(log):
    three(log, 1, {"groundedness": 0.1}, {"groundedness": 0.9}, {"groundedness": 0.95})
    judge_by_jury(log.store, ["one", "two", "three"])
    assert disagreements(log.store) == ["open"]
    write_to(log.store, set_setting, "primary_judge", "jury", "test")
    assert flags_to_supersede(log.store) == raise_flags(log.store).superseded == 2
    assert disagreements(log.store) == ["superseded"]
    write_to(log.store, set_setting, "primary_judge", None, "test")
    raise_flags(log.store)
    # Taken back with its cause.
    assert disagreements(log.store) == ["superseded", "open"]


def test_a_jury_needs_two_known_judges(sqlite_store):
    log = GradedLog(sqlite_store)
    log.say_all(log.version("one"), log.answers(1), label=GOOD)
    with pytest.raises(BadInput, match="two different members"):
        judge_by_jury(sqlite_store, ["one", "one v1"])
    with pytest.raises(NotFound, match="nobody"):
        judge_by_jury(sqlite_store, ["one", "nobody"])


def judge(store, endpoint, *words):
    model = ["--base-url", endpoint.base_url, "--concurrency", "4", "--db", address(store)]
    return run(["judge", "--jury", "m1,m2,m3", *model, *words])


def by_model(request, _number):
    return verdict(
        **{"m1": {"quality": 1}, "m2": {"quality": 3}, "m3": {"quality": 4}}[request["model"]]
    )


def test_every_member_is_asked_once_as_a_judge_of_its_own(sqlite_store, capsys):
    store_answers(sqlite_store, 5)
    with RecordingEndpoint(by_model) as endpoint:
        assert judge(sqlite_store, endpoint) == 0
        assert len(endpoint.requests) == 15
        said = capsys.readouterr().out
        assert all(
            title in said
            for title in ("jury v1", "rag m1 v1", "rag m2 v1", "rag m3 v1", "5 answers")
        )
        assert judge(sqlite_store, endpoint) == 0
        assert len(endpoint.requests) == 15
    assert [row["quality"] for row in of_jury(sqlite_store)] == [3] * 5
    assert {row["run_id"] for row in of_jury(sqlite_store)} == {None}


def test_a_stopped_jury_goes_on_and_combines_at_its_end(sqlite_store, capsys):
    store_answers(sqlite_store, 4)
    with RecordingEndpoint() as endpoint:
        endpoint.script = lambda request, number: (
            by_model(request, number) if number < 6 else failure(401, "key")
        )
        assert judge(sqlite_store, endpoint) == 2
        assert of_jury(sqlite_store) == []
        # A refused key is refused once for all members.
        asked = Counter(each.body["model"] for each in endpoint.requests)
        endpoint.script = by_model
        assert judge(sqlite_store, endpoint) == 0
    models = Counter(each.body["model"] for each in endpoint.requests)
    check_fields(asked, m1=4, m3=0)
    check_fields(models, m1=4, m3=4)
    assert len(of_jury(sqlite_store)) == 4


@pytest.fixture
def limited(tmp_path):
    """Options with a cost limit. A call costs 0.00012, so that the runs of a command stop with the fourth call."""
    prices = tmp_path / "prices.toml"
    prices.write_text(
        "[models]\n" + "".join(f"m{number} = {{ input = 1, output = 1 }}\n" for number in (1, 2, 3))
    )
    return ["--prices", str(prices), "--max-cost", "0.0004", "--concurrency", "1"]


def test_the_cost_limit_of_a_jury_is_for_the_runs_that_a_command_begins_or_continues(
    sqlite_store, limited
):
    store_answers(sqlite_store, 3)
    with RecordingEndpoint(by_model) as endpoint:
        codes = [judge(sqlite_store, endpoint, *limited) for _ in range(3)]
    assert codes == [2, 2, 0]
    assert [each.body["model"] for each in endpoint.requests] == ["m1"] * 3 + ["m2"] * 3 + [
        "m3"
    ] * 3
    assert len(of_jury(sqlite_store)) == 3


def test_a_call_of_unknown_cost_does_not_hide_the_cost_of_the_other_calls_from_the_limit(
    sqlite_store, limited
):
    store_answers(sqlite_store, 3)
    with RecordingEndpoint() as endpoint:
        endpoint.script = lambda request, number: (
            by_model(request, number) if number < 1 else failure(401, "key")
        )
        assert judge(sqlite_store, endpoint, "--concurrency", "1") == 2
        endpoint.script, before = by_model, len(endpoint.requests)
        assert judge(sqlite_store, endpoint, *limited) == 2
        assert [each.body["model"] for each in endpoint.requests][before:] == [
            "m1",
            "m1",
            "m2",
            "m2",
        ]


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ("--jury m1,m1", "two different models"),
        ("--jury m1,m2 --model m3", "remove --model"),
        ("--jury m1,m2 --repeats 3", "--repeats"),
        ("--jury m1,m2 --max-cost 1", "--prices"),
        ("", "choose a judge, or give --model NAME, for example: `judgeboard judge "),
    ],
)
def test_a_bad_option_is_2_and_one_line(sqlite_store, shell, options, says):
    remote = f"--base-url https://models.example.org/v1 --db {address(sqlite_store)}"
    error = shell(f"judge {options} {remote}", code=2)
    assert says in error
    assert "Traceback" not in error


@pytest.mark.shared
def test_seven_recorded_detectors_as_a_jury(ragtruth, capsys):
    words = ["compare", "judges", *DETECTORS, "--json", "--db", address(ragtruth)]
    assert run(words) == 0
    result = json.loads(capsys.readouterr().out)
    assert result["jury"]["accuracy"]["value"] == pytest.approx(0.8512, abs=5e-5)
    assert result["jury"]["kappa"]["value"] == pytest.approx(0.6730, abs=5e-5)
    assert result["fleiss_kappa"]["value"] == pytest.approx(0.4260, abs=5e-5)
    assert (result["unanimous_items"], result["labelled"], result["unanimous"]["n"]) == (
        301,
        1344,
        1344,
    )
    assert (
        result["account"]["asked"],
        result["account"]["ok"],
        result["split"],
        result["account"]["not_reached"],
    ) == (1344, 1344, 0, 0)
    assert result["notes"] == []
    assert run(words) == 0
    assert json.loads(capsys.readouterr().out) == result


FAILED = Verdict(Status.ERROR, error="timeout")


def said(**given):
    return Verdict(Status.OK, **given)


def each(measure, *values):
    return [said(**{measure: value}) for value in values]


@pytest.mark.parametrize(
    ("members", "expected"),
    [
        (
            each("groundedness", 0.1, 0.9, 0.8),
            {"groundedness": 0.8, "reasoning": "groundedness: 0.1, 0.8, 0.9"},
        ),
        (each("groundedness", 0.25, 0.5, 0.75, 1.0), {"groundedness": 0.625}),
        (each("quality", 4, 1, 3), {"quality": 3, "cost_micro": 0}),
        (
            each("quality", 4, 3),
            {"quality": 3},
        ),  # the lower of the middle two: it stays on its scale
        (
            each("label", GOOD, BAD, BAD),
            {"label": BAD, "reasoning": "label: grounded 1, hallucinated 2"},
        ),
        ([*each("label", GOOD, BAD), FAILED], {"error": "split"}),
        (
            [said(label=GOOD, groundedness=0.9), said(label=BAD, groundedness=0.1)],
            {"status": Status.UNPARSABLE, "error": "split", "label": None, "groundedness": None},
        ),
        (
            [said(quality=2), said(quality=4, label=GOOD), FAILED],
            {"status": Status.OK, "quality": 2, "label": None},
        ),
        (
            [said(quality=2), FAILED, FAILED],
            {"status": Status.UNPARSABLE, "quality": None, "error": ANY},
        ),
        ([said(quality=2), said(groundedness=0.5)], {"status": Status.UNPARSABLE}),
    ],
)
def test_a_measure_is_the_middle_or_the_majority_of_more_than_half_of_all_members(
    members, expected
):
    verdict = combined(members)
    assert {name: getattr(verdict, name) for name in expected} == expected


def test_scores_on_dimensions_are_combined_by_dimension_and_scale():
    def rubric(**scores):
        return said(
            scores=tuple(DimensionScore(name, value, "1-5") for name, value in scores.items())
        )

    given = [rubric(safety=5, accuracy=2), rubric(safety=3, accuracy=None), rubric(safety=4)]
    (score,) = combined(given).scores
    check_fields(score, dimension="safety", value=4, scale="1-5")


verdicts = st.builds(
    Verdict,
    st.just(Status.OK),
    groundedness=st.none() | st.floats(0, 1),
    quality=st.none() | st.integers(1, 4),
    label=st.none() | st.sampled_from(Label),
)


@settings(max_examples=60, deadline=None)
@given(st.lists(verdicts | st.just(FAILED), min_size=2, max_size=7), st.randoms())
def test_the_order_of_the_members_never_counts(given_, random):
    shuffled = random.sample(given_, len(given_))
    assert combined(shuffled) == combined(given_)
