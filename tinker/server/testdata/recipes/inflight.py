"""Runs a module of tinker-cookbook, unmodified, with samplers of kind inflight: inflight.py MODULE ARGUMENTS

Releases up to 0.6.1 have no argument for it and get snapshots, so the SDK's call has the other default here.
"""

import functools
import runpy
import sys

import tinker

client = tinker.TrainingClient
client.save_weights_and_get_sampling_client = functools.partialmethod(client.save_weights_and_get_sampling_client, kind="inflight")
runpy.run_module(sys.argv.pop(1), run_name="__main__", alter_sys=True)
