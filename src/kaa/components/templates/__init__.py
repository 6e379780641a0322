"""Prompt templates and custom commands of pi, Claude Code, opencode, Gemini CLI and Codex, each in its own dialect.

`command_file` reads a file, `expansion` puts arguments into it. Nothing here runs a command or reads
a file of a project.
"""

from typing import Literal, TypeAlias

Dialect: TypeAlias = Literal["pi", "claude", "opencode", "gemini", "codex", "cursor"]
"""Whose placeholders, commands and file references a template has. Skills of Claude Code have those of its commands."""
