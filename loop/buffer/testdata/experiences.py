"""Makes experiences-VERSION.db, and tables-0.6.0.db as tables.py does: tables of Trinity-RFT, written by its own code.

python loop/buffer/testdata/experiences.py TRINITY-RFT-CHECKOUT VERSION    (from the root of this repository; needs torch,
safetensors, sqlalchemy, and for 0.6.0 aiosqlite)
"""
import asyncio, contextlib, importlib.util, json, logging, os, sqlite3, sys, types

root, version = sys.argv[1:]
stubs = {"trinity": {}, "trinity.common": {}, "trinity.utils": {}, "trinity.buffer": {}, "trinity.buffer.schema": {},
         "trinity.common.dataclass_utils": {"build_dataclass_from_mapping": None}, "trinity.utils.log": {"get_logger": logging.getLogger}}
for name, content in stubs.items():
    sys.modules[name] = types.ModuleType(name)
    vars(sys.modules[name]).update(content)


def load(name):
    spec = importlib.util.spec_from_file_location(name, os.path.join(root, name.replace(".", "/") + ".py"))
    sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(sys.modules[name])
    return sys.modules[name]


experience = load("trinity.common.experience")
if version != "0.5.2":
    load("trinity.buffer.utils")
schema = load("trinity.buffer.schema.sql_schema")
sys.modules["trinity.buffer.schema"].SQL_SCHEMA = {"task": schema.TaskModel, "experience": schema.ExperienceModel, "sft": schema.SFTDataModel,
                                                   "dpo": schema.DPODataModel}
import torch

EID, Experience = experience.EID, experience.Experience


async def fill(path, name, kind, rows):
    """As SQLExperienceStorage.write does, and SQLTaskStorage.write."""
    if version == "0.5.2":
        from sqlalchemy.orm import sessionmaker

        engine, table = schema.init_engine("sqlite:///" + path, name, kind)
        with contextlib.closing(sessionmaker(bind=engine)()) as session:
            session.add_all([table.from_experience(e) for e in rows])
            session.commit()
        return
    from sqlalchemy.ext.asyncio import async_sessionmaker

    engine, table, *blob = await schema.init_async_engine("sqlite:///" + path, name, kind)
    async with async_sessionmaker(engine, expire_on_commit=False)() as session:
        for e in rows:
            row = table.from_dict(e) if kind == "task" else table.from_experience(e)
            session.add(row)
            await session.flush()
            if kind != "task":
                session.add(blob[0](id=row.id, experience_bytes=e.serialize()))
        await session.commit()
    await engine.dispose()


def start(file):
    path = f"loop/buffer/testdata/{file}-{version}.db"
    if os.path.exists(path):
        os.remove(path)
    return path


def experiences():
    talk = [{"role": "user", "content": "How many?"}, {"role": "assistant", "content": "", "tool_calls": [{"function": {"name": "add", "arguments": '{"a": 3, "b": 4}'}}]},
            {"role": "tool", "content": "7"}, {"role": "assistant", "content": "seven"}]
    shared = torch.tensor([-0.5, -1.0])  # one storage for two fields
    index = {"index": 5, "taskset_id": 1}
    first = dict(eid=EID(batch=3, task=7, run=0, suffix="aaaaaa"), tokens=[5, 6, 7, 8], prompt_length=2, logprobs=shared, advantages=shared, reward=1.0,
                 prompt_text="How many?", response_text="seven", metrics={"accuracy": 1.0}, info={"model_version": 2, "task_index": index, "judge": 0.25})
    if version != "0.5.2":
        first["routed_experts"] = torch.zeros(3, 2, 1, dtype=torch.uint8)
        first["info"]["model_version"] = None
    else:
        first["advantages"] = shared.clone()  # it cannot write a storage twice
    return [Experience(**first),
            Experience(eid=EID(batch=3, task=7, run=1, step=1, suffix="bbbbbb"), tokens=[5, 6, 7, 8, 9], prompt_length=2, logprobs=[-0.5, -1.0, -2.0], reward=0.0,
                       messages=talk, action_mask=[True, False, True], truncate_status="response_truncated", metrics={"accuracy": 0.0},
                       info={"model_version": 2, "judge": torch.device("cpu")})]


def rows(file, n):
    return [json.loads(line) for line in open(file)][:n]


def tables(path):
    begin = lambda r: [{"role": "system", "content": "Think, then answer."}, {"role": "user", "content": r["question"]}]
    answer = lambda text: [{"role": "assistant", "content": text}]
    expert = rows("examples/tiny/expert/train.jsonl", 3)
    asyncio.run(fill(path, "questions", "task", rows("examples/tiny/data/train.jsonl", 3)))
    asyncio.run(fill(path, "solutions", "sft", [Experience(tokens=[1, 2, 3], prompt_length=2, messages=begin(r) + answer(r["response"])) for r in expert]))
    asyncio.run(fill(path, "pairs", "dpo", [Experience(tokens=[1, 2], chosen=[3], rejected=[4], chosen_messages=begin(r) + answer(r["response"]),
                                                       rejected_messages=begin(r) + answer(r["rejected"])) for r in expert]))


def shrink(path):
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute("PRAGMA page_size = 512")
        db.execute("VACUUM")


path = start("experiences")
asyncio.run(fill(path, "experience_buffer", "experience", experiences()))
shrink(path)
if version != "0.5.2":
    path = start("tables")
    tables(path)
    shrink(path)
