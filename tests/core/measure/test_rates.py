"""How many of all answers are bad: worked examples on RAGTruth by the command, and logs made by hand."""

import json
import shlex
from datetime import UTC, datetime

import numpy as np
import pytest
from sqlalchemy import insert

from engines import on_sqlite
from estimates import ends, value_and_ends
from graded_log import BAD, GOOD, labels_in, labels_where
from judgeboard.cli.app import run
from judgeboard.domain import Decision, Estimate, Status
from judgeboard.errors import BadInput
from judgeboard.imports.importing import import_file
from judgeboard.measure.agreement import measure_agreement
from judgeboard.measure.notes import note
from judgeboard.measure.rates import measure_rate
from judgeboard.measure.versus import BothJudged
from judgeboard.people.roster import change_settings
from judgeboard.reports.rates import OF_JUDGE, rate_lines
from judgeboard.stats.estimates import percent
from judgeboard.stats.intervals import share_intervals
from judgeboard.stats.means import mean_interval
from judgeboard.stats.rates import Stratum, rate
from judgeboard.store.filters import RowFilter, parse_where
from judgeboard.store.tables import QUEUE, QUEUE_ITEM
from judging_log import address
from recordings import in_sample, records
from result_parts import codes, values_of_note
from shared_answers import published

JUDGE = "track_b_modernbert"
NOW = datetime(2026, 3, 1, tzinfo=UTC)
SIX_DIGITS = 5.1e-7


@pytest.fixture
def example(sqlite_store, shared, tmp_path, fill_once):
    """Return ``example(share, bad=…)``: RAGTruth with one judge, and labels on the random sample with this share.

    With ``bad``, all answers that the judge calls bad have a label, too.
    """
    data = shared / "data"

    def labelled(share, *, bad=False):
        def fill(store):
            verdicts = {
                row["response_id"]: row
                for row in records(data / "ragtruth.judgements.jsonl.gz")
                if row["judge"] == JUDGE
            }
            drawn = in_sample(share)
            chosen = {
                id_
                for id_, row in verdicts.items()
                if drawn({"id": id_}) or (bad and row["label"] == BAD)
            }
            people = records(data / "ragtruth.human.jsonl.gz")
            change_settings(store, {"random_share": share}, "test")
            import_file(store, data / "ragtruth.responses.jsonl.gz", rejected=tmp_path / "no.jsonl")
            labels = (row for row in people if row["response_id"] in chosen)
            for kind, rows in (("verdicts", verdicts.values()), ("grades", labels)):
                file = tmp_path / f"{kind}.jsonl"
                file.write_text("\n".join(map(json.dumps, rows)))
                import_file(store, file, kind=kind, rejected=tmp_path / "no.jsonl")

        fill_once(f"rates {share} {bad}", sqlite_store, fill)
        return sqlite_store

    return labelled


class RateJson:
    """What the command writes as JSON."""

    def __init__(self, content):
        self.content = content
        self.rows = {(row["figure"], row["slice"]): row for row in content["rows"]}

    def figure(self, name, slice_=None):
        row = self.rows[name, slice_]
        return Estimate(row["value"], row["low"], row["high"], row["n"], reason=row["reason"])


@pytest.fixture
def rate_json(capsys):
    def command(store, *words):
        assert run(["labels", "rate", "--db", address(store), "--json", *words]) == 0
        return RateJson(json.loads(capsys.readouterr().out))

    return command


@pytest.fixture
def expected(shared):
    return published(shared / "data", "e1_rate")


def same(found, known):
    in_order = [known[name] for name in ("value", "low", "high")]
    assert value_and_ends(found) == pytest.approx(in_order, abs=SIX_DIGITS)


