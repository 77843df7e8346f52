"""The parts of the page of judges."""
