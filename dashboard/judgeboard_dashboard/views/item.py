"""The Item page: review one answer of a list, or the items of a queue, one after the other."""

from collections.abc import Collection, Sequence
from functools import partial
from typing import Any

import streamlit as st

from judgeboard.domain import Action, Decision, FlagState, ResponseKind
from judgeboard.registry.methods import load_object, registrations
from judgeboard.reviews.decisions import implying_rules
from judgeboard.reviews.queue_work import nothing_left
from judgeboard.settings.model import Thresholds
from judgeboard.store.clock import utc_now
from judgeboard.store.filters import RowFilter
from judgeboard.store.items import Item, ItemFlag, find_responses, load_item, response_of_flag
from judgeboard.store.listing import Neighbours
from judgeboard.store.open_flags import neighbours, queue_page
from judgeboard.store.reviews import comments_on
from judgeboard.store.settings import thresholds
from judgeboard.store.tables import Reviewer
from judgeboard.store.verdicts import RubricScores, load_rubric_scores
from judgeboard_dashboard.evidence import Html, join, show, show_div, tag
from judgeboard_dashboard.gate import permitted
from judgeboard_dashboard.review.actions import (
    ItemActions,
    QueueActions,
    review_skipped,
    undo_in_queue,
    undo_review,
)
from judgeboard_dashboard.review.claims import NumberedClaim
from judgeboard_dashboard.review.comments import comments_block
from judgeboard_dashboard.review.drafts import (
    EDIT,
    Draft,
    ReviewSession,
    UndoableReview,
    keep_draft,
    own_review_to_change,
    review_session,
    stored_review,
)
from judgeboard_dashboard.review.fields import SCALES, item_grades, queue_grades
from judgeboard_dashboard.review.leases import (
    READ_AHEAD,
    QueueSession,
    ShownItem,
    keep_leases,
    queue_session,
    release_leases,
)
from judgeboard_dashboard.review.queues import your_queues
from judgeboard_dashboard.review.schema_form import rubric_schema
from judgeboard_dashboard.review.screen import (
    Choice,
    appear,
    bar,
    choice,
    decision_choices,
    head_line,
    implied_labels,
    implied_words,
    move,
    name_form,
    problem_question,
    side_choices,
    take_input,
    undo_choice,
)
from judgeboard_dashboard.review.signals import (
    decided_words,
    primary_verdict,
    queue_pane,
    scales_block,
    signals_pane,
)
from judgeboard_dashboard.review.texts import answer_panes, item_texts, pair_block
from judgeboard_dashboard.session import (
    current_reviewer,
    in_row,
    open_rows,
    page,
    read,
    reading,
    store,
)
from judgeboard_dashboard.widgets.filters import (
    Chosen,
    filter_in_address,
    filter_sentence,
    query_of,
)
from judgeboard_dashboard.widgets.first_steps import no_open_flags
from judgeboard_dashboard.widgets.keys import Turn
from judgeboard_dashboard.widgets.navigation import Rows, flagged, number_in_address
from judgeboard_dashboard.widgets.texts import SORTS, capital, count, rule_words, when

DEFAULT_SORT = next(iter(SORTS))
OWN_DECISIONS: dict[str, str] = {
    Decision.CONFIRM: "confirmed",
    Decision.DISMISS: "dismissed",
    Decision.UNSURE: "were unsure about",
}
LABELLED: dict[Decision | None, str] = {
    None: "Not decided yet",
    Decision.CONFIRM: "A problem",
    Decision.DISMISS: "No problem",
}
"""What stands over the button that saves, by the decision that the label makes."""
KINDS: dict[str, str] = {
    ResponseKind.REGENERATED: "generated from a prompt or another answer",
    ResponseKind.CONTROL: "control answer",
    ResponseKind.CANDIDATE: "answer for a suite",
}


