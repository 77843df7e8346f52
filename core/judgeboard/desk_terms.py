"""The states and kinds of people's work: roles, stages of a review, queues and their items."""

from enum import StrEnum


class Role(StrEnum):
    """What a person may do here, each including the one before it; ``none`` stays as an author, no more."""

    NONE = "none"
    REVIEWER = "reviewer"
    LEAD = "lead"
    ADMIN = "admin"

    @property
    def rank(self) -> int:
        """0 to 3: who has a higher one may do all that the lower may."""
        return list(Role).index(self)


class Stage(StrEnum):
    """When a review was given: before its author saw the judge, after, or as the last word on a split."""

    BLIND = "blind"
    REVEALED = "revealed"
    ADJUDICATION = "adjudication"


class WhyDiffers(StrEnum):
    """Why a person and the judge differ on an answer, in the person's opinion."""

    MISSED_SUPPORT = "missed_support"
    FLUENT_TEXT = "fluent_text"
    REFUSAL = "refusal"
    PARTIAL_SUPPORT = "partial_support"
    RUBRIC_UNCLEAR = "rubric_unclear"
    PERSON = "person"
    OTHER = "other"


class QueueState(StrEnum):
    """A closed queue hands out nothing, and its open items hold no flag open."""

    OPEN = "open"
    CLOSED = "closed"


class QueueOrder(StrEnum):
    """Which item of a queue comes first; all but ``oldest`` and ``random`` are made from judges' scores."""

    SEVERITY = "severity"
    OLDEST = "oldest"
    DISAGREEMENT = "disagreement"
    INSTABILITY = "instability"
    RANDOM = "random"


class ItemState(StrEnum):
    """Where a queue item is: ``left`` stopped matching before anybody reviewed it."""

    OPEN = "open"
    SETTLED = "settled"
    SPLIT = "split"
    ADJUDICATED = "adjudicated"
    LEFT = "left"
