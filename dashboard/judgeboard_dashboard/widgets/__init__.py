"""Filters, tables, figures, charts and texts that pages share."""
