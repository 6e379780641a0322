exec python3 -B "$(dirname "$0")/check.py"
