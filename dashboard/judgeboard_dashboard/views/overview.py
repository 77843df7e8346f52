"""The page Overview: the latest change, then five questions of a lead with the figure and the next step of each."""

from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Literal

import streamlit as st

from judgeboard.domain import Action, Estimate
from judgeboard.errors import NotFound
from judgeboard.formats.output import Column, Table
from judgeboard.health.failures import DAYS, Failure, failures
from judgeboard.measure.agreement_result import AgreementResult, shown_statistics
from judgeboard.measure.alarms import further_changes, open_alarms
from judgeboard.measure.corrected_trend import CorrectedTrend
from judgeboard.measure.news import COINCIDENCES, SHARES
from judgeboard.measure.notes import paragraph
from judgeboard.measure.rates import Rate
from judgeboard.measure.reliance import verdict
from judgeboard.measure.result import Result, Row
from judgeboard.measure.sample import count_logged
from judgeboard.measure.samples import judging_version
from judgeboard.measure.trend import Trend
from judgeboard.measure.trend_figures import ALL_ANSWERS
from judgeboard.reports.lead_questions import (
    beside_people,
    judge_share_note,
    labels_note,
    missed_types_note,
    misses_note,
    now_note,
    overlap_note,
    pace_note,
    reading_note,
    trust_note,
    unusable_note,
)
from judgeboard.store.clock import utc_now
from judgeboard.store.filters import RowFilter, from_dict
from judgeboard.store.open_flags import answers_done_by, open_counts
from judgeboard.store.overview import Overview, quadrant
from judgeboard.store.overview import overview as overview_of
from judgeboard.store.strata import review_time
from judgeboard.text import shortened
from judgeboard_dashboard.evidence import show_div
from judgeboard_dashboard.gate import may_open, permitted
from judgeboard_dashboard.review.queues import start_overlap, start_reviewing, your_queues
from judgeboard_dashboard.session import (
    button,
    change_words,
    current_reviewer,
    in_row,
    page,
    read,
    reading,
    stacking_columns,
)
from judgeboard_dashboard.widgets.filters import query_of, table_switch
from judgeboard_dashboard.widgets.first_steps import first_steps
from judgeboard_dashboard.widgets.log_figures import (
    agreement_on_label,
    bad_share,
    corrected_shares,
    kept_trend,
    signals,
)
from judgeboard_dashboard.widgets.navigation import (
    Rows,
    cell_clicked,
    filter_buttons,
    flagged,
    follow,
    open_button,
    plan_button,
    queue,
    responses,
    start_button,
)
from judgeboard_dashboard.widgets.notifications import show_alarms
from judgeboard_dashboard.widgets.tables import data_frame, figure, foot, show_rows
from judgeboard_dashboard.widgets.texts import (
    capital,
    caption,
    count,
    heading,
    note,
    rule_words,
    sentence,
)

FAILED = ["unparsable", "refused", "error"]
MOST_TYPES = 6
LONGEST_TYPE = 20  # characters of a query type in the head of a column
TALL = 190  # px of a chart
TWO_LINES = 124  # px of a chart with two intervals
OPEN_FLAGS = "open_flags"
FIGURE = "bad_answers"
NO_PAIRS = "This is known once people have labelled answers that the judge judged."
TREND = Rows("trends", {"show": "Bad, corrected"})
RECEIVED, RUNS, ALERTS = Rows("sources", {"part": "Receive"}), Rows("runs", {}), Rows("alerts", {})
# Kind of a failure -> the label of the button, and the page that shows more.
OF_FAILURES: Mapping[str, tuple[str, Rows | None]] = {
    "silent_source": ("Open sources", RECEIVED),
    "unused_traces": ("Open traces", RECEIVED),
    "alert": ("Open alert rules", ALERTS),
    "alert_rule": ("Open alert rules", ALERTS),
    "job": ("Open runs", RUNS),
    "run": ("Open runs", RUNS),
    "rule": ("Open judging rules", Rows("judging", {})),
    "push_target": ("Open push targets", Rows("sources", {"part": "Push"})),
}


