"""Which files the call of a tool can change: what must be known before the call runs."""

from collections.abc import Callable

from kaa.core.messages import ToolCall
from kaa.ext.api import Risk


class FileReach:
    """Which files the call of a tool can change.

    Args:
        risk_of: what a tool can do at most, by its name, at the moment.
    """

    def __init__(self, risk_of: Callable[[str], Risk]) -> None:
        self._risk_of = risk_of

    def __call__(self, call: ToolCall) -> str | None:
        """The only file that it can change, None if it can be any, "" for none."""
        match self._risk_of(call.name), call.arguments.get("path"):
            case "read", _:
                return ""
            case "write", str(path) if path and path.isascii():  # other spellings may mean another file
                return path
            case _:
                return None
