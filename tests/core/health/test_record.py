"""What the checks read of a judge version from the store."""

from functools import partial

import numpy as np
import pytest
from sqlalchemy import text

from engines import on_sqlite
from graded_log import BAD, GOOD, labels_in
from judgeboard.domain import (
    DimensionScore,
    Feedback,
    FeedbackKind,
    JudgeVersion,
    Pair,
    Preference,
    Response,
    ResponseKind,
    Shown,
    Status,
    StepRecord,
    Verdict,
)
from judgeboard.errors import BadInput
from judgeboard.health.models import model_table, shipped_models
from judgeboard.health.record import (
    MOST,
    KeptRecords,
    State,
    levels_of,
    read_record,
)
from judgeboard.health.report import CHECKS, measure_health
from judgeboard.llm.recording_endpoint import RecordingEndpoint, completion
from judgeboard.measure.notes import note
from judgeboard.methods.audits.run import audit_recorded
from judgeboard.methods.repeats.run import repeats_report
from judgeboard.runs.judging import judge_pending
from judgeboard.store.comparisons import NewComparison, store_comparisons
from judgeboard.store.forgetting import forget_response
from judgeboard.store.health import ValueCounts, count_mended, record_mark
from judgeboard.store.judge_versions import (
    ensure_version,
    list_versions,
)
from judgeboard.store.judgments import NewJudgment
from judgeboard.store.pairs import store_pairs
from judgeboard.store.storing import store_judgments, store_responses
from judging_log import by_number, rag, store_answers
from stored_rows import read, write_to


def record(log, version):
    return read(log.store, read_record, version, shipped_models())


def measured(log, name):
    """A check of the only judge."""
    (check,) = (each for each in measure_health(log.store).checks if each.name == name)
    return check


def say(log, version, response_id, repeat, **fields):
    judgment = NewJudgment(response_id, 0, repeat, Verdict(**({"status": Status.OK} | fields)))
    write_to(log.store, store_judgments, version, None, [judgment])


def on_scale(scores):
    return tuple(DimensionScore(*each, "1-5") for each in scores.items())


def by_tenths(ids):
    """Verdicts on answers: groundedness 0, 0.1, 0.2 and so on."""
    return {each: {"groundedness": place / 10} for place, each in enumerate(ids)}


def levels(name, values, scale=None, counts=None):
    counts = np.ones(len(values), dtype=np.int64) if counts is None else np.array(counts)
    return levels_of(name, ValueCounts(np.array(values), counts, scale))


def compared(log, version, *verdicts, model_b=None):
    """Store one pair, the order in which it was shown and what the judge said of each."""
    pair = Pair("log", "p", "Which?", "A", "B", model_a="gpt-4o", model_b=model_b)
    (pair_id,) = write_to(log.store, store_pairs, [pair]).ids
    items = [NewComparison(pair_id, *each) for each in verdicts]
    write_to(log.store, store_comparisons, version, None, items)


A_OVERALL = (StepRecord(Status.OK), {"overall": Preference.A})


@on_sqlite
def test_levels_count_the_log_and_no_made_answer(log):
    version = log.version()
    ids = log.answers(4)
    made = log.answers(1, kind=ResponseKind.CONTROL)
    for qualities, response_ids in ((2, ids[::2]), (3, ids[1::2]), (1, made)):
        log.say_all(version, response_ids, groundedness=0.84, quality=qualities, label=GOOD)
    log.say_all(version, ids[:1], groundedness=1.0, quality=4)  # the newest verdict counts
    recorded = record(log, version).levels
    assert recorded["quality"].counts.tolist() == [0, 1, 2, 1]
    assert recorded["groundedness"].counts.tolist() == [0] * 8 + [3, 0, 1]
    assert recorded["groundedness"].names[8] == "about 0.8"
    assert recorded["label"].counts.tolist() == [0, 3]


