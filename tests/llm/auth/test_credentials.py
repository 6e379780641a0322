"""auth.json: what is read, what is refused, how it is written."""

import json
import os
import stat
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kaa.llm.auth.credentials import Credential, CredentialStore
from kaa.llm.auth.errors import CredentialError


@pytest.fixture
def auth(tmp_path: Path) -> Path:
    return tmp_path / "agent" / "auth.json"


def _write(path: Path, content: object, mode: int = 0o600) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    path.chmod(mode)


def test_no_file_means_no_credentials(auth: Path) -> None:
    store = CredentialStore(auth, {})

    assert store.get("anthropic") is None
    assert not store.has("anthropic")
    assert not store.remove("anthropic")
    assert not auth.parent.exists()


def test_api_keys_and_oauth_tokens_are_read(auth: Path) -> None:
    _write(
        auth,
        {
            "anthropic": {"type": "api_key", "key": "key-1", "env": {"X": "y"}},
            "openai": {"type": "oauth", "refresh": "r", "access": "token-1", "expires": 32503680000000},
        },
    )
    store = CredentialStore(auth, {})

    assert store.get("anthropic") == Credential("api_key", "key-1", "auth.json")
    assert store.get("openai") == Credential("oauth", "token-1", "auth.json")
    assert store.has("openai")


def test_an_expired_login_says_so(auth: Path) -> None:
    _write(auth, {"openai": {"type": "oauth", "access": "token-1", "expires": 1000}})

    with pytest.raises(CredentialError, match="expired"):
        CredentialStore(auth, {}).get("openai")


def test_a_bad_entry_does_not_break_the_others(auth: Path) -> None:
    _write(auth, {"a": {"type": "password", "key": "secret-a"}, "b": 7, "c": {"type": "api_key", "key": "key-c"}})
    store = CredentialStore(auth, {})

    with pytest.raises(CredentialError, match=r"auth\.json: a: .*'password'.*api_key") as caught:
        store.get("a")

    assert "secret-a" not in str(caught.value)
    assert not store.has("a")
    assert not store.has("b")
    assert store.get("c") == Credential("api_key", "key-c", "auth.json")


@pytest.mark.parametrize("content", ["[]", '{"a": ', "nonsense"])
def test_a_file_that_is_no_json_object_is_refused(auth: Path, content: str) -> None:
    _write(auth, content)
    store = CredentialStore(auth, {})

    with pytest.raises(CredentialError, match="not a JSON object"):
        store.get("a")
    with pytest.raises(CredentialError, match="not a JSON object"):
        store.set("a", "key")

    assert auth.read_text() == content


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o622])
def test_a_file_open_to_others_is_refused(auth: Path, mode: int) -> None:
    _write(auth, {"a": {"type": "api_key", "key": "key"}}, mode)

    with pytest.raises(CredentialError, match="chmod 600"):
        CredentialStore(auth, {}).get("a")


def test_a_linked_file_is_neither_read_nor_replaced(auth: Path, tmp_path: Path) -> None:
    target = tmp_path / "elsewhere.json"
    _write(target, {"a": {"type": "api_key", "key": "key"}})
    auth.parent.mkdir()
    auth.symlink_to(target)
    store = CredentialStore(auth, {})

    with pytest.raises(CredentialError, match="symbolic link"):
        store.get("a")
    with pytest.raises(CredentialError, match="symbolic link"):
        store.set("a", "other")

    assert auth.is_symlink()
    assert "other" not in target.read_text()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_a_file_of_another_user_is_refused(auth: Path, tmp_path: Path) -> None:
    canary = tmp_path / "canary"
    _write(auth, {"a": {"type": "api_key", "key": f"!touch {canary}"}})
    os.chown(auth, 12345, 12345)

    with pytest.raises(CredentialError, match="another user"):
        CredentialStore(auth, {}).get("a")

    assert not canary.exists()


@pytest.mark.parametrize("mode", [0o777, 0o770])
def test_a_folder_in_which_others_can_replace_the_file_is_refused(auth: Path, mode: int) -> None:
    _write(auth, {"a": {"type": "api_key", "key": "key"}})
    auth.parent.chmod(mode)

    with pytest.raises(CredentialError, match="chmod 700"):
        CredentialStore(auth, {}).get("a")


def test_a_pipe_is_no_file_and_nobody_waits_for_its_writer(auth: Path) -> None:
    auth.parent.mkdir()
    os.mkfifo(auth, 0o600)

    with pytest.raises(CredentialError, match="not a regular file"):
        CredentialStore(auth, {}).get("a")


