"""Commands that make a protected name, if only for a moment: an editor outside that watches the directory executes it.

The canary is what inotify reports outside. Then the life of the placeholders that hold such names: they are the user's
directories as far as the user is concerned, and are gone when kaa is.
"""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from kaa.hands.inotify import Inotify
from tests.end_to_end.kaa_process import Kaa
from tests.support.model_server import ModelServer, call, say
from tests.support.patience import HANG_SECONDS
from tests.support.warm_start import COMMAND

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="needs mounts and inotify")

_WAIT = "until test -e go; do sleep 0.01; done"


@pytest.fixture(autouse=True)
def mounted(tier: str) -> None:
    if tier != "full":
        pytest.skip(f"tier {tier} has no placeholders: the guard acts on what appears")


@pytest.fixture
def project(kaa: Kaa) -> Path:
    (kaa.project / "main.c").write_text("int main;\n")
    return kaa.project


class Running:
    """A kaa whose command has started and waits until it may go on."""

    def __init__(self, process: "subprocess.Popen[str]", project: Path) -> None:
        self.process = process
        self._project = project

    def go_on(self) -> None:
        """Let the command go on, and wait for the end of kaa."""
        (self._project / "go").touch()
        self.process.communicate(timeout=HANG_SECONDS)

    def kill(self) -> None:
        """End the brain and its hands in a way that none of them notices."""
        children = subprocess.run(
            ["ps", "-o", "pid=", "--ppid", str(self.process.pid)], capture_output=True, text=True, check=False
        )
        for pid in (*map(int, children.stdout.split()), self.process.pid):
            os.kill(pid, signal.SIGKILL)
        self.process.wait()


@contextmanager
def _running(kaa: Kaa, then: str = "true", *flags: str, started: str = "started") -> Iterator[Running]:
    command = f"touch {started}; {_WAIT}; {then}"
    with ModelServer([call("bash", command=command), say("Done.")]) as server:
        kaa.use(server, "openai-completions")
        with kaa.running(*flags, "--approvals", "auto", "-p", "work") as process:
            _wait_for(kaa.project / started)
            yield Running(process, kaa.project)


def _wait_for(path: Path) -> None:
    deadline = time.monotonic() + HANG_SECONDS
    while not path.exists():
        assert time.monotonic() < deadline, f"{path} does not appear"
        time.sleep(0.01)


def _run(kaa: Kaa, command: str, *flags: str) -> str:
    """Run a command to the end; what the model was told."""
    with ModelServer([call("bash", command=command), say("Done.")]) as server:
        kaa.use(server, "openai-completions")
        kaa.run(*flags, "--approvals", "auto", "-p", "work")
        return str(server.requests[-1].json["messages"])


def _git(kaa: Kaa, *arguments: str) -> str:
    return subprocess.run(
        ["git", *arguments], cwd=kaa.project, env=kaa.environ, check=True, capture_output=True, text=True
    ).stdout


def _hidden(project: Path) -> set[str]:
    return {name for name in os.listdir(project) if name.startswith(".")}


_ATTACKS = (
    "mkdir .vscode; echo evil > .vscode/tasks.json",
    "mkdir x; echo evil > x/tasks.json; mv -T x .vscode",
    "mkdir x; echo evil > x/tasks.json; rmdir .vscode; mv x .vscode",
    "mv -T .vscode y; mkdir .vscode; echo evil > .vscode/tasks.json",
    'mkdir x; python3 -c \'import ctypes; ctypes.CDLL(None).renameat2(-100, b"x", -100, b".vscode", 2)\'',
    "ln -sfnT x .vscode",
)


def test_a_protected_name_never_appears_with_content(kaa: Kaa, project: Path) -> None:
    """The attacks run one after the other; the file `attack-N` appears before each."""
    attempts = (
        f"touch attack-{number}; for i in 1 2 3; do {attack}; done; mkdir /tmp/{number}; mv x y /tmp/{number}; "
        for number, attack in enumerate(_ATTACKS)
    )
    inotify = Inotify()
    with _running(kaa, f"({''.join(attempts)}) 2>/dev/null; true") as running:
        places = {}
        for path in (project, project / ".vscode"):
            if path.exists():
                descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
                places[inotify.watch_names(descriptor)] = path
                os.close(descriptor)

        running.go_on()

    happened = [places[each.watch] / each.name for each in inotify.take() if each.name]
    inotify.close()
    assert {project / f"attack-{number}" for number in range(len(_ATTACKS))} <= set(happened)  # it was watched
    assert [path for path in happened if ".vscode" in path.parts[len(project.parts) :]] == [], happened
    assert not (project / ".vscode").exists()


def test_git_sees_no_placeholders_and_none_is_left(kaa: Kaa, project: Path) -> None:
    _git(kaa, "init", "-q")
    with _running(kaa) as running:
        status = _git(kaa, "status", "--porcelain")
        during = _hidden(project)
        running.go_on()

    assert status.splitlines() == ["?? main.c", "?? started"]
    assert {".vscode", ".claude", ".git"} <= during
    assert _hidden(project) == {".git"}
    assert not list(project.parent.glob(".cache/kaa/placeholders/*"))


