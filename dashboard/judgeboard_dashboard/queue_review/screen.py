"""What a press on the page of a queue belongs to: one item, before the judge is shown or after."""

from dataclasses import dataclass

from judgeboard_dashboard.item.screen import Screen


@dataclass(frozen=True, slots=True)
class QueueScreen(Screen):
    """An item of a queue on the screen; ``stage`` is empty, "r" after the reveal, "c" while another grade is given."""

    item_id: int = 0
    stage: str = ""

    @property
    def row(self) -> str:
        """What the guard and the widgets know this screen by."""
        return f"q{self.item_id}{self.stage}"
