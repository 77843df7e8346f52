"""Reviews of answers and pairs: decisions, comments, queues, leases, conflicts and their adjudication."""
