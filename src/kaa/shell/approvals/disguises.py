"""Decides whether a command may run what a deny rule forbids in a way that `reach` cannot resolve to a program.

A program may get it as code in a word or on its input, run words of its own as a command, or be git with an alias. What
is found here leads to a question, not to a refusal: the text may as well be data.
"""

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import pairwise

from kaa.shell.approvals.calls import JudgedCall
from kaa.shell.approvals.grammar import SimpleCommand, Words, read
from kaa.shell.approvals.programs import program_name, runs_programs
from kaa.shell.approvals.reach import reach
from kaa.shell.approvals.rules import Rule, RuleMatch

# They run what they read, so that any text of the command may be theirs: a here-document, the words of `echo`, a file
# that the command writes first.
_READERS = frozenset(
    """
    alias ash at awk bash batch bun busybox clojure coproc crontab csh dash dc deno docker duckdb ed elixir erl eval ex
    expect fc fish ftp gawk gdb ghci gmake gnuplot groovy guile iex ipython irb java jshell julia just ksh lftp lldb lua
    luajit m4 make mariadb mawk mksh mysql nawk node nodejs nvim octave osascript parallel perl php podman psql pwsh
    pypy python r rash rbash red rscript ruby scala script sh source sqlite3 ssh su sudo tclsh tcsh telnet tmux toybox
    trap ts-node tsx vi view vim xonsh zsh .
    """.split()  # noqa: SIM905 - as a list it would fill the screen
)
# Words of theirs name nothing that runs.
_SHOWING = frozenset(
    """
    : [ basename cat cd cut df dirname du echo egrep export false fgrep grep head help hostname ls man mkdir printf ps
    pwd readlink realpath rg rm seq sort tail tee test touch tr true type wc whatis whereis which
    """.split()  # noqa: SIM905 - as above
)
# Commands of git 2.51 and of programs that many install beside it. Others are aliases, or programs named `git-X`.
_OF_GIT = frozenset(
    """
    add am annex annotate apply archive backfill bisect blame branch bugreport bundle cat-file check-attr check-ignore
    check-mailmap check-ref-format checkout checkout-index cherry cherry-pick citool clean clone column commit
    commit-graph commit-tree config count-objects credential daemon describe diagnose diff diff-files diff-index
    diff-pairs diff-tree difftool fast-export fast-import fetch fetch-pack filter-branch filter-repo flow fmt-merge-msg
    for-each-ref for-each-repo format-patch fsck fsck-objects gc get-tar-commit-id grep gui hash-object help hook
    http-backend http-fetch http-push imap-send index-pack init init-db instaweb interpret-trailers last-modified lfs
    log ls-files ls-remote ls-tree mailinfo mailsplit maintenance merge merge-base merge-file merge-index merge-tree
    mergetool mktag mktree multi-pack-index mv name-rev notes p4 pack-objects pack-redundant pack-refs patch-id prune
    prune-packed pull push quiltimport range-diff read-tree rebase receive-pack reflog refs remote repack replace replay
    repo request-pull rerere reset restore rev-list rev-parse revert rm send-email send-pack shortlog show show-branch
    show-index show-ref sparse-checkout stage stash status stripspace submodule subtree svn switch symbolic-ref tag
    unpack-file unpack-objects update-index update-ref update-server-info upload-archive upload-pack var verify-commit
    verify-pack verify-tag version whatchanged worktree write-tree
    """.split()  # noqa: SIM905 - as above
)
_SHORT = re.compile("-[A-Za-z]{1,9}")
_OPTION = re.compile("--?[A-Za-z][^ =]*=")
# How far the words of a rule may be apart, in a list of strings or with options between them, such as `git -C x push`.
_BETWEEN = r"(?![A-Za-z0-9])[^\n;&|]{0,60}?(?<![A-Za-z0-9_.-])"


# Variables of bash by which a word runs another program. Quotes in their names do not count.
_RENAMING = re.compile("BASH_(?:ALIASES|CMDS)")
_WITHOUT_QUOTES = str.maketrans("", "", "\\\"'")


def may_run(rule: Rule, call: JudgedCall) -> bool:
    """Whether a command may run what a rule with words is about.

    Args:
        rule: a deny rule of which no program in reach is known to be meant.
    """
    if call.reach is None:
        return False
    written, text = _pattern(rule), str(call.arguments.get("command"))
    if _RENAMING.search(text.translate(_WITHOUT_QUOTES)):
        return True
    if any(_runs_texts(command) for command in call.reach.simple) and written.search(text):
        return True
    settings = (word for command in call.reach.simple for word in _settings(command.words))
    if any(written.search(setting) for setting in settings):
        return True
    return any(_may_run(rule, written, words) for words in call.reach.commands)


def _settings(words: Words) -> Iterator[str]:
    """What git is told to obey by `-c`, which `reach` leaves out."""
    return (setting for option, setting in pairwise(words) if option == "-c" and setting is not None)


def _may_run(rule: Rule, written: "re.Pattern[str]", words: Words) -> bool:
    name = program_name(words[0] or "")
    literal = [word for word in words if word is not None]
    if name == "git":
        subcommand = next((word for word in literal[1:] if not word.startswith("-")), None)
        if rule.words[0] == "git" and len(rule.words) > 1 and subcommand is not None and subcommand not in _OF_GIT:
            return True
    if name in _READERS or runs_programs(literal):
        texts = (*literal[1:], " ".join(literal[1:]), *(value for word in literal[1:] for value in _joined(word)))
        return any(written.search(text) for text in texts)
    if name in _SHOWING:
        return False
    if len(rule.words) > 1 and any(_matches(rule, rest) for rest in _ends(words[1:])):
        return True
    return name != "git" and any(_is_command(rule, word) for word in literal[1:] if " " in word)


def _is_command(rule: Rule, text: str) -> bool:
    """Whether a text, or the value of an option, would run what a rule forbids if it was a command."""
    return any(_matches(rule, words) for words in _commands(_OPTION.sub("", text)))


@lru_cache(maxsize=4096)  # each rule asks for the same; a command has no more words with blanks
def _commands(text: str) -> tuple[Words, ...]:
    return reach(read(text)).commands


def _joined(word: str) -> Iterator[str]:
    """What may be the value of a short option that stands in the same word, such as `git push` in `-nOgit push`."""
    if match := _SHORT.match(word):
        yield from (word[index:] for index in range(2, match.end()))


def _runs_texts(command: SimpleCommand) -> bool:
    program = command.words[0] if command.words else None
    return command.assigns or (program is not None and ("/" in program or program_name(program) in _READERS))


def _matches(rule: Rule, words: Words) -> bool:
    return words[0] is not None and rule.forbids_words(words) is not RuleMatch.NO


def _ends(words: Words) -> Iterator[Words]:
    return (words[index:] for index in range(len(words)))


def _pattern(rule: Rule) -> "re.Pattern[str]":
    """The program of a rule and its first words, as they stand in code; its options may be anywhere."""
    program, *rest = rule.words
    names = [program.rpartition("/")[2], *_operands(rest)]
    return re.compile(
        r"(?:(?<![\w.-])|(?<=\\[abefnrtv]))" + _BETWEEN.join(map(re.escape, names)) + r"(?![\w.-])", re.IGNORECASE
    )


def _operands(words: Sequence[str]) -> list[str]:
    return [word for word in words if not word.startswith("-")]