def overview() -> None:
    """Show the first steps of a new database, then the news and the five questions, then the signals."""
    follow("overview", own=["tables"])
    reviewer = current_reviewer()
    now = utc_now()
    with reading() as connection:
        failure_list = failures(connection, now)
        version, time = judging_version(connection), review_time(connection)
    state = None
    if not first_steps():
        state = read(overview_of, None if reviewer is None else reviewer.id, now.date())
    if state is None or state.judge is None:
        _failures(failure_list)
        return
    with in_row("overview_head"):
        heading("What changed")
        table_switch()
    news_place = st.container(key="news", gap="small")
    first = st.container(key="question_good", gap="small")
    second, third = stacking_columns("questions_judge", 2)
    fourth, fifth = stacking_columns("questions_today", 2)
    # Quick queries come first. The change comes last, because the change takes longest after new
    # rows.
    with fourth:
        _to_read(state, time)
    with fifth:
        heading("5. What is getting worse, and what failed to arrive?")
        show_alarms()
        _failures(failure_list)
        further = st.container()
    rate = bad_share(version)
    with first:
        heading("1. How good are the answers now?")
        good = st.container()
        _by_type(rate, time)
    judge = None
    with suppress(NotFound):  # no judge has a verdict on a graded answer
        judge = agreement_on_label("judge")
    with second:
        _trust(judge, rate, time)
    with third:
        _misses(judge, rate, time)
    shares, latest = corrected_shares()
    with good:
        sentence(now_note(rate, shares.changes).text)
    with news_place:
        _news(shares, latest)
    with further:
        _worse(state, shares, nothing_failed=not failure_list)
    with fifth:
        _signals()


def _news(shares: CorrectedTrend, latest: Result | None) -> None:
    """Show the latest change with coincidences, or that no change is clear."""
    if latest is None:
        is_corrected = any(len(panel.points) > 1 for panel in shares.panels[:1])
        change = shares if is_corrected else kept_trend()
        sentence(change_words(change.changes.sentence))
        if any(panel.points for panel in change.panels[:1]):
            _trend_picture(change)
        open_button(
            "Open the trend",
            TREND if is_corrected else Rows("trends", {}),
            key="overview_trend",
            icon=":material/trending_up:",
        )
        return
    where = from_dict(dict(latest.about.where))
    sentence("", lead=latest.sentence)
    left, right = stacking_columns("pictures", [1, 1])
    with left:
        part = [
            each
            for each in shares.panels
            if each.query_type in (where.query_types or (ALL_ANSWERS,))
        ]
        _trend_picture(replace(shares, panels=tuple(part)))
    with right:
        heading("Share of bad answers")
        show_rows(latest.table(*SHARES), key="news_shares")
        if latest.caveats:
            heading("What else changed in these answers at that time")
            show_rows(latest.table(*COINCIDENCES), key="news_coincidences")
            caption(*latest.caveats)
    with in_row("news_actions"):
        open_button(
            "Open the answers since then",
            responses(where),
            key="news_answers",
            icon=":material/article:",
        )
        answers = read(count_logged, where)
        filter_buttons("news", "match", query_of(where), answers)
        open_button(
            "Open the trend",
            TREND,
            key="overview_trend",
            icon=":material/trending_up:",
            type="tertiary",
        )


def _by_type(rate: Rate, time: Estimate) -> None:
    """Show the judge's own share, the number of missing labels, and the query types."""
    if (of_judge := judge_share_note(rate)) is not None:
        sentence(of_judge.text)
    _plan(rate, time, key="rate_plan")
    shares = {name: rate.figure(FIGURE, name).value for name in rate.slices}
    # The query types with the largest shares. Query types without a share are left out.
    known_shares = {name: share for name, share in shares.items() if share is not None}
    types = sorted(known_shares, key=lambda name: (-known_shares[name], name))[:MOST_TYPES]
    if types and rate.share.value is not None and len(rate.slices) > 1:
        heading("By query type, over the whole time")
        lines = [("All", rate.share), *((name, rate.figure(FIGURE, name)) for name in types)]
        left_out = len(rate.slices) - len(types)
        _shares(
            lines,
            [None, *(responses(RowFilter(query_types=(name,))) for name in types)],
            key="overview_types",
            title="Bad answers",
            tall=max(TALL, 26 * len(lines) + 56),
            under=(
                "Numbers beside the names: labels that count.",
                f"Agreement shows {count(left_out, 'more query type')}." if left_out else None,
            ),
        )


