"""Writes kaa's log (`KAA_LOG`): what conversations do, without what is said in them and without secrets."""

import atexit
import logging
import os
import platform
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, TypeAlias

from kaa import __version__
from kaa.core.agent import Agent
from kaa.core.events import (
    AgentEnd,
    AgentStart,
    AutoRetryEnd,
    AutoRetryStart,
    BranchChanged,
    BudgetUpdate,
    CacheMiss,
    CompactionEnd,
    CompactionStart,
    Event,
    MessageEnd,
    ModelChanged,
    ModelFallback,
    ResultsShortened,
    ToolExecutionEnd,
    ToolExecutionStart,
    UserCommandEnd,
)
from kaa.core.messages import AssistantMessage, Json
from kaa.core.provider import Request, SideRequest
from kaa.core.terminal_text import plain_text
from kaa.core.usage import estimate
from kaa.host.log import LOG
from kaa.host.log_file import LogFileError, check_log_path, open_log_file
from kaa.shell.home import Home
from kaa.shell.known_secrets import SECRET_FILES, known_secrets

if TYPE_CHECKING:
    from kaa.llm.redaction import Redactor
    from kaa.workspace.sandbox.sandbox import SandboxStatus

Notify: TypeAlias = Callable[[str], None]

LEVELS = {"debug": logging.DEBUG, "info": logging.INFO, "warning": logging.WARNING, "error": logging.ERROR}


def log_choice(environ: Mapping[str, str]) -> tuple[str, str] | None:
    """The absolute path and the level of the log; None where none is wanted.

    Raises:
        LogFileError: the variables have values that cannot be used.
    """
    wanted = environ.get("KAA_LOG")
    if not wanted:
        return None
    level = environ.get("KAA_LOG_LEVEL", "").lower() or "info"
    if level not in LEVELS:
        raise LogFileError(f"KAA_LOG_LEVEL is {level!r}: use {', '.join(LEVELS)}")
    try:
        return check_log_path(wanted), level
    except LogFileError as error:
        raise LogFileError(f"KAA_LOG: {error}") from error


def start_logging(environ: Mapping[str, str], home: Home, notify: Notify) -> Notify:
    """Write a log if the user wants one. The file stays open until the process ends.

    Args:
        home: the user's folder, which has secrets to keep out of the log.

    Returns:
        `notify`, which also writes what it is told into the log.
    """
    try:
        choice = log_choice(environ)
        if choice is None:
            return notify
        path, level = choice
        if not any(isinstance(handler, _LogFile) and handler.path == path for handler in LOG.handlers):
            _replace_handler(_LogFile(path, _Secrets(environ, home), notify))
            LOG.setLevel(LEVELS[level])
            LOG.info("kaa %s starts: Python %s, %s", __version__, platform.python_version(), platform.platform())
    except LogFileError as error:
        notify(f"Nothing is logged: {error}")
        return notify

    def logged(text: str) -> None:
        LOG.info("notice: %s", text)
        notify(text)

    return logged


def stop_logging() -> None:
    """Close the file of the log."""
    if any(isinstance(handler, _LogFile) for handler in LOG.handlers):
        LOG.info("kaa ends")
        _replace_handler(None)


class ConversationLog:
    """Logs what happens in a conversation.

    Args:
        session_id: of its session; every record begins with the last part of it.
    """

    def __init__(self, session_id: str) -> None:
        self._name = session_id[-8:]
        self._sent = 0.0
        self._calls: dict[str, str] = {}

    def opened(self, agent: Agent, path: str | None, root: str, sandbox: "SandboxStatus | None") -> None:
        """The conversation is open; follow it from here on."""
        tools = ", ".join(agent.tool_names)
        self._log("opens: session %s, project %s", path or "not kept", root)
        self._log("model %s, thinking %s, tools: %s", agent.model.qualified_id, agent.thinking, tools)
        if sandbox is not None:
            self._log("sandbox %s, mode %s, network %s", sandbox.tier, sandbox.mode, sandbox.network)
            for tier, reason in sandbox.refused.items():
                self._log("sandbox tier %s refused: %s", tier, reason)
        agent.subscribe(self._event)
        agent.observe_requests(self._request)
        agent.observe_asides(self._aside)

    def closed(self) -> None:
        self._log("closed")

    def _request(self, request: Request) -> None:
        self._sent = time.monotonic()
        tokens = sum(map(estimate, request.messages))
        self._log(
            "request to %s: %d messages, about %d tokens, %d tools",
            request.model.qualified_id,
            len(request.messages),
            tokens,
            len(request.tools),
        )

    def _aside(self, aside: SideRequest) -> None:
        seconds = (time.time_ns() - aside.began_ns) / 1e9
        result = aside.reply.stop_reason if aside.reply is not None else f"{aside.error_type}: {aside.error}"
        self._log("background request to %s: %.3f s, %s", aside.request.model.qualified_id, seconds, result)

    def _event(self, event: Event) -> None:
        match event:
            case MessageEnd(message=AssistantMessage() as reply):
                self._reply(reply)
            case ToolExecutionStart():
                self._log("tool %s begins (%s)", event.tool_name, event.tool_call_id, level=logging.DEBUG)
            case ToolExecutionEnd():
                self._log("%s", _tool_text(event))
            case _:
                text = _run_text(event) or _change_text(event)
                if text is not None:
                    self._log("%s", text)

    def _reply(self, reply: AssistantMessage) -> None:
        seconds, usage = time.monotonic() - self._sent, reply.usage
        failure = f": {reply.error_message}" if reply.error_message else ""
        self._log(
            "reply after %.3f s: %s, input %d, output %d, cache read %d, cache write %d tokens%s",
            seconds,
            reply.stop_reason,
            usage.input,
            usage.output,
            usage.cache_read,
            usage.cache_write,
            failure,
        )

    def _log(self, text: str, *values: object, level: int = logging.INFO) -> None:
        LOG.log(level, f"[{self._name}] {text}", *values)


