"""What a project brings along that would configure or instruct kaa: read, never followed, never run."""

import errno
import os
import posixpath
import shlex
from collections.abc import Sequence, Set
from typing import Literal

import msgspec

from kaa.core.messages import Json
from kaa.shell.components import (
    AGENT_SETTINGS,
    CLAUDE_SETTINGS,
    HOOK_PLACES,
    LSP_PLACES,
    PROJECT_PLACES,
    RULE_PLACES,
    Found,
    FoundFile,
    Place,
    is_component,
)
from kaa.shell.home import PROJECT_FOLDER, Home
from kaa.shell.trust.instructions import InstructionFile, find_instructions, stranger_above
from kaa.workspace.protocol import DirEntry, FileInfo, Workspace

SERVER_FILES = (".mcp.json", ".vscode/mcp.json", ".cursor/mcp.json", ".pi/mcp.json", f"{PROJECT_FOLDER}/mcp.json")
"""The files of a project that configure MCP servers; later ones win."""

# All that kaa takes from a project, now or with a later version, besides its instructions and components.
_PLACES = (PROJECT_FOLDER, *(path for path in SERVER_FILES if not path.startswith(f"{PROJECT_FOLDER}/")))

# More than a person would read before saying yes.
MAX_ENTRIES = 500
MAX_BYTES = 2 * 1024 * 1024
MAX_DEPTH = 16  # levels of directories; each costs at least one request for each of its directories

# What says that a project may have code for pi or opencode, which kaa names.
_WITH_CODE = frozenset({".pi", ".opencode", "opencode.json", "opencode.jsonc"})

_SETTINGS = f"{PROJECT_FOLDER}/settings.json"
_SERVERS = "programs and servers that the model may use (MCP); each that is not described below asks first"
# What files are for, for people; the first fitting prefix counts.
_USES = (
    *((path, _SERVERS) for path in SERVER_FILES),
    (_SETTINGS, "settings of kaa: model, tools"),
    (f"{PROJECT_FOLDER}/SYSTEM.md", "replaces kaa's instructions to the model"),
    (f"{PROJECT_FOLDER}/APPEND_SYSTEM.md", "adds to kaa's instructions to the model"),
    (f"{PROJECT_FOLDER}/extensions/", "programs that run as a part of kaa, with your rights"),
    (f"{PROJECT_FOLDER}/hooks/", "programs that run when kaa works"),
    (f"{PROJECT_FOLDER}/", "other files of kaa's folder"),
)
_MOST_NAMED = 12
_MOST_HOOKS = 20
_MOST_RULES = 20
_HOOK_USE = "hooks, whose commands run in the sandbox when the model works"
_DENY_USE = "deny rules: calls of tools that kaa refuses"
_VERIFY_USE = "commands that kaa runs in the sandbox after each change of files"
_COMPONENT_USES = {
    "skill": "skills: instructions that the model may follow, and scripts it may run in the sandbox",
    "command": "commands: texts for the model that you call by name",
    "agent": "definitions of agents: their instructions, tools and models",
    "language server": "language servers: programs that kaa starts in a sandbox, where they can change nothing",
}


class TrustError(Exception):
    """Trust cannot be given or looked up; the message says why and what to do."""


class ConfigurationFile(msgspec.Struct, frozen=True):
    """One file.

    Attributes:
        path: relative to the project's root.
        kind: `link` is a symbolic link, which is never followed; `other` is a pipe or the like, which is never opened.
        data: the content; of a link, where it leads.
        executable: whether anybody may execute it.
    """

    path: str
    kind: Literal["file", "link", "other"]
    data: bytes = b""
    executable: bool = False


