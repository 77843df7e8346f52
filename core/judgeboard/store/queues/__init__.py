"""Named queues in the store: what they hold, who holds an item, what came of it, what is hidden from whom."""
