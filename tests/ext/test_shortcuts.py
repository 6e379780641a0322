"""Registration of shortcuts."""

import pytest

from kaa.ext.api import CommandContext
from kaa.ext.errors import RegistrationError
from tests.support.registries import LoadedRegistry


async def show_todos(_context: CommandContext) -> None:
    """Do nothing."""


def test_a_shortcut_is_a_slash_command_with_a_key() -> None:
    registry = LoadedRegistry()

    assert registry.api.shortcut("Alt+Ctrl+T", "Show the list")(show_todos) is show_todos

    command = registry.commands["show-todos"]
    assert (command.key, command.argument_hint, command.while_running) == ("ctrl+alt+t", None, True)


@pytest.mark.parametrize(
    ("key", "problem"),
    [
        ("x", "it types text"),
        ("shift+x", "it types text"),
        ("space", "it types text"),
        ("ctrl+nokey", "there is no key called 'nokey'"),
        ("", "a shortcut needs a key"),
    ],
)
def test_a_key_that_cannot_be_bound_is_refused(key: str, problem: str) -> None:
    registry = LoadedRegistry()

    with pytest.raises(RegistrationError, match=problem):
        registry.api.shortcut(key, "Show the list")(show_todos)
