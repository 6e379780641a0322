"""What can be wrong with the user's keys."""


class CredentialError(Exception):
    """A key could not be read or kept. The message says which, why and what to do, never the key."""
