"""A `trinity serve` of the tests' own: started, waited for, stopped or killed."""

import os
import signal
import subprocess
import sys
import time
import urllib.request


class Server:
    """args are further flags. What the server says goes to DATA.log."""

    def __init__(self, trinity, data, port, *args):
        self.trinity, self.data, self.port, self.args, self.process = trinity, data, port, args, None
        self.url = f"http://127.0.0.1:{port}"

    def start(self):
        log = open(self.data.with_suffix(".log"), "ab")
        self.process = subprocess.Popen([self.trinity, "serve", "--addr", f"127.0.0.1:{self.port}", "--data", str(self.data), *self.args], stdout=log, stderr=log)
        for _ in range(600):
            try:
                with urllib.request.urlopen(self.url + "/healthz", timeout=1) as r:
                    if r.status == 200:
                        return
            except OSError:
                if self.process.poll() is not None:
                    sys.exit(f"trinity serve ended; see {log.name}")
                time.sleep(0.05)
        sys.exit("trinity serve does not answer")

    def stop(self, kill=False):
        self.process.send_signal(signal.SIGKILL if kill else signal.SIGINT)
        self.process.wait()

    def env(self, **more):
        """The variables of a client. Tokenizers come from the server, as from a hub, into a cache of the test's own."""
        return {**os.environ, "TINKER_BASE_URL": self.url, "TINKER_API_KEY": "tml-sdk", "HF_ENDPOINT": self.url, "HF_HOME": f"{self.data}-hub", "HF_HUB_OFFLINE": "0", **more}
