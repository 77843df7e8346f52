"""The segments of the Queue page for named queues: the list, a new one, splits and their adjudication."""
