import sys
import tracemalloc
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kaa.tui.decoder import InputDecoder
from kaa.tui.events import Event, Focus, Key, Mouse, Paste, TerminalReply
from tests.support.tables import each


def decode(data: bytes) -> list[Event]:
    """All events of this input, with a pause behind it."""
    decoder = InputDecoder()
    return decoder.feed(data) + decoder.flush()


# What is sent, and the id of the key: legacy forms that are the same everywhere.
_LEGACY = [
    (b"a", "a"),
    (b"A", "shift+a"),
    (b"?", "?"),
    (b"1", "1"),
    (b" ", "space"),
    ("é".encode(), "é"),
    ("É".encode(), "shift+é"),
    ("ß".encode(), "ß"),
    ("漢".encode(), "漢"),
    (b"\r", "enter"),
    (b"\n", "ctrl+j"),
    (b"\t", "tab"),
    (b"\x7f", "backspace"),
    (b"\x08", "ctrl+h"),
    (b"\x00", "ctrl+space"),
    (b"\x01", "ctrl+a"),
    (b"\x03", "ctrl+c"),
    (b"\x1a", "ctrl+z"),
    (b"\x1c", "ctrl+\\"),
    (b"\x1d", "ctrl+]"),
    (b"\x1e", "ctrl+^"),
    (b"\x1f", "ctrl+-"),
    (b"\x1b", "escape"),
    (b"\x1ba", "alt+a"),
    (b"\x1bA", "alt+shift+a"),
    (b"\x1b?", "alt+?"),
    (b"\x1b ", "alt+space"),
    (b"\x1b\r", "alt+enter"),
    (b"\x1b\t", "alt+tab"),
    (b"\x1b\x7f", "alt+backspace"),
    (b"\x1b\x08", "ctrl+alt+h"),
    (b"\x1b\x1d", "ctrl+alt+]"),
    (b"\x1b\x00", "ctrl+alt+space"),
    ("\x1bé".encode(), "alt+é"),
    (b"\x1b[", "alt+["),
    (b"\x1b]", "alt+]"),
    (b"\x1bO", "alt+shift+o"),
    (b"\x1bP", "alt+shift+p"),
    (b"\x1b_", "alt+_"),
    (b"\x1bX", "alt+shift+x"),
    (b"\x1b^", "alt+^"),
]
_XTERM = [
    (b"\x1b[A", "up"),
    (b"\x1b[B", "down"),
    (b"\x1b[C", "right"),
    (b"\x1b[D", "left"),
    (b"\x1b[E", "clear"),
    (b"\x1b[F", "end"),
    (b"\x1b[H", "home"),
    (b"\x1b[Z", "shift+tab"),
    (b"\x1bOA", "up"),
    (b"\x1bOH", "home"),
    (b"\x1bOP", "f1"),
    (b"\x1bOS", "f4"),
    (b"\x1b[2~", "insert"),
    (b"\x1b[3~", "delete"),
    (b"\x1b[5~", "pageup"),
    (b"\x1b[6~", "pagedown"),
    (b"\x1b[15~", "f5"),
    (b"\x1b[17~", "f6"),
    (b"\x1b[24~", "f12"),
    (b"\x1b[25~", "f13"),
    (b"\x1b[29~", "menu"),
    (b"\x1b[34~", "f20"),
    (b"\x1b[1;2A", "shift+up"),
    (b"\x1b[1;3D", "alt+left"),
    (b"\x1b[1;5C", "ctrl+right"),
    (b"\x1b[1;6H", "ctrl+shift+home"),
    (b"\x1b[1;8F", "ctrl+alt+shift+end"),
    (b"\x1b[3;5~", "ctrl+delete"),
    (b"\x1b[15;2~", "shift+f5"),
    (b"\x1b[1;2P", "shift+f1"),
    (b"\x1b[1;2R", "shift+f3"),
    (b"\x1b[R", "f3"),
    (b"\x1bO5P", "ctrl+f1"),
    (b"\x1bO1;5A", "ctrl+up"),
    # With the keypad in application mode.
    (b"\x1bOM", "enter"),
    (b"\x1bOj", "*"),
    (b"\x1bOp", "0"),
    (b"\x1bOy", "9"),
]
_OTHERS = [
    # VT220, and rxvt's home and end.
    (b"\x1b[1~", "home"),
    (b"\x1b[4~", "end"),
    (b"\x1b[7~", "home"),
    (b"\x1b[8~", "end"),
    (b"\x1b[11~", "f1"),
    (b"\x1b[14~", "f4"),
    # rxvt.
    (b"\x1b[a", "shift+up"),
    (b"\x1bOd", "ctrl+left"),
    (b"\x1b[3$", "shift+delete"),
    (b"\x1b[3^", "ctrl+delete"),
    (b"\x1b[3@", "ctrl+shift+delete"),
    # The Linux console.
    (b"\x1b[[A", "f1"),
    (b"\x1b[[E", "f5"),
    # Alt as an escape before it (PuTTY, rxvt, Terminal.app).
    (b"\x1b\x1b[A", "alt+up"),
    (b"\x1b\x1bOC", "alt+right"),
    (b"\x1b\x1b[3~", "alt+delete"),
]
_KITTY = [
    (b"\x1b[97u", "a"),
    (b"\x1b[97;5u", "ctrl+a"),
    (b"\x1b[97;2u", "shift+a"),
    (b"\x1b[97:65;2u", "shift+a"),
    (b"\x1b[97:999999999;2u", "shift+a"),  # there is no such character
    (b"\x1b[97:65;6u", "ctrl+shift+a"),
    (b"\x1b[97;9u", "super+a"),
    (b"\x1b[97;33u", "alt+a"),  # meta
    (b"\x1b[97;69u", "ctrl+a"),  # with caps lock
    (b"\x1b[97;133u", "ctrl+a"),  # with num lock
    (b"\x1b[49:33;2u", "!"),
    (b"\x1b[47:63;4u", "alt+?"),
    (b"\x1b[45;5u", "ctrl+-"),
    (b"\x1b[45:95;6u", "ctrl+_"),
    (b"\x1b[45;6u", "ctrl+shift+-"),
    (b"\x1b[93;5u", "ctrl+]"),
    (b"\x1b[91;5u", "ctrl+["),
    (b"\x1b[27u", "escape"),
    (b"\x1b[27;2u", "shift+escape"),
    (b"\x1b[13;2u", "shift+enter"),
    (b"\x1b[13;5u", "ctrl+enter"),
    (b"\x1b[9;5u", "ctrl+tab"),
    (b"\x1b[9;2u", "shift+tab"),
    (b"\x1b[127;5u", "ctrl+backspace"),
    (b"\x1b[32;5u", "ctrl+space"),
    (b"\x1b[32;2u", "shift+space"),
    (b"\x1b[57363u", "menu"),
    (b"\x1b[57376u", "f13"),
    (b"\x1b[57387u", "f24"),
    (b"\x1b[57399u", "0"),
    (b"\x1b[57413u", "+"),
    (b"\x1b[57414u", "enter"),
    (b"\x1b[57417;5u", "ctrl+left"),
    (b"\x1b[57427u", "clear"),
    (b"\x1b[13~", "f3"),
    # Shortcuts on layouts that are not Latin go by the key's place, on those that are by what is printed on it.
    (b"\x1b[1089::99;5u", "ctrl+c"),
    (b"\x1b[1089:1057:99;6u", "ctrl+shift+c"),
    (b"\x1b[1089u", "\u0441"),
    (b"\x1b[97::113;5u", "ctrl+a"),
    (b"\x1b[246::59;5u", "ctrl+ö"),
    # A German keyboard's ß types a question mark with shift.
    (b"\x1b[223:63;2u", "?"),
]
_MODIFY_OTHER_KEYS = [
    (b"\x1b[27;2;13~", "shift+enter"),
    (b"\x1b[27;5;13~", "ctrl+enter"),
    (b"\x1b[27;5;9~", "ctrl+tab"),
    (b"\x1b[27;5;99~", "ctrl+c"),
    (b"\x1b[27;6;80~", "ctrl+shift+p"),
    (b"\x1b[27;2;65~", "shift+a"),
    (b"\x1b[27;2;33~", "!"),
    (b"\x1b[27;4;63~", "alt+?"),
    (b"\x1b[27;3;97~", "alt+a"),
    (b"\x1b[27;5;8~", "ctrl+backspace"),
    (b"\x1b[27;5;27~", "ctrl+escape"),
    # tmux with `extended-keys-format csi-u`.
    (b"\x1b[33;2u", "!"),
    (b"\x1b[95;6u", "ctrl+_"),
]


