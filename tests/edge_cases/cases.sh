#!/usr/bin/env bash
# cases.sh TRAIN LAUNCH [WORDS]
# Runs the program of train.cpp and sotto_launch with inputs, outputs, limits and signals that operators meet, and
# compares the exit status and the text with what is written here: the outcome of each case. In an empty folder.
# With WORDS only the cases whose names contain them. 124 as exit status: it did not end within 60 s.
set -u

T=$(realpath "$1")
L=$(realpath "$2")
only=${3:-}
export T L OPENBLAS_NUM_THREADS=1
unset SOTTO_RANK SOTTO_SIZE SOTTO_ADDRESS SOTTO_PORT SOTTO_JOB SOTTO_JOB_NAME SOTTO_SECRET SOTTO_SECRET_FILE SOTTO_INTERFACE
ran=0
failed=0

# try NAME STATUS WORDS COMMAND: runs COMMAND by bash in an empty folder; it must end with STATUS, print WORDS and
# no control character. No WORDS: any text.
try() {
    local name=$1 status=$2 words=$3 got
    case $name in *"$only"*) ;; *) return ;; esac
    rm -rf case
    mkdir case
    (cd case && timeout -k 5 60 bash -c "$4") > said 2>&1 < /dev/null
    got=$?
    ran=$((ran + 1))
    if [ "$got" -eq "$status" ] && { [ -z "$words" ] || grep -qaF -- "$words" said; } &&
        ! LC_ALL=C grep -qaP '[\x00-\x08\x0b-\x1f\x7f]' said; then
        printf 'ok      %s -> %s\n' "$name" "$got"
    else
        failed=$((failed + 1))
        printf 'FAILED  %s -> %s, expected %s and: %s\n' "$name" "$got" "$status" "$words"
        head -c 2000 said | cat -v
    fi
}

rm -rf edge_cases
mkdir edge_cases
cd edge_cases || exit 1

# Folders of checkpoints. `twenty` leaves checkpoints of steps 10 and 20 in the folder c.
twenty='$T checkpoints=c > /dev/null 2>&1 || exit 99; new=c/checkpoint-000000000020.safetensors; '
older='resumes after step 10'
try 'folder of checkpoints: a file' 1 "f': Not a directory" ': > f; $T checkpoints=f'
try 'folder of checkpoints: below a file' 1 "f/x': Not a directory" ': > f; $T checkpoints=f/x'
try 'folder of checkpoints: control characters' 1 "'/proc/a\\x1b[2J\\nb'" '$T "checkpoints=/proc/a"$'"'\\e[2J\\n'"'b'
try 'newest checkpoint: a folder' 0 "$older" "$twenty"'rm $new; mkdir $new; $T checkpoints=c steps=10'
try 'newest checkpoint: a FIFO' 0 "$older" "$twenty"'rm $new; mkfifo $new; $T checkpoints=c steps=10'
try 'newest checkpoint: a dangling link' 0 "$older" "$twenty"'ln -sf nowhere $new; $T checkpoints=c steps=10'
try 'newest checkpoint: empty' 0 "$older" "$twenty"': > $new; $T checkpoints=c steps=10'
try 'newest checkpoint: cut in the middle' 0 "$older" "$twenty"'truncate -s 50000 $new; $T checkpoints=c steps=10'
try 'newest checkpoint: a byte changed' 0 "$older" \
    "$twenty"'printf x | dd of=$new bs=1 seek=60000 conv=notrunc 2> /dev/null; $T checkpoints=c steps=10'
try 'all checkpoints: empty' 2 "no checkpoint in" "$twenty"'for f in c/*; do : > $f; done; $T checkpoints=c'
try 'checkpoints: foreign files of like names' 0 'resumes after step 20' \
    "$twenty"'touch c/checkpoint-99999999999999999999.safetensors c/checkpoint--1.safetensors; $T checkpoints=c'
