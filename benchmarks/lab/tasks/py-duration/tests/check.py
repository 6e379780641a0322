from timing import format_seconds, parse_duration

for text, seconds in {"90s": 90, "5m": 300, "1h30m": 5400, "2d4h": 187200, " 1d1h1m1s ": 90061, "0s": 0}.items():
    assert parse_duration(text) == seconds, text
for text in ("", "h", "1m1h", "1h 30m", "5x", "1h1h", "-5s", "1.5h", "10m5"):
    try:
        parse_duration(text)
    except ValueError as error:
        assert text in str(error), error
    else:
        raise AssertionError(f"no error for {text!r}")
assert format_seconds(5400) == "1:30:00"