@pytest.mark.shared
def test_labels_by_lot_give_the_published_rate(example, rate_json, expected):
    store = example(0.15)
    found = rate_json(store)
    same(found.figure("bad_answers"), expected["verdict_strata_mover_process_by_group"])
    assert found.figure("design_effect").value == pytest.approx(1.298725, abs=SIX_DIGITS)
    counts = found.content["about"]["counts"]
    assert [counts[name] for name in ("labels", "answers", "labels_not_counted")] == [193, 1344, 0]
    strata = [[each[name] for name in ("verdict", *"Nnk")] for each in found.content["strata"]]
    assert strata == [["good", 896, 135, 22], ["bad", 448, 58, 47]]
    alone = found.figure("judge_alone")
    assert (alone.value, alone.n) == (pytest.approx(1 / 3), 1344)
    by_answer = share_intervals([448], [1344])[0]
    # Answers of one evidence group are alike.
    assert alone.low < by_answer.low
    assert alone.high > by_answer.high
    same(found.figure("labels_alone"), expected["labels_only_wilson"])
    these = rate_json(store, "--target", "these")
    same(these.figure("bad_answers"), expected["poststratified_these_mover"])
    alone = these.figure("judge_alone")
    # Nothing is left to chance.
    assert alone.low == alone.high == pytest.approx(1 / 3)
    elsewhere = rate_json(store, "--labels-from", "rule=random_sample")
    same(elsewhere.figure("bad_answers"), expected[f"rogan_gladen_{JUDGE}"])
    assert elsewhere.content["headline"]["code"] == "rate_elsewhere"
    # These labels changed nothing.
    assert (elsewhere.content["strata"], ("agreement", None) in elsewhere.rows) == ([], False)


@pytest.mark.shared
def test_all_flagged_and_a_random_sample_give_the_published_rate(example, rate_json, expected):
    store = example(0.05, bad=True)
    found, these = rate_json(store), rate_json(store, "--target", "these")
    same(found.figure("bad_answers"), expected["stratified_flag_process_mover_by_group"])
    assert found.figure("design_effect").value == pytest.approx(1.20607, abs=SIX_DIGITS)
    same(these.figure("bad_answers"), expected["stratified_flag_these_mover"])
    for prefix, name in (("", "weighted"), ("graded_", "unweighted")):
        for figure, value in expected[f"agreement_labelled_{name}"].items():
            assert found.figure(f"{prefix}{figure}").value == pytest.approx(value, abs=SIX_DIGITS)
    assert value_and_ends(these.figure("sensitivity")) == pytest.approx(
        (0.7018, 0.5739, 0.8159), abs=5.1e-5
    )
    assert found.figure("labels_alone").value == pytest.approx(0.741414, abs=SIX_DIGITS)
    agreement = measure_agreement(store, judge_versions=[JUDGE])
    for figure in ("agreement", "kappa", "sensitivity", "specificity", "precision"):
        assert found.figure(f"graded_{figure}").value == pytest.approx(
            agreement.graded[figure].value
        )
        assert agreement.statistics[figure].value == found.figure(figure).value, "the headline"
    assert ends(found.figure("kappa")) == pytest.approx((0.4455, 0.7340), abs=5.1e-5)


@pytest.mark.shared
def test_slices_are_measured_with_their_own_strata(example, rate_json):
    store = example(0.15)
    found = rate_json(store, "--by", "query_type")
    answers = {"Data2txt": 450, "QA": 468, "Summary": 426}
    assert {name: found.figure("answers", name).value for name in answers} == answers
    for name in answers:
        alone = rate_json(store, "--where", f"query_type={name}")
        assert found.figure("bad_answers", name) == alone.figure("bad_answers")


@pytest.fixture
def judged(log):
    """Forty answers, of which the judge calls every fourth bad; its scores flag none of them."""
    ids = log.answers(40)
    judge(log, ids)
    return ids


def judge(log, ids):
    log.say(log.version(), labels_in(ids, ids[::4], groundedness=0.9))


def draw(log, ids):
    """The answers are in the random sample; no rule finds them bad."""
    log.flag(ids, "random_sample", 0.0)


def flag_worst_first(log, ids):
    for place, each in enumerate(ids):
        log.flag([each], "low_groundedness", 1 - place / len(ids))


def label(log, ids, bad=()):
    log.reviews(labels_in(ids, bad))


def label_sample(log, ids, bad=()):
    draw(log, ids)
    label(log, ids, bad)


def bounds_of(result, slice_=None):
    return ends(result.figure("bounds", slice_))


def label_counts(result):
    """Return how many labels count, and how many do not."""
    return result.about.counts["labels"], result.about.counts["labels_not_counted"]


def strata_in(result):
    return [(each.picked, each.verdict, each.N, each.n) for each in result.strata]


@on_sqlite
def test_where_all_answers_are_labelled_the_rate_is_exact(log, judged):
    label(log, judged, judged[:7])
    result = measure_rate(log.store, target="these")
    assert value_and_ends(result.share) == (0.175, 0.175, 0.175)
    assert result.headline.code == "rate_exact"
    app = measure_rate(log.store)
    assert app.share.value == 0.175
    assert app.share.low < 0.175


