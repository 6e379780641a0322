"""Names of servers' tools: valid for every vendor, unique, and independent of the order."""

import random
import re

from hypothesis import given
from hypothesis import strategies as st

from kaa.builtin.mcp.names import server_part, tool_names, tool_prefix
from kaa.components.tool_names import rule_names
from tests.support.tables import each

_VALID = re.compile(r"[A-Za-z0-9_-]{1,64}")
_TEXT = st.text(alphabet="ab_-./ é\ud800\0", max_size=80)


def test_a_usual_name_is_kept() -> None:
    assert tool_names([("github", "search_issues")]) == {("github", "search_issues"): "mcp__github__search_issues"}


def test_foreign_characters_become_underscores() -> None:
    assert tool_names([("db (project)", "admin.tools/list")]) == {
        ("db (project)", "admin.tools/list"): "mcp__db_project__admin_tools_list"
    }


def test_colliding_names_are_told_apart_and_the_one_that_needs_no_change_is_kept() -> None:
    names = tool_names([("files", "read.file"), ("files", "read/file"), ("files", "read_file"), ("files", "write")])

    assert len(set(names.values())) == 4
    assert names[("files", "write")] == "mcp__files__write"
    assert names[("files", "read_file")] == "mcp__files__read_file"
    changed = [names[("files", tool)] for tool in ("read.file", "read/file")]
    assert all(re.fullmatch(r"mcp__files__read_file_[0-9a-f]{6}", name) for name in changed)
    assert {rule_names(name) for name in changed} == {(name, "mcp__files__read_file") for name in changed}


@each("server", ["lab__x", "lab_", "lab__", "lab___x", "_lab"])
@each("tool", ["read", "_read", "__read", "x__read"])
def test_a_name_tells_the_server_however_servers_and_tools_are_called(server: str, tool: str) -> None:
    name = tool_names([(server, tool)])[(server, tool)]

    owner = re.fullmatch(r"mcp__(.+?)__.+", name)
    assert owner is not None
    assert owner[1] == server_part(server)
    assert tool_prefix(server) in (f"mcp__{owner[1]}__", tool_prefix(owner[1]))
    assert not name.startswith("mcp__lab__") or server_part(server) == "lab"


def test_a_server_that_shares_the_prefix_of_another_gets_other_names_for_the_same_tools() -> None:
    names = tool_names([("lab_x", "read"), ("lab__x", "read")])

    assert names[("lab_x", "read")] == "mcp__lab_x__read"
    assert rule_names(names[("lab__x", "read")])[1] == "mcp__lab_x__read"


def test_a_tool_with_the_name_of_a_hashed_one_keeps_it() -> None:
    hashed = tool_names([("s", "a.b"), ("s", "a/b")])[("s", "a.b")].removeprefix("mcp__s__")

    names = tool_names([("s", "a.b"), ("s", "a/b"), ("s", hashed)])

    assert names[("s", hashed)] == f"mcp__s__{hashed}"
    assert rule_names(names[("s", "a.b")])[1] == "mcp__s__a_b"


def test_long_names_are_cut_and_told_apart() -> None:
    first, second = tool_names([("s", "x" * 80 + "1"), ("s", "x" * 80 + "2")]).values()

    assert first != second
    assert {len(first), len(second)} == {64}


def test_rules_name_a_tool_whose_name_a_hash_cuts() -> None:
    whole = f"mcp__my_server__{'x' * 46}"
    alone = tool_names([("my.server", "x" * 46)])
    both = tool_names([("my.server", "x" * 46), ("my_server", "x" * 45 + "x")])

    assert list(alone.values()) == [whole]
    assert len(whole) == 62
    assert {rule_names(name)[-1] for name in both.values()} == {whole}


def test_a_name_that_looks_like_a_hashed_one_is_told_apart() -> None:
    hashed = tool_names([("s", "a.b"), ("s", "a/b")])[("s", "a.b")].removeprefix("mcp__s__")

    names = tool_names([("s", "a.b"), ("s", "a/b"), ("s", hashed)])

    assert len(set(names.values())) == 3


@given(st.lists(st.tuples(_TEXT, _TEXT), unique=True, max_size=12), st.randoms(use_true_random=False))
def test_order_does_not_change_a_name(tools: list[tuple[str, str]], shuffler: random.Random) -> None:
    names = tool_names(tools)
    shuffled = list(tools)
    shuffler.shuffle(shuffled)

    assert tool_names(shuffled) == names
    assert len(set(names.values())) == len(tools)
    assert all(_VALID.fullmatch(name) for name in names.values())
