"""Installed plugins in whole programs: their skills, commands, hooks and servers, and what their scripts may do."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.end_to_end.kaa_process import Kaa, conversation
from tests.support import mcp_server
from tests.support.elsewhere import folder_elsewhere
from tests.support.extension_sources import write
from tests.support.model_server import ModelServer, call, say

_SKILL = (
    "---\nname: Tidy Files\ndescription: Tidy up\n---\nRun ${CLAUDE_PLUGIN_ROOT}/tidy.sh in ${CLAUDE_PROJECT_DIR}.\n"
)
_COMMAND = "---\ndescription: Count\n---\nFound: !`sh ${CLAUDE_PLUGIN_ROOT}/count.sh $0`\n"
_GUARD = """\
#!/bin/sh
grep -q forbidden || exit 0
echo "$CLAUDE_PLUGIN_OPTION_WHY" >"$CLAUDE_PLUGIN_DATA/refused"
touch "$CLAUDE_PLUGIN_ROOT/changed" 2>/dev/null
echo "The plugin says no." >&2
exit 2
"""


@pytest.fixture
def kaa(tier: str) -> Iterator[Kaa]:
    """Elsewhere: the sandbox shows nothing of temporary directories."""
    if tier == "none":
        pytest.skip("nothing confines servers on this machine: kaa doctor says why")
    with folder_elsewhere() as folder:
        kaa = Kaa(folder)
        # A home is closed as a whole, and the project must not be in it.
        (folder / "person").mkdir()
        kaa.setenv(HOME=str(folder / "person"))
        yield kaa


def results(server: ModelServer) -> list[str]:
    return [text for role, text in conversation(server.requests[-1]) if role == "tool"]


def installed(kaa: Kaa, files: dict[str, str], *arguments: str) -> Path:
    """Install a plugin `tools`. Returns the folder of its files."""
    folder = write(kaa.home.parent / "sources" / "tools", files)
    done = kaa.run("plugin", "install", "--yes", str(folder), *arguments)
    assert done.code == 0, done.err
    return next(kaa.home.glob("plugins/tools-*"))


def test_skills_and_commands_have_the_name_and_the_folder_of_the_plugin(kaa: Kaa, server: ModelServer) -> None:
    files = {"skills/tidy/SKILL.md": _SKILL, "commands/count.md": _COMMAND, "count.sh": 'echo "$1 files"\n'}
    root = installed(kaa, files)
    server.begin([call("skill", name="tools:tidy"), say("Done.")])

    assert kaa.run("-p", "/tools:count 3").code == 0

    [message] = (text for role, text in conversation(server.requests[-1]) if role == "user")
    assert b"- tools:tidy: Tidy up" in server.requests[-1].body
    assert message.startswith("Found: 3 files")
    listed = [json.loads(line) for line in kaa.run("import", "--json").out.splitlines()]
    assert [(one["kind"], one["name"], one["state"]) for one in listed] == [
        ("skill", "tools:tidy", "used"),
        ("command", "tools:count", "used"),
    ]
    assert f"Run {root}/tidy.sh in {kaa.project}." in results(server)[0]


def test_hooks_refuse_calls_keep_data_and_cannot_change_the_plugin(kaa: Kaa, server: ModelServer) -> None:
    hook = {"type": "command", "command": 'sh "${CLAUDE_PLUGIN_ROOT}/guard.sh"'}
    options = {"why": {"type": "string", "title": "Why", "description": "A reason"}}
    root = installed(
        kaa,
        {
            ".claude-plugin/plugin.json": json.dumps({"name": "tools", "userConfig": options}),
            "hooks/hooks.json": json.dumps({"hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": [hook]}]}}),
            "guard.sh": _GUARD,
        },
        "--set",
        "why=$(touch injected)",
    )
    server.begin([call("bash", command="echo forbidden"), say("Done.")])

    assert kaa.run("-p", "hi").code == 0

    assert "The plugin says no." in results(server)[0]
    assert (kaa.home / "plugin-data" / "tools" / "refused").read_text() == "$(touch injected)\n"
    assert not (root / "changed").exists()


def test_a_server_reads_the_plugin_and_is_started_without_a_question(kaa: Kaa, server: ModelServer) -> None:
    script = {"eras": ["legacy"], "fault": "spies"}
    entry = {"command": sys.executable, "args": ["${CLAUDE_PLUGIN_ROOT}/lib/server.py", "${CLAUDE_PLUGIN_ROOT}/s.json"]}
    root = installed(
        kaa,
        {
            ".mcp.json": json.dumps({"mcpServers": {"spy": entry}}),
            "lib/server.py": Path(mcp_server.__file__).read_text(),
            "s.json": json.dumps(script),
        },
    )
    arguments = {"action": "call", "server": "tools-spy", "tool": "echo", "arguments": {"text": str(root)}}
    server.begin([call("mcp", **arguments), say("Done.")])

    assert kaa.run("-p", "hi").code == 0

    assert "s.json" in results(server)[0]
    assert "CLAUDE_PLUGIN_DATA" in results(server)[0]


def test_the_project_that_kaa_tells_a_server_of_a_plugin_is_not_named_by_it(kaa: Kaa, server: ModelServer) -> None:
    entry = {"command": sys.executable, "args": ["${CLAUDE_PLUGIN_ROOT}/server.py", "${CLAUDE_PLUGIN_ROOT}/s.json"]}
    look = '\n\ndef root(folder):\n    return folder if os.path.exists(os.path.join(folder, ".git")) else None\n'
    look += '\n\nOURS = ("refs/core/src/tools.ts", os.path.join("build", "server.js"))\n'
    text = Path(mcp_server.__file__).read_text()
    assert "import os" in text
    installed(
        kaa,
        {
            ".mcp.json": json.dumps({"mcpServers": {"spy": entry}}),
            "server.py": text.replace('\nif __name__ == "__main__":', f'{look}\n\nif __name__ == "__main__":'),
            "s.json": json.dumps({"eras": ["legacy"], "fault": "spies"}),
            "build/server.js": "",
        },
    )
    subprocess.run(["git", "init", "-q"], cwd=kaa.project, check=True)
    for name in ("app.py", "server.js", "src/a.py"):
        (kaa.project / name).parent.mkdir(exist_ok=True)
        (kaa.project / name).write_text("")
    arguments = {"action": "call", "server": "tools-spy", "tool": "echo", "arguments": {"text": str(kaa.project)}}
    server.begin([call("mcp", **arguments), say("Done.")])

    assert kaa.run("-p", "hi").code == 0

    assert "CLAUDE_PROJECT_DIR" in results(server)[0]


@pytest.mark.parametrize(
    "path", ['os.environ["CLAUDE_PROJECT_DIR"] + "/tool.py"', 'os.path.join(PROJECT, "lib", "x.py")']
)
def test_code_of_the_project_that_a_server_of_a_plugin_names_is_asked_about(
    kaa: Kaa, server: ModelServer, path: str
) -> None:
    entry = {"command": sys.executable, "args": ["${CLAUDE_PLUGIN_ROOT}/server.py"]}
    text = f'import os, runpy\nPROJECT = os.environ["CLAUDE_PROJECT_DIR"]\nrunpy.run_path({path})\n'
    installed(kaa, {".mcp.json": json.dumps({"mcpServers": {"spy": entry}}), "server.py": text})
    (kaa.project / "lib").mkdir()
    for name in ("tool.py", "lib/x.py"):
        (kaa.project / name).write_text("")
    server.begin([call("mcp", action="connect", server="tools-spy"), say("Done.")])

    kaa.run("-p", "hi")

    assert "code in a project that it executes can be changed by commands" in results(server)[0]


def test_the_model_gets_no_secret_of_a_plugin(kaa: Kaa, server: ModelServer) -> None:
    option = {"type": "string", "title": "A", "description": "A"}
    manifest = {"name": "tools", "userConfig": {"key": {**option, "sensitive": True}, "team": option}}
    files = {
        ".claude-plugin/plugin.json": json.dumps(manifest),
        "commands/who.md": "Team ${user_config.team}, key ${user_config.key}.\n",
    }
    installed(kaa, files, "--set", "key=hush", "--set", "team=blue")
    server.begin([say("Done.")])

    kaa.run("-p", "/tools:who")

    assert b"Team blue, key ${user_config.key}." in server.requests[-1].body


def test_an_extension_for_gemini_has_instructions_and_commands(kaa: Kaa, server: ModelServer) -> None:
    manifest = {"name": "tools", "version": "1.0.0"}
    command = 'prompt = "Count {{args}}."\n'
    text = "Use tabs. @more.md @~/private.md"
    files = {"gemini-extension.json": json.dumps(manifest), "GEMINI.md": text, "commands/a/count.toml": command}
    files["more.md"] = "And commas."
    (kaa.home.parent / "private.md").write_text("PRIVATE")
    installed(kaa, files)
    server.begin([say("Done.")])

    assert kaa.run("-p", "/tools:a:count 3").code == 0

    assert b"Use tabs." in server.requests[-1].body
    assert b"And commas." in server.requests[-1].body
    assert b"PRIVATE" not in server.requests[-1].body
    assert [text for role, text in conversation(server.requests[-1]) if role == "user"] == ["Count 3."]


def test_a_disabled_plugin_gives_nothing(kaa: Kaa, server: ModelServer) -> None:
    installed(kaa, {"skills/tidy/SKILL.md": _SKILL})
    assert kaa.run("plugin", "disable", "tools").code == 0
    server.begin([say("Done.")])

    assert kaa.run("-p", "hi").code == 0

    assert b"tidy" not in server.requests[-1].body


def test_damaged_records_stop_no_conversation(kaa: Kaa, server: ModelServer) -> None:
    installed(kaa, {"skills/tidy/SKILL.md": _SKILL})
    (kaa.home / "plugins.json").write_text("{")
    server.begin([say("Done.")])

    done = kaa.run("-p", "hi")

    assert (done.code, done.out) == (0, "Done.\n")
    assert "Plugins are not used: " in done.err
