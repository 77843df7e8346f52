"""The one protocol that every judge meets."""

from typing import Protocol

from judgeboard.domain import JudgeInput, JudgeVersion, Verdict


class Judge(Protocol):
    """Asks for a verdict on one answer at a time; safe to call concurrently from one event loop."""

    @property
    def version(self) -> JudgeVersion:
        """What judges, exactly; the same for every call of this object."""
        ...

    @property
    def endpoint_host(self) -> str | None:
        """Host and port that the texts are sent to; None when nothing leaves the process."""
        ...

    @property
    def priced(self) -> bool:
        """Whether the cost of a call is known; False when the price file does not say it."""
        ...

    async def judge(self, item: JudgeInput) -> Verdict:
        """Return the verdict on ``item``; a failure of this one row is a verdict of another status, never raised.

        Raises:
            EndpointRefused: No row can succeed until the key, the address or the model's name is mended.
        """
        ...

    async def aclose(self) -> None:
        """Release connections; the judge is not called again."""
        ...
