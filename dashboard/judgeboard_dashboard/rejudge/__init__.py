"""The parts of the Rejudge page."""
