"""Going through a named queue: one item held, the next one held and read ahead, the judge after the grade."""
