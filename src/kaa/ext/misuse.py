"""Errors of extensions in a few words, and mistakes in the use of kaa's API with the valid names."""

import re
from types import CoroutineType
from typing import Any

from kaa.ext.errors import ExtensionError
from kaa.host.log import LOG

# How a method of the API appears in a `TypeError` of Python's.
_CALL = re.compile(r"\w+Registrations\.(\w+)(?=\(\))")


def described(error: BaseException) -> str:
    """An error of an extension's, in a few words."""
    text = f"{type(error).__name__}: {error}"
    match error:
        case AttributeError(name=str(name), obj=obj) if (interface := _interface(obj)) is not None:
            title, known = interface
            return f"AttributeError: {title} has no attribute {name!r}: use {', '.join(known)}"
        case TypeError() if (called := _CALL.match(str(error))) is not None:
            return f"TypeError: kaa.{str(error).partition('.')[2]}: call {_signature(called[1])}"
        case _:
            return text


def line_in(extension: str, error: BaseException) -> str:
    """The last line of an extension that an error passed, such as `line 4`; empty if it passed none.

    Args:
        extension: the path of its file or folder.
        error: was raised.
    """
    place, step = "", error.__traceback__
    folder = extension.removesuffix("/__init__.py") + "/"
    while step is not None:
        file = step.tb_frame.f_code.co_filename
        if file == extension:
            place = f"line {step.tb_lineno}"
        elif file.startswith(folder):
            place = f"{file.removeprefix(folder)}, line {step.tb_lineno}"
        step = step.tb_next
    return place


def load_failure(extension: str, error: BaseException) -> ExtensionError:
    """The error of an extension that cannot be loaded; its traceback goes to the log."""
    LOG.error("extension %s failed to load", extension, exc_info=error)
    place = line_in(extension, error)
    return ExtensionError(f"Extension {extension} failed to load{f' ({place})' if place else ''}: {described(error)}")


def refuse_coroutine(returned: object, what: str) -> None:
    """Make sure that a function was not async: a call of an `async def` does not run it.

    Raises:
        TypeError: it was.
    """
    if isinstance(returned, CoroutineType):
        returned.close()
        raise TypeError(f"{what} must be a plain function, not async")


def _interface(value: object) -> tuple[str, list[str]] | None:
    """What an extension knows an object as, and its public names; None if it is no part of the API."""
    # Lazy, here and below: only for mistakes, and these modules import this one.
    from kaa.ext.acting import ConversationActions
    from kaa.ext.command_context import CommandContextOf, CommandControl
    from kaa.ext.context import ConversationContext, ToolContext
    from kaa.ext.extension_api import ExtensionAPI

    common = ["workspace", "asker", "conversation_id", "state", "extension", *_public(ConversationActions)]
    match value:
        case ExtensionAPI():
            return "the extension API", _public(ExtensionAPI)
        case ToolContext():
            return "the context of a tool", [*common, "call_id", "update"]
        case CommandContextOf():
            return "the context of a command", sorted({*common, *_public(CommandControl)})
        case ConversationContext():
            return "the context of a hook", common
        case _:
            return None


def _public(interface: type[Any]) -> list[str]:
    return sorted(name for name in dir(interface) if not name.startswith("_"))


def _signature(method: str) -> str:
    from inspect import Parameter, Signature, signature

    from kaa.ext.extension_api import ExtensionAPI

    found = signature(getattr(ExtensionAPI, method))
    plain = [one.replace(annotation=Parameter.empty) for one in found.parameters.values()][1:]
    return f"{method}{found.replace(parameters=plain, return_annotation=Signature.empty)}"