@on_sqlite
def test_labels_of_flagged_answers_alone_give_bounds_and_say_what_to_label(log, judged):
    log.flag(judged[:10], "low_groundedness")
    label(log, judged[:10], judged[:6])
    result = measure_rate(log.store)
    assert result.share.value is None
    low, high = bounds_of(result)
    # The ends carry the error of the labels.
    assert 0 < low < 0.15
    assert 0.9 < high < 1
    assert result.to_label.answers == 30
    assert result.headline.code == "rate_bounds"
    assert (result.headline.values["low"], result.headline.values["high"]) == (low, high)
    assert result.to_label.command == "judgeboard queue create sample --plan rate --n 30"
    draw(log, judged[10:15])  # too few to narrow anything: they do not replace the plan
    assert measure_rate(log.store).headline == result.headline


@on_sqlite
def test_a_share_that_a_few_labels_decide_is_given_as_its_interval(log):
    few, many = (log.answers(120, query_type=name) for name in ("few", "many"))
    bad = [*few[:60], *many[:60]]
    log.say(log.version(), labels_in([*few, *many], bad))
    log.flag(bad, "low_groundedness")
    draw(log, [*few[60:62], *many[60:90]])
    label(log, [*few[:62], *many[:90]], [*few[:62], *many[:63]])
    alone = measure_rate(log.store, where=RowFilter(query_types=("few",)))
    low = alone.share.low
    assert low < 0.8
    assert (alone.headline.code, *value_and_ends(alone.share)) == ("rate_interval", None, low, 1)
    by_type = measure_rate(log.store, by="query_type")
    assert by_type.figure("bad_answers", "few") == alone.share
    assert by_type.figure("bad_answers", "many").low is not None
    [row] = [each for each in rate_lines(by_type) if each.startswith("few  ")]
    assert f" {percent(low)[:-2]} to 100 % " in row
    label(log, many[:10])  # of the labels in a part that is labelled completely, some are good
    precision = measure_rate(log.store, target="these").figure("precision")
    assert value_and_ends(precision) == (pytest.approx(110 / 120), None, None)
    assert "exact" in precision.reason


@on_sqlite
def test_labels_of_chosen_answers_alone_give_bounds_and_the_command_that_draws_a_sample(
    log, judged
):
    label(log, judged[:14], judged[:4])
    these = measure_rate(log.store, target="these")
    # 14 answers are known.
    assert bounds_of(these) == pytest.approx((4 / 40, 30 / 40))
    assert (these.headline.code, these.caveats[0].code) == ("rate_bounds", "picked_labels_bounds")
    low, high = bounds_of(measure_rate(log.store))
    assert 0 < low < 4 / 40
    assert 30 / 40 < high < 1
    for grade in ("label", "quality"):
        of_source = measure_rate(log.store, where=parse_where(["source=log"]), grade=grade).to_label
        # The queue draws from the answers of the rate.
        assert "--where source=log" in of_source.command
    quality = measure_rate(log.store, grade="quality")
    assert quality.headline.code == "mean_unknown"
    assert shlex.split(quality.to_label.command)[-4:] == ["--n", "40", "--grades", "quality"]


@on_sqlite
def test_flags_that_were_worked_worst_first_are_no_sample(log, judged):
    flag_worst_first(log, judged[:30])
    draw(log, judged[15:])
    label(log, [*judged[:12], *judged[15:20], *judged[25:]], judged[:8])
    half_way = measure_rate(log.store)
    # The twelve worst, and the drawn ones that were reached before five others.
    assert half_way.about.counts["labels_not_counted"] == 12 + 10
    assert half_way.share.value is None
    assert (half_way.to_label.uncounted, half_way.to_label.waiting) == (10, 5)
    assert half_way.to_label.command in " ".join(rate_lines(half_way))
    assert measure_agreement(log.store).to_label == half_way.to_label
    label(log, judged[20:25])
    result = measure_rate(log.store)
    # The twelve worst: no drawn answer waits.
    assert result.about.counts["labels_not_counted"] == 12
    assert result.to_label is None or not result.to_label.uncounted
    assert {each[0] for each in strata_in(result)} == {"no", "yes"}


