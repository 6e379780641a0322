"""What a call of a tool would do: what it runs and touches, whether it must leave the sandbox, what would be lost."""

import os
import posixpath
import re
from collections import Counter
from collections.abc import Sequence

import msgspec

from kaa.core.messages import Json, ToolCall
from kaa.ext.api import Risk
from kaa.ext.tools import ToolServer
from kaa.host.paths import is_below
from kaa.shell.approvals.destructive import losses
from kaa.shell.approvals.finding import deletion
from kaa.shell.approvals.foresight import Need, foreseen, foreseen_host
from kaa.shell.approvals.grammar import Script, Words, read
from kaa.shell.approvals.losses import Loss
from kaa.shell.approvals.places import absolute, is_free_to_write, is_protected, names_of, path_argument, temporary_path
from kaa.shell.approvals.reach import GIT_OPTIONS_WITH_VALUES, CommandReach, reach
from kaa.shell.boundary import Confines
from kaa.workspace.permitted import Target

# Words that send git, or what follows in the same command, to another directory.
_ELSEWHERE = frozenset({"-C", "--git-dir", "--work-tree", "cd", "pushd", "popd"})
# Variables that do the same, however they are set.
_LEADING_ELSEWHERE = re.compile(r"CDPATH|GIT_(?:(?:COMMON_)?DIR|WORK_TREE|INDEX_FILE|NAMESPACE|\w*OBJECT_DIRECTOR)")
_WITHOUT_QUOTES = str.maketrans("", "", "\\\"'")  # `export CD''PATH=x`
# How the reason for a file that cannot be written ends in read-only.
IN_READ_ONLY = ", and the mode is read-only"
_COMPLETED = re.compile(r"[^\t\n]\t")  # a tab behind a word has a shell complete it
_SAYING = frozenset({("echo",), ("exit",)})  # wherever bash computes what they say, no directory changes
_MAKES_REPOSITORY = frozenset({("git", "init"), ("git", "clone")})
_RENAMES = frozenset({("rename",), ("ln",), ("rsync",), ("eval",), ("source",), (".",)})


class JudgedCall(msgspec.Struct, frozen=True):
    """A call as it is judged.

    Attributes:
        risk: what it can do at most; `outside` where a tool keeps rights that this run does not have.
        arguments: as the tool gets them.
        script: the command, of tools that run one.
        reach: what the command would run.
        target: what a file tool would touch.
        paths: where that is, without links; where nobody looked, all that it may be by its name.
        names: what it is called, absolute: the given path and the others that file tools take it for.
        outside: why it has to leave the sandbox, None if it does not.
        is_held: the sandbox confines all that it can do, as long as it does not leave it.
        losses: what it would throw away.
        restorable: what else it would throw away, if checkpoints keep it.
        needs: what it will foreseeably need from outside the sandbox, whether or not it is permitted already.
        private: a path in a command that would be another file outside the sandbox.
        server: the MCP server that it goes to.
        directory: where its programs work, from the project; empty for the project itself; None if that is not known,
            or is not in the project's repository.
    """

    id: str
    tool: str
    risk: Risk
    arguments: dict[str, Json]
    script: Script | None = None
    reach: CommandReach | None = None
    target: Target | None = None
    paths: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    outside: str | None = None
    is_held: bool = False
    losses: tuple[Loss, ...] = ()
    restorable: tuple[Loss, ...] = ()
    needs: tuple[Need, ...] = ()
    private: str | None = None
    server: ToolServer | None = None
    directory: str | None = ""

    @property
    def command(self) -> str:
        """The command as the model wrote it; empty for a tool that runs none."""
        command = self.arguments.get("command")
        return command if isinstance(command, str) else ""

    @property
    def to_type(self) -> str:
        """The command that kaa proposes to the user to type; empty where it loses files."""
        return "" if self.losses else self.command

    @property
    def title(self) -> str:
        """What is to happen, in one line."""
        if self.script is not None and self.command:
            line, more, _ = self.command.strip().partition("\n")
            return line + (" …" if more else "")
        if self.risk == "fetch":
            return " ".join([self.tool, *str(self.arguments.get("url", "")).split()])
        return f"{self.tool} {self.paths[0]}" if self.paths else self.tool

    @property
    def detour(self) -> str | None:
        """By what name the call comes to a place that has another one, for people."""
        if not self.paths or self.paths[0] in self.names:
            return None
        return f"{self.names[0]} leads to {self.paths[0]} through a link"

    @property
    def works_elsewhere(self) -> bool:
        """Whether git in it may work on another repository than the project's."""
        return self.directory != ""

    @property
    def directories(self) -> tuple[str, ...]:
        """Where relative paths in it may start, from the project; empty if that is not certain.

        It is if each program stands there by itself and none but a first `cd` leads elsewhere. That may fail, so both
        directories count. What other programs than mv rename would be deleted under another name; for mv, see `moved`.
        """
        if self.script is None or self.reach is None or not self.reach.complete:
            return ()
        commands = self.script.commands
        first = commands[0].words if commands else ()
        entered = first[1] if len(first) == 2 and first[0] == "cd" else None
        if entered is not None and not entered.startswith("-"):
            commands = commands[1:]
        stays = self.directory == ""  # wherever git's options lead
        named = [
            ("git", *_of_git(words)[1]) if stays and words[:1] == ("git",) else words
            for words in (command.words for command in self.script.commands)
        ]
        named += [found.inner for words in named if (found := deletion(words))]
        is_plain = Counter(self.reach.commands) <= Counter(named) and not any(
            command.assigns or (not stays and _ELSEWHERE.intersection(command.words)) or command.words[:1] in _RENAMES
            for command in commands
        )
        certain = is_plain and self.moved is not None
        return (".", *([entered] if entered is not None else [])) if certain else ()

    @property
    def moved(self) -> tuple[str, ...] | None:
        """What mv in it moves, which may then be deleted under another name; None if that is not certain."""
        moves = (
            [command.words[1:] for command in self.script.commands if command.words[:1] == ("mv",)]
            if self.script
            else []
        )
        words = [word for move in moves for word in move]
        if None in words or any(word and word.startswith(("-t", "--t")) for word in words):
            return None
        return tuple(word for move in moves for word in move[:-1] if word and not word.startswith("-"))


