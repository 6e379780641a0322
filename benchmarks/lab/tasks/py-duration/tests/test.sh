#!/bin/sh
# Harbor reads the reward from /logs/verifier; the lab names another folder.
if sh "$(dirname "$0")/check.sh"; then reward=1; else reward=0; fi
echo "$reward" >"${LAB_VERIFIER_DIR:-/logs/verifier}/reward.txt"
