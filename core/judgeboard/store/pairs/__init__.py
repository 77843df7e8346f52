"""Pairs, with what judges and people said of them."""
