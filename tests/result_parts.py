"""Notes of results, as values that a test compares."""


def codes(notes):
    """Return the codes of notes, in their order."""
    return [each.code for each in notes]


def values_of_note(notes, code):
    """Return the values of the only note with this code."""
    (values,) = (each.values for each in notes if each.code == code)
    return values
