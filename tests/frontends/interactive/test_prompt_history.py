import stat
from pathlib import Path

from kaa.frontends.interactive.prompt_history import PromptHistory


def test_what_was_typed_is_there_in_the_next_session(tmp_path: Path) -> None:
    history = PromptHistory(tmp_path / "home")

    for entry in ("first", "zweite\nZeile", "first", "\ud800 half"):
        history.append(entry)

    assert PromptHistory(tmp_path / "home").load() == ["zweite\nZeile", "first", "? half"]


def test_the_file_is_its_owners_alone(tmp_path: Path) -> None:
    PromptHistory(tmp_path / "home").append("secret")

    assert stat.S_IMODE((tmp_path / "home" / "history.jsonl").stat().st_mode) == 0o600
    assert stat.S_IMODE((tmp_path / "home").stat().st_mode) == 0o700


def test_damaged_lines_are_passed_over(tmp_path: Path) -> None:
    (tmp_path / "history.jsonl").write_bytes(b'rn"\n"good"\n{"a": 1}\n\xff\n"also good"\n"torn')

    assert PromptHistory(tmp_path).load() == ["good", "also good"]


def test_what_others_wrote_into_the_file_cannot_act_on_the_terminal(tmp_path: Path) -> None:
    (tmp_path / "history.jsonl").write_bytes(rb'"\u001b]0;title\u0007 \u202e"' + b"\n")

    assert PromptHistory(tmp_path).load() == [r"\x1b]0;title\x07 \u202e"]


def test_a_link_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").write_text('"foreign"\n')
    (tmp_path / "history.jsonl").symlink_to(tmp_path / "elsewhere")

    assert PromptHistory(tmp_path).load() == []


def test_a_file_that_grew_too_large_is_cut_to_its_latest_entries(tmp_path: Path) -> None:
    file = tmp_path / "history.jsonl"
    file.write_text("".join(f'"{number} {"x" * 4000}"\n' for number in range(1500)))

    entries = PromptHistory(tmp_path).load()

    assert len(entries) == 1_000
    assert entries[-1].startswith("1499 ")
    assert PromptHistory(tmp_path).load() == entries
    assert file.stat().st_size < 4_200_000


def test_documents_and_blanks_are_not_kept(tmp_path: Path) -> None:
    history = PromptHistory(tmp_path)

    history.append("x" * 20_001)
    history.append("  \n")

    assert history.load() == []
