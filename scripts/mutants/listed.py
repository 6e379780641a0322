"""The fixed list of mutants, and how one is applied to the text of its file."""

from pathlib import Path

import msgspec

LIST = Path(__file__).with_name("list.json")


class MutantError(Exception):
    """The list and the sources do not fit together; the message says which mutant and what to do."""


class Mutant(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A small fault in one line of the sources.

    Attributes:
        name: unique, in the form `area-number`.
        file: relative to the repository.
        line: where the line was when the mutant was chosen; only for readers, because lines move.
        original: the line's text without indentation, which occurs once in the file.
        changed: the text that replaces it.
        why: the behaviour that breaks.
    """

    name: str
    file: str
    line: int
    original: str
    changed: str
    why: str

    def locate(self, text: str) -> int:
        """Return the line's index in the text of its file.

        Raises:
            MutantError: the line is not there exactly once.
        """
        found = [index for index, line in enumerate(text.split("\n")) if line.strip() == self.original]
        if len(found) != 1:
            count = "is gone" if not found else f"occurs {len(found)} times"
            raise MutantError(
                f"mutant {self.name}: the line {self.original!r} of {self.file} (once line {self.line}) {count}: write"
                f" the line that does its work today, and the same fault in it, into {LIST.name}"
            )
        return found[0]

    def apply(self, text: str) -> str:
        """Return the text of the file with the fault in it.

        Raises:
            MutantError: the line is not there exactly once.
        """
        lines = text.split("\n")
        index = self.locate(text)
        indentation = lines[index][: -len(lines[index].lstrip())]
        lines[index] = indentation + self.changed
        return "\n".join(lines)


def load(path: Path = LIST) -> list[Mutant]:
    """Read the list.

    Raises:
        MutantError: it is not a list of mutants with different names.
    """
    try:
        mutants = msgspec.json.decode(path.read_bytes(), type=list[Mutant])
    except msgspec.DecodeError as error:
        raise MutantError(f"cannot read {path}: {error}") from error
    if len({mutant.name for mutant in mutants}) < len(mutants):
        raise MutantError(f"{path} has two mutants of one name: give each its own")
    return mutants
