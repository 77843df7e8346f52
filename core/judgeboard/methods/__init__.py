"""Methods beside plain judging, a folder each, such as audits and suites; `registry/methods.py` lists all methods."""
