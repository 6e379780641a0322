"""`/hooks`: the hooks for people."""

from collections.abc import Sequence

from kaa.builtin.agent_hooks.rights import runs_sandboxed
from kaa.components.hooks import HookDefinition
from kaa.workspace.protocol import Workspace

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
            lines += [f"    {note}" for note in hook.notes]
    return "\n".join([*lines, *(["", "Not used:", *(f"  {one}" for one in problems)] if problems else [])])
