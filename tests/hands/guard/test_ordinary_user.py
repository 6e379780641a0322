"""The guard of an ordinary user with few open files: root reads every directory, and may open thousands of them."""

import os
import socket
import stat
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from kaa.hands.connection import WireConnection
from tests.hands.guard import guard_apart
from tests.hands.guard.guard_apart import OPEN_FILES
from tests.support.ordinary import ORDINARY_UID, open_directory, own
from tests.support.patience import HANG_SECONDS
from tests.support.warm_start import HandsProgram

_CLOSED_MODES = (0o000, 0o300, 0o311, 0o444)


class Brain:
    """Asks a guard in another process, and writes as its user.

    Args:
        root: the directory to guard.
        how: whether it uses inotify.
    """

    def __init__(self, root: Path, how: str) -> None:
        ours, theirs = socket.socketpair()
        self._connection, self._root = WireConnection(ours), root
        arguments = str(theirs.fileno()), str(root), str(ORDINARY_UID), how
        self._process = HandsProgram(Path(guard_apart.__file__), *arguments, pass_fds=[theirs.fileno()])
        theirs.close()
        assert self.check() == {}  # whatever is there at the start is in order

    def check(self) -> dict[str, str]:
        """What was moved: old paths and new ones, relative to the project."""
        self._connection.send({"op": "check"})
        frame = self._connection.receive()
        assert frame is not None
        findings = frame.header["findings"]
        assert isinstance(findings, list)
        relative = [{key: os.path.relpath(each[key], self._root) for key in ("path", "kept_as")} for each in findings]
        return {each["path"]: each["kept_as"] for each in relative}

    def close(self) -> None:
        """End the guard."""
        self._connection.close()
        assert self._process.wait(HANG_SECONDS) == 0


@pytest.fixture
def project() -> Iterator[Path]:
    """An empty project of an ordinary user."""
    with open_directory() as place:
        path = place / "project"
        path.mkdir()
        own(path)
        yield path


@pytest.fixture(params=["told by inotify", "on its own"])
def start(request: pytest.FixtureRequest, project: Path) -> Iterator[Callable[[], Brain]]:
    """Starts a guard once the test has prepared the project."""
    brains = []

    def start() -> Brain:
        brains.append(Brain(project, request.param))
        return brains[-1]

    yield start
    for brain in brains:
        brain.close()


def _write(path: Path, content: str = "x") -> None:
    """Write a file with the directories above it, as the guard's user would, before the guard can see it."""
    missing = [one for one in reversed(path.parents) if not one.exists()]
    path.parent.mkdir(parents=True, exist_ok=True)
    own(*missing)
    with tempfile.NamedTemporaryFile("w", dir=tempfile.gettempdir(), delete=False) as file:
        file.write(content)
    own(Path(file.name))
    os.rename(file.name, path)


def _mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def _move_in(project: Path, name: str, mode: int, *files: str) -> None:
    """Make a directory with files and this mode beside the project, and move it in."""
    stage = project.parent / name
    for file in files:
        _write(stage / file)
    stage.chmod(mode)
    stage.rename(project / name)


@pytest.mark.parametrize("mode", _CLOSED_MODES, ids=oct)
def test_what_comes_in_a_closed_directory_is_moved_away(project: Path, start: Callable[[], Brain], mode: int) -> None:
    brain = start()

    _move_in(project, "lib", mode, "tool/.envrc", ".envrc", "tool/deep/.vscode/tasks.json")

    found = brain.check()
    moved = ["lib/.envrc", "lib/tool/.envrc", "lib/tool/deep/.vscode/tasks.json"]
    assert sorted(found) in (moved, [*moved[:2], "lib/tool/deep/.vscode"])
    assert _mode(project / "lib") == mode
    (project / "lib").chmod(0o755)
    assert not (project / "lib" / "tool" / ".envrc").exists()
    assert brain.check() == {}


@pytest.mark.parametrize("mode", _CLOSED_MODES, ids=oct)
def test_what_comes_into_a_directory_that_is_closed_later_is_moved_away(
    project: Path, start: Callable[[], Brain], mode: int
) -> None:
    _write(project / "sub" / "deep" / "file")
    brain = start()

    (project / "sub").chmod(mode)
    _write(project / "sub" / ".envrc")
    _write(project / "sub" / "deep" / ".envrc")

    assert brain.check() == {"sub/.envrc": "sub/.envrc.kaa-blocked", "sub/deep/.envrc": "sub/deep/.envrc.kaa-blocked"}
    assert _mode(project / "sub") == mode


@pytest.mark.parametrize("mode", _CLOSED_MODES, ids=oct)
def test_what_the_user_has_closed_before_raises_no_alarm_and_is_guarded(
    project: Path, start: Callable[[], Brain], mode: int
) -> None:
    _write(project / "closed" / "tool" / ".envrc", "the user's")
    (project / "closed").chmod(mode)
    brain = start()
    assert _mode(project / "closed") == mode

    (project / "closed").chmod(0o755)
    (project / "closed").chmod(mode)
    assert brain.check() == {}
    (project / "closed" / "tool" / ".envrc").write_text("a command's")

    assert brain.check() == {"closed/tool/.envrc": "closed/tool/.envrc.kaa-blocked"}
    assert (project / "closed" / "tool" / ".envrc").read_text() == "the user's"


