"""From the command line's arguments to the options of a conversation, for every frontend."""

import argparse
import os
import re
from pathlib import Path

from kaa.core.budget import Budget
from kaa.ext.choices import TrustChoice
from kaa.frontends.sandbox_flags import sandbox_flags
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

# `./a b`, `~/a b` or `/a b`; or without spaces, `prompts/review` or `review.md`.
_PATH = re.compile(r"(?:\.{0,2}/|~).*|\S+/\S*|\S+\.[A-Za-z]\w{0,8}")
_MOST_TEXT_BYTES = 1024 * 1024


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

    def _text(self, given: str) -> str:
        """A text for the prompt, or the content of the file that it names.

        It names one only if it is written as a path: commands could give a file any other name, too.

        Raises:
            UsageError: the file cannot be read, or commands could have chosen which it is.
        """
        path = os.path.join(self._directory or "", expanded(given))
        if _PATH.fullmatch(given) is None or not os.path.exists(path):
            return given
        from kaa.host.paths import is_below  # lazy, both: few name a file
        from kaa.host.regular_files import read_regular

        real, project = os.path.realpath(path), os.path.realpath(self._directory or "")
        if is_below(os.path.abspath(path), (self._directory or "", project)) and not is_below(real, (project,)):
            raise UsageError(f"{given} is a link out of the project, to {real}: name that file instead")
        try:
            return read_regular(real, _MOST_TEXT_BYTES).decode()
        except (OSError, UnicodeError) as error:
            reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
            raise UsageError(f"{given} cannot be read: {reason}") from None

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
            system_prompt=self._text(arguments.system_prompt) if arguments.system_prompt is not None else None,
            append_system_prompt=tuple(map(self._text, arguments.append_system_prompt)),
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
