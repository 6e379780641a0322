"""`kaa import`: what other agents' files there are, and whether kaa uses them."""

import hashlib
import json
from pathlib import Path

import pytest

from tests.end_to_end.kaa_process import Kaa
from tests.support.trusting import trust

pytestmark = pytest.mark.usefixtures("full_access")


@pytest.fixture
def kaa(tmp_path: Path) -> Kaa:
    kaa = Kaa(tmp_path)
    kaa.setenv(HOME=str(tmp_path))
    return kaa


def add_skill(folder: Path, name: str, fields: str = "") -> Path:
    file = folder / name / "SKILL.md"
    file.parent.mkdir(parents=True)
    file.write_text(f"---\nname: {name}\ndescription: About {name}.\n{fields}---\nText.\n")
    return file


def listed(kaa: Kaa) -> dict[str, str]:
    """The reasons why skills are not used, by name; empty for those that are."""
    lines = [json.loads(line) for line in kaa.run("import", "--json").out.splitlines()]
    return {line["name"]: line["reason"] if line["state"] != "used" else "" for line in lines}


def test_everything_that_is_found_is_listed_with_the_reason_why_it_is_not_used(kaa: Kaa, tmp_path: Path) -> None:
    skills = kaa.project / ".claude" / "skills"
    changed, _ = add_skill(skills, "changed"), add_skill(skills, "kept")
    add_skill(tmp_path / ".codex" / "skills", "foreign", "background: x\n")
    add_skill(kaa.home / "skills", "kept")
    add_skill(kaa.home / "skills", "no-thanks")
    (kaa.home / "skills" / "broken.md").write_text("---\nname: x\n")
    kaa.settings(skills=["!no-*"])
    trust(kaa.project, kaa.home)
    changed.write_text(changed.read_text() + "More.")
    add_skill(skills, "new")

    finished = kaa.run("import")
    reasons = [reason for _, reason in sorted(listed(kaa).items())]

    assert finished.code == 0
    assert "This project: 3 files, 1 used\n" in finished.out
    assert "skill foreign: not used, because you have not asked for it: `kaa import codex`" in finished.out
    assert "    `background` is not used" in finished.out
    assert [reason.partition(":")[0] for reason in reasons] == [
        "the fields at its beginning have no end",
        "it has changed since you trusted it",
        "you have not asked for it",
        ".claude/skills/kept/SKILL.md has the same name, kept",
        "you have not trusted it",
        "the settings leave it out",
    ]


def test_servers_of_other_agents_are_named_with_the_command_that_copies_them(kaa: Kaa, tmp_path: Path) -> None:
    servers = {"notes": {"command": "notes"}, "kept": {"command": "kept"}}
    (tmp_path / ".claude.json").write_text(json.dumps({"mcpServers": servers}))
    (tmp_path / ".codex").mkdir()
    (tmp_path / ".codex" / "config.toml").write_text('[mcp_servers.db]\ncommand = "db"\n')
    (kaa.home / "mcp.json").write_text(json.dumps({"mcpServers": {"kept": {"command": "kept"}}}))

    everything, chosen, stopped = kaa.run("import"), kaa.run("import", "claude"), kaa.run("import", "--stop", "claude")

    of_claude = "MCP servers of claude: notes. `kaa mcp import claude` copies them.\n"
    assert of_claude in everything.out
    assert "MCP servers of codex: db. `kaa mcp import codex` copies them.\n" in everything.out
    assert of_claude in chosen.out
    assert "codex" not in chosen.out
    assert "MCP" not in stopped.out


def test_a_reader_that_has_enough_is_no_mistake(kaa: Kaa) -> None:
    add_skill(kaa.project / ".claude" / "skills", "one")

    finished = kaa.run_in_shell("{ sleep 0.2; $KAA import; } | true")

    assert (finished.code, finished.err) == (0, "")


def test_the_name_of_a_folder_adds_no_line_of_its_own(kaa: Kaa) -> None:
    add_skill(kaa.project / ".claude" / "skills", "x\n  skill ok: used", "a\\nskill b: used: x\n")

    finished = kaa.run("import")

    assert not any(line.strip() == "skill ok: used" for line in finished.out.splitlines())


