"""SQL that both engines understand, spelled once."""
