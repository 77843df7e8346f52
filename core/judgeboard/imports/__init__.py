"""Imports: one kind of file per module, and a line in `judgeboard.imports.kinds`."""