def _trend_picture(change: CorrectedTrend | Trend) -> None:
    from judgeboard_dashboard.widgets.charts import trend as trend_charts  # slow to import

    if isinstance(change, CorrectedTrend):
        trend_charts.show_corrected(change, change.panels[:1], TALL)
    else:
        whole = change.panels[:1]
        trend_charts.show_trend(change, whole, whole, TALL)


def _plan(rate: Rate, time: Estimate, *, key: str) -> bool:
    """Show how many labels are missing, and the button that plans labels. Return False if no label is missing."""
    need = rate.to_label
    if need is None or need.hidden:
        return False
    with in_row(f"{key}_missing"):
        show_div("jb-say", labels_note(need.labels, time).text, width="content")
        plan_button(key=key)
    return True


def _trust(judge: AgreementResult | None, rate: Rate, time: Estimate) -> None:
    """Show how far judge and people agree, beside the agreement of people with each other."""
    heading("2. Can this judge be trusted?")
    people = agreement_on_label("people")
    if judge is None:
        sentence(f"{NO_PAIRS} {people.sentence}")
    else:
        notes, reliance = (
            (trust_note(judge), people.headline, beside_people(judge, people)),
            verdict(judge),
        )
        words = paragraph(notes)
        sentence(words, lead="" if reliance is None else reliance.text)
    agreements = {"Judge and people": judge, "Two people": people}
    lines = [
        (name, each.statistics["agreement"])
        for name, each in agreements.items()
        if each
        and ("agreement" in each.statistics and each.statistics["agreement"].value is not None)
    ]
    if lines:
        by_name = {
            "Judge and people": Rows("agreement", {}),
            "Two people": Rows("agreement", {"compare": "People"}),
        }
        targets = [by_name[name] for name, _ in lines]
        _shares(lines, targets, key="overview_agreement", title="Same label", tall=TWO_LINES)
    if judge is None or judge.to_label is not None:
        if _plan(rate, time, key="trust_plan"):
            return
    elif (overlap := overlap_note(people, time)) is not None:
        # Show how many answers need a second reviewer, and the button that starts such a queue.
        with in_row("overlap_missing"):
            show_div("jb-say", overlap.text, width="content")
            if permitted(Action.MAKE_QUEUES):
                button(
                    "New queue for two reviewers",
                    key="overlap_queue",
                    icon=":material/group_add:",
                    on_click=start_overlap,
                )
        return
    open_button(
        "Open agreement",
        Rows("agreement", {}),
        key="overview_agreement_open",
        icon=":material/handshake:",
    )


def _misses(judge: AgreementResult | None, rate: Rate, time: Estimate) -> None:
    """Show the share of bad answers that the judge misses, and the share of false alarms."""
    heading("3. What does the judge miss?")
    errors = {} if judge is None else shown_statistics(judge.statistics)
    if judge is None:
        sentence(NO_PAIRS)
    else:
        sentence(misses_note(judge).text)
        if (of_types := missed_types_note(rate)) is not None:
            sentence(of_types.text)
    name_by_title = {"Bad, missed": "missed", "Good, false alarm": "false_alarms"}
    lines = [
        (title, errors[name])
        for title, name in name_by_title.items()
        if name in errors and errors[name].value is not None
    ]
    if not lines:
        _plan(rate, time, key="misses_plan")
        return
    differ = Rows("agreement", {})
    _shares(lines, [differ] * len(lines), key="overview_misses", title="Share", tall=TWO_LINES)
    open_button(
        "See where they differ", differ, key="overview_differ", icon=":material/compare_arrows:"
    )