def _tool_text(event: ToolExecutionEnd) -> str:
    """How a tool call ended, and what the sandbox blocked in it."""
    text = f"tool {event.tool_name}: {event.duration_ms} ms, {'error' if event.is_error else 'ok'}"
    details: Json = event.result.details
    if isinstance(details, dict):
        if (code := details.get("exitCode")) is not None:
            text += f", exit code {code}"
        for name in ("blocked", "blockedEarlier"):
            if found := details.get(name):
                text += f", sandbox {name}: {found}"
    return text


def _run_text(event: Event) -> str | None:
    """What the log says of the course of a run."""
    match event:
        case AgentStart():
            return "run begins"
        case AgentEnd():
            return f"run ends: {event.reason}{f': {event.error}' if event.error else ''}"
        case AutoRetryStart():
            why = f"{event.error_type}: {event.error_message}"
            return f"retry {event.attempt} of {event.max_attempts} in {event.delay_ms} ms: {why}"
        case AutoRetryEnd():
            return f"retries end: {'success' if event.success else event.final_error}"
        case ModelFallback():
            return f"model {event.to_model} replaces {event.from_model}: {event.error_message}"
        case BudgetUpdate():
            return f"budget: {event.message}"
        case CacheMiss():
            return f"cache miss: {event.detail}, {event.tokens} tokens"
        case _:
            return None


def _change_text(event: Event) -> str | None:
    """What the log says of other changes to the conversation."""
    match event:
        case ModelChanged():
            return f"model {event.provider}/{event.model_id}"
        case UserCommandEnd():
            return f"command of the user: {event.duration_ms} ms, exit code {event.exit_code}"
        case CompactionStart():
            return f"compaction begins: {event.reason}"
        case CompactionEnd():
            state = event.error or ("aborted" if event.aborted else "done")
            return f"compaction: {state}, {event.tokens_before} to {event.tokens_after} tokens"
        case ResultsShortened():
            return event.sentence
        case BranchChanged():
            return f"conversation continues after entry {event.leaf_id}"
        case _:
            return None


class _Secrets:
    """The redactor for the keys in use; made again when a file that keeps keys has changed."""

    def __init__(self, environ: Mapping[str, str], home: Home) -> None:
        self._environ = environ
        self._home = home
        self._known: tuple[object, Redactor] | None = None

    def redact(self, text: str) -> str:
        from kaa.llm.redaction import Redactor  # lazy: only logs need it here

        files = tuple(_state(self._home.path / name) for name in SECRET_FILES)
        if self._known is None or self._known[0] != files:
            self._known = files, Redactor(known_secrets(self._environ, self._home))
        return self._known[1].redact(text)


def _state(path: "os.PathLike[str]") -> tuple[int, int, int] | None:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino


class _Format(logging.Formatter):
    """One record: time, level, text. Further lines are indented, so no text can look like another record."""

    def __init__(self, secrets: _Secrets) -> None:
        super().__init__(f"%(asctime)s.%(msecs)03dZ {os.getpid()} %(levelname)s %(message)s", "%Y-%m-%dT%H:%M:%S")
        self.converter = time.gmtime
        self._secrets = secrets

    def format(self, record: logging.LogRecord) -> str:
        # Control characters first: one within a key would hide it.
        return self._secrets.redact(plain_text(super().format(record))).replace("\n", "\n    ")


class _LogFile(logging.Handler):
    """Writes records to a file until that fails."""

    def __init__(self, path: str, secrets: _Secrets, notify: Notify) -> None:
        self._descriptor = open_log_file(path)
        super().__init__()
        self.path = path
        self.setFormatter(_Format(secrets))
        self._notify = notify

    def emit(self, record: logging.LogRecord) -> None:
        """Write one record at once: other processes may write to the same file."""
        try:
            os.write(self._descriptor, f"{self.format(record)}\n".encode(errors="backslashreplace"))
        except Exception as error:  # noqa: BLE001 isolation boundary: a log must not end what it logs
            _replace_handler(None)
            self._notify(f"Nothing more is logged: {self.path}: {error}")

    def close(self) -> None:
        super().close()
        os.close(self._descriptor)


def _replace_handler(new: _LogFile | None) -> None:
    for handler in [handler for handler in LOG.handlers if isinstance(handler, _LogFile)]:
        LOG.removeHandler(handler)
        handler.close()
    if new is None:
        LOG.setLevel(logging.CRITICAL + 1)
    else:
        LOG.addHandler(new)
        atexit.unregister(stop_logging)
        atexit.register(stop_logging)
