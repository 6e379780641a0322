"""Which files of builds hold secrets that commands can read."""

from pathlib import Path

import pytest

from kaa.shell.secrets_of_builds import secrets_of_builds


def found(home: Path, hidden: str = "") -> list[str]:
    return [*secrets_of_builds(str(home), lambda path: not hidden or not path.endswith(hidden))]


def write(home: Path, name: str, text: str) -> None:
    (home / name).parent.mkdir(parents=True, exist_ok=True)
    (home / name).write_text(text)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        (".gradle/init.gradle", "credentials { username 'u'\n password 'hunter22' }"),
        (".gradle/init.d/company.gradle", 'password = "hunter2-hunter2"'),
        (".lein/profiles.clj", '{:user {:password "hunter22"}}'),
        (".sbt/1.0/global.sbt", 'credentials += Credentials("Realm", "host", "user", "hunter22")'),
        (".cargo/config.toml", '[registries.x]\ntoken = "hunter2hunter2hunter2"'),
        (".config/mise/config.toml", '[env]\nMY_API_KEY = "hunter2hunter2"'),
        (".gitconfig", '[url "https://0123456789abcdef0123@example.com/"]\n insteadOf = x'),
        (".gitconfig", "[http]\n\textraHeader = Authorization: Basic aHVudGVyMjI="),
    ],
)
def test_secrets_of_build_tools_are_found_unless_they_are_hidden(tmp_path: Path, name: str, text: str) -> None:
    write(tmp_path, name, text)

    assert found(tmp_path) == [f"~/{name}"]
    assert found(tmp_path, hidden=name) == []


@pytest.mark.parametrize(
    ("name", "text"),
    [
        (".gradle/init.gradle", "credentials { password System.getenv('PASSWORD') }"),
        (".cargo/config.toml", '[build]\nrustflags = ["-C", "target-cpu=native"]'),
        (
            ".gitconfig",
            '[user]\n name = A\n email = a@example.com\n[url "git@github.com:"]\n insteadOf = https://github.com/',
        ),
        (".netrc", "machine a login b password hunter22"),
    ],
)
def test_files_without_secrets_are_not_named(tmp_path: Path, name: str, text: str) -> None:
    write(tmp_path, name, text)

    assert found(tmp_path) == []