def test_only_directories_that_mean_nothing_when_empty_are_made(kaa: Kaa, project: Path) -> None:
    with _running(kaa) as running:
        during = _hidden(project)
        running.go_on()

    assert not during & {".git", ".envrc", ".mcp.json", ".gitmodules", ".husky", ".devcontainer", ".idea", ".hg", ".jj"}


@pytest.mark.parametrize("names", [(), (".gitignore", "README.md", "LICENSE")])
def test_a_new_project_gets_none(kaa: Kaa, names: tuple[str, ...]) -> None:
    for name in names:
        (kaa.project / name).touch()

    told = _run(kaa, "ls -A | tr '\\n' ' '; mkdir .vscode")

    assert ".claude" not in told
    assert ".vscode.kaa-blocked" in told  # the guard's


def test_the_ones_of_a_killed_kaa_are_removed_by_the_next(kaa: Kaa, project: Path) -> None:
    with _running(kaa) as running:
        running.kill()
    left = _hidden(project)

    _run(kaa, "true")

    assert ".vscode" in left
    assert not _hidden(project)


def test_the_ones_of_a_killed_kaa_are_removed_by_one_that_makes_none(kaa: Kaa, project: Path) -> None:
    with _running(kaa) as running:
        running.kill()

    _run(kaa, "ls -A", "--sandbox", "read-only")

    assert not _hidden(project)


def test_they_stay_until_the_last_kaa_has_ended(kaa: Kaa, project: Path) -> None:
    with _running(kaa) as first:
        told = _run(kaa, "mkdir .vscode")  # another one, from start to end
        between = _hidden(project)
        first.go_on()

    assert "File exists" in told
    assert ".vscode" in between
    assert not _hidden(project)


def test_what_the_user_puts_in_one_stays_and_cannot_be_changed(kaa: Kaa, project: Path) -> None:
    with _running(kaa, "echo evil > .vscode/tasks.json; cat .vscode/tasks.json > read") as running:
        (project / ".vscode" / "tasks.json").write_text("mine")
        running.go_on()

    assert (project / ".vscode" / "tasks.json").read_text() == "mine"
    assert (project / "read").read_text() == "mine"
    assert _hidden(project) == {".vscode"}


def test_what_was_in_the_project_stays_also_if_it_is_empty(kaa: Kaa, project: Path) -> None:
    (project / ".vscode").mkdir()

    _run(kaa, "true")

    assert _hidden(project) == {".vscode"}


def test_the_user_may_remove_and_make_them_again(kaa: Kaa, project: Path) -> None:
    _git(kaa, "init", "-q")
    with _running(kaa, "echo fine > result") as running:
        (project / ".vscode").rmdir()
        subprocess.run(["rm", "-rf", ".claude"], cwd=project, check=True)
        _git(kaa, "clean", "-fdq", "-e", "started", "-e", "main.c")
        (project / ".cursor").mkdir(exist_ok=True)
        (project / ".zed").mkdir(exist_ok=True)
        (project / ".zed" / "settings.json").touch()
        running.go_on()

    assert (project / "result").read_text() == "fine\n"
    assert {".git", ".zed", ".cursor"} == _hidden(project)


def test_an_empty_directory_of_the_user_stays_whatever_its_inode(kaa: Kaa, project: Path) -> None:
    with _running(kaa) as running:
        (project / ".vscode").rmdir()
        (project / ".vscode").mkdir()  # file systems give the number of the inode again
        running.go_on()

    assert _hidden(project) == {".vscode"}


def test_a_project_that_cannot_be_written_works_without(kaa: Kaa, project: Path) -> None:
    read_only = 'mount --bind -o ro . . && cd "$PWD" && exec "$0" sandbox -- ls -A'
    done = subprocess.run(
        ["unshare", "-m", "sh", "-c", read_only, COMMAND],
        cwd=project,
        env=kaa.environ,
        capture_output=True,
        text=True,
        check=False,
        timeout=HANG_SECONDS,
    )
    if "unshare:" in done.stderr or "mount:" in done.stderr:
        pytest.skip("only root mounts")

    assert done.stdout.split() == ["main.c"], done.stderr


def test_the_model_s_tools_do_not_list_them(kaa: Kaa, project: Path) -> None:
    (project / ".cursor").mkdir()
    (project / ".cursor" / "rules").touch()
    with ModelServer([call("ls", path="."), say("Done.")]) as server:
        kaa.use(server, "openai-completions")
        kaa.run("--tools", "ls", "--approvals", "auto", "-p", "work")
        told = str(server.requests[-1].json["messages"][-1])

    assert "main.c" in told
    assert ".cursor" in told
    assert ".vscode" not in told
