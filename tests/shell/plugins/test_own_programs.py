"""Which hooks of a plugin start programs that commands of the model cannot write."""

from pathlib import Path

import pytest

from kaa.components.plugins.manifest import Plugin
from kaa.components.plugins.reading import plugin_in
from kaa.components.plugins.variables import PluginFolders
from kaa.shell.plugins.own_programs import starts_own_programs
from kaa.shell.plugins.use import language_servers_of
from tests.support.plugin_files import Files

_FOLDERS = PluginFolders("/kaa/plugins/tools", "/kaa/plugin-data/tools", "/work/project")


@pytest.mark.parametrize(
    "command",
    [
        'sh "${CLAUDE_PLUGIN_ROOT}/guard.sh"',
        "$CLAUDE_PLUGIN_ROOT/guard --fast < /dev/null > out 2>&1 || true",
        '"${CLAUDE_PLUGIN_DATA}/venv/bin/python" "${CLAUDE_PLUGIN_ROOT}/guard.py"',
        "node --no-warnings ${PLUGIN_ROOT}/hooks/x.js; echo done",
        'cd "$CLAUDE_PROJECT_DIR" && exec python3 -u "${CLAUDE_PLUGIN_ROOT}/x.py" ./src',
        'MODE=fast "${CLAUDE_PLUGIN_ROOT}"/x.sh',
        'PATH="${CLAUDE_PLUGIN_ROOT}/bin:$PATH" node "${CLAUDE_PLUGIN_ROOT}/x.js"',
        'export MODE=fast PYTHONPATH="$CLAUDE_PLUGIN_ROOT/lib"; python3 "${CLAUDE_PLUGIN_ROOT}/x.py"',
        'node "${CLAUDE_PLUGIN_ROOT}/x.js" <<< "$CLAUDE_PROJECT_DIR" 2> /dev/null',
        '/usr/bin/python3 -u "${CLAUDE_PLUGIN_ROOT}/x.py"',
        'test -f x && curl -s -d "$CLAUDE_PLUGIN_OPTION_KEY" https://example.com',
    ],
)
def test_programs_of_the_plugin_and_harmless_ones_are_its_own(command: str) -> None:
    assert starts_own_programs(command, None, _FOLDERS)


