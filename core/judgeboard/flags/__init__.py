"""The flag rules: each is one file; `rules.RULES` lists them."""
