"""Controls: answers made from logged ones with a known effect, to see whether a judge notices."""

from judgeboard.controls.kinds import CONTROLS, ControlKind, Effect
from judgeboard.controls.making import MadeControls, make_controls

__all__ = ["CONTROLS", "ControlKind", "Effect", "MadeControls", "make_controls"]
