"""The documentation is true where that can be checked."""

import ast
import json
import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NoReturn, get_args

import msgspec
import pytest

from kaa import cli
from kaa.builtin import (
    background,
    completion_check,
    goal,
    plan,
    slash_commands,
    tools,
)
from kaa.core.events import Event
from kaa.core.hooks import Block, Continue
from kaa.core.messages import AssistantMessage, ToolCall, Usage
from kaa.core.tool import text_result
from kaa.ext import api
from kaa.ext.acting import ConversationActions
from kaa.ext.api import CompactionRequest, ExtensionAPI, PromptContext, Reply
from kaa.ext.command_context import CommandControl
from kaa.ext.loader import load_extension
from kaa.ext.process.extension import TERMINAL_NAMES
from kaa.ext.questions import Chosen
from kaa.frontends import sessions_command
from kaa.frontends.exit_codes import ExitCode
from kaa.frontends.interactive.commands import UiCommand
from kaa.frontends.interactive.core_thread import CoreThread
from kaa.frontends.interactive.engine import Engine
from kaa.frontends.interactive.keybindings import GROUPS
from kaa.frontends.interactive.main_view import MainView
from kaa.frontends.interactive.ui import InteractiveUI
from kaa.frontends.rpc.commands import AnyCommand
from kaa.frontends.terminal_commands import TERMINAL_COMMANDS
from kaa.hands.policy import PROTECTED_NAMES, Mode
from kaa.shell.approvals.calls import JudgedCall, examine
from kaa.shell.approvals.coverage import permission
from kaa.shell.approvals.grammar import read
from kaa.shell.approvals.rule_file import parse_rules
from kaa.shell.approvals.rules import parse_rule
from kaa.shell.home import Home
from kaa.shell.preferences import SETTINGS, Preferences
from kaa.shell.safety import SandboxFlags, sandbox_options
from kaa.shell.settings import Settings, load_user_settings
from kaa.tui import theme_file
from kaa.tui.components.display import Display
from kaa.tui.device import Device
from kaa.tui.key_notation import show_key
from kaa.tui.keybinding_file import resolve
from kaa.tui.reactor import Reactor
from kaa.tui.terminal import RESET_SEQUENCE, Terminal
from kaa.workspace.memory import MemoryWorkspace
from kaa.workspace.protocol import CommandRequest, CommandResult
from tests.support.agents import run
from tests.support.painted import assert_well_formed, make_context, visible
from tests.support.person import Person
from tests.support.program import Program
from tests.support.registries import LoadedRegistry
from tests.support.toolbox import RecordedRun

_ROOT = Path(__file__).parent.parent


def test_each_event_of_pi_has_a_counterpart_or_a_reason() -> None:
    page = (_ROOT / "docs/extensions.md").read_text()
    table = page.partition("## Events of pi")[2].partition("\n## ")[0]
    rows = [row.split(" | ") for row in table.splitlines() if row.startswith("| `")]

    named = [name for row in rows for name in re.findall(r"`(\w+)`", row[0])]
    known = {name for name in dir(ExtensionAPI) if not name.startswith("_")}
    known |= {event.__name__ for event in get_args(Event)}
    counterparts = [
        name
        for row in rows
        for name in re.findall(r"`((?:before|after|on|add|register|transform)_\w+|[A-Z]\w+)`", row[1])
    ]

    assert len(set(named)) == len(named) == 41  # pi 1.5.2
    assert set(counterparts) <= known


def test_every_registration_of_the_api_is_on_the_page() -> None:
    page = (_ROOT / "docs/extensions.md").read_text()
    methods = {name for name in vars(ExtensionAPI) if not name.startswith("_")} - {"api_version"}

    assert [name for name in sorted(methods) if f"`{name}" not in page] == []


def test_every_name_for_authors_of_extensions_is_on_the_page() -> None:
    named = set(_quoted(_section("extensions", "## Names")))

    assert set(api.__all__) == named - {"from kaa.ext.api import …", "kaa", "extend"}
    assert [name for name in api.__all__ if not hasattr(api, name)] == []


