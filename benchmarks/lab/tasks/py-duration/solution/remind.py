"""Usage: remind.py SECONDS|DURATION TEXT"""

import sys

from timing import parse_duration


def main(arguments):
    if len(arguments) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    when, text = arguments
    seconds = int(when) if when.isdecimal() else parse_duration(when)
    print(f"{text} in {seconds} s")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
