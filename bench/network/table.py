"""bench/results/network.md, from the rows that the sections left."""

import math

import rows


def digits(value):
    """Three of them, without an exponent."""
    if value == 0 or abs(value) >= 100:
        return f"{value:.0f}"
    return f"{value:.{2 if abs(value) >= 1 else 3}f}"


def bound(line):
    if line["asked"] is None:
        return ""
    return f"{'<=' if line['at_most'] else '>='} {line['asked']:g}"


def times_text(found):
    """The medians of all rows, in milliseconds: a column for each case, the fastest in the last
    one first."""
    text = []
    for name, row in found.items():
        cases = list(row["times"])
        if not cases:
            continue
        by_case = {case: rows.medians(row, case) for case in cases}
        contestants = {contestant for median in by_case.values() for contestant in median}
        last = by_case[cases[-1]]
        text += [f"| {name}: ms | " + " | ".join(cases) + " |", "|---" * (len(cases) + 1) + "|"]
        for contestant in sorted(contestants, key=lambda c: last.get(c, math.inf)):
            text.append(f"| {contestant} | " + " | ".join(
                digits(1000 * median[contestant]) if contestant in median else ""
                for median in by_case.values()) + " |")
        text.append("")
    return text


def blas_text(found):
    kernels = sorted({row["blas"] for row in found.values() if "blas" in row})
    return f" OpenBLAS with the kernels of {' and '.join(kernels)} for all." if kernels else ""


def section_text(name, section, found):
    about = next(iter(found.values()))
    dates = sorted({row["date"] for row in found.values()})
    commands = list(dict.fromkeys(row["command"] for row in found.values()))
    text = [f"## {name}", "", f"{section.about} {dates[0]}"
            f"{'' if len(dates) == 1 else ' to ' + dates[-1]}, load "
            f"{about['load']:.2f} at first.{blas_text(found)}",
            *(f"Command: `{command}`" for command in commands), "",
            "| row | case | what | found | asked |", "|---|---|---|---|---|"]
    lines = [line for line in section.lines(found) if line]
    text += [f"| {line['row']} | {line['case']} | {line['what']} | "
             f"{digits(line['ratio'])}{line['unit']} | {bound(line)}"
             f"{': missed' if line['met'] is False else ''} |" for line in lines]
    return text + ["", *times_text(found)], lines


def write(target, sections, stored):
    """`stored` is {section: {row: what was found}}. Returns how many figures are not what is
    asked."""
    body, lines = [], []
    for name, section in sections.items():
        if stored[name]:
            text, of_section = section_text(name, section, stored[name])
            body += text
            lines += of_section
    if not body:
        raise SystemExit("no results")
    first = next(row for found in stored.values() for row in found.values())
    asked = [line for line in lines if line["met"] is not None]
    missed = [line for line in asked if not line["met"]]
    head = ["# The network beside its limits and peers", "",
            f"{first['processor']}, {first['processors']} cores, Linux {first['kernel']}, TCP's "
            f"congestion control reno. {first['peers']}.",
            "Ranks are processes in network namespaces: one on loopback, or one each on a bridge "
            "whose links are shaped by tbf in both",
            "directions. Programs took turns; a turn's figure is the median over its rounds of the "
            "slowest rank, and the median over",
            "turns is here. Every answer was checked.", "",
            f"{len(asked) - len(missed)} of the {len(asked)} figures for which something is asked "
            "are as asked.", ""]
    if missed:
        head += ["| missed: row | case | what | found | asked |", "|---|---|---|---|---|"]
        head += [f"| {line['row']} | {line['case']} | {line['what']} | "
                 f"{digits(line['ratio'])}{line['unit']} | {bound(line)} |" for line in missed]
        head.append("")
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text("\n".join(head + body))
    return len(missed)