def _shares(
    lines: Sequence[tuple[str, Estimate]],
    targets: Sequence[Rows | None],
    *,
    key: str,
    title: str,
    tall: int,
    under: Sequence[str | None] = (),
) -> None:
    """Show shares with intervals, one line each."""
    from judgeboard_dashboard.widgets.charts import intervals  # slow to import

    slices = [Row.of(key, name, estimate) for name, estimate in lines]
    figure(
        lambda: intervals.whisker_chart(slices, f"{title}, 95 % interval", share=True),
        tall,
        Table(
            (Column(""), Column("n", "count"), Column(title, "share estimate")),
            tuple((n, e.n, e) for n, e in lines),
        ),
        targets,
        key=key,
        says=f"{title} with 95 % interval",
        under=under,
    )


def _to_read(state: Overview, time: Estimate) -> None:
    """Show the person's queues and the open flags, with the time that the answers take."""
    heading("4. Which answers should people read today?")
    reviewer = current_reviewer()
    with reading() as connection:
        counts = open_counts(connection)
        reviewed_answers = answers_done_by(connection, reviewer.id) if reviewer else 0
    has_queues = your_queues(reviewer)
    open_answers = state.today.open_answers - reviewed_answers
    takes = reading_note(open_answers, time).text if open_answers > 0 else None
    left_out = (
        f"The queue leaves out {count(reviewed_answers, 'answer')} that you have reviewed."
        if reviewed_answers
        else None
    )
    today, pace = state.today, pace_note(state)
    decision_words = "No decisions yet today."
    if today.decided:
        yours = "" if reviewer is None else f", {today.decided_by_me:,} of them yours"
        decision_words = f"{count(today.decided, 'decision')} today{yours}."
    words = " ".join(
        filter(None, (takes, decision_words, None if pace is None else pace.text, left_out))
    )
    sentence(words, lead=f"Open flags on {count(state.today.open_answers, 'answer')}.")
    if has_queues and open_answers > 0:
        start_button(
            "Start reviewing", flagged(None), key="overview_start", type="secondary", shortcut=None
        )
    elif not has_queues:
        start_reviewing()
    if counts:
        _open_flags(counts)


def _worse(state: Overview, shares: CorrectedTrend, *, nothing_failed: bool) -> None:
    """Show the changes that no open alarm names, and the judge's unusable replies; if all is well, say so."""
    alarms = read(open_alarms)
    changes = [each for each in further_changes(shares, alarms) if change_words(each)]
    for place, change in enumerate(changes):
        _problem("Change.", change, "Open the trend", TREND, key=f"change_{place}")
    unusable = unusable_note(state.judged)
    if unusable is not None and state.judge is not None:
        replies = responses(RowFilter(statuses=tuple(FAILED), judge=state.judge))
        _problem(
            f"Unusable replies of {state.judge}.",
            unusable.text,
            "Open them",
            replies,
            key="unusable",
        )
    if not (alarms or changes or unusable) and nothing_failed:
        sentence(change_words(f"No alarm is open, and nothing failed in the last {DAYS} days."))
    if not alarms and not changes:
        caption(
            "`judgeboard trends watch` raises an alarm if the share of bad answers, the judge or its model changes."
        )


def _failures(failure_list: Sequence[Failure]) -> None:
    """Show what failed to arrive or to run. Each failure has a button to a page with more."""
    for place, each in enumerate(failure_list):
        label, rows = OF_FAILURES.get(each.kind, ("", None))
        query = {"source": each.subject} if each.kind in {"silent_source", "unused_traces"} else {}
        if each.kind == "unused_traces":
            query["unused"] = "true"
        target = None
        if rows is not None and may_open(rows.page):
            target = Rows(rows.page, {**rows.query, **query})
        _problem(each.lead, each.words, label, target, key=f"failure_{place}")


