"""Experiences: what a workflow returns, and their ids."""

import uuid
from dataclasses import asdict, dataclass, field, fields
from typing import Any, Dict, List, Optional, Union

from trinity import _array, _missing
from trinity.common import _serial

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
_PLAIN = ("reward", "response_text", "prompt_text", "messages", "tools", "chosen_messages", "rejected_messages")


@dataclass(repr=False, eq=False)
class Experience:
    """A prompt with an answer: tokens [P+R], of which prompt_length are the prompt, and of the answer's R tokens
    logprobs and action_mask, which says what the model wrote. Arrays are torch's where the plug-in imports torch, else
    trinity._array.Array. What self.model sampled is known to the trinity binary: its tokens and logprobs stay as they are.
    """

    eid: EID = field(default_factory=EID)
    tokens: Optional[Any] = None
    prompt_length: int = 1
    logprobs: Optional[Any] = None
    reward: Optional[float] = None
    token_level_reward: Optional[Any] = None
    advantages: Optional[Any] = None
    returns: Optional[Any] = None
    truncate_status: Optional[str] = None  # prompt_truncated or response_truncated
    info: dict = field(default_factory=dict)
    metrics: Dict[str, float] = field(default_factory=dict)
    response_text: Optional[str] = None
    prompt_text: Optional[str] = None
    action_mask: Optional[Any] = None
    messages: Optional[List[dict]] = None
    tools: Optional[List[dict]] = None
    chosen: Optional[Any] = None
    rejected: Optional[Any] = None
    chosen_messages: Optional[List[dict]] = None
    rejected_messages: Optional[List[dict]] = None
    multi_modal_inputs: Optional[Dict[str, Any]] = None
    teacher_logprobs: Optional[Any] = None
    routed_experts: Optional[Any] = None
    custom_fields: List[CustomField] = field(default_factory=list)

    def __init__(self, *, eid=None, tokens, prompt_length=1, action_mask=None, logprobs=None, truncate_status=None,
                 chosen=None, rejected=None, info=None, metrics=None, multi_modal_inputs=None, routed_experts=None,
                 custom_fields=None, **others):
        self.experience_type = "single_turn"
        if action_mask is not None:
            self.experience_type = "multi_turn"
        elif chosen is not None and rejected is not None:
            self.experience_type, prompt_length = "dpo", len(tokens)
        else:
            action_mask = _whole_mask(tokens, prompt_length, logprobs, truncate_status)
        unknown = others.keys() - self.__dataclass_fields__.keys()
        if unknown:
            raise TypeError(f"an Experience has no {', '.join(sorted(unknown))}")
        given = {"tokens": tokens, "logprobs": logprobs, "action_mask": action_mask, "chosen": chosen,
                 "rejected": rejected, **others}
        for name in _PLAIN:
            setattr(self, name, others.get(name))
        for name, dtype in _ARRAYS.items():
            value = given.get(name)
            setattr(self, name, None if value is None else _array.tensor(value, dtype))
        self.eid = EID(**eid) if isinstance(eid, dict) else eid if eid is not None else EID()
        self.prompt_length = prompt_length
        self.truncate_status = truncate_status
        self.info = info or {}
        self.metrics = metrics or {}
        self.multi_modal_inputs = multi_modal_inputs and {k: _serial.tensor(v) for k, v in multi_modal_inputs.items()}
        self.routed_experts = _serial.tensor(routed_experts, "uint8")
        self.custom_fields = [f if isinstance(f, CustomField) else CustomField(**f) for f in custom_fields or []]
        self._sampled = None  # what the Go side knows it by, see trinity._plugin.wire

    def __repr__(self):
        return (f"Experience(eid={self.eid}, prompt_length={self.prompt_length}, tokens={len(self.tokens)}, "
                f"reward={self.reward}, response_text={self.response_text!r})")

    def serialize(self):
        """The experience as bytes."""
        return _serial.dump([self])

    @staticmethod
    def serialize_many(experiences):
        """Several experiences as bytes."""
        return _serial.dump(experiences)

    @classmethod
    def deserialize(cls, data):
        """The experience that serialize() wrote. Like unpickling, it executes what the bytes say."""
        made = cls.deserialize_many(data)
        if len(made) != 1:
            raise ValueError(f"there are {len(made)} experiences; read them with Experience.deserialize_many")
        return made[0]

    @classmethod
    def deserialize_many(cls, data):
        """The experiences that serialize_many() wrote. Like unpickling, it executes what the bytes say."""
        return _serial.load(cls, CustomField, data)

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


def _torch(what):
    """torch, which the tensors of two dimensions below need."""
    try:
        import torch
    except ImportError as e:
        raise ImportError(f"{what} makes tensors of two dimensions, which needs torch: install it in the Python that trinity "
                          "uses (--python or VIRTUAL_ENV chooses it)") from e
    return torch


def _padded(torch, values, before, after, pad):
    """A row with numbers of its own kind before it and after it."""
    values = torch.as_tensor(values.tolist(), dtype=getattr(torch, str(values.dtype).rpartition(".")[2]))
    return torch.cat([torch.full((before,), pad, dtype=values.dtype), values,
                      torch.full((after,), pad, dtype=values.dtype)])


def gather_token_ids(experiences, max_prompt_length, max_response_length, pad_token_id):
    """Tokens [N, P+R]: prompts end at P, answers begin there."""
    torch = _torch("gather_token_ids")
    return torch.stack([_padded(torch, e.tokens, max_prompt_length - e.prompt_length,
                                max_response_length + e.prompt_length - len(e.tokens), pad_token_id) for e in experiences])


def gather_action_masks(experiences, max_response_length):
    """Action masks [N, R], false behind the answers."""
    return gather_response_attrs(experiences, "action_mask", max_response_length)


def gather_attention_masks(experiences, max_prompt_length, max_response_length):
    """Where gather_token_ids has tokens [N, P+R]."""
    torch = _torch("gather_attention_masks")
    masks = torch.zeros((len(experiences), max_prompt_length + max_response_length), dtype=torch.bool)
    for mask, e in zip(masks, experiences):
        start = max_prompt_length - e.prompt_length
        mask[start : start + len(e.tokens)] = True
    return masks


def gather_response_attrs(experiences, attr_name, max_response_length, pad_value=0):
    """An array of the answers, such as logprobs, as [N, R]."""
    torch = _torch("gather_response_attrs")
    rows = [getattr(e, attr_name) for e in experiences]
    return torch.stack([_padded(torch, row, 0, max_response_length - len(row), pad_value) for row in rows])


def gather_multi_modal_inputs(experiences):
    """The inputs of all by their names."""
    return {k: [e.multi_modal_inputs[k] for e in experiences] for k in experiences[0].multi_modal_inputs}


def to_hf_datasets(experiences):
    """A datasets.Dataset with a row for each experience and a column for each field."""
    from datasets import Dataset

    return Dataset.from_list([_plain(asdict(e)) for e in experiences])


def from_hf_datasets(dataset):
    """The experiences of such a data set."""
    names = {f.name for f in fields(Experience)}
    return [Experience(**{k: v for k, v in row.items() if k in names and v is not None}) for row in dataset.to_list()]


def _plain(value):
    """Lists and numbers in place of arrays."""
    if isinstance(value, dict):
        return {k: _plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(v) for v in value]
    return value.tolist() if hasattr(value, "tolist") else value
