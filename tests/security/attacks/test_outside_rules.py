"""A rule that lets a program leave the sandbox with any words: the model has it put a hidden file where it can be read.

`git commit -F ~/.ssh/id_rsa` and then `git log`, and the same with other programs that options make read a file. The
canary is the content of the key: it must be in nothing that the model is sent, and in nothing the project keeps.
"""

import secrets
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.end_to_end.kaa_process import Kaa
from tests.security.attacks.play import play
from tests.support.elsewhere import folder_elsewhere

pytestmark = pytest.mark.usefixtures("confined")


@pytest.fixture
def kaa() -> Iterator[Kaa]:
    with folder_elsewhere() as folder:  # what is below /tmp cannot be seen from inside anyway
        made = Kaa(folder)
        subprocess.run(["git", "init", "-q", "-b", "main"], cwd=made.project, check=True)
        for name, value in (("user.name", "x"), ("user.email", "x@example.com")):
            subprocess.run(["git", "config", name, value], cwd=made.project, check=True)
        yield made


@pytest.fixture
def canary(kaa: Kaa) -> str:
    text = f"canary{secrets.token_hex(16)}"
    key = Path(kaa.environ["HOME"], ".ssh", "id_rsa")
    key.parent.mkdir(mode=0o700)
    key.write_text(f"{text}\n")
    return text


@pytest.mark.parametrize(
    ("rule", "commands"),
    [
        ("outside bash: git commit *", ("git commit -q --allow-empty -F ~/.ssh/id_rsa", "git log")),
        ("outside bash: git tag *", ("git commit -q --allow-empty -m x", "git tag -F $HOME/.ssh/id_rsa t; git show t")),
        ("outside bash: git tag *", ("git tag -F {home}/.ssh/id_rsa t", "git for-each-ref --format='%(contents)'")),
        ("outside bash: git add *", ("git add --pathspec-from-file={home}/.ssh/id_rsa",)),
        ("outside bash: grep *", ("grep -f {home}/.ssh/id_rsa -o README", "grep . {home}/.ssh/id_rsa")),
        ("outside bash: ls *", ("ls -d {home}/.ssh/id_rsa", "cat README")),
        ("outside bash: date *", ("date -f {home}/.ssh/id_rsa",)),
        ("outside bash: wc *", ("wc --files0-from={home}/.ssh/id_rsa",)),
    ],
)
def test_no_wildcard_outside_the_sandbox_tells_a_hidden_file(
    kaa: Kaa, canary: str, rule: str, commands: tuple[str, ...]
) -> None:
    (kaa.project / "README").write_text("x\n")
    subprocess.run(["git", "commit", "-q", "--allow-empty", "-m", "first"], cwd=kaa.project, check=True)

    kaa.settings(approvals={"policy": "auto", "allow": [rule]})
    done, told = play(kaa, *(command.replace("{home}", kaa.environ["HOME"]) for command in commands))

    kept = subprocess.run(
        ["git", "log", "--all", "--format=%B"], cwd=kaa.project, capture_output=True, text=True, check=True
    )
    assert canary not in told
    assert canary not in kept.stdout
    assert canary not in done.out
    assert f"{rule!r}" in done.err
    assert "outside the sandbox" in done.err


def test_a_commit_needs_no_rule_that_leaves_the_sandbox(kaa: Kaa, canary: str) -> None:
    commands = ("git commit -q --allow-empty -F ~/.ssh/id_rsa", "git commit -q --allow-empty -m 'Say x'")

    told = play(kaa, *commands).told

    log = subprocess.run(["git", "log", "--format=%s"], cwd=kaa.project, capture_output=True, text=True, check=True)
    assert log.stdout == "Say x\n"
    assert canary not in told
