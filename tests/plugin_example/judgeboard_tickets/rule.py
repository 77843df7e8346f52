"""A flag rule with an option."""

from pydantic import BaseModel, Field

from judgeboard.flags.rule import Reason, Rule, Signals
from judgeboard.settings.model import Thresholds


class TooLongOptions(BaseModel, extra="forbid"):
    most_words: int = Field(0, ge=0, description="Maximum number of words; 0 flags nothing.")


def too_long(signals: Signals, thresholds: Thresholds) -> Reason | None:
    """Flags an answer with more words than `most_words`.

    Severity: share of the words that are too many
    """
    most = thresholds.options_of("too_long", TooLongOptions).most_words
    words = len(signals.texts.answer.split()) if signals.texts else 0
    if not most or words <= most:
        return None
    return Reason(
        "too_long", (words - most) / words, details={"words": words}, params={"most_words": most}
    )


TOO_LONG = Rule(
    "too_long",
    too_long,
    why=lambda details, params: f"{details['words']} words, {params['most_words']} are allowed.",
    drawn=True,  # it needs no judgment
    reads_texts=True,
    options=TooLongOptions,
)
