"""Exit codes of the headless modes. Anything but 0 means: the task did not run to its end."""

from enum import IntEnum

from kaa.core.events import RunEndReason
from kaa.session.errors import NotASessionError, SessionError, SessionNotFoundError


class ExitCode(IntEnum):
    """What kaa's exit code says. Interruptions by a signal exit with 128 plus its number, as shells do."""

    DONE = 0
    FAILED = 1  # the model could not be reached or refused; a session could not be written; ...
    USAGE = 2  # a bad flag, a file that is not there, a setting that makes no sense
    DENIED = 3  # something the task needed was not permitted
    LIMIT = 4  # a cap on turns, messages or continuations, the model's output limit, or a model that repeats itself
    NO_MODEL = 5  # no key and no local server: kaa does not know whom to ask
    BUDGET = 6  # the money, tokens, requests or time that were allowed are used up
    UNVERIFIED = 7  # the commands that verify the work do not succeed
    INTERRUPTED = 130  # 128 + SIGINT


_OF_REASON: dict[RunEndReason, ExitCode] = {
    "done": ExitCode.DONE,
    "unfinished": ExitCode.FAILED,
    "unverified": ExitCode.UNVERIFIED,
    "loop": ExitCode.LIMIT,
    "error": ExitCode.FAILED,
    "aborted": ExitCode.INTERRUPTED,
    "denied": ExitCode.DENIED,
    "length": ExitCode.LIMIT,
    "max_turns": ExitCode.LIMIT,
    "max_messages": ExitCode.LIMIT,
    "max_continuations": ExitCode.LIMIT,
    "budget": ExitCode.BUDGET,
}


def of_reason(reason: RunEndReason) -> ExitCode:
    """The exit code for the way a run ended."""
    return _OF_REASON[reason]


def of_session_error(error: SessionError) -> ExitCode:
    """The exit code for work on sessions that failed: whether the wrong thing was asked for, or the world failed us."""
    is_mistake = isinstance(error, SessionNotFoundError | NotASessionError)
    return ExitCode.USAGE if is_mistake or isinstance(error.__cause__, FileNotFoundError) else ExitCode.FAILED
