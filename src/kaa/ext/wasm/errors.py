"""What can go wrong with a component."""

from kaa.ext.errors import ExtensionError


class ComponentError(ExtensionError):
    """A component cannot be loaded, or a call of it failed. The message says what to do, without naming it."""


class HostRefusalError(Exception):
    """A host function refuses what a component asked for. The component gets the message and can go on."""
