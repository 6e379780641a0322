"""What was at guarded names before: the state to compare with, and the files to put back."""

from collections.abc import Collection, Sequence, Set

from kaa.hands.digest import new_digest
from kaa.hands.guard.items import GuardedItem, Items
from kaa.hands.guard.subjects import Known, Subject

_MAX_REMEMBERED_BYTES = 16 * 1024  # of a file to put back; more than any configuration has
_MAX_REMEMBERED_FILES = 16  # of a subject
_MAX_REMEMBERED_SUBJECTS = 64


class Baseline:
    """The accepted items of each subject, and the last harmless version of small files besides."""

    def __init__(self) -> None:
        self._accepted: dict[Subject, Items] = {}
        self._has_learned = False  # what is dangerous in it is not what it was
        # What was harmless when it was last looked at, of what is not accepted: to put back, and nothing else.
        self._harmless: dict[Subject, Items] = {}

    @property
    def subjects(self) -> Collection[Subject]:
        """Those of which something is accepted."""
        return tuple(self._accepted)

    def of(self, subject: Subject) -> Items:
        """The accepted items of a subject."""
        return self._accepted.get(subject, {})

    def replace(self, subject: Subject, items: Items) -> None:
        """Accept all items of a subject, and nothing else of it."""
        self._has_learned = True
        if items:
            self._accepted[subject] = items
        else:
            self._accepted.pop(subject, None)

    def accept(self, subject: Subject, path: str, item: GuardedItem) -> None:
        self._has_learned = True
        self._accepted.setdefault(subject, {})[path] = item

    def known_of(self, subject: Subject) -> Set[str]:
        """Paths of the items of a subject that are accepted, or remembered."""
        return {*self.of(subject), *self._harmless.get(subject, {})}

    def forget(self, subject: Subject, path: str) -> None:
        """Know nothing more of one item of a subject."""
        self._has_learned = True
        for known in (self._accepted, self._harmless):
            if path in known.get(subject, {}):
                known[subject] = {one: item for one, item in known[subject].items() if one != path}
                if not known[subject]:
                    del known[subject]

    def remember(self, subject: Subject, harmless: Items) -> None:
        """Keep small files that are harmless, the last version of each."""
        small = {path: item for path, item in harmless.items() if 0 < len(item.content or b"") <= _MAX_REMEMBERED_BYTES}
        known = self._harmless.pop(subject, {})  # and back at the end: the oldest are forgotten first
        if len(kept := known | small) <= _MAX_REMEMBERED_FILES and kept:
            self._harmless[subject] = kept
        if len(self._harmless) > _MAX_REMEMBERED_SUBJECTS:
            del self._harmless[next(iter(self._harmless))]

    def take_former(self, subject: Subject, path: str) -> GuardedItem | None:
        """The version of an item to put back. Once only: a remembered one may no longer be harmless."""
        return self.of(subject).get(path) or self._harmless.get(subject, {}).pop(path, None)

    def take_known(self, named: frozenset[str], always: Sequence[Subject]) -> Known | None:
        """What a successor needs to know; None if that is what it was the last time."""
        if not self._has_learned:
            return None
        self._has_learned = False
        subjects = {
            subject.key: {path: _digests(item) for path, item in items.items() if item.dangers}
            for subject, items in self._accepted.items()
        }
        required = {subject.key: subjects.get(subject.key, {}) for subject in always}
        return Known(named, {key: items for key, items in subjects.items() if items} | required)

    def restrict(self, subject: Subject, former: Known) -> None:
        """Accept only what the guard before knew."""
        known = former.dangers.get(subject.key, {})
        self._has_learned = True
        self._accepted[subject] = {
            path: item for path, item in self.of(subject).items() if _digests(item) <= known.get(path, frozenset())
        }


def harmful_paths(before: Items, items: Items) -> Sequence[str]:
    """Paths of the items that are more dangerous than what was there before."""
    return sorted(
        path for path, item in items.items() if item.dangers - (before[path].dangers if path in before else frozenset())
    )


def _digests(item: GuardedItem) -> frozenset[str]:
    return frozenset(new_digest(danger.encode("utf-8", "backslashreplace")).hexdigest()[:32] for danger in item.dangers)
