"""Experiences: what a workflow returns, and their ids."""

import uuid
from dataclasses import dataclass, field
from typing import Dict, List, Union

from trinity import _array, _missing

__getattr__ = _missing.attribute(__name__)


@dataclass
class EID:
    """The name of an experience. batch, task and suffix are set by the trinity binary; a workflow sets run and step."""

    batch: Union[int, str] = ""
    task: Union[int, str] = ""
    run: int = 0
    step: int = 0
    suffix: str = field(default_factory=lambda: uuid.uuid4().hex[:6])

    @property
    def tid(self):
        return f"{self.batch}/{self.task}"

    @property
    def rid(self):
        return f"{self.tid}/{self.run}"

    @property
    def sid(self):
        return f"{self.tid}/{self.step}"

    @property
    def uid(self):
        return f"{self.rid}/{self.step}/{self.suffix}"

    def __str__(self):
        return self.uid

    def to_dict(self):
        return {"batch": self.batch, "task": self.task, "run": self.run, "step": self.step, "suffix": self.suffix}


@dataclass(frozen=True)
class CustomField:
    """A value of info that the trainer should get. The trainer here reads none; it is kept in info."""

    source_field: str
    destination_field: str
    data_type: object


_ARRAYS = {"tokens": "int32", "logprobs": "float32", "token_level_reward": "float32", "advantages": "float32",
           "returns": "float32", "action_mask": "bool", "chosen": "int32", "rejected": "int32",
           "teacher_logprobs": "float32"}


class Experience:
    """A prompt with an answer: tokens [P+R], of which prompt_length are the prompt, and of the answer's R tokens
    logprobs and action_mask, which says what the model wrote. Arrays are torch's where the plug-in imports torch, else
    trinity._array.Array. What self.model sampled is known to the trinity binary: its tokens and logprobs stay as they are.
    """

    def __init__(self, *, eid=None, tokens, logprobs=None, reward=None, token_level_reward=None, advantages=None,
                 returns=None, truncate_status=None, info=None, metrics=None, prompt_length=1, response_text=None,
                 prompt_text=None, action_mask=None, messages=None, tools=None, chosen=None, rejected=None,
                 chosen_messages=None, rejected_messages=None, multi_modal_inputs=None, teacher_logprobs=None,
                 routed_experts=None, custom_fields=None):
        self.experience_type = "single_turn"
        if action_mask is not None:
            self.experience_type = "multi_turn"
        elif chosen is not None and rejected is not None:
            self.experience_type, prompt_length = "dpo", len(tokens)
        else:
            action_mask = _whole_mask(tokens, prompt_length, logprobs, truncate_status)
        self.eid = EID(**eid) if isinstance(eid, dict) else eid if eid is not None else EID()
        given = {"tokens": tokens, "logprobs": logprobs, "token_level_reward": token_level_reward,
                 "advantages": advantages, "returns": returns, "action_mask": action_mask, "chosen": chosen,
                 "rejected": rejected, "teacher_logprobs": teacher_logprobs}
        for name, value in given.items():
            setattr(self, name, None if value is None else _array.tensor(value, _ARRAYS[name]))
        self.prompt_length = prompt_length
        self.reward = reward
        self.truncate_status = truncate_status
        self.info = info or {}
        self.metrics = metrics or {}
        self.response_text = response_text
        self.prompt_text = prompt_text
        self.messages = messages
        self.tools = tools
        self.chosen_messages = chosen_messages
        self.rejected_messages = rejected_messages
        self.multi_modal_inputs = multi_modal_inputs
        self.routed_experts = routed_experts
        self.custom_fields = custom_fields or []
        self._sampled = None  # what the Go side knows it by, see trinity._plugin.wire

    def __repr__(self):
        return (f"Experience(eid={self.eid}, prompt_length={self.prompt_length}, tokens={len(self.tokens)}, "
                f"reward={self.reward}, response_text={self.response_text!r})")

    def to_dict(self):
        """What a person reads of it, without tokens."""
        out = {"eid": self.eid.to_dict(), "type": self.experience_type, "prompt_length": self.prompt_length,
               "response_length": len(self.tokens) - self.prompt_length, "info": self.info, "metrics": self.metrics}
        for name in ("prompt_text", "response_text", "messages", "tools", "chosen_messages", "rejected_messages",
                     "reward", "truncate_status"):
            if getattr(self, name) is not None:
                out[name] = getattr(self, name)
        return out


def _whole_mask(tokens, prompt_length, logprobs, truncate_status):
    """The mask of an answer that the model wrote as a whole."""
    assert prompt_length > 0, "Prompt length must be greater than 0 for single-turn experiences."
    if truncate_status == "prompt_truncated":
        return [False] * len(logprobs)
    assert len(tokens) > prompt_length, (
        f"Token ids must be longer than the prompt: there are {len(tokens)}, and prompt_length is {prompt_length}.")
    return [True] * (len(tokens) - prompt_length)


Experiences = List[Experience]


def group_by(experiences: List[Experience], id_type: str) -> Dict[str, List[Experience]]:
    """Experiences by their task, run or step."""
    key = {"task": "tid", "run": "rid", "step": "sid"}.get(id_type)
    if key is None:
        raise ValueError(f"Unknown id_type: {id_type}; it must be task, run or step")
    groups: Dict[str, List[Experience]] = {}
    for exp in experiences:
        groups.setdefault(getattr(exp.eid, key), []).append(exp)
    return groups


def split_dpo_experience_to_single_turn(experiences):
    """Two single-turn experiences for each pair: the chosen answer and the rejected one."""
    out: List[Experience] = []
    for exp in experiences:
        for answer in (exp.chosen, exp.rejected):
            eid = EID(exp.eid.batch, exp.eid.task, exp.eid.run, exp.eid.step)
            out.append(Experience(eid=eid, tokens=list(exp.tokens.tolist()) + list(answer.tolist()),
                                  prompt_length=len(exp.tokens), reward=exp.reward, info=exp.info, metrics=exp.metrics))
    return out
