"""Traces of assistants, from OpenTelemetry requests to responses, and traces of Judgeboard itself (`telemetry`)."""
