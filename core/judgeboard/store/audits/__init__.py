"""Reviews of judgments."""
