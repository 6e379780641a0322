"""Marketplaces, also such as an attacker would write."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kaa.components.plugins.marketplace import (
    Git,
    GitHub,
    GitSubdir,
    InvalidMarketplaceError,
    Marketplace,
    Npm,
    Relative,
    Url,
    marketplace_in,
)
from tests.support.tables import each

SHA = "0123456789abcdef0123456789abcdef01234567"
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-10, 10)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=12), inner, max_size=4),
    max_leaves=10,
)


def market(*plugins: object, **fields: object) -> Marketplace:
    return marketplace_in(json.dumps({"name": "demo", "plugins": plugins, **fields}).encode())


def source(value: object, **fields: object) -> object:
    found = market({"name": "a", "source": value}, **fields)
    return found.entries["a"].source if "a" in found.entries else found.notes[0]


@each(
    ("written", "expected"),
    [
        ("./plugins/a", Relative("plugins/a")),
        ("./", Relative("")),
        ({"source": "local", "path": "./plugins/a"}, Relative("plugins/a")),
        ({"source": "github", "repo": "me/tools", "ref": "v1", "sha": SHA}, GitHub("me/tools", "v1", SHA)),
        ({"source": "url", "url": "https://example.com/a.git", "sha": SHA}, Git("https://example.com/a.git", "", SHA)),
        ({"source": "url", "url": "git@example.com:a/b.git"}, Git("git@example.com:a/b.git")),
        (
            {"source": "git-subdir", "url": "me/tools", "path": "plugins/a", "ref": "main"},
            GitSubdir("https://github.com/me/tools.git", "plugins/a", "main"),
        ),
        (
            {"source": "url", "url": "https://example.com/a.git", "path": "./in"},
            GitSubdir("https://example.com/a.git", "in"),
        ),
        ({"source": "npm", "package": "@me/tools", "version": "^1.2.0"}, Npm("@me/tools", "^1.2.0")),
        ({"source": "archive", "url": "https://example.com/a.zip"}, Url("https://example.com/a.zip")),
    ],
)
def test_sources(written: object, expected: object) -> None:
    assert source(written) == expected


@each(
    "written",
    [
        None,
        "../other",
        "/etc",
        "./a/../../b",
        "~/a",
        "C:\\a",
        {"source": "command", "command": "curl x | sh"},
        {"source": "github", "repo": "me/.."},
        {"source": "github", "repo": "--upload-pack=x/y"},
        {"source": "github", "repo": "me/tools", "ref": "--output=x"},
        {"source": "github", "repo": "me/tools", "sha": "abc"},
        {"source": "url", "url": "ext::sh -c id"},
        {"source": "url", "url": "file:///etc"},
        {"source": "url", "url": "http://example.com/a.git"},
        {"source": "url", "url": "https://user:word@example.com/a.git"},
        {"source": "url", "url": "ssh://user:word@example.com/a.git"},
        {"source": "url", "url": "ssh://-oProxyCommand=x/a"},
        {"source": "url", "url": "-oProxyCommand=x@h:a"},
        {"source": "url", "url": "https://example.com:port/a"},
        {"source": "git-subdir", "url": "https://example.com/a.git", "path": "../b"},
        {"source": "npm", "package": "../a"},
        {"source": "npm", "package": "a", "registry": "http://example.com"},
        {"source": "archive", "url": "https://example.com/a.zip", "sha256": "12"},
    ],
)
def test_sources_that_are_left_out(written: object) -> None:
    assert "plugin `a` is left out" in str(source(written))


def test_bare_paths_are_in_the_folder_for_plugins() -> None:
    metadata = {"pluginRoot": "./plugins"}

    assert source("a", metadata=metadata) == Relative("plugins/a")
    assert source("./a", metadata=metadata) == Relative("a")


def test_an_entry_can_be_the_manifest() -> None:
    servers = {"py": {"command": "pyls"}}
    entry = {"name": "py", "source": "./py", "strict": False, "category": "code", "lspServers": servers}

    found = market(entry).entries["py"]

    assert not found.is_strict
    assert found.category == "code"
    assert found.manifest == {"name": "py", "lspServers": servers}


def test_misleading_entries_are_named_and_skipped() -> None:
    names = ("my-tools", "my-tools", "My_Tools", "my-t\u043eols", "a\u202eb", "old", 7)

    found = market(*({"name": name, "source": "./x"} for name in names), "text", renames={"old": "my-tools"})

    assert list(found.entries) == ["my-tools"]
    assert found.renames == {"old": "my-tools"}
    assert [note.partition(": ")[2] for note in found.notes] == [
        "another has this name",
        "it looks like my-tools",
        *["its `name` must have up to 64 letters, digits, `.`, `_` and `-`"] * 2,
        "it is called `my-tools` now",
        "its `name` must have up to 64 letters, digits, `.`, `_` and `-`",
        "it is not an object",
    ]
    assert all(note.isprintable() for note in found.notes)


def test_renames_are_followed_and_may_go_round() -> None:
    renames = {"a": "b", "b": "c", "x": "y", "y": "x", "gone": "nowhere"}

    assert market({"name": "c", "source": "./c"}, renames=renames).renames == {"a": "c", "b": "c"}


@each("data", [b"", b"[]", b"{", b'{"name": "a"}', b'{"name": "../a", "plugins": []}', b"[" * 9_999])
def test_what_is_no_marketplace(data: bytes) -> None:
    with pytest.raises(InvalidMarketplaceError):
        marketplace_in(data)


@given(st.lists(VALUES | st.fixed_dictionaries({"name": st.just("a"), "source": VALUES}), max_size=5), VALUES)
def test_hostile_entries_never_stop_the_rest(entries: list[Any], other: Any) -> None:
    found = market({"name": "good", "source": "./good"}, *entries, renames=other, owner=other, metadata=other)

    assert "good" in found.entries or isinstance(other, dict)
    assert all(note.isprintable() for note in found.notes)
