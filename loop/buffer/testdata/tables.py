"""Makes tables.db: the tables of Trinity-RFT 0.5.2, written by its own models, from the first rows of the tiny example.

python loop/buffer/testdata/tables.py TRINITY-RFT-CHECKOUT    (needs sqlalchemy; from the root of this repository)
"""
import importlib.util, json, logging, os, sys, types

# What sql_schema.py imports beside SQLAlchemy. An experience is asked for its messages and its bytes only.
stubs = {"trinity": {}, "trinity.common": {}, "trinity.utils": {}, "trinity.buffer": {}, "trinity.buffer.schema": {},
         "trinity.common.experience": {"Experience": object}, "trinity.utils.log": {"get_logger": logging.getLogger}}
for name, content in stubs.items():
    sys.modules[name] = types.ModuleType(name)
    vars(sys.modules[name]).update(content)
spec = importlib.util.spec_from_file_location("sql_schema", os.path.join(sys.argv[1], "trinity/buffer/schema/sql_schema.py"))
schema = importlib.util.module_from_spec(spec)
spec.loader.exec_module(schema)

path = "loop/buffer/testdata/tables.db"
if os.path.exists(path):
    os.remove(path)


class Row:
    def __init__(self, **kw):
        vars(self).update(kw)

    def serialize(self):
        return b"TRXP\x01"  # a pickle follows, which is not read here


def fill(name, model, rows):
    sys.modules["trinity.buffer.schema"].SQL_SCHEMA = {name: model}
    engine, table = schema.init_engine("sqlite:///" + path, name, name)
    from sqlalchemy.orm import sessionmaker

    with sessionmaker(bind=engine)() as session:
        session.add_all([table.from_dict(r) if model is schema.TaskModel else table.from_experience(r) for r in rows])
        session.commit()


def rows(file, n):
    return [json.loads(line) for line in open(file)][:n]


def start(r):
    return [{"role": "system", "content": "Think, then answer."}, {"role": "user", "content": r["question"]}]


def answer(text):
    return [{"role": "assistant", "content": text}]


fill("questions", schema.TaskModel, rows("examples/tiny/data/train.jsonl", 7))
expert = rows("examples/tiny/expert/train.jsonl", 8)
fill("solutions", schema.SFTDataModel, [Row(messages=start(r) + answer(r["response"])) for r in expert])
fill("pairs", schema.DPODataModel, [Row(chosen_messages=start(r) + answer(r["response"]), rejected_messages=start(r) + answer(r["rejected"])) for r in expert])
