"""Better answers: self-reflection (regenerate once) and self-refine (try again on a judge's feedback)."""

from judgeboard.refining.attempts import Refinement, RefineRule
from judgeboard.refining.generators import make_generator
from judgeboard.refining.live_reflection import Reflected, reflect, reflect_blocking
from judgeboard.refining.prompt_file import read_prompts
from judgeboard.refining.refine_pending import RefineSummary, refine_pending, refine_pending_async
from judgeboard.refining.reflect_pending import reflect_pending, reflect_pending_async
from judgeboard.refining.reflect_summary import ReflectSummary
from judgeboard.refining.reflection import ReflectRule
from judgeboard.refining.sequences import AttemptSequence, ShownAttempt, attempt_sequences
from judgeboard.refining.standing import let_stand, standing_of, take_back_standing
from judgeboard.refining.wrapped import Refined, Refiner, refine

__all__ = [
    "AttemptSequence",
    "RefineRule",
    "RefineSummary",
    "Refined",
    "Refinement",
    "Refiner",
    "ReflectRule",
    "ReflectSummary",
    "Reflected",
    "ShownAttempt",
    "attempt_sequences",
    "let_stand",
    "make_generator",
    "read_prompts",
    "refine",
    "refine_pending",
    "refine_pending_async",
    "reflect",
    "reflect_blocking",
    "reflect_pending",
    "reflect_pending_async",
    "standing_of",
    "take_back_standing",
]
