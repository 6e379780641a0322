"""Money, in words."""


def dollars(cost: float | None) -> str:
    """`$0.0123`, `$1,234.50`, and `?` for a price that nobody knows, which is not nothing."""
    if cost is None:
        return "?"
    return f"${cost:,.2f}" if cost >= 1 else f"${cost:.4f}"
