"""Lists the notes of a file, one a line; empty lines are no notes."""

import argparse
import sys


def read_notes(path):
    with open(path, encoding="utf-8") as file:
        return [line.strip() for line in file if line.strip()]


def positive(text):
    number = int(text)
    if number < 1:
        raise ValueError(text)
    return number


def main(arguments):
    parser = argparse.ArgumentParser(prog="notes.py")
    parser.add_argument("file")
    parser.add_argument("--page", type=positive, default=1, metavar="N")
    parser.add_argument("--size", type=positive, default=10, metavar="N")
    parsed = parser.parse_args(arguments)
    notes = read_notes(parsed.file)
    pages = max(1, -(-len(notes) // parsed.size))
    if parsed.page > pages:
        print(f"there is no page {parsed.page}", file=sys.stderr)
        return 1
    start = (parsed.page - 1) * parsed.size
    for number, note in enumerate(notes[start : start + parsed.size], start=start + 1):
        print(f"{number}. {note}")
    print(f"page {parsed.page} of {pages}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
