"""Asks a model once for an extension, within the budget, and notes in the session what that used."""

from kaa.ext.completions import Completion, CompletionError, CompletionTask
from kaa.ext.errors import CommandError
from kaa.llm.auth.errors import CredentialError
from kaa.llm.models.registry import NoModelError
from kaa.session.entries import RequestUsage
from kaa.session.past_usage import EXTENSION_KIND
from kaa.session.recorder import SessionRecorder
from kaa.shell.compaction.summarizing import Summarizer


async def complete(
    extension: str, task: CompletionTask, summarizer: Summarizer, recorder: SessionRecorder
) -> Completion:
    """Answer a request of an extension beside the conversation, and note its usage.

    Raises:
        CompletionError: there is no answer.
        SessionWriteError: the session cannot be written.
    """
    try:
        author = None if task.model is None else await summarizer.another(task.model)
        answer = await summarizer.ask_about(task.messages, task.system, task.max_tokens, author)
    except (NoModelError, CredentialError, CommandError) as error:
        raise CompletionError(f"No model answered: {' '.join(str(error).split())}") from error
    provider, _, model = answer.model.partition("/")
    kind = f"{EXTENSION_KIND}{extension}"
    recorder.note(RequestUsage(kind=kind, provider=provider, model=model, usage=answer.usage))
    return Completion(answer.text, answer.model, answer.usage)