@pytest.mark.parametrize("mode", _CLOSED_MODES, ids=oct)
def test_a_guarded_directory_that_was_closed_before_is_guarded(
    project: Path, start: Callable[[], Brain], mode: int
) -> None:
    _write(project / "sub" / ".vscode" / "settings.json", "the user's")
    (project / "sub" / ".vscode").chmod(mode)
    brain = start()

    (project / "sub" / ".vscode").chmod(0o755)
    _write(project / "sub" / ".vscode" / "tasks.json")

    assert brain.check() == {"sub/.vscode/tasks.json": "sub/.vscode/tasks.json.kaa-blocked"}


def test_a_guarded_file_that_was_closed_before_is_guarded(project: Path, start: Callable[[], Brain]) -> None:
    file = project / "sub" / ".envrc"
    _write(file, "the user's")
    file.chmod(0)
    brain = start()

    file.chmod(0o644)
    file.write_text("a command's")

    assert brain.check() == {"sub/.envrc": "sub/.envrc.kaa-blocked"}
    assert file.read_text() == "the user's"


@pytest.mark.parametrize("name", [".git", ".git/hooks", ".git/info"])
def test_a_git_directory_that_was_closed_before_is_guarded(
    project: Path, start: Callable[[], Brain], name: str
) -> None:
    git = project / "tool" / ".git"
    for inner in ("objects", "refs", "hooks", "info"):
        _write(git / inner / "kept.sample")
    _write(git / "HEAD", "ref: refs/heads/main\n")
    _write(git / "config", "")
    (project / "tool" / name).chmod(0o300)
    brain = start()

    (project / "tool" / name).chmod(0o755)
    _write(git / "hooks" / "pre-commit")
    _write(git / "info" / "tool.yml")

    assert sorted(brain.check()) == ["tool/.git/hooks/pre-commit", "tool/.git/info/tool.yml"]


def test_a_project_that_is_closed_itself_is_guarded(project: Path, start: Callable[[], Brain]) -> None:
    project.chmod(0o311)
    brain = start()

    _write(project / ".envrc")

    assert brain.check() == {".envrc": ".envrc.kaa-blocked"}


def test_a_directory_of_another_user_that_cannot_be_read_raises_no_alarm(
    project: Path, start: Callable[[], Brain]
) -> None:
    if os.geteuid() != 0:
        pytest.skip("a directory of another user takes root")
    (project / "data").mkdir(0o700)
    brain = start()

    (project / "data" / "new").touch()
    (project / "file").touch()

    assert brain.check() == {}


def test_a_repository_in_a_closed_directory_keeps_its_configuration(project: Path, start: Callable[[], Brain]) -> None:
    git = project / "libs" / "tool" / ".git"
    for name in ("objects/info", "refs/heads", "hooks"):
        _write(git / name / "kept.sample")
    _write(git / "HEAD", "ref: refs/heads/main\n")
    _write(git / "config", "")
    brain = start()

    (project / "libs").chmod(0o300)
    (git / "config").write_text("[core]\n\tfsmonitor = ./evil\n")
    _write(git / "hooks" / "pre-commit")

    assert sorted(brain.check()) == ["libs/tool/.git/config", "libs/tool/.git/hooks/pre-commit"]


@pytest.mark.parametrize("mode", [0o755, 0o300], ids=oct)
def test_a_link_is_found_in_a_git_directory_with_more_directories_than_may_be_open(
    project: Path, start: Callable[[], Brain], mode: int
) -> None:
    git = project / ".git"
    _write(git / "HEAD", "ref: refs/heads/main\n")
    _write(git / "objects" / "info" / "packs", "")
    _write(git / "refs" / "heads" / "main", "")
    heads = git / "logs" / "refs" / "heads"
    _write(heads / "main")
    brain = start()

    names = [f"d{number}" for number in range(2 * OPEN_FILES)]
    for name in names:
        (heads / name).mkdir()
        own(heads / name)
    assert brain.check() == {}
    for name in names:
        (heads / name / "x").symlink_to("/nowhere")
        (heads / name).chmod(mode)

    brain.check()
    assert not [name for name in names if (heads / name / "x").is_symlink()]


def test_a_deep_git_directory_is_moved_away_where_it_gets_too_deep(project: Path, start: Callable[[], Brain]) -> None:
    git = project / ".git"
    _write(git / "HEAD", "ref: refs/heads/main\n")
    (git / "objects").mkdir()
    (git / "refs").mkdir()
    brain = start()

    stage = project.parent / "logs"
    deep = stage.joinpath(*["d"] * OPEN_FILES)
    deep.mkdir(parents=True)
    (deep / "x").symlink_to("/nowhere")
    own(stage, *stage.rglob("*"))
    stage.rename(git / "logs")

    (found,) = brain.check()
    assert found.startswith(".git/logs/d/")
    assert not (git / "logs" / deep.relative_to(stage) / "x").is_symlink()
