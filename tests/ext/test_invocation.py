"""Slash commands are told from messages to the model, and what registers is what is recognized."""

import pytest

from kaa.core.messages import ImageContent, TextContent, UserMessage
from kaa.ext.api import CommandContext, Reply
from kaa.ext.errors import RegistrationError
from kaa.ext.invocation import Invocation, as_message, invocation_in, is_command_name, unknown_command
from tests.support.registries import LoadedRegistry
from tests.support.tables import each


@each(
    ("text", "called"),
    [
        ("/compact", ("compact", "")),
        ("/compact look at\nthe numbers ", ("compact", "look at\nthe numbers")),
        ("/skill:hello", ("skill:hello", "")),
        ("/my_cmd x", ("my_cmd", "x")),
        ("/Deploy.v2\tnow", ("Deploy.v2", "now")),
        ("/model anthropic/opus", ("model", "anthropic/opus")),
        (" /compact", None),
        ("/usr/bin/x is broken", None),
        ("/tmp/", None),
        ("//", None),
        ("//compact", None),
        ("/ is the root", None),
        ("/-x", None),
        ("/why?", None),
        ("/", None),
        ("", None),
        ("say /compact", None),
    ],
)
def test_a_slash_and_a_name_at_the_very_beginning_call_a_command(text: str, called: tuple[str, str] | None) -> None:
    expected = None if called is None else Invocation(*called)

    assert invocation_in(text) == expected
    assert invocation_in(UserMessage(text)) == expected
    assert invocation_in(UserMessage((TextContent(text),))) == expected


def test_a_message_with_an_image_is_for_the_model() -> None:
    assert invocation_in(UserMessage((TextContent("/compact"), ImageContent("aGk=", "image/png")))) is None


@each("name", ["a", "skill:hello", "my_cmd", "v1.2", "Fix-It", "9", "a/b", "_x", ":", "ü", "a b", ""])
def test_a_name_can_be_registered_if_and_only_if_it_is_recognized(name: str) -> None:
    async def answer(arguments: str, context: CommandContext) -> Reply:
        return Reply(arguments)

    registry = LoadedRegistry()
    recognized = invocation_in(f"/{name} now") == Invocation(name, "now")

    assert is_command_name(name) == recognized
    if recognized:
        registry.api.register_command(name, "", answer)
    else:
        with pytest.raises(RegistrationError, match="invalid command name"):
            registry.api.register_command(name, "", answer)


def test_an_unknown_command_is_refused_with_the_nearest_names() -> None:
    known = ["my_cmd", "model", "skill:hello", "compact", "tree", "redo", "undo"]

    assert unknown_command("my_cdm", known) == (
        "unknown command /my_cdm; did you mean /my_cmd? To send it as text, put a space before it"
    )
    assert "did you mean /skill:hello?" in unknown_command("Skill:helo", known)
    assert "did you mean /compact?" in unknown_command("comp", known)
    assert unknown_command("xyzzy", known) == (
        "unknown command /xyzzy; /help lists all. To send it as text, put a space before it"
    )


@pytest.mark.parametrize(("name", "way"), [("mcp", "kaa mcp add NAME -- COMMAND"), ("plugins", "kaa plugin install")])
def test_a_command_that_has_nothing_to_show_says_what_would_change_that(name: str, way: str) -> None:
    said = unknown_command(name, ["help"])

    assert way in said
    assert "unknown" not in said


@each(
    ("text", "message"),
    [
        ("!touch x", " !touch x"),
        ("!", " !"),
        ("/net on", " /net on"),
        ("/net\n\nPlease", " /net\n\nPlease"),
        ("\r\n!touch x", "\n!touch x"),
        (" !touch x", " !touch x"),
        ("\x1b!touch x", "\\x1b!touch x"),
        ("/usr/bin/x is broken", "/usr/bin/x is broken"),
        ("say !", "say !"),
        ("", ""),
    ],
)
def test_what_nobody_typed_is_a_message(text: str, message: str) -> None:
    assert as_message(text) == message
    assert invocation_in(message) is None