class ProjectConfiguration(msgspec.Struct, frozen=True):
    """Everything of a project that would configure or instruct kaa, or run in it.

    Attributes:
        root: the project's canonical directory.
        files: of its configuration, sorted by path.
        problem: why it cannot be trusted whatever the user says, in a sentence; None if it can.
        instructions: AGENTS.md and its like, also of directories above, the most general first.
        components: skills, commands, hooks, language servers, deny rules and agents, of kaa and of others.
        nested: instructions in folders below the project, as far as they were asked for.
    """

    root: str
    files: tuple[ConfigurationFile, ...] = ()
    problem: str | None = None
    instructions: tuple[InstructionFile, ...] = ()
    components: Found = Found()
    nested: tuple[InstructionFile, ...] = ()

    @property
    def exists(self) -> bool:
        """Whether there is anything to trust."""
        return bool(self.trustable) or self.problem is not None

    @property
    def texts(self) -> tuple[InstructionFile, ...]:
        """The instructions that trust can be kept in."""
        return (*(file for file in self.instructions if file.standing == "project"), *self.nested)

    @property
    def trustable(self) -> tuple[ConfigurationFile, ...]:
        """All that trust is in: the texts, named from the root, the components, and the files of the configuration."""
        return (
            *(ConfigurationFile(text.name, "file", text.data) for text in self.texts),
            *(ConfigurationFile(file.path, "file", file.data) for file in self.components.files),
            *self.files,
        )

    @property
    def digest(self) -> str:
        """SHA-256 (hex) of all that trust is in: paths, kinds, contents, executable bits."""
        import hashlib  # lazy: only projects with something to trust need it

        return hashlib.sha256(msgspec.msgpack.encode(self.trustable)).hexdigest()

    def content(self, path: str) -> bytes | None:
        """The content of the regular file at `path`, None if there is none."""
        return next((file.data for file in self.files if file.path == path and file.kind == "file"), None)

    @property
    def server_files(self) -> tuple[tuple[str, bytes], ...]:
        """The files that configure MCP servers, by path, with their contents."""
        found = ((path, self.content(path)) for path in SERVER_FILES)
        return tuple((path, data) for path, data in found if data is not None)

    @property
    def uses(self) -> tuple[str, ...]:
        """What would be used, for people: one line for each purpose, with the files that serve it, and for each hook.

        The names are the project's: for a terminal they have to be sanitized.
        """
        grouped: dict[str, list[str]] = {}
        for file in self.files:
            name = file.path if file.kind == "file" else f"{file.path} (left out: not a regular file)"
            grouped.setdefault(_use(file.path), []).append(name)
        if commands := self._verifying:
            grouped[_VERIFY_USE] = commands
        for kind, use in _COMPONENT_USES.items():
            paths = [file.path for file in self.components.files if file.place.kind == kind]
            if len(paths) > _MOST_NAMED:
                paths[_MOST_NAMED:] = [f"{len(paths) - _MOST_NAMED} more, which `kaa import` lists"]
            if paths:
                grouped[use] = paths
        lines = [f"{use}: {', '.join(' '.join(path.split()) for path in paths)}" for use, paths in grouped.items()]
        if hooks := [file for file in self.components.files if file.place.kind == "hook"]:
            from kaa.shell.components.hook_files import commands_of  # lazy: few projects have hooks

            commands = [line for file in hooks for line in commands_of(file) or [file.path]]
            if len(commands) > _MOST_HOOKS:
                commands[_MOST_HOOKS:] = [f"{len(commands) - _MOST_HOOKS} more, which `kaa import` lists"]
            lines += [f"{_HOOK_USE}:", *commands]
        if denials := [file for file in self.components.files if file.place.kind == "deny rules"]:
            from kaa.shell.components.claude_settings import lines_of as rules_of  # lazy: few projects have such rules

            rules = [f"{file.path}: {line}" for file in denials for line in rules_of(file)]
            if len(rules) > _MOST_RULES:
                rules[_MOST_RULES:] = [f"{len(rules) - _MOST_RULES} more, which `kaa import` lists"]
            lines += [f"{_DENY_USE}:", *rules]
        if self.components.unused:
            lines += ["settings that kaa does not use:", *self.components.unused]
        return tuple(lines)

    @property
    def _verifying(self) -> list[str]:
        """The commands in the settings that verify work (`verify`)."""
        from kaa.llm import jsonc  # lazy: many projects have no settings

        data = self.content(_SETTINGS)
        try:
            commands = jsonc.decode(data, dict[str, Json]).get("verify") if data else None
        except (jsonc.JsoncError, msgspec.ValidationError, RecursionError):
            return []  # which is told where the settings are read
        return [one for one in commands if isinstance(one, str)] if isinstance(commands, list) else []


class _CannotBeTrustedError(Exception):
    """The survey met something that nobody could answer for."""


