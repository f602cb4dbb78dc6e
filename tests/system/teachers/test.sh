#!/bin/sh
# test.sh SOTTO_TEACHERS PUBLISH_ONE
# Whether the program says of each group what is there, and how it is. In an empty folder.
set -u

teachers=$1
publish=$2
failures=0

# lists STATUS OUTPUT FOLDER: what is printed, but for the times, which become 0.
lists() {
    said=$("$teachers" "$3" 2>&1)
    got=$?
    said=$(printf '%s\n' "$said" | sed 's/written [0-9.]* s ago/written 0 s ago/')
    if [ "$got" -ne "$1" ] || [ "$said" != "$2" ]; then
        printf '%s\nstatus %s, expected %s\n%s\nexpected\n%s\n' "$3" "$got" "$1" "$said" "$2" >&2
        failures=$((failures + 1))
    fi
}

# says STATUS WORDS ARGUMENTS...: ends with the status, and says the words.
says() {
    status=$1
    words=$2
    shift 2
    said=$("$teachers" "$@" 2>&1)
    got=$?
    case $got:$said in
        "$status":*"$words"*) ;;
        *)
            printf '%s\nstatus %s, expected %s\n%s\nexpected: %s\n' \
                "$*" "$got" "$status" "$said" "$words" >&2
            failures=$((failures + 1))
            ;;
    esac
}

rm -rf teachers
mkdir -p teachers/empty || exit 1
cd teachers || exit 1

# What is whole.
"$publish" met 0 50 0.75 8
"$publish" met 0 100 0.5 8
"$publish" met 1 1200 nan 8
"$publish" met 10 90 0.0123456 8
mkdir met/group-x met/notes
one='416 B  architecture ad6c5ae2'
ten='424 B  architecture ad6c5ae2'
newest=models/checkpoint-000000000100.safetensors
lists 0 "group-0  step 100  loss 0.5  written 0 s ago  2 kept  $one  whole
group-1  step 1200  loss unknown  written 0 s ago  1 kept  $one  whole
group-10  step 90  loss 0.01235  written 0 s ago  1 kept  $ten  whole" met
touch -d '3 hours ago' met/group-0/$newest
says 1 'there are no groups in' empty
case $("$teachers" met) in
    *'group-0  step 100  loss 0.5  written 3.0 h ago  2 kept'*) ;;
    *) echo 'a model of 3 hours ago is not said to be that old' >&2 && failures=$((failures + 1)) ;;
esac

# A newest one that is torn, with one before it and without.
cp -R met torn
truncate -s -1 torn/group-0/$newest
truncate -s 10 torn/group-1/models/checkpoint-000000001200.safetensors
lists 1 "group-0  step 50  loss 0.75  written 0 s ago  2 kept  $one  torn: step 100 is not whole, this is the newest that is
group-1  torn: step 1200 is not whole, and none is
group-10  step 90  loss 0.01235  written 0 s ago  1 kept  $ten  whole" torn

# Whole, and of no use; with a torn one after it.
cp -R met broken
"$publish" broken 0 150 0.75 8 inf
"$publish" broken 0 200 0.5 8
truncate -s -1 broken/group-0/models/checkpoint-000000000200.safetensors
"$publish" broken 1 1250 0.5 8 nan
lists 1 "group-0  step 150  loss 0.75  written 0 s ago  2 kept  $one  torn: step 200 is not whole, this is the newest that is; not finite
group-1  step 1250  loss 0.5  written 0 s ago  2 kept  $one  not finite
group-10  step 90  loss 0.01235  written 0 s ago  1 kept  $ten  whole" broken

# Others than they should be: of another architecture, without a model, no model, no file.
cp -R met other
"$publish" other 1 1300 0.5 9
mkdir other/group-2
cp -R other/group-0 other/group-3
sed 's/sotto.model/sotto.mewed/' met/group-0/$newest > other/group-3/$newest
mkdir -p other/group-4/models/checkpoint-000000000007.safetensors
says 1 'group-1  step 1300  loss 0.5  written ' other
says 1 'other architecture than group-0' other
says 1 'group-2  no model' other
says 1 'group-3  step 50  ' other
says 1 "group-4  unreadable: cannot open 'other/group-4/models/checkpoint-000000000007.safetensors': it is a folder" other
: > other/group-5
says 1 "group-5  unreadable: cannot list 'other/group-5/models': " other
"$teachers" other > lines
if [ "$(wc -l < lines)" -ne 7 ]; then
    echo 'there is not one line for each of 7 groups:' >&2
    cat lines >&2
    failures=$((failures + 1))
fi
# Where the first group has no whole model, the next is what others are compared with.
rm -r other/group-0
mkdir other/group-0
says 1 'group-0  no model' other
says 1 'other architecture than group-1' other

# What cannot be listed, or was not given.
says 2 "cannot list 'nowhere': No such file or directory" nowhere
says 2 'one folder was expected' met torn
says 2 'one folder was expected'
says 2 "not '--all'" --all
says 0 'usage: sotto_teachers FOLDER' --help
[ "$failures" -eq 0 ]
