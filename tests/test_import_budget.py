"""Cold start is a feature. What may be loaded at each stage is asserted by name, never in seconds."""

import os
import subprocess
import sys

# Slow to load, or a sign that something is loaded before it is needed.
_NEVER_BEFORE_NEEDED = {
    "PIL",
    "anthropic",
    "email",
    "hashlib",
    "http.client",
    "httpx",
    "httpx2",
    "importlib.metadata",
    "multiprocessing",
    "openai",
    "pydantic",
    "pygments",
    "sqlite3",
    "tree_sitter",
    "tree_sitter_bash",
    "unittest",
    "urllib.request",
    "xml",
    "yaml",
}


def modules_after(statements: str) -> set[str]:
    """Names of all modules that are loaded once `statements` ran in a fresh interpreter."""
    source = f"import sys\n{statements}\nprint(*sys.modules, sep='\\n')"
    # Measuring coverage in child processes loads much of the standard library itself.
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("COV", "PYTHON"))}
    done = subprocess.run(
        [sys.executable, "-I", "-c", source], capture_output=True, text=True, check=True, env=environment
    )
    return set(done.stdout.split())


def test_version_loads_nothing_but_the_argument_parser() -> None:
    loaded = modules_after("import kaa.cli\ntry: kaa.cli.run(['--version'])\nexcept SystemExit: pass")

    ours = {name for name in loaded if name.split(".")[0] == "kaa"}
    assert ours == {"kaa", "kaa.cli"}
    assert not loaded & {"asyncio", "msgspec", "httptools"}


def test_it_starts_as_a_module_too() -> None:
    shown = subprocess.run([sys.executable, "-m", "kaa", "--version"], check=True, capture_output=True, text=True)

    assert shown.stdout.startswith("kaa ")


# What the first frame of the interactive terminal may load of the standard library, besides what starts an interpreter
# and reads arguments. Each costs a part of a millisecond; what is missing here costs more.
_FIRST_FRAME = {
    *("atexit", "bisect", "codecs", "contextlib", "errno", "fcntl", "gc", "json", "operator", "select", "signal"),
    *("termios", "threading", "types", "typing", "warnings"),
}
_AFTER_THE_FIRST_FRAME = {
    "asyncio",
    "base64",
    "concurrent",
    "dataclasses",
    "httptools",
    "inspect",
    "logging",
    "markdown_it",
    "msgspec",
    "pathlib",
    "pygments",
    "shutil",
    "socket",
    "ssl",
    "subprocess",
    "tempfile",
    "wcwidth",
}


def test_the_first_frame_loads_little() -> None:
    arguments = "from kaa import cli\ncli._parser().parse_args([])"
    before = modules_after(arguments)
    loaded = modules_after(f"{arguments}\nimport kaa.frontends.interactive.boot")

    assert not {name.split(".")[0] for name in loaded} & (_NEVER_BEFORE_NEEDED | _AFTER_THE_FIRST_FRAME)
    library = {name for name in loaded - before if name.split(".")[0] != "kaa" and not name.startswith("_")}
    assert {name.split(".")[0] for name in library} <= _FIRST_FRAME
    # What somebody has to do something for first: type a slash, search, open a list, use the full screen or vi's keys.
    ours = {name for name in loaded if name.startswith("kaa.")}
    assert not ours & {
        "kaa.frontends.interactive.engine",
        "kaa.frontends.interactive.transcript.transcript_view",
        "kaa.frontends.interactive.ui",
        "kaa.tui.alternate_screen",
        "kaa.tui.clipboard",
        "kaa.tui.components.history_search",
        "kaa.tui.components.input",
        "kaa.tui.components.markdown",
        "kaa.tui.components.select_list",
        "kaa.tui.fuzzy",
        "kaa.tui.linear",
        "kaa.tui.vim",
    }
    assert {name.split(".")[1] for name in ours} <= {"cli", "frontends", "host", "shell", "tui"}
    of_shell = {name for name in ours if name.startswith("kaa.shell.")}
    assert of_shell <= {"kaa.shell.preferences", "kaa.shell.user_file"}


_MODULES_OF_A_TURN = 250
_MODULES_OF_CONFIGURED_SERVERS = 32
_MODULES_OF_THE_FORK_SERVER = 52


