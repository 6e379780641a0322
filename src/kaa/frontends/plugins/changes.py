"""What an update changes in the files of a plugin: texts for the model with their differences, other files by name."""

import filecmp
from collections.abc import Iterator, Sequence
from pathlib import Path

from kaa.components.plugins.folder import Directory
from kaa.components.plugins.manifest import Plugin, PluginFile
from kaa.shell.plugins.store import PreparedPlugin
from kaa.shell.trust.configuration import ConfigurationFile
from kaa.shell.trust.difference import difference, known

_MOST_NAMED = 20


def texts_of_plugin(plugin: Plugin) -> Sequence[tuple[str, Sequence[PluginFile]]]:
    """The texts for the model, by their kind."""
    return (
        ("skill", plugin.skills),
        ("command", plugin.commands),
        ("agent", plugin.agents),
        ("instructions", plugin.context_files),
    )


def changed_files(prepared: PreparedPlugin) -> Iterator[str]:
    """What changes in the files that stay, in lines."""
    if prepared.previous is None or prepared.replaced is None:
        return
    before, now = Directory(prepared.replaced), Directory(prepared.staged)
    changed = {path for path in now.files("") if _differ(prepared.replaced / path, prepared.staged / path)}
    had = {(kind, one.path) for kind, files in texts_of_plugin(prepared.previous.plugin) for one in files}
    texts = {
        one.path: f"{kind} {one.name}"
        for kind, files in texts_of_plugin(prepared.plugin)
        for one in files
        if one.path in changed and (kind, one.path) in had
    }
    if texts:
        yield f"  changes the text of: {_names(sorted(texts.values()))}"
    if others := sorted(changed - texts.keys()):
        yield f"  changes other files: {_names(others)}"
    shown = [path for path in sorted(texts) if before.read(path) is not None and now.read(path) is not None]
    old = {path: known(ConfigurationFile(path, "file", before.read(path) or b"")) for path in shown}
    new = tuple(ConfigurationFile(path, "file", now.read(path) or b"") for path in shown)
    yield from (f"    {line}" for line in difference(old, new).diff.splitlines())


def _differ(one: Path, other: Path) -> bool:
    """Whether both are files, with different contents."""
    try:
        return not filecmp.cmp(one, other, shallow=False)
    except OSError:
        return False


def _names(names: Sequence[str]) -> str:
    more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
    return f"{', '.join(names[:_MOST_NAMED])}{more}"
