"""The statistics of trinity.utils.metrics. The numbers of a task are numpy's; monitor/testdata has more of them."""

import json
import os
import unittest

from trinity.utils import metrics as m

RUNS = [{"reward": 1, "tokens:sum": 3, "ver:last": 1, "peak:max": 5, "low:min": 2, "odd:foo": 1, "text": "x"},
        {"reward": 0, "tokens:sum": 4, "ver:last": 2, "peak:max": 4, "low:min": 1, "odd:foo": 3}]


class Metrics(unittest.TestCase):
    def test_keys(self):
        for key, want in {"reward": ("reward", "mean"), "a/b:sum": ("a/b", "sum"), "a:b:last": ("a:b", "last"),
                          "a:mean": ("a", "mean"), "a:foo": ("a:foo", "mean"), ":max": ("", "max")}.items():
            self.assertEqual(m.parse_metric_key(key), (want[0], m.AggType(want[1])))

    def test_batch(self):
        got = m.aggregate_metrics(RUNS, "rollout")
        want = {"reward/mean": .5, "reward/max": 1, "reward/min": 0, "tokens/sum": 7, "ver/last": 2, "peak/max": 5,
                "low/min": 1, "odd:foo/mean": 2, "odd:foo/max": 3, "odd:foo/min": 1}
        self.assertEqual(got, {f"rollout/{k}": v for k, v in want.items()})
        self.assertEqual(m.aggregate_metrics([]), {})
        self.assertEqual(m.aggregate_metrics([{"a": 1}, {"a": 3}], "", ["std", "median"]), {"a/std": 1})

    def test_groups(self):
        rows = [{"a": 1, "b:sum": 2, "t": "x"}, {"a:mean": 3, "b:sum": True}]
        self.assertEqual(m.group_numeric_metrics(rows), {("a", m.AggType.MEAN): [1, 3], ("b", m.AggType.SUM): [2, 1]})
        self.assertEqual(m.group_metrics_by_canonical_key(rows),
                         {"a": (m.AggType.MEAN, [1, 3]), "b:sum": (m.AggType.SUM, [2, 1])})
        self.assertEqual({a: f([3, 5, 4]) for a, f in m.AGG_REDUCERS.items()},
                         {m.AggType.SUM: 12, m.AggType.MAX: 5, m.AggType.MIN: 3, m.AggType.LAST: 4})
        self.assertEqual(m.STAT_FNS["std"]([1, 3]), 1)

    def test_evaluation(self):
        self.assertEqual(m.aggregate_eval_metrics([{"a": .5, "n:sum": 1}, {"a": 1, "n:sum": 2}], "eval/x"),
                         {"eval/x/a": .75, "eval/x/n/sum": 3})
        self.assertEqual(m.aggregate_eval_metrics([{"a": .5}, {"a": 1}], "e", detailed_stats=True),
                         {"e/a/mean": .75, "e/a/max": 1, "e/a/min": .5, "e/a/std": .25})

    def test_run(self):
        want = {"reward": .5, "tokens:sum": 7, "ver:last": 2, "peak:max": 5, "low:min": 1, "odd:foo": 2}
        self.assertEqual(m.aggregate_run_level_metrics(RUNS), want)
        self.assertEqual(m.calculate_task_level_metrics(RUNS, is_eval=False), want)

    def test_task(self):
        got = m.calculate_task_level_metrics([{"accuracy": v, "n:sum": 1, "time/run_execution": 2} for v in (1, 0, 0, 1)], True)
        self.assertEqual(got, {"accuracy/mean@4": .5, "accuracy/std@4": .5, "accuracy/best@2": .738, "accuracy/worst@2": .278,
                               "accuracy/best@4": .926, "accuracy/worst@4": .082, "n:sum": 4, "time/run_execution": 2})

    def test_numpy(self):
        with open(os.path.join(os.environ["MONITOR_TESTDATA"], "bootstrap.json")) as f:
            cases = json.load(f)
        self.assertGreater(len(cases), 2)
        for case in cases:
            got = m.calculate_task_level_metrics([{"a": v} for v in case["values"]], True)
            self.assertEqual(got.keys(), {f"a/{k}" for k in case["want"]})
            for key, want in case["want"].items():
                self.assertAlmostEqual(got[f"a/{key}"], want, 12)
