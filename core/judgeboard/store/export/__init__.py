"""What `judgeboard export` writes, row by row."""
