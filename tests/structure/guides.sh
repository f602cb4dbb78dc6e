#!/bin/sh
# guides.sh ROOT
# What pages say about files, under ROOT: links lead somewhere, a program in a page is that of its
# file, commands name examples and flags that there are, and quoted errors are those of the sources.
# Prints one "file:line: what" per violation.
#
# In README.md and examples/guides/*.md
#   <!-- FILE -->    right before a block of code: its lines are consecutive ones of FILE, which is
#                    named from the page's folder, but for blanks at their beginning
#   > TEXT           quotes an error; "..." stands for what differs from one to the next

cd "$1" || exit 1
LC_ALL=C
export LC_ALL
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
tab=$(printf '\t')

pages=$(ls README.md examples/guides/*.md 2> /dev/null)
if [ -z "$pages" ]; then
    echo "no pages under $1"
    exit 1
fi
: > "$scratch/said"
say() {
    echo "$1" >> "$scratch/said"
}

# Each source as one line, in which texts that it has in several pieces are whole.
find include/sotto examples -name '*.hpp' -o -name '*.ipp' -o -name '*.cpp' | sort | while read -r source; do
    tr '\n' ' ' < "$source" | sed 's/" *"//g'
    echo
done > "$scratch/sources"

for page in $pages; do
    folder=$(dirname "$page")

    # Links to files.
    awk '/^```/ { inside = !inside }
         !inside { rest = $0
           gsub(/`[^`]*`/, "", rest)
           while (match(rest, /\]\([^)]*\)/)) {
               print FNR "\t" substr(rest, RSTART + 2, RLENGTH - 3)
               rest = substr(rest, RSTART + RLENGTH)
           } }' "$page" > "$scratch/links"
    while IFS=$tab read -r line link; do
        case $link in
            http*://* | '#'*) continue ;;
        esac
        [ -e "$folder/${link%%#*}" ] || say "$page:$line: links to $link, which is not there"
    done < "$scratch/links"

    # Blocks that are parts of a program.
    rm -f "$scratch"/block.*
    awk -v to="$scratch/block." '
        !inside && /^<!-- .* -->$/ { file = $0; sub(/^<!-- /, "", file); sub(/ -->$/, "", file); next }
        /^```/ {
            inside = !inside
            if (inside && file != "") { out = to FNR; print file > out }
            else out = ""
            file = ""
            next
        }
        { file = "" }
        inside && out != "" { sub(/^[ \t]+/, ""); print > out }
    ' "$page"
    for block in "$scratch"/block.*; do
        [ -e "$block" ] || continue
        line=${block##*.}
        file=$folder/$(head -n 1 "$block")
        if [ ! -e "$file" ]; then
            say "$page:$line: a block of $file, which is not there"
            continue
        fi
        awk 'NR == FNR { if (FNR > 1) wanted[++count] = $0; next }
             { sub(/^[ \t]+/, ""); text[++lines] = $0 }
             END {
                 for (at = 0; at + count <= lines; ++at) {
                     for (i = 1; i <= count && text[at + i] == wanted[i]; ++i) ;
                     if (i > count) exit 0
                 }
                 exit 1
             }' "$block" "$file" ||
            say "$page:$line: this block is not in $file as it stands"
    done

    # Commands: "examples/run.sh NAME --flag" and "./NAME --flag".
    awk '{ rest = $0
           while (match(rest, /(examples\/run\.sh|(^|[ `])\.\/[a-z_]+)( [^`#|;&<>]*)?/)) {
               command = substr(rest, RSTART, RLENGTH)
               rest = substr(rest, RSTART + RLENGTH)
               sub(/^examples\/run\.sh( -n [0-9]+)?/, "", command)
               sub(/^[ `]*\.\//, "", command)
               print FNR "\t" command
           } }' "$page" > "$scratch/commands"
    while IFS=$tab read -r line command; do
        # shellcheck disable=SC2086 # words of a command
        set -- $command
        case ${1:-} in
            '' | -*) continue ;;
        esac
        name=$1
        source=$(ls examples/[0-9][0-9]_"$name".cpp 2> /dev/null)
        if [ -z "$source" ]; then
            [ -e "examples/guides/${name#guide_}.cpp" ] || [ "$name" = main ] ||
                say "$page:$line: there is no example '$name'"
            continue
        fi
        shift
        for word; do
            case $word in
                --help) ;;
                --[a-z]*)
                    grep -qF -e "\"${word%%=*}\"" "$source" examples/transport.cpp ||
                        say "$page:$line: $name has no flag $word"
                    ;;
            esac
        done
    done < "$scratch/commands"

    # Errors.
    awk '/^```/ { inside = !inside }
         !inside && /^> / {
             text = substr($0, 3)
             gsub(/\.\.\./, "\n", text)
             count = split(text, parts, "\n")
             for (i = 1; i <= count; ++i) {
                 gsub(/^[ \t]+|[ \t]+$/, "", parts[i])
                 if (parts[i] != "") print FNR "\t" parts[i]
             }
         }' "$page" > "$scratch/errors"
    while IFS=$tab read -r line part; do
        grep -qF -e "$part" "$scratch/sources" ||
            say "$page:$line: no source says '$part'"
    done < "$scratch/errors"
done

# A program that no page speaks of is one that nobody finds.
for program in examples/guides/*.cpp; do
    [ -e "$program" ] || continue
    # shellcheck disable=SC2086 # several pages
    grep -qF -e "(${program##*/})" -e "<!-- ${program##*/} -->" $pages || say "$program: no page shows it"
done

cat "$scratch/said"
[ ! -s "$scratch/said" ]
