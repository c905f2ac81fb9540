"""Configurations, files and small things that plug-in files import."""

import asyncio
import dataclasses
import json
import logging
import os
import sys
import tempfile
import types
import unittest

from trinity import __version__, buffer
from trinity.common import config as c
from trinity.common.constants import SaveStrategy, SyncMethodEnumMeta, SyncStyle
from trinity.common.rewards import dapo_reward, naive_dapo_score, qwen25_eval
from trinity.common.workflows.workflow import Status, Task
from trinity.utils.log import NewLineFormatter
from trinity.utils.timer import Timer


class Configuration(unittest.TestCase):
    def test_defaults(self):
        whole = c.Config()
        self.assertEqual(len(whole.flatten()), 230)
        self.assertEqual((whole.buffer.trainer_input.auxiliary_buffers, whole.explorer.rollout_model.engine_type,
                          whole.trainer.save_strategy), ({}, "vllm", SaveStrategy.UNRESTRICTED))
        whole.algorithm.optimizer.betas.append(1)
        self.assertEqual(c.Config().algorithm.optimizer.betas, [0.9, 0.999])
        self.assertEqual(c.asked({"model_path": "m"}).engine_type, "trinity")
        self.assertIsInstance(c.TasksetConfig(path="p").to_storage_config(), c.StorageConfig)

    def test_structured(self):
        got = c.structured(c.Config, {"buffer": {"explorer_input": {"taskset": {"path": "p", "format": {"prompt_key": "q"}}}},
                                      "synchronizer": {"sync_style": "dynamic_by_trainer"}, "algorithm": {"repeat_times": "4"},
                                      "stages": [{"stage_name": "a", "mode": "train"}]})
        self.assertEqual(got.buffer.explorer_input.taskset.to_storage_config().format.prompt_key, "q")
        self.assertEqual((got.synchronizer.sync_style, got.algorithm.repeat_times), (SyncStyle.TRAINER_DRIVEN, 4))
        self.assertEqual([(s.name, s.mode, s.stages) for s in got], [("rft/a", "train", [])])
        for wrong, want in (({"buffer": {"batchsize": 1}}, "buffer.batchsize is not a key of BufferConfig"),
                            ({"buffer": 3}, "buffer is 3; it must have keys"),
                            ({"buffer": {"batch_size": True}}, "buffer.batch_size is True; it must be int")):
            with self.assertRaisesRegex(ValueError, want):
                c.structured(c.Config, wrong)

    def test_load(self):
        stand_in = types.SimpleNamespace(safe_load=json.loads, safe_dump=lambda v, f, sort_keys: json.dump(v, f))
        self.addCleanup(sys.modules.__setitem__, "yaml", sys.modules.get("yaml"))
        sys.modules["yaml"] = stand_in
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "a.yaml")
            c.Config(name="mine").save(path)
            self.assertEqual(c.load_config(path), c.Config(name="mine"))
            with open(path, "w") as f:
                f.write('{"nam": 1}')
            with self.assertRaisesRegex(ValueError, "Invalid configuration: .*nam is not a key of Config"):
                c.load_config(path)


class Files(unittest.TestCase):
    def test_write_and_read(self):
        with tempfile.TemporaryDirectory() as folder:
            at = c.TasksetConfig(path=os.path.join(folder, "new", "train.jsonl"), total_epochs=2, batch_size=2)

            async def there_and_back():
                writer = buffer.get_buffer_writer(at)
                await writer.acquire()
                await writer.write([{"prompt": "a"}, {"prompt": "b"}, Task(raw_task={"prompt": "c"})])
                await writer.release()
                reader, got = buffer.get_buffer_reader(at), []
                try:
                    while True:
                        got.append([t.task_desc for t in await reader.read()])
                except StopAsyncIteration:
                    return len(reader), got, reader.state_dict()

            self.assertEqual(asyncio.run(there_and_back()), (3, [["a", "b"], ["c", "a"], ["b", "c"]], {"current_index": 6}))
        for kind, what in (("queue", buffer.get_buffer_writer), ("sql", buffer.get_buffer_reader)):
            with self.assertRaisesRegex(ImportError, "trinity binary"):
                what(c.ExperienceBufferConfig(storage_type=kind))


class Small(unittest.TestCase):
    def test_task(self):
        self.assertEqual(Task(batch_id="0/eval", task_id=3, run_id=1).api_key, "0/eval/3/1")
        with self.assertRaises(ValueError):
            Task(batch_id="b", task_id=3, run_id=None).api_key
        self.assertFalse(Status(1, 2, []).ok)

    def test_timer(self):
        seconds = {"t": 100}
        with Timer(seconds, key_name="t"):
            pass
        self.assertLess(seconds["t"], 100)

    def test_lines(self):
        record = logging.LogRecord("n", logging.INFO, "f", 1, "a\nb", (), None)
        self.assertEqual(NewLineFormatter("%(levelname)s %(message)s").format(record), "INFO a\r\nINFO b")

    def test_graders(self):
        n = naive_dapo_score
        self.assertEqual(n.match_answer(r"\boxed{1}</think> so \boxed{\frac{1}{2}}."), (True, r"\frac{1}{2}"))
        self.assertEqual(n.match_answer("so 3"), (False, "so 3"))
        self.assertEqual(n.split_tuple("(1,000, 2)"), ["1000", "2"])
        self.assertEqual(n.normalize_final_answer("x = 3,000 dollars"), "3000")
        self.assertEqual(qwen25_eval.fix_sqrt(r"\sqrt2"), r"\sqrt{2}")
        self.assertTrue(qwen25_eval.numeric_equal(1.00005, 1))
        long = dapo_reward.MathDAPORewardFn(True, 2.0, 10, 4)
        self.assertEqual([long.compute_overlong_penalty([0] * k) for k in (5, 6, 8, 10, 11)], [0, 0, -1, -2, -2])

    def test_names(self):
        self.assertEqual((__version__, SyncMethodEnumMeta.name_aliases["online"]), ("0.6.0", "nccl"))
        self.assertTrue(dataclasses.is_dataclass(c.InferenceModelConfig))
        with self.assertRaisesRegex(ImportError, "trinity.buffer.writer"):
            from trinity.buffer.writer.sql_writer import SQLWriter  # noqa: F401


if __name__ == "__main__":
    unittest.main()
