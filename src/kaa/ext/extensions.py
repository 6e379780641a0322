"""The extensions of a process: each is loaded once, whatever number of conversations use it."""

import asyncio
import sys
from collections.abc import Awaitable, Callable, Iterable, Mapping, Set
from logging import DEBUG, INFO
from typing import Literal, get_args

from kaa.ext.calling import awaitable
from kaa.ext.errors import ExtensionError, NameTakenError, RegistrationError
from kaa.ext.extension_api import Extension, ExtensionAPI
from kaa.ext.misuse import described, load_failure, refuse_coroutine
from kaa.ext.places import ExtensionId
from kaa.ext.registration.base import NamedKind
from kaa.ext.scope import MOST_FAILURES, Scope
from kaa.host.log import LOG

_CHECK_SECONDS = 60


class Extensions:
    """Scopes by extension, in the order in which their extensions were loaded.

    Args:
        report: told, in a sentence, of what goes wrong where nothing can be raised.
        given: options of the command line that kaa itself does not have.

    Attributes:
        given: the same.
    """

    def __init__(self, report: Callable[[str], None], given: Mapping[str, str | None] | None = None) -> None:
        self._report = report
        self.given = given or {}
        self._scopes: dict[ExtensionId, Scope] = {}
        self._disabled: dict[ExtensionId, Literal["user", "failures"]] = {}
        self._observers: list[Callable[[], None]] = []
        self._farewells: list[Callable[[Scope], Awaitable[None]]] = []

    def load(
        self,
        extension: ExtensionId,
        extend: Extension,
        *,
        built_in: bool = False,
        beside: Iterable[ExtensionId] | None = None,
    ) -> None:
        """Let an extension register itself, and use it. See `register` and `admit`.

        Args:
            extension: which one it is.
            extend: its `extend` function.
            built_in: only marks its tools for `--no-builtin-tools`.
            beside: see `admit`; None for all, and then all conversations use it, also those that are open.

        Raises:
            ExtensionError: it raised, or registered a tool or a command of another extension. Nothing of what it
                registered stays.
        """
        scope = Scope(extension, built_in=built_in, everywhere=beside is None)
        try:
            self.register(scope, extend)
        except ExtensionError:
            self.drop(scope)
            raise
        self.admit(scope, beside)

    def register(self, scope: Scope, extend: Extension) -> None:
        """Let an extension register itself in a scope that is not in use yet. May be called from any thread.

        Raises:
            ExtensionError: it raised; `drop` the scope.
        """
        module = sys.modules.get(getattr(extend, "__module__", ""))
        scope.version = str(getattr(module, "__version__", ""))
        scope.interface = f"API {getattr(module, 'API_VERSION', 1)}"
        try:
            run: Callable[[ExtensionAPI], object] = extend
            refuse_coroutine(run(ExtensionAPI(scope, self)), "extend")
        except (Exception, SystemExit) as error:  # isolation boundary: names the extension instead of a bare traceback
            raise load_failure(scope.extension.path, error) from error

    def admit(self, scope: Scope, beside: Iterable[ExtensionId] | None) -> None:
        """Use an extension that has registered itself. It replaces its previous version, which is unloaded.

        Args:
            scope: what it registered.
            beside: extensions that are used together with it and have other tools and commands; None for all.

        Raises:
            ExtensionError: it registered a tool or a command of another extension. The previous version stays.
        """
        extension = scope.extension
        self._require_free_names(scope, beside)
        before, self._scopes[extension] = self._scopes.get(extension), scope
        if before is not None:
            self.drop(before)
        if self._disabled.get(extension) == "failures":
            del self._disabled[extension]  # a new version, a new try
        scope.costs.on_failure = lambda: self._limit_failures(scope)
        LOG.log(DEBUG if scope.built_in else INFO, "extension %s loaded", extension)
        self.tell()

    async def replace(self, scope: Scope, beside: Iterable[ExtensionId]) -> None:
        """Use the next version of a loaded extension, if it works; see `admit`.

        Raises:
            ExtensionError: it does not work. Nothing of what it registered stays, and the previous version does.
        """
        await self._try_out(scope)
        self._require_free_names(scope, beside)
        await self.say_farewell(scope.extension)
        self.admit(scope, beside)

    async def say_farewell(self, extension: ExtensionId) -> None:
        """Let conversations end their use of an extension that is about to be unloaded."""
        if (scope := self._scopes.get(extension)) is not None:
            for farewell in tuple(self._farewells):
                await farewell(scope)

    async def _try_out(self, scope: Scope) -> None:
        for check in scope.checks:
            try:
                async with asyncio.timeout(_CHECK_SECONDS):
                    await awaitable(check())
            except ExtensionError:
                self.drop(scope)
                raise
            except (Exception, SystemExit) as error:  # isolation boundary: names the extension
                self.drop(scope)
                raise load_failure(scope.extension.path, error) from error

    def drop(self, scope: Scope) -> None:
        """Take back what an extension registered in a scope that is not in use. It can register nothing more there."""
        for problem in scope.close():
            LOG.error("extension %s failed during unloading", scope.extension, exc_info=problem)
            self._report(f"extension {scope.extension} failed during unloading: {described(problem)}")

    def check(self, extension: ExtensionId, beside: Iterable[ExtensionId]) -> None:
        """Check that extensions can be used together.

        Args:
            extension: one that is loaded.
            beside: the others.

        Raises:
            NameTakenError: two of them registered a tool or a command of the same name.
        """
        self._check_names(self._scopes[extension], beside)

    def unload(self, extension: ExtensionId) -> None:
        """Take back everything that an extension registered, in all conversations; nothing if it is not loaded."""
        scope = self._scopes.pop(extension, None)
        if scope is not None:
            self._disabled.pop(extension, None)
            self.drop(scope)
            LOG.log(DEBUG if scope.built_in else INFO, "extension %s unloaded", extension)
            self.tell()

    def close(self) -> None:
        """Unload all, the last one first."""
        for extension in reversed(tuple(self._scopes)):
            self.unload(extension)

    def disable(self, extension: ExtensionId) -> None:
        """Do without a loaded extension in all conversations, as the user wishes, until it is enabled."""
        self._disabled[extension] = "user"
        self.tell()

    def enable(self, extension: ExtensionId) -> None:
        """Use an extension again that was disabled by the user or after failures, which are counted anew.

        Raises:
            NameTakenError: another one has registered one of its names since.
        """
        if extension in self._disabled:
            self._check_names(self._scopes[extension], None)
            del self._disabled[extension]
            self._scopes[extension].costs.failures = 0
            self.tell()

    def is_disabled(self, extension: ExtensionId) -> Literal["user", "failures"] | None:
        """Why a loaded extension is not used; None if it is."""
        return self._disabled.get(extension)

    @property
    def names(self) -> tuple[ExtensionId, ...]:
        """What is loaded."""
        return tuple(scope.extension for scope in self._scopes.values())

    def scope(self, extension: ExtensionId) -> Scope:
        """What an extension registered, whether it is disabled or not."""
        return self._scopes[extension]

    def scopes(self, extensions: Iterable[ExtensionId] | None = None) -> list[Scope]:
        """The scopes of these extensions, with those that all conversations use, or of all; in the order of loading.

        Of an extension that is disabled because it failed, only the guards are left.
        """
        wanted = None if extensions is None else frozenset(extensions)
        used = [one for one in self._scopes.values() if wanted is None or one.everywhere or one.extension in wanted]
        if not self._disabled:
            return used
        reasons = [(scope, self._disabled.get(scope.extension)) for scope in used]
        return [scope.guards() if why == "failures" else scope for scope, why in reasons if why != "user"]

    def check_flags(self, names: Iterable[ExtensionId]) -> None:
        """Make sure that these extensions have the options of the command line.

        Raises:
            ExtensionError: none has one of them, or its value is invalid.
        """
        if not self.given:
            return
        from kaa.ext.flags import FlagError  # lazy: few command lines have such options

        flags = [flag for scope in self.scopes(names) for flag in scope.flags.values()]
        if unknown := sorted(self.given.keys() - {flag.name for flag in flags}):
            raise ExtensionError(
                f"unrecognized arguments: {' '.join(f'--{name}' for name in unknown)}. See kaa --help."
            )
        for flag in flags:
            try:
                flag.value(self.given)
            except FlagError as error:
                raise ExtensionError(f"{error}. See kaa --help.") from error

    def subscribe(
        self, observer: Callable[[], None], farewell: Callable[[Scope], Awaitable[None]] | None = None
    ) -> Callable[[], None]:
        """Call `observer` after each change. Returns a function that ends this.

        Args:
            observer: is called.
            farewell: is awaited before an extension is unloaded or replaced.
        """
        self._observers.append(observer)
        if farewell is not None:
            self._farewells.append(farewell)

        def end() -> None:
            self._observers.remove(observer)
            if farewell is not None:
                self._farewells.remove(farewell)

        return end

    def tell(self) -> None:
        """Tell observers of a change."""
        for observer in tuple(self._observers):
            observer()

    def require_free(self, scope: Scope, kind: NamedKind, name: str) -> None:
        """See `Registrations`. All that is loaded counts: a conversation may use any of it together."""
        if not self._is_loaded(scope):
            return  # `load` checks all names at once
        for other in self._named_scopes():
            if other is scope:  # its own names are the registrations' to judge
                continue
            if taken := _first_taken({name}, kind, scope, other):
                raise RegistrationError(_taken(kind, taken, other))

    def changed(self, scope: Scope) -> None:
        """See `Registrations`."""
        if self._is_loaded(scope):
            self.tell()

    def _is_loaded(self, scope: Scope) -> bool:
        return self._scopes.get(scope.extension) is scope

    def _require_free_names(self, scope: Scope, beside: Iterable[ExtensionId] | None) -> None:
        """Drop an extension that registered a tool or a command of another one, which is an `ExtensionError`."""
        try:
            self._check_names(scope, beside)
        except NameTakenError:
            self.drop(scope)
            raise

    def _check_names(self, scope: Scope, beside: Iterable[ExtensionId] | None) -> None:
        """Tools and commands of different extensions must not have the same name."""
        used = None if beside is None else frozenset(beside)
        own = [(kind, names) for kind in get_args(NamedKind) if (names := _named(scope, kind).keys())]
        for other in self._named_scopes() if own else ():
            if used is not None and not other.everywhere and other.extension not in used:
                continue
            if other.extension == scope.extension:
                continue
            for kind, names in own:
                if taken := _first_taken(names, kind, scope, other):
                    raise NameTakenError(f"Extension {scope.extension} is not used: {_taken(kind, taken, other)}")

    def _named_scopes(self) -> Iterable[Scope]:
        """Those that have their names. One that the user disabled leaves them to others."""
        return (scope for scope in self._scopes.values() if self._disabled.get(scope.extension) != "user")

    def _limit_failures(self, scope: Scope) -> None:
        extension, costs = scope.extension, scope.costs
        if (
            scope.built_in
            or costs.failures != MOST_FAILURES
            or not self._is_loaded(scope)
            or extension in self._disabled
        ):
            return
        self._disabled[extension] = "failures"
        kept = (
            f". Its hooks for messages, requests and tool calls stay, because they may protect something:"
            f" /extensions disable {extension.key} turns them off"
            if scope.has_guards
            else ""
        )
        self._report(
            f"extension {extension} failed {costs.failures} times and is disabled until kaa ends. /extensions shows the"
            f" last failure, /extensions enable {extension.key} enables it again{kept}"
        )
        self.tell()


def _first_taken(names: Set[str], kind: NamedKind, of: Scope, by: Scope) -> str:
    """The first name of one extension that another one has; empty for none.

    Tools need other letters, not only another case: models call kaa's own by names that they have elsewhere (`Bash`).
    """
    named = _named(by, kind)
    if both := names & named.keys():
        return min(both)
    if kind != "tool" or of.built_in:
        return ""
    lower = set(map(str.lower, names))
    return min((one for one in named if one.lower() in lower), default="")


def _taken(kind: NamedKind, name: str, by: Scope) -> str:
    remedy = "choose another name" if by.built_in else f"choose another name, or disable {by.extension.key}"
    return f"a {kind} named {name!r} is already registered by {by.extension}: {remedy}"


def _named(scope: Scope, kind: NamedKind) -> Mapping[str, object]:
    named: dict[NamedKind, Mapping[str, object]]
    named = {"tool": scope.tools, "command": scope.commands, "provider": scope.providers}
    return named[kind]
