"""Imports. Each kind of file has a class here and an entry in `judgeboard.imports.kinds`."""
