#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares what TensorBoard itself reads of a run with the run's metrics.jsonl, number by number.

    python tests/golden/check_tensorboard.py RUN

Needs the package tensorboard from PyPI, which nothing else here does. RUN may have been interrupted and resumed: what
the later event file tells TensorBoard to forget must be what was cut from metrics.jsonl. Exits 1 when a number is
missing on either side or differs by more than the rounding of event files, which hold single precision.
"""
import json
import pathlib
import sys

import numpy
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tensorboard.util import tensor_util


def from_metrics(file):
    """(curve, step) -> value, where not finite is None."""
    values = {}
    for line in file.read_text(encoding="utf-8").splitlines():
        moment = json.loads(line)
        event, step = moment.pop("event"), moment.pop("step")
        for name, value in moment.items():
            key = (f"{event}/{name}", step)
            if key in values:
                sys.exit(f"{file} tells {key[0]} of step {step} twice")
            values[key] = value
    return values


def from_tensorboard(run):
    """The same, as TensorBoard reads the event files."""
    accumulator = EventAccumulator(str(run), size_guidance={"scalars": 0, "tensors": 0}).Reload()
    values = {}
    tags = accumulator.Tags()
    for tag in tags["scalars"]:
        for event in accumulator.Scalars(tag):
            values[tag, event.step] = event.value
    for tag in tags["tensors"]:  # scalars of the newer form
        for event in accumulator.Tensors(tag):
            number = tensor_util.make_ndarray(event.tensor_proto)
            if number.ndim == 0:
                values[tag, event.step] = float(number)
    return {key: float(value) if numpy.isfinite(value) else None for key, value in values.items()}


def same(one, other):
    return one == other if one is None or other is None else numpy.float32(one) == numpy.float32(other)


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__.strip())
    run = pathlib.Path(sys.argv[1])
    told, shown = from_metrics(run / "metrics.jsonl"), from_tensorboard(run)
    faults = [f"{curve} of step {step}: only in metrics.jsonl" for curve, step in sorted(told.keys() - shown.keys())]
    faults += [f"{curve} of step {step}: only in TensorBoard" for curve, step in sorted(shown.keys() - told.keys())]
    faults += [f"{curve} of step {step}: {told[curve, step]} in metrics.jsonl, {shown[curve, step]} in TensorBoard"
               for curve, step in sorted(told.keys() & shown.keys()) if not same(told[curve, step], shown[curve, step])]
    for fault in faults[:20]:
        print(fault)
    files = len(list(run.glob("events.out.tfevents.*")))
    print(f"{len(told)} numbers of {len({curve for curve, _ in told})} curves in metrics.jsonl, {len(shown)} in {files} event "
          f"files: {'all equal' if told and not faults else f'{len(faults)} faults'}")
    return 0 if told and not faults else 1


if __name__ == "__main__":
    sys.exit(main())
