"""The parts of the page of pairs."""
