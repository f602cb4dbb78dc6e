#!/bin/sh
# incomplete_outputs.sh QUICKSTART DEEP_GRADIENT_COMPRESSION LAUNCH
# Whether programs end with 4 where output that was asked for is incomplete, and with 0 where it is
# complete or was not asked for. In an empty folder.
set -u

quickstart=$1
compression=$2
launch=$3
failures=0

# expects STATUS WORDS: the command that just ended, with what it said in the file errors.
expects() {
    ended=$?
    if [ "$ended" -ne "$1" ] || { [ -n "$2" ] && ! grep -qF -- "$2" errors; }; then
        printf 'status %s, expected %s and: %s\n' "$ended" "$1" "$2" >&2
        tail -n 5 errors >&2
        failures=$((failures + 1))
    fi
}

rm -rf incomplete_outputs
mkdir incomplete_outputs
cd incomplete_outputs || exit 1

if [ -c /dev/full ]; then
    "$quickstart" --quick > /dev/full 2> errors
    expects 4 'quickstart: standard output is incomplete: a write to it failed before'
    "$quickstart" --help > /dev/full 2> errors
    expects 4 'quickstart: standard output is incomplete: No space left on device'
    "$launch" -n 2 sh -c 'echo lost' > /dev/full 2> errors
    expects 4 'launch: what the ranks printed is incomplete: No space left on device'
fi

# A disk that is full in the middle of a run: no file grows beyond 8 blocks.
(trap '' XFSZ && ulimit -f 8 && exec "$compression" --quick --log run.jsonl) > output 2> errors
expects 4 "output is incomplete: json_lines: '$PWD/run.jsonl' cannot be written: File too large: it lacks "

# A rank whose output is incomplete is no reason to end the others.
"$launch" -n 2 sh -c '[ "$SOTTO_RANK" = 0 ] && exit 4; : > done' 2> errors
expects 4 'rank 0 ended with exit status 4: its output is incomplete'
[ -e done ] || { echo 'the other rank was ended' >&2; failures=$((failures + 1)); }

# What is closed was not asked for, and what is printed there is in no file.
: > errors
"$quickstart" --quick >&- 2>&-
expects 0 ''
if grep -v '^{' quickstart_dense.jsonl quickstart_dgc.jsonl >&2; then
    echo 'a log has what was printed' >&2
    failures=$((failures + 1))
fi
[ "$failures" -eq 0 ]
