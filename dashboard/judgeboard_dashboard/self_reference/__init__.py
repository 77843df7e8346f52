"""The parts of the page of self-reference."""
