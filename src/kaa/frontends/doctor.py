"""`kaa doctor`: says which models and servers are set up, what confines commands here, and looks after checkpoints."""

import asyncio
import os
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby

import msgspec

from kaa import __version__
from kaa.builtin.decoding.decoder import weakness
from kaa.frontends.command_parser import CommandParser
from kaa.frontends.delivery import deliver
from kaa.frontends.exit_codes import ExitCode
from kaa.frontends.interruption import run_to_exit_code
from kaa.frontends.json_text import encoded
from kaa.host.code import shared_files
from kaa.host.log_file import LogFileError
from kaa.host.process import relative_variable
from kaa.llm.models.registry import ModelRegistry
from kaa.shell.checkpoints.permission import limits_of
from kaa.shell.home import Home
from kaa.shell.logs import log_choice
from kaa.shell.mcp.config.here import configured_here
from kaa.shell.safety import SandboxFlags, sandbox_options
from kaa.shell.secrets_of_builds import secrets_of_builds
from kaa.shell.settings import CheckpointSettings, SettingsError, load_user_settings
from kaa.shell.trust.configuration import TrustError
from kaa.tui.sanitize import sanitize
from kaa.workspace.checkpoints.store import DiskUse
from kaa.workspace.checkpoints.upkeep import tidy
from kaa.workspace.local import LocalWorkspace
from kaa.workspace.sandbox.dot_entries import DotEntries
from kaa.workspace.sandbox.sandbox import SandboxStatus

_TIERS = {
    "full": "namespaces and seccomp, with Landlock where the kernel has it",
    "bwrap": "bubblewrap, seccomp, and Landlock where the kernel has it",
    "landlock": "Landlock and seccomp",
    "seatbelt": "macOS Seatbelt (not tested)",
    "none": "nothing confines commands",
}
_NAMES_OF_FOLDER = 8  # of the home, when they are told


