set -e
PYTHONPATH=. python3 -B "$(dirname "$0")/check.py"
[ "$(python3 -B remind.py 1h30m tea)" = "tea in 5400 s" ]
[ "$(python3 -B remind.py 20 tea)" = "tea in 20 s" ]
