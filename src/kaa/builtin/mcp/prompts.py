"""Prompts of servers as slash commands: `/SERVER:PROMPT a b "c d"` or `name=value`."""

import shlex
from functools import partial
from typing import TYPE_CHECKING

from kaa.builtin.mcp.host import McpHost
from kaa.builtin.mcp.names import command_name
from kaa.builtin.mcp.tools import usable, view_of
from kaa.core.messages import ImageContent
from kaa.ext.api import Command, CommandContext, CommandError, Submit, Suggestion
from kaa.ext.asking import NOBODY
from kaa.mcp.errors import LoginNeededError, McpError
from kaa.mcp.manifest import PromptArgument, PromptInfo
from kaa.workspace.protocol import Workspace

if TYPE_CHECKING:
    from kaa.mcp.contents import PromptMessage, PromptResult

_MOST_CHARACTERS = 200


class McpPrompts:
    """The commands for the prompts of all servers, as they are at the moment. What has not changed stays the same."""

    def __init__(self, host: McpHost) -> None:
        self._host = host
        self._known: dict[str, tuple[str, PromptInfo, Command]] = {}

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self._known)

    def renew(self) -> list[Command]:
        """A command for each prompt that the servers offer now. Of prompts with the same name the first one has it."""
        renewed: dict[str, tuple[str, PromptInfo, Command]] = {}
        for view in usable(self._host):
            for prompt in () if view.manifest is None else view.manifest.prompts:
                name = command_name(view.name, prompt.name)
                renewed.setdefault(name, self._command(name, view.name, prompt))
        self._known = renewed
        return [command for _, _, command in renewed.values()]

    def _command(self, name: str, server: str, prompt: PromptInfo) -> tuple[str, PromptInfo, Command]:
        known = self._known.get(name)
        if known is not None and known[:2] == (server, prompt):
            return known
        about = " ".join((prompt.description or prompt.title or "Prompt of an MCP server").split())[:_MOST_CHARACTERS]
        command = Command(
            name,
            about,
            partial(self._run, server, prompt),
            argument_hint=" ".join(map(_hint, prompt.arguments)) or None,
            complete=partial(self._complete, server, prompt) if prompt.arguments else None,
        )
        return server, prompt, command

    async def _run(self, server: str, prompt: PromptInfo, arguments: str, context: CommandContext) -> Submit:
        from kaa.builtin.mcp.questions import ConversationQuestions  # lazy: few conversations use a prompt

        given = arguments_in(arguments, prompt.arguments)
        if missing := [one.name for one in prompt.arguments if one.required and one.name not in given]:
            usage = f"/{command_name(server, prompt.name)} {' '.join(map(_hint, prompt.arguments))}"
            raise CommandError(f"{missing[0]} is missing: enter {usage}")
        questions = ConversationQuestions(view_of(self._host, server), context, f"prompt {prompt.name}")
        try:
            session = await self._host.session(server, context.asker)
            result = await session.prompt(prompt.name, given, questions=questions)
        except LoginNeededError as error:
            raise CommandError(f"{error} Run kaa mcp login {server}.") from error
        except McpError as error:
            raise CommandError(
                " ".join([f"/{command_name(server, prompt.name)}: {error}", *questions.refusals])
            ) from error
        text, images = await _message(server, result, context.workspace)
        if not text.strip():
            raise CommandError(f"/{command_name(server, prompt.name)}: the prompt is empty")
        return Submit(text, images=images)

    async def _complete(
        self, server: str, prompt: PromptInfo, typed: str, _context: CommandContext
    ) -> list[Suggestion]:
        manifest = view_of(self._host, server).manifest
        if manifest is None or not manifest.capabilities.completions:
            return []
        argument, value, before = argument_at_end(typed, prompt.arguments)
        if argument is None:
            return []
        known = {name: given for name, given in arguments_in(before, prompt.arguments).items() if name != argument.name}
        try:
            # Nobody is asked about a server because of a key that was pressed.
            session = await self._host.session(server, NOBODY)
            values = await session.complete(prompt, argument.name, value, known)
        except McpError:
            return []
        return [Suggestion(f"{before}{_quoted(one)}", argument.description) for one in values]


def arguments_in(text: str, arguments: tuple[PromptArgument, ...]) -> dict[str, str]:
    """The values that a line gives to arguments: by `name=value`, the others in their order; the last takes the rest.

    Raises:
        CommandError: a quotation mark is not closed, or there are more values than arguments.
    """
    names = [argument.name for argument in arguments]
    given: dict[str, str] = {}
    for word in _words(text):
        name, equals, value = word.partition("=")
        free = [name for name in names if name not in given]
        if equals and name in names:
            given[name] = value
        elif free:
            given[free[0]] = word
        elif names:
            given[names[-1]] += f" {word}"
        else:
            raise CommandError(f"{word!r} is too much: the prompt takes no arguments")
    return given


def argument_at_end(text: str, arguments: tuple[PromptArgument, ...]) -> tuple[PromptArgument | None, str, str]:
    """Which argument is being typed, what is typed of its value, and what stands before that."""
    by_name = {argument.name: argument for argument in arguments}
    for end in range(len(text), -1, -1):
        # The last word begins where all that stands before it is complete.
        if end == 0 or text[end - 1].isspace():
            try:
                given = arguments_in(text[:end], arguments)
                words = _words(f'{text[end:]}"' if text[end:].count('"') % 2 else text[end:])
            except CommandError:
                continue
            word = words[0] if words else ""
            name, equals, value = word.partition("=")
            if equals and name in by_name:
                return by_name[name], value, f"{text[:end]}{name}="
            free = [argument for argument in arguments if argument.name not in given]
            return (free[0] if free else None), word, text[:end]
    return None, "", text


def _words(text: str) -> list[str]:
    """The words of a line, as a shell has them, but with quotation marks only: apostrophes belong to words."""
    lexer = shlex.shlex(text, posix=True, punctuation_chars=False)
    lexer.whitespace_split, lexer.quotes, lexer.escape, lexer.commenters = True, '"', "", ""
    try:
        return list(lexer)
    except ValueError as error:
        raise CommandError('a quotation mark is not closed: add a "') from error


def _quoted(value: str) -> str:
    plain = value.replace('"', "")  # there is no way to quote it
    return f'"{plain}"' if not plain or any(character.isspace() for character in plain) else plain


def _hint(argument: PromptArgument) -> str:
    return argument.name if argument.required else f"[{argument.name}]"


async def _message(server: str, result: "PromptResult", workspace: Workspace) -> tuple[str, tuple[ImageContent, ...]]:
    """What the model gets. Several messages name their roles."""
    texts: list[str] = []
    images: list[ImageContent] = []
    for message in result.messages:
        said = await _said(server, message, workspace, images)
        texts.append(f"{message.role.capitalize()}: {said}" if len(result.messages) > 1 else said)
    return "\n\n".join(texts), tuple(images)


async def _said(server: str, message: "PromptMessage", workspace: Workspace, images: list[ImageContent]) -> str:
    from kaa.builtin.mcp.results import contents  # lazy, as above
    from kaa.mcp.contents import TextPart

    if isinstance(message.part, TextPart):
        return message.part.text
    text, *pictures = await contents(server, (message.part,), workspace)
    images += [picture for picture in pictures if isinstance(picture, ImageContent)]
    return "" if isinstance(text, ImageContent) else text.text
