"""The extensions of a process: each is loaded once, whatever number of conversations use it."""

from collections.abc import Callable, Iterable, Mapping
from logging import DEBUG, INFO
from typing import get_args

from kaa.ext.errors import ExtensionError, RegistrationError
from kaa.ext.extension_api import Extension, ExtensionAPI
from kaa.ext.misuse import described, refuse_coroutine
from kaa.ext.registration.base import NamedKind
from kaa.ext.scope import Scope
from kaa.host.log import LOG


class Extensions:
    """Scopes by name, in the order in which their extensions were loaded.

    Args:
        report: told, in a sentence, of what goes wrong where nothing can be raised.
    """

    def __init__(self, report: Callable[[str], None]) -> None:
        self._report = report
        self._scopes: dict[str, Scope] = {}
        self._observers: list[Callable[[], None]] = []

    def load(
        self, name: str, extension: Extension, *, built_in: bool = False, beside: Iterable[str] | None = None
    ) -> None:
        """Let an extension register itself.

        An extension that is loaded again replaces its previous version, which is unloaded when the new one has
        registered itself. If that fails, the previous version stays.

        Args:
            name: what it is called: its path, or the module.
            extension: its `extend` function.
            built_in: only marks its tools for `--no-builtin-tools`.
            beside: extensions that are used together with it and have other tools and commands; None for all, and then
                all conversations use it, also those that are open.

        Raises:
            ExtensionError: it raised, or registered a tool or a command of another extension. Nothing of what it
                registered stays.
        """
        scope = Scope(name, built_in=built_in, everywhere=beside is None)
        try:
            run: Callable[[ExtensionAPI], object] = extension
            refuse_coroutine(run(ExtensionAPI(scope, self)), "extend")
            self._check_names(scope, beside)
        except (Exception, SystemExit) as error:  # isolation boundary: names the extension instead of a bare traceback
            self._close(scope)
            LOG.exception("extension %s failed to load", name)
            raise ExtensionError(f"Extension {name} failed to load: {described(error)}") from error
        before, self._scopes[name] = self._scopes.get(name), scope
        if before is not None:
            self._close(before)
        LOG.log(DEBUG if built_in else INFO, "extension %s loaded", name)
        self._tell()

    def check(self, name: str, beside: Iterable[str]) -> None:
        """Check that extensions can be used together.

        Args:
            name: one that is loaded.
            beside: the others.

        Raises:
            ExtensionError: two of them registered a tool or a command of the same name.
        """
        try:
            self._check_names(self._scopes[name], beside)
        except RegistrationError as error:
            raise ExtensionError(f"Extension {name} cannot be used: {error}") from error

    def unload(self, name: str) -> None:
        """Take back everything that an extension registered, in all conversations; nothing if it is not loaded."""
        scope = self._scopes.pop(name, None)
        if scope is not None:
            self._close(scope)
            LOG.log(DEBUG if scope.built_in else INFO, "extension %s unloaded", name)
            self._tell()

    def close(self) -> None:
        """Unload all, the last one first."""
        for name in reversed(tuple(self._scopes)):
            self.unload(name)

    @property
    def names(self) -> tuple[str, ...]:
        """What is loaded."""
        return tuple(self._scopes)

    def scopes(self, names: Iterable[str] | None = None) -> list[Scope]:
        """The scopes of these extensions, with those that all conversations use, or of all; in the order of loading."""
        wanted = None if names is None else frozenset(names)
        return [scope for name, scope in self._scopes.items() if wanted is None or scope.everywhere or name in wanted]

    def subscribe(self, observer: Callable[[], None]) -> Callable[[], None]:
        """Call `observer` after each change. Returns a function that ends this."""
        self._observers.append(observer)
        return lambda: self._observers.remove(observer)

    def require_free(self, scope: Scope, kind: NamedKind, name: str) -> None:
        """See `Registrations`. All that is loaded counts: a conversation may use any of it together."""
        if not self._is_loaded(scope):
            return  # `load` checks all names at once
        for other in self._scopes.values():
            if name in _named(other, kind):
                raise RegistrationError(f"a {kind} named {name!r} is already registered by {other.owner}")

    def changed(self, scope: Scope) -> None:
        """See `Registrations`."""
        if self._is_loaded(scope):
            self._tell()

    def _is_loaded(self, scope: Scope) -> bool:
        return self._scopes.get(scope.owner) is scope

    def _check_names(self, scope: Scope, beside: Iterable[str] | None) -> None:
        """Tools and commands of different extensions must not have the same name."""
        for other in self.scopes(beside):
            if other.owner == scope.owner:
                continue
            for kind in get_args(NamedKind):
                if both := sorted(_named(scope, kind).keys() & _named(other, kind).keys()):
                    raise RegistrationError(f"a {kind} named {both[0]!r} is already registered by {other.owner}")

    def _close(self, scope: Scope) -> None:
        for problem in scope.close():
            LOG.error("extension %s failed during unloading", scope.owner, exc_info=problem)
            self._report(f"extension {scope.owner} failed during unloading: {described(problem)}")

    def _tell(self) -> None:
        for observer in tuple(self._observers):
            observer()


def _named(scope: Scope, kind: NamedKind) -> Mapping[str, object]:
    return scope.tools if kind == "tool" else scope.commands
