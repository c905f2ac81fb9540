"""Experiences as bytes, in the form of Trinity-RFT 0.6.0: TRXP, a byte for the version (1), the lengths of two parts as
little-endian 64-bit numbers, and the parts: a pickle of what is no tensor, and the tensors as a safetensors file, in which
the first experience's tokens are called 0:tokens."""

import array
import json
import math
import pickle
import struct
import sys

from trinity import _array

_MAGIC, _VERSION = b"TRXP", 1
_TENSORS = ("tokens", "logprobs", "token_level_reward", "advantages", "returns", "action_mask", "chosen", "rejected",
            "teacher_logprobs", "routed_experts")
_META = ("eid", "reward", "truncate_status", "info", "metrics", "prompt_length", "response_text", "prompt_text", "messages",
         "tools", "chosen_messages", "rejected_messages")
_MODAL = "multi_modal_inputs"
# Their names in torch by those in safetensors, in the order in which its files have them: the widest first.
_KINDS = {"U64": "uint64", "I64": "int64", "F64": "float64", "F32": "float32", "U32": "uint32", "I32": "int32",
          "BF16": "bfloat16", "F16": "float16", "U16": "uint16", "I16": "int16", "I8": "int8", "U8": "uint8", "BOOL": "bool"}
_NAMES = {v: k for k, v in _KINDS.items()}
_OURS = {"I64": "q", "F32": "f", "I32": "i", "BOOL": "b"}  # that trinity._array has


def dump(experiences):
    """The bytes of experiences."""
    items, tensors = [], {}
    for i, e in enumerate(experiences):
        item = {name: getattr(e, name) for name in _META}
        item["eid"] = e.eid.to_dict()
        item["custom_fields"] = [{"source_field": f.source_field, "destination_field": f.destination_field,
                                  "data_type": str(f.data_type)} for f in e.custom_fields or []]
        tensors.update({f"{i}:{name}": getattr(e, name) for name in _TENSORS if getattr(e, name) is not None})
        modal = e.multi_modal_inputs or {}
        item["multi_modal_input_keys"] = list(modal)
        tensors.update({f"{i}:{_MODAL}:{key}": value for key, value in modal.items()})
        items.append(item)
    meta = pickle.dumps({"version": _VERSION, "num_items": len(items), "items": items}, protocol=pickle.HIGHEST_PROTOCOL)
    data = _safetensors(tensors)
    return _MAGIC + struct.pack("<BQQ", _VERSION, len(meta), len(data)) + meta + data


def load(cls, custom_field, data):
    """The experiences of bytes. Earlier versions pickled them as they are."""
    if not data.startswith(_MAGIC):
        found = pickle.loads(data)
        return found if isinstance(found, list) else [found]
    version, meta, tensors = struct.unpack_from("<BQQ", data, len(_MAGIC))
    if version != _VERSION:
        raise ValueError(f"the experiences have version {version}; this program reads version {_VERSION}")
    at = len(_MAGIC) + struct.calcsize("<BQQ")
    items, found = pickle.loads(data[at : at + meta])["items"], _read(data[at + meta : at + meta + tensors])
    made = []
    for i, item in enumerate(items):
        given = {name: item.get(name) for name in _META if item.get(name) is not None}
        given.update({name: found[f"{i}:{name}"] for name in _TENSORS if f"{i}:{name}" in found})
        given["custom_fields"] = [custom_field(**{**f, "data_type": _kind(f["data_type"])})
                                  for f in item.get("custom_fields") or []]
        given[_MODAL] = {k: found[f"{i}:{_MODAL}:{k}"] for k in item.get("multi_modal_input_keys") or []} or None
        made.append(cls(**given))
    return made


def _kind(name):
    """The dtype of a name: torch's if there is torch, else the name."""
    torch = _array.torch()
    return getattr(torch, name.rpartition(".")[2]) if torch else name


def tensor(value, dtype=None):
    """What may have any number of dimensions: a tensor where there is torch, else as it is."""
    torch = _array.torch()
    if value is None or torch is None or isinstance(value, torch.Tensor):
        return value
    return torch.tensor(value, dtype=dtype and getattr(torch, dtype))


def _safetensors(tensors):
    """A safetensors file: the length of a header in JSON, padded to 8 bytes, the header, the numbers."""
    order = list(_KINDS)
    wrong = [name for name, t in tensors.items() if not hasattr(t, "dtype")]
    if wrong:
        raise ImportError(f"{', '.join(wrong)} cannot be written without torch: import torch in the plug-in file")
    rows = sorted(((_name(t), name, t) for name, t in tensors.items()), key=lambda r: (order.index(r[0]), r[1]))
    header, parts, at = {}, [], 0
    for kind, name, t in rows:
        part = _bytes(t)
        header[name] = {"dtype": kind, "shape": list(t.shape), "data_offsets": [at, at + len(part)]}
        parts.append(part)
        at += len(part)
    text = json.dumps(header, separators=(",", ":"), ensure_ascii=False).encode()
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text + b"".join(parts)


def _name(t):
    return _NAMES[str(t.dtype).rpartition(".")[2]]


def _bytes(t):
    """The little-endian bytes of an array or a tensor."""
    if isinstance(t, _array.Array):
        numbers = array.array(t._n.typecode, t._n)
        if sys.byteorder == "big":
            numbers.byteswap()
        return numbers.tobytes()
    torch = _array.torch()
    flat = t.detach().cpu().contiguous().reshape(-1)
    return flat.view(torch.uint8).numpy().tobytes() if flat.numel() else b""


def _read(data):
    """The tensors of a safetensors file."""
    size, = struct.unpack_from("<Q", data)
    header = json.loads(data[8 : 8 + size])
    header.pop("__metadata__", None)
    return {name: _tensor(name, t, data[8 + size + t["data_offsets"][0] : 8 + size + t["data_offsets"][1]])
            for name, t in header.items()}


def _tensor(name, t, raw):
    torch = _array.torch()
    if torch is not None:
        kind = getattr(torch, _KINDS[t["dtype"]])
        flat = torch.frombuffer(bytearray(raw), dtype=kind) if raw else torch.empty(0, dtype=kind)
        return flat.reshape(t["shape"])
    if t["dtype"] not in _OURS or len(t["shape"]) != 1:
        raise ImportError(f"{name} is {t['dtype']} of shape {t['shape']}, which needs torch: import torch in the plug-in file")
    numbers = array.array(_OURS[t["dtype"]])
    numbers.frombytes(raw)
    if sys.byteorder == "big":
        numbers.byteswap()
    assert len(numbers) == math.prod(t["shape"])
    return _array.Array._of(numbers, _KINDS[t["dtype"]])
