# Doxygen's filter of a page: awk -f reference_pages.awk PAGE
# What a link leads to is no part of the reference: its name is left.

{
    while (match($0, /\]\(([a-z_\/]+|CHANGELOG)\.md\)/)) {
        before = substr($0, 1, RSTART - 1)
        link = substr($0, RSTART + 2, RLENGTH - 3)
        rest = substr($0, RSTART + RLENGTH)
        sub(/\[[^[]*$/, "", before)
        text = substr($0, length(before) + 2, RSTART - length(before) - 2)
        $0 = before text " (`" link "`)" rest
    }
    print
}