try 'owner: a foreign text' 2 "checkpoints.owner' is no file of sotto's" \
    "$twenty"'echo lies > c/checkpoints.owner; $T checkpoints=c steps=40'
try 'owner: a folder' 2 "checkpoints.owner': it is a folder" \
    "$twenty"'mkdir c/checkpoints.owner; $T checkpoints=c steps=40'
try 'owner: a FIFO' 2 "checkpoints.owner': it is a FIFO" \
    "$twenty"'mkfifo c/checkpoints.owner; $T checkpoints=c steps=40'
try 'owner: a dangling link' 2 "checkpoints.owner': it is a symbolic link" \
    "$twenty"'ln -s nowhere c/checkpoints.owner; $T checkpoints=c steps=40'
try 'owner: a link to a file of the system' 2 "is no file of sotto's" \
    "$twenty"'ln -s /etc/passwd c/checkpoints.owner; $T checkpoints=c steps=40'
try 'owner: halted, and another job comes' 2 "which runs on this host" \
    '$T checkpoints=c stop_at=5 > first & while ! grep -qs halts first; do sleep 0.05; done
     $T checkpoints=c seed=2; status=$?; kill -KILL $!; exit $status'
try 'owner: its folder is copied while it is halted' 0 "$older" \
    '$T checkpoints=c stop_at=15 > first & while ! grep -qs halts first; do sleep 0.05; done
     cp -r c d; $T checkpoints=d; status=$?; kill -KILL $!; exit $status'
try 'owner: killed, and its successor comes at once' 0 "$older" \
    '$T checkpoints=c stop_at=15 > first & while ! grep -qs halts first; do sleep 0.05; done
     kill -KILL $!; wait; $T checkpoints=c'
try 'keep: 0' 2 'keep is 0' '$T checkpoints=c keep=0'
try 'every: -1' 2 'every_steps is -1' '$T checkpoints=c every=-1'

# Models to read and to write.
try 'model to read: a FIFO' 1 "'f': it is a FIFO; expected a regular file" 'mkfifo f; $T load=f'
try 'model to read: a folder' 1 "'.': it is a folder; expected a regular file" '$T load=.'
try 'model to read: a device' 1 "'/dev/zero': it is a device; expected a regular file" '$T load=/dev/zero'
try 'model to read: empty' 2 "'f' is no whole file of a model" ': > f; $T load=f'
try 'model to read: a dangling link' 1 'it is a symbolic link to a path that does not exist' 'ln -s no f; $T load=f'
try 'model to read: a link to itself' 1 'Too many levels of symbolic links' 'ln -s f f; $T load=f'
try 'model to read: cut' 2 "'f' is no whole file of a model" '$T save=m && head -c 1000 m > f; $T load=f'
try 'model to read: a huge header' 2 "'f' is no" "printf '\\377\\377\\377\\377\\377\\377\\377\\177{}' > f; \$T load=f"
try 'model to read: its own' 0 'done after step 20' '$T save=m && $T load=m'
try 'model to read: a checkpoint' 0 'done after step 20' "$twenty"'$T load=$new'
try 'model to write: a device' 1 ': it is a device' 'mknod d c 1 3 2> /dev/null || ln -s /dev/null d
     $T save=d; s=$?; [ -c d ] && exit $s'
try 'model to write: a link' 0 '' ': > f; ln -s f l; $T save=l && [ -L l ] && [ -s f ]'
try 'model to write: a dangling link' 0 '' 'ln -s f l; $T save=l && [ -L l ] && [ -s f ]'
try 'model to write: a FIFO' 1 "f': it is a FIFO" 'mkfifo f; $T save=f'
try 'model to write: a folder' 1 "f': " 'mkdir f; $T save=f'

