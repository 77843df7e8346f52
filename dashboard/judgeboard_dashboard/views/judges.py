"""The page Judges: the health checks of one judge version, and the latest attempt to align it."""

from collections.abc import Sequence

import streamlit as st

from judgeboard.agreement.anchors import AnchorReport, ChangedAnchor, anchor_report, stored_anchors
from judgeboard.domain import Action
from judgeboard.errors import BadInput, JudgeboardError, NotFound
from judgeboard.health.record import Check, KeptRecords, LevelCounts, State
from judgeboard.health.report import (
    EMPTY,
    HealthPage,
    check_title,
    control_kinds,
    figure_words,
    health_page,
    health_sentence,
    judges_in_use,
    needing_control_answers,
)
from judgeboard.judges.kinds import JUDGES, OFFLINE
from judgeboard.methods.alignment import AlignmentPage, accept_candidate, alignment_page
from judgeboard.methods.candidate_prompts import CRITERIA
from judgeboard.methods.control_answers import (
    DEFAULT_N,
    MadeControlAnswers,
    controls_and_originals,
    make_control_answers,
)
from judgeboard.registry.methods import judge_sections, load_object
from judgeboard.reports.output import Column, Columns, Table
from judgeboard.runs.jobs import estimate_calls, judge_spec, open_jobs
from judgeboard.stats.paired import Conclusion
from judgeboard.store.filters import RowFilter
from judgeboard.store.judge_versions import StoredVersion
from judgeboard.store.responses import AnswerStart
from judgeboard.store.runs import AskMode
from judgeboard.store.verdict_pairs import JudgedText
from judgeboard_dashboard.evidence import show, tag
from judgeboard_dashboard.gate import may_open, permitted
from judgeboard_dashboard.session import (
    ask_reviewer,
    page,
    problem,
    reading,
    saving,
    seen,
    stacking_columns,
    store,
)
from judgeboard_dashboard.widgets.administration import show_prompt_difference
from judgeboard_dashboard.widgets.charts.scores import LEVELS_HEIGHT, levels_chart
from judgeboard_dashboard.widgets.confirmations import confirm, confirmation
from judgeboard_dashboard.widgets.filters import table_switch, version_field
from judgeboard_dashboard.widgets.first_steps import empty_page
from judgeboard_dashboard.widgets.navigation import Rows, follow, item, open_button, responses
from judgeboard_dashboard.widgets.rejudge_form import job_button
from judgeboard_dashboard.widgets.rejudge_form import lead as estimate_words
from judgeboard_dashboard.widgets.tables import figure, table
from judgeboard_dashboard.widgets.texts import (
    capital,
    caption,
    commands,
    count,
    heading,
    note,
    rule_words,
    sentence,
    when,
    with_database,
)
from judgeboard_dashboard.widgets.thresholds import score_meaning

MOST_CONTROLS = 1_000  # of a kind; the command makes more
FIELDS = ("version", "score", "table", "calibrate")
GROUPS = {
    "Warnings": State.WARNING,
    "Not conclusive": State.NOT_CONCLUSIVE,
    "No fault found": State.OK,
    "Does not apply": None,
    "Not measured": State.NOT_MEASURED,
}
RELATED = {
    "rejudge": ("Judge answers", ":material/gavel:"),
    "judging": ("Judging rules for new answers", ":material/autorenew:"),
    "thresholds": ("Thresholds", ":material/tune:"),
    "agreement": ("Agreement with people", ":material/handshake:"),
}
MARKS = {State.WARNING: "jb-check jb-warns", State.OK: "jb-check jb-sound"}
COLUMNS: Columns[tuple[Check, AnswerStart]] = {
    Column("Check", width=140): lambda line: check_title(line[0]),
    Column("Answer", width=170): lambda line: line[1].external_id,
    Column("Question", width=260): lambda line: line[1].question,
}


