"""Gets the plugins that other plugins need, with these."""

from collections import deque
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import msgspec

from kaa.components.plugins.dependencies import Dependency, fits
from kaa.shell.extensions.errors import InstallationError
from kaa.shell.plugins.records import needing
from kaa.shell.plugins.store import PluginStore, PreparedPlugin

_MOST = 50  # plugins that are got for one


class ResolvedPlugin(msgspec.Struct, frozen=True):
    """A plugin with those that it needs, ready to be installed.

    Attributes:
        needed: the others, each before those that it needs itself.
        reasons: which plugins need them, by name.
        problems: what is not right with the plugins that are needed, in sentences without their ends.
    """

    wanted: PreparedPlugin
    needed: tuple[PreparedPlugin, ...] = ()
    reasons: dict[str, str] = {}
    problems: tuple[str, ...] = ()

    @property
    def plugins(self) -> tuple[PreparedPlugin, ...]:
        """All, the wanted one last."""
        return (*reversed(self.needed), self.wanted)


@contextmanager
def prepared_with_dependencies(store: PluginStore, text: str, directory: str) -> Iterator[ResolvedPlugin]:
    """Get a plugin, and those that it needs and that are not installed. As `PluginStore.prepare`.

    What is needed comes from the marketplace of the plugin, or from another one that this marketplace allows.

    Raises:
        InstallationError: the plugin cannot be had, or is not of a version that the installed plugins need.
    """
    with ExitStack() as stack:
        yield _Resolution(store, stack).of(text, directory)


class _Resolution:
    """The plugins that one needs, and those that they need, without end."""

    def __init__(self, store: PluginStore, stack: ExitStack) -> None:
        self._store = store
        self._stack = stack
        self._records = store.read()
        self._prepared: dict[str, PreparedPlugin] = {}  # by their source
        self._ranges: dict[str, dict[str, str]] = {}  # by the source of what is needed, and who needs it
        self._needs: dict[str, list[str]] = {}  # the sources of what is needed, by the source of who needs it
        self._root: PreparedPlugin | None = None
        self._count = 0
        self._allowed: set[str] = set()
        self._problems: dict[str, None] = {}

    def of(self, text: str, directory: str) -> ResolvedPlugin:
        wanted = self._wanted(text, directory)
        if marketplace := wanted.record.marketplace:
            self._allowed = {marketplace, *self._store.marketplace(marketplace).allows}
        waiting = deque([wanted])
        while waiting:
            one = waiting.popleft()
            if self._prepared[one.record.source] is not one:  # another version has taken its place
                continue
            self._needs[one.record.source] = []
            for dependency in one.plugin.dependencies:
                try:
                    found = self._needed(one, dependency)
                except InstallationError as error:
                    self._problems[f"{one.plugin.name} needs {dependency}: {error}"] = None
                    continue
                if found is not None:
                    waiting.append(found)
        return self._result(wanted)

    def _wanted(self, text: str, directory: str) -> PreparedPlugin:
        prepared = self._stack.enter_context(self._store.prepare(text, directory))
        given = self._ranges_of_installed(prepared.plugin.name)
        if not all(fits(prepared.plugin.version, wanted) for wanted in given.values()):
            prepared = self._stack.enter_context(
                self._store.prepare(prepared.record.source, directory, [*given.values()])
            )
            if bad := [one for one, wanted in given.items() if not fits(prepared.plugin.version, wanted)]:
                raise InstallationError(
                    f"{_called(prepared)} will not do for {bad[0]}, which needs {given[bad[0]]}: remove {bad[0]} first"
                )
        self._prepared[prepared.record.source] = self._root = prepared
        return prepared

    def _ranges_of_installed(self, name: str) -> dict[str, str]:
        """What the installed plugins need of one, by their names; but not what they do not have now either."""
        before = self._records.plugins.get(name)
        return {
            who: one.version
            for who, one in needing(name, self._records)
            if one.version and (before is None or fits(before.plugin.version, one.version))
        }

    def _needed(self, by: PreparedPlugin, dependency: Dependency) -> PreparedPlugin | None:
        """What is to be installed for a dependency; None if nothing is, or it is known already.

        Raises:
            InstallationError: it cannot be had.
        """
        marketplace = dependency.marketplace or by.record.marketplace
        if not marketplace:
            raise InstallationError("kaa knows no marketplace that has it: install it yourself")
        if marketplace not in self._allowed:
            raise InstallationError(f"its marketplace allows no plugins of {marketplace}: install it yourself")
        name = self._store.entry_of(dependency.name, marketplace).name
        source = f"{name}@{marketplace}"
        if (installed := self._records.plugins.get(name)) is not None and installed.source != source:
            raise InstallationError(f"a plugin {name} is installed from {installed.source}, not from {marketplace}")
        ranges = self._ranges.setdefault(source, {})
        if dependency.version:
            ranges[by.plugin.name] = dependency.version
        self._needs[by.record.source].append(source)
        known = self._prepared.get(source)
        version = known.plugin.version if known else installed.plugin.version if installed else None
        if version is not None and all(fits(version, one) for one in ranges.values()):
            if installed is not None and not installed.enabled:
                self._problems[f"{by.plugin.name} needs {name}, which is disabled: kaa plugin enable {name}"] = None
            return None
        if known is not None and known is self._root:
            raise InstallationError(f"{_called(known)} is what you install")
        return self._fitting(source, ranges)

    def _fitting(self, source: str, ranges: dict[str, str]) -> PreparedPlugin:
        self._count += 1
        if self._count > _MOST:
            raise InstallationError(f"more than {_MOST} plugins are needed: install it yourself")
        name = source.partition("@")[0]
        given = self._ranges_of_installed(name) | ranges
        prepared = self._stack.enter_context(self._store.prepare(source, "/", [*given.values()]))
        if any(not fits(prepared.plugin.version, one) for one in given.values()):
            wanted = ", ".join(f"{who} needs {one}" for who, one in given.items())
            raise InstallationError(f"no version of it will do: {_called(prepared)} is there, {wanted}")
        if prepared.previous is None:
            record = msgspec.structs.replace(prepared.record, for_others=True)
            prepared = msgspec.structs.replace(prepared, record=record)
        self._prepared[source] = prepared
        return prepared

    def _result(self, wanted: PreparedPlugin) -> ResolvedPlugin:
        """What is needed in the end: another version of a plugin may need other ones than the first."""
        done: dict[str, None] = {}  # those that others need come before these
        reasons: dict[str, list[str]] = {}
        path: list[str] = []

        def follow(source: str) -> None:
            path.append(source)
            for one in self._needs.get(source, ()):
                if one in path:
                    circle = (*path[path.index(one) :], one)
                    way = " needs ".join(at.partition("@")[0] for at in circle)
                    self._problems[f"{way}: they need each other"] = None
                elif one in self._prepared:
                    reasons.setdefault(one.partition("@")[0], []).append(self._prepared[source].plugin.name)
                    if one not in done:
                        follow(one)
            done[path.pop()] = None

        follow(wanted.record.source)
        needed = tuple(self._prepared[one] for one in reversed(done) if one != wanted.record.source)
        told = {name: ", ".join(dict.fromkeys(who)) for name, who in reasons.items()}
        return ResolvedPlugin(wanted, needed, told, tuple(self._problems))


def _called(prepared: PreparedPlugin) -> str:
    return f"{prepared.plugin.name} {prepared.plugin.version or 'without a version'}"