def test_headless_mode_loads_only_what_a_run_needs() -> None:
    loaded = modules_after("import kaa.frontends.headless, kaa.shell.opening")

    assert not loaded & _NEVER_BEFORE_NEEDED
    assert not any(name.startswith("kaa.tui.") for name in loaded - {"kaa.tui.sanitize", "kaa.tui.invisible"})
    assert not loaded & {"bz2", "html", "lzma", "shutil"}
    # These wait for a failure, a search, a kind of output and what only the hands do.
    assert not loaded & {
        "kaa.frontends.json_output",
        "kaa.frontends.text_output",
        "kaa.hands.confinement.layout",
        "kaa.workspace.ripgrep",
        "kaa.workspace.sandbox.denials",
    }
    # These wait for commands of the user, a long conversation, a server on this machine, and mistakes of models.
    assert not loaded & {
        "kaa.core.json_repair",
        "kaa.llm.local.servers",
        "kaa.llm.models.model_list",
        "kaa.llm.models.unknown_models",
        "kaa.llm.written_calls.notations",
        "kaa.shell.checkpoints.travel",
        "kaa.shell.compaction.condensing",
        "kaa.shell.exporting",
        "kaa.shell.jsonc_splice",
        "kaa.shell.navigating",
        "kaa.workspace.sandbox.watch",
    }
    # Each module costs a quarter of a millisecond: what is new should replace something, or load later.
    assert len({name for name in loaded if name.startswith("kaa.")}) <= _MODULES_OF_A_TURN
    # These wait for the first tool call, and for the first connection of a command.
    assert not any(name.startswith(("kaa.shell.approvals.", "kaa.workspace.network.gate")) for name in loaded)
    assert "kaa.llm.anthropic.provider" not in loaded or "kaa.llm.completions.provider" not in loaded


def test_configured_servers_load_nothing_that_only_their_start_needs() -> None:
    turn = "import kaa.frontends.headless, kaa.shell.opening"

    more = modules_after(f"{turn}, kaa.shell.mcp.servers") - modules_after(turn)

    assert not more & (_NEVER_BEFORE_NEEDED - {"hashlib"}) | more & {"difflib"}
    ours = {name for name in more if name.startswith("kaa.")}
    assert not any(name.startswith(("kaa.mcp.http", "kaa.llm.", "kaa.workspace.sandbox")) for name in ours)
    assert not ours & {
        "kaa.builtin.mcp.questions",
        "kaa.builtin.mcp.results",
        "kaa.mcp.client",
        "kaa.mcp.stdio",
        "kaa.shell.mcp.logins",
        "kaa.shell.mcp.reaching",
        "kaa.shell.mcp.starting",
    }
    assert len(ours) <= _MODULES_OF_CONFIGURED_SERVERS


def test_the_hands_load_the_standard_library_only() -> None:
    loaded = modules_after("import kaa.hands.server, kaa.hands.guard, kaa.hands.confinement.full")

    ours = {name for name in loaded if name.split(".")[0] == "kaa"}
    assert all(name == "kaa" or name.startswith("kaa.hands") for name in ours)
    # Distributions add modules of their own to every interpreter (`sitecustomize`).
    foreign = {name.split(".")[0] for name in loaded - modules_after("pass")} - set(sys.stdlib_module_names)
    assert foreign == {"kaa"}


def test_the_fork_server_loads_little() -> None:
    loaded = modules_after("import kaa.hands.server, kaa.hands.confinement.full")

    assert len({name for name in loaded if name.split(".")[0] == "kaa"}) <= _MODULES_OF_THE_FORK_SERVER


def test_the_hands_compile_no_expression_before_they_use_it() -> None:
    """Each takes as long as a small module, and most processes need few."""
    statements = "import kaa.hands.server, kaa.hands.confinement.full, kaa.hands.guard.service"
    source = f"import glob, json, re, shlex\nbefore = len(re._cache)\n{statements}\nprint(len(re._cache) - before)"
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", f"import sys; sys.path = {sys.path!r}\n{source}"],
        capture_output=True,
        text=True,
        check=True,
    )

    assert int(done.stdout) <= 1  # what of a pattern is special is asked of all
