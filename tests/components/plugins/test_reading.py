"""Plugins of several agents, also such as an attacker would write."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kaa.components.plugins.agent_plugins import (
    SCHEMA,
    InvalidPluginError,
    WheelPlugin,
    wheel_folder,
    wheel_plugin_in,
)
from kaa.components.plugins.folder import PluginDirectory
from kaa.components.plugins.manifest import Plugin, PluginFile, PluginHooks, UserOption
from kaa.components.plugins.marketplace import marketplace_in
from kaa.components.plugins.reading import plugin_in
from kaa.components.skill import Unusable
from tests.support.plugin_files import Files
from tests.support.tables import each

CLAUDE = ".claude-plugin/plugin.json"
MCP_SCHEMA = "https://agent-plugins.org/schemas/1.0.0/mcp.schema.json"
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-10, 10)
    | st.text(max_size=20)
    | st.sampled_from(["../x", "/etc/passwd", "./skills", "skills/a", ".", "~", "commands/a.md"]),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=12), inner, max_size=4),
    max_leaves=10,
)
FIELDS = st.sampled_from(
    [
        *("name", "version", "author", "skills", "commands", "agents", "hooks", "mcpServers", "lspServers", "themes"),
        *("userConfig", "experimental", "dependencies", "contextFileName", "settings", "pi", "keywords", "extensions"),
    ]
)


def plugin(files: dict[str, object], entry: dict[str, object] | None = None) -> Plugin:
    listed = {"name": "market", "plugins": [{"source": "./", **(entry or {})}]}
    chosen = marketplace_in(json.dumps(listed).encode()).entries[str(entry["name"])] if entry else None
    found = plugin_in(Files(files), "folder", chosen)
    assert isinstance(found, Plugin), found
    return found


def paths(files: tuple[PluginFile, ...]) -> list[str]:
    return [file.path for file in files]


def test_a_plugin_of_claude_code_without_manifest() -> None:
    hooks: dict[str, object] = {"hooks": {"Stop": []}}
    found = plugin(
        {
            "skills/pdf/SKILL.md": "",
            "skills/pdf/more/SKILL.md": "",
            "skills/pdf/notes.md": "",
            "commands/git/push.md": "",
            "agents/reviewer.md": "",
            "hooks/hooks.json": hooks,
            ".mcp.json": {"mcpServers": {"db": {"command": "db"}}},
            ".lsp.json": {"py": {"command": "pyls", "extensionToLanguage": {".py": "python"}}},
            "themes/dark.json": {},
            "README.md": "",
        }
    )

    assert (found.name, found.dialect, found.manifest) == ("folder", "claude", "")
    assert found.skills == (PluginFile("skills/pdf/SKILL.md", "pdf"),)
    assert found.commands == (PluginFile("commands/git/push.md", "git:push"),)
    assert found.agents == (PluginFile("agents/reviewer.md", "reviewer"),)
    assert found.hooks == (PluginHooks("hooks/hooks.json", hooks),)
    assert found.mcp_servers == {"db": {"command": "db"}}
    assert [server.name for server in found.lsp_servers] == ["py"]
    assert paths(found.themes) == ["themes/dark.json"]
    assert found.notes == ()


def test_a_manifest_adds_skills_and_replaces_commands() -> None:
    found = plugin(
        {
            CLAUDE: {
                "name": "tools",
                "version": "1.2",
                "author": {"name": "Me", "email": "me@example.com"},
                "skills": "./more",
                "commands": ["./other", "./single.md"],
                "hooks": {"Stop": []},
                "mcpServers": ["./servers.json", {"db": {"command": "mine"}}],
            },
            "skills/a/SKILL.md": "",
            "more/b/SKILL.md": "",
            "commands/gone.md": "",
            "other/kept.md": "",
            "single.md": "",
            "agents/usual.md": "",
            "servers.json": {"db": {"command": "db"}},
        }
    )

    assert (found.name, found.version, found.author) == ("tools", "1.2", "Me <me@example.com>")
    assert paths(found.skills) == ["skills/a/SKILL.md", "more/b/SKILL.md"]
    assert paths(found.commands) == ["other/kept.md", "single.md"]
    assert paths(found.agents) == ["agents/usual.md"]
    assert found.hooks == (PluginHooks(CLAUDE, {"hooks": {"Stop": []}}),)
    assert found.mcp_servers == {"db": {"command": "db"}}
    assert found.notes == ("the MCP server `db` is defined twice: the first definition is used",)


def test_a_skill_in_the_root_is_the_plugin() -> None:
    assert plugin({"SKILL.md": "", "docs/x/SKILL.md": ""}).skills == (PluginFile("SKILL.md", "folder"),)


def test_options_of_a_plugin() -> None:
    options = {
        "token": {"type": "string", "title": "Token", "sensitive": True, "required": True},
        "count": {"type": "number", "default": 3, "min": 1},
        "bad name": {"type": "string"},
        "other": {"type": "color"},
    }

    found = plugin({CLAUDE: {"name": "a", "userConfig": options}})

    assert found.options == (
        UserOption("token", "CLAUDE_PLUGIN_OPTION_TOKEN", title="Token", secret=True, required=True),
        UserOption("count", "CLAUDE_PLUGIN_OPTION_COUNT", "number", default=3, minimum=1.0),
    )
    assert len(found.notes) == 2


def test_what_is_not_used_is_named() -> None:
    found = plugin(
        {
            CLAUDE: {"name": "a", "dependencies": [{"name": "base"}, "../more"], "color": "red", "channels": []},
            "bin/tool": "",
            "settings.json": {},
        }
    )

    assert [note.split(":")[0] for note in found.notes] == [
        "`color` in the manifest is unknown",
        "`channels` is not used",
        "`bin` is not used",
        "`settings.json` is not used",
        "`../more` in `dependencies` is left out",
    ]
    assert [one.name for one in found.dependencies] == ["base"]


def test_an_entry_that_is_the_manifest_chooses_skills() -> None:
    files: dict[str, object] = {"skills/a/SKILL.md": "", "skills/b/SKILL.md": "", CLAUDE: {"name": "x"}}

    found = plugin(files, {"name": "documents", "strict": False, "skills": ["./skills/b"]})

    assert found.name == "documents"
    assert paths(found.skills) == ["skills/b/SKILL.md"]
    assert "`strict` is false" in found.notes[0]


def test_an_entry_adds_to_the_manifest() -> None:
    files: dict[str, object] = {CLAUDE: {"name": "x", "version": "2", "commands": "./c"}, "c/a.md": "", "d/b.md": ""}

    found = plugin(files, {"name": "y", "version": "1", "description": "Text", "commands": "./d"})

    assert (found.name, found.version, found.description) == ("y", "2", "Text")
    assert paths(found.commands) == ["c/a.md", "d/b.md"]
    assert found.notes == ("it calls itself `x`, its marketplace `y`",)


def test_a_plugin_of_codex() -> None:
    manifest = {"name": "demo", "skills": "./skills", "mcpServers": "./.mcp.json", "apps": "./.app.json"}

    found = plugin({".codex-plugin/plugin.json": manifest, "skills/a/SKILL.md": "", ".mcp.json": {"x": {"url": "u"}}})

    assert found.dialect == "codex"
    assert paths(found.skills) == ["skills/a/SKILL.md"]
    assert found.mcp_servers == {"x": {"url": "u"}}
    assert found.notes == ("`apps` is not used: apps of ChatGPT work in Codex only",)


def test_an_extension_of_gemini() -> None:
    setting = {"name": "Key", "envVar": "API_KEY", "sensitive": True}
    manifest = {"name": "ext", "version": "1", "contextFileName": "CONTEXT.md", "settings": [setting]}

    found = plugin(
        {
            "gemini-extension.json": manifest | {"mcpServers": {"s": {"command": "x"}}, "excludeTools": ["a"]},
            "CONTEXT.md": "",
            "commands/git/push.toml": "",
            "policies/a.toml": "",
        }
    )

    assert found.dialect == "gemini"
    assert paths(found.context_files) == ["CONTEXT.md"]
    assert found.commands == (PluginFile("commands/git/push.toml", "git:push"),)
    assert found.mcp_servers == {"s": {"command": "x"}}
    assert found.options == (UserOption("API_KEY", "API_KEY", title="Key", secret=True),)
    assert len(found.notes) == 2


def test_a_package_of_pi() -> None:
    manifest = {
        "name": "@me/tools",
        "pi": {
            "extensions": ["./src"],
            "skills": ["./skills", "!skills/old"],
            "prompts": ["prompts/*.md"],
            "themes": ["./t.json"],
        },
    }

    found = plugin(
        {
            "package.json": manifest,
            "src/index.ts": "",
            "skills/deep/a/SKILL.md": "",
            "skills/old/SKILL.md": "",
            "prompts/fix.md": "",
            "t.json": {},
        }
    )

    assert (found.name, found.dialect) == ("me-tools", "pi")
    assert paths(found.skills) == ["skills/deep/a/SKILL.md"]
    assert paths(found.commands) == ["prompts/fix.md"]
    assert paths(found.themes) == ["t.json"]
    assert "TypeScript: src/index.ts" in found.notes[0]


def test_usual_folders_of_pi_and_other_packages() -> None:
    usual: dict[str, object] = {"prompts/a.md": "", "skills/one.md": "", "skills/b/SKILL.md": ""}

    found = plugin(usual | {"package.json": {"name": "a", "keywords": ["pi-package"]}})

    assert paths(found.commands) == ["prompts/a.md"]
    assert paths(found.skills) == ["skills/b/SKILL.md", "skills/one.md"]
    assert plugin(usual | {"package.json": {"name": "server"}}).dialect == "claude"


def test_a_plugin_by_the_specification() -> None:
    good = {"type": "stdio", "command": "x", "cwd": "${PLUGIN_DATA}/x"}
    servers = {
        "good": good,
        "extra": good | {"timeout": 1},
        "sets": good | {"env": {"PLUGIN_ROOT": "/"}},
        "leaves": good | {"cwd": "../x"},
        "other": {"type": "ws", "url": "u"},
    }

    found = plugin(
        {
            "plugin.json": {"$schema": SCHEMA, "name": "a.b", "color": "red"},
            "skills/x/SKILL.md": "",
            "mcp.json": {"$schema": MCP_SCHEMA, "mcpServers": servers},
            "com.example.client/x": "",
        }
    )

    assert (found.name, found.dialect) == ("a.b", "agent-plugins")
    assert paths(found.skills) == ["skills/x/SKILL.md"]
    assert found.mcp_servers == {"good": good}
    assert len(found.notes) == 6


@pytest.mark.parametrize("fields", [{"name": "a--b"}, {"name": "a", "version": 1}, {"name": "a", "keywords": [1]}])
def test_what_the_specification_forbids(fields: dict[str, object]) -> None:
    found = plugin_in(Files({"plugin.json": {"$schema": SCHEMA, **fields}, "skills/x/SKILL.md": ""}), "x")

    assert isinstance(found, Unusable)


def test_the_plugin_in_a_wheel_has_only_its_own_files() -> None:
    root = "demo-1.0.agent-plugin"
    files = [f"{root}/plugin.json", f"{root}/skills/a/SKILL.md", "../x"]
    site = Files(
        {
            f"{root}/plugin.json": {"$schema": SCHEMA, "name": "demo"},
            f"{root}/skills/a/SKILL.md": "",
            f"{root}/skills/b/SKILL.md": "",
        }
    )

    wheel = wheel_plugin_in(json.dumps({"root": root, "files": files}).encode())
    found = plugin_in(wheel_folder(site, wheel), "demo")

    assert wheel == WheelPlugin(root, frozenset({"plugin.json", "skills/a/SKILL.md"}))
    assert isinstance(found, Plugin)
    assert paths(found.skills) == ["skills/a/SKILL.md"]
    assert found.notes == ()


@pytest.mark.parametrize("root", ["..", "/x.agent-plugin", "a/../b.agent-plugin", "demo", 7])
def test_a_wheel_whose_root_is_elsewhere(root: object) -> None:
    with pytest.raises(InvalidPluginError):
        wheel_plugin_in(json.dumps({"root": root, "files": []}).encode())


def test_paths_that_leave_the_plugin_are_named_and_left_out() -> None:
    bad = ["../x", "/etc/passwd", "~/x", "a\\b", "a/../../b", 7, "a\nb.md", "missing.md"]

    found = plugin({CLAUDE: {"name": "a", "commands": [*bad, "${CLAUDE_PLUGIN_ROOT}/good.md"]}, "good.md": ""})

    assert paths(found.commands) == ["good.md"]
    assert len(found.notes) == len(bad)
    assert all(note.isprintable() for note in found.notes)


def test_links_out_of_the_plugin_are_named_and_left_out(tmp_path: Path) -> None:
    outside, root = tmp_path / "outside", tmp_path / "plugin"
    (outside / "evil").mkdir(parents=True)
    (outside / "evil" / "SKILL.md").write_text("")
    for folder in ("commands", "skills/good", "shared"):
        (root / folder).mkdir(parents=True)
    (root / "skills" / "good" / "SKILL.md").write_text("")
    (root / "skills" / "evil").symlink_to(outside / "evil")
    (root / "skills" / "again").symlink_to(root / "skills")
    (root / "commands" / "secret.md").symlink_to(outside / "evil" / "SKILL.md")
    (root / "shared" / "x.md").write_text("")
    (root / "commands" / "shared").symlink_to(root / "shared")

    found = plugin_in(PluginDirectory(root), "a")

    assert isinstance(found, Plugin)
    assert paths(found.skills) == ["skills/good/SKILL.md"]
    assert paths(found.commands) == ["commands/shared/x.md"]
    assert [note.split(" is ")[0] for note in found.notes] == ["`skills/evil`", "`commands/secret.md`"]
    assert PluginDirectory(root).files("skills") == ["skills/evil", "skills/good/SKILL.md"]
    assert PluginDirectory(root).read("../outside/evil/SKILL.md") is None


@each("manifest", [b"", b"[]", b"{", b"\xff", b"[" * 9_999, b" " * 2_000_000])
def test_a_broken_manifest(manifest: bytes) -> None:
    assert isinstance(plugin_in(Files({CLAUDE: manifest}), "a"), Unusable)


def test_a_folder_without_components_is_no_plugin() -> None:
    assert isinstance(plugin_in(Files({"README.md": "", "package.json": {"name": "a"}}), "a"), Unusable)


@given(
    st.sampled_from([CLAUDE, ".codex-plugin/plugin.json", "gemini-extension.json", "package.json", "plugin.json"]),
    st.dictionaries(FIELDS, VALUES, max_size=6),
    VALUES,
)
def test_hostile_manifests_stop_nothing_else(path: str, fields: dict[str, Any], other: Any) -> None:
    files = Files(
        {
            path: {"$schema": SCHEMA, "keywords": ["pi-package"], **fields},
            "skills/a/SKILL.md": "",
            "commands/a.md": "",
            ".mcp.json": other,
            "mcp.json": other,
            ".lsp.json": other,
            "hooks/hooks.json": other,
        }
    )

    found = plugin_in(files, "a")

    if isinstance(found, Unusable):
        assert path == "plugin.json"
        assert found.reason.isprintable()
        return
    assert all(note.isprintable() for note in (*found.notes, found.name, found.version, found.author))
    for file in (*found.skills, *found.commands, *found.agents, *found.themes, *found.context_files):
        assert files.read(file.path) is not None