@on_sqlite
def test_a_queue_of_the_answers_of_the_sample_that_nobody_graded_completes_the_sample(log, judged):
    flag_worst_first(log, judged[:30])
    draw(log, [*judged[5:25], *judged[30:]])
    label(
        log, [*judged[:15], *judged[30:]], [*judged[:6], judged[10]]
    )  # the flags worst first, and all of the others
    need = measure_rate(log.store).to_label
    assert (
        need.command
        == "judgeboard queue create sample --where rule=random_sample --where graded=no --order random"
    )
    items = random_queue(
        log, judged[15:25], flagged_only=True, rules=["random_sample"], graded=False
    )
    assert len(items) == need.labels
    label_in_queue(log, items, judged[15:24])
    # The last one may be the worst one that nobody has seen.
    assert measure_rate(log.store).share.value is None
    label_in_queue(log, items, judged[24:25])
    result = measure_rate(log.store)
    assert label_counts(result) == (30, 5)
    # Of the flagged answers that the judge calls bad, 5 of 8 are in the sample, and of the others
    # 15 of 22.
    assert result.share.value == pytest.approx((8 * 0 / 5 + 22 * 2 / 15) / 40)


@on_sqlite
@pytest.mark.parametrize("filters", [[], ["source=log"]])
def test_such_a_queue_is_a_sample_while_others_wait_if_nobody_chose_flags(log, judged, filters):
    flag_worst_first(log, judged[:30])
    draw(log, judged[5:])
    label(log, judged[30:])
    queue = parse_where([*filters, "rule=random_sample", "graded=no"])
    items = random_queue(log, judged[5:30], flagged_only=True, **queue.as_dict())
    label_in_queue(log, items, judged[5:20])
    result = measure_rate(log.store, where=parse_where(filters))
    assert label_counts(result) == (25, 0)


@on_sqlite
def test_chosen_labels_have_no_interval(log, judged):
    label_sample(log, judged[20:], judged[20:24])
    assert measure_rate(log.store).figure("labels_alone").low is not None
    label(log, judged[:5], judged[:5])
    alone = measure_rate(log.store).figure("labels_alone")
    assert value_and_ends(alone) == (9 / 25, None, None)
    assert "random sample" in alone.reason


@on_sqlite
def test_a_random_sample_of_all_answers_counts_although_drawn_flags_were_worked_worst_first(
    log, judged
):
    bad = judged[:8]
    flag_worst_first(log, judged[:30])
    draw(log, judged[15:])
    label(log, judged[:20], bad)
    assert measure_rate(log.store).share.value is None
    items = random_queue(log, judged[1::2])
    label_in_queue(log, items, items, bad, "jon")
    result = measure_rate(log.store)
    assert label_counts(result) == (20, 10)
    assert result.share.value is not None


@on_sqlite
def test_a_queue_of_flagged_answers_in_random_order_is_a_sample_only_if_none_was_decided_before(
    log, judged
):
    log.flag(judged[:30], "low_groundedness")
    items = random_queue(log, judged[4:30], flagged_only=True)
    label_in_queue(log, items, judged[8:20])
    assert label_counts(measure_rate(log.store)) == (12, 0)
    label(log, judged[:4], judged[:4])
    # The four worst are not in the queue.
    assert label_counts(measure_rate(log.store)) == (0, 16)
    label_in_queue(log, items, [*judged[4:8], *judged[20:30]])
    assert label_counts(measure_rate(log.store)) == (30, 0)


@on_sqlite
def test_few_labels_of_a_random_sample_replace_no_figure_of_the_graded_answers(log, judged):
    draw(log, judged[:8])
    label(log, judged[:25], judged[:5])
    agreement = measure_agreement(log.store)
    assert (agreement.n, agreement.graded) == (25, {})
    assert agreement.statistics["agreement"].value is not None
    assert agreement.answers is None
    assert (agreement.to_label.labelled, agreement.to_label.labels) == (8, 15)
    assert agreement.to_label.command.endswith(" --all-answers --where graded=no --limit 15")


def random_queue(log, ids, *, flagged_only=False, at=NOW, planned_for=(), **where):
    """Store a queue in random order with these answers; return its items by answer."""
    queue = {"name": "lots", "created_by": "test", "created_at": at, "sort": "random"}
    queue |= {"flagged_only": flagged_only, "max_items": len(ids), "filter": RowFilter(**where)}
    if planned_for:
        names = (("judge_version_id", "judge"), ("other_judge_version_id", "other_judge"))
        queue["plan"] = {
            name: id_ for id_, pair in zip(planned_for, names, strict=False) for name in pair
        }
    with log.store.writing() as connection:
        queue_id = connection.execute(insert(QUEUE).returning(QUEUE.c.id), queue).scalar_one()
        item = {"queue_id": queue_id, "position": 0, "joined_at": NOW}
        add = insert(QUEUE_ITEM).returning(QUEUE_ITEM.c.id)
        return {
            each: connection.execute(add, item | {"response_id": each}).scalar_one() for each in ids
        }


