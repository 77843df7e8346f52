"""The shared filter as conditions of SQL."""
