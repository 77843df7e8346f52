"""The parts of the Import page."""
