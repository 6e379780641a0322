"""Commands of git that would change files that the sandbox protects: they would stop half way.

git unlinks a file before it writes another version. Where the sandbox refuses that, git switches the branch all the
same and leaves the file, which the next checkout then refuses to overwrite; a stash takes the file and leaves it, so
that `git stash pop` finds it in its way; and what discards changes or removes untracked files discards only others.
What applies changes leaves the files that it had written by then, or has removed them.
"""

import os
import re
import shlex
from collections.abc import Awaitable, Callable, Collection, Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple, TypeAlias

import msgspec

from kaa.host.paths import is_below
from kaa.shell.approvals.calls import JudgedCall
from kaa.shell.approvals.grammar import SimpleCommand, Words
from kaa.shell.approvals.words import literal
from kaa.workspace.git_held import WITHOUT, HeldFiles, Incoming, Taken

# What of the files that a command writes is protected in the project and held; None if nothing, or not known.
AskHeld: TypeAlias = Callable[[Incoming], Awaitable[HeldFiles | None]]
# The same of what a command takes away that is not committed.
AskTaken: TypeAlias = Callable[[Taken], Awaitable[HeldFiles | None]]

_HARD = frozenset({"--hard", "--merge", "--keep"})
_LETTERS = re.compile("-[A-Za-z]+")
_MOST_NAMED = 5
_INPUT = re.compile(r"0?<(?![<&>])\s*(.+)")
_SPARING = re.compile(r":(?:\((?:top,)?exclude(?:,top)?\)|[!^]/?)(.+)")
_ABBREVIATED = 12  # digits of a commit
_PLACES = (".", ":/")
_PRESENT = ("HEAD", "@")
_FORCING = frozenset({"-f", "--force", "--discard-changes"})
_RESTORING = ("git", "restore", "--source=HEAD", "--staged", "--worktree")


class _Loss(NamedTuple):
    """What a command of git takes away from the working tree.

    Attributes:
        taken: what is not committed.
        instead: gives a command that does the same but for some pathspecs; empty if there is none.
        revision: whose files take the place of those there; empty for those of the last commit or the index.
        is_whole: it takes that of all the working tree, also where it works in a directory of it.
    """

    taken: Taken
    instead: Callable[[Sequence[str]], str]
    revision: str = ""
    is_whole: bool = False


class _Form(NamedTuple):
    """How the words of a subcommand of git say what it writes.

    Attributes:
        written: gives what that is, of the operands; None if that is not known.
        letters: short options whose value may be the next word.
        options: the same of long ones.
    """

    written: Callable[[Sequence[str]], Incoming | None]
    letters: str = ""
    options: frozenset[str] = frozenset()


async def held_by(call: JudgedCall, ask: AskHeld, ask_taken: AskTaken) -> HeldFiles | None:
    """Return the protected files that a command of git in a call would have to change; None if there are none.

    Args:
        call: a call of a tool that runs commands.
        ask: tells what of what git writes is protected.
    """
    if call.reach is None or call.directory is None:
        return None
    for words in dict.fromkeys(_with_input(words, call.reach.simple) for words in call.reach.commands):
        if (part := _part(words)) is not None and (held := await _held_of_part(part, call.directory, ask)):
            return held
        if (written := _written(words)) is None:
            continue
        if call.directory and written.patches:
            if words[1] != "am":  # git apply leaves out what is not in its directory
                continue
            names = (name if name.startswith("-") else os.path.join(call.directory, name) for name in written.patches)
            written = msgspec.structs.replace(written, patches=tuple(names))
        if (held := await ask(written)) is not None:
            remedy = _excluding(_at(call.directory, words), held.paths) if written.patches else ""
            return msgspec.structs.replace(held, remedy=remedy)
    for loss in filter(None, map(_loss, call.reach.commands)):
        if call.directory and not loss.is_whole:
            continue
        asked = (await ask(Incoming(loss.revision)) if loss.revision else None, await ask_taken(loss.taken))
        if found := [held for held in asked if held is not None]:
            paths = tuple(dict.fromkeys(path for held in found for path in held.paths))
            without = tuple(dict.fromkeys(one for held in found for one in held.without))
            return msgspec.structs.replace(found[0], paths=paths, without=without, remedy=loss.instead(without))
    return None


