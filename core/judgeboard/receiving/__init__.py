"""Receives traces, answers and feedback, and makes responses of traces."""
