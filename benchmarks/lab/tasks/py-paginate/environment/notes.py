"""Lists the notes of a file, one a line; empty lines are no notes."""

import argparse
import sys


def read_notes(path):
    with open(path, encoding="utf-8") as file:
        return [line.strip() for line in file if line.strip()]


def main(arguments):
    parser = argparse.ArgumentParser(prog="notes.py")
    parser.add_argument("file")
    parsed = parser.parse_args(arguments)
    for number, note in enumerate(read_notes(parsed.file), start=1):
        print(f"{number}. {note}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
