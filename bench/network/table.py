"""bench/results/network.md, from the rows that the sections left."""

import math

import rows
from common.pages import bound, digits, table_row, table_rule


def figure(line):
    return "not measured" if line["value"] is None else f"{digits(line['value'])}{line['unit']}"


def verdict(line):
    if line["asked"] is None:
        return ""
    return {True: "met", False: "missed", None: "not measured"}[line["met"]]


def times_text(found):
    """The medians of all rows, in milliseconds: a column for each case, the fastest in the last
    one first."""
    text = []
    for name, row in found.items():
        cases = list(row.get("times", {}))
        if not cases:
            continue
        by_case = {case: rows.medians(row, case) for case in cases}
        contestants = {contestant for median in by_case.values() for contestant in median}
        last = by_case[cases[-1]]
        text += [table_row((f"{name}: ms", *cases)), table_rule(len(cases) + 1)]
        for contestant in sorted(contestants, key=lambda c: (last.get(c, math.inf), c)):
            text.append(table_row((contestant, *(
                digits(1000 * median[contestant]) if contestant in median else ""
                for median in by_case.values()))))
        text.append("")
    return text


def blas_text(found):
    kernels = sorted({row["blas"] for row in found.values() if "blas" in row})
    return [f"OpenBLAS with the kernels of {' and '.join(kernels)}.", ""] if kernels else []


def machine_of(row):
    return (f"{row['processor']}, {row['processors']} cores, Linux {row['kernel']}. "
            f"{row['peers']}.")


def measured_text(found, machines):
    """When, where and with what each row was measured."""
    head = ["row", "date", "load before", "commit"] + (["machine"] if len(machines) > 1 else [])
    text = [table_row(head), table_rule(len(head))]
    for name, row in found.items():
        cells = [name, row["date"], f"{row['load']:.2f}", row["commit"]]
        if len(machines) > 1:
            cells.append(str(1 + machines.index(machine_of(row))))
        text.append(table_row(cells))
    return text + [""]


def section_text(name, section, found, lines, machines):
    measured = {row: what for row, what in found.items() if rows.is_measured(what)}
    text = [f"## {name}", "", section.about, "", *blas_text(measured),
            "| row | case | what | found | asked |", "|---|---|---|---|---|"]
    for line in lines:
        missed = ": missed" if line["met"] is False else ""
        text.append(f"| {line['row']} | {line['case']} | {line['what']} | {figure(line)} | "
                    f"{bound(line)}{missed} |")
    return text + ["", *measured_text(measured, machines), *times_text(measured)]


def summary(lines):
    """`lines` is {section: those for which something is asked}. What came of them, in a sentence,
    and those that are not as asked."""
    asked = [(section, line) for section, of_section in lines.items() for line in of_section]
    count = {what: sum(verdict(line) == what for _, line in asked)
             for what in ("met", "missed", "not measured")}
    text = [f"Of the {len(asked)} figures for which something is asked {count['met']} are as "
            f"asked, {count['missed']} are not, and {count['not measured']} were not measured.", ""]
    if count["met"] < len(asked):
        text += ["| not as asked: section | row | case | what | found | asked |",
                 "|---|---|---|---|---|---|"]
        others = {what: [(section, line) for section, line in asked if verdict(line) == what]
                  for what in ("missed", "not measured")}
        text += [f"| {section} | {line['row']} | {line['case']} | {line['what']} | "
                 f"{figure(line)} | {bound(line)} |" for section, line in others["missed"]]
        by_row = {}
        for section, line in others["not measured"]:
            by_row.setdefault((section, line["row"]), []).append(line)
        for (section, row), of_row in by_row.items():
            if len(of_row) > 3:
                text.append(f"| {section} | {row} | {len(of_row)} figures | | not measured | |")
                continue
            text += [f"| {section} | {row} | {line['case']} | {line['what']} | not measured | "
                     f"{bound(line)} |" for line in of_row]
        text.append("")
    return text, len(asked) - count["met"]


def commands_text(stored, command):
    """How to repeat all of it; `command` makes the table."""
    of_rows = [row["command"] for found in stored.values() for row in found.values()
               if rows.is_measured(row)]
    return ["", "```", *dict.fromkeys(of_rows), command, "```", ""]


def write(target, sections, stored, command):
    """`stored` is {section: {row: what is known of it, and what was found if it was measured}}.
    Returns how many figures are not what is asked."""
    measured = [row for found in stored.values() for row in found.values() if rows.is_measured(row)]
    if not measured:
        raise SystemExit("no results")
    machines = list(dict.fromkeys(machine_of(row) for row in measured))
    lines = {name: [line for line in section.lines(stored[name]) if line]
             for name, section in sections.items()}
    asked = {name: [line for line in of_section if line["asked"] is not None]
             for name, of_section in lines.items()}
    summed_up, others = summary(asked)
    head = ["# The network beside its limits and peers", "",
            *(f"{text}" if len(machines) == 1 else f"{number}. {text}"
              for number, text in enumerate(machines, 1)), "",
            "Ranks are processes in network namespaces: one on loopback, or one each on a bridge "
            "whose links are shaped by tbf in both",
            "directions. TCP's congestion control is reno. Each section says how it measures and "
            "what it checks. The load before",
            "a row is of a minute, the row before it included. Repeated by",
            *commands_text(stored, command), *summed_up]
    body = []
    for name, section in sections.items():
        if any(rows.is_measured(row) for row in stored[name].values()):
            body += section_text(name, section, stored[name], lines[name], machines)
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text("\n".join(head + body))
    return others