def _with_input(words: Words, simple: Sequence[SimpleCommand]) -> Words:
    """A command that applies a patch, with the file that it would read as its input."""
    if words[:1] != ("git",) or words[1:2] not in (("apply",), ("am",)):
        return words
    for command in simple:
        if command.words[1 - len(words) :] == words[1:]:
            for redirection in command.redirections:
                file = literal(found[1].encode()) if (found := _INPUT.fullmatch(redirection)) else None
                if file is not None and not file.startswith("-"):
                    return (*(word for word in words if word != "-"), file)
    return words


class _Part(NamedTuple):
    """A command that takes some files from a revision: its words before their names, and these."""

    head: tuple[str, ...]
    revision: str
    places: tuple[str, ...]
    spared: tuple[str, ...]


def _part(words: Words) -> _Part | None:
    """What a command of git takes from a revision by name; None for another one, and if that is not known."""
    known = [word for word in words if word is not None]
    if words[:1] != ("git",) or words[1:2] not in (("checkout",), ("restore",)) or len(known) < len(words):
        return None
    if _restoring(words) is not None:  # all of it, see `_loss`
        return None
    sources, places, head = _sources(known), list[str](), known[:2]
    is_past_options = False
    for before, word in pairwise(known[1:]):
        if word == "--" and not is_past_options:
            is_past_options = True
            if known[1] == "checkout":
                sources, head, places = places, [*head, *places], []
        elif is_past_options or not (word.startswith("-") or _names_source(known, before)):
            places.append(word)
        else:
            head.append(word)
    if known[1] == "checkout" and not is_past_options and len(places) > 1:
        sources = [places.pop(0)]
        head += sources
    spared = tuple(place for place in places if _SPARING.fullmatch(place))
    places = [place for place in places if not _SPARING.fullmatch(place)]
    is_magic = any(place.startswith(":") and place != ":/" for place in places)
    if len(sources) != 1 or not places or is_magic or (known[1] == "restore" and _is_of_index(known)):
        return None
    return _Part(tuple(head), sources[0], tuple(places), spared)


def _from_top(place: str, directory: str) -> str:
    """What a pathspec names, from the project, of one in a directory of it."""
    return "." if place == ":/" else os.path.normpath(os.path.join(directory, place))


def _spared_from_top(pathspec: str, directory: str) -> str:
    """The same of one that leaves files out, which may say that it is from the top."""
    path = _SPARING.sub(r"\1", pathspec)
    magic = pathspec[: len(pathspec) - len(path)]
    return os.path.normpath(path) if "top" in magic or magic.endswith("/") else _from_top(path, directory)


async def _held_of_part(part: _Part, directory: str, ask: AskHeld) -> HeldFiles | None:
    """What is held of it, if it names others, too: those would be all that git writes."""
    paths = {place: _from_top(place, directory) for place in part.places}
    held = await ask(Incoming(part.revision, paths=tuple(paths.values())))
    if held is None:
        return None
    given = tuple(_spared_from_top(one, directory) for one in part.spared)
    found = tuple(path for path in held.paths if not is_below(path, given))
    left_out = [one.removeprefix(WITHOUT) for one in held.without]
    kept = [place for place, path in paths.items() if not is_below(path, left_out)]
    if not found or not kept:
        return None
    is_within = any(paths[place] == "." or is_below(path, (paths[place],)) for place in kept for path in found)
    spared = dict.fromkeys((*given, *left_out)) if is_within or given else ()
    there = [word for word in _at(directory, part.head) if word is not None]
    remedy = shlex.join((*there, "--", *kept, *(f"{WITHOUT}{one}" for one in spared)))
    return msgspec.structs.replace(held, paths=found, remedy=remedy)


def _at(directory: str, words: Words) -> Words:
    """A command of git for a directory of the project, where commands start."""
    return ("git", "-C", directory, *words[1:]) if directory else words


