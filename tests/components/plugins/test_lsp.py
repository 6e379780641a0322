"""Definitions of language servers."""

import pytest

from kaa.components.plugins.lsp import LanguageServer, claude_servers, opencode_servers, servers_in

PYTHON = {"command": "pyls", "extensionToLanguage": {".py": "python"}}


def test_a_server_of_claude_code() -> None:
    found = claude_servers(
        {
            "pyls": {
                **PYTHON,
                "args": ["--stdio"],
                "env": {"A": "1"},
                "startupTimeout": 1500,
                "settings": {"x": 1},
                "maxRestarts": 2,
                "restartOnCrash": False,
                "diagnostics": False,
            }
        }
    )

    assert found.servers == (
        LanguageServer(
            "pyls",
            ("pyls", "--stdio"),
            {".py": "python"},
            {"A": "1"},
            settings={"x": 1},
            startup_seconds=1.5,
            restarts=False,
            max_restarts=2,
            diagnostics=False,
        ),
    )
    assert found.notes == ()


def test_servers_of_opencode() -> None:
    found = opencode_servers(
        {"own": {"command": ["own", "--stdio"], "extensions": [".x"], "env": {"A": "1"}}, "gopls": {"disabled": True}}
    )

    assert found.servers == (
        LanguageServer("own", ("own", "--stdio"), {".x": ""}, {"A": "1"}),
        LanguageServer("gopls", (), enabled=False),
    )
    assert opencode_servers(False).notes == ()


@pytest.mark.parametrize(
    ("definition", "reason"),
    [
        ("pyls", "not an object"),
        ({"extensionToLanguage": {".py": "python"}}, "no `command`"),
        ({"command": "pyls"}, "names no language"),
        ({**PYTHON, "args": "--stdio"}, "`args`"),
        ({**PYTHON, "env": {"A": 1}}, "`env`"),
    ],
)
def test_one_that_cannot_be_used_is_named_and_the_rest_works(definition: object, reason: str) -> None:
    found = claude_servers({"bad": definition, "good": PYTHON})

    assert [server.name for server in found.servers] == ["good"]
    assert "`bad` is left out" in found.notes[0]
    assert reason in found.notes[0]


def test_what_is_not_understood_is_named() -> None:
    found = claude_servers({"pyls": {**PYTHON, "transport": "socket", "startupTimeout": -1, "color": "red"}})

    assert len(found.servers) == 1
    assert len(found.notes) == 3


def test_the_setting_takes_the_forms_of_both() -> None:
    found = servers_in(
        {
            "ruff": {"command": "ruff", "args": ["server"], "extensionToLanguage": {".py": "python"}},
            "deno": {"command": ["deno", "lsp"], "extensions": [".ts"]},
            "gopls": {"disabled": True},
            "bad": {"command": 7},
        }
    )

    assert found.servers == (
        LanguageServer("ruff", ("ruff", "server"), {".py": "python"}),
        LanguageServer("deno", ("deno", "lsp"), {".ts": ""}),
        LanguageServer("gopls", (), enabled=False),
    )
    assert found.notes == ("language server `bad` is left out: `command` is not a list of texts",)
