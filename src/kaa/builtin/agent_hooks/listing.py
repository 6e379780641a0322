"""`/hooks`: the hooks for people."""

import os
import re
from collections.abc import Sequence

from kaa.builtin.agent_hooks.own_files import expanded
from kaa.builtin.agent_hooks.rights import runs_sandboxed
from kaa.components.hooks import HookDefinition
from kaa.host.hard_links import has_other_name, how_to_part
from kaa.host.known_projects import in_known_project, way_back
from kaa.host.paths import trail
from kaa.workspace.protocol import Workspace

_WORD = re.compile(r"""[^\s'";&|<>()]+""")
_WHY = ': it may execute or use files that the model wrote; "sandbox": false in its entry gives it your rights'


async def listing(hooks: Sequence[HookDefinition], problems: Sequence[str], workspace: Workspace) -> str:
    """The hooks, file by file: when each runs, what, with which rights, and what kaa does not use of it."""
    lines = [] if hooks else ["No hooks."]
    for source in dict.fromkeys(hook.source for hook in hooks):
        of_file = [hook for hook in hooks if hook.source == source]
        one = of_file[0]
        owner = "a plugin" if one.plugin else "the project" if one.of_project else "yours"
        lines += [f"{source} ({one.dialect}, {owner})"]
        for hook in of_file:
            matcher = f" {hook.matcher}" if hook.matcher else ""
            scope = f" (with the {hook.scope})" if hook.scope else ""
            lines.append(f"  {hook.named_event}{matcher}{scope}: {hook.handler} {hook.title[:200]}")
            if hook.handler == "command":
                held = runs_sandboxed(hook, workspace.root)
                is_judged = held and not hook.of_project and hook.sandboxed is None
                lines.append(f"    runs {'in the sandbox' if held else 'with your rights'}{_WHY if is_judged else ''}")
                lines += [f"    {one}" for one in _written_files(hook) if is_judged]
            if not hook.may_call:
                lines.append(
                    f"    is not run: {hook.server} is no server of its {'plugin' if hook.plugin else 'project'}"
                )
            lines += [f"    {note}" for note in hook.notes]
    return "\n".join([*lines, *(["", "Not used:", *(f"  {one}" for one in problems)] if problems else [])])


def _written_files(hook: HookDefinition) -> list[str]:
    """Say of each file that a hook names, and commands may have written in an earlier run, how it can be the user's."""
    words = (hook.command, *hook.args) if hook.args is not None else _WORD.findall(hook.command)
    paths = dict.fromkeys(path for word in words if os.path.isfile(path := expanded(word)) and os.path.isabs(path))
    return [told for path in paths if (told := _written_file(path))]


def _written_file(path: str) -> str:
    for place in trail(path):
        if project := in_known_project(place, os.environ, "", added=True):
            way = way_back(place, os.environ)
            return f"commands could write {path} in {project}{f'. {way}' if way else ''}"
    if has_other_name(path):
        return f"{path} is a hard link, so commands may have written it by another name. {how_to_part(path)}"
    return ""