def review_item() -> None:
    """Show the answer that the address names, or the first open flag of the list."""
    session, reviewer = review_session(), current_reviewer()
    where = filter_in_address()
    sort, query = st.query_params.get("sort", DEFAULT_SORT), query_of(where)
    if sort in SORTS and sort != DEFAULT_SORT:
        query["sort"] = [sort]
    listing = Chosen(where, sort if sort in SORTS else DEFAULT_SORT, query)
    take_input(session)
    if session.goal is not None:
        _set_address(session.goal)
        session.goal = (
            None  # only now: if a run is interrupted earlier, the next run still needs the goal
        )
    flag_id, name = (
        number_in_address("flag", "flag"),
        st.query_params.get("response") or st.query_params.get("id"),
    )
    from_list = flag_id is not None or not name
    reviewer_id, response_id = None if reviewer is None else reviewer.id, 0
    with reading() as connection:
        if not from_list and name:
            (response_id, source), *others = find_responses(connection, name)
            if others:
                number = len(others) + 1
                session.say(
                    f"{number} sources have the id {name}. This is the newest answer, from {source}."
                )
            if name != str(response_id):
                st.query_params["response"] = str(response_id)
        if from_list and flag_id is None:
            first = queue_page(
                connection, listing.where, listing.sort, limit=1, reviewer_id=reviewer_id
            )
            if not first.lines:
                _list_end(
                    session, reviewer, others=queue_page(connection, RowFilter(), limit=1).total
                )
                return
            flag_id = first.lines[0].flag_id
            _set_address(flagged(flag_id))
        response_id = response_id if flag_id is None else response_of_flag(connection, flag_id)
        item = load_item(connection, response_id, own_first=permitted(Action.REVIEW))
        near = (
            None
            if flag_id is None
            else neighbours(connection, listing.where, listing.sort, flag_id, reviewer_id)
        )
        limits = thresholds(connection)
    # The flag in the address, if it is open now or was open before on this screen; otherwise the
    # worst open flag or a decided flag. After the answer was judged again, a flag that this
    # superseded is shown only if no other flag is open.
    flags = {
        each.id: each
        for each in item.flags
        if each.state != FlagState.SUPERSEDED or each.id == flag_id
    }
    flag = flags.get(flag_id or 0)
    if flag is None or not (flag.state == FlagState.OPEN or _was_open(session, flag)):
        flag = item.flag or flag or next(iter(flags.values()), None)
    place = flag_id if from_list else None
    _draw_item(session, reviewer, listing, item, flag, near, limits, place=place)


def _was_open(session: ReviewSession, flag: ItemFlag) -> bool:
    return flag.id in session.seen_open and flag.state != FlagState.SUPERSEDED


def _position(
    item: Item, near: Neighbours | None, place: int | None, words: str
) -> tuple[str, Html] | None:
    """Return the position in a list as the title and as the start of the head line; None if the item has none.

    An answer that was judged again keeps the position of the flag ``place`` that this superseded.
    """
    judged_again = any(
        flag.id == place and flag.state == FlagState.SUPERSEDED for flag in item.flags
    )
    if near is None or not (near.listed or judged_again):
        return None
    if not near.listed and item.flag is None:
        return item.response.external_id, tag("span", f"no longer in “{words}” ({near.total:,})")
    title = f"{near.position:,} of {near.total:,}"
    return title, tag("span", tag("b", f"{near.position:,}"), f" of {near.total:,} in “{words}”")


