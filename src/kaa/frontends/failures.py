"""What can go wrong without being anybody's bug: its message says what happened and what to do."""

import traceback

from kaa.builtin.images import ImageError
from kaa.core.agent import AgentBusyError
from kaa.core.errors import ProviderError
from kaa.ext.errors import CommandError, ExtensionError, RegistrationError
from kaa.frontends.command_line import UsageError
from kaa.host.log import LOG
from kaa.llm.auth.errors import CredentialError
from kaa.llm.models.registry import NoModelError
from kaa.session.errors import NotASessionError, SessionError, SessionNotFoundError
from kaa.shell.attachments import AttachmentError
from kaa.shell.options import SessionNotKeptError
from kaa.shell.settings import SettingsError
from kaa.shell.trust.configuration import TrustError

# What the user can mend by asking differently.
USAGE_ERRORS = (
    AttachmentError,
    CredentialError,
    ExtensionError,
    NotASessionError,
    RegistrationError,
    SessionNotFoundError,
    SessionNotKeptError,
    SettingsError,
    TrustError,
    UsageError,
)

# What the world does to us.
FAILURES = (CommandError, ProviderError, SessionError, OSError)

FORESEEN = (*USAGE_ERRORS, *FAILURES, AgentBusyError, ImageError, NoModelError)


def error_text(error: BaseException) -> str:
    """What to tell of an error: its message, or, if it is a bug of ours, all that is needed to report it."""
    if isinstance(error, FORESEEN):
        return str(error)
    LOG.error("kaa failed", exc_info=error)
    trace = "".join(traceback.format_exception(error)).rstrip()
    return f"{trace}\nThis is a bug in kaa or an extension. Please report it with the above."
