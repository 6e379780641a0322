"""What all registrations share: the scope that holds them, and the checks."""

import re
from collections.abc import Callable
from inspect import iscoroutinefunction, unwrap
from types import FunctionType, MethodType
from typing import Literal, Protocol, TypeAlias, TypeVar

from kaa.ext.errors import RegistrationError
from kaa.ext.scope import Scope

# What all model vendors accept as a tool name.
NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")

FunctionT = TypeVar("FunctionT")

NamedKind: TypeAlias = Literal["tool", "command", "provider"]
"""What no two extensions of a conversation can register under one name."""


class Registrations(Protocol):
    """Told of what extensions register. Until an extension is loaded, both methods do nothing."""

    def require_free(self, scope: Scope, kind: NamedKind, name: str) -> None:
        """Make sure that no other extension has registered this name.

        Raises:
            RegistrationError: one has.
        """

    def changed(self, scope: Scope) -> None:
        """Tools, commands or prompt sections of an extension came or went."""


class Registrar:
    """Registers things in the scope of one extension.

    Args:
        scope: of the extension.
        registrations: told of what is registered.
    """

    def __init__(self, scope: Scope, registrations: Registrations) -> None:
        self._scope = scope
        self._registrations = registrations

    def _add(self, add: Callable[[FunctionT], None], function: FunctionT) -> FunctionT:
        require_function(function)
        add(function)
        return function

    def _add_hook(self, add: Callable[[FunctionT], None], hook: FunctionT) -> FunctionT:
        require_async(hook)
        add(hook)
        return hook

    def _open_scope(self) -> Scope:
        if not self._scope.is_open:
            raise RegistrationError(f"extension {self._scope.extension} is unloaded and can register nothing more")
        return self._scope


def scope_of(registrar: Registrar) -> Scope:
    """The scope that an extension registers in, for kaa's own code: its costs, and what reports say of it."""
    return registrar._scope


def require_async(function: object) -> None:
    """Make sure that a function is async, when it is registered and not when it is called."""
    require_function(function)
    if isinstance(function, FunctionType | MethodType) and not iscoroutinefunction(unwrap(function)):
        raise RegistrationError(f"{function.__name__} must be an async function: write async def")


def require_function(function: object) -> None:
    """Make sure that something can be called; extensions are not type-checked."""
    if not callable(function):
        raise RegistrationError(f"{function!r} is not a function: pass the function itself, without calling it")
