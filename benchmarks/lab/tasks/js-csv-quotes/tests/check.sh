exec node "$(dirname "$0")/check.js"
