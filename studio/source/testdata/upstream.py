"""Makes testdata/upstream/experiences.db and .jsonl with Trinity-RFT's own Experience: python upstream.py CHECKOUT (torch, safetensors).

The table is that of trinity/buffer/schema/sql_schema.py (ExperienceModel), the lines are those of buffer/storage/file.py.
"""
import importlib.util, json, pathlib, sqlite3, sys, types

checkout = pathlib.Path(sys.argv[1]) / "trinity" / "common"
for name in ("trinity", "trinity.common", "trinity.common.dataclass_utils"):
    sys.modules[name] = types.ModuleType(name)
sys.modules["trinity.common.dataclass_utils"].build_dataclass_from_mapping = None
spec = importlib.util.spec_from_file_location("trinity.common.experience", checkout / "experience.py")
module = importlib.util.module_from_spec(spec)
sys.modules[spec.name] = module
spec.loader.exec_module(module)

import numpy as np
import torch

EID, Experience = module.EID, module.Experience
path = pathlib.Path(__file__).parent / "upstream" / "experiences.db"
path.unlink(missing_ok=True)
db = sqlite3.connect(path)
db.execute("""CREATE TABLE experience_buffer (id INTEGER PRIMARY KEY, timestamp TIMESTAMP, task_id VARCHAR, run_id INTEGER, msg_id VARCHAR,
  model_version INTEGER, experience_bytes BLOB, reward FLOAT, consumed INTEGER)""")
talk = [{"role": "user", "content": "How many?"}, {"role": "assistant", "content": "", "tool_calls": [{"function": {"name": "add", "arguments": '{"a": 3, "b": 4}'}}]},
        {"role": "tool", "content": "7"}, {"role": "assistant", "content": "seven"}]
list = [
    Experience(eid=EID(batch=3, task=7, run=0, suffix="aaaaaa"), tokens=[5, 6, 7, 8], prompt_length=2, logprobs=[-0.5, -1.0], reward=1.0,
               prompt_text="How many?", response_text="seven", metrics={"accuracy": np.float64(1.0)}, info={"model_version": 2}),
    Experience(eid=EID(batch=3, task=7, run=1, suffix="bbbbbb"), tokens=[5, 6, 7, 8, 9], prompt_length=2, logprobs=[-0.5, -1.0, -2.0], reward=0.0, messages=talk,
               action_mask=[True, False, True], truncate_status="response_truncated", metrics={"accuracy": 0.0}, info={"model_version": 2, "judge": torch.device("cpu")}),
]
for i, e in enumerate(list):
    db.execute("INSERT INTO experience_buffer VALUES (?, NULL, ?, ?, ?, ?, ?, ?, 1)", (i + 1, str(e.eid.task), e.eid.run, e.eid.suffix, 2, e.serialize(), e.reward))
db.commit()
with open(path.with_suffix(".jsonl"), "w") as f:
    for e in list:
        e.info.pop("judge", None)  # which JSON cannot have
        f.write(json.dumps(e.to_dict(), ensure_ascii=False) + "\n")
