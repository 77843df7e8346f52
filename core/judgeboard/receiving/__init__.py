"""Receives traces, answers and feedback over HTTP, and makes responses of traces."""