@each(("sent", "name"), [*_LEGACY, *_XTERM, *_OTHERS, *_KITTY, *_MODIFY_OTHER_KEYS])
def test_a_key_has_one_name_whatever_the_terminal_sends_for_it(sent: bytes, name: str) -> None:
    (key,) = decode(sent)

    assert isinstance(key, Key)
    assert (key.id, key.action) == (name, "press")


@each(
    ("sent", "text"),
    [
        (b"a", "a"),
        (b"A", "A"),
        (b" ", " "),
        ("é".encode(), "é"),
        (b"\x1b[97;2u", "A"),
        (b"\x1b[97u", "a"),
        (b"\x1b[49:33;2u", "!"),
        (b"\x1b[32;2u", " "),
        (b"\x1b[57399u", "0"),
        (b"\x1bOp", "0"),
        (b"\x1b[27;2;65~", "A"),
        (b"\x1b[113;1;64u", "@"),
        (b"\x1b[0;;233u", "é"),
        (b"\x1b[97;5;97u", ""),
        (b"\x1b[97;5u", ""),
        (b"\x1ba", ""),
        (b"\r", ""),
        (b"\x1b[A", ""),
    ],
)
def test_a_key_says_what_it_types(sent: bytes, text: str) -> None:
    (key,) = decode(sent)

    assert isinstance(key, Key)
    assert key.text == text


