"""More than one verdict on an answer: juries of several judges, repeats of one, and how far they agree (§6)."""
