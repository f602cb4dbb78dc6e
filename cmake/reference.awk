# Doxygen's filter of a header: awk -f reference.awk -v members=reference_members.txt HEADER
# What this project writes for readers of the sources becomes what Doxygen 1.9.4 understands; every
# line stays where it is.
#   ///   math  ...      a list of terms, as in CONTRIBUTING.md, and of the calls of a concept
#   int a = 0;  // ...   documents a, and lines below with a comment alone in the same column
#   int size() const;    where its concept documents `size`: the sentence of reference_members.txt
#   SOTTO_UNIT           the inline namespaces of kernels are not named

BEGIN {
    while ((getline line < members) > 0) {
        gsub(/\\\|/, "\001", line)
        if (line ~ /^#/ || split(line, field, / *\| */) < 3) continue
        gsub(/\001/, "|", field[1])
        gsub(/\001/, "|", field[2])
        ++rules
        rule_place[rules] = "^(" field[1] ")(/|$)"
        rule_name[rules] = "^(" field[2] ")$"
        rule_text[rules] = field[3]
    }
}

{ source[NR] = $0 }

# As Doxygen is to read it: `...` is code, all else is text, whatever Markdown or HTML it resembles.
function text_of(raw,    part, count, i, out) {
    count = split(raw, part, "`")
    for (i = 1; i <= count; ++i) {
        gsub(/&/, "\\&amp;", part[i])
        gsub(/</, "\\&lt;", part[i])
        gsub(/>/, "\\&gt;", part[i])
        gsub(/"/, "\\&quot;", part[i])
        gsub(/[\\@#*_%[]|\]/, "\\\\&", part[i])
        gsub(/--/, "\\--", part[i])
        sub(/^[-+]/, "\\\\&", part[i])
        if (i > 1) {
            if (in_code) out = out "</code>"
            else out = out "<code>"
            in_code = !in_code
        }
        out = out part[i]
    }
    return out
}

# One line of a block of ///, whose lists become <dl>.
function block_line(i,    raw, indent, label, rest, out, prefix, last) {
    raw = source[i]
    match(raw, /^ *\/\/\//)
    prefix = substr(raw, 1, RLENGTH)
    raw = substr(raw, RLENGTH + 1)
    match(raw, /^ */)
    indent = RLENGTH
    raw = substr(raw, indent + 1)
    out = ""
    if (raw == "") {
        if (in_list) { out = "</dd></dl>"; in_list = 0 }
    } else if (indent >= 2 && indent <= 4) {
        out = in_list ? "</dd>" : "<dl>"
        in_list = 1
        if (match(raw, /   *[^ ]/)) {
            label = substr(raw, 1, RSTART - 1)
            rest = substr(raw, RSTART + RLENGTH - 1)
        } else if (source[i + 1] ~ /^ *\/\/\/      / || raw ~ /^[a-z_]+\(/) {
            label = raw
            rest = ""
        } else {
            label = ""
            rest = raw
        }
        term = label
        term_text[term] = text_of(rest)
        out = out "<dt>" text_of(label) "</dt><dd>" term_text[term]
    } else if (indent < 2) {
        if (in_list) { out = "</dd></dl>"; in_list = 0 }
        out = out text_of(raw)
    } else if (raw ~ /^\|/) {
        out = "<br><code>" text_of(raw) "</code>"
    } else {
        out = text_of(raw)
        if (in_list) term_text[term] = term_text[term] " " out
    }
    last = source[i + 1] !~ /^ *\/\/\/( |$)/
    if (last && in_list) { out = out "</dd></dl>"; in_list = 0 }
    if (last && in_code) { out = out "</code>"; in_code = 0 }
    return prefix " " out
}

# In place of a literal: as many characters.
function filled(length_of_it) {
    while (length(filling) < length_of_it) filling = filling "0000000000000000"
    return substr(filling, 1, length_of_it)
}

# The code of a line: what is neither comment nor text of a literal.
function code_of(raw,    out) {
    if (in_raw) {
        if (raw !~ /\)"/) return ""
        sub(/^.*\)"/, "\"\"", raw)
        in_raw = 0
    }
    gsub(/\047\\[^\047]\047/, "0000", raw)
    gsub(/\047[^\047\\]\047/, "000", raw)
    if (raw ~ /R"\([^"]*$/) {
        in_raw = 1
        sub(/R"\(.*/, "\"\"", raw)
    }
    out = ""
    while (match(raw, /"([^"\\]|\\.)*"|\/\/.*/)) {
        if (substr(raw, RSTART, 1) == "/") raw = substr(raw, 1, RSTART - 1)
        else {
            out = out substr(raw, 1, RSTART - 1) filled(RLENGTH)
            raw = substr(raw, RSTART + RLENGTH)
        }
    }
    return out raw
}

# What a statement that begins as `head` is: a scope whose members are documented, or a body.
function kind_of(head) {
    while (match(head, /template *<[^<>]*>/))
        head = substr(head, 1, RSTART - 1) " " substr(head, RSTART + RLENGTH)
    gsub(/\[\[[^]]*\]\]/, " ", head)
    while (match(head, /<[^<>]*>/))
        head = substr(head, 1, RSTART - 1) " " substr(head, RSTART + RLENGTH)
    sub(/^ *(template|requires [a-z_:]+)* */, "", head)
    if (head ~ /(^|[^a-zA-Z_])(class|struct|union|enum|namespace|extern) /) {
        if (head ~ /\)/ && head !~ /(alignas|requires)/) return "body"
        return "scope"
    }
    return "body"
}

# What the member that `head` declares is called; "" where it has no name of interest.
function name_of(head) {
    while (match(head, /template *<[^<>]*>/))
        head = substr(head, 1, RSTART - 1) " " substr(head, RSTART + RLENGTH)
    gsub(/\[\[[^]]*\]\]/, " ", head)
    while (match(head, /<[^<>()]*>/))
        head = substr(head, 1, RSTART - 1) " " substr(head, RSTART + RLENGTH)
    if (head ~ /= delete *$/) return "= delete"
    if (head ~ /= default *$/ && head !~ /operator *==/) return "= default"
    if (head ~ /\) *->/ && head ~ /^ *[a-z_0-9]+ *\(/) return "->"
    if (head ~ /operator *[^a-z ]/) {
        match(head, /operator *[^a-z ][^ (]*/)
        return substr(head, RSTART, RLENGTH)
    }
    if (head ~ /^ *(static_assert|namespace|concept) /) return ""
    if (head ~ /^ *(class|struct) [a-z_:]+( final)?( *$| : )/) {
        sub(/^ *(class|struct) /, "", head)
        sub(/( final)?( *$| : .*)/, "", head)
        sub(/^.*::/, "", head)
        return head
    }
    if (head ~ /^ *(explicit |constexpr )*(selector_)?state *\(/) return "state()"
    sub(/[=({].*/, "", head)
    gsub(/ *$/, "", head)
    if (!match(head, /[a-zA-Z_0-9~]+$/)) return ""
    return substr(head, RSTART)
}

function member_text(name,    i) {
    if (name == "") return ""
    for (i = 1; i <= rules; ++i)
        if (place ~ rule_place[i] && name ~ rule_name[i]) return rule_text[i]
    return ""
}

END {
    place = FILENAME
    sub(/^.*\/sotto\//, "", place)
    sub(/\.hpp$/, "", place)
    depth = parens = 0
    kind[0] = "scope"
    documented = 0  # by a block above the statement that begins next
    begun = 0       # the line on which the statement under way begins
    head = ""
    for (i = 1; i <= NR; ++i) {
        raw = source[i]
        if (!in_raw && raw ~ /^ *\/\/\/( |$)/) {
            if (head ~ /^ *$/) {
                if (!documented) split("", term_text)
                documented = 1
            }
            out[i] = block_line(i)
            continue
        }
        out[i] = raw
        if (!in_raw && raw ~ /^ *#/) {
            while (source[i] ~ /\\$/ && i < NR) {
                ++i
                out[i] = source[i]
            }
            continue
        }
        if (!in_raw && (raw ~ /^ *namespace .*::inline SOTTO_UNIT/)) {
            sub(/::inline SOTTO_UNIT/, "", raw)
            out[i] = raw
        } else if (raw ~ /^inline namespace SOTTO_UNIT \{/ || raw ~ /^\}  \/\/ namespace SOTTO_UNIT$/) {
            out[i] = ""
            head = ""
            continue
        }
        sub(/::inline SOTTO_UNIT *$/, "", out[i])
        code = code_of(raw)
        if (code ~ /^ *$/) {
            if (kind[depth] == "scope" && match(raw, /^ *\/\/ /) && RLENGTH == column) {
                text = text_of(substr(raw, RLENGTH + 1))
                out[i] = substr(raw, 1, RLENGTH - 3) "///< " text
            } else {
                column = 0
                if (raw ~ /^ *$/ && head ~ /^ *$/) documented = 0
            }
            continue
        }
        column = 0
        in_scope = kind[depth] == "scope" && parens == 0
        if (is_enum[depth] && raw !~ /\/\//) out[i] = with_terms(raw)
        ends = ""
        length_of_code = length(code)
        for (c = 1; c <= length_of_code; ++c) {
            at = substr(code, c, 1)
            if (kind[depth] == "scope" && parens == 0 && head ~ /^ *$/ && at != " " && at != "}" && at != ";") {
                begun = i
                begun_documented = documented
                documented = 0
                head = ""
            }
            if (at == "(" ) ++parens
            else if (at == ")" && parens > 0) --parens
            if (parens > 0 && (at == "{" || at == "}" || at == ";")) {
                if (at == "{") ++inner
                if (at == "}") --inner
                continue
            }
            if (at == "{") {
                if (kind[depth] == "scope") {
                    what = kind_of(head)
                    if (what == "scope" && head ~ /(^|[^a-z_])(struct|class) /) note(head)
                    else if (what == "body") note(head)
                    statement = head
                } else {
                    what = "body"
                }
                ++depth
                kind[depth] = what
                is_enum[depth] = what == "scope" && statement ~ /^ *enum /
                if (is_enum[depth]) out[i] = with_terms(out[i])
                if (what == "scope") head = ""
            } else if (at == "}") {
                if (depth > 0) --depth
                ends = kind[depth + 1] == "scope" ? "type" : "body"
                # Of an initialiser the end comes with the ;
                if (kind[depth] == "scope" && !(ends == "body" && substr(code, c + 1) ~ /^ *[,;)]/)) head = ""
            } else if (at == ";" && kind[depth] == "scope") {
                if (ends != "type") note(head)
                ends = "statement"
                head = ""
            } else if (at == ":" && kind[depth] == "scope" && head ~ /^ *(public|private|protected) *$/) {
                head = ""
                documented = 0
            } else if (kind[depth] == "scope") {
                head = head at
            }
        }
        if (kind[depth] == "scope") head = head " "
        if (head ~ /^ *$/) head = ""
        # A comment behind a declaration.
        if (kind[depth] == "scope" && parens == 0 && in_scope && length(code) < length(raw) &&
            (ends == "statement" || ends == "body" || (code ~ /[a-z0-9_}](,| *$)/ && code !~ /[{;)] *$/)) &&
            match(raw, /  \/\/ /) && RSTART == length(code) - 1 && code !~ /^ *\}/ && code ~ /[^ ]/) {
            column = RSTART + RLENGTH - 1
            comment = text_of(substr(raw, RSTART + RLENGTH))
            sub(/  \/\/ .*/, "  ///< " , out[i])
            out[i] = apart(substr(raw, 1, length(code) - 2), comment, out[i] comment)
            if (code ~ /, *$/ && ends == "") head = ""
        } else if (kind[depth] == "scope" && parens == 0 && in_enum && code ~ /, *$/) head = ""
    }
    for (i = 1; i <= NR; ++i) print out[i]
}

# `line`, or where its code declares several members, each of them with the comment.
function apart(code, comment, line,    part, count, type, i, out) {
    if (code ~ /[()]|\{[^}]|<[^>]*,/ || code !~ /,.*; *$/) return line
    sub(/; *$/, "", code)
    count = split(code, part, ", ")
    type = part[1]
    sub(/ = .*|\{\}$/, "", type)
    sub(/[a-z_0-9]+$/, "", type)
    out = part[1] "; /**< " comment " */"
    for (i = 2; i <= count; ++i) out = out type part[i] "; /**< " comment " */"
    return out
}

# Enumerators, as the terms of their block say.
function with_terms(line,    name, before, at, count, words) {
    before = ""
    if (match(line, /\{/)) {
        before = substr(line, 1, RSTART)
        line = substr(line, RSTART + 1)
    }
    count = 0
    for (name in term_text)
        if (name ~ /^[a-z_0-9]+$/ && match(line, "(^|[ ,])" name "( = [^,}]*[^,} ])?([ ,}\001]|$)")) {
            at = RSTART + RLENGTH - (substr(line, RSTART + RLENGTH - 1, 1) ~ /[ ,}\001]/)
            words[++count] = term_text[name]
            line = substr(line, 1, at - 1) "\001" count "\002" substr(line, at)
        }
    for (name = 1; name <= count; ++name) {
        at = index(line, "\001" name "\002")
        line = substr(line, 1, at - 1) " /**< " words[name] " */" \
               substr(line, at + 2 + length(name))
    }
    return before line
}

# The statement under way is known by now: a member that its concept documents gets that sentence.
function note(head,    text) {
    if (begun == 0 || begun_documented) return
    if (source[begun] ~ /[^:]\/\/ / && source[begun] !~ /^ *\/\//) return
    # A datum is not what a concept documents, whatever it is called.
    if (head !~ /[(]|^ *(static|using|class|struct) / && source[begun] !~ /^ *(template|concept)/)
        return
    text = member_text(name_of(head))
    if (text == "") return
    match(out[begun], /^ */)
    out[begun] = substr(out[begun], 1, RLENGTH) "/** " text " */ " substr(out[begun], RLENGTH + 1)
    begun_documented = 1
}