# Logs, traces and reports.
try 'log: standard output' 0 '{"event":"end"' '$T log=/dev/stdout'
try 'log: a FIFO without a reader' 1 'it is a FIFO that no process reads' 'mkfifo f; $T log=f'
try 'log: a FIFO that is read' 0 '{"event":"run"' 'mkfifo f; exec 3<> f; $T log=f steps=2 && head -n 1 <&3'
try 'log: a folder' 1 'Is a directory' '$T log=.'
try 'log: a name too long' 1 'File name too long' '$T log=$(printf "%0300d" 0)'
try 'log: a full device' 1 'No space left on device' '$T log=/dev/full'
try 'trace: a device, two ranks' 0 '' '$L -n 2 $T trace=/dev/null && [ ! -e /dev/null.rank1 ]'
try 'report: a device' 1 ': it is a device' 'mknod d c 1 3 2> /dev/null || ln -s /dev/null d
     $T report=d; s=$?; [ -c d ] && exit $s'
try 'report: a link' 0 '' ': > f; ln -s f l; $T report=l && [ -L l ] && [ -s f ]'
try 'output: a full device' 4 'standard output is incomplete' '$T > /dev/full'
try 'output: a reader that ends' 4 'cannot be written: Broken pipe' '$T log=/dev/stdout steps=400 | head -c 1 > /dev/null; exit ${PIPESTATUS[0]}'
try 'output: all closed' 0 '' '$T <&- >&- 2>&-'
try 'output: all closed, a log' 0 '' '$T log=f <&- >&- 2>&-; s=$?; head -c 9 f | grep -q "{.event.:" && exit $s'
try 'output: all closed, launched' 0 '' '$L -n 2 $T <&- >&- 2>&-'
try 'output: 10 MB in one line' 0 '10000000' \
    '$L -n 1 sh -c "head -c 10000000 /dev/zero | tr \\\\0 x" | tr -dc x | wc -c'

# Limits of the system.
try 'descriptors: too few for a rank alone' 1 'raise their limit (ulimit -n) from 6 to at least' 'ulimit -n 6; $T'
try 'descriptors: 4 to 16, two ranks' 0 '' \
    'for n in 4 5 6 7 8 9 10 11 12 13 14 15 16; do
         $L -n 2 bash -c "ulimit -n $n; exec $T" > out 2>&1; s=$?
         # 127: the system could not load its libraries.
         [ $s -lt 4 ] || [ $s -eq 127 ] || { cat out; exit $s; }
     done; exit $s'
try 'descriptors: too few for the launcher' 1 'Too many open files' 'ulimit -n 12; $L -n 2 $T'
try 'address space: too little for BLAS' 1 'multiply: the system refuses 128 MiB of address space' 'ulimit -v 100000; $T'
try 'files: too large' 4 'File too large' 'trap "" XFSZ; ulimit -f 8; exec $T log=f steps=200'

