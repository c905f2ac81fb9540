"""llama.cpp's own HTTP server, through the package xllamacpp, which carries it compiled: --model FILE.gguf --port N."""

import argparse
import threading

import xllamacpp

options = argparse.ArgumentParser(description=__doc__)
options.add_argument("--model", required=True)
options.add_argument("--port", required=True, type=int)
options.add_argument("--context", type=int, default=2048, help="tokens of one sequence")
options.add_argument("--parallel", type=int, default=8, help="sequences at a time")
given = options.parse_args()

params = xllamacpp.CommonParams()
params.model.path = given.model
params.hostnames, params.port = ["127.0.0.1"], given.port
params.n_parallel = given.parallel
params.n_ctx = given.context * given.parallel
server = xllamacpp.Server(params)
print(f"xllamacpp {xllamacpp.__version__}, {xllamacpp.get_system_info()}, at {server.listening_address}", flush=True)
threading.Event().wait()
