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
    values.sort()
    return values[len(values) // 2]
