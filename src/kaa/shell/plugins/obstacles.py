"""Finds what keeps a plugin from working here: missing programs and files, protected state, and hidden folders."""

import re
import shlex
import shutil
from collections.abc import Iterator, Mapping
from itertools import islice

from kaa.builtin.amounts import listed
from kaa.components.hooks import HookDefinition
from kaa.components.plugins.folder import Listing
from kaa.components.plugins.manifest import Plugin
from kaa.components.plugins.variables import PluginFolders
from kaa.core.messages import Json
from kaa.shell.plugins.use import language_servers_of, plugin_hooks, servers_of

_ROOT = "/plugin"  # stands for the root of the plugin
_FOLDERS = PluginFolders(_ROOT, "/data", "/project")
_IN_SHELL = re.compile(r"\$\{?(?:CLAUDE_PLUGIN_ROOT|PLUGIN_ROOT|extensionPath)\}?/")
# Words of a shell that are no programs.
_BUILTINS = frozenset((".", ":", "[", "[[", "{", "(", "!", "cd", "case", "command", "echo", "eval", "exec", "exit"))
_BUILTINS |= {"export", "false", "for", "function", "if", "printf", "read", "return", "set", "source", "test", "trap"}
_BUILTINS |= {"true", "umask", "unset", "until", "while"}
_SEARCHED = (".sh", ".bash", ".py", ".js", ".mjs", ".cjs", ".ts", ".rb", ".pl")
_OF_TESTS = re.compile(r"(?:^|/)(?:__tests__|tests?|spec)/|\.(?:test|spec)\.|\.d\.\w+$")
_MOST_BYTES = 256 * 1024  # of a file that is searched
_MOST_FILES = 500
_MOST_NAMED = 5

# Files in the folder of an agent in a project, however a script gets there, but not in the home.
_STATE = re.compile(
    r"(?:^|[\s\"'`=(,:])(?:\./|\$\{?(?:CLAUDE_PROJECT_DIR|PWD)\}?/)?(\.(?:claude|codex|gemini|cursor|opencode)/[\w.*/-]*\w)",
    re.MULTILINE,
)
# What people write there themselves, and scripts read.
_CONFIGURATION = re.compile(
    r"\.\w+/(?:settings(?:\.local)?\.json|config\.toml|CLAUDE\.md|commands?|agents?|skills?|hooks|plugins?|rules|mcp\.json)\b"
)

# Programs that fetch what they run, with their registries.
_RUNNERS = {
    "npx": "registries/node",
    "bunx": "registries/node",
    "pnpx": "registries/node",
    "uvx": "registries/python",
    "pipx": "registries/python",
}

_LONGEST_COMMAND = 10_000  # characters of a hook that are looked at
# A runner behind another command: `if …; then exit 0; fi; npx tool`, `cd x && uvx tool`, `cat | bunx tool`.
_RUNS_THEN = re.compile(
    rf"(?:^|[;&|({{`]|\b(?:if|elif|while|until|then|else|do|exec|command|time|env)\b)[ \t]*+(?:\w++=\S*+[ \t]++)*"
    rf"({'|'.join(_RUNNERS)})(?=\s)",
    re.MULTILINE,
)

# Where agents keep their sessions in the home, also in parts: `path.join(os.homedir(), ".claude", "projects")`.
_SESSIONS = re.compile(r"\.(?:(claude)[\"']?[\s,/]{1,3}[\"']?(projects)|(codex)[\"']?[\s,/]{1,3}[\"']?(sessions))\b")


def obstacles(plugin: Plugin, files: Listing, environ: Mapping[str, str]) -> list[str]:
    """What will not work, in clauses for people; empty if nothing is known.

    Args:
        environ: the user's variables, whose PATH has the programs.
    """
    found: dict[str, dict[str, None]] = {}  # what needs it, by program or file
    for title, word in _programs(plugin):
        program = word
        if word.startswith(f"{_ROOT}/"):
            path = word.removeprefix(f"{_ROOT}/")
            data = files.read(path)
            if data is None:
                found.setdefault(f"the file {path} is not in the plugin", {})[title] = None
                continue
            program = _interpreter(data)
        if program and "/" not in program and shutil.which(program, path=environ.get("PATH")) is None:
            found.setdefault(f"the program {program} is not installed", {})[title] = None
    return [
        *(
            f"{problem}, which {listed([*needing], _MOST_NAMED)} {_needs(len(needing))}"
            for problem, needing in found.items()
        ),
        *_fetching(plugin),
        *_protected(plugin, files),
        *_hidden(plugin, files),
    ]


def _programs(plugin: Plugin) -> Iterator[tuple[str, str]]:
    """What each part of a plugin starts: a name, or a path below `_ROOT`."""
    for hook in plugin_hooks(plugin, _FOLDERS)[0]:
        for word in _of_hook(hook):
            yield f"the hook for {hook.named_event}", word
    for name, entry in servers_of(plugin, _FOLDERS).entries.items():
        yield f"the MCP server {name}", _command(entry)
    for server in language_servers_of(plugin, _FOLDERS):
        yield f"the language server {server.name}", server.command[0] if server.command else ""


