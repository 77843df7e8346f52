"""Alert rules: conditions, events, messages and delivery."""
