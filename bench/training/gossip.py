#!/usr/bin/env python3
"""The study of gossip on a simulated network: how near ranks have to be to each other and when, what
a controller pays for it, data that differ between ranks, compressed gossip, and local steps.

    gossip.py [--sections NAME...] [--seeds S...] [--jobs N] [--quick] [--table]

Each run is a line of bench/results/gossip.jsonl, so an interrupted study goes on where it stopped. The
table bench/results/gossip.md is made from these lines. --quick goes through the same with little data
and one seed, in the build folder; --table trains nothing. N runs are done at a time, each on one
processor; as many as there are, unless it is said. Needs SOTTO_DATA, a folder that holds mnist/,
cifar10-sample/ and tinyshakespeare/; what else is missing cmake/install_debian.sh installs."""

import argparse
import os
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

import study  # noqa: E402
from common import project  # noqa: E402
from common.pages import table_row, table_rule  # noqa: E402
from common.store import Store  # noqa: E402
from study import Claims, Row  # noqa: E402

PROGRAM = project.PROGRAMS / "bench_training_gossip"
RESULTS = Store(project.RESULTS / "gossip.jsonl")
QUICK = {}  # options of every run, where it is to be quick
SECTIONS = ("control", "practical", "split", "choco", "local", "control_cnn")


class Run(study.Run):
    """What it needs of an earlier run, the maxima of the one that was not controlled, must be there
    when it is done."""

    def __init__(self, name, maxima_of=None, **arguments):
        super().__init__(RESULTS, PROGRAM, name, **arguments)
        self.maxima_of = maxima_of

    def do(self):
        self.arguments = {**self.arguments, **QUICK.get(self.arguments["model"], {})}
        if self.maxima_of and self.name not in self.store:
            self.arguments["maxima"] = ",".join(
                f"{m:.6g}" for m in self.maxima_of.result()["maxima"])
        super().do()


# (b) and (c): how near ranks are to each other, and when

PHASES = 3
FRACTIONS = {"half": 0.5, "quarter": 0.25, "eighth": 0.125}
SPANS = {"1": (0, 1), "2": (1, 2), "3": (2, 3), "all": (0, 3)}
CNN = {"model": "residual_cnn", "ranks": 8, "learning_rate": 0.1, "examples": 10000}
RHOS = (0.125, 0.25, 0.5, 1.0)


def of_task(seed, ranks, cnn):
    return {**(CNN if cnn else {"model": "mlp"}), "ranks": ranks, "seed": seed, "epochs": 12}


def prefix(ranks, topology, cnn):
    return f"{'cnn' if cnn else 'mlp'}_{topology}_{ranks}"


def complete(seed, ranks=16, cnn=False):
    return Run(f"{prefix(ranks, 'complete', cnn)}_{seed}", topology="complete",
               **of_task(seed, ranks, cnn))


def uncontrolled(seed, topology="ring", ranks=16, cnn=False):
    return Run(f"{prefix(ranks, topology, cnn)}_none_{seed}", topology=topology, measure="true",
               **of_task(seed, ranks, cnn))


def between(phases, epochs=12):
    return {"from": SPANS[phases][0] * epochs / PHASES, "to": SPANS[phases][1] * epochs / PHASES}


def controlled(name, phases, elsewhere, seed, topology="ring", ranks=16, cnn=False):
    """Below a fraction of the maximum in some phases, or "free" there; in the others with exact
    means, or free."""
    how = {"control": "none"} if name == "free" else {
        "control": "fraction", "value": FRACTIONS[name],
        "maxima_of": uncontrolled(seed, topology, ranks, cnn)}
    where = phases if elsewhere == "-" else f"{phases}_{elsewhere}"
    return Run(f"{prefix(ranks, topology, cnn)}_{name}_{where}_{seed}",
               topology=topology, **how, elsewhere="exact" if elsewhere == "exact" else "none",
               **between(phases), **of_task(seed, ranks, cnn))


def by_rho(rho, phases, seed):
    return Run(f"mlp_ring_16_rho{rho}_{phases}_{seed}", control="rho", value=rho,
               **between(phases), **of_task(seed, 16, False))