async def survey(workspace: Workspace, home: Home, nested: Sequence[str] = ()) -> ProjectConfiguration:
    """Read a project's configuration, instructions and components. Without any, that costs three small requests.

    Args:
        home: the user's folder. Where the project is the user's home directory, it lies in `.kaa`, but is no project's.
        nested: names of instructions in folders below the project, besides those that the user has trusted.

    Raises:
        OSError: the project's own directory cannot be examined.
    """
    base = await workspace.stat(".")
    if base is None:
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), workspace.root)
    instructions, repository = await find_instructions(workspace)
    try:
        names = {entry.name for entry in await workspace.list(".")}
    except PermissionError as error:  # a command may have closed it
        remedy = f"run: chmod u+rwx {shlex.quote(workspace.root)}"
        raise PermissionError(
            f"cannot read the directory {workspace.root} ({error.strerror or error}); {remedy}"
        ) from error
    above = await _places_above(workspace, repository)
    places = [place for place in PROJECT_PLACES if place.folder.split("/")[0] in names]
    components = await _components(workspace, places, base.real_path) if places else Found()
    others = [place for place in above if place.kind != "rule"]
    components = _joined(components, await _components_above(workspace, others, repository))
    rule_places = [place for place in RULE_PLACES if await _is_there(workspace, place, names)]
    rules_above = [place for place in above if place.kind == "rule"]
    if rule_places or rules_above:
        from kaa.shell.trust.rules import rules_in  # lazy: many projects have none

        of_project = await _components(workspace, rule_places, base.real_path)
        of_above = await _components_above(workspace, rules_above, repository)
        rules = rules_in(_joined(of_above, of_project), workspace.root)
        instructions = (*instructions, *rules.files)
        components = msgspec.structs.replace(components, notices=(*components.notices, *rules.notices))
    if hook_places := [place for place in HOOK_PLACES if place.folder.split("/")[0] in names]:
        from kaa.shell.components.hook_files import find_hooks  # lazy: many projects have none

        hooks = await find_hooks(workspace, hook_places, base.real_path)
        components = _joined(components, hooks)
    if claude := [place for place in CLAUDE_SETTINGS if place.folder.split("/")[0] in names]:
        from kaa.shell.components.claude_settings import find_denials  # lazy: many projects have none

        components = _joined(components, await find_denials(workspace, claude, base.real_path))
    if lsp_places := [place for place in LSP_PLACES if place.folder.split("/")[0] in names]:
        from kaa.shell.components.lsp_files import find_lsp  # lazy: many projects have none

        components = _joined(components, await find_lsp(workspace, lsp_places, base.real_path))
    if settings := [place for place in AGENT_SETTINGS if place.folder.split("/")[0] in names]:
        from kaa.shell.components.agent_settings import find_agent_settings  # lazy: few projects have such a file

        components = _joined(components, await find_agent_settings(workspace, settings, base.real_path))
    if names & _WITH_CODE:
        from kaa.shell.components.foreign_code import foreign_code  # lazy: few projects have such files

        of_opencode = [place for place in AGENT_SETTINGS if place.folder.split("/")[0] in names]
        components = _joined(components, Found((), await foreign_code(workspace, of_opencode, base.real_path)))
    found = ProjectConfiguration(
        base.real_path,
        instructions=instructions,
        components=components,
        nested=await _nested(workspace, home, base.real_path, nested, repository),
    )
    try:
        files = await _files(workspace, base.real_path, _canonical(home), names)
    except _CannotBeTrustedError as error:
        return msgspec.structs.replace(found, problem=str(error))
    return msgspec.structs.replace(found, files=files)


async def _nested(
    workspace: Workspace, home: Home, root: str, names: Sequence[str], repository: str
) -> tuple[InstructionFile, ...]:
    if home.trust.exists():
        from kaa.shell.trust.store import TrustStore  # lazy: it needs this module

        names = [*names, *TrustStore(home).nested_names(root)]
    if not names:
        return ()
    from kaa.shell.trust.nested import nested_instructions  # lazy: few projects have such files

    return await nested_instructions(workspace, names, repository)


async def _is_there(workspace: Workspace, place: Place, names: Set[str]) -> bool:
    """Whether a project has a place. Its first folder says so, but for `.github`, which most projects have."""
    first = place.folder.split("/")[0]
    return first in names and (first != ".github" or await workspace.stat(place.folder) is not None)


async def _components(workspace: Workspace, places: Sequence[Place], root: str) -> Found:
    from kaa.shell.components.finding import find  # lazy: many projects have none

    return await find(workspace, places, root)


async def _places_above(workspace: Workspace, repository: str) -> list[Place]:
    """The places in the directories above, up to the root of the repository, the nearest first."""
    places: list[Place] = []
    folder = workspace.root
    while folder != repository:
        folder = posixpath.dirname(folder)
        if folder == os.path.expanduser("~"):  # noqa: ASYNC240 - reads a variable; what is there is the user's
            break
        names = {entry.name for entry in await _entries(workspace, folder)}
        way = posixpath.relpath(folder, workspace.root)
        found = (place for place in (*PROJECT_PLACES, *RULE_PLACES) if place.folder.split("/")[0] in names)
        places += [place._replace(folder=f"{way}/{place.folder}") for place in found]
    return places


