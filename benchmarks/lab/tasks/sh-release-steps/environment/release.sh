#!/bin/sh
# Runs the steps of a release.
: >release.log
for step in steps/*.sh; do
    sh "$step" | tee -a release.log
done
echo released
