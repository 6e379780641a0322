"""Syntax errors that an edit makes: of every language that is parsed, only new ones, and whatever a file contains."""

import asyncio
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

from kaa.core.tool import text_result
from kaa.workspace.local import LocalWorkspace
from kaa.workspace.parsing import Parsed
from tests.support.patience import HANG_SECONDS
from tests.support.toolbox import text_of

if TYPE_CHECKING:
    from tests.builtin.diagnostics.conftest import AtDesk, Desk

_PYTHON = f"Python {sys.version_info[0]}.{sys.version_info[1]}"


def test_a_new_syntax_error_follows_the_result(at_desk: "AtDesk") -> None:
    async def scene(desk: "Desk") -> None:
        assert await desk.edit("a.py", "def f():\n    return (1\n") == [
            f"a.py:2:12: SyntaxError: '(' was never closed ({_PYTHON})"
        ]

    at_desk(scene, {"a.py": "def f():\n    return 1\n"})


# Files that are right and wrong, and where the mistake is found.
_LANGUAGES = [
    ("a.py", "x = 1\n", "if x:\nx = 1\n", "a.py:2:1: IndentationError"),
    ("a.pyi", "x: int\n", "x: = int\n", "a.pyi:1:4: SyntaxError"),
    ("a.json", '{"a": 1}', '{"a": 1,}', "a.json:1:8: "),
    ("a.toml", "a = 1\n", "a = 1\nb = \n", "a.toml:2:5: "),
    ("a.yaml", "a: 1\n", "a: [1\nb: 2\n", "a.yaml:2:2: "),
    ("a.yml", "a: 1\n", "a: 'x\n", "a.yml:2:1: "),
    ("a.sh", "echo a\n", "if true; then\necho a\n", "a.sh:3:1: syntax error"),
    ("run", "#!/bin/bash\necho a\n", "#!/bin/bash\necho a)\n", "run:2:1: syntax error"),
    ("tool", "#!/usr/bin/env python3\nx = 1\n", "#!/usr/bin/env python3\nx = \n", "tool:2:5: SyntaxError"),
]


def test_each_language_has_its_parser(at_desk: "AtDesk") -> None:
    async def scene(desk: "Desk") -> None:
        for name, good, bad, place in _LANGUAGES:
            assert await desk.edit(name, good) == []
            [line] = await desk.edit(name, bad)
            assert line.startswith(place)
            assert await desk.edit(name, good) == []

    at_desk(scene)


def test_comments_without_an_end_are_found_at_once(at_desk: "AtDesk") -> None:
    async def scene(desk: "Desk") -> None:
        assert await desk.edit("a.json", '{"a": 1, /* one */ "b": "/*"} /**/') == []
        assert await desk.edit("a.json", '{"a": 1} ' + "/* " * 50_000) == ["a.json:1:10: Extra data (json)"]

    at_desk(scene)


def test_a_comma_too_many_is_named_where_no_program_permits_it(at_desk: "AtDesk") -> None:
    async def scene(desk: "Desk") -> None:
        for path, before in (("package.json", '{"a": 1'), ("web/package.json", None)):
            if before is not None:
                await desk.edit(path, before)
            assert await desk.edit(path, '{\n  "a": [1],\n\n}\n') == [
                f"{path}:2:11: comma before }}: JSON has none there (json)"
            ]
        assert await desk.edit("b.json", '["ok",\n\n]') == []
        assert await desk.edit("b.json", '["ok"]') == []
        assert await desk.edit("b.json", '["ok",\n\n]') == ["b.json:1:6: comma before ]: JSON has none there (json)"]

    at_desk(scene)


def test_an_error_that_was_there_is_not_repeated(at_desk: "AtDesk") -> None:
    async def scene(desk: "Desk") -> None:
        assert await desk.edit("a.py", "# a comment above\n\nx = (1\n") == []

    at_desk(scene, {"a.py": "x = (1\n"})


_DIALECTS = [
    ("tsconfig.json", '{\n  // strict\n  "a": 1,\n}', '{\n  /* still */ "a": "// 2",\n  // b\n  "b": [1,],\n}'),
    ("new/tsconfig.json", None, '{\n  // strict\n  "a": 1,\n}'),
    ("chart.yaml", None, "a: {{ .Values.a }}\n  b: {{- if x }}\n"),
    ("a.zsh", None, "if [[ a ]] { echo a }\n"),
    ("zsh.sh", None, "#!/bin/zsh\nif [[ a ]] { echo a }\n"),
    ("notes.txt", None, "(((\n"),
    ("empty.py", None, ""),
]


