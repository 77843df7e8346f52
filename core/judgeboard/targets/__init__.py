"""Tools that get judgments, reviews and gold labels back: one file per tool, listed in `push.TARGETS`."""
