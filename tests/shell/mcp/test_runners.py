"""Which package a runner executes is found in long texts, too."""

from typing import Any

from kaa.shell.mcp.runners import package_of_runner


class Watched(list[str]):
    """Words that note how many of them were copied."""

    copied = 0

    def __getitem__(self, place: Any) -> Any:  # any: as list has it
        found = super().__getitem__(place)
        self.copied += len(found) if isinstance(place, slice) else 0
        return found


def test_words_of_a_long_text_are_looked_at_once() -> None:
    words = Watched([f"word{number}" for number in range(5_000)])

    assert package_of_runner(words) is None
    assert words.copied == 0

    words += ["npm", "--yes", "exec", "acme"]
    assert package_of_runner(words) == len(words) - 1
    assert words.copied < len(words)
