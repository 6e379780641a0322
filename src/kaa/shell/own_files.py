"""Which files the user's kaa obeys in every project, wherever links lead from them, and whether commands decide them.

Many keep such files in a repository of their own and link to them. In that repository, commands must neither change
them nor exchange a link on the way to them: kaa would obey the other file from then on. Light: the sandbox needs it.
"""

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import partial

from kaa.host.paths import exchangeable, is_below
from kaa.host.regular_files import beginning_of
from kaa.shell.components import USER_INSTRUCTIONS, Place, PluginPlaces, user_hook_places, user_lsp_places, user_places
from kaa.shell.home import Home
from kaa.shell.settings import Settings, SettingsError
from kaa.shell.trust.instructions import CONTEXT_NAMES

_MAX_DEPTH = 4  # of folders with skills and commands, as where they are looked for
_MAX_FOLDERS = 2_000
_MAX_TEXT_BYTES = 1024 * 1024
_NOT_LOOKED_AT = frozenset({".git", "node_modules", "__pycache__"})
_SKILL_FILE = "SKILL.md"
_SUFFIXES = (".md", ".toml")  # of commands and definitions of agents
# What kaa looks for in its folder. A link there under another name is the user's business.
_FOLDERS_OF_KAA = frozenset(
    {
        *("agents", "cache", "checkpoints", "extension-data", "extensions", "mcp-data", "permissions", "plugin-data"),
        *("plugins", "project-extensions", "prompts", "run", "sessions", "skills", "themes", "traces"),
    }
)


def own_paths(home: Home, user: Settings, plugins: Iterable[PluginPlaces]) -> tuple[str, ...]:
    """Return the absolute paths of what kaa takes for the user's own, and of links in these folders to what it reads.

    Files that do not exist yet count as well: whoever makes one is obeyed.

    Args:
        user: says whose files are used, and where more are.
    """
    agents = user.use_files_of
    places = user_places(home.path, agents, user.skills, user.prompts)
    files = (*user_hook_places(home.path, agents), *user_lsp_places(agents))
    plugins = tuple(plugins)
    folders = (*(place.folder for place in places), *(str(one.root) for one in plugins))
    top = os.path.join(os.getcwd(), home.path)  # not normalized: `..` behind a link leads elsewhere
    extensions = _extensions_in(home)
    texts = (
        *(os.path.join(top, name) for name in CONTEXT_NAMES),
        *(os.path.expanduser(path) for agent, path in USER_INSTRUCTIONS.items() if agent in agents),
    )
    named = (
        top,
        *folders,
        extensions,
        *(place.folder for place in files),
        *texts,
        *(path for text in texts for path in _imports(text)),
    )
    links = (
        *(link for link in _links(top, 1) if not os.path.isdir(link) or os.path.basename(link) in _FOLDERS_OF_KAA),
        *_links_to_extensions(extensions),
        *(link for place in places for link in _links_to_components(place)),
        *(link for one in plugins for link in _links(str(one.root), _MAX_DEPTH)),
    )
    return tuple(dict.fromkeys((*named, *links)))


def protected_paths(
    own: Sequence[str], home: Home, writable: Sequence[str], is_copied: Callable[[str], bool]
) -> tuple[str, ...]:
    """Return the real paths of those of the user's files that commands must not change although they could.

    A folder that is, or contains, a directory to work in cannot be held: what is in it counts as a project's when it is
    read (`kaa.shell.trust.own_in_projects`). Extensions that kaa loads from a copy need not be held.

    Args:
        own: paths, as `own_paths` gives them.
        home: kaa's folder, which commands neither see nor write, wherever it is.
        writable: what commands can write, as real paths.
        is_copied: whether kaa loads an extension at a real path from a copy.

    Raises:
        SettingsError: commands could exchange a link on the way to one.
    """
    real = {path: os.path.realpath(path) for path in own}
    top = os.path.realpath(home.path)
    extensions = frozenset(_links_to_extensions(_extensions_in(home)))
    unheld = {
        path: place
        for path, place in real.items()
        if not is_held(place, writable) or (path in extensions and is_copied(place))
    }
    held = tuple(dict.fromkeys(one for path, one in real.items() if is_below(one, writable) and path not in unheld))
    for path in own:
        judged = (place for folder, place in unheld.items() if is_below(path, (folder,)))
        check_way(path, partial(_is_written, writable, (top, *held, *judged)))
    return tuple(one for one in held if not is_below(one, (top,)))


