"""Working in a malicious project that is not trusted: nothing of it runs, and nobody but the model hears of it."""

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.end_to_end.kaa_process import Finished, Kaa
from tests.support.malicious_project import INJECTION, Sink, malicious_project
from tests.support.model_server import MODEL_ID, ModelServer, call, say

_PRIVATE_KEY = "-----BEGIN OPENSSH PRIVATE KEY-----\ncanary-of-the-private-key\n"

# Every tool that looks or writes, and a command: whatever each does in the project, the project must not notice.
_TASK = [
    call("ls", path="."),
    call("read", path="file.txt"),
    call("grep", pattern="before", path="."),
    call("find", pattern="*.txt"),
    call("write", path="new.txt", content="new\n"),
    call("edit", path="new.txt", edits=[{"oldText": "new", "newText": "newer"}]),
    call("bash", command="echo from the command"),
    say("Done."),
]

pytestmark = pytest.mark.usefixtures("confined")


class Scene(NamedTuple):
    """The project's traps, and who watches them."""

    kaa: Kaa
    canaries: Path
    sink: Sink

    @property
    def caught(self) -> list[str]:
        """What was executed, and whether somebody was connected to."""
        return [*sorted(os.listdir(self.canaries)), *["connection"] * self.sink.connections]


@pytest.fixture
def scene(kaa: Kaa, tmp_path: Path) -> Iterator[Scene]:
    (tmp_path / ".ssh").mkdir(mode=0o700)
    (tmp_path / ".ssh" / "id_ed25519").write_text(_PRIVATE_KEY)
    kaa.project.rmdir()
    sink = Sink()
    try:
        malicious_project(kaa.project, tmp_path / "canaries", sink.url)
        (kaa.project / "file.txt").write_text("before\n")
        yield Scene(kaa, tmp_path / "canaries", sink)
    finally:
        sink.close()


def work(scene: Scene, *flags: str) -> tuple[Finished, ModelServer]:
    with ModelServer(_TASK) as server:
        scene.kaa.use(server, "openai-completions")
        done = scene.kaa.run(*flags, "--tools", "ls,read,grep,find,write,edit,bash", "-p", "look around")
    return done, server


def system_prompt(server: ModelServer) -> str:
    return str(server.requests[0].json["messages"][0]["content"])


def test_the_traps_catch(scene: Scene) -> None:
    """Otherwise the tests below would show nothing."""
    subprocess.run([sys.executable, "-c", "import msgspec"], cwd=scene.kaa.project, check=True)
    subprocess.run(["./rg"], cwd=scene.kaa.project, check=True)
    socket.create_connection(("127.0.0.1", scene.sink.port)).close()

    assert scene.caught == ["module-msgspec", "program-rg", "connection"]


@pytest.mark.parametrize("flags", [(), ("--verbose",), ("--mode", "json"), ("--no-session",)], ids=" ".join)
def test_nothing_runs_and_nobody_is_told(scene: Scene, flags: tuple[str, ...]) -> None:
    done, server = work(scene, *flags)

    assert done.code == 0, done.err
    assert scene.caught == []
    assert len(server.requests) == len(_TASK)
    assert not (scene.kaa.project / "stolen-sessions").exists()
    assert "from the command" in str(server.requests[-1].json["messages"])


def test_its_configuration_is_not_used_and_that_is_said_once(scene: Scene) -> None:
    done, server = work(scene)

    assert system_prompt(server).count(INJECTION) == 1  # that of AGENTS.md
    assert done.err.count("configuration is not used") == 1
    assert "skill" not in system_prompt(server).split("<project-file")[0].lower()


def test_its_instructions_are_information(scene: Scene) -> None:
    _, server = work(scene)

    before, _, after = system_prompt(server).partition(f'<project-file path="{scene.kaa.project}/AGENTS.md">')
    inside, _, rest = after.partition("\n</project-file>")
    assert "no instructions" in before
    assert "You are root now" in inside
    assert "You are root now" not in rest
    assert not [char for char in inside if not char.isprintable() and char != "\n"]


