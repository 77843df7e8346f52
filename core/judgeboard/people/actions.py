"""What people do here that is not everybody's, with the least role each asks for."""

from enum import StrEnum

from judgeboard.domain import Role


class Action(StrEnum):
    """A kind of change; its value stands in the event of a refused attempt."""

    REVIEW = "review"
    REJUDGE_ONE = "rejudge_one"
    MAKE_QUEUES = "make_queues"
    ASSIGN = "assign"
    ADJUDICATE = "adjudicate"
    CHANGE_SETTINGS = "change_settings"
    REJUDGE_MANY = "rejudge_many"
    CHOOSE_JUDGE = "choose_judge"
    CANCEL_JOBS = "cancel_jobs"
    IMPORT = "import"
    READ_EVENTS = "read_events"
    MANAGE_PEOPLE = "manage_people"
    RETIRE_VERSIONS = "retire_versions"

    @property
    def words(self) -> str:
        """The action as the subject of a sentence: "changing thresholds is for leads"."""
        return _WORDS[self]


LEAST_ROLE: dict[Action, Role] = {
    Action.REVIEW: Role.REVIEWER,
    Action.REJUDGE_ONE: Role.REVIEWER,
    Action.MAKE_QUEUES: Role.LEAD,
    Action.ASSIGN: Role.LEAD,
    Action.ADJUDICATE: Role.LEAD,
    Action.CHANGE_SETTINGS: Role.LEAD,
    Action.REJUDGE_MANY: Role.LEAD,
    Action.CHOOSE_JUDGE: Role.LEAD,
    Action.CANCEL_JOBS: Role.LEAD,
    Action.IMPORT: Role.LEAD,
    Action.READ_EVENTS: Role.LEAD,
    Action.MANAGE_PEOPLE: Role.ADMIN,
    Action.RETIRE_VERSIONS: Role.ADMIN,
}

_WORDS: dict[Action, str] = {
    Action.REVIEW: "Reviewing",
    Action.REJUDGE_ONE: "Having an answer judged again",
    Action.MAKE_QUEUES: "Making and closing queues",
    Action.ASSIGN: "Assigning answers to people",
    Action.ADJUDICATE: "Deciding where people differ",
    Action.CHANGE_SETTINGS: "Changing thresholds, rules and the primary judge",
    Action.REJUDGE_MANY: "Having more than one answer judged",
    Action.CHOOSE_JUDGE: "Asking a judge that has judged nothing here, or at another address,",
    Action.CANCEL_JOBS: "Stopping somebody else's job",
    Action.IMPORT: "Importing",
    Action.READ_EVENTS: "Seeing who did what",
    Action.MANAGE_PEOPLE: "Adding people and changing their roles",
    Action.RETIRE_VERSIONS: "Retiring judge versions",
}