def _extensions_in(home: Home) -> str:
    return os.path.join(os.getcwd(), home.path, home.extensions.name)


def _is_written(writable: Sequence[str], safe: Sequence[str], link: str) -> bool:
    return is_below(link, writable) and not is_below(link, safe)


def is_held(path: str, writable: Iterable[str]) -> bool:
    """Whether something can be mounted over a real path, so that commands cannot write it."""
    return not any(is_below(one, (path,)) for one in writable)


def check_way(path: str, is_written: Callable[[str], bool], what: str = "") -> None:
    """Make sure that no link leads to a file of the user's that commands can exchange.

    Args:
        path: absolute, as the user or a setting names it.
        is_written: whether commands can write an absolute path whose folder is a real one.
        what: it is, before its path in the message.

    Raises:
        SettingsError: one does.
    """
    if (link := exchangeable(path, is_written)) is not None:
        if os.path.dirname(link) == os.path.realpath(os.path.expanduser("~")):
            raise SettingsError(
                f"{what}{path}: in your home directory commands could exchange the link {link}, which leads to it, and"
                " kaa would obey other files. Start kaa in the directory of a project, or name no agent in useFilesOf"
                " of settings.json whose folder is such a link"
            )
        raise SettingsError(
            f"{what}{path}: a symlink in a directory that commands can write leads to it, {link}: give the path"
            f" it leads to, {os.path.realpath(path)}"
        )


def _imports(text: str) -> Iterator[str]:
    """Paths of what a text of the user's imports."""
    with suppress(OSError):
        if b"@" in beginning_of(text, _MAX_TEXT_BYTES):
            from kaa.shell.trust.imports import imported_paths  # lazy: few texts import others

            yield from imported_paths(text, _MAX_TEXT_BYTES)


def _links_to_extensions(folder: str) -> Iterator[str]:
    """Links by which extensions begin; what else is behind links in them counts as their code."""
    yield from _links(folder, 1)
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                yield from _links(entry.path, 1)


def _links_to_components(place: Place) -> Iterator[str]:
    """Paths in a place by which links decide what kaa reads there, as deep as `kaa.shell.components.finding` looks.

    A link to a folder without anything that is read, such as to the sources or scripts that a skill is about, is none.
    """
    pending, left = [(place.folder, 0, tuple[str, ...]())], _MAX_FOLDERS
    while pending and left:
        left -= 1
        folder, depth, links = pending.pop()
        entries: list[os.DirEntry[str]] = []
        with suppress(OSError), os.scandir(folder) as found:
            entries = list(found)
        skill = next((one for one in entries if place.kind == "skill" and depth and one.name == _SKILL_FILE), None)
        if skill is not None and os.path.isfile(skill.path):
            is_alone = (
                os.path.islink(folder) and not skill.is_symlink()
            )  # what else is in the folder, kaa does not read
            yield from links[:-1] if is_alone else links
            yield from [skill.path] if is_alone or skill.is_symlink() else []
            continue
        has_files = place.kind != "skill" or (place.has_loose_skills and not depth)
        read = [one for one in entries if has_files and one.name.endswith(_SUFFIXES) and os.path.isfile(one.path)]
        # Whoever makes what a link leads to is obeyed.
        is_open = (one for one in entries if not links or one.name.endswith(_SUFFIXES))
        read += [one for one in is_open if not os.path.exists(one.path)]
        yield from links if read else ()
        yield from (one.path for one in read if one.is_symlink())
        if depth + 1 < _MAX_DEPTH:
            pending += [
                (one.path, depth + 1, (*links, one.path) if one.is_symlink() else links)
                for one in entries
                if not one.name.startswith(".") and one.name not in _NOT_LOOKED_AT and os.path.isdir(one.path)
            ]


def _links(folder: str, depth: int) -> Iterator[str]:
    """Paths of links in a folder, and in folders in it or behind links down to a depth."""
    pending, left = [(folder, depth)], _MAX_FOLDERS
    while pending and left:
        left -= 1
        place, deeper = pending.pop()
        with suppress(OSError), os.scandir(place) as entries:
            for entry in entries:
                if entry.is_symlink():
                    yield entry.path
                if deeper > 1 and entry.name not in _NOT_LOOKED_AT and os.path.isdir(entry.path):
                    pending.append((entry.path, deeper - 1))
