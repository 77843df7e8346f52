"""Juries of stored judges: what is kept, how far they agree, and what no longer counts as a disagreement."""

import json
from collections import Counter
from unittest.mock import ANY

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engines import on_sqlite
from graded_log import BAD, GOOD, GradedLog, labels_where
from judgeboard.domain import DimensionScore, Label, ResponseKind, Status, Verdict
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
from stored_rows import read, rows_of, values_of, write_to

THREE = ("one", "two", "three")
TWO = THREE[:2]


def of_jury(store):
    """The jury's judgments, in the order of storing."""
    juries = values_of(store, VERSION.c.id, VERSION.c.name == "jury")
    return [row for row in rows_of(store, JUDGMENT) if row["judge_version_id"] in juries]


def disagreements(store):
    return values_of(store, FLAG.c.state, FLAG.c.rule == "judges_disagree")


def three(log, n, *said):
    """Answers on which the judges one, two, three say the same each."""
    ids = log.answers(n)
    for name, scores in zip(THREE, said, strict=True):
        log.say_all(log.version(name), ids, **scores)
    return ids


@on_sqlite
def test_the_jurys_verdict_is_a_judge_version_that_names_its_members(log):
    ids = three(
        log, 2, {"groundedness": 0.1}, {"groundedness": 0.9, "quality": 4}, {"groundedness": 0.8}
    )
    report = judge_by_jury(log.store, THREE)
    assert (report.items, report.account.ok, report.split) == (2, 2, 0)
    for row, id_ in zip(of_jury(log.store), ids, strict=True):
        check_fields(row, response_id=id_, groundedness=0.8, quality=None)
    version = read(log.store, get_version, report.jury.judge_version)
    check_fields(version, kind="jury", title="jury v1")
    assert version.params["members"] == sorted(log.version(name).fingerprint for name in THREE)
    assert "majority" in version.params["rule"]["label"]
    assert report.spread["groundedness"].value == pytest.approx(0.8)


@on_sqlite
def test_a_second_time_keeps_nothing_new_and_a_changed_mind_one_more(log):
    ids = three(log, 3, {"quality": 4}, {"quality": 4}, {"quality": 1})
    first = judge_by_jury(log.store, THREE)
    again = judge_by_jury(
        log.store, ["three", "two", "one", "two v1"]
    )  # in no order, and nobody twice
    assert again.jury.judge_version == first.jury.judge_version
    assert len(of_jury(log.store)) == 3
    log.say(log.version("two"), {ids[1]: {"quality": 1}})
    judge_by_jury(log.store, THREE)
    (changed,) = of_jury(log.store)[3:]
    check_fields(changed, response_id=ids[1], ask=1, quality=1)


@on_sqlite
def test_a_tie_is_counted_and_is_no_verdict(log):
    ids = log.answers(3)
    log.say_all(log.version("one"), ids, label=GOOD)
    log.say(
        log.version("two"),
        {ids[0]: {"label": GOOD}, ids[1]: {"label": BAD}, ids[2]: {"status": Status.ERROR}},
    )
    log.review_all(ids, label=GOOD.value)
    report = judge_by_jury(log.store, TWO)
    check_fields(report.account, ok=1, unparsable=2)
    check_fields(of_jury(log.store)[1], status="unparsable", error="split")
    check_fields(report, split=1, labelled=2, unanimous_items=1)
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
    report = judge_by_jury(log.store, TWO)
    assert list(report.left_out.values()) == [1, 2, 2, 1]
    # An answer waits until every member was asked.
    assert (report.items, report.account.not_reached) == (6, 2)
    assert {row["response_id"] for row in of_jury(log.store)} == {*ids[:6]}
    assert report.account.ok + sum(report.left_out.values()) == report.answers == 9
    stored = read(log.store, stored_jury_report, read(log.store, get_version, "jury"))
    check_fields(stored, left_out=report.left_out, answers=9)
    for name in TWO:  # the jury has no verdict on an answer that both judge later
        log.say_all(log.version(name), ids[8:], label=GOOD)
    later = read(log.store, stored_jury_report, read(log.store, get_version, "jury"))
    check_fields(later, items=7, account=stored.account, labelled=stored.labelled)
    assert sorted(later.left_out.values()) == [1, 1, 2, 2]
    assert (report.headline().code, report.headline().values["ok"]) == ("jury_left_out", 3)


@on_sqlite
def test_jury_and_members_are_held_to_people_on_the_same_answers(log):
    ids = log.answers(10, query_type="english")
    others = log.answers(10)
    log.say_all(log.version("one"), others, label=GOOD)  # nobody else was asked about these
    german = log.answers(10, query_type="german")
    for name in THREE:
        log.say_all(log.version(name), [*ids, *german], label=GOOD)
    log.review_all(ids, label=GOOD.value)
    log.review_all([*others, *german], label=BAD.value)
    judge_by_jury(log.store, THREE)  # the jury has a verdict on the german ones too
    report = judge_by_jury(log.store, THREE, where=RowFilter(query_types=("english",)))
    assert report.items == 10
    for each in (report.jury, *report.members):
        assert (each.accuracy.value, each.accuracy.n, each.kappa.n) == (1.0, 10, 10), (
            each.version.title
        )


