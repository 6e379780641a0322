"""What a project says to the agent: its settings, its instructions, its own system prompt.

Settings and system prompts come from a configuration that the user trusts, or not at all. AGENTS.md and its like
inform the model and instruct it only where the user trusts the text.
"""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TypeAlias

import msgspec

from kaa.builtin.amounts import listed
from kaa.ext.api import ContextFile
from kaa.ext.places import ExtensionId
from kaa.host.regular_files import read_regular, unplanted
from kaa.shell.components import USER_INSTRUCTIONS, ForeignAgent, FoundFile, enabled_plugins
from kaa.shell.home import PROJECT_FOLDER, Home, expanded
from kaa.shell.trust.configuration import ProjectConfiguration
from kaa.shell.trust.instructions import CONTEXT_NAMES, MAX_INSTRUCTION_BYTES, InstructionFile, text_in
from kaa.shell.trust.verdict import TrustVerdict

# What nobody answers for gets less room: enough for how to build and test.
MAX_UNTRUSTED_BYTES = 8 * 1024

# Rules for all files together; those that nobody answers for get as much as one file.
_MAX_RULES_CHARACTERS = 64 * 1024
_MAX_OWN_BYTES = 1024 * 1024
_MAX_OWN_IMPORTS_BYTES = 256 * 1024
_MOST_NAMED = 5

_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")

PROJECT_SETTINGS = f"{PROJECT_FOLDER}/settings.json"

ServerFile: TypeAlias = tuple[str, bytes]
"""The path of such a file in the project, and its content."""


class ProjectFiles(msgspec.Struct, frozen=True):
    """What was found.

    Attributes:
        extensions: copies of those that the user trusts.
        servers: the files that configure MCP servers.
        components: the files of skills, commands and hooks that are used.
        denied: what settings for other agents forbid, as deny rules.
        notices: what the user should know about it, in sentences.
    """

    settings: bytes | None = None
    system_prompt: str | None = None
    append_system_prompt: str | None = None
    context_files: tuple[ContextFile, ...] = ()
    extensions: tuple[ExtensionId, ...] = ()
    servers: tuple[ServerFile, ...] = ()
    components: tuple[FoundFile, ...] = ()
    denied: tuple[str, ...] = ()
    notices: tuple[str, ...] = ()

    @property
    def configuration(self) -> tuple[object, ...]:
        """What is not about instructions."""
        return (
            self.settings,
            self.system_prompt,
            self.append_system_prompt,
            self.extensions,
            self.servers,
            self.components,
            self.denied,
        )


async def project_files(
    home: Home,
    configuration: ProjectConfiguration,
    verdict: TrustVerdict,
    *,
    context: bool,
    agents: Sequence[ForeignAgent] = (),
) -> ProjectFiles:
    """The project's files, with the user's own where the project has none.

    Context files come from the user's folder first, then from the file system's root down to the project. Those of
    folders above the project are the project's: it may be a part of what was fetched.

    Args:
        agents: other agents whose instructions of the user are used, too.
    """
    texts = Texts()

    def prompt(name: str) -> str | None:
        path = f"{PROJECT_FOLDER}/{name}"
        data = configuration.content(path) if verdict.configuration else None
        return texts.read(path, data, MAX_INSTRUCTION_BYTES) if data else _own(home.path / name, texts)

    context_files: tuple[ContextFile, ...] = ()
    if context:
        mine = await _of_user(home, agents, texts)
        context_files = _each_once((*mine, *_instructions(configuration, verdict, texts)))
    texts.notices += configuration.components.notices
    components = [file for file in configuration.components.files if file.path in verdict.components]
    extensions = _extensions(configuration, home, texts) if verdict.configuration else ()
    return ProjectFiles(
        settings=configuration.content(PROJECT_SETTINGS) if verdict.configuration else None,
        system_prompt=prompt("SYSTEM.md"),
        append_system_prompt=prompt("APPEND_SYSTEM.md"),
        context_files=context_files,
        extensions=extensions,
        servers=server_files(configuration, verdict),
        components=tuple(file for file in components if file.place.kind != "deny rules"),
        denied=_denied([file for file in components if file.place.kind == "deny rules"]),
        # A line feed in a path must not begin a line that looks like one of ours.
        notices=tuple(" ".join(notice.split()) for notice in texts.notices),
    )