def _of_hook(hook: HookDefinition) -> Iterator[str]:
    """The program of a hook, and a script of the plugin that it is given."""
    if hook.handler != "command":
        return
    if hook.args is not None:
        words = [hook.command, *hook.args]
    else:
        try:
            words = shlex.split(_IN_SHELL.sub(f"{_ROOT}/", hook.command), comments=True)
        except ValueError:  # a shell may understand it
            return
        while words and re.match(r"\w+=", words[0]):
            if re.search(r"\$\(|`", words[0]):  # what follows is a part of the value
                return
            del words[0]
    for at, word in enumerate(words[:2]):
        if word.startswith(f"{_ROOT}/") and not re.search(r"[$*?;&|<>`(]", word):
            yield word
        elif not at and (word in _BUILTINS or not re.fullmatch(r"[\w.+-]+", word)):
            return  # what follows is the shell's to read
        elif not at:
            yield word


def _fetching(plugin: Plugin) -> Iterator[str]:
    """Hooks that a package runner starts: in the sandbox, it reaches its registry only where the user permits that."""
    hooks: dict[str, dict[str, None]] = {}
    for hook in plugin_hooks(plugin, _FOLDERS)[0]:
        for program in _runners_of(hook):
            hooks.setdefault(program, {})[f"the hook for {hook.named_event}"] = None
    for program, titles in hooks.items():
        starts = "starts" if len(titles) == 1 else "start"
        yield (
            f"{listed([*titles], _MOST_NAMED)} {starts} {program}, which fetches packages: without"
            f' "sandbox": {{"network": "{_RUNNERS[program]}"}} in your settings it fails, and a hook before tool calls'
            " refuses them"
        )


def _runners_of(hook: HookDefinition) -> Iterator[str]:
    """The package runners that a hook starts, wherever they stand in its command, each once."""
    if hook.handler != "command":
        return
    if hook.args is not None:
        yield from {hook.command}.intersection(_RUNNERS)
        return
    text = re.sub(r"(?m)(?:^|\s)#.*$", "", hook.command[:_LONGEST_COMMAND])
    yield from dict.fromkeys(match[1] for match in _RUNS_THEN.finditer(text))


def _command(entry: Json) -> str:
    command = entry.get("command") if isinstance(entry, dict) else None
    return command if isinstance(command, str) else ""


def _interpreter(data: bytes) -> str:
    """The program that the first line of a script names by its name; empty without one."""
    first = data.partition(b"\n")[0].decode("utf-8", "replace")
    words = first[2:].split() if first.startswith("#!") else []
    if words and words[0].endswith("/env"):
        words = [word for word in words[1:] if not word.startswith("-")]
    return words[0].rpartition("/")[2] if words else ""


def _protected(plugin: Plugin, files: Listing) -> Iterator[str]:
    """Files of a project in which scripts and commands keep something, although the sandbox protects them."""
    scripts = (path for path in files.files("") if path.endswith(_SEARCHED) and not _OF_TESTS.search(path))
    texts = list(islice(scripts, _MOST_FILES))
    named: dict[str, str] = {}
    for path in (*texts, *(command.path for command in plugin.commands)):
        data = files.read(path)
        if data is None or len(data) > _MOST_BYTES:
            continue
        for match in _STATE.finditer(data.decode("utf-8", "replace")):
            if not _CONFIGURATION.match(match[1]) and "/../" not in match[1]:
                named.setdefault(match[1], path)
    if named:
        shown = [f"{name} ({path})" for name, path in named.items()]
        yield (
            f"it names {listed(shown, _MOST_NAMED)}: such files of a project are protected, so that hooks and commands"
            " can read them and not write them"
        )


def _hidden(plugin: Plugin, files: Listing) -> Iterator[str]:
    """Folders of the home that texts of a plugin name, although the sandbox shows nothing of them."""
    parts = (*plugin.skills, *plugin.commands, *plugin.agents)
    scripts = (path for path in files.files("") if path.endswith(_SEARCHED) and not _OF_TESTS.search(path))
    named: dict[str, str] = {}
    for path in (*(part.path for part in parts), *islice(scripts, _MOST_FILES)):
        data = files.read(path)
        if data is not None and len(data) <= _MOST_BYTES:
            for match in _SESSIONS.finditer(data.decode("utf-8", "replace")):
                agent, folder = filter(None, match.groups())
                named.setdefault(f"~/.{agent}/{folder}", path)
    for folder, path in named.items():
        yield f'it names {folder} ({path}), which commands do not see: "!{folder}" in sandbox.hidden shows it'


def _needs(count: int) -> str:
    return "needs" if count == 1 else "need"