def _problem(lead: str, words: str, label: str, target: Rows | None, *, key: str) -> None:
    with in_row(f"problem_{key}", wrap=False):
        note(words, lead=lead)
        if target is not None:
            open_button(label, target, key=f"{key}_open")


def _open_flags(counts: Sequence[tuple[str, str, int]]) -> None:
    """Show ``counts`` (rule, query type, answers): one row per rule, one column for each of six query types."""
    rules, types, rows = _totals(counts, 0), types_of(counts), rows_of(counts)
    names = {f"type_{place}": name for place, name in enumerate(types)}
    targets: list[dict[str, Rows]] = [
        {
            "rule": queue(rule=rule),
            "all": queue(rule=rule),
            **{column: queue(rule=rule, query_type=name) for column, name in names.items()},
        }
        for rule, _ in rules
    ]
    data_frame(
        rows,
        key=OPEN_FLAGS,
        modes=["single-cell"],
        on_select=cell_clicked(OPEN_FLAGS, targets),
        columns={
            "rule": st.column_config.TextColumn("Rule", width=140),
            # Query types come from the log. As column names, query types could collide with each
            # other or with the names of this page.
            **{
                column: st.column_config.NumberColumn(
                    shortened(name, LONGEST_TYPE) or " ", format="localized"
                )
                for column, name in names.items()
            },
            "all": st.column_config.ProgressColumn(
                "All types", min_value=0, max_value=rules[0][1], format="localized", width=150
            ),
        },
    )
    left_out = len(_totals(counts, 1)) - len(types)
    foot(
        Table((Column("rule"), Column("query_type"), Column("answers", "integer")), tuple(counts)),
        "open_flags",
        "Answers with an open flag, by rule. Click a number to open them in the queue.",
        f"The last column includes {count(left_out, 'more query type')}." if left_out else None,
    )


def types_of(counts: Sequence[tuple[str, str, int]]) -> list[str]:
    """Return the six most frequent query types, the most frequent first."""
    return [name for name, _ in _totals(counts, 1)[:MOST_TYPES]]


def rows_of(counts: Sequence[tuple[str, str, int]]) -> Table:
    """Return one row per rule; a cell without open flags is empty."""
    flags_of = {(rule, query_type): flags for rule, query_type, flags in counts}
    types = types_of(counts)
    numbers = (
        Column(name, "count") for name in (*(f"type_{place}" for place in range(len(types))), "all")
    )
    rows = (
        (capital(rule_words(rule)), *(flags_of.get((rule, name)) for name in types), total)
        for rule, total in _totals(counts, 0)
    )
    return Table((Column("rule"), *numbers), tuple(rows))


def _totals(counts: Sequence[tuple[str, str, int]], place: Literal[0, 1]) -> list[tuple[str, int]]:
    """Return the number of answers for each rule (0) or query type (1), the largest number first."""
    totals = Counter[str]()
    for count_ in counts:
        totals[count_[place]] += count_[2]
    return sorted(totals.items(), key=lambda total: (-total[1], total[0]))


def _signals() -> None:
    counts = quadrant(read(count_logged), signals())
    heading("Two signals: judge and users")
    from judgeboard_dashboard.widgets.charts import (
        grid,
    )  # slow to import: the figures above do not wait

    sides = grid.quadrant_sides(counts)
    figure(
        lambda: grid.quadrant_chart(counts),
        grid.QUADRANT_HEIGHT,
        Table(
            (Column("Judge"), Column("User"), Column("Answers", "count")),
            tuple(
                (grid.JUDGE[judge], grid.USER[user], counts.get((judge, user), 0))
                for judge, user in sides
            ),
        ),
        [responses(RowFilter(judge_side=judge, user=user)) for judge, user in sides],
        key="signals",
        says="Answers by the signals of judge and user",
        under=(
            "A problem is corroborated if both judge and user report it. It is confirmed if a person confirms it.",
        ),
        chart_only=("Click a cell to open its answers.",),
    )


with page():
    overview()
