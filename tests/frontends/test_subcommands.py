"""Commands with subcommands: how they end."""

import argparse
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from kaa.frontends.subcommands import Subcommand, run_subcommand
from kaa.shell.home import Home

_PROGRAM = """
import pathlib, subprocess, sys
from kaa.frontends.subcommands import Subcommand, run_subcommand

folder = pathlib.Path(sys.argv[1])

def run(parsed, home):
    folder.mkdir()
    try:
        # Later than it was started: a signal in the middle of that would not find it.
        child = ["sh", "-c", "sleep 0.5; echo $$; exec sleep 600"]
        subprocess.run(child, check=True)
    finally:
        folder.rmdir()
    return 0

sys.exit(run_subcommand("x", "", {"do": Subcommand("do", "", lambda _: None, run)}, (), ["do"], "/"))
"""


def test_sigterm_ends_what_the_command_waits_for_and_cleans_up(tmp_path: Path) -> None:
    folder = tmp_path / "begun"
    with subprocess.Popen(
        [sys.executable, "-c", _PROGRAM, str(folder)], stdout=subprocess.PIPE, encoding="utf-8"
    ) as process:
        assert process.stdout is not None
        child = int(process.stdout.readline())
        process.send_signal(signal.SIGTERM)
        code = process.wait()

    assert code == 128 + signal.SIGTERM
    assert not folder.exists()
    assert not Path(f"/proc/{child}").exists()


def test_a_command_alone_lists_if_it_can(capsys: pytest.CaptureFixture[str]) -> None:
    ran: list[str] = []

    def run(parsed: argparse.Namespace, _home: Home) -> int:
        ran.append(parsed.command)
        return 0

    subcommands = {name: Subcommand(name, "", lambda _: None, run) for name in ("list", "add")}

    assert run_subcommand("x", "", subcommands, (), [], "/") == 0
    with pytest.raises(SystemExit):
        run_subcommand("x", "", {"add": subcommands["add"]}, (), [], "/")

    assert ran == ["list"]
    assert capsys.readouterr().err == "kaa: kaa x needs a command: add. See kaa x --help.\n"
