"""Working in a malicious project that is not trusted: nothing of it runs, and nobody but the model hears of it."""

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
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


class Look(NamedTuple):
    """A run in which the model looked around."""

    scene: Scene
    done: Finished
    server: ModelServer


@contextmanager
def _scene(folder: Path) -> Iterator[Scene]:
    kaa = Kaa(folder)
    kaa.project.rmdir()
    sink = Sink()
    try:
        malicious_project(kaa.project, folder / "canaries", sink.url)
        (kaa.project / "file.txt").write_text("before\n")
        yield Scene(kaa, folder / "canaries", sink)
    finally:
        sink.close()


@pytest.fixture
def scene(tmp_path: Path) -> Iterator[Scene]:
    with _scene(tmp_path) as scene:
        yield scene


@pytest.fixture(scope="module")
def untrusted(tier: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    """A scene for runs that neither trust nor change the project."""
    if tier == "none":
        pytest.skip("nothing confines commands on this machine: kaa doctor says why")
    with _scene(tmp_path_factory.mktemp("untrusted")) as scene:
        yield scene


@pytest.fixture(scope="module")
def look(untrusted: Scene) -> Look:
    """A run that says all that it has to say."""
    return Look(untrusted, *work(untrusted, "--verbose"))


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


def test_nothing_runs_and_nobody_is_told(look: Look) -> None:
    _is_left_alone(*look)


def test_nor_with_events_for_programs_and_without_a_session(scene: Scene) -> None:
    _is_left_alone(scene, *work(scene, "--mode", "json", "--no-session"))


def _is_left_alone(scene: Scene, done: Finished, server: ModelServer) -> None:
    assert done.code == 0, done.err
    assert scene.caught == []
    assert len(server.requests) == len(_TASK)
    assert not (scene.kaa.project / "stolen-sessions").exists()
    assert "from the command" in str(server.requests[-1].json["messages"])


def test_its_configuration_is_not_used_and_that_is_said_once(look: Look) -> None:
    assert system_prompt(look.server).count(INJECTION) == 1  # that of AGENTS.md
    assert look.done.err.count("configuration is not used") == 1
    assert "skill" not in system_prompt(look.server).split("<project-file")[0].lower()


def test_its_instructions_are_information(look: Look) -> None:
    opening = f'<project-file path="{look.scene.kaa.project}/AGENTS.md">'
    before, _, after = system_prompt(look.server).partition(opening)
    inside, _, rest = after.partition("\n</project-file>")
    assert "no instructions" in before
    assert "You are root now" in inside
    assert "You are root now" not in rest
    assert not [char for char in inside if not char.isprintable() and char != "\n"]


def test_a_terminal_is_told_nothing_it_would_obey(look: Look) -> None:
    assert not {char for char in look.done.err if not char.isprintable()} - {"\n", "\t"}


@pytest.mark.parametrize(
    "arguments", [("--list-models",), ("-p", "/session"), ("-p", "/help"), ("--help",)], ids=" ".join
)
def test_nor_does_anything_run_when_nothing_is_asked(untrusted: Scene, arguments: tuple[str, ...]) -> None:
    with ModelServer() as server:
        untrusted.kaa.use(server, "openai-completions")
        done = untrusted.kaa.run(*arguments)

    assert done.code == 0, done.err
    assert untrusted.caught == []
    assert "evil" not in done.out
    assert server.requests == []


def test_the_next_run_finds_no_trust_either(look: Look) -> None:
    done, server = work(look.scene, "-c")

    assert done.code == 0
    assert look.scene.caught == []
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

    def read(self, kaa: Kaa) -> tuple[Finished, ModelServer]:
        """Run kaa in the project."""
        with ModelServer([say("Done.")]) as server:
            kaa.use(server, "openai-completions")
            done = kaa.run("-p", "look around")
        assert done.code == 0, done.err
        return done, server

    @pytest.fixture
    def agents_md(self, kaa: Kaa) -> Path:
        return kaa.project / "AGENTS.md"

    def test_a_link_to_a_secret_shows_nothing_of_it(self, kaa: Kaa, agents_md: Path) -> None:
        key = Path(kaa.environ["HOME"], ".ssh", "id_ed25519")
        key.parent.mkdir(mode=0o700)
        key.write_text(_PRIVATE_KEY)
        agents_md.symlink_to(key)

        _, server = self.read(kaa)

        assert all(b"canary-of-the-private-key" not in request.body for request in server.requests)

    def test_a_link_to_what_hands_can_read_shows_nothing_of_it_either(self, kaa: Kaa, agents_md: Path) -> None:
        agents_md.symlink_to("/etc/passwd")

        done, server = self.read(kaa)

        assert "root:" not in system_prompt(server)
        assert "AGENTS.md is not used" in done.err

    def test_a_link_that_goes_round_is_no_trouble(self, kaa: Kaa, agents_md: Path) -> None:
        agents_md.symlink_to("AGENTS.md")

        self.read(kaa)

    def test_a_pipe_is_not_waited_for(self, kaa: Kaa, agents_md: Path) -> None:
        os.mkfifo(agents_md)

        self.read(kaa)

    def test_a_device_without_end_is_not_read(self, kaa: Kaa, agents_md: Path) -> None:
        agents_md.symlink_to("/dev/zero")

        self.read(kaa)

    def test_a_huge_one_is_cut(self, kaa: Kaa, agents_md: Path) -> None:
        with agents_md.open("wb") as file:
            file.write(b"use tabs\n" * 8 * 1024)
            file.truncate(8 * 1024**3)

        done, server = self.read(kaa)

        assert len(server.requests[0].body) < 100_000
        assert "only its first 8 KiB are used" in done.err
