"""Methods on answers and judges beside plain judging: each gives a run its step and sums up what came of it."""
