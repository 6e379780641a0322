"""New errors after edits in whole programs, and the tool `lsp`."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from kaa.core.messages import Json
from tests.end_to_end.kaa_process import Kaa, conversation
from tests.end_to_end.seat import READY, enter
from tests.support.elsewhere import folder_elsewhere
from tests.support.extension_sources import write
from tests.support.model_server import ModelServer, Received, call, say
from tests.support.program import Program
from tests.support.trusting import trust
from tests.support.warm_start import COMMAND

_SERVER = Path(__file__).parents[1] / "support" / "language_server.py"


@pytest.fixture
def kaa(tier: str) -> Iterator[Kaa]:
    """Elsewhere: the sandbox shows nothing of temporary directories."""
    if tier == "none":
        pytest.skip("nothing confines programs on this machine: kaa doctor says why")
    with folder_elsewhere() as folder:
        kaa = Kaa(folder)
        (folder / "person").mkdir()
        kaa.setenv(HOME=str(folder / "person"))
        yield kaa


def _definition(script: Path | str) -> dict[str, Json]:
    ends: dict[str, Json] = {".fake": "fake"}
    return {"command": sys.executable, "args": ["-I", "-S", str(script)], "extensionToLanguage": ends}


def use(kaa: Kaa, diagnostics: str = "full", **settings: Json) -> None:
    """Settings with a language server for files that end with `.fake`, and results that wait for it."""
    script = kaa.project.parent / "language_server.py"
    script.write_bytes(_SERVER.read_bytes())
    features: Json = {"diagnostics": diagnostics, "diagnosticsWaitMs": 30_000, "briefing": False}
    kaa.settings(features=features, lsp={"fake": _definition(script)}, **settings)


def tool_results(request: Received) -> list[str]:
    return [text for who, text in conversation(request) if who == "tool"]


def test_a_new_error_follows_the_result_of_each_kind_of_edit(kaa: Kaa, server: ModelServer) -> None:
    use(kaa)
    for name in ("edited.py", "patched.py"):
        (kaa.project / name).write_text("x = 1\n")
    patch = "*** Begin Patch\n*** Update File: patched.py\n@@\n-x = 1\n+x = (1\n*** End Patch\n"
    calls = [
        call("write", path="written.py", content="x = (1\n"),
        call("edit", path="edited.py", edits=[{"oldText": "x = 1", "newText": "x = (1"}]),
        call("apply_patch", patch=patch),
    ]
    server.begin([*calls, say("Done.")])

    finished = kaa.run("--mode", "json", "-p", "go", "--tools", "+apply_patch")

    assert finished.code == 0, finished.err
    errors = [f"{name}.py:1:5: SyntaxError: '(' was never closed" for name in ("written", "edited", "patched")]
    results = tool_results(server.requests[-1])
    ends = [event["result"] for event in finished.events if event["type"] == "tool_execution_end"]
    told = [result["details"]["newErrors"][0] for result in ends if "newErrors" in result["details"]]
    for error, result, detail in zip(errors, results, told, strict=True):
        assert result.count(f"[new error] {error}") == 1
        assert error in detail


def test_without_the_switch_the_result_is_as_it_was(kaa: Kaa, server: ModelServer) -> None:
    use(kaa, diagnostics="off")
    server.begin([call("write", path="a.py", content="x = (1\n"), say("Done.")])

    assert kaa.run("-p", "go").code == 0

    assert tool_results(server.requests[-1]) == ["Created a.py (7 bytes)."]


def test_a_server_of_the_project_is_started_once_its_file_is_trusted(kaa: Kaa, server: ModelServer) -> None:
    use(kaa)
    definitions = json.dumps({"fake": _definition(kaa.project.parent / "language_server.py")})
    kaa.settings(features={"diagnosticsWaitMs": 30_000, "briefing": False})
    (kaa.project / ".lsp.json").write_text(definitions)

    def result() -> str:
        (kaa.project / "a.fake").unlink(missing_ok=True)
        server.begin([call("write", path="a.fake", content="ERROR red\n"), say("Done.")])
        assert kaa.run("-p", "go").code == 0
        return tool_results(server.requests[-1])[0]

    untrusted = result()
    trust(kaa.project, kaa.home)

    assert "red" not in untrusted
    assert "[new error] a.fake:1:1: red (fake 7)" in result()


def test_a_server_of_a_plugin_reads_the_plugin(kaa: Kaa, server: ModelServer) -> None:
    kaa.settings(features={"diagnosticsWaitMs": 30_000, "briefing": False})
    definition = _definition("${CLAUDE_PLUGIN_ROOT}/server.py")
    plugin = {"name": "tools", "lspServers": {"fake": definition}}
    files = {".claude-plugin/plugin.json": json.dumps(plugin), "server.py": _SERVER.read_text()}
    folder = write(kaa.home.parent / "sources" / "tools", files)
    assert kaa.run("plugin", "install", "--yes", str(folder)).code == 0
    server.begin([call("write", path="a.fake", content="ERROR red\n"), say("Done.")])

    assert kaa.run("-p", "go").code == 0

    assert "[new error] a.fake:1:1: red (fake 7)" in tool_results(server.requests[-1])[0]


def test_the_tool_answers_and_renames(kaa: Kaa, server: ModelServer) -> None:
    use(kaa)
    (kaa.project / "a.fake").write_text("def name here\n\U0001f600 name, name\n")
    (kaa.project / "b.fake").write_text("a name\r\nERROR name\r\n", newline="")
    questions = [
        call("lsp", operation="definition", path="a.fake", line=2, symbol="name"),
        call("lsp", operation="references", path="b.fake", line=1, symbol="name"),
        call("lsp", operation="hover", path="a.fake", line=1, symbol="here"),
        call("lsp", operation="symbols", path="a.fake"),
        call("lsp", operation="workspace_symbols", path="a.fake", symbol="name"),
        call("lsp", operation="hover", path="a.fake", line=1, symbol="absent"),
        call("lsp", operation="hover", path="c.txt", line=1, symbol="x"),
        call("lsp", operation="rename", path="a.fake", line=2, symbol="name", newName="other"),
    ]
    (kaa.project / "c.txt").write_text("x\n")
    server.begin([*questions, say("Done.")])

    assert kaa.run("-p", "go", "--tools", "+lsp").code == 0

    assert tool_results(server.requests[-1]) == [
        "a.fake:1:5: def name here",
        "a.fake:1:5: def name here\na.fake:2:4: \U0001f600 name, name\na.fake:2:10: \U0001f600 name, name\n"
        "b.fake:1:3: a name\nb.fake:2:7: ERROR name",
        "**here** is a word",
        "a.fake:1 function name",
        "a.fake:1 function name",
        "Line 1 of a.fake has no 'absent'. It is: def name here",
        "There is no language server for c.txt. Use search and edits instead.",
        "Changed a.fake (3), b.fake (2).",
    ]
    assert (kaa.project / "a.fake").read_text() == "def other here\n\U0001f600 other, other\n"
    assert (kaa.project / "b.fake").read_bytes() == b"a other\r\nERROR other\r\n"


def test_renaming_needs_the_permission_to_write(kaa: Kaa, server: ModelServer) -> None:
    use(kaa, approvals={"deny": ["write: **/a.fake"]})
    (kaa.project / "a.fake").write_text("def name\n")
    server.begin([call("lsp", operation="rename", path="a.fake", line=1, symbol="name", newName="x"), say("No.")])

    kaa.run("-p", "go", "--tools", "+lsp")

    [result] = tool_results(server.requests[-1])
    assert "a.fake was not changed" in result
    assert (kaa.project / "a.fake").read_text() == "def name\n"


def test_the_terminal_shows_the_error_and_the_servers(kaa: Kaa, server: ModelServer) -> None:
    use(kaa)
    server.begin([call("write", path="a.fake", content="ERROR red\n"), say("Done.")])

    with Program.start([COMMAND], env=kaa.environ, cwd=kaa.project) as terminal:
        terminal.wait_for(READY)
        enter(terminal, "go")
        terminal.wait_for("Done.")
        assert "new error: a.fake:1:1: red (fake 7)" in terminal.screen.text()
        enter(terminal, "/lsp")
        terminal.wait_for("fake: running")


def test_no_shell_of_the_project_runs_with_the_rights_of_commands(kaa: Kaa, server: ModelServer) -> None:
    use(kaa)
    programs = kaa.project / ".venv/bin"
    programs.mkdir(parents=True)
    for name in ("sh", "bash"):
        (programs / name).write_text(f"#!/bin/bash\ntouch '{kaa.project}/ran'; exec /bin/{name} \"$@\"\n")
        (programs / name).chmod(0o755)
    kaa.setenv(PATH=f"{programs}:{kaa.environ['PATH']}")
    server.begin([call("write", path="a.sh", content="if\n"), call("write", path="a.py", content="x\n"), say("Done.")])

    kaa.run("-p", "Go")

    assert "[new error] a.sh:" in tool_results(server.requests[1])[0]
    assert not (kaa.project / "ran").exists()