def _draw_item(
    session: ReviewSession,
    reviewer: Reviewer | None,
    listing: Chosen,
    item: Item,
    flag: ItemFlag | None,
    near: Neighbours | None,
    limits: Thresholds,
    *,
    place: int | None,
) -> None:
    if flag is not None and flag.state == FlagState.OPEN:
        session.seen_open.add(flag.id)
    old_review = own_review_to_change(session, reviewer, item)
    from_own = old_review is not None and EDIT in st.query_params
    decides = (
        flag is not None and _was_open(session, flag)
        if old_review is None
        else old_review.decision is not None
    )
    flag_ids = [each.id for each in item.flags if each.state == FlagState.OPEN]
    decided_ids: Collection[int] = ()
    if old_review is not None:
        decided_ids = next(
            (review.flag_ids for review in item.reviews if review.id == old_review.id), ()
        )
    more_flags = old_review is not None and not from_own and not set(flag_ids) <= set(decided_ids)
    chooses = decides and len(flag_ids) > 1 and (old_review is None or more_flags)
    alone = session.alone if chooses and session.alone in flag_ids else None
    open_flag = alone or (flag.id if flag is not None and decides else None)
    if old_review is None or more_flags:
        decided_ids = [alone] if alone else flag_ids
    rules = {each.rule for each in item.flags if each.id in decided_ids}
    row = f"r{item.response_id}"
    row += "" if open_flag is None else f"f{open_flag}{'' if alone is None else 'a'}"
    row += "" if old_review is None else f"e{old_review.id}"
    actions = ItemActions(
        store=store(),
        session=session,
        reviewer=reviewer,
        row=row,
        request_key=session.request_key(row),
        subject=item.response_id,
        name=item.response.external_id,
        seconds=appear(session, item.response_id, row, item_texts(item.response)),
        judgment=primary_verdict(item),
        threshold=limits.cuts.of(item.response.query_type),
        listing=listing,
        flag_id=open_flag,
        alone=alone is not None,
        place=None if from_own else place,
        changes=None if old_review is None else old_review.id,
        more_flags=more_flags,
        from_own=from_own,
        seconds_before=0.0 if old_review is None else old_review.seconds or 0.0,
        implies=_implies(reviewer, rules),
    )
    keep_draft(session, reviewer, item.response_id)
    if old_review is None:
        actions.draft.schema = None  # the draft may have the schema of a queue
    with reading() as connection:
        rubric = load_rubric_scores(connection, item.response_id)
        if item.hidden.people:
            rubric = RubricScores(rubric.verdicts)
        comments = comments_on(
            connection,
            item.response_id,
            None if reviewer is None else reviewer.id,
            own_first=permitted(Action.REVIEW),
        )
    places = [place for each in registrations() for place in each.item_sections]
    sections = [load_object(place).read(item.response_id) for place in places]
    own = [
        review
        for review in item.reviews
        if reviewer and review.stands and review.reviewer_id == reviewer.id
    ]
    undoable = session.done[-1] if session.done else None
    if old_review is not None:
        undoable = UndoableReview(
            old_review.id, item.response_id, Draft.of(old_review.grade), flag_id=open_flag
        )
    elif undoable is None and own:
        _, draft = stored_review(own[0].id)
        undoable = UndoableReview(
            own[0].id, item.response_id, draft, flag_id=next(iter(own[0].flag_ids), None)
        )
    title, position = _position(
        item,
        near,
        place,
        "all open flags" if listing.where == RowFilter() else filter_sentence(listing.where),
    ) or (item.response.external_id, None)
    head_line(
        actions,
        title,
        position,
        [
            KINDS.get(item.response.kind),
            "not flagged"
            if flag is None and item.response.kind == ResponseKind.LOG and not item.hidden
            else None,
            item.response.query_type,
            f"model {model}" if (model := item.response.generator_model) else None,
            f"asked {when(item.response.asked_at)}" if item.response.asked_at else None,
        ],
        [
            *([_flag_choice(actions, item, flag_ids)] if chooses else []),
            undo_choice(undoable, partial(undo_review, store(), session, reviewer), actions),
            _to_flag(actions, "previous", "K", near.previous if near else None),
            _to_flag(actions, "next", "J", near.next if near else None),
            move("list", "List", "L", partial(actions.go, Rows("open_flags", listing.query))),
        ],
    )
    answer_panes(
        actions,
        item,
        lambda claims: signals_pane(
            item,
            claims,
            actions.threshold,
            rubric,
            flag_id=open_flag,
            new_flags=session.new_flags(item.response_id, [flag.id for flag in item.flags]),
            comments=comments_block(comments),
            scales=scales_block(SCALES),
        ),
        own_marks=next(
            (review.grade.claim_marks for review in own if review.grade.claim_marks), ()
        ),
        link=join(links)
        if (links := [link for each in sections if (link := each.link())])
        else None,
        comments=comments,
    )
    for section in sections:
        section.show(actions)
    question, choices = _item_choices(actions, item, flag, rules, decides=decides)
    bar(
        actions,
        question,
        choices,
        grades=partial(item_grades, actions, rubric),
        form=name_form if reviewer is None else None,
    )


