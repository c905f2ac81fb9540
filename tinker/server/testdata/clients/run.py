"""Runs unmodified clients against `trinity serve` and writes what works as a table: route x client x result.

    run.py --trinity bin/trinity --work DIR [--out FILE]

The model is the shipped one with a chat template that has tools, and it is trained over the Tinker API to call one, so that the answers to that are known.
Virtual environments are made below DIR the first time and kept. The server's data are new each time.
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
CLIENTS = ["openai", "anthropic"]

# Qwen's form of tools, as short as the shipped model's context needs it.
TEMPLATE = """{%- if tools %}{{- '<|im_start|>system\\n' }}{%- for t in tools %}{{- t.function.name + ' ' }}{%- endfor %}{{- '<tool_call><|im_end|>\\n' }}{%- endif %}
{%- for m in messages %}{{- '<|im_start|>' + m.role + '\\n' + (m.content or '') }}
{%- for c in m.tool_calls or [] %}{{- '<tool_call>\\n{"name": "' + c.function.name + '", "arguments": ' + (c.function.arguments | tojson) + '}\\n</tool_call>' }}{%- endfor %}
{{- '<|im_end|>\\n' }}{%- endfor %}
{%- if add_generation_prompt %}{{- '<|im_start|>assistant\\n' }}{%- endif %}"""


def environment(work):
    python = work / "venv" / "bin" / "python"
    if not python.exists():
        venv.create(work / "venv", with_pip=True)
    subprocess.run([python, "-m", "pip", "install", "-q", "--upgrade", "tinker", *CLIENTS], check=True)
    return python


def models(work):
    """The folder of models: the shipped one with the template above."""
    into = work / "models" / "tools"
    shutil.rmtree(into, ignore_errors=True)
    shutil.copytree(MODEL, into)
    path = into / "tokenizer_config.json"
    config = json.loads(path.read_text())
    config["chat_template"] = TEMPLATE
    path.write_text(json.dumps(config))
    return into.parent


def go_clients(work):
    """The program with the official Go clients."""
    subprocess.run(["go", "build", "-o", work / "goclients", "."], cwd=HERE / "goclients", check=True)
    return work / "goclients"


def main():
    a = argparse.ArgumentParser()
    a.add_argument("--trinity", type=pathlib.Path, required=True)
    a.add_argument("--work", type=pathlib.Path, required=True)
    a.add_argument("--out", type=pathlib.Path)
    a.add_argument("--python", type=pathlib.Path, help="a Python that has the clients; none is made then")
    a.add_argument("--port", type=int, default=8139)
    a = a.parse_args()
    work = a.work.resolve()
    work.mkdir(parents=True, exist_ok=True)
    python = a.python or environment(work)
    data = work / "data"
    shutil.rmtree(data, ignore_errors=True)
    server = Server(a.trinity.resolve(), data, a.port, "--models", str(models(work)))
    server.start()
    commands = [[python, "-B", HERE / f"{client}_client.py"] for client in CLIENTS] + [[go_clients(work)]]
    rows, failed = ["| route | client | what | result |", "|---|---|---|---|"], False
    for command in commands:
        p = subprocess.run(command, env=server.env(), capture_output=True, text=True, timeout=600)
        lines = [json.loads(line) for line in p.stdout.splitlines() if line.startswith("{")]
        failed |= p.returncode != 0 or not lines
        if p.returncode:
            print(p.stdout[-2000:] + p.stderr[-4000:], file=sys.stderr)
        for x in lines:
            failed |= x["result"] != "works"
            rows.append(f"| {x['route']} | {x['client']} | {x['what']} | {x['result'].replace('|', '/')} |")
    server.stop()
    text = "\n".join(rows) + "\n"
    print(text)
    if a.out:
        a.out.write_text(text)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
