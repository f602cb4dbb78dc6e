#!/usr/bin/env python3
"""The study of codistillation on a simulated network: groups that teach each other on digits with
wrong labels, beside what they are compared with; teachers that are none; groups past the size at
which more workers help; and a language model.

    codistillation.py [--sections NAME...] [--seeds S...] [--jobs N] [--table]

Each run is a line of bench/results/codistillation.jsonl, so an interrupted study goes on where it
stopped. The table bench/results/codistillation.md is made from these lines. --table trains nothing. N runs are
done at a time, each on one processor; as many as there are, unless it is said. Needs SOTTO_DATA, a
folder that holds mnist/ and tinyshakespeare/; what else is missing cmake/install_debian.sh
installs."""

import argparse
import math
import os
import pathlib
import statistics
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

import study  # noqa: E402
from common import project  # noqa: E402
from common.pages import table_row, table_rule  # noqa: E402
from common.store import Store  # noqa: E402
from study import Claims, Row  # noqa: E402

PROGRAM = project.PROGRAMS / "bench_training_codistillation"
KILLS = project.PROGRAMS / "bench_training_group_kills"
COST = project.PROGRAMS / "bench_training_codistillation_cost"
TIMED = {"kills": KILLS, "cost": COST}  # sections that measure time, while nothing else should run
RESULTS = Store(project.RESULTS / "codistillation.jsonl")

FIRST = 1  # the seed of the grids
SATURATED = 0.1  # points of error: by less than it twice the workers do not help


def run(name, program=PROGRAM, **arguments):
    return study.Run(RESULTS, program, name, **arguments)


# Digits with wrong labels

DIGITS = {  # name: title, arguments
    "half": ("alone on half", {"part": 0.5}),
    "same": ("codistilled, the same half", {"part": 0.5, "groups": 2, "common": 1.0}),
    "disjoint": ("codistilled, a half each", {"groups": 2}),
    "alone": ("alone on all", {}),
    "codistilled": ("codistilled, all", {"groups": 2, "common": 1.0}),
    "ensemble": ("ensemble of two alone on all", {"how": "ensemble"}),
    "smoothing_0.1": ("label smoothing 0.1 / 1.1", {"smoothing": round(0.1 / 1.1, 6)}),
    "smoothing_0.5": ("label smoothing 0.5 / 1.5", {"smoothing": round(0.5 / 1.5, 6)}),
    "unigram_0.1": ("unigram smoothing 0.1", {"unigram": 0.1}),
    "two_phase": ("two phases: taught by two that have finished", {"how": "two_phase"}),
}
INTERVALS = (1, 50, 200, 800)


def digits_run(name, seed):
    return run(f"digits_{name}_{seed}", **DIGITS[name][1], seed=seed)


def interval_run(every, seed):
    return run(f"digits_disjoint_{seed}" if every == 50 else f"interval_{every}_{seed}", groups=2,
               **({} if every == 50 else {"every": every}), seed=seed)


def error(result):
    groups = result["first"]["groups"]
    return sum(group["error"] for group in groups) / len(groups)


def loss(result):
    groups = result["first"]["groups"]
    return sum(group["loss"] for group in groups) / len(groups)


def churn(result):
    return result["churn"]["difference"]


def flips(result):
    return 100 * result["churn"]["flips"]


# Teachers that are none

TEACHERS = ("none", "random", "nan", "inverted", "frozen", "truncated")


def teacher_run(kind, seed):
    return run(f"teacher_{kind}_{seed}", how="made_up", teacher=kind, seed=seed)


# A group that is killed

VICTIMS = {"none": "nobody is killed", "alone": "nobody teaches", "group": "a group is killed"}
TRIALS = 3  # of each seed


def kill_run(victims, seed):
    return run(f"kill_{victims}_{seed}", KILLS, victims=victims, seed=seed)


def kill_runs(victims, seeds):
    return [kill_run(victims, seed + 100 * trial) for seed in seeds
            for trial in range(TRIALS if victims == "group" else 1)]


# What it costs

COST_RUN = {"every": 50, "rounds": 21}


