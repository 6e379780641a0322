"""Templates of each agent, as the agent expands them; the cases of pi are what pi 1.5.2 answers."""

from itertools import pairwise
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kaa.components.templates import Dialect
from kaa.components.templates.embedded import EmbeddedCommand, File, LiteralText, Piece, pieces_of
from kaa.components.templates.expansion import expand
from tests.support.tables import each

DIALECTS: tuple[Dialect, ...] = get_args(Dialect)

PI = (
    ("$1 and $2", "a b", "a and b"),
    ("$1 and $2", "a", "a and "),
    ("$@", "a b c", "a b c"),
    ("$ARGUMENTS", "a 'b c'", "a b c"),
    ("${@:2}", "a b c d", "b c d"),
    ("${@:2:2}", "a b c d", "b c"),
    ("${@:0}", "a b", "a b"),
    ("${@:0:1}", "a b", "a"),
    ("${@:9}", "a b", ""),
    ("${@:1:0}", "a b", ""),
    ("${1:-x}", "", "x"),
    ("${1:-x}", "a", "a"),
    ("${1:-x}", '""', "x"),
    ("${2:-the default} end", "a", "the default end"),
    ("${@:-all}", "", "all"),
    ("${ARGUMENTS:-all}", "a b", "a b"),
    ("${1:-$2}", '"" b', "$2"),
    ("${0:-z}$0", "a", "z"),
    ("$10 $1 $01", "a b c d e f g h i j", "j a a"),
    ("$1", "'$2' b", "$2"),
    ("$ARGUMENTS", "$1 $@ ${@:1}", "$1 $@ ${@:1}"),
    ("${1} $$1 \\$1", "a", "${1} $a \\a"),
    ("${1:-open $2", "a b", "${1:-open b"),
    ("${1:-a ${2:-b}}", "", "a ${2:-b}"),
    ("$ARGUMENTSX$1x$1$2$1", "a b", "a bXaxaba"),
    ("no placeholder", "a b", "no placeholder"),
    ("$99999999999999999999${@:2:99999999999999999999}", "a b c", "b c"),
    ("$" + "9" * 5_000, "a", ""),
    ("${@:1:2:3}${@:a}${-1:-x}$\u0661", "a", "${@:1:2:3}${@:a}${-1:-x}$\u0661"),
    ("!`cmd` @file {{args}}", "a", "!`cmd` @file {{args}}"),
)
CLAUDE = (
    ("Migrate $0 from $1 to $ARGUMENTS[2].", '"search bar" React Vue', "Migrate search bar from React to Vue."),
    ("Fix $ARGUMENTS.", "a  'b c'", "Fix a  'b c'."),
    ("Fix $ARGUMENTS.", "", "Fix ."),
    ("Fix $issue on $branch-x; $issues, $other", "42 main", "Fix 42 on main-x; $issues, $other"),
    ("$0 $2", "a", "a $2"),
    (
        "It costs \\$1.00: \\$ARGUMENTS, \\$issue, \\$x, \\\\$0",
        "a b",
        "It costs $1.00: $ARGUMENTS, $issue, \\$x, \\\\a",
    ),
    ("$1 $0", "'$0' $ARGUMENTS", "$ARGUMENTS $0"),
    ("Review.", "a b", "Review.\n\nARGUMENTS: a b"),
    ("It costs $5.", "a", "It costs $5.\n\nARGUMENTS: a"),
    ("Review.", " ", "Review."),
    ("$0st $ARGUMENTS_X {{args}} $@", "a", "$0st $ARGUMENTS_X {{args}} $@\n\nARGUMENTS: a"),
    ("In ${CLAUDE_SKILL_DIR}, not ${CLAUDE_EFFORT} or ${HOME}", "", "In /s k, not ${CLAUDE_EFFORT} or ${HOME}"),
)
OPENCODE = (
    ("$1, $2", "a b c d", "a, b c d"),
    ("$2, $1", "a b 'c d'", "b c d, a"),
    ("$1, $3", "a", "a, "),
    ("$0$1", "a b", "a b"),
    ("$ARGUMENTS", "a 'b c'", "a 'b c'"),
    ("$1", "'$ARGUMENTS $1'", "$ARGUMENTS $1"),
    ("Review.", "a b", "Review.\n\na b"),
    ("$1", "", ""),
)
GEMINI = (
    ("Fix {{args}} and {{args}}", "a 'b'", "Fix a 'b' and a 'b'"),
    ("Fix {{args}}", "{{args}} $1", "Fix {{args}} $1"),
    ("Review $1.", "a b", "Review $1.\n\na b"),
    ("Review.", "", "Review."),
)
CODEX = (
    ("$1, $2, $9", "a 'b c'", "a, b c, "),
    ("$10", "a", "a0"),
    ("$ARGUMENTS", "a  'b c'", "a b c"),
    ("$$1 $$ARGUMENTS $$", "a", "$$1 $$ARGUMENTS $$"),
    ("Review $FILE for $FOCUS", "FOCUS='loading state' FILE=a=b", "Review a=b for loading state"),
    ("$FILE: $1, $ARGUMENTS in $HOME", "x FILE=f Y=z", "f: x, x Y=z in $HOME"),
    ("$FILE", "FILE=", ""),
    ("Review.", "a b", "Review."),
)
CURSOR = (
    ("Review $1 and !`ls`.", "the 'last commit'", "Review $1 and !`ls`.\n\nthe 'last commit'"),
    ("Review.", "", "Review."),
)
CASES = [
    (dialect, *case)
    for dialect, cases in zip(DIALECTS, (PI, CLAUDE, OPENCODE, GEMINI, CODEX, CURSOR), strict=True)
    for case in cases
]


