from hypothesis import given
from hypothesis import strategies as st

from kaa.tui.completion_sources import CommandCompletion, CommandEntry
from kaa.tui.components.editor import Editor
from kaa.tui.events import Key, Paste
from kaa.tui.vim import Vim
from kaa.tui.width import plain
from tests.support.keyboard import keyboard_context, press, type_text
from tests.support.tables import each

_ESC = "\x1b"
_MARK = "|"


def _vim(marked: str = "") -> tuple[Editor, Vim]:
    """An editor in Normal, with its caret on the character behind the mark."""
    context = keyboard_context()
    editor = Editor(context)
    editor.set_text(marked.replace(_MARK, ""))
    vim = Vim(editor, context)
    editor.mode = vim
    press(editor, "escape")
    editor.buffer.move(max(0, marked.find(_MARK)))
    return editor, vim


def _marked(editor: Editor) -> str:
    text, at = editor.text, editor.buffer.caret
    return f"{text[:at]}{_MARK}{text[at:]}"


_MOTIONS = [
    ("ab|c", "h", "a|bc"),
    ("|ab", "h", "|ab"),
    ("|abc", "2l", "ab|c"),
    ("a|b", "l", "a|b"),
    ("|abc", " ", "a|bc"),
    ("abc\nd|e", "k", "a|bc\nde"),
    ("abc|d\ne\nfghi", "j", "abcd\n|e\nfghi"),
    ("|a\nb\nc", "2j", "a\nb\n|c"),
    ("|a\nb", "9j", "|a\nb"),
    ("|foo bar", "w", "foo |bar"),
    ("|foo.bar", "w", "foo|.bar"),
    ("|foo.bar x", "W", "foo.bar |x"),
    ("|a b c d", "3w", "a b c |d"),
    ("foo| \n\nbar", "w", "foo \n|\nbar"),
    ("foo bar|", "b", "foo |bar"),
    ("foo.ba|r", "B", "|foo.bar"),
    ("|foo bar", "e", "fo|o bar"),
    ("fo|o bar", "e", "foo ba|r"),
    ("|foo.b x", "E", "foo.|b x"),
    ("  fo|o", "0", "|  foo"),
    ("  fo|o", "^", "  |foo"),
    ("|foo\nbar", "$", "fo|o\nbar"),
    ("a\nb\n|c", "gg", "|a\nb\nc"),
    ("|a\nb\nc", "G", "a\nb\n|c"),
    ("|a\nb\nc", "2G", "a\n|b\nc"),
    ("|a,b,c", "f,", "a|,b,c"),
    ("|a,b,c", "2f,", "a,b|,c"),
    ("|a,b,c", "f,;", "a,b|,c"),
    ("|a,b,c", "2f,,", "a|,b,c"),
    ("a,b,|c", "F,", "a,b|,c"),
    ("|ab,c", "t,", "a|b,c"),
    ("|ab,c,d", "t,;", "ab,|c,d"),
    ("a,bc|d", "T,", "a,|bcd"),
    ("|abc", "fx", "|abc"),
    ("|日本語", "ll", "日本|語"),
    ("|👩\u200d💻x", "l", "👩\u200d💻|x"),
]