# (d): data that differ between ranks, and compressed gossip

SPLIT_RATES = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0)
SPLIT = {  # name, method, topology, momentum
    "complete": ("complete graph, momentum", "adapt_then_combine", "complete", 0.9),
    "dpsgd": ("D-PSGD, local momentum", "adapt_then_combine", "ring", 0.9),
    "dpsgd_plain": ("D-PSGD", "adapt_then_combine", "ring", 0.0),
    "quasi_global": ("quasi-global momentum", "quasi_global", "ring", 0.9),
    "d2": ("D^2, momentum, lazy ring", "d_squared", "lazy_ring", 0.9),
    "d2_plain": ("D^2, lazy ring", "d_squared", "lazy_ring", 0.0),
    "tracking": ("gradient tracking, momentum", "tracking", "ring", 0.9),
    "tracking_plain": ("gradient tracking", "tracking", "ring", 0.0),
}
CHOCO_RATES = (0.01, 0.02, 0.05, 0.1)
CHOCO_STEPS = (0.02, 0.04, 0.08)
CHOCO = {"model": "mlp", "ranks": 8}
LONG, SHORT = 48, 12  # epochs


def split_run(name, rate, seed):
    _, method, topology, momentum = SPLIT[name]
    return Run(f"split_{name}_{rate}_{seed}", model="mlp", method=method, topology=topology,
               momentum=momentum, learning_rate=rate, seed=seed, alpha=0.1, ranks=16, epochs=12)


def dense_run(rate, seed, epochs=LONG):
    return Run(f"choco_dense_{rate}_{epochs}_{seed}", learning_rate=rate, seed=seed, epochs=epochs,
               **CHOCO)


def choco_run(rate, step, seed, epochs=LONG):
    return Run(f"choco_{step}_{rate}_{epochs}_{seed}", method="choco", choco_step=step,
               density=0.01, learning_rate=rate, seed=seed, epochs=epochs, **CHOCO)


# (e): local steps

LOCAL = {"model": "character_lstm", "ranks": 4, "epochs": 12, "warm_up": 0.5, "hidden": 128}
LOCAL_RATES = (0.004, 0.008, 0.016)
LOCAL_GRIDS = {  # method: its options; kept are the entries of 4,096 that are sent
    "diloco": [{"learning_rate": rate, "outer_rate": outer, "outer_momentum": momentum}
               for rate, outer, momentum in (
                   (0.008, 0.2, 0.9), (0.016, 0.2, 0.9), (0.008, 0.7, 0.5))],
    "sparse_loco": [{"learning_rate": 0.008, "outer_rate": 1.4, "kept": 128}],
}


def synchronous_run(rate, seed):
    return Run(f"local_all_reduce_{rate}_{seed}", method="all_reduce", learning_rate=rate,
               seed=seed, **LOCAL)


def local_run(method, point, seed):
    name = "_".join(map(str, ("local", method, *point.values(), seed)))
    return Run(name, method=method, every=30, seed=seed, **point, **LOCAL)


FIRST = 1  # the seed of the grids


def best_of(grid, run_of, measure):
    """That of a grid with the least of the measure at the first seed; None until all is there."""
    ends = [result[measure] for point in grid if (result := run_of(point).result())]
    return grid[ends.index(min(ends))] if len(ends) == len(grid) else None


def best_split(name):
    return best_of(SPLIT_RATES, lambda rate: split_run(name, rate, FIRST), "train_loss")


def best_dense():
    return best_of(CHOCO_RATES, lambda rate: dense_run(rate, FIRST), "own_test_error")


CHOCO_GRID = [(rate, step) for rate in CHOCO_RATES for step in CHOCO_STEPS]


def best_choco():
    return best_of(CHOCO_GRID, lambda p: choco_run(*p, FIRST), "own_test_error")


def best_local(method):
    return best_of(LOCAL_GRIDS[method], lambda p: local_run(method, p, FIRST), "test_loss")


