"""Permission policy: keep the agent out of some paths, and ask before some commands.

    { "requiredExtensions": ["permission_policy"],
      "extensionSettings": { "permission_policy": { "forbidden": ["migrations/*"], "ask": ["make deploy"] } } }

A policy belongs into `requiredExtensions`: kaa then does not start without it.
"""

from fnmatch import fnmatch

import msgspec

from kaa.ext.api import Block, ConversationContext, ExtensionAPI, ToolCall, confirm


class Policy(msgspec.Struct):
    """What the agent may not do, and what it may do once the user agrees."""

    forbidden: tuple[str, ...] = ("*.lock", "secrets/*")
    ask: tuple[str, ...] = ("git push",)


def extend(kaa: ExtensionAPI) -> None:
    kaa.settings(Policy)

    @kaa.before_tool
    async def check(call: ToolCall, context: ConversationContext) -> Block | None:
        policy = context.settings(Policy)
        path = str(call.arguments.get("path", "")).removeprefix(f"{context.workspace.root}/").removeprefix("./")
        pattern = next((one for one in policy.forbidden if fnmatch(path, one)), None)
        if call.name in ("write", "edit") and pattern is not None:
            return Block(f"{path} may not be changed: the policy of this user forbids {pattern}.", denied=True)
        command = str(call.arguments.get("command", ""))
        words = next((one for one in policy.ask if one in command), None)
        if words is None:
            return None
        if context.asker.can_ask and await confirm(context.asker, f"Run a command with {words!r}?", command):
            return None
        return Block(f"The user did not permit a command with {words!r}.", denied=True)
