"""Texts of templates: arguments put in, commands run and files read with the tools and the rules of the model."""

from collections.abc import Mapping, Sequence
from typing import TypeAlias

from kaa.components.templates import Dialect
from kaa.components.templates.embedded import EmbeddedCommand, File, LiteralText
from kaa.components.templates.expansion import expand
from kaa.core.messages import Json, TextContent
from kaa.core.tool import ToolError, ToolResult, text_result
from kaa.ext.api import CommandContext, ConversationContext
from kaa.ext.errors import RegistrationError

AnyContext: TypeAlias = ConversationContext | CommandContext


async def expanded(
    body: str,
    arguments: str,
    dialect: Dialect,
    context: AnyContext,
    *,
    source: str,
    names: Sequence[str] = (),
    variables: Mapping[str, str] = {},
) -> str:
    """The text that a template stands for.

    Commands run as calls of the tool `bash`: in the sandbox, judged as those of the model. A file that is mentioned
    stands behind the text; in templates of Gemini CLI it takes the place of the mention.

    Args:
        names: of its arguments, in their order.
    """
    text: list[str] = []
    files: list[str] = []
    for piece in expand(body, arguments, dialect, names=names, variables=variables):
        match piece:
            case LiteralText(text=plain):
                text.append(plain)
            case EmbeddedCommand(command=command):
                context.show.notice(f"{source} runs: {command}")
                text.append(_text(await _called("bash", {"command": command}, context)))
            case File(path=path, source=mention):
                if await _may_be_file(path, context):  # a question about it does not say who wants to read it
                    context.show.notice(f"{source} reads: {path}")
                result = await _called("read", {"path": path}, context)
                if dialect == "gemini":
                    text.append(_text(result))
                    continue
                text.append(mention)
                if not result.is_error:  # else it was no mention of a file
                    files.append(f'<file path="{path}">\n{_text(result)}\n</file>')
    return "\n\n".join(["".join(text), *dict.fromkeys(files)])


async def _may_be_file(path: str, context: AnyContext) -> bool:
    """Whether reading this may need an answer of the person; `@someone` in a text is no file."""
    if path.startswith(("/", "~", "..")):
        return True
    try:
        return await context.workspace.stat(path) is not None
    except OSError:
        return True


async def _called(tool: str, arguments: dict[str, Json], context: AnyContext) -> ToolResult:
    try:
        return await context.call_tool(tool, arguments)
    except (RegistrationError, ToolError) as error:
        return text_result(f"[not run: {error}]", is_error=True)


def _text(result: ToolResult) -> str:
    return "\n".join(part.text for part in result.content if isinstance(part, TextContent))
