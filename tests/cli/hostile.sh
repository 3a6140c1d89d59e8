#!/usr/bin/env bash
# Text that comes from data, file names and files of others, made to do harm, through every verb and every form of output.
. "$(dirname "$0")/lib.inc"
export PYTHONDONTWRITEBYTECODE=1
python3 "$here/hostile.py" "$epiq" "$work/in"
exit # with its code
