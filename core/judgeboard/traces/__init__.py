"""Traces of assistants: from OpenTelemetry requests to responses. Reads no database and no network."""
