"""What shows a judge's own faults: controls, scores, accounts."""
