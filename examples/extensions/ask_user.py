"""Question tool: the model can ask the user something instead of guessing."""

from kaa.ext.api import Choice, Chosen, Entered, ExtensionAPI, TextInput, ToolContext, ToolError


def extend(kaa: ExtensionAPI) -> None:
    @kaa.tool(risk="read", snippet="ask the user", title="{question}")
    async def ask_user(question: str, context: ToolContext, options: list[str] | None = None) -> str:
        """Ask the user a question. Use it only if the answer decides what you do, and you cannot find it out yourself.

        Args:
            question: one line.
            options: answers to choose from; without them the user writes a line.
        """
        if not context.asker.can_ask:
            raise ToolError("Nobody can answer. Decide yourself, and say what you assumed.")
        if options:
            chosen = await context.asker.ask(Choice(question, tuple(options)))
            answer = chosen.option if isinstance(chosen, Chosen) else None
        else:
            entered = await context.asker.ask(TextInput(question))
            answer = entered.text if isinstance(entered, Entered) else None
        if answer is None:
            raise ToolError("The user closed the question. Go on without an answer.")
        return answer