@on_sqlite
def test_a_rubric_has_the_levels_of_its_scale_and_an_overall_score(log):
    version = log.version("rubric")
    ids = log.answers(3)
    for place, each in enumerate(ids):
        scores = {"accuracy": 4, "tone": None, "safety": 1 + place, "expected accuracy": 4.2}
        if place:
            scores["overall"] = 3.7
        say(log, version, each, 0, scores=on_scale(scores))
    recorded = record(log, version)
    assert {name: each.counts.tolist() for name, each in recorded.levels.items()} == {
        "accuracy": [0, 0, 0, 3, 0],
        "safety": [1, 1, 1, 0, 0],
    }
    assert sorted(recorded.scored.scores["score"].tolist()) == [2.5, 3.7, 3.7]
    assert np.isnan(recorded.scored.scores["groundedness"]).all()


@pytest.mark.parametrize(
    ("scale", "values", "names"),
    [
        ("1-5", [2.0, 4.0], ("1", "2", "3", "4", "5")),
        ("0 to 2", [1.0], ("0", "1", "2")),
        ("as recorded", [2.0, 4.4], ("2", "3", "4", "5")),
        (None, [3.0], ("3",)),
        ("1-5", [7.0], ("1", "2", "3", "4", "5", "6", "7")),
    ],
)
def test_a_scale_is_read_from_its_words_or_from_what_was_given(scale, values, names):
    tone = levels("tone", values, scale)
    assert (tone.names, tone.counts.sum()) == (names, len(values))


@pytest.mark.parametrize(
    ("values", "possible"),
    [
        ([0.0, 1.0], 2),
        ([1.0], 2),
        ([0.0, 0.5, 1.0], 3),
        ([0.0, 0.33, 0.667, 1.0], 4),
        ([0.25, 0.75], 5),
        ([0.9, 1.0], 11),
        ([0.84], 11),
    ],
)
def test_a_judge_can_give_the_levels_of_the_coarsest_scale_with_its_scores(values, possible):
    groundedness = levels("groundedness", values)
    assert (len(groundedness.names), groundedness.possible) == (11, possible)


def test_fractions_between_0_and_1_are_tenths_and_a_long_scale_has_its_used_steps():
    fractions = levels("depth", [0.2, 0.4], "0-1", [3, 5])
    assert fractions.names[2] == "about 0.2"
    assert fractions.counts.tolist() == [0, 0, 3, 0, 5, *[0] * 6]
    hundred = levels("score", [20.0, 60.0, 90.0], "0-100")
    assert (len(hundred.names), hundred.possible) == (101, 11)


@on_sqlite
def test_a_judge_of_0_and_1_that_finds_every_bad_answer_has_not_collapsed(log):
    version, ids = log.version(), log.answers(40)
    log.say_all(version, ids, groundedness=1.0)
    log.say_all(version, ids[::3], groundedness=0.0)
    check = measured(log, "collapse")
    assert (check.state, check.notes[0].code) == ("ok", "scale_used")
    # Of two levels, not of eleven.
    assert check.notes[0].values["entropy"] == pytest.approx(0.93, abs=0.01)
    log.say_all(version, ids, groundedness=1.0)
    assert measured(log, "collapse").state == "warning"


@on_sqlite
def test_length_and_evidence_stand_beside_each_score_but_not_of_forgotten_answers(log):
    version = log.version()
    log.say(version, by_tenths(log.answers(2, group=1) + log.answers(1)))
    write_to(log.store, forget_response, "a2", actor="test")
    scored = record(log, version).scored
    assert sorted(scored.scores["groundedness"].tolist()) == [0.0, 0.2]
    assert scored.lengths.tolist() == [len("answer 1")] * 2
    assert len(set(scored.groups.tolist())) == 2