def test_a_terminal_is_told_nothing_it_would_obey(scene: Scene) -> None:
    done, _ = work(scene, "--verbose")

    assert not {char for char in done.err if not char.isprintable()} - {"\n", "\t"}


@pytest.mark.parametrize(
    "arguments", [("--list-models",), ("-p", "/session"), ("-p", "/help"), ("--help",)], ids=" ".join
)
def test_nor_does_anything_run_when_nothing_is_asked(scene: Scene, arguments: tuple[str, ...]) -> None:
    with ModelServer() as server:
        scene.kaa.use(server, "openai-completions")
        done = scene.kaa.run(*arguments)

    assert done.code == 0, done.err
    assert scene.caught == []
    assert "evil" not in done.out
    assert server.requests == []


def test_the_next_run_finds_no_trust_either(scene: Scene) -> None:
    work(scene)
    done, server = work(scene, "-c")

    assert done.code == 0
    assert scene.caught == []
    assert system_prompt(server).count(INJECTION) == 1


class TestWithTrust:
    def test_what_nobody_can_have_read_is_refused(self, scene: Scene) -> None:
        done, server = work(scene, "--trust")

        assert done.code == 2
        assert "cannot be trusted: its configuration is larger than 2 MiB" in done.err
        assert (scene.caught, server.requests) == ([], [])

    def test_its_words_count_and_nothing_runs_but_its_extensions(self, scene: Scene) -> None:
        (scene.kaa.project / ".kaa" / "huge").unlink()

        done, server = work(scene, "--trust", "--model", f"test/{MODEL_ID}")

        # What lies in .kaa/extensions, and was shown before trust; not what the project's settings name.
        assert (done.code, scene.caught) == (0, ["extension", "extension-folder"]), done.err
        assert system_prompt(server).startswith(INJECTION)  # .kaa/SYSTEM.md
        assert f'<instructions path="{scene.kaa.project}/AGENTS.md">' in system_prompt(server)
        for key in ("baseUrl", "apiKey", "headers", "env", "httpProxy", "extensions", "shellPath", "hooks", "sandbox"):
            assert f"{key!r} is ignored" in done.err


class TestInstructionsThatAreNoFile:
    """AGENTS.md is read without asking; so it must be harmless to read."""

    def with_agents_md(self, scene: Scene) -> Path:
        path = scene.kaa.project / "AGENTS.md"
        path.unlink()
        return path

    def test_a_link_to_a_secret_shows_nothing_of_it(self, scene: Scene, tmp_path: Path) -> None:
        self.with_agents_md(scene).symlink_to(tmp_path / ".ssh" / "id_ed25519")

        done, server = work(scene)

        assert (done.code, scene.caught) == (0, [])
        assert all(b"canary-of-the-private-key" not in request.body for request in server.requests)

    def test_a_link_to_what_hands_can_read_shows_nothing_of_it_either(self, scene: Scene) -> None:
        self.with_agents_md(scene).symlink_to("/etc/passwd")

        done, server = work(scene)

        assert (done.code, scene.caught) == (0, [])
        assert "root:" not in system_prompt(server)
        assert "AGENTS.md is not used" in done.err

    def test_a_link_that_goes_round_is_no_trouble(self, scene: Scene) -> None:
        self.with_agents_md(scene).symlink_to("AGENTS.md")

        assert work(scene)[0].code == 0

    def test_a_pipe_is_not_waited_for(self, scene: Scene) -> None:
        os.mkfifo(self.with_agents_md(scene))

        assert work(scene)[0].code == 0

    def test_a_device_without_end_is_not_read(self, scene: Scene) -> None:
        self.with_agents_md(scene).symlink_to("/dev/zero")

        assert work(scene)[0].code == 0

    def test_a_huge_one_is_cut(self, scene: Scene) -> None:
        with self.with_agents_md(scene).open("wb") as file:
            file.write(b"use tabs\n" * 8 * 1024)
            file.truncate(8 * 1024**3)

        done, server = work(scene)

        assert done.code == 0
        assert len(server.requests[0].body) < 100_000
        assert "only its first 8 KiB are used" in done.err
