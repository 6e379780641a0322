"""Where Python keeps what it compiles for a server."""

import pytest

from kaa.shell.mcp.starting import place_of_compiled


@pytest.mark.parametrize(
    ("has_approved_code", "may_write", "place"),
    [(False, False, "/data/cache/python"), (True, False, "/dev/null"), (False, True, "/dev/null")],
)
def test_a_server_that_may_write_makes_no_folders_with_the_names_of_others(
    has_approved_code: bool, may_write: bool, place: str
) -> None:
    assert place_of_compiled("/data/cache", has_approved_code=has_approved_code, may_write=may_write) == place
