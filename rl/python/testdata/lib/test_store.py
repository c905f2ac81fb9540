"""The store of recorded experiences, and the merger of the calls of a conversation."""

import unittest

from trinity.buffer.store import ExperienceUpdate, MemoryStore, get_record_key, parse_record_key
from trinity.common.experience import EID, Experience
from trinity.common.models.recording.merger import MAX_HEADS_PER_STREAM, PrefixExperienceMerger


def call(name, tokens, prompt, key="b/0/0", **more):
    batch, task, run = parse_record_key(key)
    return Experience(tokens=tokens, prompt_length=prompt, logprobs=[-1.0] * (len(tokens) - prompt),
                      eid=EID(batch, task, run, 0, name), **more)


class Store(unittest.TestCase):
    def test_keys(self):
        self.assertEqual(parse_record_key("0/eval/1/2"), ("0/eval", "1", 2))
        for wrong in ("a/b", "a//1", "a/b/c", ""):
            with self.assertRaises(ValueError):
                parse_record_key(wrong)
        self.assertEqual(get_record_key(call("s", [1, 2], 1)), "b/0/0")
        self.assertEqual(get_record_key(Experience(tokens=[1, 2], eid=EID(suffix="s"))), "s")

    def test_prefixes(self):
        s = MemoryStore()
        for i, key in enumerate(["b/0/0", "b/0/1", "b/1/0", "0/eval/1/0"]):
            s.add(key, [call(f"s{i}", [1, 2], 1, key)])
        for key, n in {"": 4, "b": 3, "b/0": 2, "b/0/1": 1, "0/eval": 1, "0/eval/1": 1, "0": 0, "c": 0}.items():
            self.assertEqual(len(s.get(key)), n, key)
        self.assertEqual([e.eid.suffix for e in s.remove("b/0")], ["s0", "s1"])
        self.assertEqual((len(s), s.keys()), (2, ["b/1/0", "0/eval/1/0"]))
        s.add("b/0/0", [call("s0", [1, 2], 1)])  # the name is free again

    def test_names(self):
        s = MemoryStore()
        s.add("b/0/0", [call("s", [1, 2], 1)])
        for key in ("b/0/0", "b/0/1"):
            with self.assertRaisesRegex(ValueError, "s is already under the key b/0/0"):
                s.add(key, [call("s", [1, 2], 1)])
        s.overwrite("b/0/0", [call("s", [1, 2, 3], 1), call("t", [1, 2], 1)])
        s.replace("b/0/0", "s", call("u", [1, 2], 1))
        self.assertEqual([e.eid.suffix for e in s.get("b/0/0")], ["u", "t"])
        with self.assertRaises(ValueError):
            s.replace("b/0/0", "u", call("t", [1, 2], 1))
        for key, name in (("b/0/0", "s"), ("b/0/9", "u")):
            with self.assertRaises(KeyError):
                s.replace(key, name, call("v", [1, 2], 1))

    def test_update(self):
        s = MemoryStore()
        s.add("b/0/0", [call("s", [1, 2], 1, info={"a": 1}), call("t", [1, 2], 1)])
        s.update("b/0/0", ExperienceUpdate(reward=.5, info={"b": 2}), None)
        s.update("b/0/0", ExperienceUpdate(reward=1.0), ["t"])
        self.assertEqual([(e.reward, e.info) for e in s.get("b")], [(.5, {"a": 1, "b": 2}), (1.0, {"b": 2})])
        for key, names in (("b/0/1", None), ("b/0/0", ["s", "no"])):
            with self.assertRaises(KeyError):
                s.update(key, ExperienceUpdate(reward=9.0), names)
        self.assertEqual(s.get("b")[0].reward, .5, "a wrong name changes nothing")

    def test_blocked(self):
        s = MemoryStore()
        s.block_prefix("b")
        s.add("b/0/0", [call("s", [1, 2], 1)])
        self.assertTrue(s.is_prefix_blocked("b") and not len(s))


class Merger(unittest.TestCase):
    def feed(self, *calls):
        store = MemoryStore()
        merger = PrefixExperienceMerger(store)
        for c in calls:
            if not merger.try_merge("b/0/0", c):
                store.add("b/0/0", [c])
                merger.remember("b/0/0", c)
        return store.get("b/0/0")

    def test_chain(self):
        one, = self.feed(call("x", [1, 2, 3], 2), call("y", [1, 2, 3, 9, 4, 5], 4), call("z", [1, 2, 3, 9, 4, 5, 6], 6))
        self.assertEqual(one.tokens.tolist(), [1, 2, 3, 9, 4, 5, 6])
        self.assertEqual((one.prompt_length, one.eid.suffix), (2, "z"))
        self.assertEqual(one.action_mask.tolist(), [True, False, True, True, True])
        self.assertEqual(one.logprobs.tolist(), [-1, 0, -1, -1, -1])
        self.assertEqual(one.info, {"merged_eid_suffixes": ["x", "y", "z"], "merged_sample_ids": ["x", "y", "z"],
                                    "merged_turn_count": 3})

    def test_branches(self):
        got = self.feed(call("x", [1, 2], 1), call("y", [1, 2, 3, 4], 3), call("a", [1, 7], 1), call("z", [1, 7, 3, 4], 2),
                        call("w", [1, 2, 3, 4, 5], 3))
        self.assertEqual([(e.eid.suffix, len(e.tokens)) for e in got], [("y", 4), ("z", 4), ("w", 5)],
                         "w's prompt ends within y's answer")

    def test_streams(self):
        got = self.feed(call("x", [1, 2], 1, info={"sample_index": 0}), call("y", [1, 2, 3, 4], 3, info={"sample_index": 1}))
        self.assertEqual([e.eid.suffix for e in got], ["x", "y"])

    def test_longest(self):
        got = self.feed(call("x", [1, 2], 1), call("y", [1, 2, 3], 1), call("z", [1, 2, 3, 4], 3))
        self.assertEqual([(e.eid.suffix, e.info.get("merged_sample_ids")) for e in got], [("x", None), ("z", ["y", "z"])])

    def test_most(self):
        many = [call(f"s{i}", [1, 100 + i, 2], 1) for i in range(MAX_HEADS_PER_STREAM + 1)]
        got = self.feed(*many, call("u", [1, 101, 2, 3, 4], 4), call("t", [1, 100, 2, 3, 4], 4))
        self.assertEqual([e.eid.suffix for e in got if len(e.tokens) == 5], ["u", "t"], "s0 was forgotten, s1 was not")