def _item_choices(
    actions: ItemActions,
    item: Item,
    flag: ItemFlag | None,
    rules: Collection[str],
    *,
    decides: bool,
) -> tuple[str, list[Choice]]:
    changes = actions.changes is not None
    if decides:
        implied = implied_labels(actions)
        own = next((review for review in item.reviews if review.id == actions.changes), None)
        question = problem_question(actions.draft, rules)
        if own is not None and own.decision:
            what, ask = (
                ("one flag", "Decide all?")
                if actions.more_flags
                else ("this", "Change your review?")
            )
            question = f"You {OWN_DECISIONS[own.decision]} {what} on {when(own.at)}. {ask}"
        return question + implied_words(implied), decision_choices(
            actions.decide, flag=True, implied=implied
        )
    question = (
        "Change your grade" if changes else decided_words(item, flag) or "No open flag to decide"
    )
    save = choice(
        name="save",
        label="Save grade",
        act=partial(actions.decide, None),
        key="Ctrl+Enter",
        icon=":material/save:",
        tip="Saves quality, groundedness, label, note and corrected answer as your review",
    )
    return question, [save]


def _implies(reviewer: Reviewer | None, rules: Collection[str]) -> bool | None:
    """Return whether decisions on flags of these rules imply a label; None if the reviewer must be asked first."""
    if reviewer is None:
        return False
    implying, must_ask = read(implying_rules, reviewer.id)
    implies = not set(implying).isdisjoint(rules)
    return None if must_ask and implies else implies


def _flag_choice(actions: ItemActions, item: Item, flag_ids: Sequence[int]) -> Choice:
    rules = {flag.id: flag.rule for flag in item.flags}
    rule = rules.get(actions.flag_id or 0, "") if actions.alone else None
    return choice(
        name="flag",
        label=f"All {len(flag_ids)} flags" if rule is None else f"Only {rule_words(rule)}",
        act=partial(actions.next_flag, flag_ids),
        key="E",
        turn=Turn.GIVE,
        icon=":material/filter_list:",
        tip="A decision applies to all open flags of the answer. Choose one flag to decide only that flag.",
        is_chosen=rule is not None,
    )


def _to_flag(actions: ItemActions, name: str, key: str, flag_id: int | None) -> Choice:
    return move(
        name, capital(name), key, None if flag_id is None else partial(actions.go, flagged(flag_id))
    )


def _set_address(goal: Rows) -> None:
    for name in ("flag", "response", "id", EDIT):
        if name in goal.query:
            st.query_params[name] = goal.query[name]
        else:
            st.query_params.pop(name, None)


def _show_message(session: ReviewSession) -> None:
    if session.message:
        show_div("jb-note" if session.refused else "jb-say", session.message)


def _list_end(session: ReviewSession, reviewer: Reviewer | None, others: int) -> None:
    _show_message(session)
    if not others:
        if not your_queues(reviewer):
            no_open_flags()
    else:
        start = (
            "That was the last answer for this filter."
            if session.done
            else "No open flag matches this filter."
        )
        more = f"{count(others, 'other answer')} {'has' if others == 1 else 'have'} open flags."
        show_div("jb-empty", f"{start} {more}")
    with in_row():
        if others and st.button(
            "To the queue", key="end_to_queue", shortcut="Enter", type="primary"
        ):
            session.say("")
            open_rows("open_flags")
        if session.done:
            undo_choice(session.done[-1], partial(undo_review, store(), session, reviewer))(
                quiet=True
            )


def review_queue(name: str) -> None:
    """Show the queue item that the reviewer has leased. After each decision, show the next item."""
    reviewer = current_reviewer()
    if reviewer is None:
        name_form()
        return
    session = review_session()
    work = queue_session(store(), name, reviewer)
    take_input(session)
    session.goal = None
    work.note_activity(utc_now())
    work.lease_items(1)
    if work.current is None:
        _queue_end(work, session)
        return
    again = session.again.get(work.current.subject)
    if again is not None and again.unread:
        work.current.reread(store(), reviewer)
        again.unread = False
    _draw_queue_item(work, work.current, session, reviewer)
    # The screen is drawn, so the reviewer does not wait for these calls.
    work.lease_items(READ_AHEAD)
    keep_leases(work)