def two_judges(log):
    """240 answers. Two judges call the first 80 bad, and tie on every sixth of the others; some of both are right."""
    ids = log.answers(240)
    log.say(log.version("one"), labels_where(ids, lambda place: place < 80))
    log.say(log.version("two"), labels_where(ids, lambda place: place < 80 or place % 6 == 1))
    return ids


def labelled(log, ids):
    """Every fourth answer is bad, of those that both judges call bad three of four."""
    log.reviews(labels_where(ids, lambda place: (place % 4 == 3) == (place >= 80)))


@on_sqlite
def test_figures_with_people_are_those_of_agreement_on_all_answers_with_a_verdict_of_the_jury(log):
    ids = two_judges(log)
    log.flag(ids[:80], "low_groundedness")
    log.flag(ids[80:140], "random_sample")
    labelled(log, ids[:140])
    report = judge_by_jury(log.store, TWO)
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
    log.flag(ids[:80], "low_groundedness")
    log.flag(ids[80:90], "random_sample")
    labelled(log, ids[:90])
    report = judge_by_jury(log.store, TWO)
    assert report.jury.answers is None
    assert "89 graded answers" in "\n".join(jury_lines(report))
    line = "\N{EN DASH} means: 134 answers that no rule flagged have 9 labels, at least 10 needed."
    assert line in list(rate_lines(measure_rate(log.store, judge_version="jury")))
    assert "no_sample" in [each.code for each in stats_notes(measure_log(log.store))]


@on_sqlite
def test_a_stored_jury_is_no_further_judge_beside_its_members(log):
    two_judges(log)
    before = measure_agreement(log.store, of="judges")
    jury = judge_by_jury(log.store, TWO).jury.judge_version
    assert measure_agreement(log.store, of="judges") == before
    with pytest.raises(BadInput, match="jury v1 combines "):
        measure_agreement(log.store, of="judges", judge_versions=[jury, "one"])
    with pytest.raises(BadInput, match="jury v1 is "):
        judge_by_jury(log.store, [jury, "one"], name="second")


@on_sqlite
def test_a_tie_is_named_as_a_tie_wherever_unusable_verdicts_are_counted(log):
    two_judges(log)
    report = judge_by_jury(log.store, TWO)
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
    for name in TWO:
        log.say_all(log.version(name), ids, label=BAD)
    log.review_all(ids, label=BAD.value)
    blind = {"blind_people": True, "blind_judge": True}
    case.queue(assigned=(case.mara,), max_items=40, order="oldest", **blind)
    mara = Seen(store, case.mara.id)
    report = judge_by_jury(store, TWO, seen=mara)
    agreement = measure_agreement(mara, judge_versions=["jury"])
    # The verdicts of all answers are combined.
    assert (report.account.ok, len(of_jury(store))) == (100, 100)
    assert Row.of("", ALL, report.jury.accuracy).estimate == agreement.figure("agreement")
    assert (
        (report.jury.accuracy.n, report.jury.answers)
        == (60, None)
        == (agreement.n, agreement.answers)
    )
    assert judge_by_jury(store, TWO).jury.answers == 100


@on_sqlite
def test_judges_can_agree_and_be_wrong_together(log):
    ids = three(log, 20, {"label": GOOD}, {"label": GOOD}, {"label": GOOD})
    log.review_all(ids[:15], label=BAD.value)
    log.review_all(ids[15:], label=GOOD.value)
    report = judge_by_jury(log.store, THREE)
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
    report = judge_by_jury(log.store, THREE)
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
    before = rows_of(log.store, FLAG)
    assert {flag["state"] for flag in before} == {"open"}
    for members in (THREE, TWO):  # all judges, and one outside
        judge_by_jury(log.store, members)
        assert rows_of(log.store, FLAG) == before
    write_to(log.store, set_setting, "low_groundedness", None, "test")
    raise_flags(log.store)
    assert rows_of(log.store, FLAG) == before


def test_a_jury_as_the_primary_judge_counts_in_place_of_its_members(log):
    three(log, 1, {"groundedness": 0.1}, {"groundedness": 0.9}, {"groundedness": 0.95})
    judge_by_jury(log.store, THREE)
    assert disagreements(log.store) == ["open"]
    write_to(log.store, set_setting, "primary_judge", "jury", "test")
    assert flags_to_supersede(log.store) == raise_flags(log.store).superseded == 2
    assert disagreements(log.store) == ["superseded"]
    write_to(log.store, set_setting, "primary_judge", None, "test")
    raise_flags(log.store)
    # Taken back with its cause.
    assert disagreements(log.store) == ["superseded", "open"]


