"""Methods beside plain judging, for example audits and self-refine. Each defines the steps and result of a run."""
