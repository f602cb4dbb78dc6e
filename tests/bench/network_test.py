"""Rows, lines, tables and crossovers of bench/network."""

import contextlib
import io
import json
import math
import os
import pathlib
import sys
import tempfile
import types
import unittest
import unittest.mock

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path[:0] = [str(ROOT / "bench" / "network"), str(ROOT / "bench")]

import backpressure  # noqa: E402
import crossover  # noqa: E402
import end_to_end  # noqa: E402
import namespaces  # noqa: E402
import network  # noqa: E402
import rows  # noqa: E402
import simulated  # noqa: E402
import table  # noqa: E402
from common.pages import digits, quotient  # noqa: E402
from common.store import Store  # noqa: E402
from crossover import Point  # noqa: E402

PROVENANCE = {"processor": "P", "processors": 2, "kernel": "6.1", "peers": "none",
              "date": "2020-01-02", "load": 0.25, "commit": "c0ffee", "command": "network.py",
              "quick": False}


def options(*words):
    """As network.py reads them, without an answer on stdout."""
    with unittest.mock.patch.object(sys, "argv", ["network.py", *words]), \
            unittest.mock.patch.dict(os.environ, {"SOTTO_DATA": "/data"}):
        return network.arguments()


def declared(*words):
    """{section: {row: what is known before it is measured}}."""
    bench = types.SimpleNamespace(options=options(*words), inner=lambda rounds: rounds)
    return {name: {row.name: row.about for row in section.rows(bench)}
            for name, section in network.SECTIONS.items()}


class Rates(unittest.TestCase):
    def test_a_rate_is_read_as_tc_reads_it(self):
        self.assertEqual(namespaces.bits_per_second("100mbit"), 1e8)
        self.assertEqual(namespaces.bits_per_second("2.5gbit"), 2.5e9)
        self.assertEqual(namespaces.bits_per_second("64kbit"), 64e3)

    def test_what_is_no_rate_is_refused(self):
        for rate in ("loopback", "1", "1gbyte", "-1gbit", "1gbit "):
            with self.assertRaisesRegex(SystemExit, "is no rate"):
                namespaces.bits_per_second(rate)


class Rows(unittest.TestCase):
    def test_the_slowest_rank_of_each_round_counts_and_the_median_over_rounds(self):
        of_ranks = [[1.0, 5.0, 3.0], [2.0, 4.0, 2.5]]
        records = [{"contestant": "a", "bytes": 8, "seconds": seconds} for seconds in of_ranks]
        self.assertEqual(rows.slowest_ranks(records), {("a", 8): 3.0})

    def test_ranks_that_measured_other_numbers_of_rounds_are_refused(self):
        records = [{"contestant": "a", "bytes": 8, "seconds": seconds}
                   for seconds in ([1.0], [1.0, 2.0])]
        with self.assertRaises(ValueError):
            rows.slowest_ranks(records)

    def test_every_turn_begins_with_another_contestant(self):
        contestants = [lambda: "a", lambda: "b", lambda: "c"]
        self.assertEqual("".join(rows.in_turns(4, contestants)), "abcbcacababc")

    def test_medians_of_what_was_not_measured_are_none(self):
        row = {"times": {"step": {"a": [3.0, 1.0, 2.0]}}}
        self.assertEqual(rows.medians(row, "step"), {"a": 2.0})
        self.assertEqual(rows.medians(row, "other"), {})
        self.assertEqual(rows.medians({}, "step"), {})

    def test_the_fastest_with_a_prefix(self):
        found = {"Gloo ring": 2.0, "Gloo bcube": 1.0, "sotto ring": 0.5}
        self.assertEqual(rows.least(found, "Gloo"), ("Gloo bcube", 1.0))
        self.assertEqual(rows.least(found, "Open MPI"), (None, None))

    def test_a_bound_is_met_missed_or_without_a_figure(self):
        def met(value, *asked):
            return rows.line("row", "case", "what", value, *asked)["met"]
        self.assertIs(met(2.0, 1.0), True)
        self.assertIs(met(2.0, 1.0, True), False)
        self.assertIs(met(1.0, 1.0), True)
        self.assertIsNone(met(None, 1.0))
        self.assertIsNone(rows.line("row", "case", "what", None))

    def test_quotients_of_what_is_not_there_are_not_there(self):
        self.assertEqual(quotient(3.0, 2.0), 1.5)
        self.assertIsNone(quotient(None, 2.0))
        self.assertIsNone(quotient(2.0, None))

    def test_rows_of_another_machine_or_not_measured_are_not_compared(self):
        self.assertTrue(rows.comparable(PROVENANCE, PROVENANCE | {"load": 3.0}))
        self.assertFalse(rows.comparable(PROVENANCE, PROVENANCE | {"processor": "Q"}))
        self.assertFalse(rows.comparable(PROVENANCE, {"rate": "1gbit"}))


