"""Alert rules: conditions, events, messages and their delivery."""
