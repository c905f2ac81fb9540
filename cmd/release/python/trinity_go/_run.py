"""Runs: keyword arguments become run.yaml in the run's folder, and the binary runs it."""

from __future__ import annotations

import json
import queue
import sys
from collections.abc import Callable, Iterable, Mapping
from inspect import iscoroutinefunction
from pathlib import Path
from typing import Any, TypeVar, Union

from trinity_go import _calls
from trinity_go._binary import Error, call, start
from trinity_go._follow import Follower
from trinity_go._functions import Function, Functions, named

Self = TypeVar("Self", bound="Run")
Data = Union[str, Path, Iterable[Mapping[str, Any]]]
Reward = Union[str, Callable[..., Any], Iterable[Callable[..., Any]]]


class Run:
    """A run and its folder. The same arguments and folder continue it."""

    def __init__(self, folder: str | Path, config: dict[str, Any], overrides: Mapping[str, Any] | None) -> None:
        self.folder = Path(folder).absolute()
        self._files: dict[str, str] = {}
        self._functions: dict[str, Function] = {}
        place = {"project": self.folder.parent.name, "group": "", "name": self.folder.name,
                 "checkpoint_root_dir": str(self.folder.parent.parent)}
        self._config = {**place, **config}
        self._overrides = dict(overrides or {})

    def yaml(self) -> str:
        """The configuration that runs: what the arguments have become, and the overrides."""
        tree: dict[str, Any] = json.loads(json.dumps(self._config))
        for key, value in self._overrides.items():
            _override(tree, key, value)
        return _dumps(tree)

    def train(self: Self) -> Self:
        """Trains to the end, or continues. A Ctrl-C finishes the step, saves, and raises KeyboardInterrupt."""
        events: queue.Queue[tuple[str, Any]] = queue.Queue()
        config = self._write()
        with Functions(self._functions, events) as functions:
            with start("run", "--config", str(config), "--python", sys.executable, env=functions.env()) as process:
                try:
                    Follower(process, functions, events).follow()
                finally:
                    process.kill()  # if it has not ended
        return self

    @property
    def metrics(self) -> list[dict[str, Any]]:
        """A dict for each step, and for step 0 if it was evaluated; pandas.DataFrame(run.metrics) is a table."""
        return _rows(self.folder / "metrics.jsonl")

    def samples(self, step: int, taskset: str = "") -> list[dict[str, Any]]:
        """The samples of a step, or of an evaluation taskset then: prompt, response, reward, tokens, logprobs, …"""
        name = f"eval_{taskset}_step_{step:06d}" if taskset else f"step_{step:06d}"
        return _rows(self.folder / "rollouts" / f"{name}.jsonl")

    def chat(self, *messages: str, max_tokens: int = 1024, temperature: float | None = None, seed: int = 1) -> str:
        """The answer of the newest saved weights to the last message; each is a turn of one line."""
        if any("\n" in m or m.startswith("/") or not m.strip() for m in messages) or not messages:
            raise ValueError("a message has one line, which does not begin with /; serve() takes any conversation")
        flags = [f"--max-tokens={max_tokens}", f"--seed={seed}"]
        if temperature is not None:
            flags.append(f"--temperature={temperature}")
        earlier = "".join(m + "\n" for m in messages[:-1])
        before = call("chat", str(self.folder), *flags, given=earlier) if earlier else ""
        return call("chat", str(self.folder), *flags, given=earlier + messages[-1] + "\n")[len(before):].rstrip("\n")

    def export(self, to: str | Path, gguf: str = "") -> Path:
        """Writes the newest saved weights as a Hugging Face folder, or with gguf="q8_0" as a GGUF file."""
        kind = [f"--gguf={gguf}"] if gguf else []
        call("convert", "--checkpoint-dir", str(self.folder), "--output", str(to), *kind)
        return Path(to)

    def _write(self) -> Path:
        """Writes the files of the run. Data of a run that has begun stay."""
        self.folder.mkdir(parents=True, exist_ok=True)
        for name, text in self._files.items():
            path = self.folder / name
            if path.exists() and path.read_text(encoding="utf-8") == text:
                continue
            if path.exists() and name.endswith(".jsonl") and (self.folder / "run.json").exists():
                raise Error(f"{path} differs from the data given now; name another folder for a new run")
            path.write_text(text, encoding="utf-8")
        config = self.folder / "run.yaml"
        config.write_text(self.yaml(), encoding="utf-8")
        return config

    def _taskset(self, name: str, data: Data, split: str, keys: Mapping[str, str | None]) -> dict[str, Any]:
        """A taskset of the configuration. Rows are written to the run's folder."""
        form = {key: column for key, column in keys.items() if column}
        place: dict[str, Any] = {"name": name, "storage_type": "file"}
        if isinstance(data, (str, Path)):
            return {**place, "path": str(data), "split": split, "format": form}
        rows = [dict(row) for row in data]
        if "response_key" in form and rows and form["response_key"] not in rows[0]:
            del form["response_key"]
        self._files[f"{name}.jsonl"] = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
        return {**place, "path": str(self.folder / f"{name}.jsonl"), "format": form}