@pytest.mark.parametrize(
    ("sent", "expected"),
    [
        (b"\x1b[97;1:2u", Key("a", "a", "repeat")),
        (b"\x1b[97;5:3u", Key("ctrl+a", "", "release")),
        (b"\x1b[1;5:3A", Key("ctrl+up", "", "release")),
        (b"\x1b[3;1:2~", Key("delete", "", "repeat")),
    ],
)
def test_repeats_and_releases_are_told_apart(sent: bytes, expected: Key) -> None:
    assert decode(sent) == [expected]


@each(
    "sent",
    [
        b"\x1b[57441;2u",  # shift itself
        b"\x1b[57358u",  # caps lock
        b"\x1b[57430u",  # a media key
        b"\x1b[97;17u",  # with hyper
        b"\x1b[1114112u",
        b"\x1b[55296u",
        b"\x1b[" + b"9" * 5000 + b"u",
        b"\x1b[99~",
        b"\x1b[201~",  # an end without a beginning
        b"\x1b[>0;276;0c",
        b"\x1b[8;24;80t",
        b"\x1b[0n",
        b"\x1b[?1;2:3z",
        b"\x1b[5;9R",
        b"\x1b[M !!",  # the mouse as X10 had it
        b"\x1b[[Z",
        b"\x1b[!p",
        b"\x1b]52;c;aGk=\x07",
        b"\x1b]4;1;rgb:00/00/00\x1b\\",
        b"\x1bP1+r544e\x1b\\",
        b"\x1bP0$r\x1b\\",
        b"\x1b]11;nonsense\x1b\\",
        b"\x1b]1" + b"1" * 100_000 + b"\x07",
        b"\x1b[<1;2M",
        b"\x1b[<M",
        b"\x1b[<66;10;5M",  # a wheel or a touchpad, moved sideways
        b"\x1b[<67;10;5M",
        b"\x1b[<35;1;1M",  # the mouse, moved without a button
        b"\x1b[?2026;2$y",
        b"\x1b]10;rgb:ff/80/00\x07",
        "\x85\x9b".encode(),
    ],
)
def test_what_nobody_needs_is_swallowed_whole(sent: bytes) -> None:
    decoder = InputDecoder()

    assert decoder.feed(sent) == []
    assert not decoder.pending
    assert decoder.feed(b"x") == [Key("x", "x")]