def stages_of(section, seeds):
    """Lists of runs, each of which may ask for results of those before it, but not of its own."""
    if section == "control":
        yield [run for seed in seeds for run in (
            complete(seed), uncontrolled(seed), complete(seed, 32), uncontrolled(seed, "ring", 32),
            uncontrolled(seed, "torus"))]
        yield [controlled(*row, seed, topology, ranks) for seed in seeds
               for (topology, ranks), rows in ROWS.items() for row in rows]
    elif section == "practical":
        yield [by_rho(rho, phases, seed) for seed in seeds for phases in ("1", "all")
               for rho in RHOS]
    elif section == "split":
        yield [split_run(name, rate, FIRST) for name in SPLIT for rate in SPLIT_RATES]
        yield [split_run(name, best_split(name), seed) for seed in seeds for name in SPLIT]
    elif section == "choco":
        yield [*(dense_run(rate, FIRST) for rate in CHOCO_RATES),
               *(choco_run(rate, step, FIRST) for rate, step in CHOCO_GRID)]
        yield [run for seed in seeds for epochs in (LONG, SHORT) for run in (
            dense_run(best_dense(), seed, epochs), choco_run(*best_choco(), seed, epochs))]
    elif section == "local":
        yield [synchronous_run(rate, FIRST) for rate in LOCAL_RATES]
        yield [local_run(method, point, FIRST) for method, grid in LOCAL_GRIDS.items()
               for point in grid]
        rate = best_of(LOCAL_RATES, lambda r: synchronous_run(r, FIRST), "test_loss")
        best = {method: best_local(method) for method in LOCAL_GRIDS}
        yield [run for seed in seeds for run in (
            synchronous_run(rate, seed),
            *(local_run(method, point, seed) for method, point in best.items() if point))]
    else:
        yield [run for seed in seeds for run in (
            complete(seed, 8, True), uncontrolled(seed, "ring", 8, True))]
        yield [controlled(*row, seed, "ring", 8, True) for seed in seeds for row in CNN_ROWS]


# Tables

def rounds(result):
    return result["rounds"] / result["steps"]


def measured(section, seeds):
    """When and where, of all runs of a section."""
    try:
        runs = [run for stage in stages_of(section, seeds) for run in stage]
    except TypeError:  # a grid is not done
        runs = []
    yield from study.measured(runs)


def removed(row, none, exact):
    """The part of the excess over exact means that a row does without."""
    excess = none.mean("train_loss") - exact.mean("train_loss")
    return (none.mean("train_loss") - row.mean("train_loss")) / excess


CONTROL_HEAD = ("| control | in phase | in the others | training loss | excess removed | test error "
                "in % | rounds a step |", "|---|---|---|---|---|---|---|")


def control_line(name, phases, elsewhere, row, none, exact):
    part = f"{100 * removed(row, none, exact):.0f} %" if row and none and exact else "-"
    return (f"| {name} | {phases} | {elsewhere} | {row.cell('train_loss', 4)} | {part} | "
            f"{row.cell('test_error', 2)} | {row.cell(rounds, 2)} |")


NAMES = {"free": "none", **{name: f"1/{1 / part:.0f} of the maximum"
                            for name, part in FRACTIONS.items()}}
ELSEWHERE = {"exact": "exact means", "free": "none", "-": "-"}


def table_of_control(topology, ranks, rows, cnn, seeds):
    exact = Row([complete(s, ranks, cnn) for s in seeds])
    none = Row([uncontrolled(s, topology, ranks, cnn) for s in seeds])
    if none:
        yield ("The maxima of the three phases: " + ", ".join(
            none.cell(lambda result, p=p: result["maxima"][p], 3) for p in range(PHASES)) + ".")
        yield ""
    yield from CONTROL_HEAD
    yield control_line("exact mean (complete graph)", "all", "-", exact, none, exact)
    yield control_line("none", "all", "-", none, none, exact)
    for name, phases, elsewhere in rows:
        row = Row([controlled(name, phases, elsewhere, s, topology, ranks, cnn) for s in seeds])
        yield control_line(NAMES[name], phases, ELSEWHERE[elsewhere], row, none, exact)
    yield ""


def of_one_phase(names, phases, elsewhere):
    return [(name, phase, elsewhere) for phase in phases for name in names]