def explained(held: HeldFiles) -> str:
    """Return why a command is not run in the sandbox, a sentence without a full stop."""
    more = len(held.paths) - _MOST_NAMED
    named = ", ".join(held.paths[:_MOST_NAMED]) + (f" and {more} more" if more > 0 else "")
    return f"it changes or removes {named}, which the sandbox protects, so git would stop half way"


def meant_otherwise(shown: HeldFiles, now: HeldFiles | None) -> str:
    """Return why a yes does not count after which something else would be done than was shown; empty if it counts."""
    if now == shown:
        return ""
    commits = {} if now is None else now.commits
    moved = next((name for name, commit in shown.commits.items() if commits.get(name) != commit), "")
    if now is None or now.objection or not moved:
        return "what it changes is not what was shown any more"
    return f"{moved} means another commit now: {commits.get(moved, '')[:_ABBREVIATED]}"


def _loss(words: Words) -> _Loss | None:
    """What a command of git takes of all that changed; None for another one, and for one that names files."""
    if words[:1] != ("git",) or len(words) < 2:
        return None
    match words[1]:
        case "stash":
            return _stash(words)
        case "clean":
            return _clean(words)
        case "reset" if "--hard" in words:
            return _moving(words, ["--keep" if word == "--hard" else word for word in words])
        case "checkout" | "restore" if (restoring := _restoring(words)) is not None:
            return restoring
        case "checkout" | "switch" if "--" not in words and (
            not _FORCING.isdisjoint(words) or _has(words, "--force", "f")
        ):
            return _moving(words, list(_unforced(words)))
        case _:
            return None


def _stash(words: Words) -> _Loss | None:
    subcommand, *rest = words[2:] if words[2:3] and not (words[2] or "-").startswith("-") else ("push", *words[2:])
    is_partial = subcommand == "push" and any(_operands(rest, "m", _OF_STASH))
    if subcommand not in ("push", "save") or "--" in rest or is_partial:
        return None
    is_all = _has(rest, "--all", "a")
    taken = Taken(changes=True, untracked=is_all or _has(rest, "--include-untracked", "u"), ignored=is_all)
    known = [word for word in rest if word is not None]
    if subcommand == "save":
        options = [word for word in known if word.startswith("-")]
        message = [word for word in known if not word.startswith("-")]
        known = [*options, *(["-m", " ".join(message)] if message else [])]

    def instead(without: Sequence[str]) -> str:
        return "" if None in rest else shlex.join(("git", "stash", "push", *known, "--", ":/", *without))

    return _Loss(taken, instead, is_whole=True)


def _clean(words: Words) -> _Loss | None:
    if _has(words, "--dry-run", "n") or not _has(words, "--force", "f"):  # without force git refuses it
        return None
    spared = [word.partition("=")[2] for word in words if word is not None and word.startswith("--exclude=")]
    operands: list[str | None] = []
    options: list[str | None] = []
    for before, word in pairwise(words[1:]):
        is_value = before is not None and re.fullmatch("-[A-Za-z]*e|--exclude", before) is not None
        if is_value and word is not None:
            spared.append(word)
        is_option = is_value or (word is not None and word.startswith("-"))
        (options if is_option else operands).append(word)
    if operands not in ([], *([place] for place in _PLACES)):
        return None
    only_ignored = _has(options, "", "X")
    directories = _has(options, "", "d") or bool(operands)  # with a path, git removes directories without -d
    ignored = only_ignored or _has(options, "", "x")
    taken = Taken(untracked=not only_ignored, ignored=ignored, directories=directories, spared=tuple(spared))

    def instead(without: Sequence[str]) -> str:
        if only_ignored:  # what -e spares would count as ignored
            return _leaving(without, words) if directories else ""
        known = [word for word in words if word is not None]
        patterns = (word for one in without for word in ("-e", f"/{_as_pattern(one.removeprefix(WITHOUT))}"))
        return "" if None in words else shlex.join((*known[:2], *patterns, *known[2:]))

    return _Loss(taken, instead)


def _as_pattern(path: str) -> str:
    """A path as a pattern of `.gitignore` that fits nothing else."""
    return re.sub(r"([\\*?\[\]!# ])", r"\\\1", path)


