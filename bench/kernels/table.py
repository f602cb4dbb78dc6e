"""bench/results/kernels.md, from what the sections left."""

from common.pages import bound, digits, grouped, table_row, table_rule


def write(store, target, order):
    """Returns how many ratios are not what is asked."""
    results = sorted(store.results(), key=lambda r: (order.index(r["section"]), r["n"]))
    if not results:
        raise SystemExit(f"{store.path}: no results")
    missed = sum(line["met"] is False for r in results for line in r["lines"])
    asked = sum(line["met"] is not None for r in results for line in r["lines"])
    first = results[0]
    dates = sorted({r["date"] for r in results})
    text = [
        "# Kernels beside their limits and peers",
        "",
        f"{dates[0]}{'' if len(dates) == 1 else ' to ' + dates[-1]}, {first['processor']}, "
        f"{first['processors']} cores, {first['compiler']}.",
        "sotto is built with -O2 and no flag for the processor; limits and peers with -O3 "
        "-march=native. Medians of interleaved rounds",
        "in one process, one thread unless said; every answer was checked. A limit is the fastest "
        "of a plain and two prefetching loops over",
        "the same arrays in the same rounds. Shares of k: k/n. Medians of another number of rounds "
        "than their section's have it in brackets."
        f"{' Peers: ' + ', '.join(first['peers']) + '.' if first.get('peers') else ''}",
        "",
        f"{asked - missed} of the {asked} ratios for which something is asked are as asked.",
        "",
    ]
    if missed:
        text += ["| missed: section | floats | case | what | ratio | asked |",
                 "|---|---|---|---|---|---|"]
        text += [f"| {r['section']} | {r['n'] or ''} | {line['case']} | {line['what']} | "
                 f"{digits(line['ratio'])}{line['unit']} | {bound(line)} |"
                 for r in results for line in r["lines"] if line["met"] is False]
        text.append("")
    for result in results:
        text += section_text(result)
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text("\n".join(text))
    return missed


def yes_or_no(flag):
    return "yes" if flag else "no"


def section_text(result):
    size = f", {grouped(result['n'])} floats" if result["n"] else ""
    text = [f"## {result['section']}{size}", "",
            f"{result['about'][0].upper()}{result['about'][1:]}. {result['rounds']} rounds, load "
            f"{result['load']:.2f} at first"
            f"{', ' + result['instruction_set'] if 'instruction_set' in result else ''}, "
            f"large pages: {yes_or_no(result['large_pages'])}, {result['date']}.",
            f"Command: `{result['command']}`", "",
            "| case | what | ratio | asked |", "|---|---|---|---|"]
    for line in result["lines"]:
        verdict = {None: "", True: "", False: ": missed"}[line["met"]]
        text.append(f"| {line['case']} | {line['what']} | {digits(line['ratio'])}{line['unit']} | "
                    f"{bound(line)}{verdict} |")
    return text + ["", *medians_text(result), ""]


def medians_text(result):
    """A row for each case and a column for each contestant, in milliseconds; the other way round
    where there are few cases."""
    medians = result["medians"]
    names = list(dict.fromkeys(name for case in medians.values() for name in case))
    cases = list(medians)

    def cell(case, name):
        seconds = medians[case].get(name)
        if seconds is None:
            return ""
        rounds = len(result["times"][case][name])
        return digits(1000 * seconds) + (f" ({rounds})" if rounds != result["rounds"] else "")
    if len(cases) < len(names):
        return [table_row(("ms", *cases)), table_rule(len(cases) + 1),
                *(table_row((name, *(cell(case, name) for case in cases))) for name in names)]
    return [table_row(("ms", *names)), table_rule(len(names) + 1),
            *(table_row((case, *(cell(case, name) for name in names))) for case in cases)]
