#!/bin/sh
# Says how the service is.

log() {
    level=$1
    shift
    printf '[%s] %s: %s\n' "$(basename "$0" .sh)" "$level" "$*"
}

log info "${1:-service} is fine"
log debug "arguments: $#"
