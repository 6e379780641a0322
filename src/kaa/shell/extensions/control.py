"""Reports on the user's extensions, and switches them on and off for the time that kaa runs."""

from collections.abc import Callable, Sequence
from pathlib import Path

from kaa.core.usage import size_of_schema, tokens_in
from kaa.ext.errors import CommandError, NameTakenError
from kaa.ext.places import ExtensionId, kind_of
from kaa.ext.registry import Registry
from kaa.ext.reports import ExtensionReport, ExtensionState
from kaa.ext.scope import Scope
from kaa.shell.active_tools import ActiveTools
from kaa.shell.loaded_extensions import KnownExtension, LoadedExtensions
from kaa.shell.settings import Settings

_HOOKS = {
    "session_starts": "on_session_start hook",
    "session_ends": "on_session_end hook",
    "message_hooks": "on_user_message hook",
    "before_requests": "before_request hook",
    "before_tools": "before_tool hook",
    "after_tools": "after_tool hook",
    "missing_tools": "missing_tool hook",
    "before_ends": "before_end hook",
    "before_compactions": "before_compaction hook",
    "after_compactions": "after_compaction hook",
    "result_shorteners": "shorten_results hook",
    "before_navigations": "before_navigation hook",
    "compactors": "compactor",
    "handlers": "on_event handler",
    "notification_handlers": "on_notification handler",
    "services": "service",
}


_STATES: dict[str | None, ExtensionState] = {
    None: "loaded",
    "user": "disabled",
    "failures": "disabled after failures",
}


class ExtensionControl:
    def __init__(
        self,
        extensions: LoadedExtensions,
        registry: Registry,
        tools: ActiveTools,
        settings: Callable[[], Settings],
        project: Sequence[ExtensionId],
    ) -> None:
        self._extensions = extensions
        self._project = project
        self._registry = registry
        self._tools = tools
        self._settings = settings

    def listed(self) -> tuple[ExtensionReport, ...]:
        found = self._extensions.known(self._settings(), self._project)
        return tuple(report_on(one, self._extensions, self._prompt_tokens) for one in found)

    async def enable(self, name: str) -> str:
        extension = self._found(name).extension
        try:
            self._extensions.switch(extension, on=True)
        except NameTakenError as error:
            raise CommandError(str(error)) from error
        self._registry.use(await self._extensions.load(self._settings(), self._project))
        after = self._found(extension.path)
        if after.problem:
            raise CommandError(after.problem)
        return f"extension {extension} is enabled until kaa ends"

    async def disable(self, name: str) -> str:
        extension = self._found(name).extension
        self._extensions.switch(extension, on=False)
        self._registry.use(await self._extensions.load(self._settings(), self._project))
        return f"extension {extension} is disabled until kaa ends"

    def _found(self, name: str) -> KnownExtension:
        known = self._extensions.known(self._settings(), self._project)
        by_key = [one for one in known if name in (one.extension.key, one.extension.path)]
        match by_key or [one for one in known if name == one.extension.name]:
            case [one]:
                return one
            case []:
                names = ", ".join(one.extension.key for one in known) or "none"
                raise CommandError(f"no extension named {name!r}: your extensions are {names}")
            case found:
                paths = ", ".join(one.extension.path for one in found)
                raise CommandError(f"several extensions are named {name!r}: give a path: {paths}")

    def _prompt_tokens(self, scope: Scope) -> int:
        active = {tool.schema.name: tool.schema for tool in self._tools.bound()}
        tools = sum(size_of_schema(active[name]) for name in scope.tools if name in active)
        return tools + sum(tokens_in(text) for name, text in self._tools.sections if name in scope.sections)


def report_on(
    known: KnownExtension, extensions: LoadedExtensions, prompt_tokens: Callable[[Scope], int]
) -> ExtensionReport:
    """What there is to tell of an extension.

    Args:
        prompt_tokens: how many tokens it adds to each request.
    """
    name = known.extension
    kind = kind_of(Path(name.path)) or ""
    if name not in extensions.loaded.names:
        state: ExtensionState = "not loaded" if known.is_enabled else "disabled"
        return ExtensionReport(name.key, name.path, kind, known.source, "", state, known.problem)
    scope, disabled = extensions.loaded.scope(name), extensions.loaded.is_disabled(name)
    costs = scope.costs
    return ExtensionReport(
        name.key,
        name.path,
        kind,
        known.source,
        scope.version,
        "failed" if scope.problem and disabled is None else _STATES[disabled],
        known.problem or scope.problem or costs.last_failure,
        tuple(added_by(scope)),
        costs.load_seconds,
        costs.calls,
        costs.seconds,
        costs.slowest,
        costs.slowest_seconds,
        0 if disabled else prompt_tokens(scope),
        costs.failures,
        scope.interface,
        tuple(costs.refusals),
    )


def added_by(scope: Scope) -> list[str]:
    """What an extension has registered, a phrase for each."""
    hooks = ((len(getattr(scope, name)), title) for name, title in _HOOKS.items())
    return [
        *(f"tool {name}" for name in scope.tools),
        *(f"/{name}" for name in scope.commands),
        *(f"prompt section {name}" for name in scope.sections),
        *(f"provider {name}" for name in scope.providers),
        *(f"option --{name}" for name in scope.flags),
        *(f"themes in {folder}" for folder in scope.theme_folders),
        *(["settings"] if scope.settings is not None else []),
        *(f"{title}" if count == 1 else f"{count} {title}s" for count, title in hooks if count),
    ]
