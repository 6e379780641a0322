"""A planner that wants to change something: the kernel holds the mode `plan`."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.end_to_end.kaa_process import Kaa
from tests.support.elsewhere import folder_elsewhere
from tests.support.model_server import ModelServer, call, say

pytestmark = pytest.mark.usefixtures("confined")

_ATTEMPTS = (
    "echo x > new.txt",
    "echo x >> kept.txt",
    "rm -f kept.txt",
    "mv kept.txt moved.txt",
    "ln -s /tmp link",
    "chmod 777 kept.txt",
    "touch -d 2000-01-01 kept.txt",
    "python3 -c \"import os; os.truncate('kept.txt', 0)\"",
    "git init -q .",
    "git -c user.name=a -c user.email=a@b -c safe.directory='*' commit -q --allow-empty -m x",
    "mkdir -p .kaa && echo '{}' > .kaa/settings.json",
    "mount -t tmpfs none . && touch over.txt",
    "unshare -rm sh -c 'mount -o remount,rw . ; echo x > new.txt'",
    "(sleep 0.1; echo x > late.txt) & echo started",
    "echo x > ~/home.txt",
)


@pytest.fixture
def kaa() -> Iterator[Kaa]:
    """Elsewhere: the sandbox shows nothing of temporary directories."""
    with folder_elsewhere() as folder:
        yield Kaa(folder)


def picture(folder: Path) -> dict[str, tuple[int, float, bytes]]:
    return {
        str(path): (path.stat().st_mode, path.stat().st_mtime, path.read_bytes())
        for path in sorted(folder.rglob("*"))
        if path.is_file() and "kaa/sessions" not in str(path)
    }


def test_nothing_of_the_project_or_the_home_changes(kaa: Kaa) -> None:
    (kaa.project / "kept.txt").write_text("kept\n")
    script = [*(call("bash", command=command) for command in _ATTEMPTS)]
    script += [
        call("write", path="new.txt", content="x"),
        call("edit", path="kept.txt", oldText="kept", newText="changed"),
    ]
    with ModelServer([*script, say("I give up.")]) as server:
        kaa.use(server, "openai-completions")
        before = picture(kaa.project)

        finished = kaa.run("-p", "/plan Change something")

    assert picture(kaa.project) == before
    assert not (kaa.project.parent / "home.txt").exists()
    assert len(server.requests) == len(script) + 1
    assert finished.code == 0, finished.err  # what a planner may not do does not count against the run


def test_agents_of_the_planner_can_change_nothing(kaa: Kaa) -> None:
    script = [
        call("agent", agent="general", task="Write it"),
        call("bash", command="echo x > new.txt"),
        call("write", path="new.txt", content="x"),
        say("I could not."),
        say("Nothing."),
    ]
    with ModelServer(script) as server:
        kaa.use(server, "openai-completions")

        finished = kaa.run("-p", "/plan Change something")

    assert list(kaa.project.iterdir()) == []
    assert finished.out.endswith("Nothing.\n")
