"""Paths as URIs and back."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kaa.lsp.session import path_of, uri_of
from tests.support.tables import each


@given(st.text(alphabet=st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=20))
def test_a_path_comes_back(name: str) -> None:
    assert path_of(uri_of(f"/{name.lstrip('/')}")) == f"/{name.lstrip('/')}"


@pytest.mark.parametrize("uri", ["file:///a%3A%20b", "file://localhost/a:%20b"])
def test_servers_escape_in_ways_of_their_own(uri: str) -> None:
    assert path_of(uri) == "/a: b"


@each("uri", ["", "untitled:1", "https://a/b", "file://host/a", "file:a", "file:///a%00b", "file://[/a"])
def test_what_names_no_file_has_no_path(uri: str) -> None:
    assert path_of(uri) is None