def judges() -> None:
    """Show the checks of a judge version, its scores, and example answers of its faults."""
    follow("judges", own=FIELDS)
    _related_pages()
    with reading() as connection:
        versions = judges_in_use(connection)
        if not versions:
            empty_page("judges", *EMPTY)
            return
        with st.container(key="filters_judges", horizontal=True, vertical_alignment="bottom", gap="small"):
            place = st.container(width=260)
            st.space("stretch")
            as_table = table_switch()
        version = version_field(place, versions) or versions[0]
        health = health_page(connection, version, _kept_records(store().shown_url))
    sentence(health_sentence(health.report))
    left, right = stacking_columns("judges", [1.35, 1])
    with left:
        _checks(health)
    with right:
        _scores(health, as_table=as_table)
        score_meaning(version, as_table=as_table)
        if version.kind not in OFFLINE:  # an offline judge is deterministic
            for section in judge_sections():
                load_object(section)(version)
        if version.kind in JUDGES.keys() - OFFLINE:
            anchors_section(version)
        _answers(health)
    alignment(version)


def _related_pages() -> None:
    """Show the links to what people look for here: pages about the work of judges that stand under other titles."""
    with st.container(key="judges_related", horizontal=True, gap="small"):
        for view, (label, icon) in RELATED.items():
            if may_open(view):
                open_button(label, Rows(view, {}), key=f"judges_open_{view}", type="tertiary", icon=icon)


@st.cache_resource(show_spinner=False)
def _kept_records(database: str) -> KeptRecords:  # noqa: ARG001 - the key
    """Return the cache of a database (by its address without the password), for all sessions of the server."""
    return KeptRecords()


def _checks(health: HealthPage) -> None:
    for title, state in GROUPS.items():
        checks = health.report.idle if state is None else health.report.in_state(state)
        if not checks:
            continue
        heading(f"{title}, {len(checks)}")
        made = needing_control_answers(checks) if state is State.NOT_MEASURED else ()
        with st.container(key=f"checks_{state.value if state else 'idle'}"):
            for check in checks:
                _check(check, command=check not in made)
                if made and check is made[-1]:
                    _control_answers(health, made)


def _control_answers(health: HealthPage, checks: Sequence[Check]) -> None:
    """Show how the control answers of these checks are made and judged: here, or in a terminal."""
    version, command = health.record.version, health.control_answers_command(checks)
    with reading() as connection:
        usable = judge_spec(connection, version) is not None
    if not usable or not permitted(Action.REJUDGE_MANY):
        caption("To make the control answers for all of these checks:" if len(checks) > 1 else None)
        _command(command)
        return
    caption(
        "Control answers are copies of logged answers, changed so that a judge should notice it, or should not. "
        "Making them makes no model calls. They appear in no queue and in no figure of the log."
    )
    kinds = control_kinds(checks)
    reviewer = ask_reviewer("Your name is stored with the control answers.")
    if reviewer is None:
        return
    with st.container(key="controls_make", horizontal=True, vertical_alignment="bottom", gap="small"):
        label = f"Control answers of each of {count(len(kinds), 'kind')}"
        number = st.number_input(label, 1, MOST_CONTROLS, DEFAULT_N, 10, key="controls_n", width=260)
        if st.button("Make control answers", key="controls_add", wrap=False):
            with saving("Not made"):
                made = make_control_answers(store(), kinds=kinds, n=int(number), actor=reviewer)
                confirm("controls", _made_words(made))
    confirmation("controls")
    try:
        with reading() as connection:
            where = controls_and_originals(connection, kinds)
    except BadInput:  # none yet
        return
    _judge_in_job(
        version,
        where,
        AskMode.PLAIN,
        key="controls",
        noun="answer",
        label="Judge the control answers",
        command="judgeboard test controls judge --help",
    )


def _made_words(made: Sequence[MadeControlAnswers]) -> str:
    new, known = (sum(numbers) for numbers in zip(*((each.made, each.known) for each in made), strict=True))
    none = [each.kind for each in made if not each.made + each.known]
    suitable = f" No logged answer is suitable for {', '.join(map(rule_words, none))}." if none else ""
    return f"Made: {count(new, 'control answer')}; {known:,} stored before.{suitable}"


