"""vLLM's own HTTP server on all processors: --model FOLDER --port N. Its CPU build leaves one processor idle where nobody says otherwise."""

import os
import runpy

os.environ.setdefault("VLLM_CPU_KVCACHE_SPACE", "3")  # GiB
os.environ.setdefault("VLLM_NO_USAGE_STATS", "1")
os.environ.setdefault("VLLM_CPU_OMP_THREADS_BIND", f"0-{os.cpu_count() - 1}")
os.environ.setdefault("OMP_NUM_THREADS", str(os.cpu_count()))

if __name__ == "__main__":
    runpy.run_module("vllm.entrypoints.openai.api_server", run_name="__main__", alter_sys=True)
