"""The page, as a text: whole, self-contained, and with nothing of the session in its markup."""

import base64
import hashlib
import io
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from kaa.llm.redaction import Redactor
from kaa.session.export.page import embed, write_page
from kaa.session.export.selection import ExportSelection
from kaa.session.export.source import SnapshotFile
from tests.support.hostile_session import write_hostile_session
from tests.support.rich_session import user, write_rich_session
from tests.support.sessions import entry, user_entry, write_session

ALL_BRANCHES = ExportSelection(all_branches=True)


def page_of(path: Path, selection: ExportSelection = ALL_BRANCHES) -> str:
    out = io.BytesIO()
    with SnapshotFile.open(path) as source:
        write_page(source, selection, out)
    return out.getvalue().decode()


class Elements(HTMLParser):
    """The elements of a page with their attributes, and the texts of its scripts and styles."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.texts: dict[str, list[str]] = {}
        self._inside: str | None = None
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))
        if tag in ("script", "style", "title"):
            self.texts.setdefault(tag, []).append("")
            self._inside = tag

    def handle_endtag(self, tag: str) -> None:
        self._inside = None

    def handle_data(self, data: str) -> None:
        if self._inside is not None:
            self.texts[self._inside][-1] += data


def embedded(page: str) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """The index and the entries."""
    scripts = re.findall(r'<script type="application/json" (class="piece"|id="index")>(.*?)</script>', page, re.DOTALL)
    entries = [one for kind, text in scripts if "piece" in kind for one in msgspec.json.decode(text)]
    (index,) = (msgspec.json.decode(text) for kind, text in scripts if "index" in kind)
    return index, entries


def test_every_entry_is_there(tmp_path: Path) -> None:
    path = write_rich_session(tmp_path)

    index, entries = embedded(page_of(path))

    assert [entry["id"] for entry in entries] == [row[0] for row in index["rows"]]
    assert index["title"] == "The pendulum"
    assert index["rows"][index["leaf"]][0] == "i1"
    assert index["labels"] == {"7": "fixed"}
    assert index["totals"]["models"]["anthropic/claude-sonnet"]["replies"] == 5


def test_results_know_the_reply_that_called_although_ids_repeat(tmp_path: Path) -> None:
    path = write_rich_session(tmp_path)

    index, _ = embedded(page_of(path))

    rows = {row[0]: row for row in index["rows"]}
    assert [index["rows"][rows[result][5]][0] for result in ("r1", "r2")] == ["a1", "a2"]


def test_the_policy_allows_this_script_and_this_style_and_nothing_else(tmp_path: Path) -> None:
    elements = Elements(page_of(write_rich_session(tmp_path)))

    (policy,) = (a["content"] or "" for _, a in elements.found if a.get("http-equiv") == "Content-Security-Policy")
    program, style = elements.texts["script"][-1], elements.texts["style"][-1]
    hashes = [base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in (program, style)]
    rules = dict(rule.split(" ", 1) for rule in policy.split("; "))
    assert rules["default-src"] == "'none'"
    assert rules["script-src"] == f"'sha256-{hashes[0]}'"
    assert rules["style-src"] == f"'sha256-{hashes[1]}'"
    assert rules["img-src"] == "data:"


def test_nothing_in_the_page_points_elsewhere(tmp_path: Path) -> None:
    elements = Elements(page_of(write_rich_session(tmp_path)))

    addresses = [value for _, found in elements.found for name, value in found.items() if name in ("src", "href")]
    assert addresses == ["#transcript"]


def test_a_hostile_session_gives_the_same_elements_as_a_harmless_one(tmp_path: Path) -> None:
    harmless = Elements(page_of(write_session(tmp_path / "s.jsonl", user_entry("a", None, "hi")))).found

    hostile = Elements(page_of(write_hostile_session(tmp_path))).found

    assert [(tag, sorted(found)) for tag, found in hostile] == [(tag, sorted(found)) for tag, found in harmless]


# Directional marks are made visible, which is a change.
_UNDIRECTED = st.text(
    st.characters(
        exclude_categories=["Cs"],
        exclude_characters="\u061c\u200e\u200f" + "".join(map(chr, [*range(0x202A, 0x202F), *range(0x2066, 0x206A)])),
    )
)


@given(_UNDIRECTED)
def test_no_text_ends_the_data_or_is_changed_by_it(text: str) -> None:
    data = embed(msgspec.json.encode({text: [text]}))

    assert not set(b"<>&") & set(data)
    assert "\u2028" not in data.decode()
    assert "\u2029" not in data.decode()
    assert msgspec.json.decode(data) == {text: [text]}


def test_many_entries_come_in_pieces_that_are_found_by_position(tmp_path: Path) -> None:
    many = [user(f"e{n}", f"e{n - 1}" if n else None, f"{n} " * 3000) for n in range(60)]
    path = write_session(tmp_path / "s.jsonl", *many)

    page = page_of(path)

    index, entries = embedded(page)
    pieces = [msgspec.json.decode(p) for p in re.findall(r'class="piece">(.*?)</script>', page, re.DOTALL)]
    assert len(pieces) > 1
    assert index["starts"] == [sum(map(len, pieces[:number])) for number in range(len(pieces))]
    assert len(entries) == 60


def test_an_empty_session_has_a_page_too(tmp_path: Path) -> None:
    index, entries = embedded(page_of(write_session(tmp_path / "s.jsonl")))

    assert (index["leaf"], index["rows"], entries) == (-1, [], [])


def test_secrets_are_neither_in_the_title_nor_in_the_index(tmp_path: Path) -> None:
    path = write_session(tmp_path / "s.jsonl", user_entry("a", None, "use my-own-secret please"))

    page = page_of(path, ExportSelection(all_branches=True, redactor=Redactor(["my-own-secret"])))

    assert "my-own-secret" not in page


def test_labels_of_the_one_branch_are_there_wherever_they_were_given(tmp_path: Path) -> None:
    path = write_session(
        tmp_path / "s.jsonl",
        user_entry("a", None, "one"),
        user_entry("b", "a", "left"),
        entry("label", "l", "b", targetId="a", label="start"),
        user_entry("c", "a", "two"),
    )

    index, entries = embedded(page_of(path, ExportSelection()))

    assert [row[0] for row in index["rows"]] == ["a", "c"]
    assert index["labels"] == {"0": "start"}
    assert len(entries) == 2