def _draw_queue_item(
    work: QueueSession, shown_item: ShownItem, session: ReviewSession, reviewer: Reviewer
) -> None:
    item, pair, reveal = shown_item.item, shown_item.pair, work.reveal
    if reveal is None:
        keep_draft(session, reviewer, shown_item.subject)
    elif reveal.differs(session.draft(shown_item.subject)):
        reveal.changing = True
    if item is not None:
        session.draft(shown_item.subject).schema = work.schema or rubric_schema(
            work.queue, shown_item.rubric.words
        )
    row = f"q{shown_item.lease.item_id}{'' if reveal is None else 'c' if reveal.changing else 'r'}"
    texts: tuple[str | None, ...] = () if item is None else item_texts(item.response)
    texts = (
        texts if pair is None else (pair.question, pair.left, pair.right, *(pair.passages or ()))
    )
    seconds = appear(session, shown_item.subject, row, texts)
    shown_item.shown = True
    shown_item.expiry_shown = reveal is None and shown_item.expired(utc_now())
    blind = item is None or item.hidden.judge
    implies = work.queue.implied_labels
    if implies is None:
        grades_label = "label" in work.queue.grades or work.schema is not None
        implies = (
            False
            if item is None or blind or grades_label
            else _implies(reviewer, {each.rule for each in item.flags})
        )
    actions = QueueActions(
        store=store(),
        session=session,
        reviewer=reviewer,
        row=row,
        request_key=session.request_key(row),
        subject=shown_item.subject,
        name=shown_item.name,
        seconds=seconds,
        judgment=None if item is None or blind else primary_verdict(item),
        threshold=shown_item.threshold,
        implies=implies,
        work=work,
        leased=shown_item,
    )
    _queue_head(actions, item)
    _show_feedback(work)
    if item is not None:
        comments = () if item.hidden else read(comments_on, item.response_id, reviewer.id)

        def side(claims: Sequence[NumberedClaim]) -> tuple[Html, Html]:
            first, rest = queue_pane(work.queue, shown_item, reveal, claims)
            return first, join((rest, comments_block(comments)))

        answer_panes(
            actions,
            item,
            side,
            rules=work.queue,
            correctable=reveal is None or reveal.changing,
            comments=comments,
        )
    elif pair is not None:
        with st.container(key=f"pair_{shown_item.lease.item_id}"):
            if work.queue.guidelines:
                guidelines = tag("div", work.queue.guidelines, cls="jb-reason")
                show(
                    tag(
                        "details",
                        tag("summary", "How to judge these pairs"),
                        guidelines,
                        cls="jb-pane",
                    )
                )
            show(
                pair_block(pair.question, pair.options, pair.passages or (), pair.left, pair.right)
            )
    question, choices = _queue_choices(actions)
    bar(
        actions,
        question,
        choices,
        grades=None if item is None else partial(queue_grades, actions, work.queue, item.response),
    )


def _queue_head(actions: QueueActions, item: Item | None) -> None:
    work, subject = actions.work, item.response if item else actions.leased.pair
    first, _, rest = work.position.partition(" ")
    model = None if item is None else item.response.generator_model
    undoable = work.undoable[-1] if work.undoable else None
    is_reviewed = work.reveal is not None
    skip = choice(
        name="skip",
        label="Skip",
        act=actions.skip,
        key="J",
        tip="Another reviewer gets it. The note is the reason.",
        disabled=is_reviewed,
    )
    decline = choice(
        name="decline",
        label="Decline",
        act=partial(actions.skip, declined=True),
        tip="It cannot be judged: no other reviewer gets it.",
        disabled=is_reviewed,
    )
    head_line(
        actions,
        work.position,
        tag("span", tag("b", first), f" {rest} in “{work.queue.name}”"),
        [subject.query_type if subject else None, f"model {model}" if model else None],
        [
            undo_choice(undoable, partial(undo_in_queue, store(), actions.session, work), actions),
            skip,
            decline,
            move("leave", "Leave", "L", partial(actions.go, Rows("queues", {}))),
        ],
    )