def cost_run(seed):
    return run(f"cost_{seed}", COST, **COST_RUN, seed=seed)


# Past the size of a group at which more workers help

SCALES = (1, 2, 4, 8, 16, 32)
SCALE_RATES = (0.025, 0.05, 0.1, 0.2)
SCALE = {"batch_size": 16, "curve": 50, "steps": 2500}
TARGETS = (8.0, 7.5, 7.0)  # test errors in %: the last is what is asked for


def scale_run(ranks, seed, groups=1, rate=0.05):
    return run(f"scale_{groups}_{ranks}_{rate}_{seed}", **SCALE, ranks=ranks, groups=groups,
               learning_rate=rate, common=1.0 if groups > 1 else 0.0, seed=seed)


def best_rate(ranks):
    """Of one group of so many, by the steps to what is asked for at the first seed, and by the least
    error where none gets there; None until all of the grid is there."""
    found = {rate: scale_run(ranks, FIRST, 1, rate).result() for rate in SCALE_RATES}
    if not all(found.values()):
        return None
    return min(found, key=lambda rate: (steps_to(found[rate], TARGETS[-1], "error") or math.inf,
                                        least(found[rate], "error")))


def scale_row(ranks, groups, seeds):
    """Two groups with the rate of one."""
    rate = best_rate(ranks)
    return [] if rate is None else [scale_run(ranks, seed, groups, rate) for seed in seeds]


def least(result, measure="loss"):
    return min(point[measure] for point in result["first"]["curve"])


def steps_to(result, target, measure="loss"):
    """Steps until what is measured of unseen examples is at most this; None: never."""
    return next((point["step"] for point in result["first"]["curve"] if point[measure] <= target),
                None)


# A language model

LSTM = {"model": "character_lstm", "batch_size": 8, "curve": 100, "warm_up": 0.5, "every": 50,
        "burn_in": 200}
LSTM_TRIES = ((0.004, 4000), (0.004, 8000), (0.016, 4000))  # rates, and steps that are looked at


