"""What kaa keeps a model from, seen from outside: nothing happens, the model learns why, the exit code says it."""

import json
import os
import secrets
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.end_to_end.kaa_process import SECRET, Finished, Kaa, conversation
from tests.escapes.world import forced
from tests.support.elsewhere import folder_elsewhere
from tests.support.model_server import Answer, ModelServer, call, say

_DENIED = 3


@pytest.fixture
def outside() -> Path:
    """A file that does not exist, where a confined command cannot write: /tmp has a private one mounted over it."""
    return Path("/", "var", f"kaa-test-{secrets.token_hex(8)}")


@pytest.fixture
def elsewhere() -> Iterator[Path]:
    """A folder that is not below /tmp, where nothing of the host is to be seen from inside anyway."""
    with folder_elsewhere() as folder:
        yield folder


def _play(kaa: Kaa, *script: Answer, flags: tuple[str, ...] = ()) -> tuple[Finished, list[str]]:
    """Run a task; how it ended, and what the model was told by tools."""
    with ModelServer([*script, say("Done.")]) as server:
        kaa.use(server, "openai-completions")
        done = kaa.run(*flags, "-p", "work")
        return done, [text for who, text in conversation(server.requests[-1]) if who == "tool"]


def _git(kaa: Kaa, *arguments: str) -> None:
    identity = ("-c", "user.name=x", "-c", "user.email=x@example.com")
    subprocess.run(["git", *identity, *arguments], cwd=kaa.project, check=True, capture_output=True)


def test_a_write_outside_is_blocked_and_the_run_no_success(kaa: Kaa, outside: Path) -> None:
    done, told = _play(kaa, call("bash", command=f"touch {outside}"))

    assert not outside.exists()
    assert done.code == _DENIED
    assert f"[sandbox] Writing to {outside} is blocked" in told[0]


def test_the_write_tool_is_held_to_the_same_and_no_symlink_leads_outside(kaa: Kaa, outside: Path) -> None:
    (kaa.project / "inside").symlink_to(outside)

    done, told = _play(kaa, call("write", path=str(outside), content="x"), call("write", path="inside", content="x"))

    assert not outside.exists()
    assert done.code == _DENIED
    assert "outside" in told[0]
    assert str(outside) in told[1]


@pytest.mark.usefixtures("elsewhere")
def test_secrets_cannot_be_read_by_any_tool(kaa: Kaa) -> None:
    done, told = _play(
        kaa,
        call("bash", command=f"cat {kaa.home}/models.json; env"),
        call("read", path=str(kaa.home / "models.json")),
        call("bash", command=f"cat /proc/*/environ {kaa.home}/*"),
    )

    assert done.code == _DENIED
    assert SECRET not in "".join(told)
    assert "may hold secrets" in told[1]


@pytest.mark.usefixtures("mounts")
def test_there_is_no_network(kaa: Kaa) -> None:
    with ModelServer([]) as host:
        port = host.url.rpartition(":")[2]
        done, told = _play(kaa, call("bash", command=f"exec 3<>/dev/tcp/127.0.0.1/{port}"))

        assert host.requests == []
    assert "Connection refused" in told[0]
    assert f"[sandbox] Connecting to localhost:{port} is blocked" in told[0]
    assert done.code == _DENIED


@pytest.mark.usefixtures("mounts")
def test_a_web_page_is_fetched_inside_the_sandbox(kaa: Kaa) -> None:
    (kaa.project / "page.html").write_text("<h1>Served</h1>")
    served = "import socket; socket.create_connection(('127.0.0.1', 8123))"
    done, told = _play(
        kaa,
        call("bash", command="exec python3 -m http.server 8123 --bind 127.0.0.1", background=True),
        call("bash", command=f'until python3 -c "{served}" 2>/dev/null; do sleep 0.1; done'),
        call("web_fetch", url="http://127.0.0.1:8123/page.html"),
        call("web_fetch", url="http://example.com/?secret"),
        flags=("--tools", "bash,web_fetch"),
    )

    assert "# Served" in told[2]
    assert done.code == _DENIED
    assert "[sandbox] Network access to example.com:80 is blocked" in told[3]
    assert "--net example.com" in told[3]


@pytest.mark.usefixtures("mounts")
def test_a_host_that_is_not_allowed_is_named(kaa: Kaa) -> None:
    script = "import urllib.request as r; r.urlopen('http://example.com/')"
    done, told = _play(kaa, call("bash", command=f'python3 -c "{script}"'))

    assert done.code == _DENIED
    assert "[sandbox] Network access to example.com:80 is blocked" in told[0]

    done, told = _play(kaa, call("bash", command=f'python3 -c "{script}" || true'))
    assert done.code == 0
    assert "  [sandbox] Network access to example.com" in done.err
    assert "[sandbox] Network access to example.com:80 is blocked" in told[0]