def label_in_queue(log, items, ids, bad=(), reviewer="mara"):
    """Label answers of a queue: bad those in ``bad``, good the others."""
    labels = labels_in(ids, bad)
    log.reviews({each: labels[each] | {"queue_item_id": items[each]} for each in ids}, reviewer)


@on_sqlite
def test_a_queue_in_random_order_is_a_sample(log, judged):
    items = random_queue(log, judged[:20])
    label_in_queue(log, items, judged[:18], judged[:4])
    label(log, judged[18:25])  # two of the queue that were reviewed elsewhere, and five others
    result = measure_rate(log.store)
    assert label_counts(result) == (18, 7)
    assert result.caveats[0] == note("picked_labels", n=7)
    narrower = measure_rate(log.store, where=parse_where(["source=log"]))
    assert narrower.about.counts["labels"] == 18


@on_sqlite
def test_a_sample_says_nothing_of_answers_that_were_logged_after_it_was_drawn(log, judged):
    items = random_queue(log, judged[::2], at=datetime.now(UTC))
    label_in_queue(log, items, items, judged[:4])
    few = log.answers(2)
    judge(log, few)
    # Two of 42 may be left out by chance.
    assert measure_rate(log.store).share.value == pytest.approx(0.1, abs=0.05)
    later = log.answers(38)
    judge(log, later)
    result = measure_rate(log.store)
    assert result.share.value is None
    assert result.to_label.answers == 40  # later ones
    label(log, later[:6], later[:6])  # chosen ones
    label_sample(log, [*few, *later[10:]], later[10:25])
    known = measure_rate(log.store)
    assert known.share.value is not None
    assert {(each.N, each.n) for each in known.strata if each.is_later} == {(11, 8), (29, 22)}
    assert known.share.value == pytest.approx((40 * 0.1 + 40 * 15 / 30) / 80, abs=0.06)


def test_a_planned_queue_says_nothing_of_answers_that_were_judged_after_it_was_drawn(log):
    """Neither of those that its judge judged later, nor of those that only another version judged."""
    ids = log.answers(80)
    drawn_for, newer = log.version("rag", prompt=1), log.version("rag", prompt=2)
    for version in (drawn_for, newer):
        log.say_all(version, ids[:40], label=GOOD)
    items = random_queue(log, ids[:40:2], at=datetime.now(UTC), planned_for=[drawn_for.id])
    label_in_queue(log, items, items)

    def shares():
        return [
            measure_rate(log.store, judge_version=each.id).share.value
            for each in (drawn_for, newer)
        ]

    log.say_all(drawn_for, ids[:20], label=GOOD)  # answers that are judged again could be drawn
    assert shares() == [0, 0]
    log.say_all(newer, ids[40:], label=GOOD)
    assert shares() == [0, None]
    log.say_all(drawn_for, ids[40:], label=GOOD)
    result = measure_rate(log.store, judge_version=drawn_for.id)
    assert result.share.value is None
    assert result.to_label.answers == 40  # those that were judged later
    assert {(each.N, each.n, each.is_later) for each in result.strata} == {
        (40, 20, False),
        (40, 0, True),
    }


@on_sqlite
def test_a_queue_for_two_judges_says_nothing_of_answers_that_were_judged_after_it_was_drawn(log):
    ids, versions = log.answers(80), (log.version("rag", prompt=1), log.version("rag", prompt=2))

    def where_they_differ(judged_now):
        for version, verdict in zip(versions, (GOOD, BAD), strict=True):
            log.say_all(version, judged_now, label=verdict)
        return log.read(BothJudged, versions).sampled_where_they_differ()

    where_they_differ(ids[:40])
    items = random_queue(
        log, ids[:40:2], at=datetime.now(UTC), planned_for=[each.id for each in versions]
    )
    label_in_queue(log, items, items)
    assert not where_they_differ(()).has_gap
    sample = where_they_differ(ids[40:])
    assert sample.has_gap
    assert {(each.answers, each.labelled) for each in sample.counts} == {(40, 20), (40, 0)}