class GRPO(Run):
    """Group relative policy optimization: samples answers, grades them with the reward, and learns from the better ones."""

    def __init__(self, model: str, data: Data, reward: Reward | None = None, *, eval: Data | None = None,
                 folder: str | Path = "checkpoints/python/grpo", question: str = "question",
                 answer: str | None = "answer", system: str | None = None, split: str = "train",
                 eval_split: str = "test", steps: int = 100, batch: int = 16, samples: int = 8, lr: float = 1e-4,
                 rank: int = 32, max_prompt: int = 512, max_response: int = 512, seed: int = 1,
                 overrides: Mapping[str, Any] | None = None) -> None:
        super().__init__(folder, {"mode": "both"}, overrides)
        grader, self._functions = named(reward, self.folder / "reward.py")
        if self._functions:
            self._files["reward.py"] = Path(_calls.__file__).read_text(encoding="utf-8")
        keys = {"prompt_key": question, "response_key": answer, "system_prompt": system}
        graded = {"default_reward_fn_type": grader} if grader else {}

        def taskset(name: str, rows: Data, split: str, **more: Any) -> dict[str, Any]:
            return {**self._taskset(name, rows, split, keys), **graded, **more}

        workflow = "simple_workflow" if grader else "math_workflow"
        source: dict[str, Any] = {"taskset": taskset("data", data, split), "default_workflow_type": workflow}
        explorer: dict[str, Any] = {"reward_timeout": 86400}
        if self._functions and not any(map(iscoroutinefunction, self._functions.values())):
            explorer["reward_concurrency"] = 1  # one thread here calls them
        if eval is not None:
            source["eval_tasksets"] = [taskset("held-out", eval, eval_split, repeat_times=4)]
            source["default_eval_workflow_type"] = workflow
            explorer.update(eval_interval=steps, eval_on_startup=True)
        self._config.update({
            "algorithm": {"algorithm_type": "grpo", "repeat_times": samples, "kl_loss_fn_args": {"kl_coef": 0.0},
                          "optimizer": {"lr": lr}},
            "model": _model(model, rank, max_prompt, max_response, seed),
            "buffer": {"batch_size": batch, "total_steps": steps, "explorer_input": source},
            "explorer": explorer, "trainer": {"save_interval": 10, "grad_clip": 1.0},
            "synchronizer": {"sync_method": "checkpoint", "sync_style": "fixed", "sync_interval": 1}})


class SFT(Run):
    """Supervised fine-tuning: learns answers that are given."""

    def __init__(self, model: str, data: Data, *, folder: str | Path = "checkpoints/python/sft",
                 prompt: str = "prompt", response: str = "response", system: str | None = None, split: str = "train",
                 steps: int = 100, batch: int = 16, lr: float = 1e-4, rank: int = 32, max_prompt: int = 512,
                 max_response: int = 512, seed: int = 1, overrides: Mapping[str, Any] | None = None) -> None:
        super().__init__(folder, {"mode": "train"}, overrides)
        source = self._taskset("data", data, split, {"prompt_type": "plaintext", "prompt_key": prompt,
                                                     "response_key": response, "system_prompt": system})
        self._config.update({
            "algorithm": {"algorithm_type": "sft", "optimizer": {"lr": lr}},
            "model": _model(model, rank, max_prompt, max_response, seed),
            "buffer": {"total_steps": steps, "train_batch_size": batch, "trainer_input": {"experience_buffer": source}},
            "trainer": {"save_interval": max(steps // 4, 1), "grad_clip": 1.0},
            "synchronizer": {"sync_method": "checkpoint", "sync_style": "fixed", "sync_interval": steps}})


def _model(path: str, rank: int, max_prompt: int, max_response: int, seed: int) -> dict[str, Any]:
    return {"model_path": path, "max_prompt_tokens": max_prompt, "max_response_tokens": max_response,
            "tinker": {"enable": True, "rank": rank, "seed": seed}}


def _rows(path: Path) -> list[dict[str, Any]]:
    if not path.exists():
        raise Error(f"{path} is not there: that step was not run, or not yet")
    with path.open(encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def _dumps(value: dict[str, Any], indent: str = "") -> str:
    """The text of nested dicts, lists of dicts, and scalars."""
    lines = []
    for key, item in value.items():
        if isinstance(item, dict) and item:
            lines.append(f"{indent}{key}:\n{_dumps(item, indent + '  ')}")
        elif isinstance(item, list) and item and all(isinstance(x, dict) for x in item):
            rows = [indent + "- " + _dumps(x, indent + "  ").lstrip() for x in item]
            lines.append(f"{indent}{key}:\n{''.join(rows)}")
        else:
            lines.append(f"{indent}{key}: {json.dumps(item, ensure_ascii=False)}\n")
    return "".join(lines)


def _override(tree: dict[str, Any], key: str, value: Any) -> None:
    """Sets a key such as algorithm.repeat_times."""
    *path, last = key.split(".")
    for part in path:
        below = tree.setdefault(part, {})
        if not isinstance(below, dict):
            raise ValueError(f"the override {key!r} leads below {part!r}, which is no section")
        tree = below
    tree[last] = value
