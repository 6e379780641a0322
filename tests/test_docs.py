"""The documentation is true where that can be checked."""

import re
from pathlib import Path

from kaa.builtin import prompt, tools
from kaa.core.hooks import BeforeTool
from kaa.core.messages import ToolCall
from kaa.ext.api import PromptContext
from kaa.ext.loader import load_extension
from kaa.ext.registry import Registry
from kaa.frontends.exit_codes import ExitCode
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


def test_every_tool_is_documented() -> None:
    registry = Registry(MemoryWorkspace({}), lambda _: None)
    registry.load("tools", tools.extend)
    usage = (_ROOT / "docs/usage.md").read_text()

    assert [tool.name for tool in registry.tools if tool.name not in usage] == []
