"""Options of kaa before a command: they go with it, or kaa says where they belong; a message may begin so, too."""

from pathlib import Path

import pytest

from tests.end_to_end.kaa_process import Kaa, conversation
from tests.support.model_server import MODEL_ID, ModelServer, say


@pytest.fixture
def kaa(tmp_path: Path) -> Kaa:
    return Kaa(tmp_path)


@pytest.mark.usefixtures("full_access")
def test_options_before_a_command_that_takes_them_count(kaa: Kaa) -> None:
    with ModelServer() as server:
        kaa.use(server, "openai-completions")

        finished = kaa.run("--model", f"test/{MODEL_ID}", "plan", "run", "missing.md")

    assert "there is no file 'missing.md'" in finished.err
    assert server.requests == []


@pytest.mark.parametrize(
    ("arguments", "word"),
    [(("--no-git", "worktrees", "list"), "worktrees"), (("--model", "plan", "stats"), "stats")],
)
def test_other_commands_say_where_options_belong(kaa: Kaa, arguments: tuple[str, ...], word: str) -> None:
    finished = kaa.run(*arguments)

    assert finished.code == 2
    assert f"its options come after it: kaa {word} …" in finished.err
    assert f"-- {word} …" in finished.err


@pytest.mark.parametrize(
    ("arguments", "meant"),
    [
        (("wortrees",), "worktrees"),
        (("wroktrees", "diff", "feat"), "worktrees"),
        (("doctr",), "doctor"),
        (("sesions", "list"), "sessions"),
        (("model", "--all"), "models"),
        (("attach", "9099"), "agents attach"),
        (("attach",), "agents attach"),
        (("stop", "0192af3e"), "agents stop"),
    ],
)
def test_a_misspelled_command_is_no_message(kaa: Kaa, arguments: tuple[str, ...], meant: str) -> None:
    with ModelServer([say("Yes.")]) as server:
        kaa.use(server, "openai-completions")

        finished = kaa.run(*arguments)

    assert finished.code == 2
    assert finished.err.startswith(f"kaa: there is no command {arguments[0]!r}: did you mean {meant}? ")
    assert f"kaa -- {' '.join(arguments)}" in finished.err
    assert server.requests == []


@pytest.mark.usefixtures("full_access")
@pytest.mark.parametrize(
    "words",
    [
        ("model", "the", "domain"),
        ("next",),
        ("stop", "it"),
        ("show", "9", "lines"),
        ("--", "doctr"),
        ("Doctr",),
        ("doc",),
    ],
)
def test_other_words_are_messages(kaa: Kaa, words: tuple[str, ...]) -> None:
    with ModelServer([say("Yes.")] * 3) as server:
        kaa.use(server, "openai-completions")

        kaa.run(*words)

    assert server.requests


@pytest.mark.usefixtures("full_access")
@pytest.mark.parametrize("before", [("--no-git", "--"), ("-p", "--no-git"), ("--no-git", "-p")])
@pytest.mark.parametrize("words", [("worktrees", "list"), ("plan", "run")])
def test_a_message_may_begin_with_the_word_of_a_command(
    kaa: Kaa, before: tuple[str, ...], words: tuple[str, ...]
) -> None:
    with ModelServer([say("Yes."), say("Yes.")]) as server:
        kaa.use(server, "openai-completions")

        kaa.run(*before, *words)

    assert words[0] in conversation(server.requests[0])[-1][1]


@pytest.mark.usefixtures("full_access")
def test_the_value_of_an_option_is_no_command(kaa: Kaa) -> None:
    with ModelServer([say("Yes.")]) as server:
        kaa.use(server, "openai-completions")

        kaa.run("--name", "plan", "run")

    assert conversation(server.requests[0])[-1][1] == "run"
