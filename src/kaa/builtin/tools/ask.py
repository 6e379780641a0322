"""The model asks the user, with options to choose from or words of their own."""

from collections.abc import Sequence

from kaa.core.tool import ToolError, ToolResult, text_result
from kaa.ext.api import ToolContext
from kaa.ext.questions import Choice, Chosen, Entered, TextInput

_OTHER = "Something else…"
_MOST_OPTIONS = 8
_NOBODY = "Nobody can be asked now. Continue with what you think is best, and name the assumption in your answer."
_UNANSWERED = "The user did not answer. Continue with what you think is best, or stop and say what you need to know."


async def ask_user(question: str, options: Sequence[str], context: ToolContext) -> ToolResult:
    """Ask, and give the model the answer.

    Args:
        options: the answers that it expects; the user can always write another one.

    Raises:
        ToolError: the question or the options cannot be shown.
    """
    title, *details = question.strip().split("\n", 1)
    choices = list(dict.fromkeys(" ".join(option.split()) for option in options if option.strip()))
    choices = [option for option in choices if option != _OTHER]
    if not title:
        raise ToolError("The question is empty.")
    if len(choices) > _MOST_OPTIONS:
        raise ToolError(f"At most {_MOST_OPTIONS} options: the user can always write something else.")
    if not context.asker.can_ask:
        return text_result(_NOBODY)
    if choices:
        text = details[0].strip() if details else ""
        chosen = await context.asker.ask(Choice(title=title, options=(*choices, _OTHER), details=text))
        if not isinstance(chosen, Chosen):
            return text_result(_UNANSWERED)
        if chosen.option != _OTHER:
            return text_result(f"The user chose: {chosen.option}")
    entered = await context.asker.ask(TextInput(title=" ".join(question.split())))
    if not isinstance(entered, Entered) or not entered.text.strip():
        return text_result(_UNANSWERED)
    return text_result(f"The user says: {entered.text.strip()}")
