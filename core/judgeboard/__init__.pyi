"""The public names of Judgeboard and the modules that define them; a module is loaded on first use."""

from .board import Added as Added, Board as Board, judge as judge, open as open
from .cli.demo import sample_folder as sample_folder
from .client import (
    Client as Client,
    feedback as feedback,
    flush as flush,
    record as record,
    record_judgment as record_judgment,
)
from .domain import Action as Action
from .domain import (
    ClaimMark as ClaimMark,
    ClaimStatus as ClaimStatus,
    Decision as Decision,
    Grade as Grade,
    ItemState as ItemState,
    JudgeInput as JudgeInput,
    JudgeVersion as JudgeVersion,
    Label as Label,
    Preference as Preference,
    QueueOrder as QueueOrder,
    Role as Role,
    Shown as Shown,
    Stage as Stage,
    Status as Status,
    Verdict as Verdict,
    WhyDiffers as WhyDiffers,
)
from .errors import JudgeboardError as JudgeboardError, NotSent as NotSent
from .health.report import measure_health as measure_health
from .imports.reading import ImportRequest as ImportRequest
from .judges.evidence_alignment import (
    AlignedSentence as AlignedSentence,
    Annotation as Annotation,
    align as align,
    annotate as annotate,
)
from .judges.judge import Judge as Judge
from .methods.refining.attempts import select_attempt as select_attempt
from .methods.audits.run import (
    audit as audit,
    audit_async as audit_async,
)
from .methods.audits.run import (
    audit_recorded as audit_recorded,
    make_supreme as make_supreme,
)
from .methods.audits.report import AuditSample as AuditSample
from .methods.control_answers.run import (
    judge_control_answers as judge_control_answers,
    judge_control_answers_async as judge_control_answers_async,
    make_control_answers as make_control_answers,
)
from .runs.generation import make_generator as make_generator, read_prompts as read_prompts
from .methods.juries.run import judge_by_jury as judge_by_jury
from .methods.refining.live import (
    Reflected as Reflected,
    reflect as reflect,
    reflect_blocking as reflect_blocking,
)
from .measure.pair_report import PairReport as PairReport, measure_pairs as measure_pairs
from .runs.pairwise import (
    compare_pairs as compare_pairs,
    compare_pairs_async as compare_pairs_async,
    make_pairwise_judge as make_pairwise_judge,
    pairs_between as pairs_between,
    pairs_in_file as pairs_in_file,
)
from .methods.refining.refine import (
    Refined as Refined,
    Refiner as Refiner,
    RefineRule as RefineRule,
    refine as refine,
    refine_pending as refine_pending,
    refine_pending_async as refine_pending_async,
)
from .methods.refining.reflect import (
    ReflectRule as ReflectRule,
    reflect_pending as reflect_pending,
    reflect_pending_async as reflect_pending_async,
)
from .methods.repeats.run import (
    judge_repeats as judge_repeats,
    judge_repeats_async as judge_repeats_async,
)
from .methods.self_reference.run import (
    make_self_reference_judge as make_self_reference_judge,
    self_refer as self_refer,
    self_refer_async as self_refer_async,
)
from .methods.self_reference.report import (
    SelfReferenceResult as SelfReferenceResult,
    measure_self_reference as measure_self_reference,
)
from .methods.refining.serving import (
    ServedAnswer as ServedAnswer,
    serve_answer as serve_answer,
    serve_answer_blocking as serve_answer_blocking,
)
from .methods.suites.file import Case as Case, Suite as Suite, read_suite as read_suite
from .methods.suites.results import SuiteResult as SuiteResult, suite_result as suite_result
from .methods.suites.run import run_suite as run_suite, run_suite_async as run_suite_async
from .people.roster import (
    add_person as add_person,
    change_role as change_role,
    change_settings as change_settings,
    ensure_reviewer as ensure_reviewer,
    people_named as people_named,
    raise_flags as raise_flags,
    remove_person as remove_person,
    restore_version as restore_version,
    retire_version as retire_version,
)
from .reports.stats import measure_log as measure_log
from .reviews.bundles import export_bundle as export_bundle, merge_bundle as merge_bundle
from .reviews.changes import (
    comment as comment,
    undo as undo,
)
from .reviews.outcome import (
    load_conflict as load_conflict,
    open_conflicts as open_conflicts,
    own_conflicts as own_conflicts,
)
from .reviews.leases import (
    next_item as next_item,
    release as release,
    renew as renew,
    skip as skip,
    take_item as take_item,
)
from .reviews.queues import (
    assign_queue as assign_queue,
    close_queue as close_queue,
    create_queue as create_queue,
    describe_rules as describe_rules,
    queue_progress as queue_progress,
)
from .reviews.shown import item_texts as item_texts
from .reviews.submissions import Submission as Submission, reveal as reveal, submit as submit
from .runs.judging import (
    judge_answer as judge_answer,
    judge_answer_blocking as judge_answer_blocking,
    make_judge as make_judge,
)
from .store.engine import Store as Store
from .store.opening import open_store as open_store
from .store.filters import RowFilter as RowFilter, parse_where as parse_where
from .store.queues import new_queue as new_queue