# Variables.
try 'SOTTO_RANK: no number' 2 "SOTTO_RANK is 'abc'; expected a number" 'SOTTO_RANK=abc SOTTO_SIZE=2 $T'
try 'SOTTO_RANK: beyond the size' 2 "SOTTO_RANK is '5'" 'SOTTO_RANK=5 SOTTO_SIZE=2 $T'
try 'SOTTO_RANK: negative' 2 "SOTTO_RANK is '-1'" 'SOTTO_RANK=-1 SOTTO_SIZE=2 $T'
try 'SOTTO_RANK: control characters' 2 "SOTTO_RANK is '\\x1b[2J'" 'SOTTO_RANK=$(printf "\033[2J") SOTTO_SIZE=2 $T'
try 'SOTTO_RANK: without a size' 2 'SOTTO_SIZE is not set' 'SOTTO_RANK=0 $T'
try 'SOTTO_SIZE: 0' 2 "SOTTO_SIZE is '0'" 'SOTTO_RANK=0 SOTTO_SIZE=0 $T'
try 'SOTTO_SIZE: 10^14' 2 "SOTTO_SIZE is '100000000000000'" 'SOTTO_RANK=0 SOTTO_SIZE=100000000000000 $T'
try 'SOTTO_PORT: 70000' 2 "SOTTO_PORT is '70000'" 'SOTTO_RANK=0 SOTTO_SIZE=1 SOTTO_PORT=70000 $T'
address='SOTTO_RANK=1 SOTTO_SIZE=2 SOTTO_ADDRESS='
try 'SOTTO_ADDRESS: control characters' 2 "SOTTO_ADDRESS is '\\x1b[2J'" "$address"'$(printf "\033[2J") $T'
try 'SOTTO_ADDRESS: half a bracket' 2 "SOTTO_ADDRESS is '[::1'" "$address"'[::1 $T'
try 'SOTTO_ADDRESS: port 0' 2 "SOTTO_ADDRESS is '[::1]:0'" "$address"'[::1]:0 $T'
try 'SOTTO_ADDRESS: no port after a colon' 2 "SOTTO_ADDRESS is 'host:'" "$address"'host: $T'
try 'SOTTO_ADDRESS: a link without an interface' 2 "'fe80::1' is link-local" "$address"'fe80::1 $T'
try 'SOTTO_ADDRESS: an interface that is not there' 2 "no interface 'nope'" "$address"'fe80::1%nope $T'
try 'SOTTO_ADDRESS: no process there' 3 'no process answered there' "$address"'127.0.0.1 $T join_ms=500'
try 'SOTTO_ADDRESS: empty' 2 'set SOTTO_ADDRESS' 'SOTTO_RANK=0 SOTTO_SIZE=2 SOTTO_ADDRESS= $T'
try 'SOTTO_INTERFACE: not there' 2 "no interface is 'nope0'; there are" 'SOTTO_INTERFACE=nope0 $T'
alone='SOTTO_RANK=0 SOTTO_SIZE=1 '
try 'secret: no file' 2 'No such file or directory' "$alone"'SOTTO_SECRET_FILE=no $T'
try 'secret: a folder' 2 'it is a folder' "$alone"'SOTTO_SECRET_FILE=. $T'
try 'secret: a device' 2 'tls: the secret in /dev/zero' "$alone"'SOTTO_SECRET_FILE=/dev/zero $T'
try 'secret: readable by all' 2 'chmod 600' ': > f; chmod 644 f; '"$alone"'SOTTO_SECRET_FILE=f $T'
try 'secret: too short' 2 'the secret in SOTTO_SECRET has 1 bytes' "$alone"'SOTTO_SECRET=x $T'
try 'secret: a FIFO without a writer' 3 'tls: the secret in f' \
    'umask 077; mkfifo f; SOTTO_RANK=0 SOTTO_SIZE=2 SOTTO_ADDRESS=127.0.0.1 SOTTO_PORT=29999 SOTTO_SECRET_FILE=f $T join_ms=500'

# Ranks that differ.
try 'ranks differ: seed' 2 "rank 1 has 'trainer.seed = 1' where rank 0 has 'trainer.seed = 0'" \
    '$L -n 2 sh -c "exec $T seed=\$SOTTO_RANK"'
try 'ranks differ: rate' 2 "learning_rate = 0.11' where rank 0 has" '$L -n 2 sh -c "exec $T rate=0.1\$SOTTO_RANK"'
try 'ranks differ: size' 2 'rank 1 has world size 3 where rank 0 has 2' \
    '$L -n 2 sh -c "[ \$SOTTO_RANK = 0 ] || export SOTTO_SIZE=3; exec $T join_ms=1000"'
try 'ranks differ: one has a secret' 3 'it has a secret, and this rank has none' \
    '$L -n 2 sh -c "[ \$SOTTO_RANK = 0 ] || export SOTTO_SECRET=abcdefghabcdefghabcdefghabcdefgh
     exec $T join_ms=1000"'