def expanded(body: str, arguments: str, dialect: Dialect) -> tuple[Piece, ...]:
    return expand(
        body, arguments, dialect, names=("issue", "branch"), variables={"CLAUDE_SKILL_DIR": "/s k", "HOME": "/h"}
    )


@each(("dialect", "body", "arguments", "text"), CASES)
def test_arguments(dialect: Dialect, body: str, arguments: str, text: str) -> None:
    assert expanded(body, arguments, dialect) == ((LiteralText(text),) if text else ())


def test_older_commands_of_claude_count_from_one() -> None:
    assert expanded("Fix $1, then $2.", "123 now", "claude") == (LiteralText("Fix 123, then now."),)
    assert expanded("Fix $0, then $1.", "123 now", "claude") == (LiteralText("Fix 123, then now."),)
    assert expanded("Fix $1, not \\$0 ($ARGUMENTS[1]).", "123 now", "claude") == (
        LiteralText("Fix 123, not $0 (now)."),
    )


def test_commands_and_files_of_claude() -> None:
    body = (
        "A: !`git diff $ARGUMENTS`\n```!\nnode --version\necho \"$0\" '$1' `id`\n```\nKEY=!`no`, @src/a.py, (@b)\n"
        'me@example.org @"my file.md" see @../x/[id]/b.ts. @${CLAUDE_SKILL_DIR}/c.md\n!`python ${CLAUDE_SKILL_DIR}/d`'
    )

    assert expanded(body, "a;b 'c d'", "claude") == (
        LiteralText("A: "),
        EmbeddedCommand("git diff 'a;b' 'c d'"),
        LiteralText("\n"),
        EmbeddedCommand("node --version\necho \"a;b\" 'c d' `id`"),
        LiteralText("\nKEY=!`no`, "),
        File("src/a.py", "@src/a.py"),
        LiteralText(", (@b)\nme@example.org "),
        File("my file.md", '@"my file.md"'),
        LiteralText(" see "),
        File("../x/[id]/b.ts", "@../x/[id]/b.ts"),
        LiteralText(". "),
        File("/s k/c.md", "@/s k/c.md"),
        LiteralText("\n"),
        EmbeddedCommand("python '/s k'/d"),
    )


def test_examples_in_blocks_of_code_are_no_commands_of_claude() -> None:
    example = "```markdown\nDiff: !`git diff`\n@src/a.py\n```\n~~~~\n!`gh pr view $1`\n```!\nid\n```\n~~~\n~~~~\n"

    assert expanded(f"{example}!`ls`\n```!\nid\n```\n```\n!`no`", "", "claude") == (
        LiteralText(example),
        EmbeddedCommand("ls"),
        LiteralText("\n"),
        EmbeddedCommand("id"),
        LiteralText("\n```\n!`no`"),
    )


@each(
    "command",
    [
        "[[ $0 -eq 5 ]] && echo yes",
        "let n=$0",
        "declare -i n; n=$0",
        "printf -v x %s $0",
        "[ -v $0 ]",
        "test -v $0",
        "unset $0",
    ],
)
def test_no_argument_stands_where_bash_evaluates_data(command: str) -> None:
    pieces = expanded(f"!`{command}`", "'a[$(id)]'", "claude")

    assert not any(isinstance(piece, EmbeddedCommand) for piece in pieces)


def test_commands_and_files_of_opencode() -> None:
    body = "x=!`ls\n$1`, @src/a.ts, (@./b.) me@example.org `@no` !`` $2"

    assert expanded(body, "'a;' b c", "opencode") == (
        LiteralText("x="),
        EmbeddedCommand("ls\n'a;'"),
        LiteralText(", "),
        File("src/a.ts", "@src/a.ts"),
        LiteralText(", ("),
        File("./b", "@./b"),
        LiteralText(".) me@example.org `@no` !`` b c"),
    )


