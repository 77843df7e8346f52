"""Figures as JSON, terminal tables and HTML: the only renderers outside the dashboard."""
