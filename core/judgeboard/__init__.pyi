"""The public names of Judgeboard and the modules that define them; each module is loaded on first use."""

from .agreement.measure import measure_agreement as measure_agreement
from .agreement.result import AgreementResult as AgreementResult
from .domain import (
    ClaimMark as ClaimMark,
)
from .domain import (
    ClaimStatus as ClaimStatus,
)
from .domain import (
    Decision as Decision,
)
from .domain import (
    Grade as Grade,
)
from .domain import (
    ItemState as ItemState,
)
from .domain import (
    JudgeInput as JudgeInput,
)
from .domain import (
    JudgeVersion as JudgeVersion,
)
from .domain import (
    Label as Label,
)
from .domain import (
    Preference as Preference,
)
from .domain import (
    QueueOrder as QueueOrder,
)
from .domain import (
    Role as Role,
)
from .domain import (
    Shown as Shown,
)
from .domain import (
    Stage as Stage,
)
from .domain import (
    Status as Status,
)
from .domain import (
    Verdict as Verdict,
)
from .domain import (
    WhyDiffers as WhyDiffers,
)
from .errors import JudgeboardError as JudgeboardError
from .health.report import health as health
from .imports.importing import import_file as import_file
from .judges.evidence_alignment import (
    AlignedSentence as AlignedSentence,
)
from .judges.evidence_alignment import (
    Annotation as Annotation,
)
from .judges.evidence_alignment import (
    align as align,
)
from .judges.evidence_alignment import (
    annotate as annotate,
)
from .judges.judge import Judge as Judge
from .methods.attempts import (
    deselect_attempt as deselect_attempt,
)
from .methods.attempts import (
    select_attempt as select_attempt,
)
from .methods.audit import (
    audit as audit,
)
from .methods.audit import (
    audit_async as audit_async,
)
from .methods.audit import (
    audit_recorded as audit_recorded,
)
from .methods.audit import (
    make_supreme as make_supreme,
)
from .methods.audit_report import AuditSample as AuditSample
from .methods.control_answers import (
    judge_control_answers as judge_control_answers,
)
from .methods.control_answers import (
    judge_control_answers_async as judge_control_answers_async,
)
from .methods.control_answers import (
    make_control_answers as make_control_answers,
)
from .methods.generation import (
    make_generator as make_generator,
)
from .methods.generation import (
    read_prompts as read_prompts,
)
from .methods.jury import judge_by_jury as judge_by_jury
from .methods.pair_report import (
    PairReport as PairReport,
)
from .methods.pair_report import (
    measure_pairs as measure_pairs,
)
from .methods.pairwise import (
    compare_pairs as compare_pairs,
)
from .methods.pairwise import (
    compare_pairs_async as compare_pairs_async,
)
from .methods.pairwise import (
    make_pairwise_judge as make_pairwise_judge,
)
from .methods.pairwise import (
    pairs_between as pairs_between,
)
from .methods.pairwise import (
    pairs_in_file as pairs_in_file,
)
from .methods.refine import (
    Refined as Refined,
)
from .methods.refine import (
    Refiner as Refiner,
)
from .methods.refine import (
    RefineRule as RefineRule,
)
from .methods.refine import (
    refine as refine,
)
from .methods.refine_run import (
    refine_pending as refine_pending,
)
from .methods.refine_run import (
    refine_pending_async as refine_pending_async,
)
from .methods.reflect import (
    Reflected as Reflected,
)
from .methods.reflect import (
    ReflectRule as ReflectRule,
)
from .methods.reflect import (
    reflect as reflect,
)
from .methods.reflect import (
    reflect_blocking as reflect_blocking,
)
from .methods.reflect import (
    reflect_pending as reflect_pending,
)
from .methods.reflect import (
    reflect_pending_async as reflect_pending_async,
)
from .methods.repeats import (
    judge_repeats as judge_repeats,
)
from .methods.repeats import (
    judge_repeats_async as judge_repeats_async,
)
from .methods.self_reference import (
    make_self_reference_judge as make_self_reference_judge,
)
from .methods.self_reference import (
    self_refer as self_refer,
)
from .methods.self_reference import (
    self_refer_async as self_refer_async,
)
from .methods.self_reference_report import (
    SelfReferenceReport as SelfReferenceReport,
)
from .methods.self_reference_report import (
    measure_self_reference as measure_self_reference,
)
from .methods.suite_file import (
    Case as Case,
)
from .methods.suite_file import (
    Suite as Suite,
)
from .methods.suite_file import (
    read_suite as read_suite,
)
from .methods.suite_results import (
    SuiteResult as SuiteResult,
)
from .methods.suite_results import (
    suite_result as suite_result,
)
from .methods.suite_run import (
    run_suite as run_suite,
)
from .methods.suite_run import (
    run_suite_async as run_suite_async,
)
from .people.permissions import Action as Action
from .people.roster import (
    add_person as add_person,
)
from .people.roster import (
    change_role as change_role,
)
from .people.roster import (
    change_settings as change_settings,
)
from .people.roster import (
    raise_flags as raise_flags,
)
from .people.roster import (
    remove_person as remove_person,
)
from .people.roster import (
    restore_version as restore_version,
)
from .people.roster import (
    retire_version as retire_version,
)
from .reports.stats import measure as measure
from .reviews.bundles import (
    export_bundle as export_bundle,
)
from .reviews.bundles import (
    merge_bundle as merge_bundle,
)
from .reviews.changes import (
    comment as comment,
)
from .reviews.changes import (
    edit as edit,
)
from .reviews.changes import (
    edit_comment as edit_comment,
)
from .reviews.changes import (
    undo as undo,
)
from .reviews.changes import (
    withdraw_comment as withdraw_comment,
)
from .reviews.checks import (
    ensure_reviewer as ensure_reviewer,
)
from .reviews.checks import (
    people_named as people_named,
)
from .reviews.conflicts import (
    load_split as load_split,
)
from .reviews.conflicts import (
    own_splits as own_splits,
)
from .reviews.conflicts import (
    split_items as split_items,
)
from .reviews.decisions import (
    decide as decide,
)
from .reviews.decisions import (
    grade as grade,
)
from .reviews.decisions import (
    prefer as prefer,
)
from .reviews.leases import (
    next_item as next_item,
)
from .reviews.leases import (
    release as release,
)
from .reviews.leases import (
    renew as renew,
)
from .reviews.leases import (
    skip as skip,
)
from .reviews.leases import (
    take_item as take_item,
)
from .reviews.queue_decisions import (
    adjudicate as adjudicate,
)
from .reviews.queue_decisions import (
    answer_reveal as answer_reveal,
)
from .reviews.queue_decisions import (
    decide_item as decide_item,
)
from .reviews.queue_decisions import (
    preference_at as preference_at,
)
from .reviews.queue_decisions import (
    reveal as reveal,
)
from .reviews.queues import (
    QueueRules as QueueRules,
)
from .reviews.queues import (
    assign_queue as assign_queue,
)
from .reviews.queues import (
    close_queue as close_queue,
)
from .reviews.queues import (
    create_queue as create_queue,
)
from .reviews.queues import (
    queue_progress as queue_progress,
)
from .reviews.queues import (
    rule_words as rule_words,
)
from .reviews.shown import item_texts as item_texts
from .runs.judging import (
    judge as judge,
)
from .runs.judging import (
    judge_blocking as judge_blocking,
)
from .runs.judging import (
    judge_pending as judge_pending,
)
from .runs.judging import (
    judge_pending_async as judge_pending_async,
)
from .runs.judging import (
    make_judge as make_judge,
)
from .store.engine import (
    Store as Store,
)
from .store.engine import (
    open_store as open_store,
)
from .store.export import export_tables as export_tables
from .store.filters import (
    RowFilter as RowFilter,
)
from .store.filters import (
    parse_where as parse_where,
)
