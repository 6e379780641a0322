"""Sections of the system prompt, and what they can depend on."""

from collections.abc import Callable
from typing import Literal, TypeAlias

import msgspec

from kaa.ext.features import Features
from kaa.ext.tools import RegisteredTool


class ContextFile(msgspec.Struct, frozen=True):
    """A file with instructions for every agent, such as AGENTS.md.

    Attributes:
        trusted: the user trusts the instructions; otherwise they are information only.
        paths: globs of files of the project; the text is not in the prompt, the model gets it with such a file. Empty:
            it is in the prompt.
    """

    path: str
    text: str
    trusted: bool = True
    paths: tuple[str, ...] = ()


class PromptContext(msgspec.Struct, frozen=True):
    """What a prompt section can depend on. Only `tools` changes during a session.

    Attributes:
        cwd: the project's root.
        date: ISO date of the day the session started.
        tools: the active tools.
        custom: the user's own system prompt, which replaces kaa's.
        appended: texts that the user adds to the system prompt.
        context_files: files with instructions and information, the most general first.
        profile: `short` for a model with a small window: include only what is necessary.
        conversation_id: tells the conversations of one process apart; agents have that of the one that runs them.
        features: the measures in force when the conversation was opened.
        unattended: nobody answers questions in this run, as with `-p`.
    """

    cwd: str
    date: str
    tools: tuple[RegisteredTool, ...] = ()
    custom: str | None = None
    appended: tuple[str, ...] = ()
    context_files: tuple[ContextFile, ...] = ()
    profile: Literal["full", "short"] = "full"
    conversation_id: str = ""
    features: Features = Features()
    unattended: bool = False


PromptSection: TypeAlias = Callable[[PromptContext], str | None]