@each(
    ("sent", "expected"),
    [
        (b"\x1b[I", Focus(gained=True)),
        (b"\x1b[O", Focus(gained=False)),
        (b"\x1b[?0u", TerminalReply("kitty-keyboard", (0,))),
        (b"\x1b[?62;4;52c", TerminalReply("attributes", (62, 4, 52))),
        (b"\x1b[?997;1n", TerminalReply("dark")),
        (b"\x1b[?997;2n", TerminalReply("light")),
        (b"\x1b[6;17;8t", TerminalReply("cell-size", (17, 8))),
        (b"\x1b[?3;5R", TerminalReply("cursor", (2, 4))),
        (b"\x1bP>|kitty(0.35.2)\x1b\\", TerminalReply("version", text="kitty(0.35.2)")),
        (b"\x1b_Gi=31;OK\x1b\\", TerminalReply("graphics", (1,))),
        (b"\x1b_Gi=31;ENOTSUP:no\x1b\\", TerminalReply("graphics", (0,))),
        (b"\x1b]11;rgb:ffff/8080/0000\x1b\\", TerminalReply("background", (255, 128, 0))),
        (b"\x1b]11;rgb:ff/80/00\x07", TerminalReply("background", (255, 128, 0))),
        (b"\x1b]11;rgba:f/8/0/f\x07", TerminalReply("background", (255, 136, 0))),
        (b"\x1b]11;#ff8000\x07", TerminalReply("background", (255, 128, 0))),
        (b"\x1b[<0;10;5M", Mouse("down", 0, 9, 4)),
        (b"\x1b[<2;10;5m", Mouse("up", 2, 9, 4)),
        (b"\x1b[<32;1;1M", Mouse("drag", 0, 0, 0)),
        (b"\x1b[<64;10;5M", Mouse("wheel", 0, 9, 4)),
        (b"\x1b[<65;10;5M", Mouse("wheel", 1, 9, 4)),
        (b"\x1b[<4;1;1M", Mouse("down", 0, 0, 0)),
        (b"\x1b[<24;1;1M", Mouse("down", 0, 0, 0)),
    ],
)
def test_the_terminal_tells(sent: bytes, expected: Event) -> None:
    decoder = InputDecoder()

    assert decoder.feed(sent) == [expected]
    assert not decoder.pending


def test_a_cursor_report_is_one_only_if_it_was_asked_for() -> None:
    decoder = InputDecoder()
    decoder.expect_cursor_report()

    assert decoder.feed(b"\x1b[1;2R\x1b[1;2R") == [TerminalReply("cursor", (0, 1)), Key("shift+f3")]


def test_escape_waits_for_a_pause() -> None:
    decoder = InputDecoder()

    assert (decoder.feed(b"\x1b"), decoder.pending) == ([], True)
    assert (decoder.flush(), decoder.pending) == ([Key("escape")], False)
    assert decoder.flush() == []


def test_two_escapes_in_a_row_are_two_keys() -> None:
    assert decode(b"\x1b\x1b") == [Key("escape")] * 2
    assert decode(b"\x1b\x1b\x1b") == [Key("escape")] * 3
    assert decode(b"\x1b\x1ba") == [Key("escape"), Key("alt+a")]
    assert decode(b"\x1b\x1b[I") == [Key("escape"), Focus(gained=True)]
    assert decode(b"\x1b\x1b[200~x\x1b[201~") == [Key("escape"), Paste("x")]
    assert decode(b"\x1b\x1b[99;5u") == [Key("escape"), Key("ctrl+c")]


def test_a_sequence_that_was_cut_by_a_pause_does_not_become_text() -> None:
    decoder = InputDecoder()

    events = decoder.feed(b"\x1b[1;") + decoder.flush() + decoder.feed(b"5A")
    events += decoder.feed(b"\x1b]11;rgb:00/") + decoder.flush() + decoder.feed(b"00/00\x07")

    assert events == [Key("ctrl+up"), TerminalReply("background", (0, 0, 0))]


def test_alt_and_a_bracket_with_text_behind_it_is_no_sequence() -> None:
    assert decode(b"\x1b]abc") == [Key("alt+]"), Key("a", "a"), Key("b", "b"), Key("c", "c")]
    assert decode(b"\x1bPx\r") == [Key("alt+shift+p"), Key("x", "x"), Key("enter")]


def test_a_sequence_that_breaks_off_does_not_swallow_the_next_key() -> None:
    assert decode(b"\x1b[1;\x1b[A") == [Key("up")]
    assert decode(b"\x1b[1;\r") == [Key("enter")]
    assert decode(b"\x1b]11;rgb\x1b[A") == [Key("up")]
    assert decode(b"\x1b]11;rgb\x03") == [Key("ctrl+c")]
    assert decode(b"\x1b[3\xc3\xa9") == [Key("é", "é")]


def test_the_backspace_key_is_what_the_line_settings_say() -> None:
    assert InputDecoder(erase="\x08").feed(b"\x08") == [Key("backspace")]


def test_characters_are_whole_over_reads_and_broken_ones_are_shown_as_such() -> None:
    decoder = InputDecoder()

    assert decoder.feed("漢".encode()[:2]) == []
    assert decoder.feed("漢".encode()[2:]) == [Key("漢", "漢")]
    assert decoder.feed(b"\xff") == [Key("\ufffd", "\ufffd")]


def test_pasted_text_has_line_feeds_and_no_control_characters() -> None:
    assert decode(b"\x1b[200~a\r\nb\rc\nd\te\x1b[31mf\x00\x7f\xc2\x9bg\x1b[201~") == [Paste("a\nb\nc\nd\te[31mfg")]
    assert decode(b"\x1b[200~\x1b[201~") == [Paste("")]


