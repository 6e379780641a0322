"""Placeholders and secrets: nothing volatile or secret stays, and everything comes back."""

import json

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kaa.llm.cassette._scrubbing import CassettePlaceholders, Scrubber, rewrite_json, rewrite_text
from kaa.llm.http.transport import HttpRequest
from tests.support.tables import each

_THEN = {"cwd": "/tmp/demo-1", "home": "/tmp", "date": "2026-11-20"}
_NOW = {"cwd": '/work/"my" dir', "home": "/root", "date": "2027-01-02"}


@each(
    ("text", "stored"),
    [
        ("in /tmp/demo-1/a.py", "in {{cwd}}/a.py"),
        ("/tmp /tmp/demo-1 /tmp/other", "{{home}} {{cwd}} {{home}}/other"),
        ("/tmp/demo-10", "{{home}}/demo-10"),
        ("/tmpfs x2026-11-20 2026-11-20.", "/tmpfs x2026-11-20 {{date}}."),
        ("{{cwd}} {{=date}} {{other}}", "{{=cwd}} {{==date}} {{other}}"),
        ("{{/tmp/demo-1}}", "{{{{cwd}}}}"),
    ],
)
def test_values_become_names(text: str, stored: str) -> None:
    placeholders = CassettePlaceholders(_THEN)

    assert rewrite_text(text, placeholders.hide()) == stored
    assert rewrite_text(stored, placeholders.reveal()) == text


def test_values_are_found_in_json_text_and_come_back_escaped() -> None:
    arguments = json.dumps({"text": "first\n2026-11-20", "path": "/tmp/demo-1/a"})
    stored = rewrite_json({"arguments": arguments}, CassettePlaceholders(_THEN).hide())

    replayed = rewrite_json(stored, CassettePlaceholders(_NOW).reveal())

    assert "tmp" not in stored["arguments"]
    assert json.loads(replayed["arguments"]) == {"text": "first\n2027-01-02", "path": '/work/"my" dir/a'}


def test_of_two_names_with_the_same_value_the_first_is_used() -> None:
    assert rewrite_text("/root/a", CassettePlaceholders({"cwd": "/root", "home": "/root"}).hide()) == "{{cwd}}/a"


def test_values_too_short_to_mean_anything_are_left_alone() -> None:
    placeholders = CassettePlaceholders({"home": "/", "session": ""})

    assert rewrite_text("/a/b {{home}}", placeholders.hide()) == "/a/b {{=home}}"


def test_a_name_that_cannot_be_a_placeholder_is_a_mistake_of_the_caller() -> None:
    with pytest.raises(ValueError, match="no-name"):
        CassettePlaceholders({"no-name": "x"})


_soup = st.lists(st.sampled_from(["/tmp/x", "/tmp", "{{", "}}", "{", "=", "cwd", "home", "a", " ", "\\n"])).map("".join)


@given(_soup)
def test_any_text_comes_back(text: str) -> None:
    placeholders = CassettePlaceholders({"cwd": "/tmp/x", "home": "/tmp"})

    stored = rewrite_text(text, placeholders.hide())

    assert rewrite_text(stored, placeholders.reveal()) == text


def test_a_request_is_kept_without_anything_secret() -> None:
    body = {
        "model": "m",
        "messages": [{"role": "user", "content": "my key is k3y-in-header and k3y-given\n/tmp/demo-1"}],
    }
    request = HttpRequest(
        "POST",
        "https://me:hunter2@host/v1/chat/completions?key=k3y-in-url&alt=sse",
        (
            ("Content-Type", "application/json"),
            ("Authorization", "Bearer k3y-in-header"),
            ("x-custom", "k3y-custom"),
        ),
        msgspec.json.encode(body),
    )

    recorded = Scrubber(CassettePlaceholders(_THEN), ["k3y-given"], request).request()

    text = msgspec.json.encode(recorded).decode()
    assert "k3y" not in text
    assert "hunter2" not in text
    assert recorded.url == "https://host/v1/chat/completions?key=[redacted]&alt=sse"
    assert recorded.headers == {"content-type": "application/json"}
    assert recorded.body["messages"][0]["content"] == "my key is [redacted] and [redacted]\n{{cwd}}"


@pytest.mark.parametrize(("body", "kept"), [(b"", None), (b"plain k3y-given", "plain [redacted]")])
def test_bodies_that_are_no_json_are_kept_as_text(body: bytes, kept: str | None) -> None:
    request = HttpRequest("GET", "http://host/v1/models", (), body)

    assert Scrubber(CassettePlaceholders({}), ["k3y-given"], request).request().body == kept