_CHANGES = [
    ("|abc", "x", "|bc"),
    ("|abcd", "3x", "|d"),
    ("ab|c", "x", "a|b"),
    ("|", "x", "|"),
    ("ab|c", "X", "a|c"),
    ("|foo bar", "dw", "|bar"),
    ("foo |bar\nbaz", "dw", "foo| \nbaz"),
    ("|a b c d", "2dw", "|c d"),
    ("|a b c d", "d2w", "|c d"),
    ("|foo bar", "de", "| bar"),
    ("foo |bar", "db", "|bar"),
    ("fo|o bar", "D", "f|o"),
    ("|\nx", "D", "|\nx"),
    ("foo, |bar, baz", "df,", "foo, | baz"),
    ("|a, b", "ct,x" + _ESC, "|x, b"),
    ("a\n|b\nc", "dd", "a\n|c"),
    ("a\n|b", "dd", "|a"),
    ("|a", "dd", "|"),
    ("|a\nb\nc", "2dd", "|c"),
    ("|a\nb\nc", "dj", "|c"),
    ("|a\nb\nc", "dG", "|"),
    ("a\n|b\nc", "dgg", "|c"),
    ("|foo bar", "cwx" + _ESC, "|x bar"),
    ("fo|o bar", "cwx" + _ESC, "fo|x bar"),
    ("|a b c", "2cwx" + _ESC, "|x c"),
    ("foo b|ar baz", "ciwx" + _ESC, "foo |x baz"),
    ("foo b|ar baz", "daw", "foo |baz"),
    ("foo ba|r", "daw", "fo|o"),
    ("a.b|c.d e", "diW", "| e"),
    ('say "he|llo" x', 'ci"bye' + _ESC, 'say "by|e" x'),
    ('say "he|llo" x', 'da"', "say | x"),
    ("f(a, |b)", "di(", "f(|)"),
    ("f(a, (|b))", "2hda(", "|f"),
    ("f|[x]", "di]", "f[|]"),
    ("{a|}", "ciB1" + _ESC, "{|1}"),
    ("a\n|b b\nc", "ccx" + _ESC, "a\n|x\nc"),
    ("a\n|b b\nc", "Sx" + _ESC, "a\n|x\nc"),
    ("foo |bar", "Cx" + _ESC, "foo |x"),
    ("|abc", "sx" + _ESC, "|xbc"),
    ("|abc", "rx", "|xbc"),
    ("|abc", "2rx", "x|xc"),
    ("ab|c", "2rx", "ab|c"),
    ("|abc", "r ", "| bc"),
    ("ab|c", "ix" + _ESC, "ab|xc"),
    ("ab|c", "ax" + _ESC, "abc|x"),
    ("  a|b", "Ix" + _ESC, "  |xab"),
    ("|ab", "Ax" + _ESC, "ab|x"),
    ("|a\nb", "ox" + _ESC, "a\n|x\nb"),
    ("a\n|b", "Ox" + _ESC, "a\n|x\nb"),
    ("|a\nb", "yyp", "a\n|a\nb"),
    ("a\n|b", "yyP", "a\n|b\nb"),
    ("|a\nb", "ddp", "b\n|a"),
    ("|a\nb", "Y2p", "a\n|a\na\nb"),
    ("|ab", "xp", "b|a"),
    ("|a", "x3p", "aa|a"),
    ("|foo bar", "yw$p", "foo barfoo| "),
    ("|foo", "yiwP", "fo|ofoo"),
    ("|a\n  b", "J", "a| b"),
    ("|a\nb\nc", "3J", "a b| c"),
    ("|aBc", "~", "A|Bc"),
    ("|aBc", "3~", "Ab|C"),
    ("|abc", "xu", "|abc"),
    ("|ab", "xx2u", "|ab"),
    ("|a b c", "dwdwu", "|b c"),
    ("|a b c", "dwu\x12", "|b c"),
    ("|ab", "ixyz\x1bu", "|ab"),
    ("|foo bar", "cwx\x1bu", "|foo bar"),
    ("|a b c", "dw.", "|c"),
    ("|ab", "x.", "|"),
    ("|a b", "cwx\x1bw.", "x |x"),
    ("|a\nb", "A;\x1bj.", "a;\nb|;"),
    ("|a", "ox\x1b..", "a\nx\nx\n|x"),
    ("|abcd", "x2.", "|d"),
    ("|abc def", "vex", "| def"),
    ("|abc", "vly$p", "abca|b"),
    ("ab|cd", "vhd", "a|d"),
    ("|a\nb\nc", "Vjd", "|c"),
    ("|a\nb", "VjJ", "a| b"),
    ("foo b|ar", "viwcx" + _ESC, "foo |x"),
    ("|abc", "v$~", "|ABC"),
    ("|ab cd", "yiwwviwp", "ab |ab"),
    ("a|bc", "vlohd", "|"),
    ("|abc", "d" + _ESC + "x", "|bc"),
    ("|abc", "vl" + _ESC + "x", "a|c"),
    ("|日本語", "x", "|本語"),
]


@each(("before", "keys", "after"), _MOTIONS + _CHANGES)
def test_keys_do_as_in_vi(before: str, keys: str, after: str) -> None:
    editor, vim = _vim(before)

    _type(editor, keys)

    assert _marked(editor) == after
    assert vim.mode == "normal"


def _type(editor: Editor, keys: str) -> None:
    for key in keys:
        if key == "\x12":
            press(editor, "ctrl+r")
        else:
            type_text(editor, key)


def test_it_begins_in_insert_and_escape_leads_to_normal() -> None:
    context = keyboard_context()
    editor = Editor(context)
    editor.mode = vim = Vim(editor, context)
    modes: list[str] = []
    vim.on_mode_change = lambda: modes.append(vim.mode)

    type_text(editor, "hi\x1bi\x1bv\x1b")

    assert editor.text == "hi"
    assert modes == ["normal", "insert", "normal", "visual", "normal"]


def test_escape_in_normal_is_for_others() -> None:
    editor, _ = _vim("|text")

    assert press(editor, "d", "escape") is False
    editor.key(Key("d", "d"))
    assert press(editor, "escape") is True
    assert press(editor, "escape") is False


