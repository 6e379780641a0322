"""A number of things, in words."""


def counted(count: int, thing: str, things: str = "") -> str:
    """`1 file`, `2 files`, `12,000 files`; `things` where it takes more than an `s` to say several."""
    return f"{count:,} {thing if count == 1 else things or f'{thing}s'}"
