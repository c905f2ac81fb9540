"""Coding agents in a terminal, of npm: one turn each of a model that knows nothing of it. The first request, with all tools, must be taken."""

import json
import os
import pathlib
import subprocess

from checks import KEY, URL, report

WORK = pathlib.Path(os.environ["CLIENTS_WORK"]).resolve() / "npm"
CONFIG = f"""model = "wide"
model_provider = "local"
[model_providers.local]
name = "local"
base_url = "{URL}/v1"
env_key = "LOCAL_KEY"
wire_api = "responses"
request_max_retries = 0
stream_max_retries = 0
"""


def run(*command, **env):
    home = WORK / "home"
    home.mkdir(parents=True, exist_ok=True)
    p = subprocess.run(command, cwd=home, env={**os.environ, "HOME": str(home), **env}, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=900)
    return p.returncode, p.stdout, p.stderr


def version(name):
    return json.loads((WORK / "node_modules" / name / "package.json").read_text())["version"]


def codex():
    (WORK / "codex").mkdir(exist_ok=True)
    (WORK / "codex" / "config.toml").write_text(CONFIG)
    code, out, err = run(WORK / "node_modules/.bin/codex", "exec", "--skip-git-repo-check", "--json", "Say hi.", CODEX_HOME=str(WORK / "codex"), LOCAL_KEY=KEY)
    kinds = [json.loads(line)["type"] for line in out.splitlines() if line.startswith("{")]
    if "turn.completed" not in kinds:
        raise AssertionError(f"exit status {code}: {out[-500:]} {err[-500:]}")


def claude():
    code, out, err = run(WORK / "node_modules/.bin/claude", "-p", "Say hi.", "--model", "wide", "--output-format", "json", ANTHROPIC_BASE_URL=URL, ANTHROPIC_API_KEY=KEY,
        CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC="1", CLAUDE_CODE_MAX_OUTPUT_TOKENS="60")
    said = json.loads(out.splitlines()[-1]) if out.strip() else {}
    if said.get("subtype") != "success" or said.get("is_error") and "output token maximum" not in str(said.get("result")):
        raise AssertionError(f"exit status {code}: {out[-800:]} {err[-500:]}")


if __name__ == "__main__":
    subprocess.run(["npm", "install", "--prefix", WORK, "--no-audit", "--no-fund", "--silent", "@openai/codex@latest", "@anthropic-ai/claude-code@latest"], check=True,
        stdout=subprocess.DEVNULL)
    subprocess.run(["node", WORK / "node_modules/@anthropic-ai/claude-code/install.cjs"], check=True, stdout=subprocess.DEVNULL)
    report("Codex CLI " + version("@openai/codex"), [("responses", "a turn with all its tools", codex)])
    report("Claude Code " + version("@anthropic-ai/claude-code"), [("messages", "a turn with all its tools", claude)])
