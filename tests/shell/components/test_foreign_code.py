"""Code for pi and opencode, which kaa does not execute: it is named, and not silently ignored."""

from pathlib import Path

import pytest

from kaa.shell.home import Home
from kaa.shell.trust.configuration import survey
from kaa.workspace.memory import MemoryWorkspace
from tests.support.agents import run


def notices(home: Path, **files: str) -> list[str]:
    """What is said about files of these names; `__` stands for a slash."""
    named = {name.replace("__", "/"): text.encode() for name, text in files.items()}
    return list(run(survey(MemoryWorkspace(named), Home(home))).components.notices)


@pytest.mark.parametrize(
    "path",
    [
        ".pi/extensions/guard.ts",
        ".opencode/plugin/guard.js",
        ".opencode/plugins/guard.ts",
        ".opencode/tools/guard.ts",
    ],
)
def test_loose_code_is_named(tmp_path: Path, path: str) -> None:
    agent = path.split("/", maxsplit=1)[0][1:]

    assert notices(tmp_path, **{path: "x", "package.json": "{}"}) == [
        f"{path}: not used, because kaa does not execute code for {agent}"
    ]


def test_an_extension_that_is_a_folder_is_named_once(tmp_path: Path) -> None:
    files = {".pi/extensions/guard/index.ts": "x", ".pi/extensions/guard/rules.ts": "x", ".pi/extensions/README.md": ""}

    [notice] = notices(tmp_path, **files)

    assert notice.startswith(".pi/extensions/guard: not used")


def test_libraries_beside_plugins_are_not_named(tmp_path: Path) -> None:
    assert notices(tmp_path, **{".opencode/plugins/node_modules/index.js": "x", ".opencode/package.json": "{}"}) == []


@pytest.mark.parametrize(
    "settings",
    [
        '{"plugin": ["opencode-notify", "./mine.ts"]}',
        '{"plugins": ["opencode-notify", ["./mine.ts", {"loud": true}]], // version 2\n}',
        '{"plugins": {"opencode-notify": {}, "./mine.ts": true}}',
    ],
)
def test_plugins_in_settings_of_both_versions_are_named(tmp_path: Path, settings: str) -> None:
    [notice] = notices(tmp_path, **{"opencode.jsonc": settings})

    assert (
        notice == "opencode.jsonc: not used of it: the plugins opencode-notify, ./mine.ts, which are code for opencode"
    )


def test_settings_that_cannot_be_read_are_reported_once(tmp_path: Path) -> None:
    said = notices(tmp_path, **{"opencode.json": "{"})

    assert not any("plugins" in notice for notice in said)


def test_instructions_that_settings_of_opencode_name_are_named(tmp_path: Path) -> None:
    said = notices(tmp_path, **{"opencode.json": '{"instructions": ["docs/*.md", "https://example.com/rules.md"]}'})

    assert (
        "opencode.json: not used of it: the instructions docs/*.md, https://example.com/rules.md. AGENTS.md can import"
        " files: @FILE" in said
    )
