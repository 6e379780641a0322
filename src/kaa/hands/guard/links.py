"""Where symlinks of the user's under protected names lead: what is there is executed and obeyed like the names."""

import os
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from kaa.hands.below import RootDirectory, is_below
from kaa.hands.confinement.repositories import is_written_by_git
from kaa.hands.data_names import is_data_name
from kaa.hands.guard.items import Items
from kaa.hands.guard.subjects import Directory, Subject
from kaa.hands.link_ways import behind_link
from kaa.hands.policy import PROTECTED_GIT_NAMES
from kaa.hands.protected import TEXTS, is_for_agents

# Entries of these may lead to what commands work on: an agent executes them only where its user asks for that.
_ON_REQUEST = frozenset(("agent", "agents", "command", "commands", "prompts", "rules", "skill", "skills", "workflows"))
# Folders whose entries a program executes or obeys without being told their names, and those in which all folders are.
_EXECUTED_FOLDERS = frozenset(
    (
        *("_", "agent", "agents", "command", "commands", "conf.d", "env", "extension", "extensions", "hook", "hooks"),
        *("launch", "microagents", "mode", "modes", "plugin", "plugins", "prompts", "rules", "runconfigurations"),
        *("skill", "skills", "steering", "tool", "tools", "workflows"),
    )
)
# Of these, those that only some programs execute, and what their folders are called: in others they are the project's.
_OF_SOME_PROGRAMS = {
    **dict.fromkeys(("mode", "modes"), frozenset((".opencode", "opencode", ".roo"))),
    **dict.fromkeys(("tool", "tools"), frozenset((".opencode", "opencode", ".vibe"))),
    "env": frozenset((".flox",)),
}
_WITH_EXECUTED_FOLDERS = frozenset(
    (".husky", "extension", "extensions", "hook", "hooks", "plugin", "plugins", "tool", "tools")
)


# What git executes or obeys in a git directory: files and links, and directories with all in them.
_OBEYED_BY_GIT = frozenset((*PROTECTED_GIT_NAMES, "info", "attributes", "alternates", "remotes", "branches"))
_EXECUTED_BY_GIT = frozenset(("hooks", "remotes", "branches"))


class LedTo(NamedTuple):
    """What a link leads to."""

    subject: Subject
    link: "GuardedLink"


class GuardedLink(NamedTuple):
    """A link that protects what it leads to.

    Attributes:
        path: below the writable directory in which it is.
        names: from the protected name on, also of the links on the way: what the folders above that are called says
            nothing of what executes it.
    """

    path: str = ""
    names: tuple[str, ...] = ()


def led_to(subject: Subject, items: Items, roots: Sequence[RootDirectory], link_to_it: GuardedLink) -> Iterator[LedTo]:
    """What links at and below a protected name lead to, as far as commands can write it, with the links on the way.

    `sub/.envrc -> ../conf/envrc`, `.husky/pre-commit -> ../scripts/check` and `.claude/skills -> ../ai/skills` count.
    Manifests and data do not, nor other folders (`.devcontainer/src`, `.claude/skills/build -> ../../tools/build`): the
    link would keep commands from working on a part of the project. In a git directory, what git obeys counts.

    Args:
        link_to_it: if only a link makes the name protected, that link; an empty one otherwise.
    """
    for path, item in items.items():
        if not item.is_link or (subject.is_git and not _is_obeyed_by_git(path)):
            continue
        shown = os.path.join(subject.directory.path, subject.name, path).rstrip("/")
        *above, name = path.split("/")
        around = (*link_to_it.names, subject.name)
        if not _ON_REQUEST.isdisjoint((*around, *above) if path else link_to_it.names):
            continue
        link = os.path.join(subject.path, path).rstrip("/")
        if path and _is_data(name, (*around, *above), link):
            continue
        may_be_text = not subject.is_git and (name.endswith(TEXTS) or is_for_agents(list(around)))
        for place in _executed_on_way(link, "" if subject.is_git else subject.path, may_be_text=may_be_text):
            for root in roots:
                if (below := _below(place, root, subject.path if subject.is_git else "")) is not None:
                    yield LedTo(below, GuardedLink(shown, (*around, *(path.split("/") if path else ()))))


def in_roots(paths: Iterable[str], roots: Sequence[RootDirectory]) -> Iterator[Subject]:
    """What is at absolute paths that are below writable directories, but for what git writes itself."""
    found = (_below(path, root, "") for path in paths for root in roots)
    return (subject for subject in found if subject is not None)


def _is_obeyed_by_git(path: str) -> bool:
    """Whether git obeys what is at a path in a git directory, or in that of a submodule or a worktree in it."""
    *above, name = path.split("/")
    return name in _OBEYED_BY_GIT or not _EXECUTED_BY_GIT.isdisjoint(above)


def _executed_on_way(link: str, protected: str, *, may_be_text: bool) -> Sequence[str]:
    """The links between a link below a protected name and what it leads to, and that; nothing if that is a text.

    Args:
        protected: the path of the name, if all in it is protected; empty if not.
        may_be_text: the link may lead to a text for agents.
    """
    way = behind_link(link)
    end = way[-1] if way else ""
    if not end or (may_be_text and end.endswith(TEXTS)) or is_below(link, end):
        return ()
    if not protected:
        return way
    return [] if is_below(end, protected) else [place for place in way if not is_below(place, protected)]


def _is_data(name: str, above: Sequence[str], link: str) -> bool:
    """Whether a link leads to an ordinary file or folder of the project, as `.devcontainer/package.json` may."""
    folded = name.casefold()
    if os.path.isdir(link):
        is_executed = folded in _EXECUTED_FOLDERS
        if folded in _OF_SOME_PROGRAMS:
            is_executed = not _OF_SOME_PROGRAMS[folded].isdisjoint(map(str.casefold, above))
        return not is_executed and _WITH_EXECUTED_FOLDERS.isdisjoint(above)
    return is_data_name(name)


def _below(path: str, root: RootDirectory, git: str) -> Subject | None:
    """What is at a path without links, if that is below a writable directory and git does not write it itself."""
    top = os.path.realpath(root.path)
    if path == top or not is_below(path, top):
        return None
    above, _, name = path[len(top) :].lstrip("/").rpartition("/")
    target = Subject(Directory(root, above), name)
    git = target.repository.path if target.repository is not None else git
    return None if git and is_below(path, git) and is_written_by_git(git, path[len(git) + 1 :]) else target