def point(bandwidth, dense, sparse, pays_below=1.0):
    return Point(f"{bandwidth:g}", bandwidth, dense, sparse, pays_below)


class Crossover(unittest.TestCase):
    def test_it_is_found_over_the_measured_bandwidths(self):
        # Seconds of a step are 1 / bandwidth, and 1 / bandwidth / 100 + 0.01: equal at 99.
        points = [point(b, 1 / b, 0.01 / b + 0.01) for b in (60.0, 90.0, 110.0, 200.0)]
        at, around = crossover.crossover(points)
        self.assertAlmostEqual(at, 99.0, delta=0.5)
        self.assertEqual([p.bytes_per_second for p in around], [90.0, 110.0])

    def test_it_is_in_the_middle_of_two_logarithms_that_are_opposite(self):
        at, _ = crossover.crossover([point(10.0, 2.0, 1.0), point(1000.0, 1.0, 2.0)])
        self.assertAlmostEqual(at, 100.0)

    def test_the_worse_prediction_of_the_two_rates_counts(self):
        figures = crossover.crossover_figures(
            [point(1.0, 9.0, 1.0, 1e9), point(10.0, 2.0, 1.0, 110.0),
             point(1000.0, 1.0, 2.0, 70.0)])
        self.assertAlmostEqual(dict(figures)[crossover.OFF], 30.0)

    def test_a_prediction_on_any_link_where_it_ends_is_missed(self):
        for pays_below in (0.0, math.inf):
            figures = crossover.crossover_figures(
                [point(10.0, 2.0, 1.0, pays_below), point(1000.0, 1.0, 2.0, 100.0)])
            self.assertGreaterEqual(figures[-1][1], 100.0)
            digits(figures[-1][1])

    def test_beyond_all_rates_it_must_be_predicted_at_each_whether_it_pays(self):
        def right(*points):
            what, value = crossover.crossover_figures(points)[-1]
            self.assertEqual(what, crossover.RIGHT)
            return value
        pays, costs = (2.0, 1.0), (1.0, 2.0)
        self.assertEqual(right(point(1.0, *pays, 5.0), point(2.0, *pays, math.inf)), 100.0)
        self.assertEqual(right(point(1.0, *pays, 5.0), point(2.0, *pays, 1.6)), 50.0)
        self.assertEqual(right(point(1.0, *costs, 0.0), point(2.0, *costs, 1.9)), 100.0)
        self.assertEqual(right(point(1.0, *costs, math.inf), point(2.0, *costs, 9.0)), 0.0)

    def test_where_it_pays_and_costs_in_no_order_there_is_nothing_to_predict(self):
        figures = crossover.crossover_figures([point(1.0, 1.0, 2.0), point(2.0, 2.0, 1.0)])
        self.assertEqual(figures, [(crossover.OFF, None)])

    def test_advice_of_any_link_is_infinite(self):
        advices = [{"pays_below_bytes_per_second": value} for value in (3.0, "any", "any")]
        self.assertEqual(crossover.advised({"advices": advices}, "pays_below_bytes_per_second"),
                         math.inf)

    def test_lines_interpolate_over_what_the_trainer_measured(self):
        def row(rate, bandwidth, dense, sparse):
            return PROVENANCE | {
                "rate": rate, "blas": "B",
                "times": {"step": {"sotto none": [dense], "sotto dgc": [sparse]}},
                "advices": [{"bytes_per_second": bandwidth, "pays_below_bytes_per_second": 90e6,
                             "dense_step_seconds": dense, "dgc_step_seconds": sparse}]}
        of_model = [row("10gbit", 1000e6, 1.0, 2.0), row("100mbit", 10e6, 2.0, 1.0)]
        lines = list(crossover.crossover_lines("mlp", of_model))
        by_what = {line["what"]: line for line in lines}
        self.assertAlmostEqual(by_what["dgc pays below"]["value"], 800.0)
        self.assertAlmostEqual(by_what[crossover.OFF]["value"], 10.0)
        self.assertTrue(by_what[crossover.OFF]["met"])
        of_model[0]["processor"] = "Q"
        last = list(crossover.crossover_lines("mlp", of_model))[-1]
        self.assertEqual((last["what"], last["value"], last["asked"]), (crossover.OFF, None, 25.0))


