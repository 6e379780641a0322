"""`kaa sessions export`, `kaa sessions import` and `kaa --export`, as they are called."""

import json
from pathlib import Path

import pytest

from kaa import cli
from kaa.frontends.exit_codes import ExitCode
from tests.support.rich_session import write_rich_session
from tests.support.sessions import HEADER, user_entry, write_session


@pytest.fixture
def session(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A session file; the current directory is an empty project, the home is empty."""
    (tmp_path / "project").mkdir()
    monkeypatch.setenv("KAA_DIR", str(tmp_path / "home"))
    monkeypatch.setenv("PI_CODING_AGENT_DIR", str(tmp_path / "pi"))
    monkeypatch.chdir(tmp_path / "project")
    return write_rich_session(tmp_path)


def written(tmp_path: Path) -> list[str]:
    return sorted(path.name for path in (tmp_path / "project").iterdir())


def test_a_session_is_exported_under_a_name_of_its_own(
    session: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.run(["sessions", "export", str(session)]) == ExitCode.DONE

    assert written(tmp_path) == ["The-pendulum-66b696a1.html"]
    assert capsys.readouterr().out.startswith(f"wrote {tmp_path}/project/The-pendulum-66b696a1.html (")


def test_as_with_pi_a_file_may_follow(session: Path, tmp_path: Path) -> None:
    assert cli.run(["--export", str(session), "run.html"]) == ExitCode.DONE
    assert cli.run(["--export", str(session)]) == ExitCode.DONE

    assert written(tmp_path) == ["The-pendulum-66b696a1.html", "run.html"]


def test_the_format_can_be_said_beside_the_name(session: Path, tmp_path: Path) -> None:
    assert cli.run(["sessions", "export", str(session), "-o", "run.txt", "--format", "markdown"]) == ExitCode.DONE

    assert (tmp_path / "project" / "run.txt").read_text().startswith("# The pendulum")


def test_what_is_left_out_is_left_out(session: Path, tmp_path: Path) -> None:
    command = ["sessions", "export", str(session), "-o", "run.jsonl", "--all-branches", "--no-thinking", "--no-tools"]

    assert cli.run(command) == ExitCode.DONE

    text = (tmp_path / "project" / "run.jsonl").read_text()
    assert "Now write it in Rust" in text
    assert "First see what the test says" not in text
    assert 'toolCall"' not in text


def test_an_exported_session_can_be_imported_and_found(
    session: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cli.run(["sessions", "export", str(session), "-o", "run.jsonl", "--all-branches"])

    assert cli.run(["sessions", "import", "run.jsonl"]) == ExitCode.DONE

    assert f"resume it: kaa --session {HEADER['id']}" in capsys.readouterr().out
    cli.run(["sessions", "list", "--json"])
    assert [json.loads(line)["id"] for line in capsys.readouterr().out.splitlines()] == [HEADER["id"]]


def test_what_cannot_be_done_is_said(session: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_session(tmp_path / "project" / "there.html", user_entry("a", None, "hi"))

    codes = [
        cli.run(["sessions", "export", "no-such-session"]),
        cli.run(["sessions", "export", str(session), "-o", "there.html"]),
        cli.run(["sessions", "import", "missing.jsonl"]),
    ]

    assert codes == [ExitCode.USAGE, ExitCode.FAILED, ExitCode.USAGE]
    complaints = capsys.readouterr().err.splitlines()
    assert ["no-such-session" in complaints[0], "exists already" in complaints[1], "missing" in complaints[2]] == [
        True
    ] * 3


@pytest.mark.parametrize(
    "command", [["sessions", "export"], ["sessions", "import"], ["sessions", "export", "a", "--x"]]
)
def test_what_is_called_wrongly_is_bad_usage(session: Path, command: list[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        cli.run(command)

    assert ended.value.code == ExitCode.USAGE
