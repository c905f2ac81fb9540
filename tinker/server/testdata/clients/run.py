"""Runs unmodified clients against `trinity serve` and writes what works as a table: route x client x result.

    run.py --trinity bin/trinity --work DIR [--all | --clients openai,go] [--out FILE]
    run.py --trinity bin/trinity --work DIR --model FOLDER_OR_GGUF [--torch PYTHON] [--out FILE]

The model is the shipped one with a chat template that has tools, and it is trained over the Tinker API to call them, so that the answers to that are known.
With --model it is the one given, and lm-evaluation-harness's log-likelihoods are compared with transformers'.
Virtual environments are made below DIR the first time and kept; uv makes them where it is installed. The server's data are new each time.
"""

import argparse
import json
import pathlib
import shutil
import subprocess
import sys
import venv

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
from serving import Server  # noqa: E402

MODEL = HERE.parents[3] / "examples" / "tiny" / "model"
# What each client's environment has; its checks are in NAME_client.py. "-" before a package leaves its dependencies out.
COMMON = ["tinker", "openai", "anthropic"]
CLIENTS = {
    "openai": COMMON,
    "anthropic": COMMON,
    "go": [],
    "few": COMMON,
    "structured": ["anthropic", "instructor", "langchain-anthropic", "langchain-ollama", "langchain-openai", "litellm", "ollama", "openai", "pydantic-ai-slim[openai]"],
    "coding": ["tinker", "openai", "anthropic"],
    "ollama": ["ollama", "tinker"],
    "litellm": ["litellm", "mcp"],
    "lmeval": ["lm-eval[api]", "transformers"],
    "inspect": ["inspect-ai", "openai", "anthropic"],
    "agents": ["openai-agents"],
    "cookbook": ["tinker-cookbook", "modal"],
    "rft": ["openai", "requests", "httpx", "-trinity-rft"],
}
ALIAS = "Qwen/Qwen3-8B"  # the same model under a name for which tinker-cookbook knows a renderer
DEFAULT = ["openai", "anthropic", "go", "few"]
UNTRAINED = {"few", "structured", "coding"}  # few is the part of structured that needs no further packages

# Qwen's form of tools, as short as the shipped model's context needs it.
TEMPLATE = """{%- if tools %}{{- '<|im_start|>system\\n' }}{%- for t in tools %}{{- t.function.name + ' ' }}{%- endfor %}{{- '<tool_call><|im_end|>\\n' }}{%- endif %}
{%- for m in messages %}{{- '<|im_start|>' + m.role + '\\n' + (m.content or '') }}
{%- for c in m.tool_calls or [] %}{{- '<tool_call>\\n{"name": "' + c.function.name + '", "arguments": ' + (c.function.arguments | tojson) + '}\\n</tool_call>' }}{%- endfor %}
{{- '<|im_end|>\\n' }}{%- endfor %}
{%- if add_generation_prompt %}{{- '<|im_start|>assistant\\n' }}{%- endif %}"""


def environment(work, name):
    """The Python of an environment below work that has a client's newest packages. Clients of the same packages share it."""
    packages = CLIENTS[name]
    into = work / ("venv-" + next(n for n in CLIENTS if CLIENTS[n] == packages))
    python = into / "bin" / "python"
    uv = shutil.which("uv")
    if not python.exists():
        if uv:
            subprocess.run([uv, "venv", "-q", "--python", sys.executable, into], check=True)
        else:
            venv.create(into, with_pip=True)
    install = [uv, "pip", "install", "-q", "--python", python] if uv else [python, "-m", "pip", "install", "-q"]
    whole, alone = [p for p in packages if p[0] != "-"], [p[1:] for p in packages if p[0] == "-"]
    for more in ([whole] if whole else []) + ([["--no-deps", *alone]] if alone else []):
        subprocess.run([*install, "--upgrade", *more], check=True)
    return python


def models(work):
    """The folder of models: the shipped one with the template above, and the same in a longer context, where it is not good but answers."""
    for name in ("tools", "wide"):
        into = work / "models" / name
        shutil.rmtree(into, ignore_errors=True)
        shutil.copytree(MODEL, into)
        change(into / "tokenizer_config.json", chat_template=TEMPLATE)
        if name == "wide":
            change(into / "config.json", max_position_embeddings=1 << 18)
    return into.parent


def change(path, **members):
    path.write_text(json.dumps({**json.loads(path.read_text()), **members}))