@on_sqlite
def test_users_are_down_or_up_and_those_between_say_nothing(log):
    version, (thumbs, stars) = log.version(), (FeedbackKind.THUMBS, FeedbackKind.STARS)
    given = [Feedback(*each) for each in ((thumbs, 0), (thumbs, 1), (stars, 3), (stars, 5))]
    answers = [*({"feedback": (each,)} for each in given), {}]
    log.say(version, by_tenths(log.answers_of(answers)))
    heard = record(log, version).feedback
    down = dict(zip(heard.scores["groundedness"].tolist(), heard.down.tolist(), strict=True))
    assert down == {0.0: True, 0.1: False, 0.3: False}


@on_sqlite
def test_controls_are_read_with_their_originals(log):
    version, other = log.version(), log.version("other")
    first, second = log.answers(2)
    (of_no_kind,) = log.answers(1, derived_from=first, kind=ResponseKind.CONTROL)
    assert record(log, version).controls == {}
    one, two = log.answers_of(
        {
            "external_id": f"a{number}#control-truncated-0",
            "derived_from": original,
            "kind": ResponseKind.CONTROL,
        }
        for number, original in enumerate((first, second), start=1)
    )
    qualities = {first: 4, one: 2, two: 1, of_no_kind: 1}
    log.say(version, {each: {"quality": quality} for each, quality in qualities.items()})
    log.say_all(other, [second], quality=4)
    recorded = record(log, version).controls["truncated"]
    assert (recorded.made, recorded.control_ids.tolist()) == (2, [one, two])
    # Another judge's verdict on the original is none of its own.
    assert np.array_equal(recorded.before["quality"], [4, np.nan], equal_nan=True)
    assert recorded.after["quality"].tolist() == [2, 1]


def of_kind(log, kind, name, **params):
    return write_to(log.store, ensure_version, JudgeVersion(name, kind, params=params))


@on_sqlite
def test_a_version_answers_for_its_own_repeats_alone(log):
    shaky, sound = (log.version(v=number) for number in (1, 2))
    for place, each in enumerate(log.answers(20)):
        for repeat in (0, 1):
            say(log, shaky, each, repeat, quality=3 if repeat and place % 2 else 4)
            say(log, sound, each, repeat, quality=4)
    assert record(log, shaky).repeats.same.tolist() == [True, False] * 10
    assert record(log, sound).repeats.same.tolist() == [True] * 20
    combined = of_kind(log, "repeats", "rag x2", members=[shaky.fingerprint], repeats=2)
    assert record(log, combined).repeats.same.tolist() == [True, False] * 10


@on_sqlite
def test_recorded_repeats_are_one_judge_with_a_version_for_each_rubric(log):
    one, two = (of_kind(log, "replay", "gpt", r=rubric) for rubric in (1, 2))
    a, b, c, d, e = log.answers(5)
    for version, response, values in (
        (one, a, (3, 3, 3)),
        (one, b, (3, 4, 3)),
        (two, c, (2, 2)),
        (log.version("gpt"), d, (1, 2)),
        (two, e, (3,)),
    ):
        for repeat, value in enumerate(values):
            given = {"score": value, "expected score": value + repeat / 100}
            say(log, version, response, repeat, scores=on_scale(given))
    say(log, two, e, 1, status=Status.UNPARSABLE)
    for version in (one, two):
        recorded = record(log, version).repeats
        same = dict(zip(recorded.response_ids.tolist(), recorded.same.tolist(), strict=True))
        assert same == {a: True, b: False, c: True}
        assert (recorded.measure, recorded.incomplete) == ("score", 1)


