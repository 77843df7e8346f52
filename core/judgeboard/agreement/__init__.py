"""How far people, judges, and people and judges agree: read from the store, measured, explained in words."""
