"""A package, so that its Chromium (scope="package") ends with its last test."""
