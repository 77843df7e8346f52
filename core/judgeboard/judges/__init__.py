"""Judges, each asked for one verdict at a time; `kinds.JUDGES` lists them."""
