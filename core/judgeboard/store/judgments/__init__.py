"""Judge versions and their judgments."""