def _moving(words: Words, without_force: Sequence[str | None]) -> _Loss:
    """What moves to a revision, or stays at the present one, and discards all changes on the way."""
    stays = all(word in ("-q", "--quiet", *_PRESENT) for word in words[2:] if word not in _FORCING | {"--hard"})

    def instead(without: Sequence[str]) -> str:
        # The reset ends a merge, too.
        restoring = f"{shlex.join((*_RESTORING, '--', ':/', *without))} && git reset -q"
        if stays:
            return restoring
        known = [word for word in without_force if word is not None]
        return f"{restoring} && {shlex.join(known)}" if len(known) == len(without_force) else ""

    return _Loss(Taken(changes=True), instead, is_whole=True)


def _unforced(words: Words) -> Iterator[str | None]:
    for word in words:
        if word is not None and _LETTERS.fullmatch(word):
            letters = word[1:].replace("f", "")
            if letters:
                yield f"-{letters}"
        elif word not in _FORCING:
            yield word


def _restoring(words: Words) -> _Loss | None:
    """What restores all that changed in the working tree, from the index or a revision."""
    sources = _sources(words)
    places: list[str] = []
    for before, word in pairwise(words[1:]):
        if not _names_source(words, before) and word is not None and not word.startswith("-"):
            places.append(word)
    if words[1] == "checkout" and len(places) > 1:
        sources.append(places.pop(0))
    is_of_index = words[1] == "restore" and _is_of_index(words)
    if len(places) != 1 or places[0] not in _PLACES or is_of_index:
        return None
    revision = sources[-1] if sources and sources[-1] not in _PRESENT else ""
    return _Loss(Taken(changes=True), lambda without: _leaving(without, words), revision)


def _sources(words: Words | Sequence[str]) -> list[str]:
    """Of which revisions git restores files, of options."""
    named = [word.partition("=")[2] for word in words if word is not None and word.startswith("--source=")]
    return named + [word for before, word in pairwise(words[1:]) if word is not None and _names_source(words, before)]


def _names_source(words: Words | Sequence[str], option: str | None) -> bool:
    """Whether what follows an option is the revision whose files git restores."""
    return words[1] == "restore" and option in ("-s", "--source")


def _is_of_index(words: Words | Sequence[str]) -> bool:
    return _has(words, "--staged", "S") and not _has(words, "--worktree", "W")


def _has(words: Sequence[str | None], option: str, letter: str) -> bool:
    letters = (word for word in words if word and _LETTERS.fullmatch(word))
    return option in words or any(letter in word for word in letters)


def _leaving(without: Sequence[str], words: Words) -> str:
    """The same command of git without some paths; empty if not all of its words are known."""
    known = [word for word in words if word is not None and word != "--"]
    if None in words or len(words) - len(known) > 1:
        return ""
    options, places = [word for word in known if word not in _PLACES], [word for word in known if word in _PLACES]
    return shlex.join((*options, "--", *(places or ["."]), *without))


def _written(words: Words) -> Incoming | None:
    """What a command of git puts into the working tree; None if that is not known, or only what the words name."""
    if words[:1] != ("git",) or len(words) < 2 or "--" in words:
        return None
    subcommand, *rest = words[1:]
    if subcommand == "stash" and rest[:1] in (["pop"], ["apply"]):
        subcommand, rest = "stash pop", rest[1:]
    elif subcommand == "stash" and rest[:1] == ["branch"]:
        subcommand, rest = "stash pop", rest[2:]
    if (form := _FORMS.get(subcommand or "")) is None or not _NOT_WRITING.isdisjoint(rest):
        return None
    if subcommand == "reset" and _HARD.isdisjoint(rest):
        return None
    if subcommand == "read-tree" and not _has(rest, "", "u"):
        return None
    found = form.written(list(_operands(rest, form.letters, form.options)))
    if found is None or not found.patches:
        return found
    return msgspec.structs.replace(found, patches=(*filter(None, map(_limit, rest)), *found.patches))


def _one(operands: Sequence[str]) -> Incoming | None:
    return Incoming("@{-1}" if operands == ["-"] else operands[0]) if len(operands) == 1 else None