@pytest.mark.usefixtures("mounts")
def test_without_git_writes_git_is_read_only_and_the_model_told_so(kaa: Kaa) -> None:
    _git(kaa, "init")
    (kaa.project / "a").write_text("x")

    done, told = _play(kaa, call("bash", command="git status --short && git add a"), flags=("--no-git",))

    assert done.code == _DENIED
    assert "?? a" in told[0]
    assert "Writing to .git is blocked: the user has switched git writes off" in told[0]


def test_nothing_is_planted_for_an_editor_and_nothing_lost_when_nobody_can_be_asked(kaa: Kaa) -> None:
    left_out = kaa.project / "src" / "node_modules" / "file"  # of checkpoints, so that /undo would not restore it
    left_out.parent.mkdir(parents=True)
    left_out.write_text("the only copy")

    done, told = _play(
        kaa,
        call("bash", command="mkdir .vscode && echo evil > .vscode/tasks.json; sleep 0.2"),
        call("bash", command="rm -rf src"),
    )

    assert done.code == _DENIED
    assert not (kaa.project / ".vscode").exists()
    assert (kaa.project / ".vscode.kaa-blocked").is_dir()
    assert ".vscode" in told[0]
    assert "blocked" in told[0]
    assert left_out.read_text() == "the only copy"
    assert "was not run" in told[1]


def test_a_push_that_nobody_can_allow_is_denied_before_it_runs(kaa: Kaa, elsewhere: Path) -> None:
    _git(kaa, "init", "-qb", "main")
    _git(kaa, "commit", "-qm", "x", "--allow-empty")
    _git(kaa, "init", "-q", "--bare", str(elsewhere / "remote.git"))
    _git(kaa, "remote", "add", "origin", str(elsewhere / "remote.git"))
    push = call("bash", command="git push origin main")

    denied, told = _play(kaa, push)
    kaa.settings(approvals={"allow": ["outside bash: git push origin main"]})
    _, allowed = _play(kaa, push)

    assert denied.code == _DENIED
    assert "bash was not run: git push uses the network and your credentials, which the sandbox hides" in told[0]
    assert "add 'outside bash: git push origin main' to approvals.allow" in told[0]
    assert "transport 'file' not allowed" in allowed[0]  # it ran outside, where git connects to hosts only


def test_the_user_s_rules_allow_and_deny(kaa: Kaa) -> None:
    (kaa.project / "build").mkdir()
    kaa.settings(approvals={"allow": ["bash: rm -rf build"], "deny": ["bash: touch"]})

    done, told = _play(
        kaa,
        call("bash", command="rm -rf build"),
        call("bash", command="env X=1 touch a"),
        call("bash", command="ls -a"),
    )

    assert not (kaa.project / "build").exists()
    assert not (kaa.project / "a").exists()
    assert done.code == _DENIED
    assert "touch" in told[1]


def test_read_only_mode(kaa: Kaa) -> None:
    done, told = _play(
        kaa, call("write", path="a", content="x"), call("bash", command="echo x > b"), flags=("--sandbox", "read-only")
    )

    assert list(kaa.project.iterdir()) == []
    assert done.code == _DENIED
    assert len(told) == 2


def test_full_access_is_the_user_s_word_only(kaa: Kaa, outside: Path) -> None:
    (kaa.project / ".kaa").mkdir()
    (kaa.project / ".kaa" / "settings.json").write_text('{"sandbox": {"mode": "full-access", "network": "on"}}')

    done, _ = _play(kaa, call("bash", command=f"touch {outside}"), flags=("--trust",))
    assert not outside.exists()
    assert done.code == _DENIED
    assert "a project may not set it" in done.err

    done, _ = _play(kaa, call("bash", command=f"touch {outside} && rm {outside}"), flags=("--sandbox", "full-access"))
    assert done.code == 0


def test_further_directories_can_be_opened(kaa: Kaa, elsewhere: Path) -> None:
    done, _ = _play(kaa, call("bash", command=f"touch {elsewhere}/x"), flags=("--add-dir", str(elsewhere)))

    assert (elsewhere / "x").exists()
    assert done.code == 0


def test_any_command_can_be_tried_in_the_sandbox(kaa: Kaa, outside: Path) -> None:
    assert kaa.run("sandbox", "--", "sh", "-c", "cat; exit 7", stdin="passed on").out == "passed on"
    assert kaa.run("sandbox", "--", "sh", "-c", "exit 7").code == 7
    assert kaa.run("sandbox", "--", "sh", "-c", "kill -9 $$").code == 128 + 9
    assert kaa.run("sandbox", "--", "no-such-program").code == 127
    assert kaa.run("sandbox", "--", "touch", str(outside)).code == 1
    assert not outside.exists()
    assert kaa.run("sandbox", "--mode", "read-only", "--", "touch", "a").code == 1
    assert kaa.run("sandbox", "--mode", "full-access", "--", "touch", "a").code == 0


