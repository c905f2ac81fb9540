"""Prints what TensorBoard itself reads from the event files of a folder: pip install tensorboard; python3 read_events.py DIR.

events.golden was accepted by it before it was committed, and events.json is what it printed.
"""
import json
import sys

from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

acc = EventAccumulator(sys.argv[1], size_guidance={"scalars": 0})
acc.Reload()
print(json.dumps({tag: [[e.wall_time, e.step, e.value] for e in acc.Scalars(tag)] for tag in sorted(acc.Tags()["scalars"])}, indent=1))
