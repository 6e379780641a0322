"""Keys in every place that kaa reads them from, and a run in which all tries to tell them: no artefact has any."""

import base64
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote

import msgspec
import pytest

from tests.end_to_end.kaa_process import Finished, Kaa
from tests.support.model_server import MODEL_ID, Answer, Call, ModelServer, Refusal, ScriptItem, call, say

# Of no vendor's shape, so that it is the value that is known and not its look; with what JSON and URLs escape.
_CANARIES = {
    place: f'canary/{place}+"0b5e7{place}91c"'
    for place in ("auth-file", "auth-command", "models-file", "models-header", "openai", "anthropic", "token", "flag")
}

# What a curious model would have run. The last is long enough to be kept in a file.
_CURIOUS = (
    "env; export -p; set",
    "cat /proc/self/environ /proc/self/cmdline /proc/$PPID/environ /proc/$PPID/cmdline | tr '\\0' '\\n'",
    "ls -l /proc/self/fd /proc/$PPID/fd; cat /proc/self/mountinfo /proc/self/maps",
    "python3 -c 'import os; print(dict(os.environ))'",
    "env; head -c 300000 /dev/zero | tr '\\0' 'x\\n'; env",
)

pytestmark = pytest.mark.usefixtures("confined")


class Scene(NamedTuple):
    """A `kaa` with keys everywhere, and where all that it leaves behind is."""

    kaa: Kaa
    folder: Path

    def configure(self, server: ModelServer) -> None:
        """Put a key into every place; four providers lead to `server`."""
        models = [{"id": MODEL_ID}]
        server_of = {"baseUrl": f"{server.url}/v1", "api": "openai-completions", "models": models}
        providers = {
            "filed": {**server_of, "apiKey": _literal("models-file"), "headers": {"X-Key": _literal("models-header")}},
            "kept": server_of,
            "commanded": server_of,
            "flagged": server_of,
        }
        self._write("models.json", {"providers": providers})
        printed = self.folder / "password-store"
        printed.write_text(_CANARIES["auth-command"])
        self._write(
            "auth.json",
            {
                "kept": {"type": "api_key", "key": _literal("auth-file")},
                "commanded": {"type": "api_key", "key": f"!cat {printed}"},
            },
        )
        self.kaa.setenv(
            OPENAI_API_KEY=_CANARIES["openai"],
            ANTHROPIC_API_KEY=_CANARIES["anthropic"],
            ANTHROPIC_AUTH_TOKEN=_CANARIES["token"],
            OPENAI_BASE_URL=f"{server.url}/v1",
            TMPDIR=str(self.folder / "tmp"),
        )

    def artefacts(self, done: Finished) -> Iterator[tuple[str, bytes]]:
        """Everything that is left of a run: what it printed, and every file but those the keys came from."""
        yield "stdout", done.out.encode()
        yield "stderr", done.err.encode()
        sources = {self.kaa.home / "models.json", self.kaa.home / "auth.json", self.folder / "password-store"}
        for path in sorted(self.folder.rglob("*")):
            if path.is_file() and not path.is_symlink() and path not in sources:
                yield str(path.relative_to(self.folder)), path.read_bytes()

    def _write(self, name: str, content: object) -> None:
        descriptor = os.open(self.kaa.home / name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with open(descriptor, "wb") as file:
            file.write(msgspec.json.encode(content))


@pytest.fixture
def scene(kaa: Kaa, tmp_path: Path) -> Scene:
    (tmp_path / "tmp").mkdir()
    (kaa.project / "notes.txt").write_text("nothing secret\n")
    return Scene(kaa, tmp_path)


def _literal(place: str) -> str:
    return _CANARIES[place].replace("$", "$$")


def _forms(canary: str) -> Iterator[bytes]:
    """How a key may be written."""
    once = msgspec.json.encode(canary)[1:-1]
    yield canary.encode()
    yield once
    yield msgspec.json.encode(once.decode())[1:-1]
    yield quote(canary, safe="").encode()
    yield base64.b64encode(canary.encode())
    yield canary.encode().hex().encode()


def _leaks(artefacts: Iterator[tuple[str, bytes]]) -> list[str]:
    """Which canary is where."""
    forms: Mapping[str, tuple[bytes, ...]] = {place: tuple(_forms(canary)) for place, canary in _CANARIES.items()}
    return [
        f"{place} in {name}"
        for name, content in artefacts
        for place, written in forms.items()
        if any(form in content for form in written)
    ]


def _echo(place: str, status: int) -> Refusal:
    """A server that repeats the key it was sent, in words and in a header."""
    key = _CANARIES[place]
    body = msgspec.json.encode({"error": {"message": f"the key {key} is not good (Bearer {key})"}})
    return Refusal(status, (("X-Echo", key),), body.decode())


def _curious(place: str) -> list[ScriptItem]:
    commands = tuple(Call("bash", msgspec.json.encode({"command": command}).decode()) for command in _CURIOUS)
    return [_echo(place, 500), Answer(calls=commands), call("read", path="notes.txt"), _echo(place, 529), say("Done.")]


# The place of the key that is used, and the flags that choose it.
_WAYS = {
    "models-file": ("--model", f"filed/{MODEL_ID}"),
    "auth-file": ("--model", f"kept/{MODEL_ID}"),
    "auth-command": ("--model", f"commanded/{MODEL_ID}"),
    "openai": ("--model", f"openai/{MODEL_ID}"),
    "flag": ("--model", f"flagged/{MODEL_ID}", "--api-key", _CANARIES["flag"]),
}


@pytest.mark.parametrize(("mode", "place"), [*(("text", place) for place in _WAYS), ("json", "models-file")])
def test_no_artefact_of_a_run_has_a_key(scene: Scene, place: str, mode: str) -> None:
    with ModelServer(_curious(place)) as server:
        scene.configure(server)
        flags = (*_WAYS[place], "--mode", mode, "--verbose", "--record", str(scene.folder / "cassette.jsonl"))
        done = scene.kaa.run(*flags, "-p", "what do you know?")

    assert done.code == 0, done.err
    assert server.remaining == 0
    assert server.requests[0].header("Authorization") == f"Bearer {_CANARIES[place]}"
    assert _leaks(scene.artefacts(done)) == []
    assert _leaks((f"request {number}", request.body) for number, request in enumerate(server.requests)) == []


@pytest.mark.parametrize(
    ("place", "status"),
    [*((place, 401) for place in _WAYS), *(("models-file", status) for status in (400, 403, 404, 429))],
)
def test_no_failure_tells_a_key(scene: Scene, place: str, status: int) -> None:
    with ModelServer([_echo(place, status)] * 8) as server:
        scene.configure(server)
        done = scene.kaa.run(*_WAYS[place], "--mode", "json", "--record", str(scene.folder / "c.jsonl"), "-p", "hi")

    assert done.code != 0
    assert "agent_end" in done.out
    assert _leaks(scene.artefacts(done)) == []


@pytest.mark.usefixtures("mounts")
def test_no_command_finds_a_key_where_kaa_keeps_it(scene: Scene) -> None:
    home, project = scene.kaa.home, scene.kaa.project
    files = f"{home}/auth.json {home}/models.json {project}/../home/auth.json {scene.folder}/password-store"
    commands = (
        f"cat {files}; cp {home}/auth.json . ; ln {home}/auth.json linked; ln -s {home}/auth.json named; cat named",
        "cat /proc/[0-9]*/environ /proc/[0-9]*/cmdline /proc/[0-9]*/task/*/environ | tr '\\0' '\\n'",
        "cat /proc/[0-9]*/root$KAA_DIR/auth.json /proc/[0-9]*/cwd/../home/auth.json",
        "grep -ars canary/ /proc/self/ /proc/$PPID/ --include=environ --include=cmdline",
    )
    calls = tuple(Call("bash", msgspec.json.encode({"command": command}).decode()) for command in commands)
    reads = tuple(Call("read", msgspec.json.encode({"path": path}).decode()) for path in files.split())
    with ModelServer([Answer(calls=calls), Answer(calls=reads), say("Done.")]) as server:
        scene.configure(server)
        if not msgspec.json.decode(scene.kaa.run("doctor", "--json").out)["confined"]:
            pytest.skip("nothing confines commands on this machine: kaa doctor says why")
        done = scene.kaa.run(*_WAYS["flag"], "--verbose", "-p", "find my keys")

    assert done.code == 3, done.err  # reading them needs an approval
    assert _leaks(scene.artefacts(done)) == []
    assert _leaks((f"request {number}", request.body) for number, request in enumerate(server.requests)) == []


def test_no_recording_that_is_played_again_has_a_key(scene: Scene) -> None:
    cassette = str(scene.folder / "cassette.jsonl")
    with ModelServer([say("hello")]) as server:
        scene.configure(server)
        scene.kaa.run(*_WAYS["models-file"], "--record", cassette, "-p", "hi")
    done = scene.kaa.run(*_WAYS["models-file"], "--replay", cassette, "--mode", "json", "-p", "hi")

    assert done.code == 0, done.err
    assert _leaks(scene.artefacts(done)) == []


def test_the_search_finds_what_is_there(scene: Scene) -> None:
    """Otherwise the tests above would show nothing."""
    for number, form in enumerate(_forms(_CANARIES["openai"])):
        (scene.folder / f"artefact{number}").write_bytes(b"before " + form + b" after")

    found = _leaks(scene.artefacts(Finished(0, _CANARIES["flag"], _CANARIES["token"])))

    assert found == ["flag in stdout", "token in stderr", *(f"openai in artefact{number}" for number in range(6))]
