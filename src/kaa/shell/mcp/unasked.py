"""Answers what a server asks outside of any call: nobody is asked then."""

from pathlib import Path

from kaa.mcp.questions import ElicitAnswer, Elicitation, RefusedError, Root, SamplingAnswer, SamplingRequest


class OutsideOfCalls:
    """See `ServerQuestions`.

    Args:
        project: the directory that the server may know; None for none.
        samples: whether it may ask for completions.
    """

    forms = True

    def __init__(self, project: str | None, *, samples: bool) -> None:
        self._project = project
        self.samples = samples

    async def elicit(self, asked: Elicitation) -> ElicitAnswer:
        """See `ServerQuestions`."""
        return ElicitAnswer("cancel")

    async def sample(self, asked: SamplingRequest) -> SamplingAnswer:
        """See `ServerQuestions`."""
        raise RefusedError("no call is under way")

    def roots(self) -> tuple[Root, ...]:
        """See `ServerQuestions`."""
        return () if self._project is None else (Root(Path(self._project).as_uri(), Path(self._project).name),)
