"""Counts and amounts of money, in words."""


def counted(count: int, thing: str, things: str = "") -> str:
    """`1 file`, `2 files`, `12,000 files`; `things` where it takes more than an `s` to say several."""
    return f"{count:,} {thing if count == 1 else things or f'{thing}s'}"


def dollars(cost: float | None) -> str:
    """`$0.0123`, `$1,234.50`, and `?` for a price that nobody knows, which is not nothing."""
    if cost is None:
        return "?"
    return f"${cost:,.2f}" if cost >= 1 else f"${cost:.4f}"
