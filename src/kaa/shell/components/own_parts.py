"""What files of the user's own do besides instructing the model, for the question whether it is the user's."""

import msgspec

from kaa.builtin.agent_hooks.hidden_scripts import names_own_scripts
from kaa.builtin.agent_hooks.rights import runs_sandboxed
from kaa.components.hooks import HookDefinition
from kaa.components.hooks.reading import scoped_hooks
from kaa.shell.components import FoundFile
from kaa.shell.components.hook_files import hooks_of, line_of
from kaa.shell.components.reading import FoundComponent
from kaa.shell.trust.own_in_projects import OwnPart


def part_of_hooks(file: FoundFile, root: str) -> OwnPart:
    """The hooks of a file that `find_hooks` found."""
    hooks = hooks_of(file, of_project=False).hooks
    has_rights = any(_has_rights(hook, root) for hook in hooks)
    return OwnPart(file.path, file.data, tuple(_line(hook, root) for hook in hooks), has_rights)


def part_of_component(component: FoundComponent, root: str) -> OwnPart:
    """The hooks of a skill or an agent, and which calls it grants."""
    path, text = component.candidate.file.path, component.hooks
    hooks = scoped_hooks(text, "", path, of_project=False).hooks if text else ()
    allowed: tuple[str, ...] = getattr(component.definition, "allowed_tools", ())
    lines = [*(_line(hook, root) for hook in hooks), *([f"allowed-tools: {', '.join(allowed)}"] if allowed else [])]
    data = {"hooks": msgspec.json.decode(text) if text else {}, "allowed-tools": allowed}
    shown = msgspec.json.format(msgspec.json.encode(data), indent=2)  # in lines, for the difference
    return OwnPart(path, shown, tuple(lines), bool(allowed) or any(_has_rights(hook, root) for hook in hooks))


def _line(hook: HookDefinition, root: str) -> str:
    """When a hook runs, what, and what a yes means for it."""
    if hook.handler != "command":
        return line_of(hook)
    if runs_sandboxed(hook, root):
        also = ", which then shows its scripts" if names_own_scripts(hook, root) else ""
        return f"{line_of(hook)} (in the sandbox, also after a yes{also})"
    changes = '; "sandbox": false: kaa does not ask again if a script that it names changes'
    return f"{line_of(hook)} (with your rights{changes if hook.sandboxed is False else ''})"


def _has_rights(hook: HookDefinition, root: str) -> bool:
    """Whether a hook of the user's reaches more than one of the project's."""
    if hook.handler != "command":
        return hook.handler == "http"
    return not runs_sandboxed(hook, root) or names_own_scripts(hook, root)
