#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Loses one of three ranks at random moments, and checks that the run ends everywhere and resumes to the same bits.

    tests/parallel/check_failures.py --program build/release/bin/myxtts [--count 30] [--seed 1] [--rank-timeout 10]

In turn a rank is killed (SIGKILL), stopped (SIGSTOP), and disconnected (the cable of its host is pulled: three network
namespaces on a bridge, which need root and `ip`). Killed and stopped ranks are, in turn, those of `myxtts launch` and ones
that were started one by one, each on a host of its own. Each time

 - every other process ends within --rank-timeout and five seconds, not with 0, and names the rank that was lost;
   of `launch` nothing is left, and a rank that lost its network ends too;
 - the newest checkpoint is whole;
 - the run, resumed in three ranks, comes to the checkpoint of a run that nothing happened to, byte for byte.

The seed makes the ranks and moments; --keep leaves the folder of runs for a look. Takes about half a minute a loss.
"""
import argparse
import os
import pathlib
import random
import shutil
import signal
import sys
import tempfile
import time

from rank_runs import Bench, CheckFailure, Network, clean_up_when_terminated, descendants, is_running, rank_of

RANKS = 3
GRACE = 5  # seconds after --rank-timeout


class Loss:
    """One rank that is lost, at one moment."""

    def __init__(self, number, kind, by_launch, rank, moment):
        self.number = number
        self.kind = kind
        self.by_launch = by_launch
        self.rank = rank
        self.moment = moment
        self.name = f"loss-{number}"

    def __str__(self):
        how = "of launch" if self.by_launch else "on a host of its own"
        return f"{self.number}: rank {self.rank} {how} {self.kind} after {self.moment:.2f} s"


def draw_losses(count, seed, duration, kinds):
    draw = random.Random(seed)
    for number in range(count):
        kind = kinds[number % len(kinds)]
        by_launch = kind != "disconnected" and number // len(kinds) % 2 == 0
        yield Loss(number, kind, by_launch, draw.randrange(RANKS), draw.uniform(0.05, 0.95) * duration)


def lose(loss, process, network):
    """process is the number of the lost rank's process."""
    if loss.kind == "disconnected":
        network.disconnect(loss.rank)
    else:
        signal_number = signal.SIGKILL if loss.kind == "killed" else signal.SIGSTOP
        try:
            os.kill(process, signal_number)
        except ProcessLookupError:
            pass


def rank_process(launcher, rank):
    """The process of a rank that launch has started; waits for it."""
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline and not launcher.has_ended():
        for process in descendants(launcher.number):
            if rank_of(process) == rank:
                return process
        time.sleep(0.01)
    raise CheckFailure(f"launch has started no rank {rank}:\n{launcher.said()[-2000:]}")


def check_names(process, rank):
    if f"rank {rank}" not in process.said().lower():
        raise CheckFailure(f"{process.title} does not name rank {rank}:\n{process.said()[-2000:]}")


def check_ended(process, lost_at, limit):
    """Gives how long it took."""
    if not process.ends_by(lost_at + limit):
        raise CheckFailure(f"{process.title} still ran {limit} s after the loss:\n{process.said()[-2000:]}")
    if process.code == 0:
        raise CheckFailure(f"{process.title} ended with 0 after a loss:\n{process.said()[-2000:]}")
    return process.ended_at - lost_at


def was_over(bench, loss, ranks, deadline):
    """Whether the last step was trained already, so that nobody missed the lost rank."""
    others = [rank for number, rank in enumerate(ranks) if number != loss.rank]
    return (all(rank.ends_by(deadline) and rank.code == 0 for rank in others)
            and bench.check_newest_is_whole(loss.name) == bench.steps)