@on_sqlite
def test_a_random_queue_with_a_filter_is_a_sample_of_the_answers_that_match_it(log, judged):
    legal = log.answers(30, query_type="legal")
    judge(log, legal)
    items = random_queue(log, legal[:15], query_types=["legal"])
    label_in_queue(log, items, items, legal[:4])
    whole = measure_rate(log.store, by="query_type")
    assert label_counts(whole) == (0, 15)
    of_legal = whole.figure("bad_answers", "legal")
    assert (of_legal.n, of_legal.value) == (15, pytest.approx(4 / 15, abs=0.05))
    for where in (["query_type=legal"], ["query_type=legal", "source=log"]):
        alone = measure_rate(log.store, where=parse_where(where))
        assert label_counts(alone) == (15, 0)
        assert alone.share == of_legal


@on_sqlite
def test_a_judge_without_a_verdict_is_a_stratum(log, judged):
    failed = log.answers(10)
    log.say_all(log.version(), failed, status=Status.UNPARSABLE)
    label_sample(log, [*judged[::2], *failed[::2]], failed[:4])
    result = measure_rate(log.store)
    assert ("yes", "unusable", 10, 5) in strata_in(result)
    assert result.about.counts["answers"] == 50
    alone = result.figure("judge_alone")
    assert (alone.value, alone.n) == (pytest.approx(0.25), 40)
    assert result.figure("agreement").n == 20


@on_sqlite
def test_a_stratum_that_the_lot_missed_joins_another_of_its_class(log, judged):
    good = [each for place, each in enumerate(judged) if place % 4]
    label_sample(log, good[:15], good[:2])
    result = measure_rate(log.store)
    assert strata_in(result) == [("no", None, 40, 15)]
    assert result.share.value == pytest.approx(2 / 15)


@on_sqlite
def test_labels_in_few_evidence_groups_have_a_wider_interval(log, judged):
    draw(log, judged)
    for labelled, few in ((judged[:20], True), (judged[20:30], False)):
        label(log, labelled, labelled[::3])
        result = measure_rate(log.store)
        strata = [Stratum(each.N, each.n, each.k) for each in result.strata]
        normal = rate(strata, "app", result.figure("design_effect").value)
        assert result.share.value == pytest.approx(normal.value)
        assert ("few_groups" in codes(result.caveats)) == few
        assert (result.share.low < normal.low - 0.001) == few
        assert (result.share.high > normal.high + 0.001) == few


@on_sqlite
def test_without_a_judge_the_labels_alone_count(log):
    ids = log.answers(30)
    label_sample(log, ids[:15], ids[:3])
    result = measure_rate(log.store)
    assert result.about.judges == ()
    assert strata_in(result) == [("no", None, 30, 15)]
    assert result.share.value == 0.2
    assert not result.has("judge_alone")
    assert not result.has("agreement")


@on_sqlite
def test_too_few_groups_and_no_labels_are_said(log, judged):
    assert measure_rate(log.store).headline.code == "rate_unknown"
    label_sample(log, judged[:5])
    result = measure_rate(log.store)
    assert result.share.value is None
    assert {"5", "10"} <= set(result.share.reason.split())
    of_these = measure_rate(log.store, target="these")
    assert {each.figure(name).value for each in (result, of_these) for name in OF_JUDGE} == {None}


def test_unsure_reviews_and_waiting_draws_are_said(log, judged):
    draw(log, judged)
    label(log, judged[:20], judged[:8])
    for each in judged[20:24]:
        log.review(each, decision=Decision.UNSURE.value)
    result = measure_rate(log.store)
    notes = {each.code: each.values for each in result.caveats}
    assert notes["undecided_bounds"] == pytest.approx({"n": 4, "low": 8 / 24, "high": 12 / 24})
    assert bounds_of(result) == pytest.approx((8 / 24, 12 / 24), abs=0.02)
    assert result.share.value is not None
    assert notes["waiting"] == {"waiting": 16, "drawn": 40}
    assert "few_labels_of" in notes
    assert result.about.left_out["unsure"] == 4


@on_sqlite
def test_too_few_labels_are_no_interval_even_if_some_people_were_unsure(log, judged):
    draw(log, judged)
    label(log, judged[:4], judged[:1])
    log.review(judged[4], decision=Decision.UNSURE.value)
    result = measure_rate(log.store)
    assert (result.share.value, result.share.low, result.has("bounds")) == (None, None, False)