def test_a_jury_needs_two_known_judges(sqlite_log):
    sqlite_log.say_all(sqlite_log.version("one"), sqlite_log.answers(1), label=GOOD)
    with pytest.raises(BadInput, match="two different members"):
        judge_by_jury(sqlite_log.store, ["one", "one v1"])
    with pytest.raises(NotFound, match="nobody"):
        judge_by_jury(sqlite_log.store, ["one", "nobody"])


@pytest.fixture
def judge(command):
    """Return ``judge(endpoint, options, code=0)``: what a jury of three models prints."""

    def judged(endpoint, options="", code=0):
        model = f"--base-url {endpoint.base_url} --concurrency 4"
        return command(f"judge --jury m1,m2,m3 {model} {options}", code=code).out

    return judged


def by_model(request, _number):
    return verdict(quality={"m1": 1, "m2": 3, "m3": 4}[request["model"]])


def refused_after(calls):
    """Answer by model, and refuse the key after so many calls."""
    return lambda request, number: (
        by_model(request, number) if number < calls else failure(401, "key")
    )


def models_asked(endpoint):
    return [request.body["model"] for request in endpoint.requests]


def test_every_member_is_asked_once_as_a_judge_of_its_own(sqlite_store, judge):
    store_answers(sqlite_store, 5)
    with RecordingEndpoint(by_model) as endpoint:
        said = judge(endpoint)
        assert len(endpoint.requests) == 15
        titles = ("jury v1", "rag m1 v1", "rag m2 v1", "rag m3 v1", "5 answers")
        assert all(title in said for title in titles)
        judge(endpoint)
        assert len(endpoint.requests) == 15
    rows = of_jury(sqlite_store)
    assert [(row["quality"], row["run_id"]) for row in rows] == [(3, None)] * 5


def test_a_stopped_jury_goes_on_and_combines_at_its_end(sqlite_store, judge):
    store_answers(sqlite_store, 4)
    with RecordingEndpoint(refused_after(6)) as endpoint:
        judge(endpoint, code=2)
        assert of_jury(sqlite_store) == []
        # A refused key is refused once for all members.
        asked = Counter(models_asked(endpoint))
        endpoint.script = by_model
        judge(endpoint)
    models = Counter(models_asked(endpoint))
    assert (asked["m1"], asked["m3"]) == (4, 0)
    assert (models["m1"], models["m3"]) == (4, 4)
    assert len(of_jury(sqlite_store)) == 4


@pytest.fixture
def limited(tmp_path):
    """Options with a cost limit. A call costs 0.00012, so that the runs of a command stop with the fourth call."""
    prices = tmp_path / "prices.toml"
    prices.write_text('[models]\n"m*" = { input = 1, output = 1 }\n')
    return f"--prices {prices} --max-cost 0.0004 --concurrency 1"


def test_the_cost_limit_of_a_jury_is_for_the_runs_that_a_command_begins_or_continues(
    sqlite_store, judge, limited
):
    store_answers(sqlite_store, 3)
    with RecordingEndpoint(by_model) as endpoint:
        for code in (2, 2, 0):
            judge(endpoint, limited, code)
    assert models_asked(endpoint) == ["m1"] * 3 + ["m2"] * 3 + ["m3"] * 3
    assert len(of_jury(sqlite_store)) == 3


def test_a_call_of_unknown_cost_does_not_hide_the_cost_of_the_other_calls_from_the_limit(
    sqlite_store, judge, limited
):
    store_answers(sqlite_store, 3)
    with RecordingEndpoint(refused_after(1)) as endpoint:
        judge(endpoint, "--concurrency 1", 2)
        endpoint.script, before = by_model, len(endpoint.requests)
        judge(endpoint, limited, 2)
        assert models_asked(endpoint)[before:] == ["m1", "m1", "m2", "m2"]


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
def test_a_bad_option_is_2_and_one_line(command, options, says):
    error = command(f"judge {options} --base-url https://models.example.org/v1", code=2).err
    assert says in error
    assert "Traceback" not in error


@pytest.mark.shared
def test_seven_recorded_detectors_as_a_jury(ragtruth, shell):
    line = f"compare judges {' '.join(DETECTORS)} --json --db {address(ragtruth)}"
    result = json.loads(shell(line))
    assert result["jury"]["accuracy"]["value"] == pytest.approx(0.8512, abs=5e-5)
    assert result["jury"]["kappa"]["value"] == pytest.approx(0.6730, abs=5e-5)
    assert result["fleiss_kappa"]["value"] == pytest.approx(0.4260, abs=5e-5)
    check_fields(result, unanimous_items=301, labelled=1344, split=0, notes=[])
    assert result["unanimous"]["n"] == 1344
    check_fields(result["account"], asked=1344, ok=1344, not_reached=0)
    assert json.loads(shell(line)) == result


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
    check_fields(combined(members), **expected)


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