THROUGHOUT = [("half", "all", "-"), ("quarter", "all", "-")]
ROWS = {  # control, in phase, in the others
    ("ring", 16): [*of_one_phase(("free", "half", "quarter"), ("1", "2", "3"), "exact"), *THROUGHOUT,
                   *of_one_phase(FRACTIONS, ("1",), "free")],
    ("torus", 16): [*of_one_phase(("half", "quarter"), ("1",), "exact"), *THROUGHOUT,
                    *of_one_phase(("half", "quarter"), ("1",), "free")],
    ("ring", 32): [*of_one_phase(("free", "half", "quarter"), ("1",), "exact"),
                   *of_one_phase(FRACTIONS, ("1",), "free")],
}
CNN_ROWS = of_one_phase(("half", "quarter"), ("1",), "free")


def section_control(seeds, claims):
    yield ("MLP 784-64-64-10 on 12,000 images of MNIST; 8 examples a rank and step, Nesterov "
           "momentum 0.9, learning rate 0.2, 0.02, 0.002 in three phases of 4 epochs, with a warm-up "
           "over the first epoch. Controlled in some phases alone, by the exact distance, below a "
           "part of the maximum, which is the distance that the run without control had in the same "
           "phase once that had settled: the root of the mean square over its second half "
           "(`consensus_maxima`). In the other phases ranks have exact means, as in the paper's "
           "experiments, or gossip on without control. Training loss (of the mean of all ranks' "
           "parameters, over all 12,000 images), test error, and rounds of mixing, an exact mean "
           "counting as one: mean over seeds "
           f"{', '.join(map(str, seeds))}, and the least to the most.")
    yield ""
    for (topology, ranks), rows in ROWS.items():
        yield f"{topology.capitalize()} of {ranks}"
        yield ""
        yield from table_of_control(topology, ranks, rows, False, seeds)
    losses = {}
    for ranks in (16, 32):
        rows = [Row([run(s) for s in seeds]) for run in (
            lambda s: complete(s, ranks), lambda s: uncontrolled(s, "ring", ranks),
            lambda s: controlled("quarter", "1", "free", s, "ring", ranks),
            lambda s: controlled("quarter", "1", "exact", s, "ring", ranks))]
        if all(rows):
            exact, none, quarter, exact_after = rows
            losses[ranks] = none.mean("train_loss") - exact.mean("train_loss")
            part, other = removed(quarter, none, exact), removed(exact_after, none, exact)
            claims.add(f"ring of {ranks}: 1/4 of the maximum in phase 1, without control after it, "
                       "removes at least 75 % of the excess training loss",
                       f"{100 * part:.0f} % ({100 * other:.0f} % with exact means after it)",
                       part >= 0.75)
    if len(losses) == 2:
        claims.add("the excess of the ring is larger with 32 ranks than with 16",
                   f"{losses[32]:.4f} and {losses[16]:.4f}", losses[32] > losses[16])


def section_control_cnn(seeds, claims):
    yield ("Residual CNN (ResNet-8, 16 channels) on the CIFAR-10 sample, 10,000 images, ring of 8, "
           "learning rate 0.1, 0.01, 0.001; the rest as above. Batch norm by the mean of the ranks' "
           "running statistics.")
    yield ""
    yield from table_of_control("ring", 8, CNN_ROWS, True, seeds)
    ends = [Row([run(s) for s in seeds]) for run in (
        lambda s: complete(s, 8, True),
        lambda s: controlled("quarter", "1", "free", s, "ring", 8, True),
        lambda s: controlled("half", "1", "free", s, "ring", 8, True),
        lambda s: uncontrolled(s, "ring", 8, True))]
    if all(ends):
        exact, quarter, half, none = (row.mean("train_loss") for row in ends)
        claims.add("residual CNN, ring of 8: the same order (1/4 in phase 1 below 1/2, below none)",
                   f"training loss {exact:.4f} of exact means, {quarter:.4f}, {half:.4f}, "
                   f"{none:.4f} without control", quarter < half < none)


CLOSE = 1.05  # of a loss, that still counts as the same