def _queue_choices(actions: QueueActions) -> tuple[str, list[Choice]]:
    work, shown_item = actions.work, actions.leased
    if shown_item.expiry_shown:
        again = choice(
            name="again",
            label="Lease it again",
            act=actions.lease_again,
            key="Y",
            icon=":material/front_hand:",
        )
        return "Your lease ended, because you were not active.", [again]
    if shown_item.pair is not None:
        enabled = shown_item.pair.left is not None and shown_item.pair.right is not None
        return "Which answer is better?", side_choices(
            actions.decide, shown_item.pair.shown, enabled=enabled
        )
    changes = work.reveal is not None and work.reveal.changing
    if (work.reveal is None or changes) and not actions.asks_decision:
        save = choice(
            name="save",
            label="Save",
            act=actions.save,
            key="Y",
            icon=":material/save:",
            tip="Your label, or the field of the schema for it, makes the decision",
        )
        unsure = decision_choices(actions.decide, flag=False, decisions=(Decision.UNSURE,))
        return LABELLED[actions.decision()], [save, *unsure]
    if work.reveal is None:
        implied = implied_labels(actions)
        question = f"{problem_question(actions.draft, actions.rules)}{implied_words(implied)}"
        return question, decision_choices(actions.decide, flag=False, implied=implied)
    if changes:
        return "You have seen the judge. Does the answer have a problem?", decision_choices(
            actions.decide, flag=False
        )
    return "The judge is shown now. Keep your grade?", [
        choice(
            name="keep",
            label="Keep mine",
            act=partial(actions.decide, None),
            key="Y",
            icon=":material/check:",
            tip="Keeps your grade now that you have seen the judge",
        ),
        choice(
            name="change",
            label="Change it",
            act=actions.change,
            key="E",
            turn=Turn.GIVE,
            icon=":material/edit:",
            tip="Stores a second grade. Your first grade is the one that counts.",
        ),
    ]


def _show_feedback(work: QueueSession) -> None:
    if work.queue.training:
        words = (
            work.feedback
            or "Training. The gold label of each item is shown here after your review."
        )
        show_div("jb-note jb-training", words, role="status")


def _queue_end(work: QueueSession, session: ReviewSession) -> None:
    st.set_page_config(page_title="Queue done · Judgeboard", layout="wide")
    _show_message(session)
    _show_feedback(work)
    sentence, reason, skipped = f"Nothing is left for you in “{work.queue.name}”.", None, 0
    if work.closed:
        sentence = f"{capital(work.closed)}."
    else:
        nothing = read(nothing_left, work.queue, work.reviewer.id)
        if nothing is not None:
            reason, skipped = nothing.note.text, nothing.skipped
    show_div("jb-empty", tag("div", sentence), tag("div", reason) if reason else None)
    main: dict[str, Any] = {"shortcut": "Enter", "type": "primary"}
    planned = work.queue.of_rate
    with in_row():
        if planned and st.button(
            "Share of bad answers", key="end_to_rate", icon=":material/percent:", **main
        ):
            open_rows("overview")
        if st.button("To the queues", key="end_to_queue", **({} if planned else main)):
            session.say("")
            open_rows("queues")
        if skipped:
            act = partial(review_skipped, store(), session, work)
            label = f"Review {count(skipped, 'skipped item')}"
            choice(
                name="skipped",
                label=label,
                act=act,
                key="K",
                turn=Turn.MOVE,
                icon=":material/undo:",
            )()
        if work.undoable and not work.closed:
            undo_choice(work.undoable[-1], partial(undo_in_queue, store(), session, work))(
                quiet=True
            )


@st.fragment
def item_page() -> None:
    """Show the page. A key press reruns only this fragment, without the frame of the app."""
    with page(answers=False):
        if st.query_params.get("queue"):
            review_queue(st.query_params["queue"])
        else:
            release_leases()
            review_item()
    st.bottom.empty()  # a fragment writes only to containers that the run of the whole page used


item_page()
