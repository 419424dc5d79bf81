#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Trains the same run in three ranks with every launcher, and compares what they made, byte for byte.

    tests/parallel/check_launchers.py --program build/release/bin/myxtts [--torchrun PATH] [--only NAME ...]

The launchers are `myxtts launch`, PyTorch's torchrun (any torch from PyPI has it), Open MPI's mpirun, and two hosts: two
network namespaces with two ranks and one, which need root and `ip`. Takes a minute or two and needs nothing but the CPU.
"""
import argparse
import shutil
import sys
import tempfile
import time

from rank_runs import Bench, CheckFailure, Network, free_port


def by_torchrun(bench, torchrun):
    return [torchrun, "--no-python", "--nproc-per-node", "3", "--master-port", str(free_port()),
            *bench.train("torchrun")]


def by_mpirun(bench):
    return ["mpirun", "-np", "3", "--allow-run-as-root", "--oversubscribe", "-x", f"MASTER_PORT={free_port()}",
            *bench.train("mpirun")]


def on_two_hosts(bench):
    with Network(2) as network:
        one, other = network.places
        bench.finish(bench.start_ranks("hosts", "hosts", places=(one, one, other), address=network.addresses[0]))


def train_by(bench, launcher, torchrun):
    if launcher == "hosts":
        on_two_hosts(bench)
        return
    commands = {"launch": lambda: bench.launch("launch"), "torchrun": lambda: by_torchrun(bench, torchrun),
                "mpirun": lambda: by_mpirun(bench)}
    bench.finish([bench.start(launcher, commands[launcher]())])


def missing(launcher, torchrun):
    """Why a launcher cannot be used here; empty: it can."""
    if launcher == "torchrun" and shutil.which(torchrun) is None:
        return f"{torchrun} was not found; name it with --torchrun PATH"
    if launcher == "mpirun" and shutil.which("mpirun") is None:
        return "mpirun was not found; install openmpi-bin"
    if launcher == "hosts" and not Network.is_possible():
        return "network namespaces need root and ip (iproute2)"
    return ""


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", required=True)
    parser.add_argument("--torchrun", default="torchrun")
    parser.add_argument("--steps", type=int, default=12)
    parser.add_argument("--rank-timeout", type=int, default=60)
    parser.add_argument("--only", nargs="*", choices=("torchrun", "mpirun", "hosts"),
                        default=("torchrun", "mpirun", "hosts"), help="launchers to compare with launch")
    arguments = parser.parse_args()

    failures = 0
    with tempfile.TemporaryDirectory(prefix="myxtts-launchers-") as folder:
        bench = Bench(arguments.program, folder, arguments.steps, arguments.rank_timeout)
        for launcher in ("launch", *arguments.only):
            start = time.monotonic()
            try:
                if reason := missing(launcher, arguments.torchrun):
                    raise CheckFailure(reason)
                train_by(bench, launcher, arguments.torchrun)
                bench.check_same("launch", launcher)
                print(f"{launcher}: {arguments.steps} steps in {time.monotonic() - start:.1f} s, the bytes of launch",
                      flush=True)
            except CheckFailure as failure:
                failures += 1
                print(f"{launcher}: FAILED: {failure}", flush=True)
                if launcher == "launch":
                    break
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
