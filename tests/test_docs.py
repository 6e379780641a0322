"""The documentation is true where that can be checked."""

import re
from pathlib import Path

import msgspec
import pytest

from kaa import cli
from kaa.builtin import background, commands, prompt, tools
from kaa.core.hooks import BeforeTool
from kaa.core.messages import ToolCall
from kaa.ext.api import PromptContext
from kaa.ext.loader import load_extension
from kaa.ext.registry import Registry
from kaa.frontends.exit_codes import ExitCode
from kaa.hands.policy import PROTECTED_NAMES, Mode
from kaa.shell.approvals.calls import Call, examine
from kaa.shell.approvals.coverage import permission
from kaa.shell.approvals.grammar import read
from kaa.shell.approvals.rule_file import parse_rules
from kaa.shell.approvals.rules import parse_rule
from kaa.shell.home import Home
from kaa.shell.safety import SandboxFlags, sandbox_options
from kaa.shell.settings import Settings, load_user_settings
from kaa.workspace.memory import MemoryWorkspace
from tests.support.agents import run

_ROOT = Path(__file__).parent.parent


def test_the_example_extension_works_as_it_stands(tmp_path: Path) -> None:
    source = re.search(r"```python\n(.*?)```", (_ROOT / "docs/extensions.md").read_text(), re.DOTALL)
    assert source is not None
    (tmp_path / "example.py").write_text(source[1])
    registry = Registry(MemoryWorkspace({"a.txt": b"1\n2\n"}), lambda _: None)

    registry.load("built-in", prompt.extend)
    registry.load("example", load_extension(tmp_path / "example.py"))

    (count,) = registry.tools
    (hook,) = registry.hooks.before
    assert "British" in registry.system_prompt(PromptContext("/p", "2026-01-01", registry.tools))
    assert list(registry.commands) == ["review"]
    assert count.risk == "read"
    assert run(_judged(hook, ToolCall("1", "bash", {"command": "git push --force"}))) is not None
    assert run(count.tool.run({"path": "a.txt"}, _NoRun())).content[0].text == "2 lines"  # type: ignore[union-attr]  # text


async def _judged(hook: BeforeTool, call: ToolCall) -> object:
    return await hook(call)


class _NoRun:
    """A run nobody watches."""

    call_id = "1"
    permit = None

    def update(self, delta: str, skipped_bytes: int = 0) -> None:
        """Nobody watches."""


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


def test_every_exit_code_is_documented() -> None:
    documented = re.findall(r"^\| (\d+) \|", (_ROOT / "docs/usage.md").read_text(), re.MULTILINE)

    assert {int(code) for code in documented} == {code.value for code in ExitCode} - {ExitCode.INTERRUPTED}


def test_every_tool_and_slash_command_is_documented() -> None:
    registry = Registry(MemoryWorkspace({}), lambda _: None)
    for module in (tools, commands, background):
        registry.load(module.__name__, module.extend)
    usage = _document("usage")

    assert [tool.name for tool in registry.tools if tool.name not in usage] == []
    assert [name for name in registry.commands if f"`/{name}" not in usage] == []


def test_every_setting_is_documented() -> None:
    usage = _document("usage")

    assert [
        field.encode_name for field in msgspec.structs.fields(Settings) if f"`{field.encode_name}`" not in usage
    ] == []


def test_the_flags_for_safety_are_those_of_the_command_line(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        cli.main(["--help"])
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

    for example in examples:
        (tmp_path / "settings.json").write_text(example)
        chosen = load_user_settings(tmp_path / "settings.json").approvals
        parse_rules(chosen.allow, chosen.deny, document)
        sandbox_options(Home(tmp_path), SandboxFlags())

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
    commands = _quoted(_between("So is every command with a variable", "A rule with ` *`"))

    assert commands
    assert [command for command in commands if read(command).obstacle is None] == []


def test_what_is_called_destructive_is_asked_about() -> None:
    commands = _quoted(_between("These ask even in `auto`", "and their like").partition(":")[2])

    assert commands
    assert [command for command in commands if not _examined(command).losses] == []


class _Sandbox:
    """Confines, as by default."""

    confined = True
    mode: Mode = "workspace-write"
    root = "/project"
    writable = ("/project", "/tmp")
    temporary = ("/tmp",)
    private_temporary = ("/tmp",)


def _examined(command: str) -> Call:
    return examine(ToolCall("1", "bash", {"command": command}), "command", _Sandbox())


def _allows(rule: str, command: str) -> bool:
    return permission(_examined(command), [parse_rule(rule)], _Sandbox.root) is not None


def _document(name: str) -> str:
    return (_ROOT / f"docs/{name}.md").read_text()


def _between(start: str, end: str) -> str:
    return _document("approvals").partition(start)[2].partition(end)[0]


def _quoted(text: str) -> list[str]:
    return re.findall(r"`([^`]+)`", text.replace("\n", " "))
