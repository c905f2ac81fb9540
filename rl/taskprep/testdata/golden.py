"""Makes golden.json: what Data-Juicer's operators (py-data-juicer 1.6.1) measure and keep, and what Trinity-RFT's service makes of it.

python rl/taskprep/testdata/golden.py TRINITY-RFT-CHECKOUT    (from the root of this repository)
"""
import json, re, sys

from data_juicer.ops import load_ops
from data_juicer.utils.constant import Fields
from datasets import Dataset

rows = [{"text": t, "difficulty": d, "tag": g} for t, d, g in [
    ("What is 2 + 3?", 1, "sum"),
    ("What is 2 + 3?", 2, "sum"),
    ("  what IS 2 + 3 ?\n", 3, "sum"),
    ("", 4, "none"),
    ("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", 5, "odd"),
    ("one line\r\nand another, a longer one\rand a third\u2028fourth", 2, "lines"),
    ("naïve café, 東京 ½ ٣", 7, "letters"),
    ("abcabcabcabcabcabc and so on, abcabcabcabc; abcabcabc!", 0.5, "odd"),
    ("Gina has 20 pears.\n\nShe finds 2 more.\n", "x", "sum"),
]]
recipes = [
    [{"text_length_filter": {"min_len": 5, "max_len": 40}}],
    [{"text_length_filter": {"min_len": 14, "max_len": 40, "min_closed_interval": False}}],
    [{"text_length_filter": {"min_len": 14, "reversed_range": True}}],
    [{"average_line_length_filter": {}}],
    [{"maximum_line_length_filter": {"min_len": 12}}],
    [{"alphanumeric_filter": {}}],
    [{"alphanumeric_filter": {"min_ratio": 0.7}}],
    [{"character_repetition_filter": {"rep_len": 3, "max_ratio": 0.3}}],
    [{"character_repetition_filter": {}}],
    [{"specified_field_filter": {"field_key": "tag", "target_value": ["sum", "odd"]}}],
    [{"document_deduplicator": {}}],
    [{"document_deduplicator": {"lowercase": True, "ignore_non_character": True}}],
    [{"text_length_filter": {"min_len": 1}}, {"alphanumeric_filter": {}}, {"character_repetition_filter": {"rep_len": 4, "max_ratio": 1.0}}],
]
numeric = [
    [{"specified_numeric_field_filter": {"field_key": "difficulty", "min_value": 1, "max_value": 4}}],
    [{"topk_specified_field_selector": {"field_key": "difficulty", "topk": 3}}],
    [{"topk_specified_field_selector": {"field_key": "difficulty", "top_ratio": 0.5, "reverse": False}}],
]


def run(recipe, rows):
    ds = [dict(r, **{Fields.stats: {}}) for r in rows]
    for op in load_ops(recipe):
        name = type(op).__name__
        if "Deduplicator" in name:
            ds = [op.compute_hash(s) for s in ds]
            seen = set()
            ds = [s for s in ds if not (s["__dj__hash"] in seen or seen.add(s["__dj__hash"]))]
            continue
        if "Selector" in name:
            order = op.process(Dataset.from_list([{k: v for k, v in s.items() if k != Fields.stats} for s in ds]))
            ds = [dict(r, **{Fields.stats: {}}) for r in order]
            continue
        if hasattr(op, "compute_stats_single") and "Specified" in name:
            ds = [op.compute_stats_single(s) for s in ds]
            ds = [s for s in ds if op.process_single(s)]
            continue
        batch = {k: [s[k] for s in ds] for k in ds[0]}
        batch = op.compute_stats_batched(batch)
        keep = list(op.process_batched(batch))
        ds = [{k: batch[k][i] for k in batch} for i in range(len(ds)) if keep[i]]
    return ds


source = open(sys.argv[1] + "/trinity/service/data_juicer/server/utils.py").read()
service = {"Fields": Fields, "Dataset": Dataset, "Number": (int, float)}
for part in re.findall(r"(?ms)^(DIMENSION_STATS_KEYS = .*?^}|def (?:group_scores|compute_priority_scores).*?(?=^def |\Z))", source):
    exec("from typing import *\n" + part, service)


class Rows(list):
    """As much of a Dataset as group_scores asks for."""

    features = [Fields.stats]

    @property
    def data(self):
        return self

    def __getitem__(self, key):
        return [s[key] for s in self] if isinstance(key, str) else list.__getitem__(self, key)

    def map(self, f):
        return Rows(f(s) for s in self)


default = {"difficulty": -0.7, "diversity": 0.8, "usage_frequency": -0.5, "quality": 1.0}
out = []
for group, data in ((recipes, rows), (numeric, [r for r in rows if r["difficulty"] != "x"])):
    for recipe in group:
        kept = run(recipe, data)
        entry = {"recipe": recipe, "rows": data, "kept": [{k: v for k, v in s.items() if k in ("text", "difficulty", "tag")} for s in kept],
                 "stats": [{k: v for k, v in s[Fields.stats].items() if k not in ("tag", "difficulty")} for s in kept]}
        if kept and entry["stats"][0]:
            scored = service["group_scores"](Rows(dict(s, **{Fields.stats: dict(e)}) for s, e in zip(kept, entry["stats"])))
            entry["priority"] = [service["compute_priority_scores"](s, default)["priority"] for s in scored]
        out.append(entry)
json.dump(out, open("rl/taskprep/testdata/golden.json", "w"), indent=1, ensure_ascii=True)