def test_json_has_no_characters_that_a_terminal_acts_on(kaa: Kaa) -> None:
    add_skill(kaa.project / ".claude" / "skills", "a\x9b2J\u202e")

    (line,) = kaa.run("import", "--json").out.splitlines()

    assert line.isprintable()
    assert json.loads(line)["path"] == ".claude/skills/a\x9b2J\u202e/SKILL.md"


def test_an_agent_is_chosen_and_left_again(kaa: Kaa, tmp_path: Path) -> None:
    add_skill(tmp_path / ".claude" / "skills", "theirs")
    assert listed(kaa)["theirs"] != ""

    assert "uses the files of claude" in kaa.run("import", "claude").out
    assert listed(kaa) == {"theirs": ""}
    kaa.run("import", "gemini")
    assert json.loads((kaa.home / "settings.json").read_text())["useFilesOf"] == ["claude", "gemini"]

    kaa.run("import", "--stop", "claude")
    assert listed(kaa)["theirs"] != ""


def test_deny_rules_of_claude_are_taken_over_and_other_settings_named(kaa: Kaa, tmp_path: Path) -> None:
    kaa.settings(approvals={"deny": ["bash: git push"], "policy": "ask"})
    (tmp_path / ".claude").mkdir()
    (tmp_path / ".claude" / "settings.json").write_text(
        json.dumps(
            {
                "model": "opus",
                "statusLine": {"type": "command", "command": "x"},
                "permissions": {"deny": ["Bash(git push:*)", "Read(./.env)", "Task(Explore)"], "allow": ["Bash(ls)"]},
            }
        )
    )

    before = kaa.run("import")
    done = kaa.run("import", "claude")

    assert "`kaa import claude` adds to `approvals.deny`: read: .env\n" in before.err
    assert json.loads((kaa.home / "settings.json").read_text())["approvals"] == {
        "deny": ["bash: git push", "read: .env"],
        "policy": "ask",
    }
    for line in (
        "Added to `approvals.deny`, because Claude Code forbids it: read: .env",
        "  commands can still read what a rule `read:` forbids; `sandbox.hidden` hides files from them, too",
        "~/.claude/settings.json: no rule of kaa forbids Task(Explore)",
        "~/.claude/settings.json: `permissions.allow` (1 entry) is not used",
        "~/.claude/settings.json: `model` (opus) is not used",
        "~/.claude/settings.json: `statusLine` is not used",
    ):
        assert line in done.out
    assert "adds to" not in kaa.run("import").err


def test_what_a_project_forbids_is_listed_with_what_is_not_used_of_its_settings(kaa: Kaa) -> None:
    (kaa.project / ".claude").mkdir()
    (kaa.project / ".claude" / "settings.json").write_text(
        json.dumps({"permissions": {"deny": ["Read(./secrets/**)"], "allow": ["Bash(ls)"]}})
    )

    shown = kaa.run("import")

    assert "deny rules settings.json: not used, because you have not trusted it" in shown.out
    assert "    read: secrets/**\n    commands can still read" in shown.out
    assert ".claude/settings.json: `permissions.allow` (1 entry) is not used" in shown.err


def test_definitions_of_agents_are_listed(kaa: Kaa, tmp_path: Path) -> None:
    text = "---\nname: {name}\ndescription: Reviews.\ntools: {tools}\n---\nReview it.\n"
    for folder, name, tools in (
        (kaa.project / ".claude" / "agents", "good", "Read, WebSearch"),
        (kaa.project / ".claude" / "agents", "toolless", "WebSearch"),
        (tmp_path / ".factory" / "droids", "foreign", "read-only"),
        (kaa.home / "agents", "good", "read"),
    ):
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{name}.md").write_text(text.format(name=name, tools=tools))
    trust(kaa.project, kaa.home)

    shown = kaa.run("import").out

    assert "agent good: used" in shown
    assert "    the tool `WebSearch` is unknown" in shown
    assert "agent toolless: not used, because none of its tools exists: kaa does not have WebSearch" in shown
    assert "agent foreign: not used, because you have not asked for it: `kaa import droid`" in shown
    assert "agent good: not used, because .claude/agents/good.md has the same name, good" in shown


