"""What stands for a server on this machine."""

import pytest

from kaa.llm.local.addresses import Address, AddressError, address_in, address_of_provider, is_address, name_for
from tests.support.tables import each


@each(
    ("query", "address"),
    [
        (":8092", Address("http://127.0.0.1:8092")),
        (":1234/qwen/qwen3-8b", Address("http://127.0.0.1:1234", "qwen/qwen3-8b")),
        ("local:8092/m", Address("http://127.0.0.1:8092", "m")),
        ("ollama", Address("http://127.0.0.1:11434")),
        ("ollama/qwen3:8b", Address("http://127.0.0.1:11434", "qwen3:8b")),
        ("http://localhost:9000", Address("http://127.0.0.1:9000")),
        ("http://box:9000/v1", Address("http://box:9000")),
        ("https://box/v1/m", Address("https://box", "m")),
        ("http://[fe80::1]:9000/v1/", Address("http://[fe80::1]:9000")),
        ("sonnet", None),
        ("openai/gpt-5.2", None),
        ("qwen3:8b", None),
        (":high", None),
    ],
)
def test_addresses_are_told_from_models(query: str, address: Address | None) -> None:
    assert address_in(query, {}) == address


@each(
    "query",
    [":0", ":70000", "http://", "http://box:99999", "http://box/llm/v1", "http://me:secret@box/", "http://box/v1?a=b"],
)
def test_addresses_that_cannot_be_used_say_so(query: str) -> None:
    with pytest.raises(AddressError) as caught:
        address_in(query, {})

    assert "secret" not in str(caught.value)


@each(
    ("value", "root"),
    [
        ("", "http://127.0.0.1:11434"),
        ("0.0.0.0", "http://127.0.0.1:11434"),
        ("box", "http://box:11434"),
        ("box:80", "http://box:80"),
        ("https://ollama.lab", "https://ollama.lab:443"),
        ("[::1]:7", "http://127.0.0.1:7"),
        ("box:port", "http://127.0.0.1:11434"),
    ],
)
def test_ollamas_own_variable_counts(value: str, root: str) -> None:
    assert address_in("ollama/m", {"OLLAMA_HOST": value}) == Address(root, "m")


def test_a_name_in_a_session_leads_to_the_same_server_again() -> None:
    for root, kind in [("http://127.0.0.1:11434", "ollama"), ("http://127.0.0.1:8092", "llamacpp")]:
        assert address_of_provider(name_for(root, kind, {}), "m", {}) == Address(root, "m")


def test_a_session_leads_nowhere_beyond_this_machine() -> None:
    assert address_of_provider("box:9000", "m", {}) is None
    assert address_of_provider("http://box:9000", "m", {}) is None


def test_places_are_told_from_names() -> None:
    assert [text for text in ("local:1", ":1", "http://box", "ollama", "openai") if is_address(text)] == [
        "local:1",
        ":1",
        "http://box",
    ]
