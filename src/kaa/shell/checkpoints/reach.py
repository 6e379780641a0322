"""Which files the call of a tool can change: what must be known before the call runs."""

from collections.abc import Mapping

from kaa.core.messages import ToolCall
from kaa.ext.api import Risk


class FileReach:
    """Which files the call of a tool can change.

    Args:
        risks: of the tools, by name.
    """

    def __init__(self, risks: Mapping[str, Risk]) -> None:
        self._risks = risks

    def __call__(self, call: ToolCall) -> str | None:
        """The only file that it can change, None if it can be any, "" for none."""
        match self._risks.get(call.name, "outside"), call.arguments.get("path"):
            case "read", _:
                return ""
            case "write", str(path) if path and path.isascii():  # other spellings may mean another file
                return path
            case _:
                return None
