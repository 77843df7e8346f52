"""The exports of other tools. EXPORTS lists them; a file is recognised by its content, never by its name.

A record is recognised by its keys, and where they do not tell, by their values. So no module that reads an export is
loaded before a file is known to be one. Predicates that are longer than a line are in `shapes`.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from judgeboard.formats.files import Row
from judgeboard.imports.exports import shapes
from judgeboard.imports.exports.entry import Entries
from judgeboard.imports.fields import simple_name
from judgeboard.imports.kinds import DEFAULT_SOURCE, kind_class


class Keys:
    """The keys, or columns, that a record must have.

    Of several names in parentheses, the record needs one. With ``endings``, it needs a key with such an ending. It must
    have none of the keys ``without``. If other records have such keys too, ``holds`` decides; it is asked only about
    records with the keys.
    """

    def __init__(
        self,
        *names: str | tuple[str, ...],
        endings: tuple[str, ...] = (),
        without: tuple[str, ...] = (),
        holds: Callable[[Mapping[str, Any]], bool] | None = None,
    ) -> None:
        self._every = {name for name in names if isinstance(name, str)}
        self._one_of = [each for each in names if not isinstance(each, str)]
        self._endings = endings
        self._without = without
        self._holds = holds

    def fit(self, row: Mapping[str, Any]) -> bool:
        """Whether a record has the keys."""
        keys = row.keys()
        if not keys >= self._every or any(map(keys.isdisjoint, self._one_of)) or not keys.isdisjoint(self._without):
            return False
        if self._endings and not any(key.endswith(self._endings) for key in keys):
            return False
        return self._holds is None or self._holds(row)


@dataclass(frozen=True, slots=True)
class Export:
    """What a tool exports: the keys by which its records are recognised, and what reads them.

    A record with any of the ``keys`` is one of the tool. ``home`` is the module in this package and its function that
    reads the rows; it is loaded only when it reads. ``source`` is the source of the answers, unless another one is
    chosen: ids of different tools do not meet. With ``of_traces``, the id of an answer is that of its trace, which may
    also be received or pulled. With ``of_scores``, there are no answers: the scores belong to stored answers. With
    ``takes_mapping``, the function also gets a mapping of keys to fields; without it, a mapping reads the file by its
    columns.
    """

    title: str
    source: str
    home: str
    keys: tuple[Keys, ...]
    of_traces: bool = False
    of_scores: bool = False
    takes_mapping: bool = False

    def matches(self, row: Mapping[str, Any]) -> bool:
        """Whether a row is a record of the tool, or has several of them."""
        return any(keys.fit(row) for keys in self.keys)

    def read(self, rows: Iterable[Row], mapping: Mapping[str, str]) -> Entries:
        """Return the entries of rows."""
        module, _, name = self.home.partition(":")
        read: Callable[..., Entries] = getattr(import_module(f"{__name__}.{module}"), name)
        return read(rows, mapping) if self.takes_mapping else read(rows)


TEACHER_RECORDS = "teacher and reviewer records"
INSPECT_SAMPLE = Keys("id", "epoch", "input", "output", holds=lambda row: isinstance(row["output"], dict))

EXPORTS = (
    Export(
        "Phoenix spans",
        "phoenix",
        "phoenix:read",
        (
            Keys("context.trace_id", "context.span_id", holds=shapes.is_phoenix_span),
            Keys("context", "span_kind", "attributes", holds=shapes.is_phoenix_span),
        ),
        of_traces=True,
    ),
    Export(
        "MLflow traces",
        "mlflow",
        "mlflow:read",
        (
            Keys(("trace", "traces", "data", "spans", "trace_info"), holds=shapes.is_mlflow_trace),
            Keys(
                ("trace_id", "request_id"),
                ("trace_metadata", "request_metadata", "trace_location"),
                holds=shapes.is_mlflow_trace,
            ),
        ),
        of_traces=True,
    ),
    Export(
        "Langfuse observations",
        "langfuse",
        "langfuse:read_observations",
        (Keys("id", "traceId", "type", "input", "output", holds=shapes.is_langfuse_observation),),
        of_traces=True,
    ),
    Export(
        "Langfuse traces",
        "langfuse",
        "langfuse:read_traces",
        (
            Keys(
                *("id", "name", "input", "output", "userId", "sessionId"),
                ("observations", "observationCount", "bookmarked"),
                without=("traceId",),
                holds=shapes.is_langfuse_trace,
            ),
        ),
        of_traces=True,
    ),
    Export(
        "LangSmith runs",
        "langsmith",
        "langsmith:read",
        (Keys("id", "run_type", "inputs", "outputs", holds=shapes.is_langsmith_run),),
        of_traces=True,
    ),
    Export(
        "Phoenix annotations",
        "phoenix",
        "phoenix:read_annotations",
        (Keys("annotator_kind", ("span_id", "trace_id")),),
        of_traces=True,
        of_scores=True,
    ),
    Export(
        "Langfuse scores",
        "langfuse",
        "langfuse:read_scores",
        (
            Keys("traceId", "name", "value", "source", "dataType", without=("input", "output")),
            Keys(
                *("subject", "name", "value", "source", "dataType"),
                without=("input", "output"),
                holds=lambda row: isinstance(row["subject"], dict),
            ),
        ),
        of_traces=True,
        of_scores=True,
    ),
    Export(
        "LangSmith feedback",
        "langsmith",
        "langsmith:read_feedback",
        (Keys("run_id", "key", "score", without=("run_type",)),),
        of_traces=True,
        of_scores=True,
    ),
    Export(
        "TruLens events",
        "trulens",
        "trulens:read",
        (
            Keys(
                *("record", "record_attributes", "trace"),
                holds=lambda row: shapes.TRULENS in str(row["record_attributes"]),
            ),
        ),
        of_traces=True,
    ),
    Export(
        "OpenTelemetry spans",
        "opentelemetry",
        "opentelemetry:read",
        (
            Keys(("resourceSpans", "resourceLogs", "resource_spans", "resource_logs"), holds=shapes.is_otlp_request),
            Keys(("traceId", "trace_id"), ("spanId", "span_id"), "attributes", holds=shapes.is_otlp_span),
        ),
        of_traces=True,
    ),
    Export(
        "promptfoo results",
        "promptfoo",
        "promptfoo:read",
        (
            Keys(("vars", "results"), holds=shapes.has_promptfoo_results),
            Keys(*shapes.PROMPTFOO_TABLE, holds=lambda row: shapes.promptfoo_answer_column(row) is not None),
        ),
    ),
    Export(
        "a DeepEval test run",
        "deepeval",
        "deepeval:read_test_runs",
        (
            Keys(
                ("testRunData", "testCases", "conversationalTestCases", "test_results"),
                without=("samples", "tasks"),
                holds=lambda row: bool(shapes.deepeval_cases(row)),
            ),
        ),
    ),
    Export(
        "DeepEval test cases",
        "deepeval",
        "deepeval:read_test_cases",
        (
            Keys("input", "actualOutput", ("retrievalContext", "expectedOutput", "metricsData", "toolsCalled")),
            Keys(
                *("input", "actual_output", "retrieval_context"),
                (
                    *("source_file", "additional_metadata", "custom_column_key_values", "expected_tools"),
                    *("tools_called", "metrics_data"),
                ),
            ),
        ),
    ),
    Export("an Inspect log", "inspect", "inspect_logs:read", (INSPECT_SAMPLE,)),
    Export(
        "a Label Studio export",
        "label-studio",
        "label_studio:read",
        (Keys("data", ("annotations", "completions", "predictions"), holds=shapes.is_label_studio_task),),
    ),
    Export(
        "a Label Studio export",
        "label-studio",
        "label_studio:read_flat",
        (Keys("annotation_id", "annotator", "lead_time", ("updated_at", "created_at")),),
    ),
    Export(
        "Argilla records",
        "argilla",
        "argilla:read",
        (
            Keys(
                *("fields", "responses"),
                holds=lambda row: isinstance(row["fields"], dict) and isinstance(row["responses"], dict | list),
            ),
            Keys(endings=(".responses.users", ".suggestion")),
        ),
    ),
    Export(TEACHER_RECORDS, DEFAULT_SOURCE, "teacher_records:read", (Keys("student_answer", "teacher_grading"),)),
    Export("a ragas dataset", "ragas", "ragas:read", (Keys("user_input", holds=shapes.is_ragas_sample),)),
    Export(
        "OpenAI chat logs",
        "openai",
        "openai_chats:read",
        (Keys(("messages", "choices", *shapes.CHAT_ENVELOPES), holds=shapes.is_chat_log),),
        takes_mapping=True,
    ),
)
"""The exports in the order in which they are tried: the most specific keys first."""

KINDS_OF_EXPORTS = ("responses", "verdicts", "grades")


def recognised(rows: Sequence[Mapping[str, Any]], kind: str, *, with_mapping: bool = False) -> Export | None:
    """Return the export with these first rows, None if they are not of one of `EXPORTS`.

    The rows decide together: one of them may be empty or damaged. It is an export if more rows look like it than have
    the required fields of the kind in columns of their own. ``with_mapping``, it is one that can be read with one.
    """
    if kind not in (*KINDS_OF_EXPORTS, "feedback"):
        return None
    exports = [export for export in EXPORTS if export.takes_mapping or not with_mapping]
    looks = [next((export for export in exports if export.matches(row)), None) for row in rows]
    counts = Counter(export for export in looks if export is not None)
    plain = sum(look is None and has_needed(row, kind) for row, look in zip(rows, looks, strict=True))
    export, times = next(iter(counts.most_common(1)), (None, 0))
    return None if times <= plain else export


def has_needed(row: Mapping[str, Any], kind: str) -> bool:
    """Whether a row has values in columns for all required fields of a kind."""
    names = {simple_name(name) for name, value in row.items() if value not in (None, "")}
    own = kind_class(kind)
    return not any(names.isdisjoint(own.columns[ours]) for ours in own.needed)
