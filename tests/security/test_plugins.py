"""What plugins keep and get belongs to their hooks and servers, not to commands of the model."""

import json
from collections.abc import Iterator

import pytest

from tests.end_to_end.kaa_process import Kaa, conversation
from tests.support.elsewhere import folder_elsewhere
from tests.support.extension_sources import write
from tests.support.model_server import ModelServer, call, say

_CANARY = "canary-of-a-plugin"
_GUARD = 'printf %s "$CLAUDE_PLUGIN_OPTION_KEY" >"$CLAUDE_PLUGIN_DATA/key"; "$CLAUDE_PLUGIN_DATA/check" || :\n'


@pytest.fixture
def kaa(tier: str) -> Iterator[Kaa]:
    """Elsewhere: the sandbox shows nothing of temporary directories."""
    if tier == "none":
        pytest.skip("nothing confines commands on this machine: kaa doctor says why")
    with folder_elsewhere() as folder:
        kaa = Kaa(folder)
        (folder / "person").mkdir()
        kaa.setenv(HOME=str(folder / "person"))
        yield kaa


@pytest.mark.parametrize(
    "line",
    [
        'cd "$CLAUDE_PROJECT_DIR" && sh ./lint.sh || true',
        'cd "$CLAUDE_PROJECT_DIR"; sh "${CLAUDE_PLUGIN_ROOT}/none.sh" 2> "/tmp/$(sh ./lint.sh).log" || true',
        'cd "$CLAUDE_PROJECT_DIR"; PATH=".:$PATH" "${CLAUDE_PLUGIN_ROOT}/calls" || true',
        'cd "$CLAUDE_PROJECT_DIR"; "${CLAUDE_PLUGIN_ROOT}/here" || true',
    ],
)
def test_commands_neither_see_nor_change_what_a_plugin_keeps_and_get_none_of_its_secrets(kaa: Kaa, line: str) -> None:
    option = {"key": {"type": "string", "title": "A", "description": "A", "sensitive": True}}
    # The second one starts a program that commands write.
    hooks = [
        {"type": "command", "command": 'sh "${CLAUDE_PLUGIN_ROOT}/guard.sh"'},
        {"type": "command", "command": line},
    ]
    source = write(
        kaa.home.parent / "sources" / "plug",
        {
            ".claude-plugin/plugin.json": json.dumps({"name": "plug", "userConfig": option}),
            "hooks/hooks.json": json.dumps({"hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": hooks}]}}),
            "guard.sh": _GUARD,
            "calls": "#!/bin/sh\nlint.sh\n",
            "here": "#!/usr/bin/env -S sh ./lint.sh\n",
        },
    )
    for name in ("calls", "here"):
        (source / name).chmod(0o755)
    installed = kaa.run("plugin", "install", str(source), "--yes", "--set", f"key={_CANARY}")
    kept = kaa.home / "plugin-data" / "plug"
    kept.mkdir(parents=True, exist_ok=True)
    (kept / "token").write_text(_CANARY)
    with ModelServer() as server:
        kaa.use(server, "openai-completions")
        tries = [
            f"cat {kept}/token; ls {kept}; printf '#!/bin/sh\\nenv > leak' > {kept}/check; chmod +x {kept}/check",
            f"echo 'env > leak; cp {kept}/token leak2' > lint.sh; chmod +x lint.sh",
            "cat leak leak2",
        ]
        server.begin([*(call("bash", command=one) for one in tries), say("Done.")])

        kaa.run("-p", "hi")

        results = [text for role, text in conversation(server.requests[-1]) if role == "tool"]
    assert "without the secret options" in installed.out + installed.err
    assert len(results) == len(tries)
    assert not any(_CANARY in text for text in results)
    assert _CANARY not in (kaa.project / "leak").read_text()
    assert not (kept / "check").exists()
    assert (kept / "key").read_text() == _CANARY  # its own program works