class TestTheExamplesOfExtensions:
    """Each example on the page is a whole extension that works as it stands."""

    @pytest.fixture
    def registry(self, tmp_path: Path) -> LoadedRegistry:
        def answer(request: CommandRequest) -> CommandResult:
            return CommandResult(1, None, b"a.py:1: TODO", 12, 1)

        workspace = MemoryWorkspace({"a.txt": b"1\n2\n"}, commands=answer)
        registry = LoadedRegistry(workspace=workspace, asker=Person(Chosen("staging")))
        for number, source in enumerate([*_examples("extensions"), *_examples("compaction")]):
            path = tmp_path / f"example{number}.py"
            path.write_text(source)
            registry.load(path.name, load_extension(path))
        return registry

    def test_the_first_one_has_five_lines(self) -> None:
        assert len(_examples("extensions")[0].splitlines()) == 5

    def test_the_hooks(self, registry: LoadedRegistry) -> None:
        reply = AssistantMessage((), "api", "provider", "m", Usage(), "stop")

        async def scenario() -> tuple[object, object]:
            (before,), (end,) = registry.run.before, registry.run.before_end
            return await before(ToolCall("1", "bash", {"command": "git push --force"})), await end(reply)

        block, demand = run(scenario())

        assert block == Block("Force pushes are not allowed in this project. (extension example1.py)")
        assert isinstance(demand, Continue)
        assert demand.reason == "make test fails. Fix that."
        assert demand.source.startswith("extension example")

    def test_the_prompt_section_and_the_summary(self, registry: LoadedRegistry) -> None:
        context = PromptContext("/p", "2026-01-01", registry.tools)

        assert registry.prompt_sections(context) == (("house-rules", "Write British English."),)
        assert run(registry.session.condense(CompactionRequest((), "", "", "threshold", 1))) is not None

    def test_the_tool(self, registry: LoadedRegistry) -> None:
        first, count, explore = registry.tools
        results = [
            run(registry.context.bind(tool.tool).run({"path": "a.txt"}, RecordedRun())) for tool in (first, count)
        ]

        assert [tool.name for tool in registry.tools] == ["count_lines", "count", "explore"]
        assert first.risk == count.risk == explore.risk == "read"
        assert results == [text_result("2"), text_result('{"lines":2}', details={"lines": 2})]

    def test_the_commands(self, registry: LoadedRegistry) -> None:
        context: Any = registry.context

        assert run(registry.run_command("todo", "", context)) == Reply("a.py:1: TODO")
        assert run(registry.run_command("deploy", "", context)) == Reply("deploying to staging")


def test_everything_a_command_of_an_extension_gets_is_documented() -> None:
    table = _section("extensions", "## Slash commands") + _section("extensions", "## What an extension can do")

    members = [
        name for kind in (CommandControl, ConversationActions) for name in vars(kind) if not name.startswith("_")
    ]
    assert {"naming", "navigation"} <= set(members)
    assert [name for name in members if not re.search(rf"`(await )?{name}\b", table)] == []


def test_links_between_documents_lead_somewhere() -> None:
    documents = [*_ROOT.glob("*.md"), *_ROOT.glob("docs/*.md")]
    links = [
        (document, link)
        for document in documents
        for link in re.findall(r"\]\(([^)#]+)", document.read_text())
        if "://" not in link
    ]

    assert links
    assert [(document.name, link) for document, link in links if not (document.parent / link).exists()] == []


def test_the_tests_that_are_said_to_hold_something_are_there() -> None:
    named = re.findall(r"`([\w/]+\.py)::(\w+)`", _document("architecture"))

    assert named
    assert [pair for pair in named if f"def {pair[1]}(" not in (_ROOT / "tests" / pair[0]).read_text()] == []


def test_every_exit_code_is_documented() -> None:
    documented = re.findall(r"^\| (\d+) \|", (_ROOT / "docs/usage.md").read_text(), re.MULTILINE)

    assert {int(code) for code in documented} == {code.value for code in ExitCode} - {ExitCode.INTERRUPTED}


def test_every_tool_and_slash_command_is_documented() -> None:
    registry = LoadedRegistry()
    for module in (
        tools,
        slash_commands,
        background,
        goal,
        plan,
        completion_check,
        tools,
    ):
        registry.load(module.__name__, module.extend)
    usage = _document("usage")

    assert [tool.name for tool in registry.tools if tool.name not in usage] == []
    assert [name for name in registry.commands if f"`/{name}" not in usage] == []


