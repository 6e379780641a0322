"""Language servers that a project defines: found and trusted as data."""

import json
from pathlib import Path

from kaa.components.plugins.lsp import LanguageServer
from kaa.shell.components.lsp_files import language_servers_of
from kaa.shell.home import Home
from kaa.shell.trust.configuration import ProjectConfiguration, survey
from kaa.shell.trust.store import TrustStore
from kaa.shell.trust.verdict import judge
from kaa.workspace.memory import MemoryWorkspace
from tests.support.agents import run

_CLAUDE = {"pyls": {"command": "pyls", "args": ["--stdio"], "extensionToLanguage": {".py": "python"}}}
_OPENCODE = """{
  "model": "x", // of the project
  "lsp": {"go": {"command": ["gopls"], "extensions": [".go"]}, "ruby": {"disabled": true},},
}"""


def surveyed(tmp_path: Path, files: dict[str, bytes]) -> ProjectConfiguration:
    return run(survey(MemoryWorkspace(files), Home(tmp_path)))


def test_the_servers_of_a_project_are_data(tmp_path: Path) -> None:
    files = {".lsp.json": json.dumps(_CLAUDE).encode(), ".opencode/opencode.jsonc": _OPENCODE.encode()}

    found = surveyed(tmp_path, files)

    assert [language_servers_of(file).servers for file in found.components.files] == [
        (LanguageServer("pyls", ("pyls", "--stdio"), {".py": "python"}),),
        (LanguageServer("go", ("gopls",), {".go": ""}), LanguageServer("ruby", (), enabled=False)),
    ]
    assert found.uses == (
        "language servers: programs that kaa starts in a sandbox, where they can change nothing: .lsp.json,"
        " .opencode/opencode.jsonc",
    )


def test_the_user_is_told_that_they_are_not_used_without_trust(tmp_path: Path) -> None:
    found = surveyed(tmp_path, {".lsp.json": json.dumps(_CLAUDE).encode()})

    assert ".lsp.json" in (judge("stored", found, Home(tmp_path)).notice or "")


def test_trust_is_in_the_servers_and_not_in_other_settings(tmp_path: Path) -> None:
    store = TrustStore(Home(tmp_path))
    store.trust(surveyed(tmp_path, {"opencode.json": _OPENCODE.encode()}))

    same = surveyed(tmp_path, {"opencode.json": _OPENCODE.replace("of the project", "changed").encode()})
    changed = surveyed(tmp_path, {"opencode.json": _OPENCODE.replace("gopls", "evil").encode()})

    assert judge("stored", same, Home(tmp_path)).components == {"opencode.json"}
    assert judge("stored", changed, Home(tmp_path)).components == frozenset()


def test_what_cannot_be_read_is_named(tmp_path: Path) -> None:
    nested = b'{"lsp": {"a": ' + b"[" * 100_000 + b"]" * 100_000 + b"}}"

    found = surveyed(tmp_path, {".lsp.json": b"[]", "opencode.json": nested, "opencode.jsonc": b'{"lsp": true}'})

    assert found.components.files == ()
    assert [notice.partition(", because")[0] for notice in found.components.notices] == [
        ".lsp.json: its language servers are not used",
        "opencode.json: its language servers are not used",
        "opencode.json: its agents are not used",
    ]