try 'ranks differ: secrets' 3 'it has another secret or tcp_options::job' \
    '$L -n 2 sh -c "SOTTO_SECRET=abcdefghabcdefghabcdefghabcdefg\$SOTTO_RANK exec $T join_ms=1000"'

# Options.
for value in nan -nan inf -1 1e39; do
    try "option: rate=$value" 2 'learning_rate' '$T rate='"$value"
done
for value in 0 nan 2 -0.1; do
    try "option: density=$value" 2 'density' '$T density='"$value"
done
for value in -1 0 nan; do
    try "option: decay_every=$value" 2 'every_epochs' '$T decay_every='"$value"
done
for value in nan -1 1e300; do
    try "option: decay=$value" 2 'factor_per_step' '$T decay='"$value"
done
try 'option: batch=0' 2 'batch_size is 0' '$T batch=0'
try 'option: batch=2^63 - 1' 0 'done' '$T batch=9223372036854775807'
try 'option: steps=-1' 2 'asked for -1 steps' '$T steps=-1'
try 'option: examples=0' 2 'no rank has any examples' '$T examples=0'
try 'option: examples=1, two ranks' 0 'done' '$L -n 2 $T examples=1'

# Clocks and signals.
try 'halt: all ranks, for longer than the timeout' 0 'done after step 20' \
    '$L -n 2 sh -c "echo \$\$ >> pids; exec $T stop_at=10 timeout_ms=1000 dead_ms=1000" > out & p=$!
     while ! grep -qs halts out; do :; done; kill -STOP $(cat pids); sleep 3; kill -CONT $(cat pids); wait $p; s=$?
     cat out; exit $s'
try 'halt: one rank, for longer than dead_after' 3 'dead_after' \
    '$L --grace 0.2 -n 2 $T stop_at=10 dead_ms=1000'
try 'signal: SIGKILL to one of three' 137 'ended by signal 9' \
    '$L --grace 0.1 -n 3 sh -c "[ \$SOTTO_RANK = 1 ] && kill -KILL \$\$; exec sleep 20"'
try 'signal: SIGTERM to the launcher ends its ranks' 143 'sending Terminated to all ranks' \
    '$L -n 2 sh -c "echo \$\$ >> pids; exec sleep 20" & while [ "$(wc -l < pids)" != 2 ]; do :; done 2> /dev/null
     kill -TERM $!; wait $!; s=$?; kill -0 $(cat pids) 2> /dev/null && exit 1; exit $s'
try 'signal: SIGKILL to the launcher leaves no rank' 0 '' \
    '$L -n 2 sh -c "echo \$\$ >> pids; exec sleep 20" & while [ "$(wc -l < pids)" != 2 ]; do :; done 2> /dev/null
     kill -KILL $!; wait; for i in $(seq 100); do kill -0 $(cat pids) 2> /dev/null || exit 0; sleep 0.05; done; exit 1'
try 'signal: SIGCHLD is ignored' 5 'exit status 5' 'trap "" CHLD; exec $L -n 2 sh -c "exit 5"'
try 'launch: no such program' 2 "there is no program 'nocommand'" '$L -n 2 nocommand'
try 'launch: no program' 2 "'/etc/passwd' cannot be run: Permission denied" '$L -n 2 /etc/passwd'
try 'launch: a folder' 2 "'/tmp' cannot be run: Permission denied" '$L -n 2 /tmp'
try 'launch: 10^8 ranks' 2 '1 to 4096 are possible' '$L -n 100000000 true'
try 'launch: 0 ranks' 2 "-n takes a number of ranks, not '0'" '$L -n 0 true'
try 'launch: no patience' 2 "not 'nan'" '$L --grace nan -n 1 true'
try 'launch: patience for ever' 2 "not '1e9'" '$L --grace 1e9 -n 1 true'
try 'launch: no command' 2 'a command was expected' '$L -n 1'

printf '%s cases, %s failed\n' "$ran" "$failed"
[ "$failed" -eq 0 ]