def _branch(operands: Sequence[str]) -> Incoming | None:
    return None if (found := _one(operands)) is None else msgspec.structs.replace(found, branch=True)


def _last(operands: Sequence[str]) -> Incoming | None:
    return Incoming(operands[-1]) if operands else None


def _merged(operands: Sequence[str]) -> Incoming | None:
    if len(operands) > 1:
        return None
    return Incoming("@{-1}" if operands == ["-"] else operands[0] if operands else "@{upstream}", merged=True)


def _pulled(operands: Sequence[str]) -> Incoming | None:
    """What git has fetched before: nobody knows what it fetches now."""
    remote, *branches = operands or [""]
    if not branches:
        return Incoming("@{upstream}", merged=True)
    if len(branches) > 1 or ":" in branches[0]:
        return None
    return Incoming(branches[0] if remote == "." else f"{remote}/{branches[0]}", merged=True)


def _picked(operands: Sequence[str]) -> Incoming | None:
    return Incoming(commits=tuple(operands)) if operands else None


def _reverted(operands: Sequence[str]) -> Incoming | None:
    return Incoming(commits=tuple(operands), reverted=True) if operands else None


def _stashed(operands: Sequence[str]) -> Incoming | None:
    entry = operands[0] if operands else "0"
    return Incoming(commits=(f"stash@{{{entry}}}" if entry.isdecimal() else entry,))


def _patched(operands: Sequence[str]) -> Incoming | None:
    return Incoming(patches=tuple(operands)) if operands and "-" not in operands else None


def _limit(word: str | None) -> str | None:
    """An option that says which files of a patch count, or what they are called."""
    return word if word is not None and _OF_NAMES.match(word) else None


def _excluding(words: Words, paths: Sequence[str]) -> str:
    """The same command that applies patches without some files; empty if not all of its words are known."""
    known = [word for word in words if word is not None]
    if None in words or any(map(_RENAMING.match, known)):
        return ""
    at = 4 if known[1] == "-C" else 2
    return shlex.join((*known[:at], *(f"--exclude={_as_pattern(path)}" for path in paths), *known[at:]))


def _operands(words: Sequence[str | None], letters: str, options: Collection[str]) -> Iterator[str]:
    is_value = False
    for word in words:
        if is_value or word is None:
            is_value = False
        elif word != "-" and word.startswith("-"):
            at = next((at for at, letter in enumerate(word) if letter in letters), 0)
            is_value = word in options if word.startswith("--") else 0 < at == len(word) - 1
        else:
            yield word


_CONFLICT = frozenset({"--orphan", "--conflict", "--pathspec-from-file"})
_STRATEGY = frozenset({"--strategy", "--strategy-option", "--cleanup"})
_OF_STASH = frozenset({"--message", "--pathspec-from-file"})
_OF_PATCH = frozenset({"--directory", "--exclude", "--include", "--whitespace"})
_OF_NAMES = re.compile(r"-p\d+$|--(?:directory|exclude|include)=")
_RENAMING = re.compile(r"-p|--(?:directory|include)")
# With these, git writes nothing, or goes on with what was begun.
_NOT_WRITING = frozenset(
    "--abort --cached --check --continue --numstat --quit --show-current-patch --skip --stat --summary".split()  # noqa: SIM905
)
_FORMS = {
    "checkout": _Form(_branch, "bB", _CONFLICT),
    "switch": _Form(_branch, "cC", _CONFLICT),
    "reset": _Form(_one),
    "read-tree": _Form(_last),
    "rebase": _Form(_one, "sXxC", _STRATEGY | {"--onto", "--exec"}),
    "merge": _Form(_merged, "msXF", _STRATEGY | {"--file", "--into-name"}),
    "pull": _Form(_pulled, "sXjo", _STRATEGY | {"--depth", "--jobs", "--server-option"}),
    "cherry-pick": _Form(_picked, "mX", _STRATEGY | {"--mainline"}),
    "revert": _Form(_reverted, "mX", _STRATEGY | {"--mainline"}),
    "stash pop": _Form(_stashed),
    "apply": _Form(_patched, "pC", _OF_PATCH),
    "am": _Form(_patched, "pC", _OF_PATCH),
}
