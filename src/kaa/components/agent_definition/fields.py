"""Which fields the definitions of each agent have, and what they are called here.

Sources, November 2026: "Subagents" in the documentation of Claude Code, Gemini CLI and Cursor; "Agents" in that of
opencode; "Custom droids" of Factory; Codex 0.169; the example extension for sub-agents of pi 1.5.2.
"""

from collections.abc import Mapping
from typing import Final

from kaa.components.tool_names import ToolDialect

_CLAUDE: Final = {
    "name": "name",
    "description": "description",
    "tools": "tools",
    "disallowedTools": "excluded",
    "model": "model",
    "permissionMode": "permission",
    "maxTurns": "max turns",
    "skills": "skills",
    "mcpServers": "servers",
    "background": "background",
    "effort": "thinking",
    "isolation": "isolation",
    "hooks": "hooks",
}
FIELDS: Final[Mapping[ToolDialect, Mapping[str, str]]] = {
    "claude": _CLAUDE,
    "kaa": {
        **_CLAUDE,  # definitions are copied
        "excluded-tools": "excluded",
        "permission": "permission",
        "max-turns": "max turns",
        "mcp-servers": "servers",
        "thinking": "thinking",
    },
    "codex": {
        "name": "name",
        "description": "description",
        "developer_instructions": "prompt",
        "model": "model",
        "model_reasoning_effort": "thinking",
        "sandbox_mode": "sandbox",
        "approval_policy": "approval",
        "mcp_servers": "servers",
    },
    "opencode": {
        "name": "name",
        "description": "description",
        "prompt": "prompt",
        "model": "model",
        "variant": "thinking",
        "steps": "max turns",
        "maxSteps": "max turns",
        "tools": "tools",
        "permission": "rules",
        "disable": "disabled",
    },
    "gemini": {
        "name": "name",
        "description": "description",
        "kind": "kind",
        "tools": "tools",
        "mcpServers": "servers",
        "mcp_servers": "servers",
        "model": "model",
        "max_turns": "max turns",
    },
    "cursor": {
        "name": "name",
        "description": "description",
        "tools": "tools",
        "model": "model",
        "readonly": "readonly",
        "is_background": "background",
    },
    "droid": {
        "name": "name",
        "description": "description",
        "tools": "tools",
        "model": "model",
        "reasoningEffort": "thinking",
    },
    "pi": {
        "name": "name",
        "description": "description",
        "tools": "tools",
        "model": "model",
        "thinking": "thinking",
    },
}
"""The fields that kaa uses, and what its reader calls them."""

LIMITS: Final = frozenset(
    {
        "tools",
        "excluded",
        "rules",
        "permission",
        "sandbox",
        "approval",
        "readonly",
        "max turns",
        "isolation",
        "disabled",
    }
)
"""Those that narrow an agent: a file whose field of these cannot be read is refused."""

UNUSED: Final = {
    "approval_mode": "the approval mode of the conversation holds",
    "hidden": "it is listed",
    "hooks": "its hooks do not run",
    "initialPrompt": "the task is its first prompt",
    "memory": "kaa keeps no memory for agents",
    "mode": "it can be started by other agents",
    "options": "the settings of the model hold",
    "skills": "it has the skills of the conversation",
    "temperature": "the settings of the model hold",
    "timeout_mins": "it has no limit of time",
    "top_p": "the settings of the model hold",
}
"""Fields that are known and not used, and what holds instead."""

WITHOUT_EFFECT: Final = frozenset({"color", "nickname_candidates", "$schema"})
"""Fields that only concern how an agent is shown."""
