"""What goes wrong with extensions and commands."""


class RegistrationError(Exception):
    """An extension registered something that cannot be: a name twice, an invalid name."""


class CommandError(Exception):
    """What a slash command was asked for cannot be done; the message is for the user."""


class MessageBlockedError(CommandError):
    """A hook keeps a message of the user's from the model; the message says why."""


class NavigationBlockedError(CommandError):
    """A hook does not let the user go elsewhere; the message says why."""


class ExtensionError(Exception):
    """An extension could not be loaded, or raised where its absence would change what the user asked for."""
