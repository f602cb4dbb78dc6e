"""The store of results of bench/common: files of JSON lines."""

import concurrent.futures
import contextlib
import io
import json
import math
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "bench"))

from common.store import Store  # noqa: E402


class Stores(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = pathlib.Path(folder.name) / "study" / "results.jsonl"

    def opened(self):
        """A store of the file as it is now, and what that printed to stderr."""
        with contextlib.redirect_stderr(io.StringIO()) as said:
            return Store(self.path), said.getvalue()

    def write(self, text):
        self.path.parent.mkdir(exist_ok=True)
        self.path.write_text(text)

    def test_results_are_the_same_after_they_were_stored(self):
        results = {"object": {"b": [0.1 + 0.2, 1e-310, -0.0, 5e300, 1.0, 3], "a": {"ü": None, "x": True}},
                   "list": [1, 2.5], "text": "t", "none": None, "named": {"name": "own", "x": 1},
                   "wrapped": {"result": 7}, "empty": {}}
        for name, result in results.items():
            Store(self.path).put(name, result)
        store = Store(self.path)
        for name, result in results.items():
            self.assertEqual(json.dumps(store.get(name)), json.dumps(result), name)
        self.assertEqual(store.names(), sorted(results))
        self.assertIsNone(store.get("other"))
        self.assertNotIn("other", store)

    def test_a_line_begins_with_its_name_and_has_no_blanks(self):
        Store(self.path).put("one", {"x": [1, 2.5], "y": "z"})
        self.assertEqual(self.path.read_text(), '{"name":"one","x":[1,2.5],"y":"z"}\n')

    def test_names_and_results_are_chosen_by_patterns_in_their_order(self):
        store = Store(self.path)
        for name, result in (("b_2", 4), ("a_10", 2), ("b_1", 3), ("a_1", 1)):
            store.put(name, result)
        self.assertEqual(store.names("a_*"), ["a_1", "a_10"])
        self.assertEqual(store.results("?_*"), [1, 2, 3, 4])

    def test_a_later_line_wins_and_sorting_leaves_one_line_of_each_name(self):
        store = Store(self.path)
        for name, result in (("b", {"x": 1}), ("a", {"x": 2}), ("b", {"x": 3})):
            store.put(name, result)
        self.assertEqual(len(self.path.read_text().splitlines()), 3)
        self.assertEqual(Store(self.path).get("b"), {"x": 3})
        store.sort()
        self.assertEqual(self.path.read_text(), '{"name":"a","x":2}\n{"name":"b","x":3}\n')

    def test_sorting_keeps_what_another_store_has_put(self):
        store, other = Store(self.path), Store(self.path)
        other.put("b", {})
        store.put("a", {})
        store.sort()
        other.put("c", {})
        self.assertEqual(store.names(), ["a", "b"])
        self.assertEqual(Store(self.path).names(), ["a", "b", "c"])

    def test_a_line_that_was_cut_off_is_dropped_with_a_message(self):
        self.write('{"name":"a","x":1}\n{"name":"b","x"')
        store, said = self.opened()
        self.assertEqual(store.names(), ["a"])
        self.assertIn(f"{self.path}:2: this last line is cut off", said)
        store.put("c", {"x": 3})
        self.assertEqual(self.path.read_text(), '{"name":"a","x":1}\n{"name":"c","x":3}\n')

    def test_a_last_line_that_lacks_only_its_end_counts(self):
        self.write('{"name":"a","x":1}')
        store, said = self.opened()
        self.assertEqual((store.get("a"), said), ({"x": 1}, ""))
        store.put("b", {})
        self.assertEqual(self.path.read_text(), '{"name":"a","x":1}\n{"name":"b"}\n')

    def test_every_other_wrong_line_is_refused_with_its_place(self):
        for wrong in ("x", "", "[1]", '{"x":1}', '{"name":1}', '{"name":"a","x":NaN}', '{"name":"a"'):
            self.write(f'{{"name":"a"}}\n{wrong}\n{{"name":"b"}}\n')
            with self.assertRaisesRegex(SystemExit, 'results.jsonl:2: expected a JSON object .*"name"'):
                Store(self.path)

    def test_what_is_not_finite_is_not_stored(self):
        store = Store(self.path)
        for value in (math.inf, math.nan):
            with self.assertRaises(ValueError):
                store.put("a", {"value": value})
        self.assertEqual(store.names(), [])

    def test_a_folder_is_refused(self):
        with self.assertRaisesRegex(SystemExit, "expected a file of JSON lines"):
            Store(self.path.parent.parent)

    def test_threads_put_whole_lines(self):
        store = Store(self.path)
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            list(pool.map(lambda i: store.put(f"{i:03}", {"x": ["y" * 50] * i}), range(200)))
        self.assertEqual(Store(self.path).results(), [{"x": ["y" * 50] * i} for i in range(200)])
        store.sort()
        self.assertEqual(len(self.path.read_text().splitlines()), 200)

    def test_the_command_line_adds_a_result_and_sorts(self):
        source = self.path.parent.parent / "result.json"
        command = [sys.executable, "-B", ROOT / "bench" / "common" / "store.py", "add", self.path]
        for name, text in (("b", '{\n "x": 1\n}\n'), ("a", "[1.5]")):
            source.write_text(text)
            subprocess.run([*command, name, source], check=True)
        self.assertEqual(self.path.read_text(), '{"name":"a","result":[1.5]}\n{"name":"b","x":1}\n')
        source.write_text("{")
        refused = subprocess.run([*command, "c", source], capture_output=True, text=True, check=False)
        self.assertEqual(refused.returncode, 1)
        self.assertIn("result.json: expected one JSON value", refused.stderr)
        self.assertEqual(Store(self.path).names(), ["a", "b"])


if __name__ == "__main__":
    unittest.main()