def section_practical(seeds, claims):
    yield ("As the ring of 16 above, but the controller knows only what ranks measure anyway: it "
           "mixes until the estimate of the distance is below rho x learning rate x gradient norm.")
    yield ""
    exact, none = (Row([run(s) for s in seeds]) for run in (complete, uncontrolled))
    yield from CONTROL_HEAD
    rows = {(rho, phases): Row([by_rho(rho, phases, s) for s in seeds])
            for phases in ("1", "all") for rho in RHOS}
    for (rho, phases), row in rows.items():
        elsewhere = "none" if phases == "1" else "-"
        yield control_line(f"rho {rho:g}", phases, elsewhere, row, none, exact)
    quarters = {phases: Row([controlled("quarter", phases, elsewhere, s) for s in seeds])
                for phases, elsewhere in (("1", "free"), ("all", "-"))}
    for phases, row in quarters.items():
        yield control_line("for comparison: 1/4 of the maximum", phases,
                           "none" if phases == "1" else "-", row, none, exact)
    yield ""
    if not all(rows.values()) or not all(quarters.values()):
        return
    best = quarters["all"].mean("train_loss")
    good = [(row.mean(rounds), rho, phases, row) for (rho, phases), row in rows.items()
            if row.mean("train_loss") <= CLOSE * best]
    asked = ("by the estimate alone the quality of 1/4 of the maximum throughout (training loss at "
             "most 5 % above) for at most 60 % of its extra rounds")
    if not good:
        claims.add(asked, "by none of these rho", False)
        return
    cost, rho, phases, row = min(good, key=lambda g: g[0])
    share = (cost - 1) / (quarters["all"].mean(rounds) - 1)
    claims.add(asked, f"rho {rho:g} in {'phase 1' if phases == '1' else 'all phases'}: training loss "
               f"{row.mean('train_loss'):.4f} against {best:.4f} (1/4 in phase 1 alone: "
               f"{quarters['1'].mean('train_loss'):.4f}), {100 * share:.0f} % of the extra rounds",
               share <= 0.6)


def section_split(seeds, claims):
    yield ("Ring of 16; each rank owns 750 images of a mixture of labels that chance has drawn, "
           "Dirichlet(0.1). Schedule as above; the largest learning rate is each method's best for "
           f"the training loss, with seed {FIRST}, of {', '.join(map(str, SPLIT_RATES))}. The lazy "
           "ring gives neighbours 3/4 of the weight: D^2 needs eigenvalues above -1/3.")
    yield ""
    yield ("| method | best rate | training loss | test error in %, of the mean | of ranks' own |")
    yield "|---|---|---|---|---|"
    ends = {}
    for name, (title, *_) in SPLIT.items():
        rate = best_split(name)
        if rate is None:
            yield f"| {title} | - | - | - | - |"
            continue
        row = ends[name] = Row([split_run(name, rate, s) for s in seeds])
        edge = " (edge)" if rate in (SPLIT_RATES[0], SPLIT_RATES[-1]) else ""
        yield (f"| {title} | {rate}{edge} | {row.cell('train_loss', 4)} | "
               f"{row.cell('test_error', 2)} | {row.cell('own_test_error', 2)} |")
    yield ""
    if "dpsgd" not in ends:
        return
    ours = ends["dpsgd"].mean("test_error")
    for names, title in ((("quasi_global",), "quasi-global momentum"), (("d2", "d2_plain"), "D^2"),
                         (("tracking", "tracking_plain"), "gradient tracking")):
        there = [ends[name].mean("test_error") for name in names if name in ends]
        if there:
            claims.add(f"split by label: {title} errs less than D-PSGD with local momentum",
                       f"{min(there):.2f} and {ours:.2f} %", min(there) < ours)


