"""Runs training programs that others wrote, unmodified, against `trinity serve`, and checks what they report.

    run.py gem|cookbook|rft --trinity bin/trinity --work DIR [--out LOG] [--only NAME]

gem: tinker_train_gem.py beside this file, with the real gem-llm. cookbook: recipes of tinker-cookbook (cookbook.py), or those whose
name has NAME in it. rft: Trinity-RFT (rft.py). All with the newest SDK that pip
resolves, in a virtual environment that is made below DIR the first time and kept, and the models that ship. The server's data are new each time.
"""

import argparse
import pathlib
import re
import shutil
import sys

from cookbook import cookbook
from rft import rft
from runner import HERE, Failed, Runner, check, finite


def gem(r, steps=7):
    r.say(f"# GEM's trainer over Tinker, unmodified: {r.versions('tinker', 'gem-llm', 'torch', 'transformers')}")
    args = [f"max_steps={steps}", "learning_rate=1e-3"]
    r.say(f"tinker_train_gem.py {' '.join(args)}   (all else, game:GuessTheNumber-v0-easy too, is its default)")
    out = r.work / "tinker_output"
    shutil.rmtree(out, ignore_errors=True)
    text = r.run("gem", str(HERE / "tinker_train_gem.py"), *args)
    blocks = re.findall(r"^\{'sampler/.*?\}$", text, re.S | re.M)
    check(len(blocks) == steps, f"{len(blocks)} blocks of metrics, want {steps}")
    for i, block in enumerate(blocks):
        m = {k: float(v) for k, v in re.findall(r"'([^']+)': (?:np\.float64\()?([-+.\w]+)", block)}
        loss, reward, turns, entropy, v1, v2 = finite(m, "train/loss:sum", "sampler/episode_return", "sampler/num_turns_per_episode", "sampler/token_entropy",
                                                      "train/kl_sample_train_v1", "train/kl_sample_train_v2")
        check(m["step"] == i, f"step {m['step']} where {i} should be")
        check(v1 == 0 and v2 == 0, f"step {i}: the trainer's logprobs are not the sampler's: {v1}, {v2}")
        r.say(f"step {i}: episode_return {reward:.3f}  turns {turns:.2f}  token_entropy {entropy:.3f}  loss:sum {loss:9.3f}  kl_sample_train_v1 {v1}  v2 {v2}"
              f"  sample {m['time/sample']:.1f} s  train {m['time/train']:.1f} s")
    check(float(re.findall(r"'sampler/episode_return': (?:np\.float64\()?([-+.\w]+)", blocks[-1])[0]) > 0, "no reward in the last step")
    r.resolve(next(out.glob("*/checkpoints.jsonl")))


def main():
    a = argparse.ArgumentParser()
    a.add_argument("what", choices=["gem", "cookbook", "rft"])
    a.add_argument("--trinity", type=pathlib.Path, required=True)
    a.add_argument("--work", type=pathlib.Path, required=True)
    a.add_argument("--out", type=pathlib.Path)
    a.add_argument("--only", default="", help="of cookbook: a part of a recipe's name in its table")
    a.add_argument("--port", type=int, default=8139)
    a = a.parse_args()
    r = Runner(a.trinity, a.work, a.port, links=a.what == "gem")
    try:
        {"gem": gem, "cookbook": lambda r: cookbook(r, a.only), "rft": rft}[a.what](r)
        r.say("\nall as it should be")
    except Failed as e:
        sys.exit(f"FAILED: {e}")
    finally:
        r.server.stop()
        if a.out:
            a.out.write_text("\n".join(r.lines) + "\n")


if __name__ == "__main__":
    main()
