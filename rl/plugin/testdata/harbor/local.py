"""An environment and an agent of Harbor for tests: a folder of this machine, and one that asks the model in two turns.

The environment is no sandbox. Commands run here, with the folders of a container (/app, /logs, /tests) in a temporary one.
"""

import asyncio
import glob
import json
import os
import re
import shutil
import tempfile
import urllib.request

from harbor.agents.base import BaseAgent
from harbor.environments.base import BaseEnvironment, ExecResult
from harbor.environments.capabilities import EnvironmentCapabilities

INSIDE = re.compile(r"(?<![\w./])/(app|logs|tests|solution)\b")


class Folder(BaseEnvironment):
    @staticmethod
    def type():
        return "folder"

    @property
    def capabilities(self):
        return EnvironmentCapabilities()

    def _validate_definition(self):
        pass

    async def start(self, force_build):
        self.root = tempfile.mkdtemp(prefix="harbor-")
        for name in ("app", "logs/agent", "logs/verifier", "logs/artifacts", "tests"):
            os.makedirs(os.path.join(self.root, name))

    async def stop(self, delete):
        shutil.rmtree(self.root, ignore_errors=True)

    def _here(self, text):
        """A command or a script with the folders of this machine."""
        return INSIDE.sub(lambda m: f"{self.root}/{m[1]}", text)

    def _at(self, path):
        return self.root + str(path)

    async def upload_file(self, source_path, target_path):
        os.makedirs(os.path.dirname(self._at(target_path)), exist_ok=True)
        shutil.copy(source_path, self._at(target_path))

    async def upload_dir(self, source_dir, target_dir):
        shutil.copytree(source_dir, self._at(target_dir), dirs_exist_ok=True)
        for script in glob.glob(self._at(target_dir) + "/**/*.sh", recursive=True):
            with open(script) as f:
                text = self._here(f.read())
            with open(script, "w") as f:
                f.write(text)

    async def download_file(self, source_path, target_path):
        shutil.copy(self._at(source_path), target_path)

    async def download_dir(self, source_dir, target_dir):
        shutil.copytree(self._at(source_dir), target_dir, dirs_exist_ok=True)

    async def exec(self, command, cwd=None, env=None, timeout_sec=None, user=None, **_):
        p = await asyncio.create_subprocess_shell(self._here(command), cwd=self._at(cwd or "/app"), env={**os.environ, **(env or {})},
                                                  stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE)
        out, err = await asyncio.wait_for(p.communicate(), timeout_sec)
        return ExecResult(stdout=out.decode(), stderr=err.decode(), return_code=p.returncode)


class Asks(BaseAgent):
    """Writes its second answer to /app/answer.txt."""

    @staticmethod
    def name():
        return "asks"

    def version(self):
        return "1"

    async def setup(self, environment):
        pass

    async def run(self, instruction, environment, context):
        messages = [{"role": "user", "content": instruction}]
        for _ in range(2):
            said = await asyncio.to_thread(self._ask, messages)
            messages += [{"role": "assistant", "content": said}, {"role": "user", "content": "Are you sure?"}]
        with tempfile.NamedTemporaryFile("w") as f:
            f.write(said)
            f.flush()
            await environment.upload_file(f.name, "/app/answer.txt")

    def _ask(self, messages):
        env = self.extra_env
        body = json.dumps({"model": env["OPENAI_MODEL"], "messages": messages}).encode()
        request = urllib.request.Request(env["OPENAI_BASE_URL"] + "/chat/completions", body, {
            "Content-Type": "application/json", "Authorization": "Bearer " + env["OPENAI_API_KEY"]})
        with urllib.request.urlopen(request) as answer:
            return json.load(answer)["choices"][0]["message"]["content"]


class Fails(Asks):
    async def run(self, instruction, environment, context):
        return 1 / 0
