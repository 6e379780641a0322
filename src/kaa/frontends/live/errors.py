"""What goes wrong between a kaa and the clients of its conversation. Light: commands import it to catch it."""


class LiveError(Exception):
    """The kaa cannot be reached, or does not do what it was asked for; the message says why and what to do."""


class NotHandedOverError(LiveError):
    """A conversation has ended in its terminal, and the process that was to go on with it does not start."""