def lstm_run(groups, rate, seed):
    steps = max(steps for r, steps in LSTM_TRIES if r == rate)
    return run(f"lstm_{groups}_{rate}_{seed}", **LSTM, steps=steps, learning_rate=rate,
               groups=groups, ranks=4 // groups, seed=seed)


def stages_of(section, seeds):
    """Lists of runs, each of which may ask for results of those before it."""
    if section == "scale":
        yield [scale_run(ranks, FIRST, 1, rate) for ranks in SCALES for rate in SCALE_RATES]
        yield [one for ranks in SCALES for groups in (1, 2) if (groups, ranks) != (2, SCALES[-1])
               for one in scale_row(ranks, groups, seeds)]
    else:
        yield runs_of(section, seeds)


def runs_of(section, seeds):
    if section == "digits":
        return [digits_run(name, seed) for seed in seeds for name in DIGITS]
    if section == "intervals":
        return [interval_run(every, seed) for seed in seeds for every in INTERVALS]
    if section == "teachers":
        return [teacher_run(kind, seed) for seed in seeds for kind in TEACHERS]
    if section == "cost":
        return [cost_run(seed) for seed in seeds]
    if section == "kills":
        return [one for victims in VICTIMS for one in kill_runs(victims, seeds)]
    return [lstm_run(groups, rate, seed) for seed in seeds
            for rate in sorted({rate for rate, _ in LSTM_TRIES}) for groups in (1, 2)]


def section_digits(seeds, claims):
    yield ("MLP 784-64-64-10 on 12,000 images of MNIST of whose labels 30 % were drawn by chance; "
           "batches of 64, momentum 0.9, rate 0.05, 2,500 steps, burn-in 100, models exchanged every "
           "50 steps over the network, forward KL with weight 1. Test error and log-loss on the "
           "10,000 images for tests, whose labels are right, mean over groups; churn and flips "
           "between two trainings with other chance. Mean over seeds "
           f"{', '.join(map(str, seeds))}, and the least to the most.")
    yield ""
    yield "| training | test error in % | log-loss | churn | flips in % |"
    yield "|---|---|---|---|---|"
    rows = {name: Row([digits_run(name, seed) for seed in seeds]) for name in DIGITS}
    for name, (title, _) in DIGITS.items():
        row = rows[name]
        yield (f"| {title} | {row.cell(error, 2)} | {row.cell(loss, 3)} | {row.cell(churn, 4)} | "
               f"{row.cell(flips, 2)} |")
    yield ""
    if not all(rows.values()):
        return
    means = {name: row.mean(error) for name, row in rows.items()}
    claims.add("digits: a half each errs less than the same half, and that less than alone on half",
               f"{means['disjoint']:.2f}, {means['same']:.2f}, {means['half']:.2f} %",
               means["disjoint"] < means["same"] < means["half"])
    best = min(means["smoothing_0.1"], means["smoothing_0.5"], means["unigram_0.1"])
    claims.add("digits, all: the ensemble errs no more than codistilled models, these less than with "
               "label smoothing, and that no more than alone",
               f"{means['ensemble']:.2f}, {means['codistilled']:.2f}, {best:.2f}, "
               f"{means['alone']:.2f} %",
               means["ensemble"] <= means["codistilled"] < best <= means["alone"])
    less = 1 - rows["codistilled"].mean(churn) / rows["alone"].mean(churn)
    claims.add("digits, all: codistilled models churn at least 25 % less", f"{100 * less:.0f} % less",
               less >= 0.25)


def section_intervals(seeds, claims):
    yield "A half each, as above, with models exchanged more or less often."
    yield ""
    yield "| steps between exchanges | test error in % | log-loss | bytes a model to its student |"
    yield "|---|---|---|---|"
    rows = {every: Row([interval_run(every, seed) for seed in seeds]) for every in INTERVALS}
    for every, row in rows.items():
        sent = f"{row.mean(lambda r: r['first']['bytes']) / 1e6:.1f} MB" if row else "-"
        yield f"| {every} | {row.cell(error, 2)} | {row.cell(loss, 3)} | {sent} |"
    yield ""
    if not all(rows.values()):
        return
    ends = [rows[every].mean(error) for every in (1, 50, 200)]
    noise = max(max(rows[e].each(error)) - min(rows[e].each(error)) for e in (1, 50, 200))
    claims.add("exchanges every 1, 50 and 200 steps agree within what seeds differ by",
               f"{', '.join(f'{end:.2f}' for end in ends)} %; seeds differ by up to {noise:.2f}",
               max(ends) - min(ends) <= noise)


def section_teachers(seeds, claims):
    yield ("A student on all of the digits whose teacher is made up: with weights drawn by chance, "
           "with one that is no number, itself with its last layer inverted, itself as it was after "
           "100 steps; or files of itself that end in the middle. How often it was heard, in % of "
           "the steps.")
    yield ""
    yield "| teacher | test error in % | log-loss | heard |"
    yield "|---|---|---|---|"
    rows = {kind: Row([teacher_run(kind, seed) for seed in seeds]) for kind in TEACHERS}
    for kind, row in rows.items():
        heard = row.cell(lambda r: 100 * r["first"]["heard"] / r["first"]["steps"], 1)
        yield f"| {kind} | {row.cell(error, 2)} | {row.cell(loss, 3)} | {heard} |"
    yield ""
    if not all(rows.values()):
        return
    alone = rows["none"].mean(error)
    worst = max(TEACHERS[1:], key=lambda kind: rows[kind].mean(error))
    most = max(e - a for kind in TEACHERS[1:]
               for e, a in zip(rows[kind].each(error), rows["none"].each(error)))
    claims.add("whatever the teacher, the student errs at most 0.5 points more than alone, in the mean",
               f"{worst}: {rows[worst].mean(error) - alone:+.2f} points; {most:+.2f} in a single seed",
               rows[worst].mean(error) <= alone + 0.5)


def section_kills(seeds, claims):
    yield ("Two groups of two ranks, each group a job of its own over TCP on this machine; they meet "
           "in a folder. All digits, batches of 32 a rank, the rest as above. SIGKILL ends all "
           "processes of the second group after a random step of the first. Steps a second of the "
           "first before and after that, and its longest step; all four processes share the "
           "processors.")
    yield ""
    yield "| | runs | test error in % | heard | steps a second before | after | longest step in s |"
    yield "|---|---|---|---|---|---|---|"
    rows = {victims: Row(kill_runs(victims, seeds)) for victims in VICTIMS}
    for victims, title in VICTIMS.items():
        row = rows[victims]
        after, longest = "-", "-"
        if row and victims == "group":
            after = row.cell(lambda r: r["after"]["steps_a_second"], 0)
            longest = f"{max(row.each(lambda r: r['after']['longest'])):.3f}"
        yield (f"| {title} | {len(row)} | {row.cell('test_error', 2)} | "
               f"{row.cell(lambda r: 100 * r['heard'] / r['steps'], 1)} | "
               f"{row.cell(lambda r: r['before']['steps_a_second'], 0)} | {after} | {longest} |")
    yield ""
    if not all(rows.values()):
        return
    least = min(rows["group"].each(
        lambda r: r["after"]["steps_a_second"] / r["before"]["steps_a_second"]))
    claims.add("a group is killed: the other's steps a second do not fall by more than 10 %",
               f"{least:.2f} times those before, at least", least >= 0.9)
    worst = max(rows["group"].each("test_error")) - rows["alone"].mean("test_error")
    claims.add("a group is killed: the other errs at most 0.5 points more than alone, in every run",
               f"{worst:+.2f} points at most", worst <= 0.5)


def section_cost(seeds, claims):
    yield ("Two groups of one worker each, threads of one process on both processors, batches of 64: "
           "a block of training alone, one with a pass forward more in each step, by its own "
           "weights as they were when the block began, and of teaching each other over the "
           f"transport and in a folder, in turn, {COST_RUN['rounds']} times; a block is the "
           f"{COST_RUN['every']} steps between two exchanges. Medians over blocks, in ms a step, "
           "the mean of them over "
           f"{len(seeds)} runs. What codistillation adds to a step, in passes forward: a teacher "
           "needs one.")
    yield ""
    yield ("| model | alone | taught, transport | taught, folder | a pass in a step | by itself | "
           "listening | added, transport | added, folder |")
    yield "|---|---|---|---|---|---|---|---|---|"
    row = Row([cost_run(seed) for seed in seeds])
    if not row:
        return

    def added(how):
        return lambda r, i: ((r["models"][i][how] - r["models"][i]["alone"])
                             / (r["models"][i]["more"] - r["models"][i]["alone"]))

    def ms(how):
        return lambda r, i: 1e3 * r["models"][i][how]

    columns = [(ms("alone"), 3), (ms("over"), 3), (ms("in_folder"), 3),
               (lambda r, i: ms("more")(r, i) - ms("alone")(r, i), 3), (ms("pass"), 3),
               (ms("listening"), 3), (added("over"), 2), (added("in_folder"), 2)]
    worst = 0.0
    for i, model in enumerate(row.results[0]["models"]):
        means = [row.mean(lambda r: column(r, i)) for column, _ in columns]
        worst = max(worst, *means[-2:])
        yield table_row((model["model"], *(f"{mean:.{digits}f}" for mean, (_, digits)
                                           in zip(means, columns))))
    yield ""
    claims.add("exchanges every 50 steps: what a teacher adds to a step is at most 1.1 passes forward",
               f"{worst:.2f} at most", worst <= 1.1)


def section_scale(seeds, claims):
    yield ("Batches of 16 a worker, each row with the best of the rates "
           f"{', '.join(map(str, SCALE_RATES))} for one group at the first seed: by the steps to "
           f"{TARGETS[-1]:g} %, and where none gets there by the least error. Steps until the "
           "test error is at most that of the column, looked at every "
           f"{SCALE['curve']} of {SCALE['steps']} steps: median over seeds, and the least to the "
           "most; inf: never. Two groups read all of the data, each in its own order.")
    yield ""
    yield table_row(("groups", "workers in a group", "rate",
                     *(f"steps to {target:g} %" for target in TARGETS), "least error in %"))
    yield table_rule(len(TARGETS) + 4)
    rows = {(groups, ranks): Row(scale_row(ranks, groups, seeds))
            for groups in (1, 2) for ranks in SCALES if (groups, ranks) != (2, SCALES[-1])}

    def steps(row, target=TARGETS[-1]):
        return statistics.median(row.each(lambda r: steps_to(r, target, "error") or math.inf))

    def least_error(result):
        return least(result, "error")

    def cell(row, target):
        values = row.each(lambda r: steps_to(r, target, "error") or math.inf)
        return f"{statistics.median(values):.0f} ({min(values):.0f} to {max(values):.0f})"
    for (groups, ranks), row in rows.items():
        if row:
            yield table_row((groups, ranks, best_rate(ranks),
                             *(cell(row, target) for target in TARGETS), row.cell(least_error, 2)))
    yield ""
    if not all(rows.values()):
        return
    one = {ranks: row for (groups, ranks), row in rows.items() if groups == 1}
    ends = {ranks: row.mean(least_error) for ranks, row in one.items()}
    full = next((r for r in SCALES[:-1] if ends[2 * r] > ends[r] - SATURATED), None)
    claims.add("past some size twice the workers find no error that is less by more than "
               f"{SATURATED} points",
               f"from {full} on: " + ", ".join(f"{ends[r]:.2f}" for r in SCALES if r >= full) + " %"
               if full else f"not up to {SCALES[-1]}", full is not None)
    past = [r for r in SCALES[:-1] if full and r >= full]
    if past:
        pairs = [(steps(rows[2, r]), steps(one[2 * r])) for r in past]
        claims.add(f"there two groups of {', '.join(map(str, past))} that teach each other reach "
                   f"{TARGETS[-1]:g} % in fewer steps than one of twice the size",
                   "; ".join(f"{taught:.0f} and {twice:.0f}" for taught, twice in pairs),
                   all(taught < twice for taught, twice in pairs))
    path = project.RESULTS / "codistillation.svg"
    path.write_text(plot({"one group": ends, "two groups that teach each other": {
        2 * ranks: row.mean(least_error) for (groups, ranks), row in rows.items() if groups == 2}}))
    yield f"![The least error by workers in all]({path.name})"
    yield ""


def plot(lines):
    """Errors by workers, both on logarithmic axes, as a picture."""
    wide, high, left, low = 640, 360, 60, 50
    points = [point for line in lines.values() for point in line.items()]
    spans = [(math.log2(min(values)), math.log2(max(values))) for values in zip(*points)]

    def place(value, span, begin, end):
        part = (math.log2(value) - span[0]) / ((span[1] - span[0]) or 1.0)
        return begin + part * (end - begin)

    def across(workers):
        return place(workers, spans[0], left, wide - 20)

    def up(error):
        return place(error, spans[1], high - low, 20)
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{wide}" height="{high}" '
           'font-family="sans-serif" font-size="12">',
           f'<rect width="{wide}" height="{high}" fill="white"/>']
    for workers in sorted({x for x, _ in points}):
        out.append(f'<text x="{across(workers):.1f}" y="{high - low + 18}" '
                   f'text-anchor="middle">{workers}</text>')
    least, most = (limit(y for _, y in points) for limit in (min, max))
    for half in range(math.ceil(2 * least), math.floor(2 * most) + 1):
        out.append(f'<text x="{left - 8}" y="{up(half / 2) + 4:.1f}" '
                   f'text-anchor="end">{half / 2:g}</text>')
    out.append(f'<text x="{wide / 2}" y="{high - 12}" text-anchor="middle">workers in all</text>')
    out.append(f'<text x="16" y="{high / 2}" text-anchor="middle" '
               f'transform="rotate(-90 16 {high / 2})">least test error in %</text>')
    for number, (name, line) in enumerate(lines.items()):
        colour = ("#1f77b4", "#d62728")[number]
        drawn = [(across(x), up(y)) for x, y in sorted(line.items())]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in drawn)
        out.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>')
        out += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.5" fill="{colour}"/>' for x, y in drawn]
        out.append(f'<text x="{wide - 24}" y="{36 + 18 * number}" text-anchor="end" '
                   f'fill="{colour}">{name}</text>')
    return "\n".join([*out, "</svg>"]) + "\n"


