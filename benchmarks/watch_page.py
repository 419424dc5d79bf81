#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The page of `myxtts watch` in a real browser: how soon it is there, what memory it takes, whether it shows what metrics.jsonl holds.

    benchmarks/make_long_run.py /tmp/runs/long
    benchmarks/watch_page.py --program build/release/bin/myxtts /tmp/runs/long [--rounds 5] [--cores 2]
    benchmarks/watch_page.py --program build/release/bin/myxtts /tmp/runs/long --pictures FOLDER

Without --pictures it measures, and ends with 1 where the browser complains, a value differs, or report.html asks anybody for anything. Server and
browser share --cores. Times to the first paint are the browser's own; "cold" is a server that has not read the run yet. Where others keep the
machine busy, the processor time tells more: what all processes of browser and server computed together until the first paint. Memory is that of the
browser's process for the page, after every tab was looked at and the curves were zoomed into: `proportional` counts pages that processes share in
parts, `private` leaves them out. What --pictures makes is to be looked at: every view of the runs beside the one named, on a phone, a tablet and a
screen, in light and dark, in English and Persian.
"""
import argparse
import base64
import json
import os
import pathlib
import random
import re
import statistics
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "tests/serve"))
from browser import Browser  # noqa: E402

TABS = ("curves", "pipeline", "samples", "clips", "settings", "checkpoints", "log")
WIDTHS = (360, 1024, 1600)
WINDOWS = 20           # pieces of the run whose values are compared one by one
WINDOW = 500           # steps
READ_LIMIT = 120       # seconds


class Server:
    def __init__(self, program, *arguments):
        self.process = subprocess.Popen([program, "watch", *arguments, "--port", "0"], stderr=subprocess.PIPE, text=True)
        line = next(line for line in self.process.stderr if "listening at" in line)
        self.address = re.search(r"http://\S+", line)[0]

    def close(self):
        self.process.terminate()
        self.process.communicate(timeout=20)


def processes_of(browser):
    session, browser.session = browser.session, None
    processes = browser.send("SystemInfo.getProcessInfo")["processInfo"]
    browser.session = session
    return processes


def processor_seconds(browser, server):
    """What each process of the browser, and the server, had of the processors so far."""
    seconds = {process["id"]: process["cpuTime"] for process in processes_of(browser)}
    if server:
        fields = pathlib.Path(f"/proc/{server.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        seconds[server.process.pid] = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    return seconds


def opened(browser, address, server=None):
    """Milliseconds to the first paint, those of processor time until then, and milliseconds until the curves of the run are there."""
    browser.open("about:blank")
    browser.events.clear()
    before = processor_seconds(browser, server)
    browser.send("Page.navigate", url=address)
    browser.wait_for_event("Page.lifecycleEvent", name="firstContentfulPaint")
    computed = 1000 * sum(seconds - before.get(process, 0) for process, seconds in processor_seconds(browser, server).items())
    began = time.monotonic()
    while not browser.evaluate("Boolean(window.myxtts?.curve('train/loss'))"):
        if time.monotonic() - began > READ_LIMIT:
            raise SystemExit("the curves of the run did not come")
    shown = browser.evaluate("performance.now()")
    return browser.evaluate("performance.getEntriesByName('first-contentful-paint')[0].startTime"), computed, shown


def page_memory(browser):
    """Megabytes of the largest process that draws pages."""
    found = []
    for process in processes_of(browser):
        if process["type"] != "renderer":
            continue
        text = pathlib.Path(f"/proc/{process['id']}/smaps_rollup").read_text()
        kilobytes = {name: int(value) for name, value in re.findall(r"^(\w+):\s+(\d+) kB", text, re.MULTILINE)}
        found.append({"resident": kilobytes["Rss"], "proportional": kilobytes["Pss"],
                      "private": kilobytes["Private_Clean"] + kilobytes["Private_Dirty"]})
    return {name: round(value / 1000, 1) for name, value in max(found, key=lambda one: one["proportional"]).items()}


def look_at_everything(browser, run):
    for tab in TABS:
        browser.evaluate(f"location.hash = '{run}tab={tab}'")
        browser.wait_for(f"!document.getElementById('{tab}-view').hidden && document.getElementById('{tab}-view').textContent.length > 40")
    browser.evaluate(f"location.hash = '{run}tab=curves'")


def differing(browser, lines):
    """How many values were compared, and those that the page has otherwise."""
    train = {line["step"]: line["loss"] for line in lines if line["event"] == "train"}
    validation = {line["step"]: line["loss"] for line in lines if line["event"] == "validation"}
    curve = browser.evaluate("(c => c && {x: c.x, y: c.y})(myxtts.curve('validation/loss'))")
    pairs = [(validation, dict(zip(curve["x"], curve["y"])))]
    draw = random.Random(1)
    last = max(train)
    for _ in range(WINDOWS):
        first = draw.randrange(1, last - WINDOW)
        browser.evaluate(f"myxtts.span.zoom([{first}, {first + WINDOW}])")
        browser.wait_for(f"(c => !c.least && c.x.includes({first}))(myxtts.curve('train/loss'))")
        curve = browser.evaluate("(c => ({x: c.x, y: c.y.map(v => Number.isNaN(v) ? null : v)}))(myxtts.curve('train/loss'))")
        shown = {step: value for step, value in zip(curve["x"], curve["y"]) if first <= step <= first + WINDOW}
        pairs.append(({step: train[step] for step in range(first, first + WINDOW + 1) if step in train}, shown))
    browser.evaluate("myxtts.span.zoom(null)")
    return sum(len(wanted) for wanted, _ in pairs), [[wanted, shown] for wanted, shown in pairs if wanted != shown]


def requests_of(browser, own):
    asked = [event["params"]["request"]["url"] for event in browser.events if event["method"] == "Network.requestWillBeSent"]
    return [url for url in asked if not url.startswith(("data:", "blob:", own))]


def measure_report(arguments, browser):
    began = time.monotonic()
    subprocess.run([arguments.program, "watch", "--report", arguments.run], check=True, capture_output=True)
    seconds = time.monotonic() - began
    report = arguments.run / "report.html"
    paint, computed, _ = opened(browser, report.as_uri())
    look_at_everything(browser, "#")
    return {"megabytes": round(report.stat().st_size / 1e6, 2), "seconds_to_write": round(seconds, 1), "first_paint_ms": round(paint),
            "processor_ms_to_first_paint": round(computed), "memory_megabytes": page_memory(browser), "requests": requests_of(browser, report.as_uri())}


def measure(arguments, browser):
    place = f"/?lang=en#run={arguments.run.name}"
    empty = page_memory(browser)
    cold, warm = [], []
    for _ in range(arguments.rounds):
        server = Server(arguments.program, arguments.run)
        for found in (cold, warm):
            found.append(opened(browser, server.address.rstrip("/") + place, server))
        browser.open("about:blank")
        server.close()
    server = Server(arguments.program, arguments.run)
    opened(browser, server.address.rstrip("/") + place)
    browser.wait_for("myxtts.curve('validation/loss')")
    with open(arguments.run / "metrics.jsonl") as file:
        lines = [json.loads(line) for line in file]
    compared, wrong = differing(browser, lines)
    look_at_everything(browser, f"#run={arguments.run.name}&")
    memory = page_memory(browser)
    heap = round(browser.send("Runtime.getHeapUsage")["usedSize"] / 1e6, 1)
    browser.open("about:blank")
    server.close()
    report = measure_report(arguments, browser)
    columns = ("first_paint_ms", "processor_ms_to_first_paint", "curves_there_ms")
    times = {name: {column: [round(one[i]) for one in found] for i, column in enumerate(columns)} for name, found in (("cold", cold), ("warm", warm))}
    return {"steps": max(line["step"] for line in lines), "lines": len(lines), **times,
            **{f"median_{columns[i]}": round(statistics.median(one[i] for one in cold + warm)) for i in (0, 1)},
            "memory_megabytes": memory, "memory_of_an_empty_page": empty, "script_heap_megabytes": heap,
            "values_compared": compared, "values_that_differ": wrong,
            "complaints": browser.complaints, "report": report, "cores": arguments.cores, "load": round(os.getloadavg()[0], 1)}


def photograph(browser, path):
    """The whole page, which is made as high as its content, so that all of it is drawn."""
    width = browser.evaluate("innerWidth")
    for _ in range(2):
        browser.resize(width, max(600, browser.evaluate("Math.ceil(document.body.getBoundingClientRect().bottom)")))
        time.sleep(0.4)
    picture = browser.send("Page.captureScreenshot", format="png")["data"]
    path.write_bytes(base64.b64decode(picture))


def take_pictures(arguments, browser):
    server = Server(arguments.program, arguments.run.parent)
    browser.open(server.address)
    browser.wait_for("document.querySelector('#run-table a')")
    runs = browser.evaluate("ask('/api/runs').then(({runs}) => runs.map(run => encodeURIComponent(run.id)))")
    mine = arguments.run.name
    views = {"overview": ""} | {tab: f"#run={mine}&tab={tab}" for tab in TABS}
    for count in (2, 8):
        if len(runs) >= count:
            views[f"compare-{count}"] = f"#compare={','.join(runs[:count])}"
    report = arguments.run / "report.html"
    if report.exists():
        views |= {f"report-{tab}": f"#tab={tab}" for tab in ("curves", "samples")}
    arguments.pictures.mkdir(parents=True, exist_ok=True)
    for lang in arguments.languages:
        for scheme in arguments.schemes:
            browser.prefer(prefers_color_scheme=scheme)
            for name, place in views.items():
                if arguments.views and name not in arguments.views:
                    continue
                address = report.as_uri() if name.startswith("report-") else server.address
                browser.open("about:blank")
                browser.open(f"{address}?lang={lang}{place}")
                for width in WIDTHS:
                    browser.resize(width)
                    time.sleep(1.5)
                    photograph(browser, arguments.pictures / f"{name}-{lang}-{scheme}-{width}.png")
    server.close()
    print(f"{len(list(arguments.pictures.glob('*.png')))} pictures in {arguments.pictures}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=pathlib.Path, help="a run directory; its neighbours are in the overview of --pictures")
    parser.add_argument("--program", type=pathlib.Path, required=True)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--cores", type=int, default=2)
    parser.add_argument("--pictures", type=pathlib.Path)
    parser.add_argument("--languages", nargs="+", default=["en", "fa"])
    parser.add_argument("--schemes", nargs="+", default=["light", "dark"])
    parser.add_argument("--views", nargs="+", help="of --pictures; all where none is named")
    arguments = parser.parse_args()
    arguments.run = arguments.run.resolve()
    os.sched_setaffinity(0, set(sorted(os.sched_getaffinity(0))[:arguments.cores]))
    with tempfile.TemporaryDirectory() as scratch:
        browser = Browser(scratch)
        browser.send("Network.enable")
        browser.send("Page.setLifecycleEventsEnabled", enabled=True)
        browser.resize(1600)
        if arguments.pictures:
            take_pictures(arguments, browser)
            found = {}
        else:
            found = measure(arguments, browser)
            print(json.dumps(found, indent=1))
        browser.close()
    if found and (found["complaints"] or found["values_that_differ"] or found["report"]["requests"]):
        sys.exit(1)


if __name__ == "__main__":
    main()
