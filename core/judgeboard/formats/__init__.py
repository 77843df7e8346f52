"""File formats, read and written: one file each, and a line in `judgeboard.formats.files`."""
