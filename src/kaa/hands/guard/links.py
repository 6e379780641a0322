"""Where symlinks of the user's under protected names lead: what is there is executed and obeyed like the names."""

import os
from collections.abc import Iterator, Sequence

from kaa.hands.below import RootDirectory, is_below
from kaa.hands.guard.items import Items
from kaa.hands.guard.subjects import Directory, Subject

# Entries of protected directories that execute, or have what does. Others (`.devcontainer/package.json`) may lead to
# ordinary files of the project, which commands work on.
_EXECUTED = frozenset(
    (
        *("agents", "commands", "extensions", "hooks", "modes", "plugins", "prompts", "rules", "skills", "workflows"),
        *("config.json", "config.toml", "devcontainer.json", "hooks.json", "launch.json", "mcp.json", "settings.json"),
        *("settings.local.json", "tasks.json"),
    )
)
_TEXTS = (".md", ".mdc")  # `.claude/CLAUDE.md -> ../AGENTS.md`: a text for agents, which commands may write


def led_to(subject: Subject, items: Items, roots: Sequence[RootDirectory]) -> Iterator[Subject]:
    """What protected names and what executes in protected directories lead to, as far as commands can write it.

    `sub/.envrc -> ../conf/envrc` and `.claude/skills -> ../ai/skills` count. Links further below do not: with
    `.claude/skills/build -> ../../tools/build`, the link would keep commands from working on a part of the project.

    Args:
        subject: the protected name.
        items: what is at the name.
        roots: the writable directories.
    """
    for path, item in items.items():
        if not item.is_link or (path and path not in _EXECUTED):
            continue
        try:
            target = os.path.realpath(os.path.join(subject.path, path).rstrip("/"))
        except OSError:  # Python 3.11 raises if a link is exchanged meanwhile
            continue
        if target.endswith(_TEXTS) or is_below(subject.path, target) or is_below(target, subject.path):
            continue
        for root in roots:
            top = os.path.realpath(root.path)
            if target != top and is_below(target, top):
                above, _, name = target[len(top) :].lstrip("/").rpartition("/")
                if ".git" not in above.split("/"):
                    yield Subject(Directory(root, above), name)
