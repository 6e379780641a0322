"""Options of the command line that extensions add: `--name`, or `--name=VALUE`."""

from collections.abc import Mapping
from typing import TypeAlias, get_args

import msgspec

FlagValue: TypeAlias = bool | str | int | float
FlagKind: TypeAlias = type[bool] | type[str] | type[int] | type[float]
GivenFlags: TypeAlias = Mapping[str, str | None]
"""By name what stands behind `=`, None if nothing does."""

FLAG_KINDS: tuple[type, ...] = get_args(FlagValue)


class FlagError(ValueError):
    """An option has a value that it cannot have; the message is the one of kaa's own options."""


class Flag(msgspec.Struct, frozen=True):
    """An option. Without it on the command line, its value is `default`."""

    name: str
    description: str
    kind: FlagKind
    default: FlagValue | None

    def value(self, given: GivenFlags) -> FlagValue | None:
        """The value that the command line gives it.

        Raises:
            FlagError: the value is missing, or of another type.
        """
        if self.name not in given:
            return self.default
        text = given[self.name]
        if self.kind is bool:
            if text is not None:
                raise FlagError(f"argument --{self.name}: takes no value, but has {text!r}")
            return True
        if text is None:
            raise FlagError(f"argument --{self.name}: expected a value: --{self.name}=VALUE")
        try:
            return self.kind(text)
        except ValueError as error:
            raise FlagError(f"argument --{self.name}: invalid {self.kind.__name__} value: {text!r}") from error