class Losses(unittest.TestCase):
    def lines(self, *above):
        losses = [PROVENANCE | {"steps": 5, "seed": seed, "losses": {
            "DDP": 1.0, "sotto dgc": 1.0 + percent / 100}}
                  for seed, percent in enumerate(above)]
        return list(end_to_end.loss_lines(losses))

    def test_the_mean_is_judged_and_the_worst_is_bounded(self):
        self.assertEqual([line["met"] for line in self.lines(0.9, 0.9, 0.9)], [True, True])
        self.assertEqual([line["met"] for line in self.lines(1.1, 1.1, 1.1)], [False, True])
        self.assertEqual([line["met"] for line in self.lines(5.0, -1.0, -1.5)], [True, False])

    def test_without_all_seeds_there_is_no_figure(self):
        rest = {"steps": 5, "seed": 1}
        losses = [PROVENANCE | rest | {"losses": {"DDP": 1.0, "sotto dgc": 1.0}}, rest]
        asked = list(end_to_end.loss_lines(losses))
        self.assertEqual([(line["value"], line["asked"]) for line in asked],
                         [(None, 1.0), (None, 2.0)])

    def test_programs_must_agree_in_kernels_and_first_losses(self):
        def record(contestant, blas="B", losses=(2.0, 1.0)):
            return {"contestant": contestant, "blas": blas, "losses": list(losses)}
        agreement = end_to_end.Agreement()
        agreement.add(record("sotto none"))
        agreement.add(record("DDP", losses=(2.0, 1.0005)))
        agreement.add(record("sotto dgc", losses=(2.0, 7.0)))
        self.assertEqual(agreement.found()["blas"], "B")
        with self.assertRaisesRegex(SystemExit, "first losses differ"):
            agreement.add(record("DDP", losses=(2.0, 1.002)))
        with self.assertRaisesRegex(SystemExit, "OpenBLAS computes as B and as C"):
            agreement.add(record("sotto dgc", blas="C"))


class Simulated(unittest.TestCase):
    def lines(self, dense, dgc):
        """What came of predictions of so many seconds where 1 s each was measured."""
        row = PROVENANCE | {
            "rate": "1gbit", "weights": 1,
            "times": {"1gbit 4": {simulated.DENSE: [1.0], simulated.DGC: [1.0]},
                      "loopback 4": {simulated.DENSE: [9.0], simulated.DGC: [9.0]}},
            "simulated": {simulated.DENSE: {"exchange": "dense", "seconds": dense,
                                            "with_vote": 9.0},
                          simulated.DGC: {"exchange": "dgc", "seconds": 9.0, "with_vote": dgc}}}
        return [line["met"] for line in simulated.simulated_lines({"2 ranks": row})
                if line and line["asked"]]

    def test_a_prediction_may_be_off_by_15_percent_either_way(self):
        self.assertEqual(self.lines(1.14, 0.86), [True, True])
        self.assertEqual(self.lines(0.84, 1.16), [False, False])

    def test_the_slowest_rank_of_each_round_is_what_is_charged(self):
        records = [{"compressing": [1.0, 5.0, 3.0]}, {"compressing": [2.0, 4.0, 2.5]}]
        self.assertEqual(simulated.slowest(records, "compressing"), 3.0)


class Sections(unittest.TestCase):
    def test_what_is_asked_stays_in_the_table_without_a_single_row(self):
        asked = {}
        for name, section in network.SECTIONS.items():
            lines = [line for line in section.lines(declared()[name]) if line]
            self.assertTrue(all(line["value"] is None for line in lines), name)
            asked[name] = len([line for line in lines if line["asked"] is not None])
        self.assertEqual(asked, {"loopback": 2 * (2 + 5 + 2), "wire": 4, "dgc": 2 + 1 + 1, "gossip": 1,
                                 "simulated": 2 * 2 + 2,
                                 "end_to_end": 4 + 2 + 2 + 5, "libtorch": 2, "detection": 6 * 10,
                                 "backpressure": 2,
                                 "server": 2 * (2 + 2)})

    def test_names_of_rows_are_names_of_results_with_the_rate_in_them(self):
        for section, found in declared("--rate", "100mbit").items():
            names = {network.run_name(section, name) for name in found}
            self.assertEqual(len(names), len(found))
            if section == "wire":
                self.assertTrue(all("100mbit" in name for name in names))

    def test_a_row_of_other_options_is_not_taken_for_what_is_asked(self):
        with tempfile.TemporaryDirectory() as folder:
            here, store = options(), Store(pathlib.Path(folder) / "network.jsonl")
            row = rows.Row("mlp, 1gbit", {"rate": "1gbit", "steps": 30}, None)
            store.put(network.run_name("end_to_end", row.name),
                      PROVENANCE | {"rate": "1gbit", "steps": 4.0})
            with contextlib.redirect_stderr(io.StringIO()) as said:
                self.assertIsNone(network.read(store, here, "end_to_end", row))
                same = row._replace(about={"rate": "1gbit", "steps": 4})
                self.assertEqual(network.read(store, here, "end_to_end", same)["commit"], "c0ffee")
                here.quick = True
                self.assertIsNone(network.read(store, here, "end_to_end", same))
            self.assertEqual(said.getvalue().count("other options"), 2)

    def test_facts_of_rows_are_the_same_after_they_were_stored(self):
        for found in declared().values():
            for name, about in found.items():
                self.assertTrue(rows.is_of(json.loads(json.dumps(about)), about), name)

    def test_memory_is_bounded_from_the_first_message_on(self):
        row = PROVENANCE | {"seconds": 60, "budget": 100, "at_first": 10, "before": 200,
                            "most": 200, "sent_meanwhile": 0}
        first = next(backpressure.backpressure_lines({"messages": row}))
        self.assertFalse(first["met"])

    def test_a_command_says_where_data_come_from_and_what_it_depends_on(self):
        here = options("--steps", "7", "--rate", "100mbit", "--results", "/home/somebody/results.jsonl")
        with unittest.mock.patch.dict(os.environ, {"OPENBLAS_CORETYPE": "ZEN"}):
            self.assertEqual(network.command_of(here, "end_to_end"),
                             "SOTTO_DATA=FOLDER OPENBLAS_CORETYPE=ZEN bench/network/network.py "
                             "--sections end_to_end --rounds 5 --steps 7")
        self.assertEqual(network.command_of(here),
                         "bench/network/network.py --table --rate 100mbit --steps 7 --trials 100")