@each("cut", range(1, 40))
def test_what_follows_an_end_marker_within_a_paste_is_not_typed(cut: int) -> None:
    decoder = InputDecoder()
    hostile = b"\x1b[200~fine\x1b[201~!rm -rf ~\r\x1b[200~x\x1b[201~"

    events = decoder.feed(hostile[:cut]) + decoder.feed(hostile[cut:]) + decoder.flush()

    assert events == [Paste("fine"), Paste("!rm -rf ~\nx")]


def test_keys_behind_a_paste_come_after_a_pause() -> None:
    decoder = InputDecoder()

    assert (decoder.feed(b"\x1b[200~x\x1b[201~\r"), decoder.pending) == ([Paste("x")], True)
    assert (decoder.flush(), decoder.pending) == ([Key("enter")], False)
    assert decoder.feed(b"\r") == [Key("enter")]


def test_many_characters_at_once_were_pasted() -> None:
    assert InputDecoder().feed(b"x" * 64) == [Paste("x" * 64)]
    assert InputDecoder().feed(b"x" * 63) == [Key("x", "x")] * 63


def test_a_large_paste_costs_the_same_for_every_read() -> None:
    def calls_and_peak(reads: int) -> tuple[int, int]:
        decoder = InputDecoder()
        calls = 0

        def count(*_: object) -> None:
            nonlocal calls
            calls += 1

        decoder.feed(b"\x1b[200~")
        tracemalloc.start()
        sys.setprofile(count)
        for _ in range(reads):
            decoder.feed(b"0123456789abcde\r" * 64)
        sys.setprofile(None)
        (paste,) = decoder.feed(b"\x1b[201~")
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert paste == Paste("0123456789abcde\n" * 64 * reads)
        return calls, peak

    few, _ = calls_and_peak(100)
    many, peak = calls_and_peak(1000)

    assert many <= few * 10 + 10
    assert peak < 6 * 1024 * 1000


# Pieces of which terminals, and those who would like to be one, make what they send.
_PIECES = st.one_of(
    st.sampled_from([sent for sent, _ in [*_LEGACY, *_XTERM, *_OTHERS, *_KITTY, *_MODIFY_OTHER_KEYS]]),
    st.sampled_from(
        [
            b"\x1b[200~",
            b"\x1b[201~",
            b"\x1b[",
            b"\x1b]11;rgb:",
            b"\x1b\\",
            b"\x07",
            b"\x1bP>|",
            b"\x1b_G",
            b"\x1b[<",
            b";M",
        ]
    ),
    st.binary(max_size=8),
    st.text(max_size=8).map(lambda text: text.encode("utf-8", "replace")),
)
_INPUT = st.lists(_PIECES, max_size=12).map(b"".join)


@given(_INPUT)
def test_no_input_breaks_it_and_text_has_no_control_characters(data: bytes) -> None:
    for event in decode(data):
        if isinstance(event, Key):
            assert event.id
            assert event.text.isprintable() or not event.text.isascii()
        elif isinstance(event, Paste):
            assert not set(event.text) & {"\x1b", "\r", "\x00", "\x7f", "\x9b"}


@given(_INPUT, st.lists(st.integers(0, 120), max_size=6))
def test_how_the_bytes_are_cut_does_not_matter(data: bytes, cuts: list[int]) -> None:
    decoder = InputDecoder()
    bounds = [0, *sorted(cuts), max([len(data), *cuts])]

    events = [event for start, end in pairwise(bounds) for event in decoder.feed(data[start:end])]

    assert _typed(events + decoder.flush()) == _typed(decode(data))


def _typed(events: list[Event]) -> list[Event]:
    """Events with keys for what was taken for a paste because it came in one read."""
    return [
        key
        for event in events
        for key in (map(_key, event.text) if isinstance(event, Paste) and len(event.text) >= 64 else (event,))
    ]


def _key(character: str) -> Event:
    (key,) = InputDecoder().feed(character.encode())
    return key


@given(st.text())
def test_pasted_text_arrives(text: str) -> None:
    sent = text.encode("utf-8", "replace")

    events = decode(b"\x1b[200~" + sent + b"\x1b[201~")

    expected = sent.decode().replace("\r\n", "\n").replace("\r", "\n")
    assert events == [Paste("".join(c for c in expected if c in "\n\t" or not (c < " " or "\x7f" <= c < "\xa0")))]
