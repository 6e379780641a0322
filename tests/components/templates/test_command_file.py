"""Files of commands: what is understood, and what is named instead."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kaa.components.skill import Unusable
from kaa.components.templates import Dialect
from kaa.components.templates.command_file import CommandFile, command_file


def usable(text: str, dialect: Dialect, name: str = "a") -> CommandFile:
    found = command_file(name, text.encode(), dialect)
    assert isinstance(found, CommandFile)
    return found


def reason(data: bytes, dialect: Dialect, name: str = "a") -> str:
    found = command_file(name, data, dialect)
    assert isinstance(found, Unusable)
    return found.reason


def test_pi() -> None:
    found = usable('---\ndescription: Review\nargument-hint: "<PR-URL>"\n---\nReview $1.\n', "pi")

    assert found == CommandFile("a", "Review", "Review $1.", "pi", argument_hint="<PR-URL>")


def test_the_first_line_describes_a_file_without_a_description() -> None:
    assert usable("\n# Review changes\nAll.", "pi").description == "# Review changes"
    assert usable("x" * 61, "pi").description == "x" * 60 + "..."
    assert usable("x" * 60, "pi").description == "x" * 60


def test_claude() -> None:
    found = usable(
        "---\ndescription: Commit: all\nargument-hint: [file] [message]\narguments: file message\nmodel: haiku\n"
        "allowed-tools: Bash(git add:*), Read\ncontext: fork\nagent: Explore\ndisable-model-invocation: true\n"
        "effort: high\ncolour: red\n---\nCommit $file.",
        "claude",
        "git/commit",
    )

    assert (found.name, found.description, found.argument_hint) == ("git:commit", "Commit: all", "[file] [message]")
    assert (found.model, found.agent, found.subtask) == ("haiku", "Explore", True)
    assert found.argument_names == ("file", "message")
    assert found.allowed_tools == ("Bash(git add:*)", "Read")
    assert found.effort == "high"
    assert found.notes[1:] == ("`colour` is unknown",)
    assert "not valid YAML" in found.notes[0]
    assert usable("---\nmodel: inherit\nargument-hint: [issue]\n---\nx", "claude").model == "inherit"
    assert usable("---\neffort: huge\n---\nx", "claude").notes == (
        "`effort: huge` is unknown: the conversation's thinking level holds",
    )
    assert usable("---\nargument-hint: [issue]\n---\nx", "claude").argument_hint == "[issue]"


def test_opencode() -> None:
    found = usable("---\nagent: plan\nmodel: a/b#high\nsubtask: true\nvariant: max\ncontext: fork\n---\nx", "opencode")

    assert (found.agent, found.model, found.subtask) == ("plan", "a/b", True)
    assert found.effort == "max"
    assert [note.partition(" ")[0] for note in found.notes] == ["`context`"]
    assert usable("---\nmodel: a/b#high\n---\nx", "opencode").effort == "high"
    assert usable("---\nagent: scribe\n---\nx", "opencode").subtask
    assert not usable("---\nagent: scribe\nsubtask: false\n---\nx", "opencode").subtask


def test_gemini() -> None:
    text = '\ufeffdescription = "Review\\u001b[31m it"\nprompt = """\nReview {{args}}.\n"""\r\nother = 1\n'
    found = usable(text, "gemini", "git/a b")

    assert found == CommandFile("git:a_b", "Review it", "Review {{args}}.", "gemini", notes=("`other` is unknown",))
    assert "no closing brace" in usable("prompt = 'x !{y'", "gemini").notes[0]


def test_codex() -> None:
    found = usable("---\ndescription: Review\nargument-hint: FILE=<path>\nmodel: x\n---\nReview $FILE.", "codex")

    assert (found.argument_hint, found.model, found.notes) == ("FILE=<path>", "", ("`model` is unknown",))


def test_what_cannot_be_used_says_why() -> None:
    assert reason(b"", "pi") == "it has no text"
    assert reason(b"---\ndescription: x\n---\n", "claude") == "it has no text"
    assert reason(b"x", "pi", "a b") == "its name 'a b' cannot be called: use letters, digits, _, . and -"
    assert "cannot be called" in reason(b"x", "gemini", ".hidden")
    assert "cannot be called" in reason(b"x", "pi", "n" * 101)
    assert reason(b"x" * 300_000, "pi") == "it has more than 256 KiB"
    assert reason(b"description = 'x'", "gemini") == reason(b"prompt = 3", "gemini") == "it has no `prompt`"
    assert reason(b"prompt = ", "gemini").startswith("it is not valid TOML (")
    assert "not valid TOML" in reason(b"a = " + b"[" * 100_000, "gemini")


@pytest.mark.parametrize("dialect", ["pi", "claude", "opencode", "gemini", "codex"])
@given(data=st.binary() | st.text().map(lambda text: f"---\n{text}\n---\n{text}\n\nprompt = 'x'".encode()))
def test_any_file_is_read(dialect: Dialect, data: bytes) -> None:
    found = command_file("a", data, dialect)

    shown = found.reason if isinstance(found, Unusable) else " ".join([found.description, *found.notes])
    assert shown.isprintable() or any(ord(one) > 127 for one in shown)