def _check(check: Check, *, command: bool) -> None:
    figure_ = figure_words(check)
    head = tag(
        "div",
        tag("b", check_title(check)),
        tag("span", figure_, cls="jb-figure") if figure_ else None,
        cls="jb-check-head",
    )
    show(
        tag(
            "div",
            head,
            tag("div", commands(check.sentence), cls="jb-said"),
            cls=MARKS.get(check.state, "jb-check") if check.applies else "jb-check",
        )
    )
    if command and check.command and check.state is not State.OK:
        _command(check.command)


def _command(command: str) -> None:
    """Show a command; of several, each has a line of its own."""
    st.code(with_database(command).replace(" && ", "\n"), language=None, wrap_lines=True)


def _scores(health: HealthPage, *, as_table: bool) -> None:
    heading("Use of the scale")
    if not health.levels:
        caption("No logged answer has a score.")
        return
    names = list(health.levels)
    name = names[0]
    if len(names) > 1:
        name = st.selectbox("Score", names, key="score", bind="query-params", width=240) or name
    levels = health.levels[name]
    rows = Table(
        (Column("Level"), Column("Answers", "count")), tuple(zip(levels.names, levels.counts.tolist(), strict=True))
    )
    figure(
        lambda: levels_chart(levels, name),
        LEVELS_HEIGHT,
        rows,
        _targets(health.record.version.id, name, levels),
        key=f"levels_{health.record.version.id}_{names.index(name)}",
        says=f"Number of answers per level of {name} by {health.record.version.title}",
        as_table=as_table,
        under=("Click a level to list its answers.",) if name in {"groundedness", "quality"} else (),
    )


def _targets(version_id: int, name: str, levels: LevelCounts) -> list[Rows | None]:
    targets: list[Rows | None] = []
    for place, n in enumerate(levels.counts.tolist()):
        where = None
        if n and name == "quality":
            where = RowFilter(judge_version=version_id, min_quality=place + 1, max_quality=place + 1)
        elif n and name == "groundedness":
            # Scores are rounded to tenths: for example, 0.25 to just under 0.35 counts as 0.3.
            low, high = max(place / 10 - 0.05, 0), min(place / 10 + 0.04999, 1)
            where = RowFilter(judge_version=version_id, min_score=round(low, 5), max_score=round(high, 5))
        targets.append(None if where is None else responses(where))
    return targets


def _answers(health: HealthPage) -> None:
    if not health.answers:
        return
    heading("Answers with these faults")
    table(
        Table.of(health.answers, COLUMNS),
        [item(answer.response_id) for _, answer in health.answers],
        key="judge_answers",
        under=("The id of a control answer starts with the id of its original.", "Click a row to open the answer."),
        most=10,
    )


ANCHOR_COLUMNS: Columns[ChangedAnchor] = {
    Column("Answer", width=150): lambda changed: changed.external_id,
    Column("Question", width=230): lambda changed: changed.question,
    Column("Now", width=65): lambda changed: changed.now,
    Column("People", width=65): lambda changed: changed.people,
}


def anchors_section(version: StoredVersion) -> None:
    """Show the drift of a judge version on the anchors, and the button to judge them again."""
    heading("Anchors")
    try:
        with reading() as connection:
            anchors = stored_anchors(connection).response_ids
    except NotFound as error:
        caption("Anchors are a fixed set of answers. A judge that judges them repeatedly shows whether it drifts.")
        caption(capital(str(error)))
        return
    try:
        with reading() as connection:
            _anchor_report(anchor_report(connection, judge_version=version.id))
    except NotFound:
        caption(f"{version.title} has no usable verdict on the {count(len(anchors), 'anchor')} yet.")
    if permitted(Action.REJUDGE_MANY):
        _judge_in_job(
            version,
            RowFilter(response_ids=anchors),
            AskMode.ANCHORS,
            key="anchors",
            noun="anchor",
            label="Judge the anchors again",
            command="judgeboard test anchors judge --help",
        )


def _anchor_report(report: AnchorReport) -> None:
    if report.drift:
        lead, colon, rest = report.sentence.partition(": ")
        note(rest, lead=f"{lead}{colon}")
    else:
        caption(report.sentence)
    for comparison in report.comparisons:
        caption(*comparison.sentences)
    if not report.changed:
        caption(f"Run {report.run}, {when(report.at)}.", *report.warnings)
        return
    table(
        Table.of(report.changed, ANCHOR_COLUMNS),
        [item(changed.response_id) for changed in report.changed],
        key=f"anchors_{report.run}",
        name="anchors",
        under=(f"Verdicts that changed since the first judging, by run {report.run}.", *report.warnings),
        most=6,
    )


