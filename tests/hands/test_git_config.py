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
        "[alias]\nst = -c core.pager=evil status",
        "[alias]\nst = -c alias.x=!evil x",
        "[alias]\nst = -c core.worktree=/etc status",
        "[alias]\nst = --exec-path=. status",
        "[alias]\nst = -C node_modules/evil status",
        "[alias]\nst = --git-dir=evil status",
        "[alias]\nup = fetch --upload-pack evil",
        "[alias]\nup = pull --upl=evil",
        "[alias]\nup = push '--'exec=evil",
        "[alias]\nup = fetch ext::evil",
        "[alias]\nr = rebase -ix evil",
        '[alias]\nd = difftool --extcmd="evil -x"',
        "[alias]\nd = difftool -yx evil",
        "[alias]\ng = grep -nOevil x",
        "[alias]\ng = grep --open-files-in-pager=evil x",
        "[alias]\nd = diff --output=/home/user/.bashrc",
        "[alias]\nc = config --global core.pager evil",
        "[alias]\nb = bisect run evil",
        "[alias]\ns = submodule foreach evil",
        "[alias]\nx = filter-branch",
        "[alias]\nx = remote-ext origin evil",
        '[alias "x"]\ncommand = !evil',
        '[branch "main"]\nremote = ext::evil',
        '[submodule "x"]\nurl = ext::evil',
        "[rebase]\ninstructionFormat = %s%nexec evil",
        "[merge]\ntool = ../../evil",
        "[credential]\nuiHelper = evil",
        "[instaweb]\nmodulePath = evil",
        '[gitflow "path"]\nhooks = evil',
        '[tig "bind"]\ngeneric = !evil',
        "[include]\npath = on",
        '[includeIf "gitdir:/"]\npath',
        "[core]\nhooksPath = 1",
        '[core]\nhooksPath = " "',
        "[init]\ntemplateDir = true",
        "[instaweb]\nmodulePath = no",
        '[gitflow "path"]\nhooks = 1',
        '[difftool "x"]\npath = on',
        '[diff]\nexternal = " "',
        "[http]\ncookieFile = /home/x/.bashrc",
        '[http "https://x"]\ncookieFile = on',
        "[trace2]\neventTarget = /home/x/.bashrc",
        "[gitcvs]\nlogFile = /home/x/.bashrc",
        "[format]\noutputDirectory = /home/x/.bashrc.d",
        "[format]\nsuffix = /../../.bashrc",
        "[sendemail]\nsmtpServerOption = -X/home/x/.bashrc",
        "[http]\nsslCert = pkcs11:module-path=evil",
        "[commit]\ntemplate = ~/.ssh/id_ed25519",
        "[core]\nattributesFile = ~/.netrc",
        "[blame]\nignoreRevsFile = ~/.netrc",
        '[gpg "ssh"]\nallowedSignersFile = ~/.netrc',
        "[http]\nproxy = http://127.0.0.1:1",
        '[http "https://github.com"]\nsslVerify = false',
        "[http]\nsslCAInfo = evil.pem",
        '[remote "origin"]\nproxy = http://127.0.0.1:1',
        '[mergetool "vimdiff"]\nlayout = $(evil)',
        '[url "ext"]\ninsteadOf = x',
        "[core]\npager = less +!evil",
        "[core]\npager = ./less",
        "[credential]\nhelper = store --file=/home/x/.bashrc",
        "[credential]\nhelper = /x/store",
        '[tig "bind"]\ngeneric = x !evil',
        "[tig]\ndiff-highlight = ./evil",
        "[gui]\nspellingDictionary = evil",
        "[annex]\nweb-options = --config=evil",
        '[remote "x"]\nannex-rsync-options = -e evil',
        "[annex]\nyoutube-dl-options = --exec evil",
        '[lfs "customtransfer.x"]\nargs = evil',
        "[lfs]\nstandaloneTransferAgent = evil",
        "[pull]\ntwohead = evil",
        '[branch "main"]\nmergeOptions = -s evil',
        "[extensions]\nrefStorage = reftable:///home/x",
        "[tool-of-tomorrow]\nenabled = true",
        "[core]\nvariableOfTomorrow = 1",
        "[man]\nviewer = evil",
        "[sendemail]\naliasesFile = /home/x",
        "[svn]\nauthorsFile = evil",
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
        "[alias]\nlg = log --graph --pretty=format:'%h -%d %s (%cr) <%an>' --oneline --output-indicator-new=x",
        "[alias]\nst = -c color.status=always --no-pager status -sb\naliases = config --get-regexp ^alias",
        "[alias]\nup = pull --rebase --autostash origin\nsu = submodule update --init --recursive\ndt = difftool -y",
        '[gitflow "path"]\nhooks = /home/x/project/.git/hooks\n[merge]\ntool = vimdiff',
        "[core]\npager = less\n[pager]\ndiff = less -FRX\nlog = cat\n[credential]\nhelper = store",
        "[credential]\nhelper = osxkeychain\nhelper = cache",
        '[lfs]\nrepositoryformatversion = 0\n[lfs "https://x/info/lfs"]\naccess = basic\nlocksverify = true',
        '[filter "lfs"]\nrequired = true\n[remote "origin"]\ngh-resolved = base\npromisor = true',
        '[branch "x"]\nvscode-merge-base = origin/main\n[gitflow "prefix"]\nfeature = feature/\nversiontag =',
        '[gitflow "branch"]\nmaster = main\ndevelop = develop\n[gui]\nwmstate = normal\ngeometry = 887x427+26+26',
        '[submodule]\nactive = .\n[submodule "x"]\nurl = ../x\n[extensions]\nworktreeConfig = true\nrefStorage = files',
        '[color "status"]\nadded = green\n[advice]\ndetachedHead = false\n[fsck]\nmissingSpaceBeforeDate = ignore',
        '[svn-remote "svn"]\nurl = https://x\nfetch = trunk:refs/remotes/trunk\n[annex]\nuuid = 1\nversion = 10',
        '[core]\nhooksPath =\n[format]\nsuffix = .txt\n[mergetool "vimdiff"]\nlayout = (LOCAL,BASE)/MERGED + @REMOTE',
    ],
)
def test_what_git_writes_by_itself_is_harmless(text: str) -> None:
    assert executing_entries(text.encode()) == frozenset()