def converted(trinity, model, work):
    """The folder that transformers reads: that of a GGUF file is written by trinity."""
    if model.is_dir():
        return model
    into = work / "converted" / model.stem
    if not into.exists():
        subprocess.run([trinity, "convert", "-c", model, "-o", into], check=True)
    return into


def go_clients(work):
    """The program with the official Go clients."""
    subprocess.run(["go", "build", "-o", work / "goclients", "."], cwd=HERE / "goclients", check=True)
    return work / "goclients"


def commands(a, work, names):
    """The command of each client, its environment made before."""
    def one(name):
        if name == "go":
            return [go_clients(work)]
        python = a.python or environment(work, name)
        return ["env", "STRUCTURED=few", python, "-B", HERE / "structured_client.py"] if name == "few" else [python, "-B", HERE / f"{name}_client.py"]
    return [one(name) for name in names]


def table(command, env):
    """The rows of what one client's checks printed, and whether all of them work."""
    p = subprocess.run(command, env=env, capture_output=True, text=True, timeout=1200)
    lines = [json.loads(line) for line in p.stdout.splitlines() if line.startswith('{"')]
    ok = p.returncode == 0 and bool(lines) and all(x["result"] == "works" for x in lines)
    if not ok:
        print(p.stdout[-2000:] + p.stderr[-6000:], file=sys.stderr)
    if not lines:
        lines = [{"route": "all", "client": str(command[-1].name), "what": "starts", "result": f"FAILED: exit status {p.returncode}"}]
    return [f"| {x['route']} | {x['client']} | {x['what']} | {x['result'].replace('|', '/')} |" for x in lines], ok


def chosen(a):
    if a.model:
        return ["lmeval"]
    names = list(CLIENTS) if a.all else a.clients.split(",")
    if unknown := [n for n in names if n not in CLIENTS]:
        sys.exit(f"run.py: no client is called {unknown[0]!r}; there are {', '.join(CLIENTS)}")
    return names


def arguments():
    a = argparse.ArgumentParser()
    a.add_argument("--trinity", type=pathlib.Path, required=True)
    a.add_argument("--work", type=pathlib.Path, required=True)
    a.add_argument("--out", type=pathlib.Path)
    a.add_argument("--clients", default=",".join(DEFAULT), help="names, with commas: " + ", ".join(CLIENTS))
    a.add_argument("--all", action="store_true", help="all of them")
    a.add_argument("--model", type=pathlib.Path, help="real weights, a folder or a GGUF file: compares log-likelihoods with transformers")
    a.add_argument("--torch", default=sys.executable, help="a Python that has torch and transformers, for --model")
    a.add_argument("--python", type=pathlib.Path, help="a Python that has the clients; none is made then")
    a.add_argument("--port", type=int, default=8139)
    return a.parse_args()


def main():
    a = arguments()
    work = a.work.resolve()
    work.mkdir(parents=True, exist_ok=True)
    todo = commands(a, work, chosen(a))
    data, trinity = work / "data", a.trinity.resolve()
    shutil.rmtree(data, ignore_errors=True)
    serving = a.model.resolve() if a.model else models(work)
    alias = f"real={serving.name.removesuffix('.gguf')}" if a.model else f"{ALIAS}=tools"
    server = Server(trinity, data, a.port, "--models", str(serving), "--alias", alias)
    server.start()
    env = server.env(CLIENTS_WORK=str(work))
    if a.model:
        folder = converted(trinity, serving, work)
        todo = [[todo[0][0], "-B", HERE / "lmeval_real.py"]]
        env.update(CLIENTS_FOLDER=str(folder), CLIENTS_TORCH=a.torch)
    else:
        env.update(CLIENTS_FOLDER=str(serving / "tools"))
    if not a.model and not set(chosen(a)) <= UNTRAINED:
        python = a.python or environment(work, "openai")
        env.update(CLIENTS_CALLS=subprocess.run([python, "-B", HERE / "trained.py"], env=env, check=True, capture_output=True, text=True).stdout.strip())
    rows, ok = ["| route | client | what | result |", "|---|---|---|---|"], True
    for command in todo:
        more, works = table(command, env)
        rows, ok = rows + more, ok and works
    server.stop()
    text = "\n".join(rows) + "\n"
    print(text)
    if a.out:
        a.out.write_text(text)
    sys.exit(0 if ok else 1)


if __name__ == "__main__":
    main()
