"""Servers of others, of the checks' own: SkyRL's Tinker server on JAX and TuFT's CPU test server. Each is started in a process group of its
own, waited for, stopped, or killed as a whole; where it keeps its data stays, so that a start behind a kill is a restart."""

import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request

KEY = "tml-foreign"


class Server:
    name = version = ""
    trains = True  # its saved states hold weights

    def __init__(self, home, port):
        self.home, self.port, self.process = pathlib.Path(home), port, None
        self.url = f"http://127.0.0.1:{port}"
        shutil.rmtree(self.home, ignore_errors=True)
        self.home.mkdir(parents=True)

    def command(self):
        raise NotImplementedError

    def start(self):
        args, env = self.command()
        log = open(self.home / "log", "ab")
        self.process = subprocess.Popen(args, stdout=log, stderr=log, cwd=self.home, env={**os.environ, **env}, start_new_session=True)
        for _ in range(1200):
            if self.ready():
                return
            if self.process.poll() is not None:
                sys.exit(f"{self.name} ended; see {log.name}")
            time.sleep(0.1)
        sys.exit(f"{self.name} does not answer; see {log.name}")

    def ready(self):
        try:
            return self.call("GET", "/healthz")[0] == 200
        except OSError:
            return False

    def kill(self):
        """kill -9 of the server and of what it started."""
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def call(self, method, path, body=None):
        """The status and the body of an answer."""
        data = None if body is None else json.dumps(body).encode()
        r = urllib.request.Request(self.url + "/api/v1" + path, data, {"Content-Type": "application/json", "X-API-Key": KEY}, method=method)
        try:
            with urllib.request.urlopen(r, timeout=600) as a:
                return a.status, a.read().decode(errors="replace")
        except urllib.error.HTTPError as e:
            return e.code, e.read().decode(errors="replace")


class SkyRL(Server):
    """max_lora_adapters counts the base model's: 4 leave room for three models."""

    name = "SkyRL on JAX"

    def __init__(self, python, home, port, model):
        super().__init__(home, port)
        self.python, self.model = python, model
        self.version = version(python, "skyrl")

    def command(self):
        bin = self.python.parent
        args = [bin / "uv", "run", "--no-project", "--active", "-m", "skyrl.tinker.api", "--base-model", self.model, "--backend", "jax",
                "--backend-config", json.dumps({"max_lora_adapters": 4, "max_lora_rank": 32}), "--checkpoints-base", self.home / "checkpoints",
                "--database-url", f"sqlite:///{self.home}/tinker.db", "--host", "127.0.0.1", "--port", str(self.port)]
        return args, {"VIRTUAL_ENV": str(bin.parent), "PATH": f"{bin}:{os.environ['PATH']}", "JAX_PLATFORMS": "cpu", "HF_HUB_OFFLINE": "1",
                      "JAX_COMPILATION_CACHE_DIR": str(self.home.parent / "jax-cache")}


class TuFT(Server):
    """With persistence "FILE" it keeps its records through a restart, without, in memory only. The CPU test server's model is a toy, and the
    states that it saves are empty."""

    trains = False

    def __init__(self, python, home, port, model, persistence):
        super().__init__(home, port)
        self.python, self.model, self.name = python, model, f"TuFT, persistence {persistence or 'off'}"
        self.version = version(python, "tuft")
        lines = ["supported_models:", f"  - model_name: {model}", f"    model_path: {model}", "    max_model_len: 512", "    max_lora_rank: 32",
                 f"checkpoint_dir: {self.home}/checkpoints", "authorized_users:", f"  {KEY}: tester"]
        if persistence:
            lines += ["persistence:", f"  mode: {persistence}", f"  file_path: {self.home}/state.json"]
        (self.home / "tuft.yaml").write_text("\n".join(lines) + "\n")

    def command(self):
        args = [self.python, "-m", "tuft", "launch", "--port", str(self.port), "--config", self.home / "tuft.yaml"]
        return args, {"TUFT_CPU_TEST": "1", "TUFT_HOME": str(self.home), "HF_HUB_OFFLINE": "1"}


class Trinity(Server):
    name = "trinity serve"

    def __init__(self, trinity, home, port, model):
        super().__init__(home, port)
        self.trinity, self.model = trinity, model
        self.version = subprocess.run([trinity, "version"], capture_output=True, text=True).stdout.split("\n")[0].replace("trinity ", "")

    def command(self):
        return [self.trinity, "serve", "--addr", f"127.0.0.1:{self.port}", "--data", self.home / "data", "--models", self.model, "--alias", f"{self.model}={self.model.name}"], {}

    def ready(self):
        try:
            with urllib.request.urlopen(self.url + "/healthz", timeout=1) as r:
                return r.status == 200
        except OSError:
            return False


def version(python, package):
    return subprocess.run([python, "-c", f"import importlib.metadata as m; print(m.version('{package}'))"], capture_output=True, text=True, check=True).stdout.strip()


SKYRL = ["skyrl[jax,tinker]==0.4.0", "uv", "aiohttp"]  # which imports aiohttp without asking for it
# TuFT asks for vLLM, Ray and a torch of its own for its GPU workers; its CPU test server needs none of them, and takes SkyRL's torch.
TUFT = ["fastapi[standard]>=0.133,<0.137", "omegaconf>=2.3", "nvidia-ml-py>=13", "opentelemetry-exporter-otlp", "opentelemetry-instrumentation-fastapi",
        "opentelemetry-instrumentation-logging", "opentelemetry-sdk", "tinker>=0.25,<0.26", "redis>=5"]


def environment(home, base):
    """The Python of an environment with both servers, made the first time."""
    python = home / "bin" / "python"
    if not python.exists():
        new = home.with_name(home.name + ".new")
        shutil.rmtree(new, ignore_errors=True)
        subprocess.run([base, "-m", "venv", new], check=True)
        for what in (SKYRL, TUFT, ["--no-deps", "tuft==0.2.2"]):
            subprocess.run([new / "bin" / "python", "-m", "pip", "install", "-q", *what], check=True)
        new.rename(home)
    return python


def base_python():
    """A Python that SkyRL 0.4 runs on: 3.12 to 3.14."""
    found = [sys.executable, *(shutil.which(f"python3.{v}") for v in (12, 13, 14)), *sorted(map(str, pathlib.Path.home().glob(".pyenv/versions/3.1[234]*/bin/python3")))]
    for python in found:
        if python and subprocess.run([python, "-c", "import sys; sys.exit(not (3, 12) <= sys.version_info < (3, 15))"], capture_output=True).returncode == 0:
            return python
    sys.exit("SkyRL 0.4 needs Python 3.12 to 3.14; name one with PYTHON=…")
