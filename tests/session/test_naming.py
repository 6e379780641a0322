"""Names exactly as pi's."""

import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kaa.session.naming import (
    file_name,
    folder_name,
    is_session_id,
    iso_timestamp,
    new_entry_id,
    new_session_id,
    session_id_in,
    unix_milliseconds,
)
from tests.support.tables import each


@each(
    ("cwd", "name"),
    [
        ("/a/b/proj", "--a-b-proj--"),
        ("/", "----"),
        ("/a-b", "--a-b--"),
        ("//server/share", "---server-share--"),
        ("C:\\code\\x", "--C--code-x--"),
        ("/tmp/żółć proj", "--tmp-żółć proj--"),
    ],
)
def test_a_projects_folder_is_named_after_its_directory(cwd: str, name: str) -> None:
    assert folder_name(cwd) == name


def test_a_file_is_named_after_time_and_id() -> None:
    name = file_name("2026-11-20T07:49:44.305Z", "01a1f7ee-caf1-7e9f-8904-a39d66b696a1")

    assert name == "2026-11-20T07-49-44-305Z_01a1f7ee-caf1-7e9f-8904-a39d66b696a1.jsonl"
    assert session_id_in(name) == "01a1f7ee-caf1-7e9f-8904-a39d66b696a1"


@pytest.mark.parametrize("name", ["notes.jsonl", "a_b.txt", "a_b.jsonl.partial", "_.jsonl", ""])
def test_other_file_names_carry_no_id(name: str) -> None:
    assert session_id_in(name) is None


def test_session_ids_are_version_7_and_carry_the_time() -> None:
    before = time.time_ns() // 1_000_000

    session_id = new_session_id()

    after = time.time_ns() // 1_000_000
    assert re.fullmatch(r"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}", session_id)
    assert before <= int(session_id.replace("-", "")[:12], 16) <= after


def test_session_ids_differ() -> None:
    assert len({new_session_id() for _ in range(1000)}) == 1000


def test_entry_ids_are_eight_hex_digits() -> None:
    assert re.fullmatch(r"[0-9a-f]{8}", new_entry_id(()))


def test_an_entry_id_is_a_whole_uuid_when_all_short_ones_are_taken() -> None:
    class ShortOnes:
        def __contains__(self, candidate: object) -> bool:
            return len(str(candidate)) == 8

    assert re.fullmatch(
        r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}", new_entry_id(ShortOnes())
    )


def test_timestamps_have_milliseconds_and_a_z() -> None:
    assert iso_timestamp(1795160984305) == "2026-11-20T07:49:44.305Z"


@given(st.integers(min_value=0, max_value=253402300799999))
def test_timestamps_can_be_read_back(milliseconds: int) -> None:
    assert unix_milliseconds(iso_timestamp(milliseconds)) == milliseconds


@pytest.mark.parametrize("damaged", ["", "yesterday", "2026-13-45T00:00:00Z"])
def test_what_is_no_timestamp_is_the_epoch(damaged: str) -> None:
    assert unix_milliseconds(damaged) == 0


def test_a_timestamp_without_zone_is_in_utc() -> None:
    assert unix_milliseconds("2026-11-20T07:49:44") == 1795160984000


@pytest.mark.parametrize("text", ["a", "7", "a-b", "nightly.build_7", "x" * 128])
def test_ids_of_the_users(text: str) -> None:
    assert is_session_id(text)


@each("text", ["", "-a", "a-", ".", "..", "a/b", "a b", "ä", "a\n", "x" * 129])
def test_what_no_file_or_flag_should_be_called_is_no_id(text: str) -> None:
    assert not is_session_id(text)
