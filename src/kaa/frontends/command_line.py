"""From the command line's arguments to the options of a conversation, for every frontend."""

import argparse
from pathlib import Path

from kaa.core.budget import Budget
from kaa.ext.api import TrustChoice
from kaa.shell.home import expanded
from kaa.shell.options import (
    ContinueSession,
    ConversationOptions,
    ForkSession,
    Live,
    NewSession,
    OpenSession,
    Record,
    Replay,
    SessionChoice,
    UnkeptSession,
    ViewSession,
    Wire,
)


class UsageError(Exception):
    """The command line names something that is not there."""


def conversation_options(
    arguments: argparse.Namespace, trust: TrustChoice, session: SessionChoice | None = None
) -> ConversationOptions:
    """What the user chose for a conversation.

    Args:
        arguments: as `kaa.cli` parses them.
        trust: whether what the project configures is used.
        session: another session than the arguments say; where they say that nothing is kept, that holds for all.

    Raises:
        UsageError: a file is named that is not there.
    """
    return ConversationOptions(
        model=arguments.model,
        models=arguments.models,
        provider=arguments.provider,
        api_key=arguments.api_key,
        thinking=arguments.thinking,
        tools=() if arguments.no_tools else arguments.tools,
        exclude_tools=arguments.exclude_tools,
        builtin_tools=not arguments.no_builtin_tools,
        system_prompt=_text_or_file(arguments.system_prompt) if arguments.system_prompt is not None else None,
        append_system_prompt=tuple(_text_or_file(text) for text in arguments.append_system_prompt),
        context_files=not arguments.no_context_files,
        extensions=tuple(expanded(path) for path in arguments.extension),
        discover_extensions=not arguments.no_extensions,
        approvals=arguments.approvals,
        trust=trust,
        session=_session(arguments, session),
        session_dir=expanded(arguments.session_dir) if arguments.session_dir else None,
        max_turns=arguments.max_turns,
        budget=Budget(cost=arguments.max_cost, tokens=arguments.max_tokens, seconds=arguments.max_time),
        fallback=arguments.fallback,
        wire=_wire(arguments),
    )


def _session(arguments: argparse.Namespace, other: SessionChoice | None) -> SessionChoice:
    if arguments.no_session:
        return UnkeptSession()
    if other is not None:
        return other
    if arguments.session:
        return OpenSession(arguments.session, name=arguments.name)
    if arguments.view:
        return ViewSession(arguments.view)
    if arguments.fork:
        return ForkSession(arguments.fork, name=arguments.name)
    if arguments.continue_last:
        return ContinueSession(name=arguments.name)
    return NewSession(arguments.session_id, name=arguments.name)


def _wire(arguments: argparse.Namespace) -> Wire:
    if arguments.record:
        return Record(Path(arguments.record))
    if not arguments.replay:
        return Live()
    if not Path(arguments.replay).is_file():
        raise UsageError(f"there is no recording {arguments.replay} to replay")
    return Replay(Path(arguments.replay))


def _text_or_file(text: str) -> str:
    """The flag's value, or the content of the file it names, as pi does."""
    try:
        return Path(text).read_text("utf-8") if Path(text).is_file() else text
    except (OSError, ValueError):  # a long text is no file name
        return text