def test_writing_creates_private_file_and_directory(auth: Path) -> None:
    previous = os.umask(0)
    try:
        CredentialStore(auth, {}).set("anthropic", "key")
    finally:
        os.umask(previous)

    assert stat.S_IMODE(auth.stat().st_mode) == 0o600
    assert stat.S_IMODE(auth.parent.stat().st_mode) == 0o700
    assert os.listdir(auth.parent) == ["auth.json"]


def test_writing_keeps_what_it_does_not_know(auth: Path) -> None:
    unknown = {"type": "voucher", "big": 12345678901234567890, "nested": {"x": [1.5, None]}}
    _write(auth, {"other": unknown, "anthropic": {"type": "api_key", "key": "old"}})
    store = CredentialStore(auth, {})

    store.set("anthropic", "new")
    store.set("openai", "key")

    assert store.remove("openai")
    assert json.loads(auth.read_text()) == {"other": unknown, "anthropic": {"type": "api_key", "key": "new"}}


def test_writing_keeps_what_another_process_wrote_meanwhile(auth: Path) -> None:
    first, second = CredentialStore(auth, {}), CredentialStore(auth, {})
    assert first.get("a") is None

    second.set("b", "key-b")
    first.set("a", "key-a")

    assert first.get("b") == Credential("api_key", "key-b", "auth.json")


@given(key=st.text(min_size=1))
def test_a_stored_key_comes_back_as_it_was(key: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    auth = tmp_path_factory.getbasetemp() / "roundtrip" / "auth.json"

    CredentialStore(auth, {"A": "x"}).set("p", key)

    credential = CredentialStore(auth, {"A": "x"}).get("p")
    assert credential is not None
    assert credential.secret == key


def test_credentials_hide_their_secret(auth: Path) -> None:
    _write(auth, {"a": {"type": "api_key", "key": "very-secret"}})
    store = CredentialStore(auth, {})
    credential = store.get("a")

    assert credential is not None
    assert credential.secret == "very-secret"
    assert "very-secret" not in f"{credential!r} {credential} {store!r} {credential.__rich_repr__()}"


def test_a_file_that_cannot_be_read_is_an_error(auth: Path) -> None:
    auth.mkdir(parents=True)
    store = CredentialStore(auth, {})

    assert not store.has("a")
    with pytest.raises(CredentialError, match="cannot be read"):
        store.get("a")


def test_a_place_that_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "agent").write_text("a file, not a folder")

    with pytest.raises(CredentialError, match="cannot be"):
        CredentialStore(tmp_path / "agent" / "auth.json", {}).set("a", "key")


def test_what_a_killed_writer_left_behind_is_cleared_away(auth: Path) -> None:
    CredentialStore(auth, {}).set("one", "sk-1")
    left = auth.with_name(f".{auth.name}.0123456789abcdef")
    left.write_text('{"two": {"type": "api_key", "key": "sk-2"}}')
    others = [auth.with_name(name) for name in (f".{auth.name}.lock", f".{auth.name}.backup", "other")]
    for other in others:
        other.touch()

    CredentialStore(auth, {}).set("one", "sk-3")

    assert not left.exists()
    assert all(other.exists() for other in others)


def test_a_failed_write_leaves_the_file_and_no_litter(auth: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = CredentialStore(auth, {})
    store.set("a", "old")

    def full(_descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(CredentialError, match="No space left"):
        store.set("a", "new")

    assert os.listdir(auth.parent) == ["auth.json"]
    assert CredentialStore(auth, {}).get("a") == Credential("api_key", "old", "auth.json")


@pytest.mark.parametrize(
    "content",
    [
        b"\xff",
        b'{"a": "\xff"}',
        b'{"a": {"type": "api_key", "key": "\xff"}}',
        b'{"a": ' + b"[" * 100_000,
        b'{"a": {"type": "api_key", "x": ' + b"[" * 100_000 + b"]" * 100_000 + b"}}",
    ],
)
def test_bytes_that_are_no_json_are_an_error_with_its_place(auth: Path, content: bytes) -> None:
    _write(auth, "")
    auth.write_bytes(content)
    store = CredentialStore(auth, {})

    with pytest.raises(CredentialError, match=r"auth\.json"):
        store.get("a")
    assert not store.has("a")
    assert auth.read_bytes() == content
