"""Traces of assistants, from OpenTelemetry requests to responses."""
