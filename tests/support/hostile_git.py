"""A repository whose configuration names a program for everything git could execute. Each leaves a canary behind."""

import os
import subprocess
from pathlib import Path

# Keys whose value git executes, as it is or in a shell: git-config(1), gitattributes(5), CVE records of other agents.
_EXECUTED = (
    "core.fsmonitor",
    "core.pager",
    "core.editor",
    "core.sshCommand",
    "core.askPass",
    "core.gitProxy",
    "core.alternateRefsCommand",
    "sequence.editor",
    "pager.status",
    "pager.config",
    "pager.symbolic-ref",
    "pager.rev-parse",
    "interactive.diffFilter",
    "diff.external",
    "diff.evil.command",
    "diff.evil.textconv",
    "merge.evil.driver",
    "filter.evil.clean",
    "filter.evil.smudge",
    "filter.evil.process",
    "gpg.program",
    "gpg.ssh.program",
    "gpg.ssh.defaultKeyCommand",
    "credential.helper",
    "remote.origin.uploadpack",
    "remote.origin.receivepack",
    "uploadpack.packObjectsHook",
    "submodule.sub.update",
    "trailer.evil.command",
    "man.evil.cmd",
    "browser.evil.cmd",
    "difftool.evil.cmd",
    "mergetool.evil.cmd",
    "sendemail.smtpServer",
    "tar.evil.command",
    "guitool.evil.cmd",
    "imap.tunnel",
    "alias.status",
    "alias.config",
    "alias.symbolic-ref",
    "alias.rev-parse",
)
_SWITCHES = {
    "filter.evil.required": "true",
    "log.showSignature": "true",
    "commit.gpgSign": "true",
    "status.submoduleSummary": "true",
    "submodule.recurse": "true",
    "diff.ignoreSubmodules": "none",
    "diff.submodule": "diff",
    "submodule.sub.ignore": "none",
    "submodule.sub.active": "true",
    "submodule.sub.url": "ext::sh -c touch% CANARY/ext",
    "protocol.allow": "always",
    "protocol.ext.allow": "always",
    "remote.origin.url": "ext::sh -c touch% CANARY/ext",
    "remote.origin.promisor": "true",
    "remote.origin.partialclonefilter": "blob:none",
    "extensions.partialClone": "origin",
    "core.repositoryFormatVersion": "1",
    "fetch.recurseSubmodules": "true",
    "core.untrackedCache": "true",
    "advice.statusHints": "true",
}
_HOOKS = (
    "post-checkout",
    "pre-commit",
    "post-index-change",
    "reference-transaction",
    "fsmonitor-watchman",
    "pre-auto-gc",
)


def git(folder: Path, *arguments: str) -> str:
    """Run git as its users do, with nobody's configuration but the repository's."""
    environment = {"PATH": os.environ["PATH"], "HOME": str(folder), "GIT_CONFIG_NOSYSTEM": "1", "LC_ALL": "C"}
    identity = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org", "-c", "protocol.file.allow=always")
    done = subprocess.run(
        ["git", *identity, *arguments], cwd=folder, env=environment, capture_output=True, text=True, check=True
    )
    return done.stdout


def hostile_repository(folder: Path, canaries: Path) -> None:
    """Make one in `folder`: on branch `main`, with `changed.txt`, `staged.txt`, a submodule and an untracked file.

    Args:
        folder: where; it must not exist.
        canaries: a folder; whatever is executed makes a file in it.
    """
    canaries.mkdir(exist_ok=True)
    module = folder.parent / f"{folder.name}-submodule"
    for repository in (module, folder):
        repository.mkdir(parents=True)
        git(repository, "init", "-q", "-b", "main")
        for name in ("changed.txt", "staged.txt", "same.txt"):
            (repository / name).write_text("before\n")
        git(repository, "add", ".")
        git(repository, "commit", "-qm", "first")
    git(folder, "submodule", "add", "-q", str(module), "sub")
    (folder / ".gitattributes").write_text("* filter=evil diff=evil merge=evil\n")
    git(folder, "add", ".gitattributes")
    git(folder, "commit", "-qm", "second")
    (folder / "changed.txt").write_text("after\n")
    (folder / "staged.txt").write_text("after\n")
    git(folder, "add", "staged.txt")
    (folder / "untracked.txt").write_text("new\n")
    (folder / "sub" / "changed.txt").write_text("after\n")
    (folder / ".git" / "info" / "attributes").write_text("* filter=evil diff=evil\n")
    _arm(folder / ".git", canaries)
    _arm(folder / ".git" / "modules" / "sub", canaries)
    # Same size, other time: git has to look at the content, and would have it filtered.
    os.utime(folder / "same.txt", (1, 1))


def _arm(repository: Path, canaries: Path) -> None:
    hooks = repository / "hostile-hooks"
    hooks.mkdir()
    for name in _HOOKS:
        (hooks / name).write_text(f"#!/bin/sh\ntouch {canaries}/hook-{name}\n")
        (hooks / name).chmod(0o755)
    executed = {key: f"touch {canaries}/{key}; cat" for key in _EXECUTED}
    executed |= {key: f"!touch {canaries}/{key}" for key in _EXECUTED if key.startswith(("alias.", "submodule."))}
    switches = {key: value.replace("CANARY", str(canaries)) for key, value in _SWITCHES.items()}
    settings = {**executed, **switches, "core.hooksPath": str(hooks)}
    included = repository / "included"
    for key, value in settings.items():
        subprocess.run(["git", "config", "--file", str(included), key, value], check=True)
    with (repository / "config").open("a") as config:
        config.write(f"[include]\n\tpath = {included}\n")