def main(arguments: Sequence[str], directory: str) -> int:
    """Run `kaa doctor`. Returns 0 if commands are confined as the user wants them."""
    parser = CommandParser(
        "kaa doctor",
        "Show which models and MCP servers are set up, and check how commands are confined on this machine.",
        ("kaa doctor", "kaa doctor --mode read-only --json"),
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--mode", choices=["read-only", "workspace-write", "full-access"], help="what may be written")
    parser.add_argument("--net", metavar="NET", help="off, on, registries, or hosts")
    parsed = parser.parse_args(arguments)
    try:
        home = Home.of(os.environ)
        options = sandbox_options(home, SandboxFlags(parsed.mode, parsed.net, only_surveys=True), directory)
        settings = load_user_settings(home.settings)
        models = ModelRegistry(home.path, os.environ)
        workspace = LocalWorkspace.start(directory, env=os.environ, sandbox=options)
    except (SettingsError, OSError) as error:
        sys.stderr.write(f"kaa: {sanitize(str(error))}\n")
        return ExitCode.USAGE
    return run_to_exit_code(_report(workspace, home, settings.checkpoints, models, as_json=parsed.json))


async def _report(
    workspace: LocalWorkspace, home: Home, settings: CheckpointSettings, models: ModelRegistry, *, as_json: bool
) -> int:
    uses: list[DiskUse] = []
    problem = None if settings.enabled else f"checkpoints.enabled is false in {home.settings}"
    try:
        status = await workspace.sandbox.status()
        try:
            uses = await asyncio.to_thread(lambda: [*tidy(str(home.checkpoints), limits_of(settings))])
        except OSError as error:
            problem = problem or f"{home.checkpoints}: {error.strerror or error}"
    except OSError as error:
        sys.stderr.write(f"kaa: {sanitize(str(error))}\n")
        return ExitCode.FAILED
    finally:
        await workspace.close()
    log, log_problem = _log()
    providers = _usable_models(models)
    servers, server_problems = await _servers(workspace.root, home)
    if as_json:
        told = {
            **msgspec.to_builtins(status),
            "checkpoints": uses,
            "checkpointsOff": problem,
            "log": log,
            "logProblem": log_problem,
            "models": providers,
            "mcpServers": servers,
        }
        deliver(sys.stdout, encoded(told).decode() + "\n")
    else:
        checkpoints = _checkpoint_lines(uses, home, settings, problem)
        dot_entries = _dot_entry_lines(workspace.sandbox.dot_entries())
        secrets = await asyncio.to_thread(lambda: [*_secret_lines(workspace)])
        set_up = [*_model_lines(models, providers), *_server_lines(servers, server_problems)]
        lines = [
            f"kaa {__version__}",
            *set_up,
            *_lines(status, workspace.root),
            *dot_entries,
            *secrets,
            *_image_lines(),
            *_code_lines(),
            *checkpoints,
        ]
        lines.append(f"log: {log or 'off; KAA_LOG=~/.kaa/agent/kaa.log writes one'}")
        lines += [f"warning: nothing is logged: {log_problem}"] if log_problem else []
        deliver(sys.stdout, sanitize("\n".join(lines)) + "\n")
    return ExitCode.DONE if status.confined or status.mode == "full-access" else ExitCode.FAILED


def _usable_models(models: ModelRegistry) -> dict[str, int]:
    """Return the number of models of each provider that can be used. Asks no server and runs no command for a key."""
    return dict(Counter(one.model.provider for one in models.listed(usable=True)))


def _model_lines(models: ModelRegistry, providers: Mapping[str, int]) -> Iterator[str]:
    if providers:
        told = ", ".join(f"{name} ({count:,})" for name, count in providers.items())
        yield f"models: {told}; `kaa models` lists them, `kaa auth check` tries the keys"
    else:
        yield "models: none can be used yet; `kaa login` saves a key, `kaa --model ollama` needs none"
    yield from (f"warning: {problem}" for problem in (*models.problems, *models.obstacles()))


async def _servers(directory: str, home: Home) -> tuple[list[str], tuple[str, ...]]:
    """Return the names of the MCP servers that are configured here and not switched off, and what is wrong."""
    try:
        found = await configured_here(directory, home, os.environ)
    except (SettingsError, TrustError, OSError) as error:
        return [], (f"the MCP servers are not known: {error}",)
    return [server.name for server in found.servers if server.entry.enabled], found.notices


def _server_lines(names: Sequence[str], problems: Sequence[str]) -> Iterator[str]:
    yield f"MCP servers: {', '.join(names)}; `kaa mcp test NAME` tries one" if names else "MCP servers: none"
    yield from (f"warning: {problem}" for problem in problems)


def _lines(status: SandboxStatus, root: str) -> Iterator[str]:
    yield f"sandbox: {status.tier} ({_TIERS[status.tier]})"
    yield f"  mode     {status.mode}, project {root}"
    yield f"  network  {status.network}"
    yield from (f"  {name:<24} {value}" for name, value in status.features.items())
    if status.checks:
        yield "self-test, passed:"
        yield from (f"  {check}" for check in status.checks)
    if status.refused:
        yield "tiers this machine cannot hold:"
        yield from (f"  {tier}: {reason}" for tier, reason in status.refused.items())
    yield from (f"warning: {warning}" for warning in status.warnings)
    if not status.confined and status.mode != "full-access":
        yield "Every write and command will need your approval; without anybody to ask they are denied."


def _dot_entry_lines(entries: DotEntries) -> Iterator[str]:
    """What of the home commands see."""
    if entries.hidden:
        yield f"dot entries of the home that commands see: {', '.join(entries.seen) or 'none'}"
        if entries.needed:
            yield f"  named by your git configuration or linked to from ~/.local/bin: {', '.join(entries.needed)}"
        yield f"  hidden: {', '.join(_shortened(entries.hidden))}"
        yield '  "!~/NAME" in sandbox.hidden of settings.json shows one'


def _secret_lines(workspace: LocalWorkspace) -> Iterator[str]:
    """Which files with secrets commands read because builds need them."""
    denials = workspace.sandbox.denials()
    found = [*secrets_of_builds(os.path.expanduser("~"), lambda path: denials.of_read(path) is None)]
    if found and workspace.sandbox.confined:
        yield f"warning: commands can read what looks like a secret in {', '.join(found)}"
        yield f"  if your builds do not need it, settings.json hides it: {_hiding(found)}"


def _hiding(paths: Sequence[str]) -> str:
    return encoded({"sandbox": {"hidden": [*paths]}}).decode()


def _shortened(names: Sequence[str]) -> Iterator[str]:
    """The names, but only the first ones of each directory below the home."""
    for folder, several in groupby(names, os.path.dirname):
        told = tuple(several)
        shown = len(told) if not folder else _NAMES_OF_FOLDER
        yield from told[:shown]
        if len(told) > shown:
            yield f"and {len(told) - shown} more in {folder}"


def _image_lines() -> Iterator[str]:
    """Whether the process that decodes images is confined; one is started to find out."""
    if reason := weakness():
        yield (
            f"warning: images are decoded in a process with your rights, with limits of memory and time only: {reason}."
            " Do not have kaa read images that you do not trust"
        )


def _code_lines() -> Iterator[str]:
    """What is wrong with how kaa itself is installed and started."""
    if name := relative_variable(os.environ):
        yield (
            f"warning: {name} is {os.environ[name]!r}: an empty or relative entry makes Python load code from the"
            " directory that kaa is started in. kaa leaves such entries of PYTHONPATH out, and does not start if Python"
            " has loaded something from them. Use absolute paths only"
        )
    shared = shared_files()
    if shared:
        yield (
            f"warning: {len(shared):,} files of kaa's libraries are hard links, such as {shared[0]}. A command that can"
            " write another name of them, in a virtual environment of the project, changes what kaa executes. Reinstall"
            " kaa with its own copies: uv tool install --link-mode copy"
        )


def _log() -> tuple[str | None, str | None]:
    """The file of the log and its level; and why nothing is logged although it is wanted."""
    try:
        choice = log_choice(os.environ)
    except LogFileError as error:
        return None, str(error)
    return None if choice is None else f"{choice[0]} ({choice[1]})", None


def _checkpoint_lines(
    uses: Sequence[DiskUse], home: Home, settings: CheckpointSettings, problem: str | None
) -> Iterator[str]:
    state = f"at most {settings.max_megabytes} MiB and {settings.max_days} days for each project, in {home.checkpoints}"
    yield f"checkpoints of files: {state if problem is None else f'off: {problem}'}"
    for use in uses:
        yield f"  {os.path.basename(use.folder)}: {use.megabytes:.1f} MiB, {use.checkpoints:,} checkpoints"
