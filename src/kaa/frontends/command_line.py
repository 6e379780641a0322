"""From the command line's arguments to the options of a conversation, for every frontend."""

import argparse
import os
from pathlib import Path

from kaa.core.budget import Budget
from kaa.ext.choices import TrustChoice
from kaa.frontends.sandbox_flags import prompt_file, sandbox_flags
from kaa.host.regular_files import read_regular, unplanted
from kaa.shell.home import expanded
from kaa.shell.options import (
    ContinueSession,
    ConversationOptions,
    ForkSession,
    HostOptions,
    Live,
    McpOptions,
    NewSession,
    Record,
    Replay,
    ResumeSession,
    SessionChoice,
    UnkeptSession,
    ViewSession,
    Wire,
)


class UsageError(Exception):
    """The command line names something that is not there."""


class CommandLineOptions:
    """What the user asked for, as options. The only place that knows the parser's names below `kaa.cli`.

    Args:
        arguments: as `kaa.cli` parses them.
        directory: in which kaa was started, absolute; None if it does not exist any more.

    Attributes:
        messages: what to do first.
        sandbox: what was chosen for the project in that directory.
        as_json: whether events are printed instead of the answer.
        verbose: whether to show what tools print.
        patch: the file that gets what the session changed; None for none.
        person_answers: a person answers the questions of the program that drives kaa.
    """

    def __init__(self, arguments: argparse.Namespace, directory: str | None) -> None:
        self._arguments = arguments
        self._directory = directory
        self.messages: tuple[str, ...] = tuple(arguments.messages)
        self.sandbox = sandbox_flags(arguments)
        self.as_json: bool = arguments.mode == "json"
        self.verbose: bool = arguments.verbose
        self.patch: str | None = arguments.patch
        self.person_answers: bool = arguments.person_answers

    def host_options(self) -> HostOptions:
        """What holds for the process."""
        return HostOptions(
            extensions=tuple(map(self._extension, self._arguments.extension)),
            discover_extensions=not self._arguments.no_extensions,
            flags=self._arguments.flags,
            mcp=McpOptions(not self._arguments.no_mcp, self._server_file()),
        )

    def _server_file(self) -> Path | None:
        file = self._arguments.mcp_config
        return None if file is None else Path(self._directory or "", expanded(file))

    def _extension(self, path: str) -> Path:
        """One of `-e`, spelled as `kaa ext permit` spells it: permissions are kept by path."""
        return Path(os.path.normpath(Path(self._directory or "", expanded(path))))

    def conversation_options(self) -> ConversationOptions:
        """What was chosen for the first conversation. Each call looks again for the files that are named.

        Raises:
            UsageError: a file is named that is not there.
        """
        arguments = self._arguments
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
            approvals=arguments.approvals,
            fixed=tuple(
                name
                for name, chosen in (
                    ("mode", self.sandbox.mode),
                    ("network", self.sandbox.network),
                    ("approvals", arguments.approvals),
                )
                if chosen is not None
            ),
            trust=_trust(arguments),
            session=_session(arguments),
            session_dir=expanded(arguments.session_dir) if arguments.session_dir else None,
            max_turns=arguments.max_turns,
            budget=Budget(cost=arguments.max_cost, tokens=arguments.max_tokens, seconds=arguments.max_time),
            fallback=arguments.fallback,
            wire=_wire(arguments),
        )


def _trust(arguments: argparse.Namespace) -> TrustChoice | None:
    if arguments.trust:
        return "yes"
    return "no" if arguments.no_trust else None


def _session(arguments: argparse.Namespace) -> SessionChoice:
    if arguments.no_session:
        return UnkeptSession()
    if arguments.session:
        return ResumeSession(arguments.session, name=arguments.name)
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
    """The flag's value, or the content of the file it names.

    Raises:
        UsageError: it cannot be read.
    """
    if (file := prompt_file(text)) is None:
        return text
    try:
        return read_regular(os.path.abspath(expanded(file)), opener=unplanted).decode("utf-8")
    except OSError as error:
        raise UsageError(f"{file} cannot be read as a system prompt ({error.strerror})") from error
    except UnicodeDecodeError as error:
        raise UsageError(f"{file} cannot be read as a system prompt (it is not UTF-8)") from error