def test_every_command_and_flag_about_sessions_is_documented(capsys: pytest.CaptureFixture[str]) -> None:
    library = _document("session-library")
    table = _section("session-library", "## `kaa sessions`").partition("| flag |")[0]
    flags = set()
    for name in sessions_command.SUBCOMMANDS.keys() - {"export", "import"}:
        with pytest.raises(SystemExit):
            sessions_command.main([name, "--help"], "/")
        flags |= set(re.findall(r"--[a-z-]+", capsys.readouterr().out))

    assert set(re.findall(r"`([a-z]+)[ `]", table)) >= sessions_command.SUBCOMMANDS.keys()
    assert [flag for flag in flags - {"--help"} if f"`{flag}" not in library] == []


def test_every_problem_of_a_session_is_documented() -> None:
    source = (_ROOT / "src/kaa/session/upkeep/health.py").read_text()
    found = re.findall(r'(?:number|\d), "(error|warning|note)",\s*"(\w+)"', source)
    rows = dict(
        re.findall(r"^\| `(error|warning|note)` \| .*? \| (.*?) \|$", _document("session-library"), re.MULTILINE)
    )

    assert len(found) > 10
    assert {problem for _, problem in found} == {name for row in rows.values() for name in _quoted(row)}
    assert [pair for pair in found if f"`{pair[1]}`" not in rows[pair[0]]] == []


def test_every_setting_is_documented() -> None:
    usage = _document("usage")

    assert [
        field.encode_name for field in msgspec.structs.fields(Settings) if f"`{field.encode_name}`" not in usage
    ] == []


