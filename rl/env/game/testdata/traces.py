"""Records episodes of GEM (gem-llm from the package registry) in the format of gem_traces.jsonl.

    python traces.py SEEDS [ID ...] > traces.jsonl
    python traces.py moves > moves.jsonl

The word games draw from NLTK's lists in the folder that the variable WORDS names, else from ../words, as the tests do without
upstream's data; crosswords draw from GEM's clues.
Each id is played for seeds 0 .. SEEDS-1 with actions from a generator of their own: mostly well-formed, sometimes solving, sometimes
none. Modules of GEM that games do not need may be missing. gem-llm 0.1.0 is older than gem_traces.jsonl in one thing: its
FifteenPuzzle begins with a plain shuffle that may have no solution.
"""
import contextlib
import hashlib
import importlib.abc
import importlib.machinery
import io
import json
import os
import pathlib
import random
import sys
import types


class Missing(types.ModuleType):
    """Stands for a package that no game needs."""

    __path__ = []

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        if name == "factory":
            return Missing("factory")
        if name == "DATASETS":
            return {}
        return type(name, (), {"__init__": lambda self, *args, **kwargs: None})


class Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    names = {"nltk", "reasoning_gym", "datasets", "math_verify", "pylatexenc", "fastmcp", "mcp", "terminal_bench", "docker", "PIL", "tyro", "fire", "requests"}

    def find_spec(self, name, path, target=None):
        if name.split(".")[0] in self.names:
            return importlib.machinery.ModuleSpec(name, self, is_package=True)

    def create_module(self, spec):
        return Missing(spec.name)

    def exec_module(self, module):
        pass


class Words:
    """Stands for nltk.corpus.words, with NLTK's lists or those of this project."""

    def words(self, name="en"):
        folder = os.environ.get("WORDS")
        if folder:
            return pathlib.Path(folder, name).read_text().split()
        file = {"en-basic": "basic.txt", "en": "english.txt"}[name]
        return (pathlib.Path(__file__).parent.parent / "words" / file).read_text().split()


sys.meta_path.insert(0, Finder())
sys.modules["nltk.corpus"] = types.ModuleType("nltk.corpus")
sys.modules["nltk.corpus"].words = Words()
import gem  # noqa: E402
from moves import action  # noqa: E402


def sha(text):
    return hashlib.sha256(text.encode()).hexdigest()


def state(e, name):
    turns = e.max_turns
    if name == "GuessTheNumber":
        return {"n": e.game_number, "lo": e.min_number, "hi": e.max_number, "turns": turns}
    if name == "Mastermind":
        return {"code": list(e.game_code), "nums": e.num_numbers, "turns": turns}
    if name == "Minesweeper":
        return {"rows": e.rows, "mines": e.num_mines, "turns": turns}
    if name == "FifteenPuzzle":
        return {"board": e.board, "turns": turns}
    if name == "Sudoku":
        return {"full": e.full_grid, "board": e.board, "turns": turns}
    if name == "TowerofHanoi":
        return {"disks": e.num_disks, "turns": turns}
    if name == "Game2048":
        return {"board": e.board, "target": e.target_tile, "turns": turns}
    if name == "Sokoban":
        return {"fixed": e.room_fixed.tolist(), "state": e.room_state.tolist(), "turns": turns}
    if name in ("Wordle", "Hangman"):
        return {"word": e.secret_word, "turns": turns}
    if name == "Crosswords":
        return {"sol": ["".join(row) for row in e.solution], "placed": e.placed_words, "turns": turns}
    if name == "WordSearch":
        return {"grid": ["".join(row) for row in e.game_board], "placed": e.placed_words, "turns": turns}
    raise SystemExit("no state of " + name)


def record(env_id, seed):
    with contextlib.redirect_stdout(io.StringIO()):
        e = gem.make(env_id)
        obs, info = e.reset(seed=seed)
    name = env_id.split(":")[1].split("-")[0]
    out = {"env": env_id, "seed": seed, "prompt_sha256": sha(obs), "prompt_len": len(obs),
           "reset_suffix_sha256": sha(info["suffix"]) if "suffix" in info else None,
           "state": json.loads(json.dumps(state(e, name), default=int)), "steps": []}
    r, done = random.Random(f"{env_id} {seed}"), False
    while not done:
        a = action(e, name, r)
        obs, reward, te, tr, info = e.step(a)
        out["steps"].append({"a": a, "obs": obs, "r": float(reward), "te": bool(te), "tr": bool(tr), "suf": sha(info["suffix"])[:16]})
        done = te or tr
    return out


MOVES = {
    "GuessTheNumber": ["\\BOXED{5}", "\\boxed{٣}", "\\boxed{007}", "\\boxed{99999999999999999999}", "\\boxed{0}", "\\boxed{5}\\boxed{x"],
    "Mastermind": ["\\BOXED{1 2}", "\\boxed{1\t 2}", "\\boxed{01 2}", "\\boxed{1}", "\\boxed{1 99999999999999999999}", "\\boxed{1 2 }"],
    "Minesweeper": ["\\BOXED{flag 0 0}", "\\boxed{FLAG 0 0}", "\\boxed{Open 0 0}", "\\boxed{Open 9 0}", "\\boxed{flag  0 0}", "\\boxed{flag 00 0}", "\\boxed{reveal 0 0}"],
    "Sudoku": ["\\BOXED{1 1 1}", "\\boxed{1  1 1}", "\\boxed{01 01 9}", "\\boxed{0 0 0}"],
    "TowerofHanoi": ["\\BOXED{A B}", "\\boxed{a\u00a0,b}", "\\boxed{AB}", "\\boxed{B B}", "\\boxed{D A}"],
    "Game2048": ["\\BOXED{UP}", "\\boxed{ up }"],
    "Sokoban": ["\\BOXED{UP}", "\\boxed{ up }"],
    "FifteenPuzzle": ["\\BOXED{up}", "\\boxed{UP}"],
    "Wordle": ["\\BOXED{cat}", "\\boxed{c at}", "\\boxed{c\tat}", "\\boxed{ca\u00a0 t}", "\\boxed{}"],
    "Hangman": ["\\BOXED{cat}", "\\boxed{c at}", "\\boxed{E}", "\\boxed{e}"],
    "Crosswords": ["\\BOXED{0 0 a}", "\\boxed{99  00 a}", "\\boxed{0 0 ab}", "\\boxed{0 0 }"],
    "WordSearch": ["\\BOXED{0 0 0 0}", "\\boxed{0  0 0 1}", "\\boxed{00 0 0 1}", "\\boxed{0 0 1 1}", "\\boxed{99 0 1 1}"],
}


def moves():
    """Prints how each game reads certain answers, each given as the first one of seed 1."""
    for name, actions in MOVES.items():
        for a in actions:
            with contextlib.redirect_stdout(io.StringIO()):
                e = gem.make(f"game:{name}-v0-easy")
                e.reset(seed=1)
            obs, reward, te, tr, _ = e.step(a)
            print(json.dumps({"env": f"game:{name}-v0-easy", "a": a, "obs": obs, "r": float(reward), "te": bool(te), "tr": bool(tr)}))


def main():
    if sys.argv[1] == "moves":
        return moves()
    seeds, ids = int(sys.argv[1]), sys.argv[2:]
    for env_id in ids:
        for seed in range(seeds):
            print(json.dumps(record(env_id, seed), ensure_ascii=False), flush=True)


main()
