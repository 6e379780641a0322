import os
import signal
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from benchmarks.change.command import run
from benchmarks.change.report import Report
from benchmarks.change.sides import REPOSITORY
from tests.benchmarks.change.small_kaa import Checkout
from tests.support.processes import Processes


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    (tmp_path / "temporary").mkdir()
    return Checkout(tmp_path / "checkout")


def command(checkout: Checkout, *arguments: str) -> list[str]:
    """One measure, with a limit that no busy machine exceeds."""
    folder = checkout.path.parent / "temporary"
    options = ("--repository", str(checkout.path), "--folder", str(folder), "--only", "printed_turn", "--limit", "1000")
    return [sys.executable, "-m", "benchmarks.change", *options, *arguments]


def compare(checkout: Checkout, *arguments: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        command(checkout, "HEAD", *arguments), cwd=REPOSITORY, capture_output=True, encoding="utf-8", check=False
    )


def assert_nothing_is_left(checkout: Checkout) -> None:
    assert checkout.worktrees() == [str(checkout.path)]
    assert list((checkout.path.parent / "temporary").iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ((), "required: BASE"),
        (("HEAD", "--rounds", "0"), "'0' is not a number of pairs"),
        (("HEAD", "--rounds", "many"), "'many' is not a number of pairs"),
        (("HEAD", "--limit", "0.9"), "'0.9' is not a ratio"),
        (("HEAD", "--limit", "nan"), "'nan' is not a ratio"),
        (("HEAD", "--only", "everything"), "invalid choice: 'everything'"),
    ],
)
def test_arguments_without_sense_are_refused(
    arguments: tuple[str, ...], complaint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        run(arguments)

    assert ended.value.code == 2
    assert complaint in capsys.readouterr().err


def test_a_base_that_does_not_exist_is_named(checkout: Checkout, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["nowhere", "--repository", str(checkout.path)]) == 2
    assert "there is no commit 'nowhere'" in capsys.readouterr().err


def test_figures_that_could_not_be_written_are_not_measured(
    checkout: Checkout, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "missing" / "figures.json"

    assert run(["HEAD", "--repository", str(checkout.path), "--json", str(file)]) == 2
    assert f"cannot write {file}" in capsys.readouterr().err


def test_signals_are_as_before_when_the_comparison_has_ended(checkout: Checkout) -> None:
    before = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)]

    run(["nowhere", "--repository", str(checkout.path)])

    assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)] == before


def test_a_comparison_measures_both_sides_and_leaves_nothing(checkout: Checkout, tmp_path: Path) -> None:
    (checkout.sources / "new.py").touch()

    done = compare(checkout, "--rounds", "1", "--json", str(tmp_path / "figures.json"))

    assert done.returncode == 0, done.stderr
    assert "src has uncommitted changes (1 files)" in done.stderr
    assert "Nothing exceeds the limit of 1000." in done.stdout
    figures = msgspec.json.decode((tmp_path / "figures.json").read_bytes(), type=Report)
    assert [len(row.pairs) for row in figures.rows] == [1, 1]
    assert figures.changed == ["src/kaa/new.py"]
    assert_nothing_is_left(checkout)


def test_a_side_that_does_not_start_is_named_with_its_last_words(checkout: Checkout) -> None:
    checkout.write("def main():\n    raise SystemExit('kaa: out of order')\n")

    done = compare(checkout)

    assert done.returncode == 2
    assert "now does not start" in done.stderr
    assert "kaa: out of order" in done.stderr
    assert_nothing_is_left(checkout)


def test_signals_end_the_comparison_and_leave_nothing(checkout: Checkout) -> None:
    process = subprocess.Popen(
        command(checkout, "HEAD", "--rounds", "1000"), cwd=REPOSITORY, stderr=subprocess.PIPE, encoding="utf-8"
    )
    with process:
        assert process.stderr is not None
        while "measuring" not in process.stderr.readline():
            assert process.poll() is None
        started = Processes().descendants(process.pid)
        os.kill(process.pid, signal.SIGTERM)
        os.kill(process.pid, signal.SIGINT)  # does not stop the removal
        process.wait()

    assert process.returncode in (128 + signal.SIGTERM, 128 + signal.SIGINT)  # two at once come in any order
    Processes().wait_until_gone(*started)
    assert_nothing_is_left(checkout)
