"""Runs of the carried example by the package trinity_go, with the binary that is in PATH."""

import asyncio
import contextlib
import io
import json
import os
import signal
import tempfile
import threading
import traceback
import unittest
import urllib.request
from pathlib import Path

from trinity_go import GRPO, SFT, Error, serve

ROWS = [{"question": f"Kate keeps {n} ribbons at home. Will takes 5 of them. What is the number of ribbons now?",
         "answer": str(n - 5)} for n in range(6, 22)]
MODEL = "examples/tiny/model"


class Runs(unittest.TestCase):
    def setUp(self):
        signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background of a shell ignores it
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name, "of", "project", "first")

    def grpo(self, reward, steps=2, **more):
        return GRPO(MODEL, ROWS, reward, folder=self.folder, batch=2, samples=4, steps=steps, lr=5e-4, max_prompt=128,
                    max_response=30, **more)

    def train(self, run):
        with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(io.StringIO()):
            run.train()
        return out.getvalue()

    def test_closure(self):
        """A closure grades, on this thread; what it prints comes here; the run continues, and talks."""
        seen, here = [], threading.current_thread()

        def right(completion, answer, bonus=0.5):
            seen.append((answer, threading.current_thread() is here, bonus))
            print("graded", answer)
            return {"right": float(f">{answer}<" in completion), "bonus": bonus}

        run = self.grpo(right, eval=ROWS[:2])
        out = self.train(run)
        self.assertIn("graded 2", out)
        self.assertIn("step 2/2", out)
        self.assertEqual(len(seen), 2 * 2 * 4 + 2 * 2 * 4)
        self.assertTrue(all(x[1:] == (True, 0.5) for x in seen))
        self.assertEqual([m["step"] for m in run.metrics], [0, 1, 2])
        sample = run.samples(1)[0]
        self.assertEqual(sorted(sample["reward_parts"]), ["bonus", "right"])
        self.assertEqual(len(run.samples(2, "held-out")), 8)
        self.assertIn("<answer>", run.chat(ROWS[0]["question"], max_tokens=50))
        graded = len(seen)
        again = self.train(self.grpo(right, steps=3, eval=ROWS[:2]))  # two steps are there, and the third is not
        self.assertNotIn("step 2/3", again)
        self.assertEqual(len(seen), graded + 2 * 4 + 2 * 4)
        self.assertTrue(run.export(self.folder / "merged").joinpath("model.safetensors").exists())

    def test_same_bits(self):
        """A function of this process gives the metrics of the same function in a file."""
        def reward(completions, answer, **columns):
            return [float(f">{a}<" in c) for c, a in zip(completions, answer)]

        first = self.grpo(reward)
        self.train(first)
        file = Path(self.folder.parent, "mine.py")
        file.write_text("def reward(completion, answer):\n    return float(f'>{answer}<' in completion)\n")
        self.folder = self.folder.with_name("second")
        second = self.grpo(f"{file}:reward")
        self.train(second)
        keys = ("critic/rewards/mean", "actor/pg_loss", "grad_norm")
        self.assertEqual(*([{k: m[k] for k in keys} for m in run.metrics] for run in (first, second)))

    def test_async(self):
        """Coroutines run beside each other, and several functions add up."""
        at_once = [0, 0]

        async def waits(completion):
            at_once[0] += 1
            at_once[1] = max(at_once)
            await asyncio.sleep(0.01)
            at_once[0] -= 1
            return 1.0

        run = self.grpo([waits, lambda completion: -0.01 * len(completion)], steps=1)
        self.train(run)
        self.assertEqual(sorted(run.samples(1)[0]["reward_parts"]), ["lambda", "waits"])
        self.assertGreater(at_once[1], 1)

    def test_exception(self):
        """What the function raises is raised here, with its frames, after the run has ended; then the run continues."""
        calls = []

        def fails(completion, answer):
            calls.append(1)
            if len(calls) == 12:
                return {}["no such key"]
            return 0.5

        try:
            self.train(self.grpo(fails))
            self.fail("nothing was raised")
        except KeyError as e:
            self.assertEqual(traceback.extract_tb(e.__traceback__)[-1].name, "fails")
        self.assertIn("step 2/2", self.train(self.grpo(fails)))

    @unittest.skipIf(os.name == "nt", "os.kill sends no Ctrl-C to this process there")
    def test_interrupt(self):
        """Ctrl-C in a function finishes the step and saves; the same call continues."""
        calls = []

        def reward(completion):
            calls.append(1)
            if len(calls) == 12:
                os.kill(os.getpid(), signal.SIGINT)
            return float(len(completion))

        with self.assertRaises(KeyboardInterrupt):
            self.train(self.grpo(reward, steps=50))
        done = self.grpo(reward).metrics[-1]["step"]
        self.assertLess(done, 50)
        self.assertTrue((self.folder / f"global_step_{done}").exists())
        self.assertIn(f"step {done + 1}/{done + 1}", self.train(self.grpo(reward, steps=done + 1)))

    def test_errors(self):
        """Errors are the binary's, and say what to change."""
        def reward(completion):
            return 0.0

        with self.assertRaisesRegex(Error, "repeat_tims"):
            self.train(self.grpo(reward, overrides={"algorithm.repeat_tims": 8}))
        with self.assertRaisesRegex(ValueError, "begins? with /|one line"):
            self.grpo(reward).chat("two\nlines")
        with self.assertRaisesRegex(TypeError, "lambda returned .* is a number"):
            self.train(self.grpo(lambda completion: object()))
        with self.assertRaisesRegex(ValueError, "two reward functions"):
            self.grpo([reward, reward])
        with self.assertRaisesRegex(Error, "no such|not there|does not exist|not a"):
            self.train(GRPO("no/such/model", ROWS, reward, folder=self.folder, overrides={"model.tinker.rank": 8}))
        self.assertIn("rank: 8\n", self.grpo(reward, overrides={"model.tinker.rank": 8}).yaml())
        self.train(self.grpo(reward, steps=1))
        with self.assertRaisesRegex(Error, "name another folder"):
            GRPO(MODEL, ROWS[1:], reward, folder=self.folder).train()

    def test_sft(self):
        rows = [{"prompt": r["question"], "response": f"<answer>{r['answer']}</answer>"} for r in ROWS]
        run = SFT(MODEL, rows, folder=self.folder, steps=4, batch=4, lr=1e-3, max_prompt=128, max_response=50)
        self.train(run)
        self.assertEqual(run.metrics[-1]["step"], 4)

    def test_serve(self):
        before = os.environ.get("TINKER_BASE_URL")
        with serve() as server:
            self.assertEqual(os.environ["TINKER_BASE_URL"], server.url)
            with urllib.request.urlopen(server.url + "/v1/models") as answer:
                self.assertTrue(json.load(answer)["data"])
        self.assertEqual(os.environ.get("TINKER_BASE_URL"), before)
        with self.assertRaisesRegex(Error, "no/such"):
            with serve("no/such/folder"):
                pass


if __name__ == "__main__":
    unittest.main()
