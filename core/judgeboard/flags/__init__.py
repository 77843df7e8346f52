"""The flag rules; the list is `rules.RULES`."""