def test_language_servers_are_listed(kaa: Kaa, tmp_path: Path) -> None:
    servers = {"pyls": {"command": "pyls\x9b", "extensionToLanguage": {".py": "python"}}, "bad": {"command": 7}}
    (kaa.project / ".lsp.json").write_text(json.dumps(servers))
    opencode = tmp_path / ".config" / "opencode" / "opencode.json"
    opencode.parent.mkdir(parents=True)
    opencode.write_text('{"lsp": {"go": {"command": ["gopls"], "extensions": [".go"]}}}')

    before = kaa.run("import").out
    trust(kaa.project, kaa.home)
    after = kaa.run("import").out

    assert "language server .lsp.json: not used, because you have not trusted it" in before
    assert "language server .lsp.json: used" in after
    assert "    pyls (.py): pyls\\x9b\n    language server `bad` is left out: it has no `command`" in after
    assert "language server opencode.json: not used, because you have not asked for it" in after
    assert "    go (.go): gopls" in after


def test_plugins_of_claude_code_are_named_with_what_installs_them(kaa: Kaa, tmp_path: Path) -> None:
    folder = tmp_path / ".claude" / "plugins"
    cached = folder / "cache" / "mine" / "local" / "1.0"
    add_skill(cached / "skills", "tidy")
    (cached / ".claude-plugin").mkdir()
    (cached / ".claude-plugin" / "plugin.json").write_text('{"name": "local"}')
    installed = {
        "known@official": [{"scope": "user", "installPath": "/x", "version": "1.0"}],
        "local@mine": [{"scope": "user", "installPath": str(cached)}],
        "other@official": [{"scope": "project", "projectPath": "/elsewhere", "installPath": "/x"}],
        "here@official": {"projectPath": str(kaa.project), "installPath": "/x"},
        "bad\u202e\n; rm -rf": [None, 7],
    }
    (folder / "installed_plugins.json").write_text(json.dumps({"version": 2, "plugins": installed}))
    source = {"source": "github", "repo": "anthropics/claude-plugins-official; x"}
    (folder / "known_marketplaces.json").write_text(json.dumps({"official": {"source": source}}))

    told = kaa.run("import").err.splitlines()

    add = "kaa plugin marketplace add 'anthropics/claude-plugins-official; x', then kaa plugin install"
    assert told == [
        f"You have the plugin known in Claude Code: {add} known@official",
        f"You have the plugin local in Claude Code: kaa plugin install {cached}",
        f"You have the plugin here in Claude Code: {add} here@official",
    ]

    kaa.run("plugin", "install", "--yes", str(cached))
    kaa.run("plugin", "disable", "local")
    assert "plugin local in" not in kaa.run("import").err


def test_instructions_rules_and_servers_are_listed_with_their_state(kaa: Kaa, tmp_path: Path) -> None:
    files = {
        kaa.project / "AGENTS.md": "Use tabs.",
        kaa.project / "web" / "AGENTS.md": "Use npm.",
        kaa.project / ".claude" / "rules" / "style.md": "Short.",
        kaa.project / ".mcp.json": '{"mcpServers": {"docs": {"command": "docs"}}}',
        tmp_path / ".claude" / "CLAUDE.md": "Be brief.",
        kaa.home / "mcp.json": '{"mcpServers": {"notes": {"command": "notes", "args": ["--all"]}}}',
    }
    for path, text in files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    trust(kaa.project, kaa.home)

    (kaa.project / "new").mkdir()
    (kaa.project / "new" / "CLAUDE.md").write_text("New.")

    finished = kaa.run("import", "--json")

    found = {(one["kind"], one["name"], one["state"]) for one in map(json.loads, finished.out.splitlines())}
    assert found == {
        ("instructions", "AGENTS.md", "used"),
        ("rule", "style.md", "used"),
        ("instructions", "CLAUDE.md", "not wanted"),
        ("MCP server", "docs", "not wanted"),
        ("MCP server", "notes", "used"),
    }
    nested = next(one for one in map(json.loads, finished.out.splitlines()) if one["path"].endswith("web/AGENTS.md"))
    assert nested["sha256"] == hashlib.sha256(b"Use npm.").hexdigest()
    assert "instructions CLAUDE.md: not used, because you have not asked for it" in kaa.run("import").out


def test_nothing_and_mistakes(kaa: Kaa) -> None:
    assert "There are no skills" in kaa.run("import").out

    finished = kaa.run("import", "nobody")

    assert finished.code == 2
    assert "there is no agent 'nobody'. Agents: claude, codex" in finished.err
