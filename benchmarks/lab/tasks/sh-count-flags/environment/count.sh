#!/bin/sh
# count.sh FILE...: how many lines each file has.
for file in "$@"; do
    echo "$(wc -l <"$file" | tr -d ' ') $file"
done
