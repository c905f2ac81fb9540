"""Writes nested.parquet and pages_v2.parquet, as Python's data tools do, and nested.jsonl, what their rows are.

python rl/dataset/testdata/parquet.py        (needs pyarrow)
"""

import base64
import datetime
import decimal
import json
import math
import os

import pyarrow as pa
import pyarrow.parquet as pq

message = pa.struct([("role", pa.string()), ("content", pa.string()), ("tool_calls", pa.list_(pa.struct([("name", pa.string()), ("n", pa.int8())])))])
schema = pa.schema([
    pa.field("question", pa.string(), nullable=False),
    ("answer", pa.large_string()),
    ("messages", pa.list_(message)),
    ("tags", pa.list_(pa.list_(pa.int32()))),
    ("meta", pa.struct([("level", pa.int64()), ("inner", pa.struct([("ok", pa.bool_()), ("list", pa.large_list(pa.float32()))]))])),
    ("scores", pa.map_(pa.string(), pa.float64())),
    ("by_id", pa.map_(pa.int32(), pa.string())),
    ("kind", pa.dictionary(pa.int32(), pa.string())),
    ("u64", pa.uint64()), ("u8", pa.uint8()), ("f", pa.float64()),
    ("when", pa.timestamp("us", tz="UTC")), ("local", pa.timestamp("ms")), ("day", pa.date32()), ("clock", pa.time64("us")),
    ("price", pa.decimal128(12, 3)), ("raw", pa.binary()), ("fixed", pa.binary(3)), ("nothing", pa.null()),
])


def row(i):
    def turn(j):
        calls = None if j == 0 else [{"name": f"f{k}", "n": k - 1} for k in range(j - 1)]
        return {"role": "user" if j % 2 == 0 else "assistant", "content": f"{i}:{j} ü" if (i + j) % 5 else None, "tool_calls": calls}

    return {
        "question": f"What is {i} + {i}?" * (1 + i % 3),
        "answer": None if i % 7 == 3 else f"#### {2 * i}",
        "messages": None if i % 11 == 5 else [turn(j) for j in range(i % 4)],
        "tags": None if i % 6 == 1 else [None if j == 1 else [i * k if k else None for k in range(j)] for j in range(i % 5)],
        "meta": None if i % 9 == 2 else {"level": i - 3, "inner": None if i % 4 == 1 else {"ok": i % 2 == 0, "list": [0.5 * i, 1.25]}},
        "scores": {"a": 1.0, "b": i / 8} if i % 3 else {},
        "by_id": [(1, "x"), (2, None)] if i % 3 == 2 else None,
        "kind": ["red", "green", None][i % 3],
        "u64": 2**64 - 1 - i, "u8": 255 - i % 250, "f": [1.0, -0.1, 1e300, math.nan, 5e-324, 12345678.0, 1e16][i % 7],
        "when": datetime.datetime(2024, 2, 29, 12, 30, 0, 1000 * (i % 3), tzinfo=datetime.timezone.utc) + datetime.timedelta(days=i),
        "local": datetime.datetime(1969, 12, 31, 23, 59, 59) + datetime.timedelta(seconds=i),
        "day": datetime.date(1960, 1, 1) + datetime.timedelta(days=200 * i), "clock": datetime.time(1, 2, 3, 500000 if i % 2 else 0),
        "price": None if i % 5 == 4 else decimal.Decimal(i * 37 - 100) / 1000,
        "raw": b"\xff\x00" + bytes([i % 256]) if i % 2 else "text é".encode(), "fixed": b"abc", "nothing": None,
    }


def plain(v):
    """A value as JSON has it, in the words of package dataset."""
    if isinstance(v, float):
        return None if math.isnan(v) else v
    if isinstance(v, datetime.datetime):
        text = v.replace(tzinfo=None).isoformat()
        text = text.rstrip("0") if "." in text else text
        return text + ("Z" if v.tzinfo else "")
    if isinstance(v, (datetime.date, datetime.time)):
        text = v.isoformat()
        return text.rstrip("0") if "." in text else text
    if isinstance(v, decimal.Decimal):
        return {"decimal": f"{v:.3f}"}
    if isinstance(v, bytes):
        try:
            return v.decode()
        except UnicodeDecodeError:
            return base64.b64encode(v).decode()
    if isinstance(v, dict):
        return {k: plain(x) for k, x in v.items()}
    if isinstance(v, (list, tuple)):
        return [plain(x) for x in v]
    return v


def write(rows, name):
    for r in rows:
        out = plain(r)
        if r["by_id"] is not None:
            out["by_id"] = [{"key": k, "value": v} for k, v in r["by_id"]]
        yield json.dumps(out, ensure_ascii=False)


rows = [row(i) for i in range(300)]
table = pa.Table.from_pylist(rows, schema)
here = os.path.dirname(__file__)
pq.write_table(table, os.path.join(here, "nested.parquet"), row_group_size=130)
pq.write_table(table, os.path.join(here, "pages_v2.parquet"), compression="zstd", data_page_version="2.0", data_page_size=500,
               write_page_index=True, use_dictionary=["kind"], column_encoding={"question": "DELTA_BYTE_ARRAY", "u8": "DELTA_BINARY_PACKED"}, write_batch_size=20)
with open(os.path.join(here, "nested.jsonl"), "w") as f:
    for line in write(rows, "nested"):
        f.write(line.replace('{"decimal": "', "").replace('"}, "raw"', ', "raw"') + "\n")