def test_the_flags_for_safety_are_those_of_the_command_line(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        cli.run(["--help"])
    group = capsys.readouterr().out.partition("safety:\n")[2].partition("\n\n")[0]
    flags = set(re.findall(r"^  (--[a-z-]+)", group, re.MULTILINE))

    assert "--sandbox" in flags
    assert [flag for flag in flags if f"`{flag}" not in _document("usage")] == []


def test_every_protected_name_is_documented() -> None:
    assert [name for name in PROTECTED_NAMES if f"`{name}`" not in _document("sandbox")] == []


@pytest.mark.parametrize("document", ["sandbox", "approvals"])
def test_the_settings_in_the_documents_can_be_used(
    document: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    examples = re.findall(r"```json\n(.*?)```", _document(document), re.DOTALL)
    (tmp_path / "notes").mkdir()
    monkeypatch.setenv("HOME", str(tmp_path))
    own = tmp_path / ".kaa"
    own.mkdir()

    for example in examples:
        (own / "settings.json").write_text(example)
        chosen = load_user_settings(own / "settings.json").approvals
        parse_rules(chosen.allow, chosen.deny, document)
        sandbox_options(Home(own), SandboxFlags(), os.getcwd())

    assert examples


def test_the_rules_in_the_table_allow_what_it_says() -> None:
    rows = re.findall(r"^\| `(bash: .*?)` \| (.*?) \| (.*?) \|$", _document("approvals"), re.MULTILINE)
    claims = [
        (rule, command, allowed)
        for rule, *cells in rows
        for cell, allowed in zip(cells, (True, False), strict=True)
        for command in _quoted(cell)
    ]

    assert {allowed for _, _, allowed in claims} == {True, False}
    assert [claim for claim in claims if _allows(claim[0], claim[1]) is not claim[2]] == []


def test_no_rule_can_allow_what_is_said_to_be_asked_whatever_the_rules_say() -> None:
    commands = _quoted(_between("It also asks about every command with", "A rule with ` *`"))

    assert commands
    assert [command for command in commands if read(command).obstacle is None] == []


def test_what_is_called_destructive_is_asked_about() -> None:
    commands = _quoted(
        "".join(re.findall(r"^\| (`.*?) \|", _section("approvals", "## Destructive commands"), re.MULTILINE))
    )

    assert commands
    assert [command for command in commands if not _examined(command).losses] == []


def test_every_slash_command_of_the_terminal_is_documented_and_there_is_no_other(tmp_path: Path) -> None:
    table = _section("terminal", "## Slash commands")
    documented = set(re.findall(r"`/([a-z-]+)", "".join(re.findall(r"^\| (.*?) \|", table, re.MULTILINE))))
    registry = LoadedRegistry()
    for module in (
        slash_commands,
        background,
        goal,
        plan,
        completion_check,
        tools,
    ):
        registry.load(module.__name__, module.extend)

    own = {command.name for command in _commands_of_the_terminal(tmp_path)}

    assert documented == own | set(registry.commands)
    assert set(TERMINAL_COMMANDS) == own - set(registry.commands), "the other modes know what only the terminal has"
    assert set(TERMINAL_COMMANDS) == TERMINAL_NAMES, "extensions whose command has such a name get another one"


def test_the_keys_in_the_table_are_the_default_ones() -> None:
    defaults = {action.id: action.keys for group in GROUPS for action in group.actions}
    rows = re.findall(r"^\| `((?:app|tui)\.[\w.]+)` \| (.*?) \|", _document("terminal"), re.MULTILINE)

    assert [row for row in rows if row[1] != ", ".join(map(show_key, defaults[row[0]]))] == []
    documented = tuple(dict(rows))
    own = [key for key in defaults if key.startswith("app.") and not key.startswith("app.models.") and defaults[key]]
    assert [key for key in own if key not in documented] == []


def test_every_setting_of_the_terminal_is_documented_with_its_default() -> None:
    rows = dict(re.findall(r"^\| `([\w.]+)` \| *([^|]*?) *\|", _section("terminal", "## Settings"), re.MULTILINE))
    defaults = Preferences()

    assert list(rows) == [setting.key for setting in SETTINGS]
    assert rows == {setting.key: _shown_default(getattr(defaults, setting.field)) for setting in SETTINGS}


def test_the_theme_in_the_document_is_one() -> None:
    example = _first_example(_section("terminal", "## Colours"), "json")

    theme = theme_file.parse(example, "mine.json", "truecolor")

    assert theme.name == "mine"
    assert theme["error"]


def test_the_keybindings_in_the_document_are_in_force_without_a_complaint() -> None:
    example = json.loads(_first_example(_section("terminal", "## Keys of your own"), "json"))

    bindings = resolve(GROUPS, example, "keybindings.json")

    assert bindings.problems == ()
    assert bindings.keys["app.settings"] == ("f4",)
    assert bindings.keys["app.suspend"] == ()


def test_what_puts_a_terminal_right_is_what_kaa_would_have_done() -> None:
    printed = re.search(r"printf '(.*?)'", _section("terminal", "## When kaa was killed"))

    assert printed is not None
    assert printed[1].replace("\\\\", "\\").replace("\\033", "\x1b") == RESET_SEQUENCE


def test_the_program_made_with_the_toolkit_works_as_it_stands(tmp_path: Path) -> None:
    (tmp_path / "echo.py").write_text(_examples("toolkit")[0])

    with Program.start([sys.executable, str(tmp_path / "echo.py")], env=dict(os.environ)) as program:
        program.wait_for("Ctrl+D leave")
        program.type("some `code` and more")
        program.press("enter")
        program.wait_for("some code and more")
        program.press("f3")
        program.wait_for(lambda screen: screen.in_alternate_screen and "some code and more" in screen.text())
        program.press("ctrl+d")

        assert program.wait_for_end() == 0
        assert "some code and more" in program.screen.text()


def test_the_components_made_with_the_toolkit_work_as_they_stand() -> None:
    _, gauge_source, note_source, test_source = _examples("toolkit")
    names: dict[str, object] = {}
    for source in (gauge_source, note_source, test_source):
        exec(compile(source, "toolkit.md", "exec"), names)
    make_gauge, test = names["Gauge"], names["test_what_leaves_the_screen_is_in_the_scrollback"]
    assert callable(make_gauge)
    assert callable(test)

    gauge = make_gauge(make_context(), "a\tb")
    assert isinstance(gauge, Display)
    before = gauge.render(20)
    make_gauge.set(gauge, 0.5)  # type: ignore[attr-defined]  # a class of the document's

    assert visible(before) == ["a   b 0%"]
    assert visible(gauge.render(20)) == ["a   b 50% ─────"]
    assert_well_formed(gauge.render(20), 20)
    test()


def _commands_of_the_terminal(folder: Path) -> Iterator[UiCommand]:
    """All that the user interface has of its own, on a terminal that nobody looks at."""
    controller, line = os.openpty()
    reactor = Reactor()
    main_view = MainView(str(folder), Terminal({"TERM": "xterm"}, Device(line, line)), reactor)
    core: CoreThread[Engine] = CoreThread(_never, _never, reactor.post, _never)
    try:
        yield from InteractiveUI(main_view, core, _never).commands.own()
    finally:
        reactor.close()
        os.close(controller)
        os.close(line)


def _never(*_: object) -> NoReturn:
    raise AssertionError("nothing is done here")


def _shown_default(value: object) -> str:
    match value:
        case None:
            return ""
        case bool():
            return f"`{str(value).lower()}`"
        case "  ":
            return "two blanks"
        case str():
            return f"`{value}`"
        case _:
            return str(value)


def _section(document: str, heading: str) -> str:
    """What stands below a heading, up to the next one of its level."""
    return _document(document).partition(f"\n{heading}\n")[2].partition("\n## ")[0]


def _examples(document: str) -> list[str]:
    return re.findall(r"^```python\n(.*?)^```", _document(document), re.MULTILINE | re.DOTALL)


def _first_example(text: str, language: str) -> str:
    found = re.search(rf"^```{language}\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    assert found is not None
    return found[1]


class _Sandbox:
    """Confines, as by default."""

    confined = True
    effective = True
    is_narrowed = False
    mode: Mode = "workspace-write"
    root = "/project"
    writable = ("/project", "/tmp")
    temporary = ("/tmp",)
    private_temporary = ("/tmp",)


def _examined(command: str) -> JudgedCall:
    return examine(ToolCall("1", "bash", {"command": command}), "command", _Sandbox())


def _allows(rule: str, command: str) -> bool:
    return permission(_examined(command), [parse_rule(rule)], _Sandbox.root) is not None


def _document(name: str) -> str:
    return (_ROOT / f"docs/{name}.md").read_text()


def _between(start: str, end: str) -> str:
    return _document("approvals").replace("\n", " ").partition(start)[2].partition(end)[0]


def _quoted(text: str) -> list[str]:
    return re.findall(r"`([^`]+)`", text.replace("\n", " "))


def test_the_page_on_rpc_mode_names_every_command_and_event() -> None:
    page = (_ROOT / "docs/rpc.md").read_text()
    commands = {str(kind.__struct_config__.tag) for kind in get_args(AnyCommand)}
    events = {str(kind.__struct_config__.tag) for kind in get_args(Event)} - {"user_command_update"}

    named = set(re.findall(r"`([a-z]+(?:_[a-z]+)*)`", page))
    assert commands - named == set()
    assert events - named == set()
    assert len(commands) == 37


def test_the_page_on_rpc_mode_names_every_error_of_the_mode() -> None:
    page = (_ROOT / "docs/rpc.md").read_text()
    sources = [*(_ROOT / "src/kaa/frontends/rpc").glob("*.py"), _ROOT / "src/kaa/shell/user_commands.py"]
    texts = [text for source in sources for text in _texts_of_errors(ast.parse(source.read_text()))]

    assert len(texts) > 12
    assert [text for text in texts if text.partition(": ")[0] not in page] == []


def test_the_page_on_rpc_mode_names_every_event_that_is_written_there() -> None:
    page = (_ROOT / "docs/rpc.md").read_text()
    sources = [*(_ROOT / "src/kaa/frontends/rpc").glob("*.py"), _ROOT / "src/kaa/frontends/event_json.py"]
    written = {name for source in sources for name in re.findall(r'"type": "(\w+)"', source.read_text())}

    assert {"agent_settled", "entry_appended", "extension_error", "messages_unsent"} <= written
    assert [name for name in written - {"response"} if f"`{name}`" not in page] == []


def _texts_of_errors(module: ast.Module) -> Iterator[str]:
    """The texts that a module's errors and error responses have, each value in them as `…`."""
    for call in (node for node in ast.walk(module) if isinstance(node, ast.Call)):
        name = call.func.id if isinstance(call.func, ast.Name) else ""
        texts = [word.value for word in call.keywords if word.arg == "error"]
        if name in ("RpcError", "CommandError", "UnfitAnswerError", "LineTooLongError"):
            texts += call.args[:1]
        for text in texts:
            match text:
                case ast.Constant(value=str(value)):
                    yield value
                case ast.JoinedStr(values=parts):
                    yield "".join(str(part.value) if isinstance(part, ast.Constant) else "…" for part in parts)


def test_the_help_lists_every_command_with_a_word_of_its_own(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        cli.run(["--help"])
    listed = capsys.readouterr().out.partition("commands (")[2].partition("\n\n")[0]

    words = re.findall(r"case \[([^]]+)\]", Path(cli.__file__).read_text())
    commands = {word for case in words for word in re.findall(r'"([a-z]+)"', case)}
    assert {"sessions", "login", "logout"} <= commands
    assert [command for command in commands if not re.search(rf"^  .*\b{command}\b.*  ", listed, re.MULTILINE)] == []
