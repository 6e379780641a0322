"""A write that the sandbox blocks goes unnoticed because the command ends with exit code 0, or names another file.

The canary is the file: it stays as it was, and the model learns that and why.
"""

import subprocess
from collections.abc import Iterator, Sequence

import pytest

from tests.end_to_end.kaa_process import Finished, Kaa
from tests.support.elsewhere import folder_elsewhere
from tests.support.model_server import ModelServer, call, say

pytestmark = pytest.mark.usefixtures("confined")

_GIT = ("git", "-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false")


@pytest.fixture
def kaa() -> Iterator[Kaa]:
    with folder_elsewhere() as folder:  # what is below /tmp cannot be seen from inside anyway
        kaa = Kaa(folder)
        (kaa.project / "main.py").write_text("print(1)\n")
        (kaa.project / ".envrc").write_text("canary\n")
        _git(kaa, "init", "-q")
        _git(kaa, "add", "main.py")
        _git(kaa, "commit", "-qm", "first")
        yield kaa


def _git(kaa: Kaa, *arguments: str) -> str:
    environment = kaa.environ | {"GIT_CONFIG_NOSYSTEM": "1"}
    done = subprocess.run([*_GIT, *arguments], cwd=kaa.project, env=environment, check=True, stdout=subprocess.PIPE)
    return done.stdout.decode()


def _told(kaa: Kaa, command: str, *flags: str) -> tuple[list[str], Finished]:
    """The sandbox's lines in the result that the model gets, and how kaa ended."""
    (lines,), finished = _told_of_each(kaa, [command], *flags)
    return lines, finished


def _told_of_each(kaa: Kaa, commands: Sequence[str], *flags: str) -> tuple[list[list[str]], Finished]:
    """The sandbox's lines in the results of commands in one conversation, and how kaa ended."""
    with ModelServer([*(call("bash", command=command) for command in commands), say("Done.")]) as server:
        kaa.use(server, "openai-completions")
        finished = kaa.run(*flags, "-p", "work")
        results = [message for message in server.requests[-1].json["messages"] if message["role"] == "tool"]
    texts = (str(result["content"]) for result in results)
    return [[line for line in text.splitlines() if line.startswith("[sandbox] ")] for text in texts], finished


def test_a_blocked_write_is_told_although_the_command_ended_well(kaa: Kaa) -> None:
    commands = (
        "echo 1 > .envrc || true",
        "echo 1 > .envrc; echo done",
        "echo 1 2>&1 | tee .envrc | tail -1",
        "rm .envrc; true",
    )
    told, finished = _told_of_each(kaa, commands)

    line = (
        f"[sandbox] Writing {kaa.project}/.envrc is blocked: other programs execute or obey it."
        " (The tools write and edit ask the user about it.)"
    )
    assert told == [[line]] * len(commands)
    assert finished.code == 0  # information: the commands themselves ended well
    assert (kaa.project / ".envrc").read_text() == "canary\n"


def test_a_commit_that_did_not_happen_is_told(kaa: Kaa) -> None:
    lines, finished = _told(kaa, "echo 2 > main.py; git commit -qam second; echo committed", "--no-git")

    assert lines == [
        "[sandbox] Writing to .git is blocked: the user has switched git writes off (--no-git, or sandbox.git in the"
        " settings)."
    ]
    assert finished.code == 0
    assert _git(kaa, "log", "--format=%s") == "first\n"


def test_the_file_that_could_not_be_replaced_is_named(kaa: Kaa) -> None:
    commands = ("sed -i s/canary/x/ .envrc", "echo >new; mv new .envrc", "echo 1 > .envrc")
    told, finished = _told_of_each(kaa, commands)

    for (line,), command in zip(told, commands, strict=True):
        assert line.startswith(f"[sandbox] Writing {kaa.project}/.envrc is blocked"), command
    assert finished.code != 0
    assert (kaa.project / ".envrc").read_text() == "canary\n"


def test_git_s_configuration_stays_as_it_was_and_the_model_learns_why(kaa: Kaa) -> None:
    _git(kaa, "update-ref", "refs/remotes/origin/topic", "HEAD")
    _git(kaa, "config", "remote.origin.url", "https://example.org/x.git")
    _git(kaa, "config", "remote.origin.fetch", "+refs/heads/*:refs/remotes/origin/*")
    before = (kaa.project / ".git" / "config").read_bytes()

    (line,), finished = _told(kaa, "git checkout topic")

    assert line == (
        f"[sandbox] Writing {kaa.project}/.git/config is blocked: git executes what its configuration and hooks say."
        " (The tools write and edit ask the user about it.)"
    )
    assert finished.code == 0
    assert (kaa.project / ".git" / "config").read_bytes() == before
    assert _git(kaa, "branch", "--show-current") == "topic\n"


def test_a_submodule_that_cannot_be_set_up_says_why(kaa: Kaa) -> None:
    (kaa.project / ".gitmodules").write_text('[submodule "lib"]\n\tpath = lib\n\turl = ./lib.git\n')
    _git(kaa, "update-index", "--add", "--cacheinfo", f"160000,{_git(kaa, 'rev-parse', 'HEAD').strip()},lib")
    _git(kaa, "config", "remote.origin.url", "https://example.org/x.git")

    (line,), _ = _told(kaa, "git submodule update --init")

    assert line.startswith(f"[sandbox] Writing {kaa.project}/.git/config is blocked: git executes")


def test_what_a_command_shows_from_a_log_is_not_told(kaa: Kaa) -> None:
    (kaa.project / "build.log").write_text(
        "touch: cannot touch 'src/x': Read-only file system\nbash: line 1: .mise.toml: Read-only file system\n"
        "rm: cannot remove 'x': Device or resource busy\nmkdir: cannot create directory 'src': File exists\n"
    )
    (kaa.project / "test_x.py").write_text('say("bash: line 1: .envrc: Read-only file system")\n')

    lines, finished = _told(kaa, "cat build.log test_x.py; grep -rn Read-only .; grep -h Read-only build.log")

    assert (lines, finished.code) == ([], 0)