def _directory(reach: CommandReach, root: str, command: str) -> str | None:
    """Where the programs of a command work, from the project; None if it is not known, or not in its repository.

    Some may work in the project itself where git gets a directory for each of its commands.
    """
    if _LEADING_ELSEWHERE.search(command.translate(_WITHOUT_QUOTES)):
        return None
    entered: list[str | None] = []
    given: list[str | None] = []
    for simple in reach.simple:
        words = simple.words
        if words[:1] in _SAYING:
            continue
        if words[:1] == ("cd",) and len(words) == 2:
            entered.append(_below(root, words[1]))
            continue
        if words[:1] == ("git",):
            places, words = _of_git(words)
            given += [_below(root, place) for place in places]
        if any(word is None or word in _ELSEWHERE for word in words):
            return None
    all_places = {*entered, *given}
    if all_places <= {""}:
        return ""
    if not _MAKES_REPOSITORY.isdisjoint(words[:2] for words in reach.commands):
        return None  # perhaps it works in that one then
    is_first = len(entered) == 1 and not given and reach.simple[0].words[:1] == ("cd",)
    place = all_places.pop() if len(all_places) == 1 and (is_first or not entered) else None
    return place if place is not None and _is_of_same_repository(root, place) else None


def _is_of_same_repository(root: str, directory: str) -> bool:
    """Whether a directory is there, in the repository of the project, and not behind a link or in one of its own."""
    path = os.path.join(root, directory)
    if not os.path.isdir(path) or os.path.realpath(path) != os.path.join(os.path.realpath(root), directory):
        return False
    while len(path) > len(root):
        if os.path.lexists(os.path.join(path, ".git")):
            return False
        path = os.path.dirname(path)
    return True


def _below(root: str, place: str | None) -> str | None:
    """A directory that a command names, from the project; None for one outside, and for what bash computes."""
    if not place or place.startswith(("-", "~")):
        return None
    path = posixpath.normpath(posixpath.join(root, place))
    if not is_below(path, (root,)):
        return None
    found = posixpath.relpath(path, root)
    return "" if found == "." else found


def _of_git(words: Words) -> tuple[list[str | None], Words]:
    """In which directories git works, of its options before the subcommand, and its other words."""
    places: list[str | None] = []
    rest = words[1:]
    while rest and rest[0] is not None and rest[0].startswith("-"):
        option = rest[0]
        if option == "-C":
            place = rest[1] if len(rest) > 1 else None
            # A path that leads up is another one to git, which follows links, than to bash.
            places.append(None if place is None or ".." in place.split("/") else place)
        elif option.partition("=")[0] in ("--git-dir", "--work-tree"):
            places.append(None)
        rest = rest[2:] if option in GIT_OPTIONS_WITH_VALUES.split() else rest[1:]
    names_branch = rest[:1] == ("switch",)  # behind it, -C names no directory
    return [None] if len(places) > 1 else places, tuple(word for word in rest if not (names_branch and word == "-C"))


