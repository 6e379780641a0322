"""Usage: remind.py SECONDS TEXT"""

import sys


def main(arguments):
    if len(arguments) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    seconds, text = int(arguments[0]), arguments[1]
    print(f"{text} in {seconds} s")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
