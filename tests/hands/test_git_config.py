import os
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kaa.hands.git_config import ConfigSyntaxError, executing_entries, parse

_GIT = shutil.which("git")
_ENVIRONMENT = {"PATH": os.defpath, "GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.devnull}
# Pieces of which some make sense together.
_PIECES = [
    "[a",
    "[core]",
    '[x "y',
    '"]',
    "]",
    "\n",
    "\r\n",
    " ",
    "\t",
    "k",
    "Key-1",
    "=",
    '"',
    "\\",
    "\\n",
    "#",
    ";",
    "é",
]


@pytest.mark.parametrize(
    "text",
    [
        "[core]\n\tfsmonitor = ./evil",
        "[CORE] FsMonitor=./evil",
        "[core]\nhooksPath = .husky",
        '[filter "x"]\nclean = ./evil',
        "[filter.x]\nprocess = evil",
        '[diff "x"]\n textconv = "evil" # quoted',
        "[diff]\nexternal=evil",
        '[merge "x"]\ndriver = evil %A',
        '[credential "https://x"]\nhelper = !evil',
        "[alias]\nst = !evil",
        "[include]\npath = ../evil",
        '[includeIf "gitdir:/"]\npath = evil',
        "[gpg]\nprogram = evil",
        '[gpg "ssh"]\ndefaultKeyCommand = evil',
        "[pager]\nlog = evil",
        "[sequence]\neditor = evil",
        '[submodule "x"]\nupdate = !evil',
        '[remote "x"]\nuploadpack = evil',
        '[remote "x"]\nurl = ext::sh -c evil',
        '[url "ext::sh -c evil"]\ninsteadOf = https://',
        "[protocol]\nallow = always",
        '[difftool "x"]\npath = evil',
        '[hook "x"]\ncommand = evil',
        "[init]\ntemplateDir = evil",
        "[core]\nfsmonitor = tr\\\nap",
        "\ufeff[core]\nfsmonitor = evil",
        "[core",
        "[core]\nfsmonitor = \\x",
        "= 1",
        "[core]\n\0",
    ],
)
def test_an_entry_that_executes_is_found_however_it_is_written(text: str) -> None:
    assert executing_entries(text.encode())


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = false\n\tlogallrefupdates = true\n",
        '[remote "origin"]\n\turl = git@host.example:a/b.git\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n',
        '[branch "main"]\n\tremote = origin\n\tmerge = refs/heads/main\n\trebase = true',
        "[core]\nfsmonitor = true\n[pager]\nlog = false\n[credential]\nhelper =",
        '[alias]\nst = status\n[submodule "x"]\nupdate = rebase\n[diff "x"]\nxfuncname = "^x"',
        "[user]\nname = fsmonitor = evil\n# [core]\n; fsmonitor = evil",
        "[user]\nsigningkey = x\n[gpg]\nformat = ssh",
    ],
)
def test_what_git_writes_by_itself_is_harmless(text: str) -> None:
    assert executing_entries(text.encode()) == frozenset()


def test_two_programs_for_one_key_are_two_entries() -> None:
    before = executing_entries(b"[core]\npager = less")

    assert executing_entries(b"[core]\npager = less\n[core]\npager = evil") - before == {"core.pager=evil"}


@given(st.binary(max_size=200) | st.lists(st.sampled_from(_PIECES), max_size=30).map(lambda p: "".join(p).encode()))
def test_any_content_is_judged(data: bytes) -> None:
    assert isinstance(executing_entries(data), frozenset)


@pytest.mark.skipif(_GIT is None, reason="needs git")
@settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture]
)
@given(text=st.lists(st.sampled_from(_PIECES), max_size=14).map("".join))
def test_git_reads_the_same_entries(tmp_path: Path, text: str) -> None:
    assert _GIT is not None
    path = tmp_path / "config"
    path.write_bytes(b"[core]\n" + text.encode())
    listing = subprocess.run(
        [_GIT, "config", "--file", path, "--list", "--null"], capture_output=True, env=_ENVIRONMENT, check=False
    )

    try:
        ours = [(entry.key, entry.value) for entry in parse(path.read_bytes())]
    except ConfigSyntaxError:
        assert listing.returncode != 0
        return

    assert listing.returncode == 0
    pairs = [record.partition("\n") for record in listing.stdout.decode().split("\0")[:-1]]
    theirs = [(key, value if separator else "true") for key, separator, value in pairs]
    # Versions of git differ in what they make of tabs within a value; nothing we judge depends on it.
    assert [(key, value.replace("\t", " ")) for key, value in ours] == [
        (key, value.replace("\t", " ")) for key, value in theirs
    ]
