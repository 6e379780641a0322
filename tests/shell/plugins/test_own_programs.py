"""Which hooks of a plugin start programs that commands of the model cannot write."""

import pytest

from kaa.components.plugins.variables import PluginFolders
from kaa.shell.plugins.own_programs import starts_own_programs

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
    ],
)
def test_programs_of_the_project_and_unknown_ones_are_not(command: str) -> None:
    assert not starts_own_programs(command, None, _FOLDERS)


def test_a_program_with_arguments_is_judged_likewise() -> None:
    assert starts_own_programs("node", ["/kaa/plugins/tools/x.js", "a b"], _FOLDERS)
    assert not starts_own_programs("node", ["x.js", "/kaa/plugins/tools/x.js"], _FOLDERS)
    assert not starts_own_programs("/work/project/x", [], _FOLDERS)
