"""Responses: stored once, found, listed, shown with all that was said of them."""