@on_sqlite
def test_health_and_repeats_give_the_same_figure(log):
    version = log.version(temperature=0.7)
    ids = log.answers_of({"group": place // 5} for place in range(40))
    for place, each in enumerate(ids):
        for repeat in range(3):
            # Groundedness is a tenth apart: near, and not the same.
            fields = {"groundedness": 0.6 if repeat and place % 4 == 0 else 0.5}
            if repeat and place % 10 == 3:
                fields = {"status": Status.REFUSED}
            say(log, version, each, repeat, **fields)
    check = measured(log, "self_consistency")
    main = read(log.store, repeats_report, version="rag").main
    assert check.statistic == main.self_consistency
    assert (main.items, main.incomplete) == (36, 4)
    assert main.self_consistency.value == pytest.approx(26 / 36)
    assert main.self_consistency.unit == "evidence group"
    assert note("incomplete_repeats", n=4) in check.notes


@on_sqlite
def test_requests_of_every_method_are_counted_by_how_they_ended(log):
    version = log.version()
    a, b = log.answers(2)
    log.say(version, {a: {"quality": 3}, b: {"status": Status.REFUSED}})
    compared(log, version, (Shown.AB, *A_OVERALL), (Shown.BA, StepRecord(Status.ERROR)))
    recorded = record(log, version)
    assert recorded.asked == {"ok": 2, "refused": 1, "error": 1}
    assert recorded.generators == {None: 1}
    assert recorded.pairs["overall"].both.tolist() == [False]
    assert not recorded.pairs["overall"].one_order


@on_sqlite
def test_mended_replies_are_counted(store):
    store_answers(store, 3)
    mended = '{"groundedness": 1, "quality": 4, "reasoning": "\\"detail\\": \\"mended: ",}'
    quoting = '{"reasoning": "\\"detail\\": \\"mended: ", "groundedness": 1, "quality": 4}'
    replies = {1: completion(mended), 2: completion(quoting)}
    with RecordingEndpoint(by_number(replies)) as endpoint:
        judge_pending(store, rag(endpoint))
    (version,) = read(store, list_versions)
    assert read(store, count_mended, version.id) == 1


def test_a_judge_of_pairs_alone_judged_what_their_sides_were_written_by(log):
    version = log.version("compare")
    compared(log, version, (Shown.AB, *A_OVERALL), model_b="phi-4")
    recorded = record(log, version)
    assert recorded.generators == {"gpt-4o": 1, "phi-4": 1}
    assert recorded.pairs["overall"].one_order


@on_sqlite
def test_costs_are_summed_over_answers_where_both_are_known(log):
    version = log.version()
    a, b, c = log.answers_of({"generator_cost": cost} for cost in (0.01, 0.03, None))
    log.say(version, {a: {"cost_micro": 2_000}, b: {}, c: {"cost_micro": 5_000}})
    log.say(
        version,
        {a: {"status": Status.ERROR, "cost_micro": 1_000}, b: {"quality": 2, "cost_micro": 6_000}},
    )
    costs = record(log, version).costs
    assert (costs.n, costs.upper, costs.lower, costs.upper_squared, costs.product) == pytest.approx(
        (2, 0.009, 0.04, 0.003**2 + 0.006**2, 0.003 * 0.01 + 0.006 * 0.03)
    )


def test_people_are_read_on_the_same_score_or_on_what_they_graded_instead(log):
    version = log.version()
    ids = log.answers_of({"generator_model": model} for model in ("gpt-4o", None, "gpt-4o"))
    log.say_all(version, ids[:2], groundedness=0.5, quality=3)
    log.reviews({ids[0]: {"quality": 4}, ids[1]: {"quality": 2}})
    recorded = record(log, version).graded
    graded = {
        name: (each.same, each.judge.tolist(), each.people.tolist())
        for name, each in recorded.items()
    }
    assert graded == {"quality": (True, [3, 3], [4, 2]), "groundedness": (False, [0.5] * 2, [4, 2])}
    quality = recorded["quality"]
    assert quality.model_names == ("", "gpt-4o")
    assert [quality.model_names[model] for model in quality.models] == ["gpt-4o", ""]


@on_sqlite
def test_a_label_is_read_where_the_judge_gave_it(log):
    version, scores_only = log.version(), log.version("scores")
    (each,) = log.answers(1)
    log.say_all(version, [each], label=BAD)
    log.say_all(scores_only, [each], groundedness=0.2)
    log.review(each, label=GOOD)
    graded = record(log, version).graded["label"]
    assert (graded.judge.tolist(), graded.people.tolist()) == ([0.0], [1.0])
    other = record(log, scores_only).graded
    # A label cut from the groundedness is the groundedness again.
    assert "label" not in other
    assert (other["groundedness"].people.tolist(), other["groundedness"].same) == ([1.0], False)


@on_sqlite
def test_labels_of_chosen_answers_decide_nothing_about_the_length(log):
    version, ids = log.version(), log.answers(240)
    flagged, drawn = ids[::3], ids[::4]
    log.say(version, labels_in(ids, flagged))
    log.flag(flagged, "low_groundedness")
    log.review_all([*flagged, *ids[1:30:3]], label=BAD)
    check = CHECKS["verbosity_at_equal_grades"](record(log, version))
    assert (check.state, check.statistic.value) == (State.NOT_MEASURED, None)
    few = note("few_equal_grades", n=0, least=30)
    assert check.notes == (few, note("only_sampled_grades", graded=90, n=0))
    log.flag(drawn, "random_sample")
    log.review_all([each for each in drawn if each not in flagged], label=BAD)
    of_labels = record(log, version).graded["label"]
    assert (len(of_labels.judge), of_labels.graded) == (60, 127)


def test_a_name_means_its_newest_version_and_nothing_stored_is_no_error(log):
    log.version(v=1)
    newest = log.version(v=2)
    report = measure_health(log.store, "rag")
    assert (report.fingerprint, report.warnings) == (newest.fingerprint, 0)
    assert {check.state.value for check in report.checks} == {"not_measured"}


@on_sqlite
def test_marks_read_off_two_stored_verdicts_are_no_requests(log):
    supreme, audited, ids = log.version("nli"), log.version("rag"), log.answers(3)
    log.say_all(supreme, ids, label=GOOD)
    log.say_all(audited, ids, label=BAD)
    audit_recorded(log.store, "nli", "rag")
    assert record(log, supreme).asked == {"ok": 3}


def kept_record(log, kept, version):
    mark = read(log.store, record_mark)
    return read(log.store, partial(kept.read, mark), version, shipped_models())


@on_sqlite
def test_a_record_is_read_anew_when_anything_of_it_may_have_changed(log):
    version, kept = log.version(), KeptRecords()
    ids = log.answers(3)
    log.say_all(version, ids, quality=4)
    first = kept_record(log, kept, version)
    assert kept_record(log, kept, version) is first
    log.say_all(version, ids[:1], quality=2)
    second = kept_record(log, kept, version)
    assert (first.asked, second.asked) == ({"ok": 3}, {"ok": 4})
    log.review_all(ids, quality=1)
    third = kept_record(log, kept, version)
    assert "quality" not in second.graded
    assert third.graded["quality"].people.tolist() == [1.0] * 3
    write_to(log.store, forget_response, "a3", actor="test")
    assert len(kept_record(log, kept, version).scored.lengths) == 2


BEGIN = text("SELECT pg_current_xact_id()")


@pytest.mark.parametrize("begun_first", ["early", "late"])
def test_a_row_that_is_committed_after_later_ones_changes_the_mark(postgres_store, begun_first):
    with (
        postgres_store.writing() as open_before,
        postgres_store.writing() as late,
        postgres_store.writing() as early,
    ):
        open_before.execute(BEGIN)
        if begun_first == "early":
            early.execute(BEGIN)
        store_responses(late, [Response("log", "late", "q", "a")])
        store_responses(early, [Response("log", "early", "q", "a")])
        early.commit()
        before = read(postgres_store, record_mark)
        late.commit()
        after = read(postgres_store, record_mark)
        assert before != after == read(postgres_store, record_mark)


def test_only_the_last_records_are_kept(log):
    kept = KeptRecords()
    versions = [log.version(f"judge {number}") for number in range(MOST + 1)]
    ids = log.answers(1)
    for each in versions:
        log.say_all(each, ids, label=GOOD)
    first, *_, last = [(each, kept_record(log, kept, each)) for each in versions]

    def is_kept(version, record):
        return kept_record(log, kept, version) is record

    assert (is_kept(*last), is_kept(*first)) == (True, False)


@pytest.mark.parametrize(
    ("model", "family"),
    [
        ("gpt-4o-2024-08-06", "OpenAI"),
        ("openai/GPT-4.1-mini", "OpenAI"),
        ("GPT-4/Vanilla_NoRules", "OpenAI"),
        ("o3-mini", "OpenAI"),
        ("anthropic/claude-sonnet-4-5", "Anthropic"),
        ("meta-llama/Llama-3.1-8B-Instruct", "Meta Llama"),
        ("llama3.1:8b", "Meta Llama"),
        ("mistral-7B-instruct", "Mistral"),
        ("deepseek-r1-distill-qwen-7b", "Qwen"),
        ("deepseek-chat", "DeepSeek"),
        ("phi-4", "Microsoft Phi"),
        ("track_a_deberta", None),
        ("my-gpt", None),
        ("", None),
        (None, None),
    ],
)
def test_families(model, family):
    assert shipped_models().family(model) == family


@pytest.mark.parametrize(
    ("model", "size"),
    [
        ("llama-2-70b-chat", 70),
        ("Qwen2.5-1.5B-Instruct", 1.5),
        ("mixtral-8x7b-instruct", 47),
        ("unheard-of-8x3b", 24),
        ("qwen3-30b-a3b", 30),
        ("gpt-4o", None),
        ("web-browser", None),
        (None, None),
    ],
)
def test_sizes(model, size):
    assert shipped_models().size(model) == size


@pytest.mark.parametrize(
    ("model", "other", "smaller"),
    [
        ("gpt-4o-mini", "gpt-4o-2024-08-06", True),
        ("gpt-4o", "gpt-4o-mini", False),
        ("gpt-4o", "gpt-4o", False),
        ("gpt-3.5-turbo-0613", "gpt-4-0613", True),
        ("llama-2-7b", "llama-2-13b", True),
        ("llama-2-70b", "gpt-4o", None),
        ("gpt-4o-mini", "gpt-4.1", None),
    ],
)
def test_which_is_smaller(model, other, smaller):
    assert shipped_models().smaller(model, other) is smaller


def test_a_table_of_ones_own_wins_and_leaves_the_rest(tmp_path):
    file = tmp_path / "models.toml"
    file.write_text(
        '[families]\n"house-*" = "OpenAI"\n"gpt-4o*" = "Ours"\n[sizes]\n"house-large" = 70\n[ladders]\n'
        '"House" = ["house-small", "house-big"]\n'
    )
    own = model_table(file)
    families = {"house-judge": "OpenAI", "gpt-4o-mini": "Ours", "claude-3-opus": "Anthropic"}
    families["gpt-4.1"] = "OpenAI"
    assert {model: own.family(model) for model in families} == families
    for smaller, larger in (("llama-2-7b", "house-large"), ("house-small", "house-big")):
        assert own.smaller(smaller, larger) is True
    assert model_table() is shipped_models()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("families = 3", "is invalid"),
        ('[families]\n"x" = 3', "x: not the name"),
        ('[sizes]\n"x" = "big"', "x: not a number"),
        ('[sizes]\n"x" = nan', "x: not a number"),
        ('[ladders]\n"x" = "y"', "x: not a list"),
        ("[familys]", "familys"),
        ("[", "is invalid"),
    ],
)
def test_a_table_that_cannot_be_used_says_why_in_one_line(tmp_path, text, said):
    file = tmp_path / "models.toml"
    file.write_text(text)
    with pytest.raises(BadInput, match=said) as raised:
        model_table(file)
    assert "tables [families]" in str(raised.value)


def test_a_table_that_is_not_there_is_named(tmp_path):
    with pytest.raises(BadInput, match=r"none\.toml"):
        model_table(tmp_path / "none.toml")
