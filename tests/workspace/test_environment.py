import os
import shutil
import subprocess
from pathlib import Path

import pytest

from kaa.workspace.environment import command_environment


@pytest.mark.parametrize(
    "name",
    [
        "ANTHROPIC_API_KEY",
        "OPENAI_APIKEY",
        "openai_api_key",
        "AWS_ACCESS_KEY_ID",
        "AWS_SECRET_ACCESS_KEY",
        "GITHUB_TOKEN",
        "HF_TOKEN_PATH",
        "NPM_CONFIG__AUTHTOKEN",
        "CLIENT_SECRET",
        "PGPASSWORD",
        "SMTP_PASS",
        "GITHUB_PAT",
        "GOOGLE_APPLICATION_CREDENTIALS",
        "SIGNING_KEY",
        "MYKEY",
        "DATABASE_URL",
        "SENTRY_DSN",
        "SESSION_COOKIE",
        "OTEL_EXPORTER_OTLP_HEADERS",
        "OTEL_EXPORTER_OTLP_TRACES_HEADERS",
        "ANTHROPIC_CUSTOM_HEADERS",
        "MYSQL_PWD",
        "SSHPASS",
        "KEYSTORE_PW",
        "LDAP_BINDPW",
        "BW_SESSION",
        "OP_SESSION_my",
        "FASTLANE_SESSION",
    ],
)
def test_secrets_are_dropped(name: str) -> None:
    assert name not in command_environment({name: "x"}, confined=False)


@pytest.mark.parametrize(
    "name",
    [
        "PATH",
        "HOME",
        "GIT_CONFIG_COUNT",
        "GIT_CONFIG_KEY_0",
        "GIT_CONFIG_VALUE_0",
        "TOKENIZERS_PARALLELISM",
        "MAX_TOKENS",
        "KEYBOARD",
        "PASSENGER_APP_ENV",
        "PATTERN",
        "VIRTUAL_ENV",
        "SSH_AUTH_SOCK",
        "OLDPWD",
        "DESKTOP_SESSION",
        "XDG_SESSION_TYPE",
    ],
)
def test_what_commands_need_is_kept(name: str) -> None:
    assert command_environment({name: "x"}, confined=False)[name] == "x"


def test_nobody_is_asked_and_nothing_is_paged() -> None:
    environment = command_environment({"PAGER": "less", "TERM": "xterm-256color"}, confined=False)

    assert environment["PAGER"] == environment["GIT_PAGER"] == "cat"
    assert environment["GIT_TERMINAL_PROMPT"] == "0"
    assert environment["TERM"] == "dumb"
    assert environment["KAA"] == "1"


def test_a_list_of_commits_that_nobody_edits_is_not_taken(tmp_path: Path) -> None:
    environment = command_environment({"PATH": os.environ["PATH"], "HOME": str(tmp_path)}, confined=False)
    commit = "git -c user.name=a -c user.email=a@b commit -q --allow-empty -m"
    script = f"git init -q . && {commit} one && {commit} two && git rebase -i HEAD~1"

    def run(script: str) -> "subprocess.CompletedProcess[bytes]":
        return subprocess.run(["sh", "-c", script], cwd=tmp_path, env=environment, capture_output=True, check=False)

    refused = run(script)
    assert refused.returncode != 0
    assert b"No editor: set GIT_SEQUENCE_EDITOR" in refused.stderr
    assert run("GIT_SEQUENCE_EDITOR=: git rebase -i HEAD~1").returncode == 0


@pytest.mark.parametrize(
    "name",
    ["SSH_AUTH_SOCK", "DBUS_SESSION_BUS_ADDRESS", "DISPLAY", "TMUX", "DOCKER_HOST", "XDG_RUNTIME_DIR", "HTTPS_PROXY"],
)
def test_ways_out_are_dropped_in_a_sandbox_and_kept_outside(name: str) -> None:
    assert name not in command_environment({name: "x"}, confined=True)
    assert command_environment({name: "x"}, confined=False)[name] == "x"


@pytest.mark.parametrize("name", ["CDPATH", "BASHOPTS", "SHELLOPTS", "GLOBIGNORE"])
def test_bash_reads_commands_as_they_are_judged(name: str) -> None:
    assert name not in command_environment({name: "x"}, confined=False)


def test_collecting_garbage_forgets_no_worktree_that_commands_do_not_see(tmp_path: Path) -> None:
    repository, worktree = tmp_path / "repository", tmp_path / "elsewhere"
    for words in (
        ("init", "-q", str(repository)),
        (
            "-C",
            str(repository),
            "-c",
            "user.name=u",
            "-c",
            "user.email=e",
            "commit",
            "-q",
            "--allow-empty",
            "-m",
            "one",
        ),
        ("-C", str(repository), "worktree", "add", "-q", str(worktree)),
    ):
        subprocess.run(["git", *words], check=True)
    shutil.rmtree(worktree)  # as commands see it
    record = repository / ".git" / "worktrees" / "elsewhere"
    for path in record.iterdir():
        os.utime(path, (1_000_000_000,) * 2)
    environment = command_environment(dict(os.environ), confined=True)

    subprocess.run(["git", "-C", str(repository), "gc", "-q"], env=environment, check=True)

    assert (record / "gitdir").exists()
