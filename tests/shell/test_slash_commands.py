"""Slash commands are told from messages to the model."""

import pytest

from kaa.core.messages import ImageContent, TextContent, UserMessage
from kaa.shell.slash_commands import command_in


@pytest.mark.parametrize(
    ("text", "command"),
    [
        ("/compact", ("compact", "")),
        ("  /compact look at\nthe numbers ", ("compact", "look at\nthe numbers")),
        ("/etc/passwd is a file", None),
        ("/", None),
        ("", None),
        ("say /compact", None),
    ],
)
def test_only_names_of_commands_at_the_beginning_are_commands(text: str, command: tuple[str, str] | None) -> None:
    assert command_in(UserMessage(text), {"compact"}) == command
    assert command_in(UserMessage((TextContent(text),)), {"compact"}) == command


def test_a_message_with_an_image_is_for_the_model() -> None:
    message = UserMessage((TextContent("/compact"), ImageContent("aGk=", "image/png")))

    assert command_in(message, {"compact"}) is None