@pytest.mark.parametrize(
    "command",
    [
        'cd "$CLAUDE_PROJECT_DIR" && sh ./lint.sh || true',
        "npx eslint --config ${CLAUDE_PLUGIN_ROOT}/eslint.json .",
        "sh ${CLAUDE_PLUGIN_ROOT}/x.sh\nmake lint",
        "sh ${CLAUDE_PLUGIN_ROOT}/../../work/project/x.sh",
        'echo "$(./lint.sh)"',
        "echo `./lint.sh`",
        "node --require ./hook.js ${CLAUDE_PLUGIN_ROOT}/x.js",
        "bash -c ./lint.sh ${CLAUDE_PLUGIN_ROOT}/x.sh",
        "env sh ${CLAUDE_PLUGIN_ROOT}/x.sh",
        "bun run ${CLAUDE_PLUGIN_ROOT}/x.ts",
        'sh "$CLAUDE_PROJECT_DIR/lint.sh"',
        "PATH=.:$PATH lint",
        "python3 -m lint",
        "for f in *; do ./$f; done",
        "cat x | sh",
        "echo 'unfinished",
        "node ${CLAUDE_PLUGIN_ROOT}/x.js < <(sh ./lint.sh)",
        "node ${CLAUDE_PLUGIN_ROOT}/x.js <(sh ./lint.sh)",
        "node ${CLAUDE_PLUGIN_ROOT}/x.js | tee >(sh ./lint.sh)",
        'node ${CLAUDE_PLUGIN_ROOT}/x.js <<< "$(sh ./lint.sh)"',
        'node ${CLAUDE_PLUGIN_ROOT}/x.js 2> "/tmp/$(sh ./lint.sh).log"',
        "node ${CLAUDE_PLUGIN_ROOT}/x.js > `./lint.sh`",
        "cat <<END | node ${CLAUDE_PLUGIN_ROOT}/x.js\n$(./lint.sh)\nEND\n",
        'PATH="$CLAUDE_PROJECT_DIR/node_modules/.bin:$PATH" node ${CLAUDE_PLUGIN_ROOT}/x.js',
        "export PATH=./bin:$PATH; node ${CLAUDE_PLUGIN_ROOT}/x.js",
        "PATH+=:./bin; node ${CLAUDE_PLUGIN_ROOT}/x.js",
        'NODE_OPTIONS="--require ./x.js" node ${CLAUDE_PLUGIN_ROOT}/x.js',
        "PYTHONPATH=. python3 ${CLAUDE_PLUGIN_ROOT}/x.py",
        "export BASH_ENV=./x; bash ${CLAUDE_PLUGIN_ROOT}/x.sh",
        "CLAUDE_PLUGIN_ROOT=.; sh $CLAUDE_PLUGIN_ROOT/x.sh",
        "read PATH < ./names; node ${CLAUDE_PLUGIN_ROOT}/x.js",
        "printf -v PATH ./bin; node ${CLAUDE_PLUGIN_ROOT}/x.js",
        "IFS=/; node $CLAUDE_PLUGIN_ROOT/x.js",
        '"$CLAUDE_PROJECT_DIR/.venv/bin/python" "${CLAUDE_PLUGIN_ROOT}/x.py"',
        ".venv/bin/python ${CLAUDE_PLUGIN_ROOT}/x.py",
        "node -e ${CLAUDE_PLUGIN_ROOT}/x.js",
        "node --experimental-loader ${CLAUDE_PLUGIN_ROOT}/../x.js ${CLAUDE_PLUGIN_ROOT}/x.js",
    ],
)
def test_programs_of_the_project_and_unknown_ones_are_not(command: str) -> None:
    assert not starts_own_programs(command, None, _FOLDERS)


@pytest.mark.parametrize(
    ("line", "is_own"),
    [
        ("#!/bin/sh", True),
        ("#!/usr/bin/env node", True),
        ("#!/usr/bin/env -S python3 -u", True),
        ("no script", True),
        ("#!/usr/bin/env -S npx tsx", False),
        ("#!/usr/bin/env bun", False),
        ("#!/usr/bin/env -S uv run --script", False),
        ("#!/usr/bin/env -S node --require ./x.js", False),
        ("#!/usr/bin/env -S PYTHONPATH=. python3", False),
        ("#! ./lint.sh", False),
    ],
)
def test_the_first_line_of_a_program_of_the_plugin_counts(tmp_path: Path, line: str, is_own: bool) -> None:
    (tmp_path / "guard").write_text(f"{line}\n")
    folders = PluginFolders(str(tmp_path), "/kaa/plugin-data/tools", "/work/project")

    assert starts_own_programs('"${CLAUDE_PLUGIN_ROOT}/guard"', None, folders) is is_own


def test_a_program_with_arguments_is_judged_likewise() -> None:
    assert starts_own_programs("node", ["/kaa/plugins/tools/x.js", "a b"], _FOLDERS)
    assert not starts_own_programs("node", ["x.js", "/kaa/plugins/tools/x.js"], _FOLDERS)
    assert not starts_own_programs("/work/project/x", [], _FOLDERS)


def test_language_servers_get_no_secrets() -> None:
    option = {"type": "string", "title": "A", "description": "A"}
    manifest = {"name": "tools", "userConfig": {"key": {**option, "sensitive": True}, "team": option}}
    server = {"command": "pyls", "args": ["${user_config.team}"], "extensionToLanguage": {".py": "python"}}
    files: dict[str, object] = {".claude-plugin/plugin.json": manifest, ".lsp.json": {"py": server}}
    plugin = plugin_in(Files(files), "tools")
    assert isinstance(plugin, Plugin)

    [found] = language_servers_of(plugin, _FOLDERS, {"key": "hush", "team": "blue"})

    assert found.command == ("pyls", "blue")
    assert "blue" in found.environment.values()
    assert "hush" not in str(found)