class Table(unittest.TestCase):
    def section(self, asked):
        """Of rows that hold a value, or nothing yet."""
        def lines(found):
            for name, row in found.items():
                yield rows.line(name, "case", "what", row.get("value"), asked)
        return network.Section("About.", None, lines)

    def written(self, stored):
        with tempfile.TemporaryDirectory() as folder:
            target = pathlib.Path(folder) / "results" / "network.md"
            sections = {name: self.section(1.0) for name in stored}
            others = table.write(target, sections, stored, "network.py --table")
            return others, target.read_text()

    def test_what_was_not_measured_is_counted_and_named(self):
        row = PROVENANCE | {"value": 2.0}
        others, text = self.written({"one": {"a": row, "b": row | {"value": 0.5}, "c": {}},
                                     "two": {"d": {}}})
        self.assertEqual(others, 3)
        self.assertIn("Of the 4 figures for which something is asked 1 are as asked, 1 are not, "
                      "and 2 were not measured.", text)
        self.assertIn("| one | b | case | what | 0.500 | >= 1 |", text)
        self.assertIn("| one | c | case | what | not measured | >= 1 |", text)
        self.assertIn("| two | d | case | what | not measured | >= 1 |", text)
        self.assertNotIn("## two", text)

    def test_a_row_that_has_none_of_its_figures_is_one_line(self):
        def lines(found):
            for case in range(4):
                yield rows.line("a", case, "what", None, 1.0)
        text, others = table.summary({"one": list(lines({}))})
        self.assertEqual(others, 4)
        self.assertIn("| one | a | 4 figures | | not measured | |", text)

    def test_every_row_says_when_and_of_which_commit_and_under_which_load(self):
        row = PROVENANCE | {"value": 2.0}
        _, text = self.written({"one": {"a": row, "b": row | {"load": 1.5, "commit": "beef"}}})
        self.assertIn("| a | 2020-01-02 | 0.25 | c0ffee |\n| b | 2020-01-02 | 1.50 | beef |", text)
        self.assertIn("```\nnetwork.py\nnetwork.py --table\n```", text)

    def test_machines_that_are_mixed_are_shown_for_each_row(self):
        row = PROVENANCE | {"value": 2.0}
        _, alone = self.written({"one": {"a": row}})
        self.assertNotIn("machine", alone)
        _, text = self.written({"one": {"a": row, "b": row | {"processor": "Q"}}})
        self.assertIn("1. P, 2 cores, Linux 6.1. none.\n2. Q, 2 cores, Linux 6.1. none.", text)
        self.assertIn("| a | 2020-01-02 | 0.25 | c0ffee | 1 |\n"
                      "| b | 2020-01-02 | 0.25 | c0ffee | 2 |", text)

    def test_nothing_measured_makes_no_table(self):
        with self.assertRaisesRegex(SystemExit, "no results"):
            self.written({"one": {"a": {}}})

    def test_three_digits_without_an_exponent(self):
        self.assertEqual([digits(value) for value in (0, 0.1234, 1.234, 123.4, math.inf)],
                         ["0", "0.123", "1.23", "123", "inf"])


if __name__ == "__main__":
    unittest.main()
