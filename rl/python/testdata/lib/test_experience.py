"""Experiences as Trinity-RFT 0.6.0 has them. trxp.b64 is what its Experience.serialize_many writes for made()."""

import base64
import dataclasses
import os
import sys
import types
import unittest

from trinity.common import experience as x
from trinity.common.experience import EID, CustomField, Experience


def made():
    return [
        Experience(tokens=[1, 2, 3], prompt_length=1, logprobs=[-.5, -1.], reward=1.0, info={"a": 1, "n": {"x": [1, 2.5]}},
                   metrics={"m": .5}, eid=EID("b", 2, 3, 4, "abc123"), response_text="ä",
                   messages=[{"role": "user", "content": "hi"}]),
        Experience(tokens=[5, 6, 7, 8], prompt_length=2, logprobs=[-.25, 0.], action_mask=[True, False], advantages=[1., 2.],
                   returns=[3., 4.], token_level_reward=[0., 1.], teacher_logprobs=[-1., -2.], eid=EID(1, 0, 0, 0, "ffffff"),
                   truncate_status="response_truncated", custom_fields=[CustomField("a", "b", "torch.float32")]),
        Experience(tokens=[5, 6], chosen=[1, 2], rejected=[3], eid=EID(1, 0, 0, 0, "fffff0"), chosen_messages=[{"a": 1}],
                   rejected_messages=[{"b": 1}]),
    ]


def upstream():
    with open(os.path.join(os.path.dirname(__file__), "trxp.b64")) as f:
        return base64.b64decode(f.read())


def plain(e):
    return x._plain(dataclasses.asdict(e))


class Bytes(unittest.TestCase):
    def test_reads(self):
        got = Experience.deserialize_many(upstream())
        self.assertEqual([plain(e) for e in got], [plain(e) for e in made()])
        self.assertEqual([e.experience_type for e in got], ["multi_turn", "multi_turn", "dpo"])
        self.assertEqual(str(got[0].tokens.dtype), "trinity.int32")

    def test_writes(self):
        head = len(b"TRXP") + 17
        ours, theirs = Experience.serialize_many(made()), upstream()
        self.assertEqual(ours[:5], theirs[:5])
        self.assertEqual(ours[ours.index(b'{"'):], theirs[theirs.index(b'{"'):], "the tensors")
        meta = int.from_bytes(theirs[5:13], "little")
        if sys.version_info[:2] == (3, 11):  # pickles of other versions may differ in their bytes
            self.assertEqual(ours[: head + meta], theirs[: head + meta])

    def test_single(self):
        one = made()[1]
        self.assertEqual(plain(Experience.deserialize(one.serialize())), plain(one))
        with self.assertRaisesRegex(ValueError, "deserialize_many"):
            Experience.deserialize(upstream())
        with self.assertRaisesRegex(ValueError, "version 2; this program reads version 1"):
            Experience.deserialize(b"TRXP\x02" + bytes(16))

    def test_needs_torch(self):
        one = made()[0]
        one.routed_experts = [[[1]], [[2]]]
        with self.assertRaisesRegex(ImportError, "0:routed_experts cannot be written without torch"):
            one.serialize()


class DataClass(unittest.TestCase):
    def test_fields(self):
        names = [f.name for f in dataclasses.fields(Experience)]
        self.assertEqual((len(names), names[:4], names[-1]), (24, ["eid", "tokens", "prompt_length", "logprobs"],
                                                             "custom_fields"))
        one = made()[0]
        other = dataclasses.replace(one, reward=.25)
        self.assertEqual({**plain(one), "reward": .25}, plain(other))
        self.assertEqual(plain(Experience(**dataclasses.asdict(one))), plain(one))
        self.assertTrue(one != other and one in [one], "experiences are equal if they are the same")
        with self.assertRaisesRegex(TypeError, "has no rewrad"):
            Experience(tokens=[1, 2], rewrad=1)

    def test_data_set(self):
        rows = []
        self.addCleanup(sys.modules.pop, "datasets", None)
        sys.modules["datasets"] = types.SimpleNamespace(Dataset=types.SimpleNamespace(from_list=rows.extend))
        x.to_hf_datasets(made())
        back = x.from_hf_datasets(types.SimpleNamespace(to_list=lambda: rows))
        self.assertEqual([plain(e) for e in back], [plain(e) for e in made()])
