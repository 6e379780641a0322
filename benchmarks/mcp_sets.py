"""MCP servers, as each agent configures them: small programs that list tools."""

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TypeAlias

from benchmarks import listing_server
from benchmarks.bench import Runner
from benchmarks.process_tree import tree_commands

# Configures this many servers, which offer this many tools each, instead of those before.
Configure: TypeAlias = Callable[[Runner, int, int], None]

_PROGRAM = str(Path(listing_server.__file__).resolve())


def configure(runner: Runner, servers: int, tools: int) -> None:
    """Configure this many servers with so many tools. kaa has listed these in an earlier run, so let there be one."""
    CONFIGURE[runner.name](runner, servers, tools)
    if servers and runner.name == "kaa":
        runner.run("mcp", "test")


def running(root: int) -> int:
    """How many of the servers run below a process."""
    return sum(_PROGRAM in words for words in tree_commands(root))


def _configure_by_file(runner: Runner, servers: int, tools: int) -> None:
    """The file that kaa and pi read, and many others."""
    file = runner.home / "mcp.json"
    file.unlink(missing_ok=True)
    if servers:
        entries = {name: {"command": sys.executable, "args": _arguments(tools)} for name in _names(servers)}
        file.write_text(json.dumps({"mcpServers": entries}))


def _configure_codex(runner: Runner, servers: int, tools: int) -> None:
    file = runner.home / "config.toml"
    before = file.read_text().partition("\n[mcp_servers.")[0]
    entries = (
        f"\n[mcp_servers.{name}]\ncommand = {json.dumps(sys.executable)}\nargs = {json.dumps(_arguments(tools))}\n"
        for name in _names(servers)
    )
    file.write_text("".join([before, *entries]))


def _names(count: int) -> Sequence[str]:
    return [f"records_{number}" for number in range(count)]


def _arguments(tools: int) -> Sequence[str]:
    return [_PROGRAM, str(tools)]


# By the names of the agents that are measured with servers.
CONFIGURE: Mapping[str, Configure] = {
    "kaa": _configure_by_file,
    "pi": _configure_by_file,
    "codex": _configure_codex,
}
