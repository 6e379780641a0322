"""`/share` says what would go out, asks, and has GitHub's program make a secret gist. That program is a double here."""

import json
import re
from pathlib import Path

import pytest

from kaa.shell.conversation import CommandReply, Conversation
from tests.support.model_script import say
from tests.support.person import Person, yes_or_no
from tests.support.stage import Stage

GITHUB_TOKEN = "ghp_0123456789abcdefghijklmnopqrstuvwxyzAB"
ADDRESS = "https://gist.example/abc123"

# Keeps its arguments and what it was given to upload, before it answers as `gh` does.
_GH = """\
#!/bin/sh
for word; do printf '%s\\n' "$word"; done >> "{log}"
printf -- '--\\n' >> "{log}"
if [ "$1" = auth ]; then exit {auth}; fi
for word; do if [ -f "$word" ]; then /bin/cp "$word" "{uploads}/"; fi; done
{answer}
"""


class GitHub:
    """The double, and what it was asked."""

    def __init__(self, folder: Path) -> None:
        self.bin = folder / "bin"
        self.uploads = folder / "uploads"
        self._log = folder / "gh.log"
        self.bin.mkdir()
        self.uploads.mkdir()

    def install(self, *, auth: int = 0, answer: str = f"echo '- Creating gist' >&2; echo {ADDRESS}") -> None:
        script = _GH.format(log=self._log, uploads=self.uploads, auth=auth, answer=answer)
        (self.bin / "gh").write_text(script)
        (self.bin / "gh").chmod(0o755)

    @property
    def calls(self) -> list[list[str]]:
        if not self._log.exists():
            return []
        return [call.splitlines() for call in self._log.read_text().split("--\n") if call]

    @property
    def uploaded(self) -> dict[str, str]:
        return {path.suffix: path.read_text() for path in self.uploads.iterdir()}


@pytest.fixture
def github(stage: Stage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> GitHub:
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))
    github = GitHub(tmp_path)
    stage.environ["PATH"] = str(github.bin)
    return github


def share(stage: Stage, command: str = "/share", said: str = "hello") -> str:
    """What the command tells after one exchange with the model."""
    stage.server.begin([say("Good.")])

    async def scene(conversation: Conversation) -> str:
        await conversation.submit(said)
        outcome = await conversation.submit(command)
        assert isinstance(outcome, CommandReply)
        return outcome.text

    return stage.play(scene)


def answering(stage: Stage, answer: bool) -> Person:
    """Let the user answer."""
    stage.asker = person = yes_or_no(answer)
    return person


def left_over(tmp_path: Path) -> list[str]:
    return [path.name for path in (tmp_path / "temporary").iterdir()]


def test_a_yes_makes_a_secret_gist_and_tells_its_address(stage: Stage, github: GitHub, tmp_path: Path) -> None:
    github.install()
    asked = answering(stage, True)

    told = share(stage)

    assert told.splitlines()[0] == ADDRESS
    assert len(asked.questions) == 1
    status, create = github.calls
    assert status == ["auth", "status"]
    assert create[:4] == ["gist", "create", "--desc", "hello"]
    assert not {"--public", "-p", "--web"}.intersection(create)
    assert [Path(name).suffix for name in create[4:]] == [".md", ".html"]
    assert "Good." in github.uploaded[".md"]
    assert "Good." in github.uploaded[".html"]
    assert left_over(tmp_path) == []


def test_what_goes_out_is_said_before(stage: Stage, github: GitHub) -> None:
    github.install()
    asked = answering(stage, True)

    share(stage, said=f"my token is {GITHUB_TOKEN}")

    lines = ["", *asked.questions[0].details.splitlines()]
    files = [re.fullmatch(r"my-token-is-redacted-\w{8}(\.\w+) \(\d+ kB\)", line) for line in lines[1:3]]
    assert [file and file[1] for file in files] == [".md", ".html"]
    assert "2 messages, 0 tool results, 0 blocks of thinking, 0 images; this branch only" in lines
    assert "secrets removed: GitHub token" in lines


def test_secrets_never_go_out(stage: Stage, github: GitHub) -> None:
    github.install()
    answering(stage, True)
    stage.environ["SERVICE_PASSWORD"] = "correct horse battery"

    share(stage, said=f"{GITHUB_TOKEN}: correct horse battery")

    everything = json.dumps([github.uploaded, github.calls])
    assert "[redacted]" in github.uploaded[".md"]
    assert GITHUB_TOKEN not in everything
    assert "horse" not in everything


def test_a_no_lets_nothing_out(stage: Stage, github: GitHub, tmp_path: Path) -> None:
    github.install()
    answering(stage, False)

    assert share(stage) == "nothing was shared"
    assert github.calls == [["auth", "status"]]
    assert left_over(tmp_path) == []


def test_where_nobody_can_be_asked_only_yes_lets_it_out(stage: Stage, github: GitHub, tmp_path: Path) -> None:
    github.install()

    assert "add --yes" in share(stage)
    assert github.calls == [["auth", "status"]]
    assert left_over(tmp_path) == []

    assert share(stage, "/share --yes").startswith(ADDRESS)


def test_parts_can_be_left_out(stage: Stage, github: GitHub) -> None:
    github.install()

    told = share(stage, "/share --yes --all-branches --no-tools --no-thinking")

    assert "all branches" in told


def test_without_the_program_it_is_said_where_to_get_it(stage: Stage, github: GitHub, tmp_path: Path) -> None:
    assert "which is not installed: see https://cli.github.com" in share(stage)
    assert left_over(tmp_path) == []


def test_a_program_of_the_projects_is_not_taken_for_it(
    stage: Stage, github: GitHub, monkeypatch: pytest.MonkeyPatch
) -> None:
    github.install()
    monkeypatch.chdir(github.bin)
    stage.environ["PATH"] = ".:bin::"

    assert "kaa does not execute" in share(stage, "/share --yes")
    assert github.calls == []


def test_who_is_not_logged_in_is_told_how(stage: Stage, github: GitHub, tmp_path: Path) -> None:
    github.install(auth=1)

    assert "run `gh auth login`" in share(stage)
    assert left_over(tmp_path) == []


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ("echo 'HTTP 422: rate limit' >&2; exit 1", "could not make the gist: HTTP 422: rate limit"),
        ("exit 4", "could not make the gist: exit 4"),
        ("echo done", "could not make the gist: done"),
    ],
)
def test_what_github_complains_of_is_passed_on(
    stage: Stage, github: GitHub, tmp_path: Path, answer: str, message: str
) -> None:
    github.install(answer=answer)

    assert message in share(stage, "/share --yes")
    assert left_over(tmp_path) == []


def test_it_takes_no_file(stage: Stage, github: GitHub) -> None:
    assert "takes no file" in share(stage, "/share notes.md")