def server_files(configuration: ProjectConfiguration, verdict: TrustVerdict) -> tuple[ServerFile, ...]:
    """The project's files that configure MCP servers, as far as the user trusts them."""
    return configuration.server_files if verdict.configuration else ()


def _denied(files: Sequence[FoundFile]) -> tuple[str, ...]:
    if not files:
        return ()
    from kaa.shell.components.claude_settings import rules_of  # lazy: few projects have such rules

    return tuple(dict.fromkeys(rule for file in files for rule in rules_of(file)))


def _extensions(configuration: ProjectConfiguration, home: Home, texts: "Texts") -> tuple[ExtensionId, ...]:
    if not any(file.path.startswith(f"{PROJECT_FOLDER}/extensions/") for file in configuration.files):
        return ()
    from kaa.shell.extensions.project_copies import copies_of  # lazy: few projects have extensions

    copies = copies_of(configuration, home)
    texts.notices += copies.notices
    return copies.extensions


class Texts:
    """Makes texts of what a project's files hold, and notes what was done to them."""

    def __init__(self) -> None:
        self.notices: list[str] = []

    def read(self, path: str, data: bytes, max_bytes: int) -> str:
        """The beginning of `data` as text, without what a reader would not see, and marked where the rest is cut."""
        mark = ""
        if len(data) > max_bytes:
            self.notices.append(f"{path} is too long: only its first {max_bytes // 1024} KiB are used")
            mark = f"\n[kaa: cut after {max_bytes // 1024} KiB]"
        text = _decode(data[:max_bytes]).replace("\r\n", "\n")
        from kaa.tui.invisible import replace_invisible  # lazy: many projects have no such files

        visible = replace_invisible(_CONTROLS.sub("", text), lambda _: "")
        if hidden := len(text) - len(visible):
            self.notices.append(f"{path} has {hidden} invisible characters: they are left out")
        return visible + mark


def _instructions(configuration: ProjectConfiguration, verdict: TrustVerdict, texts: Texts) -> Iterator[ContextFile]:
    undecided: list[str] = []
    outside: list[str] = []
    room = {True: _MAX_RULES_CHARACTERS, False: MAX_UNTRUSTED_BYTES}
    for file in configuration.instructions:
        trusted = file.path in verdict.instructions
        if file.standing == "stranger":
            texts.notices.append(f"{file.path} is not used: {file.problem}")
        elif file.standing == "link" and not trusted:
            texts.notices.append(f"{file.path} is not used: it links to a file elsewhere. --trust uses it for one run")
        elif b"\0" in file.data[: file.own_bytes]:
            texts.notices.append(f"{file.path} is not used: it is a binary file")
        elif (used := _context_file(file, trusted, texts)) is not None:
            if file.rule and not used.paths:
                room[trusted] -= len(used.text)
                if room[trusted] < 0:
                    texts.notices.append(f"{file.path} is not used: the rules for all files are too long together")
                    continue
            yield used
            if not trusted:
                (undecided if file.standing == "project" else outside).append(file.path)
    yield from _nested(configuration, verdict, texts)
    for paths, reason in (
        (undecided, "you have not trusted this text. /trust in the terminal shows it and asks"),
        (outside, "it is outside the project and its repository"),
    ):
        if paths and not (verdict.was_asked and paths is undecided):
            texts.notices.append(
                f"{listed(paths, _MOST_NAMED)}: the model gets this as information, not as instructions,"
                f" because {reason}; --trust makes it instructions for one run"
            )