def section_lstm(seeds, claims):
    yield ("Character LSTM (2 layers of 128) on Tiny Shakespeare, batches of 8 a worker, AdamW with "
           "a constant rate: one group of four workers against two groups of two that teach each "
           "other, after as many steps. Steps until the best validation loss of the one group, in "
           "those that it took for it; inf: never. Mean over seeds, and the least to the most.")
    yield ""
    yield ("| rate | steps | best loss of one group of four | of two of two | at which step of one | "
           "of two, in those of one |")
    yield "|---|---|---|---|---|---|"

    def until(result, steps):
        curve = [point for point in result["first"]["curve"] if point["step"] <= steps]
        return {"first": {"curve": curve}}

    for rate, steps in LSTM_TRIES:
        one, two = (Row([lstm_run(groups, rate, seed) for seed in seeds]) for groups in (1, 2))
        if not one or len(one) != len(two):
            continue
        firsts, ratios = [], []
        for base, taught in zip((until(r, steps) for r in one.results), two.results):
            first = steps_to(base, least(base))
            reached = steps_to(until(taught, steps), least(base))
            firsts.append(first)
            ratios.append(reached / first if reached else math.inf)
        yield (f"| {rate} | {steps} | {one.cell(lambda r: least(until(r, steps)), 4)} | "
               f"{two.cell(lambda r: least(until(r, steps)), 4)} | "
               f"{', '.join(map(str, firsts))} | {', '.join(f'{ratio:.2f}' for ratio in ratios)} |")
        claims.add(f"character LSTM, rate {rate}, {steps} steps: two groups reach the best loss of "
                   "one in at most 0.75 of its steps", ", ".join(f"{ratio:.2f}" for ratio in ratios),
                   statistics.mean(ratios) <= 0.75)
    yield ""


