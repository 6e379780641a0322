from kaa.session.headline import headline
from tests.support.tables import each

PASTE = "\n".join(f"  File 'x.py', line {number}" for number in range(240))


@each(
    ("text", "expected"),
    [
        ("fix the parser", "fix the parser"),
        ('<file name="/p/notes.md">\nmilk\n</file>\n\nsummarise it', "summarise it"),
        ('<file name="/p/notes.md">\nmilk\n</file>\n\n<file name="/p/a.png"></file>', "@notes.md @a.png"),
        (f"Traceback (most recent call last):\n{PASTE}", "Traceback (most recent call last):"),
        (f"```\nTraceback:\n{PASTE}\n```", "Traceback:"),
        (f"{PASTE}\n\nfix this", "fix this"),
        (f"{PASTE}\nwhy does it fail?", "why does it fail?"),
        ("two\nlines", "two\nlines"),
        ('say <file name="x"> literally', 'say <file name="x"> literally'),
        ("", ""),
    ],
)
def test_the_words_of_the_user_stand_for_a_message(text: str, expected: str) -> None:
    assert headline(text) == expected


def test_an_image_alone_has_a_word() -> None:
    assert headline("", has_image=True) == "(image)"
    assert headline("what is this?", has_image=True) == "what is this?"


def test_a_long_line_is_shortened() -> None:
    assert len(headline("x" * 100_000)) == 500