def examine(
    call: ToolCall,
    risk: Risk,
    confines: Confines,
    target: Target | None = None,
    *,
    server: ToolServer | None = None,
) -> JudgedCall:
    """Find out what a call would do.

    Args:
        risk: what its tool can do at most.
        target: where the path of a file tool leads; None where nobody looked.
    """
    if risk in ("read", "write"):
        return _file_call(call, risk, confines, target)
    script = _script(call) if risk == "command" else None
    found = None if script is None else reach(script)
    is_input = call.arguments.get("process") is not None
    if found is not None and is_input and _COMPLETED.search(str(call.arguments.get("command"))):
        found = msgspec.structs.replace(found, complete=False)
    directory = "" if found is None else _directory(found, confines.root, str(call.arguments.get("command")))
    needs = foreseen_host(call.arguments.get("url")) if risk == "fetch" else ()
    if found is not None:
        needs = _needs(found, confines.writable if directory == "" else (), confines)
    outside = _outside(call.name, risk, confines, server)
    return JudgedCall(
        id=call.id,
        tool=call.name,
        risk="outside" if risk == "granted" and outside is not None else risk,
        arguments=call.arguments,
        script=script,
        reach=found,
        outside=outside,
        is_held=confines.effective and outside is None,
        losses=() if found is None else losses(found, confines.temporary, str(call.arguments.get("command", ""))),
        needs=needs,
        private=_private(call, confines) if risk == "command" else None,
        server=server,
        directory=directory,
    )


def _needs(found: CommandReach, writable: Sequence[str], confines: Confines) -> tuple[Need, ...]:
    def is_beyond(path: str) -> bool:
        return bool(writable) and not is_below(
            os.path.realpath(absolute(path, confines.root)), (*writable, *confines.temporary)
        )

    return foreseen(found, is_beyond)


def _file_call(call: ToolCall, risk: Risk, confines: Confines, target: Target | None) -> JudgedCall:
    path = path_argument(call.arguments)
    names = names_of(path, confines.root) if path is not None else ()
    paths = (target.real_path,) if target is not None else names
    outside = _outside(call.name, risk, confines)
    if risk == "write" and outside is None and confines.mode != "full-access":
        writable = confines.writable
        free = bool(paths) and all(is_free_to_write(one, writable) for one in paths)
        protected = next((one for one in (*paths, *names) if is_protected(one, writable)), None)
        if not free or protected is not None:
            outside = _why_not_inside(protected, confines)
    return JudgedCall(
        id=call.id,
        tool=call.name,
        risk=risk,
        arguments=call.arguments,
        target=target,
        paths=paths,
        names=names,
        outside=outside,
        is_held=confines.effective and outside is None,
    )


def _why_not_inside(protected: str | None, confines: Confines) -> str:
    """Why a file cannot be written inside the sandbox. `protected`: the path, if other programs obey what is there."""
    if confines.mode == "read-only":
        return f"it writes in the project{IN_READ_ONLY}"
    if protected is None:
        return "it writes where the sandbox lets nothing be written"
    from kaa.shell.approvals.obeying import obeying  # lazy: few calls write such files

    return f"it writes what {obeying(protected)}"


def _script(call: ToolCall) -> Script:
    command = call.arguments.get("command")
    if isinstance(command, str):
        return read(command)
    return Script((), understood=False, obstacle="its command is no text")


def _outside(tool: str, risk: Risk, confines: Confines, server: ToolServer | None = None) -> str | None:
    if confines.mode == "full-access" or risk == "read":
        return None
    if risk == "outside":
        return f"{server.title if server else tool} works outside any sandbox"
    if risk == "granted":
        is_less = confines.mode == "read-only" or confines.is_narrowed
        whose = f"{server.title} keeps its rights" if server else f"{tool} keeps the rights of its extension"
        return f"{whose}, which are more than those of this run" if is_less else None
    if not confines.confined:
        return "no sandbox works on this system, so that nothing would confine it"
    return None


def _private(call: ToolCall, confines: Confines) -> str | None:
    command = call.arguments.get("command")
    if not isinstance(command, str) or not confines.confined or confines.mode == "full-access":
        return None
    return temporary_path(command, confines.private_temporary)
