"""Small statistics."""


def mean(values):
    """The arithmetic mean."""
    if not values:
        raise ValueError("no values")
    return sum(values) / len(values)


def median(values):
    """The value in the middle; the mean of both if there are two."""
    if not values:
        raise ValueError("no values")
    ordered = sorted(values)
    middle = len(ordered) // 2
    if len(ordered) % 2:
        return ordered[middle]
    return (ordered[middle - 1] + ordered[middle]) / 2
