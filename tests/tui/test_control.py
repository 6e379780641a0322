import pytest

from kaa.tui import control


def test_a_title_cannot_end_its_sequence() -> None:
    assert control.title("a\x07b\x1b]2;c\x9cd\n") == "\x1b]2;a b ]2;c d\x1b\\"
    assert len(control.title("x" * 5000)) < 300


def test_a_title_hides_and_reorders_nothing() -> None:
    assert control.title("a\u202eb\u200b\U000e0041 👩\u200d🔬") == "\x1b]2;ab 👩\u200d🔬\x1b\\"


@pytest.mark.parametrize(
    ("program", "sequence"),
    [
        ("kitty", "\x1b]9;kaa: done; really\x1b\\"),
        ("ghostty", "\x1b]777;notify;kaa;done; really\x1b\\"),
        ("xterm", ""),
        ("", ""),
    ],
)
def test_notifications_go_to_who_shows_them(program: str, sequence: str) -> None:
    assert control.notification(program, "kaa", "done; really\n") == sequence


def test_progress_begins_and_ends() -> None:
    assert control.progress(busy=True) == "\x1b]9;4;3;0\x1b\\"
    assert control.progress(busy=False) == "\x1b]9;4;0;0\x1b\\"
