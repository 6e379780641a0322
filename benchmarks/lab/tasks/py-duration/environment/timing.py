"""Times and durations."""


def format_seconds(seconds):
    """`5400` as `1:30:00`."""
    minutes, seconds = divmod(seconds, 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{seconds:02}"
