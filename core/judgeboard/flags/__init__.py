"""The flag rules; `rules.RULES` lists them."""