def _judge_in_job(
    version: StoredVersion, where: RowFilter, mode: AskMode, *, key: str, noun: str, label: str, command: str
) -> None:
    """Show the estimate and the button of a job in which a judge version judges these answers, or the open job.

    ``command`` does the same in a terminal, for a version that a job cannot use.
    """
    job = next((each for each in open_jobs(store()) if (each.mode, each.where.kinds) == (mode, where.kinds)), None)
    if job is not None:
        with st.container(horizontal=True, vertical_alignment="center", gap="small"):
            caption(f"A job is {job.state}: {job.asked:,} of {count(job.selected, noun)} judged.")
            open_button("Open job", Rows("rejudge", {"job": job.id}), key=f"{key}_job", type="tertiary")
        return
    try:
        with reading() as connection:
            spec = judge_spec(connection, version)
        if spec is None:
            caption(f"This judge version can judge the {noun}s only in a terminal: `{command}`")
            return
        estimate = estimate_calls(seen(), judge=spec, where=where, mode=mode)
    except JudgeboardError as error:
        problem(str(error))
        return
    caption(estimate_words(estimate))
    if estimate.calls:
        job_button(label, estimate, key=f"{key}_judge", spec=spec, where=where, mode=mode)


CHANGED_COLUMNS: Columns[JudgedText] = {
    Column("Answer", width=110): lambda each: each.external_id,
    Column("Question", width=200): lambda each: each.question,
    Column("Judge's reason", width=260): lambda each: each.reasoning,
}


def alignment(version: StoredVersion) -> None:
    """Show the latest look at held-out answers for a judge version. Leads can accept a candidate that is better."""
    if version.kind not in CRITERIA:
        return
    heading("Align")
    with reading() as connection:
        page = alignment_page(connection, version.id)
    if page is None:
        caption("A model can propose better instructions for this judge. Labels of people show if they are better.")
        command = f"judgeboard align --judge-version '{version.title}' --model MODEL"
        _command(command)
        return
    look = page.stored.look
    sentence(look.sentence)
    caption(
        f"{look.model} proposed this change. Held-out labels of {count(look.held_out, 'answer')} tested it, "
        f"{when(page.stored.at)}. Looks for this version: {page.looks}."
    )
    left, right = stacking_columns("alignment", [1, 1])
    with left:
        heading("Prompt")
        show_prompt_difference(page.before, page.after)
        _acceptance(page)
    with right:
        _changed_answers("Mended", look.mended, page)
        _changed_answers("Broken", look.broken, page)


def _changed_answers(title: str, ids: tuple[int, ...], page: AlignmentPage) -> None:
    heading(f"{title}, {len(ids):,}")
    shown = [page.answers[id_] for id_ in ids if id_ in page.answers]
    if not ids:
        caption("No held-out answer.")
    elif not shown:
        caption("You cannot see these answers before you have reviewed them.")
    else:
        links = [item(each.response_id) for each in shown]
        table(Table.of(shown, CHANGED_COLUMNS), links, key=f"align_{title.lower()}", most=6)


def _acceptance(page: AlignmentPage) -> None:
    if page.accepted is not None:
        caption(f"Accepted as {page.accepted}. To judge with it, open Judge answers under Runs.")
    elif page.stored.look.conclusion != Conclusion.BETTER:
        caption("This prompt was not shown to be better, so it cannot be accepted.")
    elif not permitted(Action.CHOOSE_JUDGE):
        caption("A lead accepts a prompt as a new judge version.")
    elif (person := ask_reviewer("Your name is stored with the new judge version.")) is not None:
        tip = "Stores a new judge version with this prompt. It judges nothing yet."
        if st.button(
            "Accept prompt", key="align_accept", type="primary", icon=":material/check:", help=tip, wrap=False
        ):
            with saving("Not accepted"):
                accept_candidate(store(), page.stored.id, person)


with page():
    judges()
