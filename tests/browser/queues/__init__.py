"""A package, so that its server (scope="package") ends before another begins at the same port."""
