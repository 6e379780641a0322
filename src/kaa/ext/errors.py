"""Errors of extensions and commands."""


class RegistrationError(Exception):
    """An extension registered something invalid, for example a name twice."""


class CommandError(Exception):
    """A slash command cannot do what the user asked for; the message tells the user why."""


class OverBudgetError(CommandError):
    """The budget ended a slash command's work early; the message says what became of it."""


class MessageBlockedError(CommandError):
    """A hook keeps a message of the user's from the model; the message says why."""


class NavigationBlockedError(CommandError):
    """A hook does not let the user go elsewhere; the message says why."""


class ExtensionError(Exception):
    """An extension cannot be loaded, or failed where kaa cannot go on without its result."""


class UnapprovedError(ExtensionError):
    """The person has not approved an extension as it is. `remedy`: what to do, a sentence without a full stop."""

    def __init__(self, message: str, remedy: str) -> None:
        super().__init__(message)
        self.remedy = remedy


class NameTakenError(ExtensionError):
    """An extension cannot be used together with another one, because both registered the same name."""


class ExtensionFailedError(ExtensionError):
    """The code of an extension raised, took too long, or returned something unusable.

    Args:
        extension: the name of the extension: its path, or the module of a built-in one.
        part: what failed, such as `before_tool hook`.
        problem: how, such as `failed: ValueError: bug`.
    """

    def __init__(self, extension: str, part: str, problem: str) -> None:
        super().__init__(f"Extension {extension}: {part} {problem}")
        self.extension = extension
        self.part = part
        self.problem = problem