def section_choco(seeds, claims):
    yield (f"Ring of 8, all data everybody's, {LONG} epochs in three phases, otherwise as above. "
           "Rates of both, and CHOCO's step, are the best for ranks' own test error with seed "
           f"{FIRST}, of rates {', '.join(map(str, CHOCO_RATES))} and steps "
           f"{', '.join(map(str, CHOCO_STEPS))}; the same for {SHORT} epochs. Bytes are those that "
           "all ranks have sent, with all that goes with them.")
    yield ""
    yield ("| method | epochs | training loss | test error in %, of the mean | of ranks' own | MB "
           "sent |")
    yield "|---|---|---|---|---|---|"
    dense, chosen = best_dense(), best_choco()
    rows = {}
    for epochs in (LONG, SHORT):
        if dense is not None:
            rows[f"D-PSGD, rate {dense}", epochs] = Row([dense_run(dense, s, epochs)
                                                         for s in seeds])
        if chosen is not None:
            rows[f"CHOCO, top 1 %, rate {chosen[0]}, step {chosen[1]}", epochs] = Row(
                [choco_run(*chosen, s, epochs) for s in seeds])
    for (title, epochs), row in rows.items():
        sent = f"{row.mean('bytes_sent') / 1e6:.0f}" if row else "-"
        yield (f"| {title} | {epochs} | {row.cell('train_loss', 4)} | {row.cell('test_error', 2)} | "
               f"{row.cell('own_test_error', 2)} | {sent} |")
    yield ""
    yield table_row((f"ranks' own test error in %, seed {FIRST}; rate",
                     *(f"step {step}" for step in CHOCO_STEPS), "D-PSGD"))
    yield table_rule(2 + len(CHOCO_STEPS))
    for rate in CHOCO_RATES:
        cells = [Row([choco_run(rate, step, FIRST)]).cell("own_test_error", 2)
                 for step in CHOCO_STEPS]
        yield table_row((rate, *cells, Row([dense_run(rate, FIRST)]).cell("own_test_error", 2)))
    yield ""
    compared = [row for (_, epochs), row in rows.items() if epochs == LONG]
    if len(compared) == 2 and all(compared):
        plain, choco = compared
        ratio = plain.mean("bytes_sent") / choco.mean("bytes_sent")
        behind = choco.mean("own_test_error") - plain.mean("own_test_error")
        claims.add("CHOCO with the top 1 % is as accurate as D-PSGD (at most 0.2 points behind) with "
                   "at least 50 times fewer bytes", f"{behind:+.2f} points of ranks' own test error, "
                   f"{ratio:.0f} times fewer", behind <= 0.2 and ratio >= 50)


LOCAL_NAMES = {"diloco": "DiLoCo", "sparse_loco": "SparseLoCo"}


LOCAL_WORDS = {"learning_rate": "{}", "outer_rate": "outer {}", "outer_momentum": "momentum {}",
               "kept": "{} of 4,096"}


def shown_point(point):
    if not isinstance(point, dict):
        return f"{point}"
    return ", ".join(LOCAL_WORDS[name].format(value) for name, value in point.items())


def section_local(seeds, claims):
    yield ("Character LSTM (2 layers of 128, 279,873 parameters) on Tiny Shakespeare, 4 workers, 8 "
           f"examples of 64 characters a worker and step, {LOCAL['epochs']} epochs; AdamW with a "
           "cosine. The others meet every 30 steps. Rates, outer rates and momenta are the best "
           f"of the grids here by the validation loss with seed {FIRST}. "
           "Loss in nats a character.")
    yield ""
    rate = best_of(LOCAL_RATES, lambda r: synchronous_run(r, FIRST), "test_loss")
    for name, grid, run_of in (
            ("synchronous", LOCAL_RATES, lambda r: synchronous_run(r, FIRST)),
            *((LOCAL_NAMES[m], LOCAL_GRIDS[m], lambda p, m=m: local_run(m, p, FIRST))
              for m in LOCAL_GRIDS)):
        cells = [f"{shown_point(point)}: {Row([run_of(point)]).cell('test_loss', 4)}"
                 for point in grid]
        yield f"- {name}, seed {FIRST}, validation loss by rate: {'; '.join(cells)}"
    yield ""
    if rate is None:
        return
    yield "| method | rate | validation loss | steps | MB sent | times fewer |"
    yield "|---|---|---|---|---|---|"
    plain = Row([synchronous_run(rate, s) for s in seeds])

    def line(title, at, row):
        return (f"| {title} | {at} | {row.cell('test_loss', 4)} | {row.mean('steps'):.0f} | "
                f"{row.mean('bytes_sent') / 1e6:.1f} | "
                f"{plain.mean('bytes_sent') / row.mean('bytes_sent'):.0f} |")
    yield line("synchronous", rate, plain)
    for method, fewer in (("diloco", 29), ("sparse_loco", 1000)):
        point = best_local(method)
        row = Row([local_run(method, point, s) for s in seeds]) if point else []
        if not row:
            continue
        yield line(LOCAL_NAMES[method], shown_point(point), row)
        behind = row.mean("test_loss") / plain.mean("test_loss") - 1
        ratio = plain.mean("bytes_sent") / row.mean("bytes_sent")
        claims.add(f"{LOCAL_NAMES[method]}: validation loss at most 2 % above synchronous training "
                   f"after as many steps, with at least {fewer:,} times fewer bytes",
                   f"{100 * behind:+.1f} %, {ratio:,.1f} times fewer",
                   behind <= 0.02 and ratio >= fewer)
    yield ""