@on_sqlite
def test_a_random_sample_with_flagged_answers_is_not_said_to_be_chosen(log, judged):
    draw(log, judged[:30])
    log.flag(judged[:6], "low_groundedness")
    for each in judged[:6]:
        log.decide(each, "low_groundedness", Decision.CONFIRM, label=BAD)
    label(log, judged[6:30])
    agreement = measure_agreement(log.store)
    assert agreement.answers == 40
    assert not {"flagged", "graded_alone"} & {*codes(agreement.caveats)}


@on_sqlite
def test_people_who_differ_are_said(log, judged):
    label_sample(log, judged, judged[:20])
    assert "people_differ" not in codes(measure_rate(log.store).caveats)
    log.reviews(labels_where(judged[5:35], lambda place: place % 2), "ines")
    result = measure_rate(log.store)
    alpha = result.figure("people_alpha")
    assert (alpha.n, alpha.value) == (30, pytest.approx(0, abs=0.1))
    assert values_of_note(result.caveats, "people_differ")["n"] == 30


@on_sqlite
def test_the_mean_of_a_number_uses_the_judges_scores(log):
    ids = log.answers(60)
    scores = [place / 60 for place in range(60)]
    log.say_scores(log.version(), ids, scores)
    draw(log, ids[::3])
    log.reviews(
        {ids[place]: {"groundedness": min(scores[place] + 0.1, 1.0)} for place in range(0, 60, 3)}
    )
    result = measure_rate(log.store, grade="groundedness")
    assert result.share.value == pytest.approx(59 / 120 + 0.1, abs=0.03)
    alone = result.figure("judge_mean")
    assert alone.value == pytest.approx(59 / 120)
    (mean,) = mean_interval(60, 59 / 2, sum(score**2 for score in scores))
    # The logit differs little from the plain scale here.
    assert ends(alone) == pytest.approx(ends(mean), abs=0.01)


@on_sqlite
def test_a_mean_without_an_interval_says_why(log):
    ids = log.answers(60, query_type="sql")
    log.say_all(log.version(), ids, groundedness=0.9)
    draw(log, ids[::3])
    log.reviews({each: {"groundedness": 0.95 if at else 0.9} for at, each in enumerate(ids[::3])})
    share = measure_rate(log.store, grade="groundedness", by="query_type").share
    assert (share.reason is None, share.low) == (False, None)


def test_answers_without_a_score_do_not_lower_the_mean_of_the_judge_alone(log):
    *scored, unscored = log.answers(21)
    log.say_all(log.version(), scored, groundedness=0.9)
    log.say_all(log.version(), [unscored], label=GOOD)
    draw(log, scored[::2])
    log.review_all(scored[::2], groundedness=0.8)
    alone = measure_rate(log.store, grade="groundedness").figure("judge_mean")
    assert (alone.value, alone.n) == (pytest.approx(0.9), 20)


@on_sqlite
def test_a_refused_choice_names_the_reason(log, judged):
    for choice, reason in (
        ({"by": "judge_version"}, "--judge-version"),
        ({"grade": "quality", "labels_from": parse_where(["source=log"])}, "share of bad answers"),
        ({"target": "all"}, "target must be one of"),
    ):
        with pytest.raises(BadInput, match=reason):
            measure_rate(log.store, **choice)


@on_sqlite
@pytest.mark.parametrize("seed", range(4))
def test_any_log_has_rates_and_bounds_within_0_to_1_and_an_exact_one_if_all_is_labelled(log, seed):
    rng = np.random.default_rng(seed)
    ids = log.answers_of(
        {"group": int(rng.integers(20)), "query_type": str(rng.choice(["QA", "Summary"]))}
        for _ in range(70)
    )
    version = log.version()

    def judge_at_random(answers):
        kinds = [{"label": GOOD}, {"label": BAD}, {"groundedness": float(rng.random())}]
        verdicts = {each: dict(rng.choice(kinds)) for each in answers}
        log.say(version, verdicts)
        return verdicts

    log.say_all(version, ids[50:], status=Status.ERROR)
    verdicts = judge_at_random(ids[:60])
    draw(log, [each for each in ids if rng.random() < 0.6])
    people = {each: BAD if rng.random() < 0.3 else GOOD for each in ids}
    first = [each for each in ids if rng.random() < 0.6]
    log.reviews({each: {"label": people[each]} for each in first})
    log.review_all(
        [each for each in ids if each not in first and rng.random() < 0.3],
        "ines",
        decision="unsure",
    )
    for target in ("app", "these"):
        result = measure_rate(log.store, target=target, by="query_type")
        assert sum(each.N for each in result.strata) == result.about.counts["answers"]
        assert sum(each.n for each in result.strata) == result.about.counts["labels"]
        for name in (*result.slices, None):
            low, high = bounds_of(result, name) if result.has("bounds", name) else (0, 1)
            assert 0 <= low <= high <= 1
            share = result.figure("bad_answers", name)
            if share.value is not None:
                assert low <= share.value <= high
                assert 0 <= (share.low or 0) <= share.value <= (share.high or 0) <= 1
    before = measure_rate(log.store)
    judge_at_random(ids[:60])
    log.say(version, verdicts)
    assert measure_rate(log.store) == before
    log.reviews({each: {"label": people[each]} for each in ids if each not in first}, "ines")
    share = sum(each == BAD for each in people.values()) / len(people)
    for _ in range(2):
        result = measure_rate(log.store, target="these")
        assert value_and_ends(result.share) == pytest.approx((share, share, share))
        judge_at_random(ids)


