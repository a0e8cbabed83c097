#!/bin/sh
# A script: what is started is its interpreter. Its exit status is its first argument.
echo "script $# arguments"
exit "${1:-0}"