TITLES = {
    "control": ("How near ranks have to be, and when", section_control),
    "control_cnn": ("The same of a residual CNN", section_control_cnn),
    "practical": ("A controller without exact distances", section_practical),
    "split": ("Ranks whose data differ", section_split),
    "choco": ("Compressed gossip", section_choco),
    "local": ("Local steps", section_local),
}


def table(seeds):
    claims, body = Claims(), []
    for section, (title, lines) in TITLES.items():
        body += [f"## {title}", "", *measured(section, seeds), *lines(seeds, claims)]
    return "\n".join(["# Gossip, consensus control and local steps", "",
                      "All ranks train on a simulated network; a run that is repeated is the same "
                      "where OpenBLAS takes the same kernels.",
                      "Command: `SOTTO_DATA=FOLDER bench/training/gossip.py`", "",
                      *claims.table(), *body]).rstrip() + "\n"


def make_quick():
    global RESULTS, RHOS, SPLIT_RATES, CHOCO_RATES, CHOCO_STEPS, LOCAL_RATES, LOCAL_GRIDS, CHOCO_GRID
    RHOS, SPLIT_RATES, CHOCO_RATES, CHOCO_STEPS = (0.25,), (0.05, 0.1), (0.05, 0.1), (0.04,)
    LOCAL_RATES = (0.004,)
    LOCAL_GRIDS = {method: grid[:1] for method, grid in LOCAL_GRIDS.items()}
    CHOCO_GRID = [(rate, step) for rate in CHOCO_RATES for step in CHOCO_STEPS]
    RESULTS = Store(project.BUILD / "gossip_quick.jsonl")
    images = {"epochs": 3, "warm_up": 0.5}
    QUICK.update({"mlp": {**images, "examples": 1920, "from": 0, "to": 1},
                  "residual_cnn": {**images, "examples": 384, "from": 0, "to": 1},
                  "character_lstm": {"epochs": 1, "hidden": 16, "every": 30}})


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sections", nargs="+", choices=SECTIONS, default=SECTIONS)
    parser.add_argument("--seeds", nargs="+", type=int, default=[1, 2, 3])
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--quick", action="store_true", help="little data; tells whether it works")
    parser.add_argument("--table", action="store_true", help="trains nothing")
    asked = parser.parse_args()
    if asked.quick:
        make_quick()
        asked.seeds = asked.seeds[:1]
    if not asked.table:
        if "SOTTO_DATA" not in os.environ:
            sys.exit("SOTTO_DATA must be a folder with mnist/, cifar10-sample/, tinyshakespeare/")
        project.build(PROGRAM)
        for section in asked.sections:
            for stage in stages_of(section, asked.seeds):
                study.do_all(stage, asked.jobs)
    text = table(asked.seeds)
    if asked.quick:
        print(text)
        return
    path = project.RESULTS / "gossip.md"
    path.write_text(text)
    print(path.relative_to(project.ROOT))


if __name__ == "__main__":
    main()