TITLES = {
    "digits": ("Digits with wrong labels", section_digits),
    "intervals": ("How often models are exchanged", section_intervals),
    "teachers": ("Teachers that are none", section_teachers),
    "kills": ("A group that is killed", section_kills),
    "cost": ("What it costs", section_cost),
    "scale": ("Past the size at which more workers help", section_scale),
    "lstm": ("A language model", section_lstm),
}


def table(seeds):
    claims, body = Claims(), []
    for section, (title, lines) in TITLES.items():
        runs = [one for stage in stages_of(section, seeds) for one in stage]
        body += [f"## {title}", "", *study.measured(runs),
                 *lines(seeds, claims)]
    return "\n".join(["# Codistillation", "",
                      "Ranks train on a simulated network, where a run that is repeated is the same "
                      "where OpenBLAS takes the same kernels; but for the section on a group that "
                      "is killed.",
                      "Command: `SOTTO_DATA=FOLDER bench/training/codistillation.py`", "",
                      *claims.table(), *body]).rstrip() + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sections", nargs="+", choices=TITLES, default=list(TITLES))
    parser.add_argument("--seeds", nargs="+", type=int, default=[1, 2, 3])
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--table", action="store_true", help="trains nothing")
    asked = parser.parse_args()
    if not asked.table:
        if "SOTTO_DATA" not in os.environ:
            sys.exit("SOTTO_DATA must be a folder with mnist/ and tinyshakespeare/")
        project.build(*{TIMED.get(section, PROGRAM) for section in asked.sections})
        for section in asked.sections:
            for stage in stages_of(section, asked.seeds):
                study.do_all(stage, 1 if section in TIMED else asked.jobs)
    path = project.RESULTS / "codistillation.md"
    path.write_text(table(asked.seeds))
    print(path.relative_to(project.ROOT))


if __name__ == "__main__":
    main()