def test_keys_that_type_nothing_are_the_editors() -> None:
    editor, vim = _vim("ab|c")
    submitted: list[str] = []
    editor.on_submit = submitted.append

    press(editor, "left", "enter")

    assert editor.buffer.caret == 1
    assert submitted == ["abc"]
    assert vim.mode == "normal"


def test_history_works_in_insert() -> None:
    context = keyboard_context()
    editor = Editor(context)
    editor.history.add("before")
    editor.mode = Vim(editor, context)

    press(editor, "up")

    assert editor.text == "before"


def test_a_colon_leads_to_a_line_for_commands() -> None:
    editor, vim = _vim("|text")
    commands: list[str] = []
    vim.on_command = commands.append

    type_text(editor, ":net on")
    shown = editor.render(40)

    assert (vim.mode, shown[2], editor.cursor()) == ("command", ":net on", (2, 7))
    type_text(editor, "\n")
    assert (vim.mode, commands) == ("normal", ["net on"])
    assert editor.text == "text"


def test_escape_leaves_the_line_for_commands() -> None:
    editor, vim = _vim("|text")
    commands: list[str] = []
    vim.on_command = commands.append

    type_text(editor, ":quit\x1b")

    assert vim.mode == "normal"
    assert not commands
    assert ":quit" not in "".join(editor.render(40))


def _command_line(editor: Editor) -> list[str]:
    """The line for commands and what is below it."""
    lines = [plain(line).rstrip() for line in editor.render(40)]
    return lines[lines.index(next(line for line in lines if line.startswith(":"))) :]


def _completed(*entered: str) -> tuple[Editor, list[str]]:
    """An editor in Normal, and the commands that are entered in it."""
    editor, vim = _vim("|text")
    commands: list[str] = []
    vim.on_command = commands.append
    entries = [
        CommandEntry("net", "the network", lambda _, found: found([("on", ""), ("off", "")])),
        CommandEntry("new", ""),
    ]
    vim.command_sources = [CommandCompletion(lambda: entries, "")]
    vim.entered_commands = lambda: entered
    return editor, commands


def test_commands_and_their_arguments_are_completed_below_the_line() -> None:
    editor, commands = _completed()

    type_text(editor, ":ne")
    offered = _command_line(editor)
    press(editor, "tab")
    name = _command_line(editor)
    press(editor, "tab", "down", "tab")
    whole = _command_line(editor)
    row, column = editor.cursor()
    type_text(editor, "\n")

    assert offered[0] == ":ne"
    assert ["net" in offered[1], "new" in offered[2]] == [True, True]
    assert name == [":net"]
    assert whole == [":net off"]
    assert (len(editor.render(40)) - row, column) == (1, 8)
    assert commands == ["net off"]


def test_enter_takes_the_command_that_begins_like_this() -> None:
    editor, commands = _completed()

    type_text(editor, ":new\n")
    type_text(editor, ":net\n")

    assert commands == ["new", "net"]


def test_commands_of_before_are_recalled() -> None:
    editor, commands = _completed("net off", "model")

    type_text(editor, ":")
    press(editor, "up", "up", "up")
    oldest = _command_line(editor)
    press(editor, "down")
    newest = _command_line(editor)
    press(editor, "down")
    draft = _command_line(editor)
    press(editor, "up")
    type_text(editor, " x\n")

    assert [oldest, newest, draft] == [[":net off"], [":model"], [":"]]
    assert commands == ["model x"]


def test_backspace_before_the_first_letter_leaves_the_line() -> None:
    editor, commands = _completed()

    type_text(editor, ":n")
    press(editor, "backspace", "backspace")
    type_text(editor, "x")

    assert (editor.text, commands) == ("ext", [])


def test_a_selection_is_shown() -> None:
    editor, _ = _vim("|foo bar")

    type_text(editor, "ve")

    assert editor.buffer.selected == "foo"


@given(st.lists(st.sampled_from([*'hjklwbeWBE0^$gGfFtT;,iaIAoOxXrsScdyDCYpPuJ~.vVp:123 \x1b\n\x7f"(\x12', "paste"])))
def test_no_keys_break_it(keys: list[str]) -> None:
    editor, vim = _vim('foo (bar,\n\n  baz" 日本 e\u0301\n|x')

    for key in keys:
        if key == "paste":
            editor.key(Paste("long\n" * 20))
        else:
            _type(editor, key)
        assert 0 <= editor.buffer.caret <= len(editor.buffer.text)

    press(editor, "escape", "escape", "escape")
    assert vim.mode == "normal"
    while editor.buffer.undo():
        pass
    assert editor.text in ("", 'foo (bar,\n\n  baz" 日本 e\u0301\nx')