def test_commands_and_files_of_gemini() -> None:
    body = "A !{ grep {{args}} x | awk '{print $1}' } @{docs/a b.md}, @{x}\n!{} @c {{args}}!{open {{args}}"

    assert expanded(body, "it's; 1", "gemini") == (
        LiteralText("A "),
        EmbeddedCommand("grep 'it'\"'\"'s; 1' x | awk '{print $1}'"),
        LiteralText(" "),
        File("docs/a b.md", "@{docs/a b.md}"),
        LiteralText(", "),
        File("x", "@{x}"),
        LiteralText("\n @c it's; 1!{open it's; 1"),
    )


def test_a_missing_argument_is_nothing_in_a_command() -> None:
    assert expand("!`git log $1`", "", "opencode") == (EmbeddedCommand("git log "),)
    assert expand("!{{{args}}}", "", "gemini") == ()


def test_a_command_that_would_take_an_argument_as_code_is_not_run() -> None:
    body = "!`echo $(cat $0)`"

    first, *rest = expand(body, "'a;b'", "claude")

    assert isinstance(first, LiteralText)
    assert first.text.startswith("[kaa did not run `echo $(cat $0)`: ")
    assert first.text.endswith("\n\nARGUMENTS: 'a;b'")
    assert rest == []
    assert expand(body, "a/b.py", "claude") == (EmbeddedCommand("echo $(cat a/b.py)"),)


def test_a_reference_with_an_argument_is_text() -> None:
    assert expand("@$0 @x/$ARGUMENTS", "../../etc/passwd", "claude") == (
        LiteralText("@../../etc/passwd @x/../../etc/passwd"),
    )
    assert expand("@{x/{{args}}}", "../y", "gemini") == (LiteralText("@{x/../y}"),)


TOKENS = st.lists(
    st.sampled_from(
        (
            *("!`", "`", "```!\n", "\n```\n", "!{", "@{", "{", "}", "@", "@a/b", "@b.c ", "!`id`", "!{id}"),
            *("$1", "$0", "$@", "$ARGUMENTS", "$ARGUMENTS[1]", "{{args}}", "${@:2}", "${1:-", "$NAME", "NAME=", "$$"),
            *("${CLAUDE_SKILL_DIR}", "$issue", "x;y", "é", " ", "\n", '"', "'", "\\", "$("),
        )
    ),
    max_size=14,
).map("".join)


@given(TOKENS, TOKENS, st.sampled_from(DIALECTS))
def test_no_argument_becomes_a_command_or_a_file(body: str, arguments: str, dialect: Dialect) -> None:
    embedded = [piece for piece in pieces_of(body, dialect) if not isinstance(piece, LiteralText)]
    pieces = expanded(body, arguments, dialect)

    known = iter([type(piece) for piece in embedded])
    assert all(type(piece) in known for piece in pieces if not isinstance(piece, LiteralText))  # a subsequence
    without = {piece.path for piece in expanded(body, "", dialect) if isinstance(piece, File)}
    assert {piece.path for piece in pieces if isinstance(piece, File)} <= without


@given(TOKENS, TOKENS, st.sampled_from(DIALECTS))
def test_texts_are_joined_and_never_empty(body: str, arguments: str, dialect: Dialect) -> None:
    pieces = expanded(body, arguments, dialect)

    assert LiteralText("") not in pieces
    assert not any(isinstance(one, LiteralText) and isinstance(other, LiteralText) for one, other in pairwise(pieces))


@given(TOKENS, st.sampled_from(DIALECTS))
def test_the_order_of_the_template_is_kept(body: str, dialect: Dialect) -> None:
    position = 0
    for piece in pieces_of(body, dialect):
        source = (
            piece.text if isinstance(piece, LiteralText) else piece.source if isinstance(piece, File) else piece.command
        )
        position = body.index(source, position) + len(source)


# What a search with two nested loops would need minutes for.
@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize(
    "unit", ["${1:-", "!`", "!{", "@{", "```!\n", '@"', '"', "'", '"\\', "@..", "$ARGUMENTS[", "[image 1", "{", "\\"]
)
def test_huge_templates_and_arguments_take_linear_time(unit: str, dialect: Dialect) -> None:
    huge = unit * 40_000

    assert "".join(piece.text for piece in expand(huge, "x", dialect) if isinstance(piece, LiteralText))
    assert expand("$1$@$ARGUMENTS{{args}}", huge, dialect)


@pytest.mark.parametrize("dialect", [one for one in DIALECTS if one != "cursor"])  # which has no placeholders
def test_what_is_inserted_is_limited(dialect: Dialect) -> None:
    first, *_ = expand("$ARGUMENTS{{args}} " * 5_000, "x" * 400_000, dialect)

    assert isinstance(first, LiteralText)
    assert 1_000_000 < len(first.text) < 2_000_000
    assert first.text.endswith("$ARGUMENTS{{args}} ")