def lose_of_launch(bench, loss, limit):
    launcher = bench.start(loss.name, bench.launch(loss.name, ranks=RANKS))
    try:
        start = time.monotonic()
        lost = rank_process(launcher, loss.rank)
        ranks = [rank_process(launcher, rank) for rank in range(RANKS)]
        if launcher.ends_by(start + loss.moment):
            return None  # it was faster this time
        lost_at = time.monotonic()
        lose(loss, lost, None)
        took = check_ended(launcher, lost_at, limit)
        check_names(launcher, loss.rank)
        if left := [process for process in ranks if is_running(process)]:
            raise CheckFailure(f"{launcher.title} has left processes {left} behind.")
        return took
    finally:
        launcher.kill()


def lose_of_hosts(bench, loss, network, limit):
    ranks = bench.start_ranks(loss.name, loss.name, places=tuple(network.places), address=network.addresses[0])
    try:
        if ranks[loss.rank].ends_by(time.monotonic() + loss.moment):
            bench.finish(ranks)
            return None
        lost_at = time.monotonic()
        lose(loss, ranks[loss.rank].number, network)  # `ip netns exec` has become the program
        if was_over(bench, loss, ranks, lost_at + limit):
            return None
        took = [check_ended(rank, lost_at, limit) for number, rank in enumerate(ranks)
                if number != loss.rank or loss.kind == "disconnected"]
        for number, rank in enumerate(ranks):
            if number != loss.rank:
                check_names(rank, loss.rank)
        return max(took)
    finally:
        for rank in ranks:
            rank.kill()
        network.connect(loss.rank)


def resume(bench, loss):
    step = bench.check_newest_is_whole(loss.name)
    resumed = bench.start(f"{loss.name}-resumed", bench.launch(loss.name, "--resume", ranks=RANKS))
    bench.finish([resumed])
    if "is damaged" in resumed.said():
        raise CheckFailure(f"a checkpoint was damaged:\n{resumed.said()[-2000:]}")
    bench.check_same("whole", loss.name)
    return step


def check(bench, loss, network, limit):
    """Gives what was seen, in words."""
    took = lose_of_launch(bench, loss, limit) if loss.by_launch else lose_of_hosts(bench, loss, network, limit)
    step = resume(bench, loss)
    bench.forget(loss.name)
    if took is None:
        return "it had ended before"
    return f"all ended after {took:.2f} s, resumed from step {step}, same bits"


def measure_whole(bench):
    """The run that nothing happens to; gives how long it takes."""
    start = time.monotonic()
    bench.finish([bench.start("whole", bench.launch("whole", ranks=RANKS))])
    return time.monotonic() - start


def run_all(arguments, folder, network):
    bench = Bench(arguments.program, folder, arguments.steps, arguments.rank_timeout)
    duration = measure_whole(bench)
    print(f"undisturbed: {arguments.steps} steps in {duration:.1f} s", flush=True)
    failures = 0
    for loss in draw_losses(arguments.count, arguments.seed, duration, arguments.kinds):
        try:
            print(f"{loss}: {check(bench, loss, network, arguments.rank_timeout + GRACE)}", flush=True)
        except CheckFailure as failure:
            failures += 1
            print(f"{loss}: FAILED: {failure}", flush=True)
    print(f"{arguments.count - failures} of {arguments.count} losses as they should be", flush=True)
    return failures


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", required=True)
    parser.add_argument("--count", type=int, default=30)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--rank-timeout", type=int, default=10)
    parser.add_argument("--steps", type=int, default=30)
    parser.add_argument("--kinds", nargs="*", choices=("killed", "stopped", "disconnected"),
                        default=("killed", "stopped", "disconnected"))
    parser.add_argument("--keep", action="store_true", help="leaves the folder of runs")
    arguments = parser.parse_args()
    clean_up_when_terminated()
    if not Network.is_possible():
        parser.error("network namespaces need root and ip (iproute2)")
    folder = pathlib.Path(tempfile.mkdtemp(prefix="myxtts-failures-"))
    try:
        with Network(RANKS) as network:
            failures = run_all(arguments, folder, network)
    except CheckFailure as failure:
        failures = 1
        print(f"the run that nothing happens to: FAILED: {failure}")
    finally:
        if arguments.keep:
            print(f"the runs are in {folder}")
        else:
            shutil.rmtree(folder)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
