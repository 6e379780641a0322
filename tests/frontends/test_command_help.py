"""Every command of kaa shows its help, with an example, and tells of a mistake in one line that says what to do."""

import re
from collections.abc import Sequence
from pathlib import Path

import pytest

from kaa import cli
from kaa.frontends import agents_command, sessions_command, worktrees_command
from kaa.frontends.extensions import command as ext_command
from kaa.frontends.lab import command as lab_command
from kaa.frontends.mcp import command as mcp_command
from kaa.frontends.plugins import command as plugin_command

_GROUPS: dict[str, Sequence[str]] = {
    "agents": [*agents_command.SUBCOMMANDS, "start"],
    "auth": ["check"],
    "ext": list(ext_command.SUBCOMMANDS),
    "lab": list(lab_command.SUBCOMMANDS),
    "mcp": [*mcp_command.SUBCOMMANDS, "serve"],
    "plan": ["run"],
    "plugin": [*plugin_command.SUBCOMMANDS],
    "plugin marketplace": ["add", "list", "update", "remove"],
    "sessions": list(sessions_command.SUBCOMMANDS),
    "worktrees": list(worktrees_command.SUBCOMMANDS),
}
_ALONE = ("demo", "doctor", "import", "login", "logout", "models", "sandbox", "stats")
_ALL = [*_ALONE, *_GROUPS, *(f"{group} {name}" for group, names in _GROUPS.items() for name in names)]


class Ran:
    """A command that ended.

    Attributes:
        code: its exit code.
        out: what it printed.
        err: what it printed to standard error.
    """

    def __init__(self, line: str, capsys: pytest.CaptureFixture[str]) -> None:
        try:
            self.code = cli.run(line.split())
        except SystemExit as error:
            self.code = int(error.code or 0)
        self.out, self.err = capsys.readouterr()


@pytest.fixture(autouse=True)
def _alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KAA_DIR", str(tmp_path / "home"))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("command", _ALL)
def test_help_has_usage_options_and_an_example(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    helped = Ran(f"{command} --help", capsys)

    assert (helped.code, helped.err) == (0, "")
    assert helped.out.startswith(f"usage: kaa {command}")
    assert "--help" in helped.out
    example = helped.out.lower().partition("\nexample")[2]
    assert re.match(r"s?:\n  ", example)
    assert f"kaa {command}" in example


@pytest.mark.parametrize("command", [one for one in _ALL if one != "plan"])
def test_an_unknown_option_is_told_in_one_line(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    wrong = Ran(f"{command} --no-such-option", capsys)

    assert (wrong.code, wrong.out) == (2, "")
    assert wrong.err.count("\n") == 1
    assert wrong.err.startswith("kaa: ")
    assert "--no-such-option" in wrong.err
    assert wrong.err.endswith(f"See kaa {command} --help.\n")


@pytest.mark.parametrize("group", [one for one in _GROUPS if one != "plan"])
def test_an_unknown_subcommand_is_told_with_those_there_are(group: str, capsys: pytest.CaptureFixture[str]) -> None:
    wrong = Ran(f"{group} no-such-command", capsys)

    assert (wrong.code, wrong.out, wrong.err.count("\n")) == (2, "", 1)
    assert wrong.err.startswith(f"kaa: kaa {group} has no command 'no-such-command'. Choose from: ")
    assert set(_GROUPS[group]) - {"start", "serve"} <= set(re.findall(r"[\w-]+", wrong.err))


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("auth", "kaa auth needs a command: check. See kaa auth --help."),
        ("plugin marketplace", "kaa plugin marketplace needs a command: add, list, update, remove."),
        ("plan", "kaa plan needs a command: run. See kaa plan --help."),
        ("plan run", "plan run takes one file: kaa plan run FILE"),
        ("plan run missing.md", "there is no file 'missing.md'"),
        ("plan here.md", "kaa plan: this takes a command: kaa plan run here.md"),
        ("mcp get", "kaa mcp get needs NAME. Usage: kaa mcp get [--json] NAME"),
        ("mcp get missing", "there is no MCP server 'missing' here"),
        ("mcp remove missing", "mcp.json has no server 'missing': kaa mcp list shows"),
        ("mcp import", "kaa mcp import needs AGENT. Usage: kaa mcp import [-y] AGENT [SERVER ...]"),
        ("mcp add one", "give the address of one, or the command that starts it: kaa mcp add one URL, or"),
        ("mcp add-json one {", "MCP server one was not added"),
        ("ext install ./missing", "missing does not exist"),
        ("ext remove missing", "there is no extension 'missing'"),
        ("plugin remove missing", "there is no plugin 'missing'"),
        ("plugin install ./missing", "missing does not exist"),
        ("worktrees merge missing", "there is no worktree 'missing'"),
        ("agents stop missing", "nothing that is open begins with 'missing'"),
        ("lab list --tasks missing", "missing: name a folder of tasks with --tasks DIR"),
        ("login missing", "there is no provider 'missing'"),
        ("sessions rename one", "kaa sessions rename needs NAME. Usage: "),
        ("sessions show missing", "no session file or id that starts or ends with 'missing' was found"),
        ("stats --days x", "kaa stats: argument --days: 'x' is not a whole number from 1 on. See kaa stats --help."),
        ("demo now", "kaa demo takes no argument 'now'. See kaa demo --help."),
        ("--plan missing/plan.md hi", "argument --plan: there is no folder 'missing': make it"),
        ("-p --patch missing/x.diff hi", "argument --patch: there is no folder 'missing': make it"),
    ],
)
def test_a_mistake_exits_with_2_and_says_what_to_do(
    tmp_path: Path, line: str, told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "here.md").write_text("")

    wrong = Ran(line, capsys)

    assert (wrong.code, wrong.out, wrong.err.count("\n")) == (2, "", 1)
    assert wrong.err.startswith("kaa: ")
    assert told in wrong.err


@pytest.mark.parametrize(
    ("command", "told"), [("plan run", "FILE  *the plan"), ("agents start", "TASK  *what to do"), ("mcp serve", "")]
)
def test_help_names_the_argument_of_its_usage(command: str, told: str, capsys: pytest.CaptureFixture[str]) -> None:
    helped = Ran(f"{command} --help", capsys).out

    assert re.search(f"^  {told}", helped, re.MULTILINE)
    assert not re.search("^  message ", helped, re.MULTILINE)


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("mcp add", "kaa: kaa mcp add needs NAME"),
        ("ext permit nope", "kaa: there is no extension 'nope'"),
    ],
)
def test_a_missing_name_is_what_a_mistake_is_about(line: str, told: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert Ran(line, capsys).err.startswith(told)
