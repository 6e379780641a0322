"""The guard itself: compares what is at guarded names with what was there before, and undoes a change for the worse."""

import _thread  # `threading` would load for a millisecond
import contextlib
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from kaa.hands.below import RootDirectory, is_below, reach_below
from kaa.hands.guard.baseline import Baseline, harmful_paths
from kaa.hands.guard.directories import GuardedDirectories
from kaa.hands.guard.emptying import EmptiedDirectories, files_in
from kaa.hands.guard.held import TrustedMounts
from kaa.hands.guard.items import (
    CONTAINERS,
    MAX_SAVED_BYTES,
    PROTECTED_REASON,
    Items,
    WrittenFile,
    content_at,
    encoded,
    have_content,
    kept_part,
)
from kaa.hands.guard.judging import Judge
from kaa.hands.guard.kept_files import KeptFiles
from kaa.hands.guard.links import GuardedLink, in_roots, led_to
from kaa.hands.guard.moved_away import MovedAway, identity_of
from kaa.hands.guard.quarantine import FindingLog, MountedError, QuarantineReport, move_away, put_back
from kaa.hands.guard.repository import UNWANTED_REPOSITORY, lost_of_worktrees
from kaa.hands.guard.subjects import Directory, Inside, Known, Subject
from kaa.hands.guard.users_files import UsersFiles
from kaa.hands.inotify import Inotify
from kaa.hands.protected import is_judged_name, is_protected_name

_MAX_ROUNDS = 32  # of reading 64 KiB of events each; the kernel's queue is shorter (fs.inotify.max_queued_events)


