import threading
from pathlib import Path

import pytest

from kaa.ext.permissions import Permissions
from kaa.shell.extensions.digest import tree_digest
from kaa.shell.extensions.records import (
    ExtensionRecord,
    ExtensionRecords,
    ExtensionRecordsError,
    Installation,
)
from kaa.shell.home import Home
from tests.support.extension_ids import named

_INSTALLED = ExtensionRecord(
    Installation("git+https://example.com/hello.git@v1", "git", "process", "hello", "1.0", "a" * 40, tree="b" * 64),
    granted=Permissions(project="read", hosts=("api.example.com",), keys=("openai",)),
)


def _home(tmp_path: Path) -> Home:
    return Home(tmp_path / "home")


def test_without_a_file_there_are_no_records(tmp_path: Path) -> None:
    assert ExtensionRecords(_home(tmp_path)).read() == {}


def test_what_is_written_is_read_again(tmp_path: Path) -> None:
    records = ExtensionRecords(_home(tmp_path))

    with records.rewriting() as written:
        written["hello"] = _INSTALLED
        written["other"] = ExtensionRecord(enabled=False)
        written["empty"] = ExtensionRecord()

    assert records.read() == {"hello": _INSTALLED, "other": ExtensionRecord(enabled=False)}
    assert (tmp_path / "home/extensions.json").stat().st_mode & 0o777 == 0o600


def test_permissions_can_be_granted_to_an_extension_that_was_not_installed(tmp_path: Path) -> None:
    records = ExtensionRecords(_home(tmp_path))

    records.grant(named("copied"), Permissions(session="read"))

    assert records.read()["copied"] == ExtensionRecord(granted=Permissions(session="read"))


def test_a_failure_leaves_the_records_as_they_were(tmp_path: Path) -> None:
    records = ExtensionRecords(_home(tmp_path))
    records.grant(named("hello"), Permissions())

    def fail() -> None:
        with records.rewriting() as written:
            written.clear()
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()

    assert list(records.read()) == ["hello"]


def test_writers_wait_for_each_other(tmp_path: Path) -> None:
    home = _home(tmp_path)
    writers = [
        threading.Thread(target=ExtensionRecords(home).grant, args=(named(f"e{number}"), Permissions()))
        for number in range(12)
    ]

    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()

    assert len(ExtensionRecords(home).read()) == 12


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("{", "truncated"),
        ('{"extensions": []}', r"Expected `object`"),
        ('{"extensions": {"../x": {}}}', r"invalid extension '\.\./x'"),
        ('{"extensions": {".hidden": {}}}', "invalid extension"),
        (
            '{"extensions": {"x": {"installation": {"source": "s", "origin": "git", "kind": "python",'
            ' "entry": "../../auth.json"}}}}',
            r"invalid entry '\.\./\.\./auth\.json'",
        ),
        ('{"extensions": {"x": {"granted": {"hosts": ["a b"]}}}}', "invalid host 'a b'"),
        ('{"extensions": {"x": {"granted": {"everything": true}}}}', "everything"),
    ],
)
def test_a_damaged_file_is_refused_with_its_name_and_the_remedy(tmp_path: Path, content: str, said: str) -> None:
    home = _home(tmp_path)
    home.path.mkdir(mode=0o700)
    file = home.path / "extensions.json"
    file.write_text(content)
    file.chmod(0o600)

    with pytest.raises(ExtensionRecordsError, match=said) as caught:
        ExtensionRecords(home).read()

    assert str(file) in str(caught.value)
    assert "install the extensions again" in str(caught.value)


def test_the_digest_changes_with_contents_names_links_and_executable_bits(tmp_path: Path) -> None:
    folder = tmp_path / "one"
    (folder / "sub").mkdir(parents=True)
    (folder / "sub/a.py").write_text("a")
    digests = [tree_digest(folder)]

    (folder / "sub/a.py").write_text("b")
    digests.append(tree_digest(folder))
    (folder / "sub/a.py").rename(folder / "a.py")
    digests.append(tree_digest(folder))
    (folder / "a.py").chmod(0o755)
    digests.append(tree_digest(folder))
    (folder / "link").symlink_to("a.py")
    digests.append(tree_digest(folder))

    assert len(set(digests)) == 5
    (folder / "__pycache__").mkdir()
    (folder / "__pycache__/a.pyc").write_bytes(b"1")
    assert tree_digest(folder) == digests[-1]
