"""Judgeboard's own traces, sent by OpenTelemetry if ``OTEL_EXPORTER_OTLP_ENDPOINT`` is set; else nothing is imported.

The SDK reads its other variables itself: headers, timeouts, sampling, resource.
"""

import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from importlib.metadata import version
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from judgeboard.settings.masking import register_environment, without_secrets
from judgeboard.settings.model import ENVIRONMENT

if TYPE_CHECKING:
    from opentelemetry.trace import Span, Tracer

SCOPE = __name__
"""The instrumentation scope of these spans. The receiver does not store spans of this scope."""
ENDPOINTS = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
CONTENT = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
_WITH_CONTENT = frozenset({"true", "span_only", "span_and_event"})
_ON_THIS_MACHINE = frozenset({"localhost", "127.0.0.1", "::1", "0.0.0.0"})  # noqa: S104 - only compared

_log = logging.getLogger("judgeboard.telemetry")


class Traced:
    """An operation that is traced, or not."""

    def __init__(self, span: "Span | None" = None) -> None:
        self._span = span

    def add(self, attributes: Mapping[str, Any]) -> None:
        """Add attributes; those without a value (None) are left out."""
        if self._span is not None:
            self._span.set_attributes(_known(attributes))

    def fail(self, kind: str) -> None:
        """Mark the operation as failed; ``kind`` is a short word, never a text that may contain data."""
        if self._span is not None:
            from opentelemetry.trace import StatusCode

            self._span.set_status(StatusCode.ERROR)
            self._span.set_attribute("error.type", kind)


@contextmanager
def span(name: str, attributes: Mapping[str, Any], kind: str = "INTERNAL") -> Iterator[Traced]:
    """Trace the block, if traces are sent. ``kind`` is a kind of span of OpenTelemetry.

    An exception marks the span as failed, without its message.
    """
    tracer = _tracer()
    if tracer is None:
        yield Traced()
        return
    from opentelemetry.trace import SpanKind

    with tracer.start_as_current_span(
        name,
        kind=SpanKind[kind],
        attributes=_known(attributes),
        record_exception=False,
        set_status_on_exception=False,
    ) as started:
        traced = Traced(started)
        try:
            yield traced
        except Exception as error:
            traced.fail(type(error).__name__)
            raise


def sends_content() -> bool:
    """Return whether spans of model calls have the messages, as the standard variable of GenAI says."""
    return _tracer() is not None and ENVIRONMENT.get(CONTENT, "").lower() in _WITH_CONTENT


def sends_to(server: tuple[str, int | None] | None) -> bool:
    """Return whether the traces are sent to a server of this machine with this host and port."""
    try:
        address = urlsplit(_endpoint() or "")
        port = address.port or {"http": 80, "https": 443}.get(address.scheme)
    except ValueError:  # not an address, such as http://collector:${PORT}
        return False
    if server is None or not address.hostname:
        return False
    return port == server[1] and address.hostname in _ON_THIS_MACHINE | {server[0]}


def _known(attributes: Mapping[str, Any]) -> dict[str, Any]:
    """Return the attributes that have a value, without the secrets that this process knows."""
    return {name: _masked(value) for name, value in attributes.items() if value is not None}


def _masked(value: Any) -> Any:
    if isinstance(value, str):
        return without_secrets(value)
    return [_masked(each) for each in value] if isinstance(value, list | tuple) else value


def _endpoint() -> str | None:
    return next((address for name in ENDPOINTS if (address := ENVIRONMENT.get(name))), None)


@cache
def _tracer() -> "Tracer | None":
    if _endpoint() is None or ENVIRONMENT.get("OTEL_TRACES_EXPORTER", "otlp") == "none":
        return None
    register_environment(ENVIRONMENT)
    try:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.resources import OTELResourceDetector, Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
    except ImportError:
        _log.warning(
            "%s is set, but OpenTelemetry is not installed, so no traces are sent: "
            "install it with `pip install 'judgeboard[otel]'`, or unset the variable",
            next(name for name in ENDPOINTS if ENVIRONMENT.get(name)),
        )
        return None
    about = {"service.name": "judgeboard", "service.version": version("judgeboard")}
    # A provider of its own: an application that uses Judgeboard as a library may have set the global one.
    try:
        provider = TracerProvider(resource=Resource.create(about | dict(OTELResourceDetector().detect().attributes)))
        provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    except Exception as error:  # noqa: BLE001 - whatever the SDK raises on its variables: the traced work goes on
        _log.warning("no traces are sent, because of %s: check the OTEL_ variables", type(error).__name__)
        return None
    return provider.get_tracer(SCOPE, version("judgeboard"))