async def _components_above(workspace: Workspace, places: Sequence[Place], repository: str) -> Found:
    if not places:
        return Found()
    base = await workspace.stat(repository)
    found = await _components(workspace, places, repository if base is None else base.real_path)
    files: list[FoundFile] = []
    notices = list(found.notices)
    for file in found.files:
        if problem := stranger_above(file.real_path):
            notices.append(f"{file.path}: not used, because {problem}")
        else:
            files.append(file)
    return Found(tuple(files), tuple(notices))


async def _entries(workspace: Workspace, folder: str) -> list[DirEntry]:
    try:
        return await workspace.list(folder)
    except OSError:
        return []


def _joined(one: Found, other: Found) -> Found:
    return Found((*one.files, *other.files), (*one.notices, *other.notices), (*one.unused, *other.unused))


def configures(path: str) -> bool:
    """Whether a file is of a project's configuration, by its name; else it has instructions or is a component."""
    return not is_component(path) and any(path == place or path.startswith(f"{place}/") for place in _PLACES)


def _canonical(home: Home) -> str:
    return os.path.realpath(home.path)


async def _files(workspace: Workspace, root: str, own: str, names: Set[str]) -> tuple[ConfigurationFile, ...]:
    """All files but those in `own`, level by level, so that a limit that is exceeded ends it early.

    Args:
        root: its directory, without symlinks.
    """
    regular: list[FileInfo] = []
    found: list[ConfigurationFile] = []
    level: Sequence[str] = [place for place in _PLACES if place.split("/")[0] in names]
    depth = 0
    while level:
        if depth > MAX_DEPTH:
            raise _CannotBeTrustedError(f"its configuration has directories more than {MAX_DEPTH} levels deep")
        depth += 1
        folders: list[str] = []
        for path in level:
            info = await _examine(workspace, path)
            if info is None or posixpath.join(root, path) == own:
                continue
            if info.kind == "symlink" or info.real_path != posixpath.join(root, path):
                found.append(ConfigurationFile(path, "link", os.fsencode(info.real_path)))
            elif info.kind == "directory":
                folders.append(path)
            elif info.kind == "file":
                regular.append(msgspec.structs.replace(info, path=path))
            else:
                found.append(ConfigurationFile(path, "other"))
        below = [path for folder in folders for path in await _names(workspace, folder)]
        level = [path for path in below if not is_component(f"{path}/")]
        if len(level) + len(regular) + len(found) > MAX_ENTRIES:
            raise _CannotBeTrustedError(f"it has more than {MAX_ENTRIES} files of configuration")
    contents = await _contents(workspace, regular)
    found += [ConfigurationFile(info.path, "file", contents[info.path], bool(info.mode & 0o111)) for info in regular]
    return tuple(sorted(found, key=lambda file: file.path))


async def _examine(workspace: Workspace, path: str) -> FileInfo | None:
    try:
        info = await workspace.stat(path)
    except OSError as error:
        raise _CannotBeTrustedError(f"{path} cannot be examined ({error.strerror})") from error
    if info is None and path not in _PLACES:
        raise _CannotBeTrustedError(f"{path} cannot be examined: its name is not UTF-8, or it has just been removed")
    return info


async def _names(workspace: Workspace, folder: str) -> list[str]:
    try:
        return [f"{folder}/{entry.name}" for entry in await workspace.list(folder)]
    except OSError as error:
        raise _CannotBeTrustedError(f"{folder} cannot be listed ({error.strerror})") from error


async def _contents(workspace: Workspace, files: Sequence[FileInfo]) -> dict[str, bytes]:
    """The contents by path, all in one round trip."""
    paths = [info.path for info in files]
    if not paths:
        return {}
    too_large = f"its configuration is larger than {MAX_BYTES // 1024 // 1024} MiB"
    if sum(info.size for info in files) > MAX_BYTES:
        raise _CannotBeTrustedError(too_large)
    contents = await workspace.read_existing(paths, MAX_BYTES + 1)
    if unread := [path for path in paths if path not in contents]:
        raise _CannotBeTrustedError(f"{unread[0]} cannot be read")
    if sum(map(len, contents.values())) > MAX_BYTES:  # they grew meanwhile
        raise _CannotBeTrustedError(too_large)
    return contents


def _use(path: str) -> str:
    return next((use for prefix, use in _USES if path.startswith(prefix)), "other files")
