"""What the user interface needs to know of a conversation that was opened; gathered in the core's thread."""

from pathlib import Path
from typing import NamedTuple

from kaa.frontends.interactive.drafts import recover_draft
from kaa.frontends.interactive.engine import Engine
from kaa.frontends.interactive.prompt_history import PromptHistory
from kaa.session.transcript import Transcript
from kaa.shell.options import SessionChoice


class OpenedConversation(NamedTuple):
    """A conversation that was opened.

    Attributes:
        path: its session's file; None if it is not kept.
        drafts: beside which file to keep what is typed; None if it is not to be kept.
        typed: what was typed in the session and not sent before its kaa was killed.
        entries: what was said in it before; may be read from any thread as long as it is open.
        history: what was typed in earlier sessions; empty if this is not the first of the process.
    """

    path: Path | None
    drafts: Path | None
    typed: str
    entries: Transcript
    history: list[str]


async def describe_opened(
    engine: Engine, session: SessionChoice | None, folder: str, *, is_first: bool
) -> OpenedConversation:
    """Open a conversation and describe it.

    Args:
        engine: opens it.
        session: which one; None for that of the command line.
        folder: kaa's home.
        is_first: whether it is the first of the process.

    Raises:
        Exception: as `Engine.open` does.
    """
    history = PromptHistory(folder).load() if is_first else []
    conversation = await engine.open(session)
    drafts = engine.session_path if conversation.is_kept else None
    typed = recover_draft(drafts) if drafts is not None else ""  # a small file: whoever sees the model may type
    return OpenedConversation(engine.session_path, drafts, typed, conversation.transcript(), history)