@pytest.mark.skipif(_GIT is None, reason="needs git")
@pytest.mark.parametrize(
    ("text", "command"),
    [
        ("[core]\nfsmonitor = {evil}", "status"),
        ("[alias]\nst = !{evil}", "st"),
        ("[alias]\nst = -c core.fsmonitor={evil} status", "st"),
        ("[alias]\nst = '-'c core.fsmonitor={evil} \\\"status\\\"", "st"),
        ("[alias]\nst = -c alias.x=!{evil} x", "st"),
        ("[alias]\ng = grep --open={evil} -e x", "g"),
        ("[alias]\ng = grep -nO{evil} -e x", "g"),
        ("[alias]\nd = difftool -yx {evil} HEAD~1", "d"),
        ("[alias]\nr = rebase --exe {evil} HEAD~1", "r"),
        ("[alias]\nl = ls-remote --upl {evil} .", "l"),
        ("[alias]\np = push --receive {evil} . HEAD:refs/heads/x", "p"),
        ("[alias]\nb = submodule--helper foreach {evil}\n[diff]\nexternal = {evil}", "diff HEAD~1"),
        ("[rebase]\ninstructionFormat = %s%nexec {evil}", "rebase --force-rebase HEAD~1"),
        ("[diff]\ntool = ../../../../../../../../{evil}", "difftool -y HEAD~1"),
        ('[filter "x"]\nclean = {evil}', "-c core.attributesFile={attributes} add --renormalize ."),
        ('[diff "x"]\ntextconv = {evil}', "-c core.attributesFile={attributes} diff HEAD~1"),
        ('[tar "x"]\ncommand = {evil}', "archive --format=x HEAD"),
        ("[gc]\nrecentObjectsHook = {evil}\n[core]\nhooksPath = {hooks}", "commit --allow-empty -m x"),
        ('[trailer "x"]\ncommand = {evil}', "interpret-trailers {attributes}"),
        ("[gpg]\nprogram = {evil}", "commit -S --allow-empty -m x"),
        ("[init]\ntemplateDir = x\n[sequence]\neditor = {evil}", "rebase -i HEAD~1"),
        ("[include]\npath = on", "status"),
        ("[core]\nhooksPath = 1", "commit --allow-empty -m x"),
        ('[diff]\nexternal = " "', "diff HEAD~1"),
        ('[protocol]\nallow = always\n[url "ext"]\ninsteadOf = x\n[remote "x"]\nurl = x::{evil}', "fetch x"),
        ('[protocol]\nallow = always\n[branch "main"]\nremote = ext::{evil}', "fetch"),
    ],
)
def test_what_git_executes_is_found(tmp_path: Path, text: str, command: str) -> None:
    """The canary is a file that the program makes when the real git runs it."""
    assert _GIT is not None
    repository, canary, evil, hooks = (tmp_path / name for name in ("x", "canary", "evil", "hooks"))
    evil.write_text(f"#!/bin/sh\n: > {canary}\n")
    evil.chmod(0o755)
    hooks.mkdir()
    (hooks / "pre-commit").symlink_to(evil)
    (tmp_path / "attributes").write_text("* filter=x diff=x\n")
    environment = _ENVIRONMENT | {
        f"GIT_{who}_{what}": "x@example.com" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")
    }

    def git(*arguments: str, check: bool) -> None:
        subprocess.run(
            [_GIT, *arguments],
            cwd=repository,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=check,
        )

    repository.mkdir()
    git("init", "-b", "main", check=True)
    (repository / "d").mkdir()
    program = repository / "d" / "file"
    for content in ("x", "x x"):
        (repository / "file").write_text(content)
        program.write_text(f"#!/bin/sh\n: > {canary}\n# {content}\n")
        program.chmod(0o755)
        git("add", "file", "d", check=True)
        git("commit", "-m", content, check=True)
    (repository / ".git" / "on").write_text(f"[core]\n\tfsmonitor = {evil}\n")
    (repository / "1").symlink_to(hooks)
    places = {"evil": evil, "hooks": hooks, "attributes": tmp_path / "attributes"}
    config = text.format(**places)
    with (repository / ".git" / "config").open("a") as file:
        file.write(config + "\n")

    git(*command.format(**places).split(), check=False)

    assert canary.exists()
    assert executing_entries(config.encode())


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
