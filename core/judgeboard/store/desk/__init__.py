"""What reviewers see of the whole: the queue and the overview."""
