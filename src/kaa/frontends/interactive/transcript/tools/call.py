"""A call of a tool as far as it is known; it grows while the model writes it and the tool runs."""

from collections.abc import Mapping

from kaa.core.messages import ImageContent, Json, ToolResultMessage
from kaa.frontends.interactive.transcript.live_output import LiveOutput
from kaa.frontends.interactive.transcript.result_text import ResultText, take_apart

# Other agents' names of the argument `path`, which models use too.
_PATH_NAMES = ("path", "file_path", "filePath", "filename", "file")


class ShownCall:
    """A tool call.

    Attributes:
        name: of the tool.
        arguments: as far as the model has written them. Any of them may be missing, or of another type than it should.
        is_complete: whether these are all of them.
        output: what the tool printed while it runs.
        result: what came of it.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.arguments: Mapping[str, Json] = {}
        self.is_complete = False
        self.output = LiveOutput()
        self._result: ToolResultMessage | None = None
        self._text = ResultText("", [], [])

    @property
    def result(self) -> ToolResultMessage | None:
        """What came of it."""
        return self._result

    @result.setter
    def result(self, result: ToolResultMessage) -> None:
        self._result = result
        self._text = take_apart(result.text)

    @property
    def text(self) -> ResultText:
        """The text of the result, taken apart; empty without one."""
        return self._text

    @property
    def failed(self) -> bool:
        """Whether there is a result that is an error."""
        return self._result is not None and self._result.is_error

    @property
    def images(self) -> tuple[ImageContent, ...]:
        """The images of the result."""
        content = self._result.content if self._result is not None else ()
        return tuple(block for block in content if isinstance(block, ImageContent))

    def argument(self, name: str) -> str:
        """An argument that is a text, empty if it is not."""
        value = self.arguments.get(name)
        return value if isinstance(value, str) else ""

    def number(self, name: str) -> int | None:
        """An argument that is a whole number."""
        value = self.arguments.get(name)
        return value if isinstance(value, int) and not isinstance(value, bool) else None

    @property
    def path(self) -> str:
        """The file or directory that it is about, under any name that models give the argument."""
        return next(filter(None, map(self.argument, _PATH_NAMES)), "")

    def detail(self, name: str) -> Json:
        """A field of the result's details, None if there is none."""
        details = self._result.details if self._result is not None else None
        return details.get(name) if isinstance(details, dict) else None
