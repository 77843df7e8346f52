"""The parts of the Suites page."""
