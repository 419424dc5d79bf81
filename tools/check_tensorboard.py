#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares what TensorBoard reads in a run directory with metrics.jsonl, number by number.

    tools/check_tensorboard.py RUN

Needs the package tensorboard from PyPI, which nothing else here does. Both of TensorBoard's readers
are asked: the one in Python, and the server that its page talks to.
"""
import json
import math
import pathlib
import struct
import subprocess
import sys
import tempfile

SKIPPED_BY_READERS = ("weights/",)  # histograms


def as_float32(value):
    return struct.unpack("f", struct.pack("f", value))[0]


def wanted_curves(run):
    curves = {}
    for line in (run / "metrics.jsonl").read_text(encoding="utf-8").splitlines():
        numbers = json.loads(line)
        event, step = numbers.pop("event"), numbers.pop("step")
        for name, value in numbers.items():
            value = math.nan if value is None else as_float32(value)
            curves.setdefault(f"{event}/{name}", []).append((step, value))
    return curves


def curves_in_python(run):
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
    events = EventAccumulator(str(run), size_guidance={"scalars": 0, "tensors": 0})
    events.Reload()
    return {tag: [(e.step, e.value) for e in events.Scalars(tag)] for tag in events.Tags()["scalars"]}


def curves_of_server(run):
    """The reader behind TensorBoard's page, a program of its own with other rules for restarts."""
    import grpc
    import tensorboard_data_server
    from tensorboard.data.proto import data_provider_pb2, data_provider_pb2_grpc

    with tempfile.TemporaryDirectory() as folder:
        port_file = pathlib.Path(folder) / "port"
        server = subprocess.Popen(
            [tensorboard_data_server.server_binary(), f"--logdir={run}", "--reload=once", "--port=0",
             f"--port-file={port_file}", "--die-after-stdin", "--samples-per-plugin=scalars=all"],
            stdin=subprocess.PIPE)
        try:
            while not port_file.exists() or not port_file.read_text().strip():
                if server.poll() is not None:
                    raise RuntimeError("TensorBoard's server ended early")
            channel = grpc.insecure_channel(f"localhost:{port_file.read_text().strip()}")
            provider = data_provider_pb2_grpc.TensorBoardDataProviderStub(channel)
            curves = {}
            while not curves:  # it reads in the background
                reply = provider.ReadScalars(data_provider_pb2.ReadScalarsRequest(
                    experiment_id="", plugin_filter={"plugin_name": "scalars"},
                    downsample={"num_points": 1 << 30}))
                for found_run in reply.runs:
                    for tag in found_run.tags:
                        curves[tag.tag_name] = list(zip(tag.data.step, tag.data.value))
            return curves
        finally:
            server.stdin.close()
            server.wait()


def differences(wanted, found):
    for tag in sorted(wanted.keys() | found.keys()):
        if tag.startswith(SKIPPED_BY_READERS):
            continue
        a, b = wanted.get(tag, []), found.get(tag, [])
        same = len(a) == len(b) and all(
            x[0] == y[0] and (x[1] == y[1] or math.isnan(x[1]) and math.isnan(y[1])) for x, y in zip(a, b))
        if not same:
            yield f"{tag}: metrics.jsonl has {a[:6]}... ({len(a)}), TensorBoard {b[:6]}... ({len(b)})"


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    run = pathlib.Path(sys.argv[1])
    wanted = wanted_curves(run)
    failed = False
    for reader in (curves_in_python, curves_of_server):
        faults = list(differences(wanted, reader(run)))
        failed |= bool(faults)
        points = sum(len(curve) for curve in wanted.values())
        print(f"{reader.__name__}: {len(wanted)} curves, {points} numbers, {len(faults)} curves differ")
        for fault in faults:
            print("  " + fault)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
