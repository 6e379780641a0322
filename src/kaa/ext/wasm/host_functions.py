"""What kaa does for a component that asks: files of the project, requests, log, model calls, settings, notices.

Each function gets the context of the call and checks the permissions of the extension. What it refuses is an error that
the component can handle.

Values are as wasmtime for Python represents them: a `result` or `variant` whose cases have different Python types is
the bare value; otherwise it is a `Variant` with a tag. Texts are UTF-8 without exception, so what Python cannot encode
is replaced before wasmtime sees it.
"""

import json
import posixpath
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from kaa.core.messages import Json
from kaa.core.tool import ToolError
from kaa.ext.errors import CommandError
from kaa.ext.permissions import Permissions
from kaa.ext.wasm.errors import ComponentError, HostRefusalError
from kaa.ext.wasm.worker import HostContext, HostFunction, HostFunctions
from kaa.host.log import LOG
from kaa.host.paths import is_below
from kaa.llm.unicode_text import clean
from kaa.workspace.blocked import BlockedError
from kaa.workspace.protocol import CommandRequest, SearchError, Workspace

if TYPE_CHECKING:
    from wasmtime.component import Record

# `kaa:extension` with its version, as wit/kaa-extension.wit has it.
PACKAGE, VERSION = "kaa:extension", "0.1.0"
_MAX_FILE_BYTES = 8 * 1024 * 1024
_MAX_NAMES = 5_000
_MAX_LOG_CHARACTERS = 2_000
_HTTP_SECONDS = 60.0
_MAX_BODY_BYTES = 6 * 1024 * 1024  # http_get.py keeps to less
_HTTP_SCRIPT = str(Path(__file__).with_name("http_get.py"))
_HOW = "ask for it in [permissions] of extension.toml"
_MAX_TEXT_BYTES = 1024 * 1024


def host_functions(name: str, permissions: Permissions, settings: type[msgspec.Struct]) -> HostFunctions:
    """The functions for one extension.

    Args:
        name: of the extension, for the log.
        permissions: what the user permits it.
        settings: of the extension.
    """
    files, others = _Files(permissions), _Others(name, permissions, settings)
    interfaces: dict[str, dict[str, HostFunction]] = {
        "files": {
            "read": _answering("func(path: string) -> result<string, string>", files.read),
            "write": _answering("func(path: string, text: string) -> result<_, string>", files.write),
            "entries": _answering("func(path: string) -> result<list<string>, string>", files.entries),
            "find": _answering("func(pattern: string) -> result<list<string>, string>", files.find),
        },
        "http": {"get": _answering("func(url: string) -> result<string, string>", others.get)},
        "models": {"ask": _answering("func(prompt: string) -> result<string, string>", others.ask)},
        "log": {"write": HostFunction("func(text: string)", others.log)},
        "notices": {"notify": HostFunction("func(text: string)", others.notify)},
        "settings": {"get": HostFunction("func(name: string) -> option<string>", others.setting)},
    }
    return {f"{PACKAGE}/{interface}@{VERSION}": functions for interface, functions in interfaces.items()}


def _answering(kind: str, work: Callable[..., Awaitable[object]]) -> HostFunction:
    """A function of this type with a `result`, whose errors are for the component. `work` needs a conversation."""
    tagged = kind.endswith("result<string, string>")  # success and failure have the same type

    async def answered(context: HostContext | None, *arguments: object) -> object:
        try:
            if context is None:
                raise HostRefusalError("this works only in a call, not while kaa loads the extension")
            return success(await work(context, *arguments), tagged=tagged)
        except (HostRefusalError, SearchError, ToolError) as error:
            return failure(str(error), tagged=tagged)
        except BlockedError as error:
            return failure(f"the sandbox blocked it: {error}", tagged=tagged)
        except OSError as error:
            return failure(f"{error.filename or ''}: {error.strerror or error}".removeprefix(": "), tagged=tagged)

    return HostFunction(kind, answered)


