"""File formats. Each format of rows has a module here and an entry in `judgeboard.formats.files`."""
