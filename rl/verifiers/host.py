"""Reads the tasks of an environment, or serves it. Trinity runs it with the user's Python; argv[1] is JSON."""

import itertools
import json
import logging
import os
import sys


class Refused(Exception):
    """What the user must know, in one line."""


def load():
    """Imports verifiers, and refuses what is not there or too old."""
    try:
        import verifiers
    except ImportError as e:
        raise Refused(f"{sys.executable} has no package verifiers ({e}): pip install verifiers there, or name another "
                      "Python with --python") from e
    try:
        import verifiers.v1
        from verifiers.v1.utils import loaders
    except ImportError as e:
        version = getattr(verifiers, "__version__", "of an unknown version")
        raise Refused(f"verifiers {version} has no verifiers.v1 ({e}); install verifiers 0.3 or newer") from e
    return loaders


def check(loaders, name):
    """Refuses environments that are not of verifiers 0.3."""
    try:
        module = loaders.import_taskset(name)
    except ModuleNotFoundError as e:
        raise Refused(str(e)) from e
    if hasattr(module, "load_environment") and not hasattr(module, "__all__"):
        raise Refused(f"{name} is a legacy environment (load_environment, verifiers 0.2 and older); use a version of it "
                      "that exports a Taskset (verifiers 0.3 and newer)")


def tasks(loaders, settings):
    """Writes the tasks, one JSON object a line."""
    kind = loaders.taskset_config_type(settings["id"])
    taskset = loaders.load_taskset(kind.model_validate({**settings["taskset"], "id": settings["id"]}))
    limit = settings["limit"] or None
    if limit is None and taskset.INFINITE:
        raise Refused(f"{settings['id']} has tasks without end; set workflow_args.limit")
    with open(settings["out"], "w", encoding="utf-8") as out:
        for task in itertools.islice(iter(taskset), limit):
            out.write(json.dumps({"key": task.key, "data": task.data.model_dump(mode="json")}) + "\n")


def config(loaders, settings):
    """The environment's configuration: agents run as processes of this machine, without tools, unless it says else."""
    raw = {**settings["config"], "taskset": {**settings["taskset"], "id": settings["id"]}}
    kind = loaders.env_config_type(settings["id"], raw.get("id") or "")
    bare = loaders.default_harness_id(settings["id"]) == "bash"
    for role, field in kind.model_fields.items():
        if not hasattr(field.default, "harness") or not hasattr(field.default, "runtime"):
            continue
        agent = raw[role] = dict(raw.get(role) or {})
        agent.setdefault("runtime", {"type": "subprocess"})
        if bare and field.default.harness is None:
            agent.setdefault("harness", {"id": "null"})
    return raw


def tell(text):
    """Tells Trinity something, on a line of its own: what was printed before may have no newline."""
    sys.stdout.write(f"\ntrinity: {text}\n")
    sys.stdout.flush()


class Tell:
    """What the server puts its address into."""

    def put(self, address):
        tell(f"address {address}")


def main():
    settings = json.loads(sys.argv[1])
    sys.path[:0] = settings["folders"]
    known = [os.environ["PYTHONPATH"]] if os.environ.get("PYTHONPATH") else []
    os.environ["PYTHONPATH"] = os.pathsep.join(settings["folders"] + known)  # for the programs that it starts
    logging.basicConfig(level=logging.WARNING, format="%(levelname)s %(name)s: %(message)s")
    try:
        loaders = load()
        check(loaders, settings["id"])
        if "out" in settings:
            tasks(loaders, settings)
            return
        from verifiers.v1.serve import serve_env

        serve_env(max_workers=settings["workers"], address="tcp://127.0.0.1:0", address_queue=Tell(),
                  config_data=config(loaders, settings))
    except Refused as e:
        tell(f"refused: {e}")
        os._exit(3)


main()