def test_where_nothing_confines_the_command_it_says_where_to_look(kaa: Kaa) -> None:
    done = kaa.run_in_shell(f"{sys.executable} {forced.__file__} none -- touch a")

    assert done.code == 2
    assert "kaa doctor" in done.err
    assert not (kaa.project / "a").exists()


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ((), "give a command"),
        (("--net", "https://pypi.org", "--", "true"), "--net"),
        (("--add-dir", "/no/such/place", "--", "true"), "/no/such/place is not a directory"),
        (("--add-dir", "/", "--", "true"), "full-access"),
    ],
)
def test_a_mistake_is_told_and_nothing_is_run(kaa: Kaa, arguments: tuple[str, ...], complaint: str) -> None:
    done = kaa.run("sandbox", *arguments)

    assert done.code == 2
    assert complaint in done.err


def test_the_doctor_says_what_holds(kaa: Kaa) -> None:
    done = kaa.run("doctor")

    assert done.code == 0
    assert "sandbox: " in done.out
    assert "self-test, passed:" in done.out
    assert os.fspath(kaa.project) in done.out
    assert "models: none can be used yet; `kaa login` saves a key" in done.out
    assert "MCP servers: none" in done.out
    assert "checkpoints of files: at most" in done.out
    assert "log: off" in done.out


def test_the_doctor_names_what_is_set_up_and_what_of_the_home_is_seen(kaa: Kaa) -> None:
    home = Path(kaa.environ["HOME"])
    for name in (".boto", ".ignored", ".config/wg/key", *(f".local/share/tool{i:02}/x" for i in range(10))):
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).touch()
    (home / ".gitconfig").write_text("[core]\nexcludesFile = ~/.ignored\n")
    with ModelServer() as server:
        kaa.use(server, "openai-completions")
    kaa.run("mcp", "add", "notes", "--", "python3", "notes.py")
    (kaa.home / "checkpoints").write_text("in the way")
    kaa.setenv(KAA_LOG=f"{kaa.home}/kaa.log")

    done = kaa.run("doctor")

    assert done.code == 0
    assert "models: test (1);" in done.out
    assert "MCP servers: notes;" in done.out
    assert f"checkpoints of files: off: {kaa.home}/checkpoints: Not a directory" in done.out
    assert f"log: {kaa.home}/kaa.log (info)" in done.out
    assert "dot entries of the home that commands see: " in done.out
    assert ".gitconfig" in done.out.partition("that commands see: ")[2].partition("\n")[0]
    assert "named by your git configuration or linked to from ~/.local/bin: .ignored\n" in done.out
    hidden = done.out.partition("hidden: ")[2].partition("\n")[0].split(", ")
    assert {".boto", ".config/wg", ".local/share/tool07", "and 2 more in .local/share"} <= {*hidden}
    assert not {".ignored", ".local/share/tool08"} & {*hidden}


def test_the_doctor_says_why_checkpoints_and_the_log_are_off(kaa: Kaa) -> None:
    kaa.settings(checkpoints={"enabled": False})
    kaa.setenv(KAA_LOG=f"{kaa.project}/kaa.log")
    with ModelServer() as server:
        kaa.use(server, "openai-completions")
    servers = {"notes": {"command": "python3", "args": ["notes.py"]}}
    (kaa.home / "mcp.json").write_text(json.dumps({"mcpServers": servers}))

    (told,) = kaa.run("doctor", "--json").events

    assert told["models"] == {"test": 1}
    assert told["mcpServers"] == ["notes"]
    assert told["checkpointsOff"] == f"checkpoints.enabled is false in {kaa.home}/settings.json"
    assert told["log"] is None
    assert "sandboxed commands can write to" in str(told["logProblem"])
    assert not (kaa.project / "kaa.log").exists()


def test_slash_commands_show_and_switch(kaa: Kaa) -> None:
    with ModelServer([]) as server:
        kaa.use(server, "openai-completions")

        shown = kaa.run("-p", "/sandbox", "/net pypi.org", "/bg")
        refused = kaa.run("-p", "/forward x")

    assert shown.code == 0
    assert "workspace-write" in shown.out
    assert "network: pypi.org" in shown.out
    assert refused.code == 1
    assert "give a port" in refused.err


def test_a_text_of_a_flag_is_no_file_that_a_command_made_with_its_words_as_name(elsewhere: Path) -> None:
    kaa, text = Kaa(elsewhere), "Answer in German."
    (elsewhere / "key").write_text("SECRET")
    (kaa.project / text).symlink_to(elsewhere / "key")
    (kaa.project / "planted.md").symlink_to(elsewhere / "key")
    (kaa.project / "mine.md").write_text("Be brief.")

    with ModelServer([call("bash", command="echo Lie. >mine.md"), say("Done.")]) as server:
        kaa.use(server, "openai-completions")
        done = kaa.run("--append-system-prompt", text, "--append-system-prompt", "mine.md", "-p", "work")
        refused = kaa.run("--system-prompt", "./planted.md", "-p", "work")
        [_, last] = [json.dumps(request.json) for request in server.requests]

    assert text in last
    assert "Be brief." in last
    assert "SECRET" not in last
    assert (kaa.project / "mine.md").read_text() == "Be brief.", done
    assert (refused.code, "planted.md: a symlink in a directory" in refused.err) == (2, True)
