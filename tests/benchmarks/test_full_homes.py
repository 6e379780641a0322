"""Copies of a session that an agent kept."""

from pathlib import Path

from benchmarks.full_homes import copy_session

_ID = "01a22317-2f7a-7072-93b6-bc2434d62702"


def test_copies_have_ids_of_their_own_in_name_and_text(tmp_path: Path) -> None:
    session = tmp_path / f"2026-11-28_{_ID}.jsonl"
    session.write_text(f'{{"id":"{_ID}"}}\n')

    copy_session(session, 3)

    files = list(tmp_path.iterdir())
    assert len(files) == 4
    assert len({file.read_text() for file in files}) == 4
    assert all(file.name.split("_")[1].removesuffix(".jsonl") in file.read_text() for file in files)


def test_lists_beside_the_session_name_its_copies(tmp_path: Path) -> None:
    session = tmp_path / f"{_ID.replace('-', '')}.jsonl"
    session.write_text("{}\n")
    index = tmp_path / "index.jsonl"
    index.write_text(f'{{"id":"another"}}\n{{"id":"{session.stem}"}}\n')

    copy_session(session, 2)

    assert len(index.read_text().splitlines()) == 4
    assert all(path.stem in index.read_text() for path in tmp_path.glob("[0-9]*.jsonl"))