class Guard:
    """Watches over the guarded names in some directories.

    Args:
        roots: absolute paths of the writable directories; those that do not exist are left out.
        git_writable: whether a repository may come into being at the top of a root.
        inotify: tells where to look; without it everything is looked at every time.
        named: absolute paths of further guarded names, anywhere below the roots.
        git_directories: absolute paths of git directories elsewhere that belong to the roots and can be written.
        beneath: the roots without what is mounted in them, where the tier has these.
        users_files: recognizes what the user makes while commands run.
        on_look: gets the absolute path of each thing that is looked at.
        named_by: finds the absolute paths that the configuration of the repository of a `.git` names, and those that
            the user's own configuration does.

    Attributes:
        findings: what was done, to be told.
        kept_files: what is written in files that were moved away, to be told as well.
        stuck: what to move away that a mount keeps, which came while a command could write. It has to be released.
        unheld: the user has made something that no mount holds yet.
    """

    def __init__(
        self,
        roots: Iterable[str],
        git_writable: bool,
        inotify: Inotify | None,
        named: Iterable[str] = (),
        git_directories: Iterable[str] = (),
        beneath: Mapping[str, RootDirectory] | None = None,
        users_files: UsersFiles | None = None,
        on_look: Callable[[str], None] = lambda _: None,
        named_by: Callable[[str], tuple[Sequence[str], Sequence[str]]] = lambda _: ((), ()),
    ) -> None:
        self.findings = FindingLog()
        self.stuck: set[Subject] = set()
        self.unheld = False
        self._unchecked: dict[str, None] = {}
        self._left_in_place: set[str] = set()  # paths of new directories that are too many
        self._links_to: dict[Subject, GuardedLink] = {}  # of names that only links make guarded ones: which do
        self._expected: list[str] = []
        self._users_files = users_files or UsersFiles(None)
        self._on_look = on_look
        self._named_by = named_by
        self._directories = GuardedDirectories(
            roots,
            git_directories,
            named,
            inotify,
            self._inspect,
            self._report_unreadable,
            self._deal_with_too_many,
            lambda: not self.minds,
            on_look,
        )
        self._baseline = Baseline()
        self._judge = Judge(self._directories, git_writable, lambda subject: bool(self._baseline.of(subject)))
        self._root_paths = [root.path for root in self._directories.roots]
        self._mounts = TrustedMounts([*self._root_paths, *(each.path for each in self._directories.elsewhere)])
        self._beneath = beneath or {}
        self._subjects: set[Subject] = set()  # at which there are files
        self._changed: set[Subject] = set()  # harmlessly: perhaps only the first half of a change
        self._moved = MovedAway()
        self.kept_files = KeptFiles(lambda file, subject: self._directories.watch(file, Inside(subject, None)))
        self._emptied = EmptiedDirectories()
        # Looked at when what kaa writes there is written; until then nobody knows whose it is.
        self._deferred: set[Subject] = set()
        # By path: of what has just been written, and of what is deferred because of something else still.
        self._written: dict[str, WrittenFile] = {}
        self._settling = _thread.allocate_lock()  # while it changes what is accepted, or the other thread moves
        self._look_at_start()
        self._expected += self._root_paths  # until it begins

    @property
    def scans(self) -> bool:
        """Whether it cannot watch everything, so that it reads all directories at every check."""
        return self._directories.scans

    @property
    def minds(self) -> bool:
        """Whether anything that happens may come from a command."""
        return not any(path in self._expected for path in self._root_paths)

    @property
    def roots(self) -> Sequence[RootDirectory]:
        """The writable directories."""
        return self._directories.roots

    def begin(self, adopts: bool) -> None:
        """Mind from now on what commands may have done. Before, it has taken no notice of anything.

        Args:
            adopts: no command has run since it looked around: what has happened is the user's, and is taken in.
        """
        if adopts:
            self.catch_up()
            for path in self._root_paths:
                self.accept(path)
        else:
            self._expected.clear()

    def expect(self, path: str) -> None:
        """Defer what happens at this absolute path, below and above it, until it is accepted; at a root, take it in."""
        if path in self._root_paths:
            self._emptied.clear_away()
        if path not in self._expected:  # the brain repeats itself when it was interrupted
            self._expected.append(path)

    def accept(self, path: str, written: WrittenFile | None = None) -> None:
        """End the expectation of a path: only what kaa wrote there stays. That of a root took everything in.

        Args:
            path: as it was expected.
            written: what kaa wrote; None if that is nothing.
        """
        if path not in self._expected:
            return
        with self._settling:
            if path in self._root_paths:
                self._users_files.end()
                self._mounts.is_passed_by = False
                self._mounts.renew()
                self._forget_removed()
            self._expected.remove(path)
            deferred, self._deferred = self._deferred, set()
            if written is not None:
                self._written[path] = written
                if not written.size:  # it may be removed, which causes no event
                    deferred.update(one for one in self._baseline.subjects if is_below(path, one.path))
            for subject in deferred:
                self._inspect(subject)
            waiting = [subject.path for subject in self._deferred]
            self._written = {
                path: one for path, one in self._written.items() if any(_is_related(path, each) for each in waiting)
            }

    def pass_by(self, passes: bool) -> None:
        """From now on a command of the model's may run outside the sandbox, or none does any more."""
        self._mounts.is_passed_by = passes

    @property
    def can_discern(self) -> bool:
        """Whether it can know what the user makes while commands run."""
        return self._users_files.knows_calls

    @property
    def is_calm(self) -> bool:
        """Whether it takes what is made now for the user's, though commands run."""
        return self._users_files.is_calm

    def discern(self, discerns: bool) -> None:
        """From now on only commands in the background run, whose calls are noted, or others too."""
        (self._users_files.begin if discerns else self._users_files.end)()

    def take_unheld(self) -> bool:
        """Return whether the user has made something since the last time that no mount holds."""
        unheld, self.unheld = self.unheld, False
        return unheld

    def take_unchecked(self) -> Sequence[str]:
        """Directories, since the last time, with more than can be checked, of which no command may be the cause."""
        unchecked, self._unchecked = self._unchecked, {}
        return tuple(unchecked)

    def take_known(self) -> Known | None:
        """What a successor needs to know; None if that is what it was the last time."""
        return self._baseline.take_known(self._directories.named, self._directories.elsewhere)

    def succeed(self, former: Known) -> None:
        """Take over from a guard that died while commands ran: whatever it did not know comes from them."""
        self._mounts.distrust()
        if not former.named <= self._directories.named:
            self._directories.named |= former.named
            self._look_at_start()
        for subject in self._baseline.subjects:
            if subject in self._directories.elsewhere and subject.key not in former.dangers:
                continue  # no command could write there before
            self._baseline.restrict(subject, former)
            self._inspect(subject)

    def retry(self) -> None:
        """Try again to move away what was stuck. What still cannot be moved is reported."""
        stuck, self.stuck = self.stuck, set()
        for subject in stuck:
            self._inspect(subject, released=True)

    def look(self) -> None:
        """Find what nothing tells, while nobody asks."""
        if self.scans:
            self._directories.look_everywhere()
        self._directories.look_again()
        self.compare()
        for subject in tuple(self._subjects):
            self._note_closed(subject)

    def compare(self) -> None:
        """Look at all guarded files: what is written through a mapping causes no event before it ends."""
        for subject in tuple(self._subjects):
            self._inspect(subject)

    def clear_away(self) -> None:
        """Remove new protected directories out of which all files were taken."""
        self._emptied.clear_away()

    def catch_up(self) -> None:
        """Deal with everything that has happened by now."""
        everywhere = self.scans
        for _ in range(_MAX_ROUNDS):
            if not self.act():
                break
        else:
            everywhere = True
        if everywhere:
            self._directories.look_everywhere()
        self._directories.look_again()
        for subject in self._changed:
            self._inspect(subject, adopt=True)
        self._changed.clear()
        with self._settling:  # what the other thread has moved is noted
            pass
        self.kept_files.look()

    def act(self) -> bool:
        """Deal with some of what has happened; False if nothing has."""
        has_happened = self._directories.act()
        if self.kept_files:
            self.kept_files.look()
        return has_happened

    def move_new_name(self, root: RootDirectory, name: str, watch: Callable[[int], bool]) -> None:
        """Move away what is at a name at the top, if it is protected and a command has just made it.

        Another thread may call this. Everything else is left to `act`, which hears of the same event.

        Args:
            watch: gets each open directory below the name that stays, to be called again when something comes there;
                False if that is not possible.
        """
        subject = Subject(Directory(root, ""), name)
        if not is_protected_name(name, 0) or is_judged_name(name, 0):
            return
        with self._settling:
            if not self.minds or self._baseline.of(subject) or self._is_deferred(subject):
                return
            try:
                files = files_in(root.descriptor, name, watch)
            except OSError:  # `act` hears of it too, and reports it
                return
            paths = [""] if files is None else files
            for path in self._without_users(subject, root.descriptor, paths) if paths else ():
                self._move_new(subject, path)

    def _move_new(self, subject: Subject, path: str) -> None:
        """Move away something of a new name at the top; all of it without a path."""
        root = subject.directory.root
        absolute = os.path.join(subject.path, path).rstrip("/")
        identity, item = identity_of(absolute), None
        parent, _, name = os.path.join(subject.name, path).rstrip("/").rpartition("/")
        with contextlib.suppress(OSError), reach_below(root, parent) as directory:
            item = None if directory is None else content_at(directory, name, MAX_SAVED_BYTES)
        try:
            if path:
                kept: str | None = self._emptied.take_out(subject, root.descriptor, path)
            else:
                kept = move_away(root.descriptor, subject.name)
        except (MountedError, OSError):
            return
        if kept is not None:
            beside = os.path.join(root.path, kept)
            self._moved.note(beside, identity)
            finding = QuarantineReport(subject.path, beside, PROTECTED_REASON, "protected", *encoded(item), path)
            self.findings.add(finding, appeared=absolute)
            self.kept_files.add(subject, finding, identity, item and item.content)

    def close(self) -> None:
        """Let go of the directories and of inotify."""
        self._mounts.close()
        for root in self._beneath.values():
            os.close(root.descriptor)
        self._directories.close()

    def _look_at_start(self) -> None:
        """Take everything as it is now."""
        self._expected += self._root_paths
        self._directories.look_everywhere()
        self._expected.clear()

    def _inspect(self, subject: Subject, *, adopt: bool = False, released: bool = False) -> None:
        """Compare what is at a guarded name with what was there before, and act on what is worse.

        Whatever goes wrong is a finding: what a command makes must not end the guard.

        Args:
            adopt: take a harmless change of what was there before as the new state.
            released: no mount keeps it that could be taken away.
        """
        self._on_look(subject.path)
        try:
            self._act_on(subject, adopt, released)
        except Exception as error:  # noqa: BLE001 - see above
            why = f"it cannot be inspected ({type(error).__name__}: {error}), remove it before you open the project"
            self.findings.add(QuarantineReport(subject.path, "", why, "protected"))

    def _report_unreadable(self, directory: Directory, why: str) -> None:
        if self.minds:  # else no command has made it so
            self.findings.add(QuarantineReport(directory.absolute, "", why, "protected"))

    def _deal_with_too_many(self, directory: Directory) -> None:
        """Move a directory, or a link to one, away that a command has made, where there are too many."""
        if not self.minds:
            path = kept_part(directory.path) or directory.path
            self._unchecked[directory._replace(path=path).absolute.rstrip("/")] = None
            return
        parent, _, name = directory.path.rpartition("/")
        absolute, why = directory.absolute, "there are more directories, and links to them, than can be looked into"
        identity, beside = identity_of(absolute), ""
        if self._moved.has(absolute) or absolute in self._left_in_place:
            return
        try:
            with reach_below(directory.root, parent) as descriptor:
                if descriptor is None:
                    return
                if (kept := move_away(descriptor, name)) is not None:
                    beside = os.path.join(os.path.dirname(absolute), kept)
                    self._moved.note(beside, identity)
        except FileNotFoundError:
            return
        except (MountedError, OSError) as error:
            why += f"; it could not be moved away ({error})"
        if not beside:  # told once
            self._left_in_place.add(absolute)
        self.findings.add(QuarantineReport(absolute, beside, why, "protected"))

    def _note_unchecked(self, subject: Subject, items: Items) -> None:
        """Note which directory is not checked as a whole, to tell the user."""
        for path, item in items.items():
            if item.is_unread:
                self._unchecked[os.path.join(subject.path, kept_part(path) or os.path.dirname(path)).rstrip("/")] = None
                return

    def _act_on(self, subject: Subject, adopt: bool, released: bool) -> None:
        directory = subject.directory
        with reach_below(directory.root, directory.path) as descriptor:
            if descriptor is None:
                self._note_unreachable(subject)
                return
            before = self._baseline.of(subject)
            is_expected = self._is_expected(subject)
            items = self._judge.items(subject, descriptor, before, takes_in=is_expected)
            (self._subjects.add if have_content(items) else self._subjects.discard)(subject)
            if is_expected:
                self._baseline.replace(subject, items)
                self._note_unchecked(subject, items)
                self._follow(subject, before, items)
                return
            if self._is_deferred(subject):
                self._deferred.add(subject)
                return
            for written in self._written.values():
                self._accept_written(subject, items, written)
            before = self._baseline.of(subject)
            if subject.is_git:
                self._put_back_lost(subject, descriptor, before, items)
            harmful = [path for path in harmful_paths(before, items) if not self._moved.covers(subject, path)]
            is_emptied = self._is_emptied(subject, descriptor, before, items)
            if is_emptied:
                harmful = [path for path in harmful if path]
            harmless = {
                path: item.after(before[path]) for path, item in items.items() if path in before and path not in harmful
            }
            self._baseline.remember(subject, {path: item for path, item in items.items() if not item.dangers})
            if adopt:
                before.update(harmless)
            elif any(item != before[path] for path, item in harmless.items()):
                self._changed.add(subject)
            look = _Look(subject, descriptor, before, items, released, is_emptied)
            for path in self._take_in_users(look, harmful) if harmful else ():
                self._remove(look, path)
                if not path:  # the rest has gone with it
                    break

    def _follow(self, subject: Subject, before: Items, items: Items) -> None:
        """Guard what the user's own links at a protected name lead to, and what git obeys for its configuration.

        The start knows of repositories that are near, and of as many as it has time for.
        """
        is_above = self._directories.is_only_above(subject)
        if before != items and (items if is_above else before and self._is_named_link(subject, items)):
            # What other links, and the configuration, name by way of this one is something else now. Configuration is
            # looked at first: what is known to be on the way is guarded no further.
            for other in sorted(self._baseline.subjects, key=lambda one: not (one.name and one.is_git)):
                self._guard_led_to(other, self._baseline.of(other))
        self._guard_led_to(subject, items)

    def _guard_led_to(self, subject: Subject, items: Items) -> None:
        """Guard what links at and below a name lead to, and what configuration names, as it is now."""
        if subject.name and subject.is_git and items:
            self._guard_configured(subject)
        if self._directories.is_only_above(subject) or (
            self._is_named_link(subject, items) and self._directories.has_named_below(os.path.realpath(subject.path))
        ):
            return  # what the link is on the way to is known: the rest of what it leads to is the project's
        link_to_it = self._links_to.get(subject, GuardedLink())
        self._guard_named(led_to(subject, items, self._directories.roots, link_to_it))

    def _is_named_link(self, subject: Subject, items: Items) -> bool:
        """Whether this is a link, and protected only because of what it is on the way to."""
        if "" not in items or not items[""].is_link or subject.path.casefold() not in self._directories.named:
            return False
        depth = subject.directory.depth
        return not (is_protected_name(subject.name, depth) or is_judged_name(subject.name, depth))

    def _guard_configured(self, git: Subject) -> None:
        """Guard what git obeys for the configuration of a repository, and the user's own."""
        own, everywhere = self._named_by(git.path)
        self._guard_named((target, None) for target in in_roots(own, self._directories.roots))
        # A command can make many repositories, in each of which the user's configuration names something.
        self._guard_named(((target, None) for target in in_roots(everywhere, self._directories.roots)), in_each=True)

    def _guard_named(self, targets: Iterable[tuple[Subject, GuardedLink | None]], *, in_each: bool = False) -> None:
        """Guard what links lead to, or configuration names; in each repository alike or not.

        All are known before the first is looked at: of a link on the way to one of them, only the link counts.
        """
        added: list[Subject] = []
        for target, link in targets:
            if self._directories.add_named(target, in_each=in_each):
                if link is not None:
                    self._links_to[target] = link
                added.append(target)
            elif target.path.casefold() not in self._directories.named:
                self._unchecked[target.path] = None
        for target in added:
            self._inspect(target.repository or target)

    def _put_back_lost(self, subject: Subject, directory: int, before: Items, items: Items) -> None:
        """Put back what a worktree of the user's cannot do without; commands may remove all of their own."""
        for path in lost_of_worktrees(subject.path, before, items):
            parent, _, name = os.path.join(subject.name, path).rpartition("/")
            with reach_below(RootDirectory("", directory), parent) as place:
                if place is not None and put_back(place, name, before[path]):
                    items[path] = before[path]

    def _note_unreachable(self, subject: Subject) -> None:
        """Take in that kaa has removed the directory in which a guarded name was, if nothing is there."""
        if self._is_expected(subject) or not _is_missing(subject.directory.absolute):
            return  # taken in later; or it is closed to us, or a link
        if self._is_deferred(subject):
            self._deferred.add(subject)
            return
        for written in self._written.values():
            self._accept_written(subject, {}, written)

    def _forget_removed(self) -> None:
        """Take in what the user has removed, which causes no event: it is not to be put back."""
        for subject in self._baseline.subjects:
            for path in () if subject.is_git else tuple(self._baseline.of(subject)):
                if _is_missing(os.path.join(subject.path, path).rstrip("/")):
                    self._baseline.forget(subject, path)

    def _without_users(self, subject: Subject, directory: int, paths: Sequence[str]) -> Sequence[str]:
        """Leave out paths below a subject, in an open directory, at which is what the user has made or changed."""
        if (calm := self._users_files.calm_since()) is None:
            return paths
        whole = {path: os.path.join(subject.name, path).rstrip("/") for path in paths}
        others = [
            path
            for path in paths
            if not self._users_files.includes(directory, whole[path], calm)
            and not self._users_files.may_change(subject, path, directory, calm)
        ]
        return others if self._users_files.calm_since() == calm else paths

    def _note_closed(self, subject: Subject) -> None:
        """Note which accepted files nobody has open for writing: what changes in them in calm times is the user's."""
        accepted = self._baseline.of(subject)
        if subject.is_git or not accepted or (calm := self._users_files.calm_since()) is None:
            return
        if all(self._users_files.is_noted_closed(subject, path, calm) for path in accepted):
            return
        root, above = subject.directory
        with contextlib.suppress(OSError), reach_below(root, above) as directory:  # what is not known is not noted
            if directory is None:
                return
            paths = {path: os.path.join(subject.name, path).rstrip("/") for path in accepted}
            closed = {path: self._users_files.closed(directory, whole) for path, whole in paths.items()}
            items = self._judge.items(subject, directory, accepted)  # what is written by now was written before
            if self._users_files.calm_since() == calm:
                for path, identity in closed.items():
                    if identity is not None and items.get(path) == accepted[path]:
                        self._users_files.note_closed(subject, path, calm, identity)

    def _take_in_users(self, look: "_Look", harmful: Sequence[str]) -> Sequence[str]:
        """Accept what the user has made among harmful items; return the others.

        What is accepted is read after its birth was looked at, which is looked at once more: it may be exchanged at any
        time, and half written. Whatever is there in between is the user's.
        """
        if not look.subject.name or (calm := self._users_files.calm_since()) is None:
            return harmful
        others = set(self._without_users(look.subject, look.directory, harmful))
        if len(others) == len(harmful):
            return harmful
        items = self._judge.items(look.subject, look.directory, look.before)
        own = [path for path in harmful if path not in others and path in items]
        if self._without_users(look.subject, look.directory, own) or self._users_files.calm_since() != calm:
            return harmful
        for path in own:
            self._baseline.accept(look.subject, path, items[path])
        self.unheld = self.unheld or bool(own)
        return [path for path in harmful if path in others]

    def _is_expected(self, subject: Subject) -> bool:
        if subject in self._directories.elsewhere:
            return not self.minds
        return any(is_below(subject.path, path) for path in self._expected if path in self._root_paths)

    def _is_deferred(self, subject: Subject) -> bool:
        if subject in self._directories.elsewhere:
            return False
        return any(_is_related(subject.path, path) for path in self._expected)

    def _is_emptied(self, subject: Subject, directory: int, before: Items, items: Items) -> bool:
        """Whether this is a new protected directory that stays, without the files in it."""
        if subject.is_git or "" in before or "" not in items or not items[""].is_directory:
            return False
        return files_in(directory, subject.name, lambda _: True) is not None

    def _accept_written(self, subject: Subject, items: Items, written: WrittenFile) -> None:
        """Accept the file that kaa wrote, if it is still what kaa wrote, and the directories it had to make."""
        accepted = set()
        for path, item in items.items():
            absolute = os.path.join(subject.path, path).rstrip("/")
            is_above = item.is_directory and is_below(written.path, absolute)
            if is_above or (absolute == written.path and item.has(written)):
                self._baseline.accept(subject, path, item)
                accepted.add(path)
        if not written.size:  # it was removed, with directories above it: nothing of that is to be put back
            known = self._baseline.known_of(subject) - accepted
            for path in (one for one in known if is_below(written.path, os.path.join(subject.path, one).rstrip("/"))):
                self._baseline.forget(subject, path)

    def _remove(self, look: "_Look", path: str) -> None:
        """Move one item of a subject away and put back what was there before."""
        subject, item, former = look.subject, look.items[path], look.before.get(path)
        absolute = os.path.join(subject.path, path).rstrip("/")
        parent, _, name = os.path.join(subject.name, path).rstrip("/").rpartition("/")
        why, kind = item.reason, "git" if item.dangers == UNWANTED_REPOSITORY else "protected"
        why += f"; {self._links_to[subject].path} leads to it" if subject in self._links_to else ""
        moved, kept = subject.path if look.is_emptied else absolute, ""
        if item.is_unread and former is not None and former.is_unread:  # perhaps the user's own
            self._baseline.accept(subject, path, item)
            self.findings.add(QuarantineReport(absolute, "", why, kind))
            return
        identity = identity_of(absolute)
        with self._reached(look) as directory, reach_below(RootDirectory("", directory), parent) as descriptor:
            if descriptor is None:
                return
            versions = (item, former)
            if not any(one and one.has_other_names for one in versions) and self._mounts.holds(descriptor, name):
                # Since before any command ran: the user changed it.
                self._baseline.accept(subject, path, item)
                return
            seen = item if item.content is not None else content_at(descriptor, name, MAX_SAVED_BYTES)
            try:
                beside = self._moved_away(look, path, directory, descriptor)
            except MountedError:
                if not look.released:
                    self.stuck.add(subject)
                    return
                why += "; something is mounted there, so it could not be moved away: look at it before you continue"
                moved = absolute
                self._baseline.accept(subject, path, item)
            except FileNotFoundError:
                return  # what comes in its place is new
            except OSError as error:
                why += f"; it could not be moved away ({error.strerror}), remove it before you open the project"
                moved = absolute
            else:
                if beside is None:
                    self._baseline.accept(subject, path, item)
                    return
                kept = beside
                self._moved.note(kept, identity)
                if restorable := self._baseline.take_former(subject, path):
                    restored = put_back(descriptor, name, restorable)
                    why += "; what was there before " + ("is back" if restored else "could not be put back")
        is_new = former is None if look.is_emptied else not path and not look.before
        # Commands can write what was moved away: what the user saved meanwhile would be lost with it.
        content = encoded(seen if kept else None)
        below = path if look.is_emptied else ""
        finding = QuarantineReport(moved, kept, why, kind, *content, below)
        self.findings.add(finding, appeared=absolute if is_new else "")
        if kept:
            self.kept_files.add(subject, finding, identity, seen and seen.content)

    def _moved_away(self, look: "_Look", path: str, directory: int, parent: int) -> str | None:
        """Move an item of a subject away.

        Args:
            directory: the open directory in which the subject is.
            parent: the open directory in which the item is.

        Returns:
            Where it is now, absolute; None if no command can have changed it.

        Raises:
            MountedError: a mount keeps it.
            OSError: it is gone, or still there.
        """
        subject, item = look.subject, look.items[path]
        # In a directory such as `skills` a link or a directory counts under every name.
        if look.is_emptied or (path and (item.is_link or item.is_unread) and not subject.is_git):
            beside = self._emptied.take_out(subject, directory, path)
            top = os.path.join(os.path.dirname(subject.path), beside)
            return top if look.is_emptied else os.path.join(top, path)
        absolute = os.path.join(subject.path, path).rstrip("/")
        above, _, name = absolute.rpartition("/")
        container, _, kind = os.path.dirname(path).rpartition("/")
        if subject.is_git and kind in CONTAINERS and item.content is None:
            here = RootDirectory("", directory)
            with reach_below(here, os.path.join(subject.name, container).strip("/")) as target:
                kept, above = move_away(parent, name, item.ending, target), os.path.dirname(above)
        else:
            kept = move_away(parent, name, item.ending)
        return None if kept is None else os.path.join(above, kept)

    @contextlib.contextmanager
    def _reached(self, look: "_Look") -> Iterator[int]:
        """Open the directory of a subject where no mount holds what is in it, if such a way is needed."""
        beneath = self._beneath.get(look.subject.directory.root.path) if self._mounts.is_passed_by else None
        if beneath is None:
            yield look.directory
            return
        with reach_below(beneath, look.subject.directory.path) as directory:
            yield look.directory if directory is None else directory


class _Look(NamedTuple):
    """What was found at a guarded name.

    Attributes:
        directory: the open directory in which it is.
        released: no mount keeps it that could be taken away.
        is_emptied: it is a new directory that stays, without the files in it.
    """

    subject: Subject
    directory: int
    before: Items
    items: Items
    released: bool
    is_emptied: bool


def _is_related(path: str, other: str) -> bool:
    """Whether two paths are the same, or one is below the other."""
    return is_below(path, other) or is_below(other, path)


def _is_missing(path: str) -> bool:
    """Whether nothing is at a path, and nothing keeps us from seeing that."""
    try:
        os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        return True
    except OSError:
        return False
    return False