@on_sqlite
def test_degenerate_rates_have_a_sentence(log, judged):
    nothing = parse_where(["source=nowhere"])
    assert measure_rate(log.store, where=nothing).headline.code == "no_answers"
    label(log, judged, judged[:20])
    everything = parse_where(["source=log"])
    assert (
        measure_rate(log.store, where=nothing, labels_from=everything).share.reason == "no answers"
    )
    log.say_all(log.version(), judged, label=BAD)
    share = measure_rate(log.store, labels_from=everything).share
    assert (share.value, share.n) == (None, 40)
    assert "one kind" in share.reason


@on_sqlite
def test_a_mean_quality_ends_at_the_ends_of_its_scale(log):
    ids = log.answers(12)
    grades = {each: {"quality": 4 if place else 3} for place, each in enumerate(ids)}
    log.say(log.version(), grades)
    log.reviews(grades)
    result = measure_rate(log.store, grade="quality")
    assert (result.share.value, result.share.high) == (pytest.approx(47 / 12), 4)
    assert result.figure("judge_mean").high == 4


@on_sqlite
def test_labels_from_elsewhere_that_the_verdict_chose_correct_nothing(log, judged):
    elsewhere = parse_where(["source=log"])
    label(
        log, [*judged[::4], *judged[1:4]], [*judged[:20:4], judged[1]]
    )  # all that the judge calls bad, and three
    chosen = measure_rate(log.store, labels_from=elsewhere)
    assert (chosen.share.value, chosen.share.n) == (None, 13)
    assert "random sample" in chosen.share.reason
    label(log, [each for each in judged if each not in {*judged[::4], *judged[1:4]}], judged[5:8])
    assert measure_rate(log.store, labels_from=elsewhere).share.value is not None


@on_sqlite
def test_a_query_type_may_be_called_all(log):
    for name, bad in (("all", 18), ("other", 2)):
        ids = log.answers(20, query_type=name)
        judge(log, ids)
        label(log, ids, ids[:bad])
    result = measure_rate(log.store, by="query_type")
    assert result.share.value == pytest.approx(20 / 40)
    assert result.figure("bad_answers", "all").value == pytest.approx(18 / 20)
    assert [row[0] for row in result.table("answers").rows] == ["all", "other", "all answers"]


@on_sqlite
def test_a_part_whose_drawn_answers_wait_is_not_joined_with_another(log, judged):
    picked = judged[:2]
    log.flag(picked, "low_groundedness")
    draw(log, [picked[0], *judged[20:32]])
    label(log, judged[20:32], judged[20:22])
    # A drawn answer of the flagged ones waits.
    assert measure_rate(log.store).share.value is None
    label(log, picked, picked)
    assert measure_rate(log.store).share.value is not None


@on_sqlite
def test_labelled_answers_are_among_those_that_the_judge_did_not_judge(log):
    version, ids = log.version(), log.answers(40)
    log.say_all(version, ids[:30], label=GOOD)
    log.review_all(ids[25:35], label=GOOD)
    left_out = measure_rate(log.store).about.left_out
    assert (left_out["not_judged"], left_out["labels_not_judged"]) == (10, 5)


def test_a_rate_of_some_days_names_them(log):
    version, ids = log.version(), log.answers(20, day=3)
    log.say_all(version, ids, label=GOOD)
    log.review_all(ids, label=GOOD)
    headline = measure_rate(log.store, where=parse_where(["from=1970-01-01"])).headline
    assert "1 Jan 1970" in headline.values["answers"]