def test_dialects_are_no_errors(at_desk: "AtDesk") -> None:
    async def scene(desk: "Desk") -> None:
        said = {name: await desk.edit(name, after) for name, _, after in _DIALECTS}

        assert [name for name, problems in said.items() if problems] == []

    at_desk(scene, {name: before for name, before, _ in _DIALECTS if before is not None})


def test_a_newer_python_of_the_project_has_the_last_word(at_desk: "AtDesk") -> None:
    newer = '#!/bin/sh\ncat > /dev/null\necho \'{"before": [], "after": [], "python": "3.99"}\'\n'

    async def scene(desk: "Desk") -> None:
        assert await desk.edit("a.py", "new syntax\n") == []

    at_desk(scene, {".venv/bin/python": newer})


def test_a_python_of_the_project_changes_nothing(at_desk: "AtDesk") -> None:
    hostile = "#!/bin/sh\ncat > /dev/null\necho x > written\necho '{}'\n"

    async def scene(desk: "Desk") -> None:
        assert len(await desk.edit("a.py", "new syntax\n")) == 1
        assert not (desk.root / "written").exists()

    at_desk(scene, {".venv/bin/python": hostile})


_HOSTILE: list[tuple[str, str | bytes]] = [
    ("deep.py", "(" * 100_000 + ")" * 100_000),
    ("long.py", "-" * 500_000 + "1"),
    ("deep.json", "[" * 400_000),
    ("deep.toml", "a = " + "[" * 200_000),
    ("deep.yaml", "[" * 100_000),
    ("bomb.yaml", "a: &a [x]\n" + "".join(f"b{n}: &b{n} [{', '.join(['*a'] * 100)}]\n" for n in range(100))),
    ("nul.py", "x = 1\0\n"),
    ("binary.json", b"\xff\xfe\x00"),
    ("binary.py", b"\xff\xfe\x00"),
    ("binary.yaml", b"\x00\x01\xff"),
    ("binary.sh", b"\x00\x01\xff("),
    ("huge.py", "x = (\n" * 300_000),
]


def test_hostile_files_cost_nothing_but_their_check(at_desk: "AtDesk") -> None:
    async def scene(desk: "Desk") -> None:
        for name, content in _HOSTILE:
            assert len(await desk.edit(name, content)) <= 1
            assert len(await desk.edit(f"after_{name}.json", "(")) == 1

    at_desk(scene)


@pytest.fixture
def parsing_goes_on(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Answers of the parser wait until this is called."""
    waits, parse = asyncio.Event(), LocalWorkspace.parse

    async def late(workspace: LocalWorkspace, language: str, before: bytes | None, after: bytes) -> Parsed | None:
        await waits.wait()
        return await parse(workspace, language, before, after)

    monkeypatch.setattr(LocalWorkspace, "parse", late)
    return waits.set


def test_a_check_that_takes_too_long_does_not_hold_up_the_edit(
    at_desk: "AtDesk", parsing_goes_on: Callable[[], None]
) -> None:
    async def scene(desk: "Desk") -> None:
        desk.seconds = 0.0
        assert await desk.edit("a.py", "(\n") == []
        parsing_goes_on()

    at_desk(scene)


def test_what_no_result_brought_is_told_when_the_run_would_end(
    at_desk: "AtDesk", parsing_goes_on: Callable[[], None]
) -> None:
    async def scene(desk: "Desk") -> None:
        desk.seconds = 0.0
        assert await desk.edit("a.json", "(") == []
        assert await desk.edit("b.json", "(") == []
        (desk.root / "b.json").write_text("[]")
        assert await desk.checks.left(desk.workspace, seconds=0.01) == ""
        asyncio.get_running_loop().call_later(0.05, parsing_goes_on)
        found = await desk.checks.left(desk.workspace, seconds=HANG_SECONDS)
        assert found.startswith("[new error] a.json:1:1: ")
        assert "b.json" not in found
        assert await desk.checks.left(desk.workspace, seconds=HANG_SECONDS) == ""

    at_desk(scene)


def test_what_a_check_finds_too_late_is_in_the_next_result_while_it_holds(
    at_desk: "AtDesk", parsing_goes_on: Callable[[], None]
) -> None:
    async def scene(desk: "Desk") -> None:
        desk.seconds = 0.0
        for name in ("a.json", "b.json", "c.json"):
            assert await desk.edit(name, "(") == []
        (desk.root / "a.json").write_text("[]")
        parsing_goes_on()
        told: list[str] = []
        while "c.json" not in "".join(told):  # which is parsed last
            if (result := await desk.checks.with_late(text_result("Read."), desk.workspace)) is not None:
                told.append(text_of(result))
            await asyncio.sleep(0.01)
        assert told[0].startswith("Read.\n\n[new error] b.json:1:1: ")
        assert "a.json" not in "".join(told)

    at_desk(scene)