class _Files:
    """Files of the project, through the workspace of the call."""

    def __init__(self, permissions: Permissions) -> None:
        self._access = permissions.project

    async def read(self, context: HostContext, path: str) -> str:
        place = await self._place(context.workspace, path)
        content = await context.workspace.read(place, 0, _MAX_FILE_BYTES + 1)
        if len(content.data) > _MAX_FILE_BYTES:
            raise HostRefusalError(f"{path} has more than {_MAX_FILE_BYTES >> 20} MiB")
        try:
            return content.data.decode()
        except UnicodeDecodeError as error:
            raise HostRefusalError(f"{path} is not UTF-8 text") from error

    async def write(self, context: HostContext, path: str, text: str) -> None:
        place = await self._place(context.workspace, path, writes=True)
        await context.workspace.write(place, text.encode())

    async def entries(self, context: HostContext, path: str) -> list[str]:
        place = await self._place(context.workspace, path)
        entries = await context.workspace.list(place)
        return sorted(entry.name + "/" * (entry.kind == "directory") for entry in entries)[:_MAX_NAMES]

    async def find(self, context: HostContext, pattern: str) -> list[str]:
        await self._place(context.workspace, ".")
        return list((await context.workspace.find(pattern, limit=_MAX_NAMES)).paths)

    async def _place(self, workspace: Workspace, path: str, *, writes: bool = False) -> str:
        """Where a path leads, if the component may touch it: inside the project, whatever the workspace allows."""
        wanted = "write" if writes else "read"
        if self._access == "none" or (writes and self._access != "write"):
            raise HostRefusalError(f'permission project = "{wanted}" is missing: {_HOW}')
        if "\0" in path:
            raise HostRefusalError("the path has a NUL character")
        place = posixpath.normpath(posixpath.join(workspace.root, path))
        existing = place
        while (found := await workspace.stat(existing)) is None and existing != "/":
            existing = posixpath.dirname(existing)
        root = await workspace.stat(workspace.root)
        if not (found and root and is_below(found.real_path, [root.real_path])):
            raise HostRefusalError(f"{path} is outside the project")
        return place


class _Others:
    """Everything but files."""

    def __init__(self, name: str, permissions: Permissions, settings: type[msgspec.Struct]) -> None:
        self._name = name
        self._permissions = permissions
        self._settings = settings

    async def get(self, context: HostContext, url: str) -> str:
        if not self._permissions.hosts:
            raise HostRefusalError(f"permission hosts is missing: {_HOW}")
        if "\0" in url:
            raise HostRefusalError("the address has a NUL character")
        argv = (sys.executable, "-I", "-S", "-X", "utf8", _HTTP_SCRIPT, url, *self._permissions.hosts)
        command = CommandRequest(argv, timeout=_HTTP_SECONDS, tail_bytes=_MAX_BODY_BYTES, spill=False)
        result = await context.workspace.run(command)
        problem, _, body = result.tail.partition(b"\n")
        if problem or result.exit_code != 0:
            said = problem.decode(errors="replace")[:1000] or f"no answer in {_HTTP_SECONDS:g} s"
            raise HostRefusalError(f"{url} was not fetched: {said}")
        return body.decode(errors="replace")

    async def ask(self, context: HostContext, prompt: str) -> str:
        if not self._permissions.models:
            raise HostRefusalError(f"permission models is missing: {_HOW}")
        if not prompt.strip():
            raise HostRefusalError("the prompt is empty")
        return (await context.complete(prompt)).text

    async def log(self, _: HostContext | None, text: str) -> None:
        LOG.info("extension %s: %s", self._name, text[:_MAX_LOG_CHARACTERS])

    async def setting(self, context: HostContext | None, name: str) -> str | None:
        if name not in self._settings.__struct_fields__:
            return None
        try:
            values = self._settings() if context is None else context.settings(self._settings)
        except CommandError as error:  # settings.json has a wrong value, of which the user knows
            LOG.warning("extension %s: %s", self._name, error)
            values = self._settings()
        return json_text(getattr(values, name))

    async def notify(self, context: HostContext | None, text: str) -> None:
        if context is not None and text.strip():
            context.show.notice(text)


def json_text(value: Json) -> str:
    """JSON for a component."""
    try:
        return msgspec.json.encode(value).decode()
    except UnicodeEncodeError:
        return clean(json.dumps(value, ensure_ascii=False))


def record(**fields: object) -> "Record":
    """A record; underscores in names stand for hyphens."""
    from wasmtime.component import Record  # lazy: only components need wasmtime

    made = Record()
    made.__dict__.update({name.replace("_", "-"): value for name, value in fields.items()})
    return made


def fields(made: object) -> dict[str, Any]:
    """The fields of a record, named as in Python."""
    return {name.replace("-", "_"): value for name, value in vars(made).items()}


def success(value: object, *, tagged: bool) -> object:
    """A result that is no error."""
    from wasmtime.component import Variant

    plain: object = value
    if isinstance(value, str):
        plain = clean(value)
    elif isinstance(value, list):
        plain = [clean(one) if isinstance(one, str) else one for one in value]
    return Variant("ok", plain) if tagged else plain


def failure(problem: str, *, tagged: bool) -> object:
    """A result that is an error."""
    from wasmtime.component import Variant

    return Variant("err", clean(problem)) if tagged else clean(problem)


def bounded(value: object, what: str) -> str:
    """A text of a component, if it is not too long.

    Raises:
        ComponentError: it is.
    """
    assert isinstance(value, str), "load compared the types"
    if len(value) > _MAX_TEXT_BYTES:
        raise ComponentError(f"{what} has {len(value):,} characters: return at most {_MAX_TEXT_BYTES:,}")
    return value