def _nested(configuration: ProjectConfiguration, verdict: TrustVerdict, texts: Texts) -> Iterator[ContextFile]:
    """The trusted instructions of folders; the others inform the model when it works there."""
    for file in configuration.nested:
        if file.path not in verdict.instructions:
            continue
        from kaa.shell.trust.nested import glob_of  # lazy: few projects have such files

        used = _context_file(file, True, texts)
        if used is not None and used.text.strip():
            yield msgspec.structs.replace(used, paths=(glob_of(file),))


def _context_file(file: InstructionFile, trusted: bool, texts: Texts) -> ContextFile | None:
    """What the model gets of a file. What it imports is trusted with it, or left out."""
    data = file.data if trusted else file.data[: file.own_bytes]
    text = texts.read(file.path, data, MAX_INSTRUCTION_BYTES if trusted else MAX_UNTRUSTED_BYTES)
    if trusted:
        texts.notices += file.notices
    if not file.rule:
        return ContextFile(file.path, text, trusted)
    from kaa.shell.rules import rule_file  # lazy: many projects have none

    return rule_file(file, text, trusted, texts.notices)


def _each_once(files: Sequence[ContextFile]) -> tuple[ContextFile, ...]:
    """The files without those that say the same as another one, of which the trusted one stays, or the first.

    What is in the prompt needs not come again with files of the project.
    """
    kept: dict[tuple[str, tuple[str, ...]], ContextFile] = {}
    for file in sorted(files, key=lambda file: (not file.trusted, bool(file.paths))):
        if (file.text.strip(), ()) not in kept:
            kept[file.text.strip(), file.paths] = kept.get((file.text.strip(), file.paths), file)
    used = {id(file) for file in kept.values()}
    return tuple(file for file in files if id(file) in used)


async def _of_user(home: Home, agents: Sequence[ForeignAgent], texts: Texts) -> list[ContextFile]:
    """The user's own instructions for all projects: those for other agents, as far as wanted, for kaa, of plugins."""
    foreign = [path for agent, path in USER_INSTRUCTIONS.items() if agent in agents]
    found = [(path, _own(path, texts)) for path in map(expanded, foreign)]
    own = ((home.path / name, _own(home.path / name, texts)) for name in CONTEXT_NAMES)
    found += [(path, text) for path, text in own if text is not None and text.strip()][:1]
    files = [(path, await _with_imports(path, text, texts)) for path, text in found if text is not None]
    if (plugins := enabled_plugins(home, texts.notices.append)) is not None:
        for path, data in plugins.instructions():
            text = texts.read(str(path), data, MAX_INSTRUCTION_BYTES)
            files.append((path, await _with_imports(path, text, texts, is_own=False)))
    return [ContextFile(str(path), text) for path, text in files]


async def _with_imports(path: Path, text: str, texts: Texts, *, is_own: bool = True) -> str:
    """A text of the user's, or of a plugin, with what it imports from its folder."""
    if "@" not in text:
        return text
    from kaa.shell.trust.imports import PluginTexts, UserFiles, with_imports  # lazy: few texts import others

    data = text.encode(errors="replace")
    most = len(data) + _MAX_OWN_IMPORTS_BYTES
    tree = UserFiles() if is_own else PluginTexts()
    more = await with_imports(tree, str(path), data, str(path.parent), most)
    texts.notices += more.notices
    return _decode(more.data)


def _own(file: Path, texts: Texts) -> str | None:
    """A file of the user's own folder, which is kaa's to read, or None."""
    try:
        data = read_regular(file, _MAX_OWN_BYTES, unplanted)
        return _decode(text_in(data, len(data)))
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        texts.notices.append(f"{file} is not used: it cannot be read ({error.strerror})")
        return None


def _decode(data: bytes) -> str:
    return data.decode("utf-8-sig", errors="replace")
