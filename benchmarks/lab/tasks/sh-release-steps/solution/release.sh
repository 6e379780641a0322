#!/bin/sh
# Runs the steps of a release; stops at the first one that fails.
: >release.log
for step in steps/*.sh; do
    failed=$(
        {
            { sh "$step" 3>&-; echo $? >&3; } | tee -a release.log >&4
        } 3>&1
    ) 4>&1
    if [ "$failed" -ne 0 ]; then
        echo "step ${step##*/} failed" >&2
        exit "$failed"
    fi
done
echo released
