#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The page of `myxtts watch` in a real browser, against the built program: a run of 100,000 steps, a training that goes on, and broken runs.

usage: tests/watch/page_test.py      MYXTTS_BUILD=build/release

Ends with 77, which CTest takes for skipped, where there is no chromium.
"""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.request

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "serve"))
from browser import CHROMIUM, KEYS, Browser  # noqa: E402
from made_runs import LONG_STEPS, write_corpus, write_judged_run, write_long_run, write_run  # noqa: E402

BUILD = pathlib.Path(os.environ.get("MYXTTS_BUILD", pathlib.Path(__file__).resolve().parents[2] / "build/release")).resolve()
PROGRAM = BUILD / "bin/myxtts"
TABS = ("curves", "pipeline", "samples", "clips", "settings", "checkpoints", "log")
USED = ("button", "textbox", "searchbox", "combobox", "slider", "checkbox", "tab", "tabpanel", "link", "application", "log")  # roles that need a name
KEY = "swordfish"
KEYS.update({"Home": 36, "End": 35, "+": 187, "0": 48})


class Server:
    """The program on a port of its own, until close()."""

    def __init__(self, *arguments, port=0):
        self.process = subprocess.Popen([PROGRAM, "watch", *arguments, "--port", str(port)], stderr=subprocess.PIPE, text=True)
        for line in self.process.stderr:
            found = re.search(r"listening at (http://\S+:(\d+)/)", line)
            if found:
                self.address, self.port = found[1], int(found[2])
                return
        raise RuntimeError("the server did not start")

    def close(self):
        self.process.terminate()
        self.process.communicate(timeout=20)


def setUpModule():
    global folder, runs, browser, server, long_lines, training
    folder = pathlib.Path(unittest.enterModuleContext(tempfile.TemporaryDirectory()))
    runs = folder / "runs"
    write_corpus(folder / "corpus")
    training = subprocess.Popen(
        [PROGRAM, "train", "--quiet", "--device", "cpu", "--model-size", "tiny", "--train-data", folder / "corpus", "--checkpoint-dir", runs / "live",
         "--batch-size", "4", "--val-fraction", "0.2", "--log-steps", "1", "--max-steps", "8", "--eval-steps", "4", "--samples", "1",
         "--model-threads", "1", "--data-threads", "1", "--max-skipped", "0.2"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    unittest.addModuleCleanup(training.kill)
    long_lines = write_long_run(runs / "long")
    write_run(folder / "few/short", 20)
    server = Server(runs)
    unittest.addModuleCleanup(server.close)
    urllib.request.urlopen(server.address + "api/run?id=long", timeout=120).close()  # read once: on a busy machine that alone may take a while
    browser = Browser(folder / "browser")
    unittest.addModuleCleanup(browser.close)
    browser.send("Network.enable")


def trained():
    """The run that the program itself made, once it is whole."""
    if training.wait(150):
        raise RuntimeError((runs / "live/log.txt").read_text())
    return runs / "live"


def lines_of(run, event):
    lines = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    return [line for line in lines if line["event"] == event]


def text_of(name):
    return browser.evaluate(f"document.getElementById('{name}').textContent")


def chart(name):
    return f"document.querySelector('#charts [data-chart={name}]')"


def mouse(kind, x, y):
    browser.send("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1, buttons=int(kind != "mouseReleased"))


def luminance(colour):
    parts = [int(part) / 255 for part in re.findall(r"\d+", colour)[:3]]
    return sum(weight * (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4)
               for weight, part in zip((0.2126, 0.7152, 0.0722), parts))


def contrast(one, other):
    """As WCAG has it; 4.5 is its least for text."""
    dark, light = sorted((luminance(one), luminance(other)))
    return (light + 0.05) / (dark + 0.05)


class Page(unittest.TestCase):
    def setUp(self):
        browser.resize(1600)
        browser.prefer(prefers_color_scheme="light")
        browser.complaints.clear()
        self.expected = r"^\b$"  # complaints of the browser that belong to the test

    def tearDown(self):
        self.assertEqual([line for line in browser.complaints if not re.search(self.expected, line)], [])

    def open(self, place="", lang="en", address=None):
        browser.open("about:blank")
        browser.open(f"{address or server.address}?lang={lang}{place}")

    def open_run(self, name, tab="curves", lang="en"):
        self.open(f"#run={name}&tab={tab}", lang)
        browser.wait_for("document.getElementById('run-name').textContent")

    def assertNothingIsCutOff(self, what):
        self.assertLessEqual(*browser.evaluate("[document.scrollingElement.scrollWidth, innerWidth]"), what)

    def test_a_run_of_100000_steps_opens_at_once_and_its_values_are_those_of_metrics_jsonl(self):
        self.open_run("long")
        browser.wait_for("myxtts.curve('validation/loss') && performance.getEntriesByName('first-contentful-paint').length")
        share = max(1, os.getloadavg()[0] / os.cpu_count())  # a machine that others keep busy is as much slower
        self.assertLess(browser.evaluate("performance.getEntriesByName('first-contentful-paint')[0].startTime"), 1000 * share, "ms to the first paint")
        browser.send("HeapProfiler.collectGarbage")
        self.assertLess(browser.send("Runtime.getHeapUsage")["usedSize"], 60e6)
        train, validation = ([line for line in long_lines if line["event"] == event] for event in ("train", "validation"))
        self.assertEqual(text_of("figure-loss"), f"{train[-1]['loss']:.4f}")
        best = min(validation, key=lambda line: line["loss"])
        self.assertEqual(text_of("figure-best"), f"{best['loss']:.4f} at step {best['step']:,}")
        curve = browser.evaluate("myxtts.curve('validation/loss')")
        self.assertEqual((curve["x"], curve["y"]), ([line["step"] for line in validation], [line["loss"] for line in validation]))
        curve = browser.evaluate("myxtts.curve('train/loss')")
        losses = [line["loss"] for line in train if line["loss"] is not None]
        self.assertLess(len(curve["x"]), 2000)
        self.assertEqual([min(v for v in curve["least"] if v is not None), max(v for v in curve["most"] if v is not None)], [min(losses), max(losses)])
        self.assertEqual(sum(curve["count"]), len(train))
        # Every value of the steps that are zoomed into, one that is not finite among them.
        browser.evaluate("myxtts.span.zoom([50000, 50200])")
        browser.wait_for("myxtts.curve('train/loss').x.includes(50000) && !myxtts.curve('train/loss').least")
        curve = browser.evaluate("((c) => ({x: c.x, y: c.y.map(v => Number.isNaN(v) ? null : v)}))(myxtts.curve('train/loss'))")
        shown = {step: value for step, value in zip(curve["x"], curve["y"]) if 50000 <= step <= 50200}
        self.assertEqual(shown, {line["step"]: line["loss"] for line in train if 50000 <= line["step"] <= 50200})

    def test_a_chart_is_read_and_zoomed_by_mouse_and_by_keyboard(self):
        self.open_run("long")
        browser.wait_for(f"{chart('loss')}.textContent.includes('validation 2.')")
        browser.evaluate(f"{chart('loss')}.scrollIntoView()")
        left, top, width, height = browser.evaluate(f"(b => [b.x, b.y, b.width, b.height])({chart('loss')}.querySelector('canvas').getBoundingClientRect())")
        browser.evaluate("document.getElementById('curve-controls-smoothing').value = 0, document.getElementById('curve-controls-smoothing').oninput()")
        mouse("mousePressed", left + width * 0.5, top + height / 2)
        mouse("mouseMoved", left + width * 0.502, top + height / 2)
        self.assertIsNone(browser.evaluate("myxtts.span.range"))
        for share in (0.503, 0.504, 0.505):
            mouse("mouseMoved", left + width * share, top + height / 2)
        mouse("mouseReleased", left + width * 0.505, top + height / 2)
        browser.wait_for("myxtts.span.range && !myxtts.curve('train/loss').least")
        low, high = browser.evaluate("myxtts.span.range")
        self.assertAlmostEqual(high - low, LONG_STEPS * 0.005, delta=LONG_STEPS * 0.001)
        mouse("mouseMoved", left + width * 0.7, top + height / 2)
        browser.wait_for("myxtts.span.cursor")
        step = browser.evaluate("myxtts.span.cursor")
        line = next(line for line in long_lines if line["event"] == "train" and line["step"] == step)
        browser.wait_for(f"{chart('loss')}.textContent.includes('step {step:,}')")
        self.assertIn(f"training {line['loss']:.4f}", browser.evaluate(f"{chart('loss')}.textContent"))
        browser.evaluate(f"{chart('loss')}.querySelector('.plot').focus()")
        browser.press("ArrowRight")
        line = next(line for line in long_lines if line["event"] == "train" and line["step"] == step + 1)
        browser.wait_for(f"{chart('loss')}.querySelector('[aria-live]').textContent.startsWith('step {step + 1:,}, training {line['loss']:.4f}')")
        browser.press("0")
        self.assertIsNone(browser.evaluate("myxtts.span.range"))
        browser.press("+")
        low, high = browser.evaluate("myxtts.span.range")
        self.assertAlmostEqual(high - low, LONG_STEPS / 2, delta=2)
        browser.press("Escape")
        browser.evaluate("document.getElementById('curve-controls-log').click()")
        browser.wait_for("myxtts.span.isLog")

    def test_a_training_appears_in_the_overview_and_is_followed_to_its_end(self):
        self.open()
        browser.wait_for("document.querySelector('#run-table a[href=\"#run=live\"]')")
        browser.evaluate("document.querySelector('#run-table a[href=\"#run=live\"]').click()")
        browser.wait_for("document.getElementById('figure-progress').textContent === '8 of 8'")
        run = trained()
        browser.wait_for("document.getElementById('run-state').dataset.state === 'finished'")
        losses = {line["step"]: line["loss"] for line in lines_of(run, "train")}
        browser.wait_for(f"myxtts.curve('train/loss').x.length === {len(losses)}")
        curve = browser.evaluate("myxtts.curve('train/loss')")
        self.assertEqual(dict(zip(curve["x"], curve["y"])), losses)
        self.assertEqual(text_of("figure-validation"), f"{lines_of(run, 'validation')[-1]['loss']:.4f}")
        self.assertTrue(browser.evaluate(f"Boolean({chart('audio_loss')})"))

    def test_samples_are_heard_and_seen_over_all_measurements(self):
        trained()
        self.open_run("live", "samples")
        browser.wait_for("document.querySelectorAll('.spectrogram').length && !document.querySelector('.sound audio:not([src])')")
        self.assertEqual(browser.evaluate("Array.from(document.querySelectorAll('.sound'), e => e.dataset.kind)"), ["recording", "synthesis"])
        self.assertIn("a small wind", browser.evaluate("document.querySelector('blockquote').textContent"))
        self.assertIn("2 of 2, step 8", text_of("samples-view"))
        browser.wait_for("Array.from(document.querySelectorAll('.sound .hint'), e => e.textContent).every(text => text.endsWith('\u00a0s'))")
        # The recording is a tone: its power lies in one row of the picture, which is bright, and others are dark.
        self.assertGreater(browser.evaluate("""(() => {
            const canvas = document.querySelector('[data-kind=recording] canvas');
            const data = canvas.getContext('2d').getImageData(canvas.width / 2, 0, 1, canvas.height).data;
            const rows = Array.from({length: canvas.height}, (_, i) => data[4 * i] + data[4 * i + 1]);
            return Math.max(...rows) - Math.min(...rows);
        })()"""), 300)
        browser.evaluate("document.querySelector('[data-learnt]').click()")
        browser.wait_for("document.getElementById('samples-view').textContent.includes('1 of 2, step 4')")
        browser.wait_for("document.getElementById('samples-view').textContent.includes('2 of 2, step 8')")
        browser.evaluate("document.querySelector('[data-learnt]').click()")

    def test_clips_settings_checkpoints_and_log_are_those_of_the_run(self):
        run = trained()
        self.open_run("live", "clips")
        browser.wait_for("document.querySelector('#clips-view tbody tr')")
        self.assertIn("too short", browser.evaluate("document.querySelector('#clips-view tbody tr').textContent"))
        browser.evaluate("document.querySelector('#clips-view tbody button').click()")
        browser.wait_for("document.querySelector('#clips-view audio')?.duration > 0.1")
        browser.evaluate("location.hash = '#run=live&tab=settings'")
        browser.wait_for("document.querySelectorAll('#settings-view tr').length > 20")
        row = browser.evaluate("Array.from(document.querySelectorAll('#settings-view tbody tr'), r => Array.from(r.cells, c => c.textContent))"
                               ".find(r => r[0].endsWith('.batch_size'))")
        self.assertEqual((row[1], row[2]), ("4", "flag --batch-size"))
        browser.evaluate("location.hash = '#run=live&tab=checkpoints'")
        browser.wait_for("document.querySelector('#checkpoints-view tbody tr')")
        rows = browser.evaluate("Array.from(document.querySelectorAll('#checkpoints-view tbody tr'), r => r.cells[0].textContent + r.cells[4].textContent)")
        self.assertEqual(len(rows), len(list((run / "checkpoints").iterdir())))
        best, latest = (int((run / name).resolve().name.removeprefix("step-")) for name in ("best", "latest"))
        self.assertTrue(any(row.startswith(f"{best}best") for row in rows), rows)
        self.assertTrue(any(row.startswith(f"{latest}") and row.endswith("latest") for row in rows), rows)
        browser.send("Browser.grantPermissions", permissions=["clipboardReadWrite", "clipboardSanitizedWrite"])
        browser.evaluate("document.getElementById('copy-resume').click()")
        browser.wait_for("document.getElementById('copy-status').textContent.startsWith('Copied.')")
        self.assertRegex(browser.evaluate("navigator.clipboard.readText()"), rf"^myxtts train .*{re.escape(str(run))}.*--resume")
        browser.evaluate("location.hash = '#run=live&tab=log'")
        browser.wait_for("document.querySelector('.log').textContent.split('\\n').length > 5")
        self.assertIn((run / "log.txt").read_text().splitlines()[-1], browser.evaluate("document.querySelector('.log').textContent"))

    def test_the_pipeline_is_drawn_with_a_verdict(self):
        trained()
        self.open_run("live", "pipeline")
        browser.wait_for("document.querySelectorAll('.stage').length === 6 && document.querySelectorAll('.queue').length === 5")
        self.assertRegex(browser.evaluate("document.querySelector('.verdict p').textContent"), r"The pipeline .* \d of \d batches were there in time")
        self.assertRegex(browser.evaluate("document.querySelector('.queue b').textContent"), r"^\d+ of \d+$")

    def test_stages_that_one_further_on_holds_back_do_not_wait_for_each_other(self):
        self.open()
        loads = {"reader": (0, 1), "decoder": (0.95, 0), "batcher": (0, 0.6), "features": (0, 0)}
        stages = [{"name": name, "busy": 0, "waits_for_input": given, "waits_for_output": taken} for name, (given, taken) in loads.items()]
        names = [*loads, "trainer"]
        queues = [{"name": str(i), "from": names[i], "to": names[i + 1]} for i in range(len(loads))]
        said = browser.evaluate(f"whoWaits({json.dumps({'stages': stages, 'queues': queues, 'trainer': {'waits_for_input': 0.00001}})})")
        self.assertEqual(said, ["Reader: ahead of the others, waiting until “Batcher” takes more, 100\u00a0% of the time.",
                                "Clip loaders: ahead of the others, waiting until “Batcher” takes more, 95\u00a0% of the time.",
                                "Batcher: ahead of the others, waiting until “Features” takes more, 60\u00a0% of the time."])
        stages[1]["waits_for_input"], stages[0]["waits_for_output"] = 0.9, 0
        said = browser.evaluate(f"whoWaits({json.dumps({'stages': stages, 'queues': queues, 'trainer': {'waits_for_input': 0.2}})})")
        self.assertEqual(said[0], "Clip loaders: waiting for “Reader” to deliver, 90\u00a0% of the time.")
        self.assertEqual(said[-1], "Model: waiting for “Features” to deliver, 20\u00a0% of the time.")
        shares = {0: "0", 0.00004: "0", 0.001: "0.1", 0.0994: "9.9", 0.5: "50", 0.992: "99.2", 0.99996: "100", 1: "100"}
        for share, text in shares.items():
            self.assertEqual(browser.evaluate(f"percentText({share})"), f"{text}\u00a0%")

    def test_runs_that_are_cut_off_damaged_deleted_or_renamed_say_so(self):
        self.expected = "404"
        write_run(runs / "half", 20)
        with open(runs / "half/metrics.jsonl", "a") as file:
            file.write('no line of ours\n{"event":"train","step":21,"lo')
        (runs / "half/status.json").write_text(json.dumps({"state": "running", "updated": time.time() - 3600, "step": 20, "locked": True}))
        self.open_run("half")
        browser.wait_for("myxtts.curve('train/loss')?.x.length === 20")
        self.assertEqual(browser.evaluate("document.getElementById('run-state').dataset.state"), "killed")
        self.assertIn("damaged", text_of("run-notes"))
        (runs / "half").rename(runs / "renamed")
        browser.wait_for("document.getElementById('error').textContent.includes('deleted or renamed')")
        self.assertEqual(browser.evaluate("myxtts.curve('train/loss').x.length"), 20)
        browser.evaluate("location.hash = '#run=renamed'")  # opened as soon as the server has found it
        browser.wait_for("document.getElementById('run-name').textContent === 'renamed' && myxtts.curve('train/loss')")
        shutil.rmtree(runs / "renamed")
        self.open()
        browser.wait_for("document.querySelector('#run-table a') && !document.getElementById('run-table').textContent.includes('renamed')")
        self.open("#run=renamed")
        browser.wait_for("document.getElementById('error').textContent.startsWith('There is no such run')")

    def test_a_resumed_run_forgets_the_steps_that_it_takes_again(self):
        self.expected = "404"  # until the server has found it
        lines = write_run(runs / "resumed", 20)
        self.open_run("resumed")
        browser.wait_for("myxtts.curve('train/loss')?.x.length === 20")
        cut = [line for line in lines if line["step"] <= 10] + [{**lines[0], "step": 11, "loss": 1.25}]
        (runs / "resumed/metrics.jsonl").write_text("".join(json.dumps(line) + "\n" for line in cut))
        browser.wait_for("myxtts.curve('train/loss')?.x.length === 11 && myxtts.curve('train/loss').y[10] === 1.25")
        shutil.rmtree(runs / "resumed")

    def test_two_runs_are_drawn_over_each_other_and_their_settings_compared(self):
        config = (trained() / "config.yaml").read_text()
        write_run(runs / "other", 20, re.sub(r"(\bbatch_size:) 4", r"\1 2", config))
        self.open()
        browser.wait_for("document.querySelectorAll('#run-table tbody tr').length >= 3")
        self.assertEqual(browser.evaluate("document.getElementById('compare-button').ariaDisabled"), "true")
        for name in ("live", "other"):
            browser.evaluate(f"document.querySelector('[aria-label=\"Choose {name} for comparing\"]').click()")
        browser.click("#compare-button")
        chart = "document.querySelector('#compare-charts [data-chart=\"train/loss\"]')"
        browser.wait_for(f"document.querySelector('#differences tbody tr') && {chart}?.querySelector('b').textContent")
        rows = browser.evaluate("Array.from(document.querySelectorAll('#differences tbody tr'), r => Array.from(r.cells, c => c.textContent))")
        self.assertEqual(len(rows), 1, rows)
        self.assertEqual((rows[0][0].split(".")[-1], *rows[0][1:]), ("batch_size", "4", "2"))
        self.assertEqual(browser.evaluate(f"{chart}.querySelectorAll('.swatch').length"), 2)
        shutil.rmtree(runs / "other")

    def test_what_a_recogniser_heard_is_drawn_and_stands_beside_each_sample(self):
        self.expected = "404"  # until the server has found it
        lines = [line for line in write_judged_run(runs / "judged") if line["event"] == "samples"]
        self.addCleanup(shutil.rmtree, runs / "judged")
        for lang, title, heard in (("en", "Character errors", "Heard:"), ("fa", "خطای نویسه‌ها", "شنیده شد:")):
            self.open_run("judged", lang=lang)
            browser.wait_for("myxtts.curve('samples/sample_cer') && myxtts.curve('samples/sample_similarity')")
            for name in ("sample_cer", "sample_similarity"):
                curve = browser.evaluate(f"myxtts.curve('samples/{name}')")
                self.assertEqual((curve["x"], curve["y"]), ([line["step"] for line in lines], [line[name] for line in lines]))
            self.assertEqual(browser.evaluate(f"{chart('sample_cer')}.querySelector('h3').textContent"), title)
            browser.evaluate("location.hash = '#run=judged&tab=samples'")
            browser.wait_for("document.querySelector('.heard q')")
            self.assertEqual(browser.evaluate("document.querySelector('.heard p').textContent"), f"{heard} {'(nothing)' if lang == 'en' else '(هیچ)'}")
            browser.evaluate("document.getElementById('measurement').value = 0, document.getElementById('measurement').oninput()")
            self.assertEqual(browser.evaluate("document.querySelector('.heard q').textContent"), "a tall wind")
        browser.evaluate("location.hash = '#run=judged&tab=checkpoints'")
        browser.wait_for("document.querySelector('#checkpoints-view .hint')?.textContent.includes('--best-by cer')")

    def test_numbers_and_words_of_a_legend_stand_in_the_order_of_their_language(self):
        for lang, direction in (("en", "ltr"), ("fa", "rtl")):
            self.open_run("long", lang=lang)
            browser.wait_for(f"{chart('loss')}?.querySelector('.legend b').textContent")
            self.assertEqual(browser.evaluate(f"getComputedStyle({chart('loss')}.querySelector('.legend b')).direction"), direction)

    def test_no_word_of_the_overview_is_cut_in_two(self):
        for lang in ("en", "fa"):
            self.open(lang=lang)
            browser.wait_for("document.querySelector('#run-table .spark polyline')?.getAttribute('points')")
            for width in (1600, 1024, 360):
                browser.resize(width)
                self.assertNothingIsCutOff(f"overview {lang} {width}")
                # A word in two lines has two boxes.
                self.assertEqual(browser.evaluate("""(() => {
                    const cut = [];
                    const walker = document.createTreeWalker(document.getElementById('run-table').tBodies[0], NodeFilter.SHOW_TEXT);
                    for (let node; (node = walker.nextNode());) {
                        if (node.parentElement.closest('td:nth-child(2)')) continue;  // names and sentences may be of any length
                        for (const {index, 0: word} of node.data.matchAll(/[^\\s]+/g)) {
                            const range = document.createRange();
                            range.setStart(node, index);
                            range.setEnd(node, index + word.length);
                            if (new Set(Array.from(range.getClientRects(), box => Math.round(box.top))).size > 1) cut.push(word);
                        }
                    }
                    return cut;
                })()"""), [], f"{lang} {width}")

    def test_a_server_that_is_gone_is_named_and_found_again(self):
        self.expected = "ERR_"
        other = Server(folder / "few")
        self.open("#run=short", address=other.address)
        browser.wait_for("myxtts.curve('train/loss')")
        other.close()
        browser.wait_for("!document.getElementById('gone').hidden && document.getElementById('gone').textContent.startsWith('The server does not answer')")
        again = Server(folder / "few", port=other.port)
        self.addCleanup(again.close)
        browser.wait_for("document.getElementById('gone').hidden")
        self.assertEqual(browser.evaluate("myxtts.curve('train/loss').x.length"), 20)

    def test_a_key_is_asked_for_until_it_is_right(self):
        self.expected = "401"
        guarded = Server(folder / "few", "--api-key", KEY)
        self.addCleanup(guarded.close)
        self.open("#run=short", address=guarded.address)
        for typed, sentence in (("herring", "wants an API key"), (KEY, "does not know this key")):
            browser.wait_for(f"document.getElementById('key-dialog').open && document.getElementById('key-text').textContent.includes('{sentence}')")
            browser.evaluate("document.getElementById('key-input').focus()")
            browser.type(typed)
            browser.press("Enter")
        browser.wait_for("myxtts.curve('train/loss')")

    def test_the_report_is_one_file_that_asks_nobody(self):
        run = trained()
        copy = folder / "mailed.html"
        shutil.copy(run / "report.html", copy)
        self.assertLess(copy.stat().st_size, 8_000_000)
        losses = [line["loss"] for line in lines_of(run, "train")]
        for lang, word in (("en", "Report of live"), ("fa", "گزارش live")):
            browser.open("about:blank")
            browser.open(f"{copy.as_uri()}?lang={lang}#tab=samples")
            browser.wait_for("document.querySelectorAll('.spectrogram').length >= 2 && !document.querySelector('.sound audio:not([src])')")
            self.assertIn(word, text_of("report-note"))
            self.assertEqual(browser.evaluate("myxtts.curve('train/loss').y"), losses)
            for tab in TABS:
                browser.evaluate(f"location.hash = '#tab={tab}'")
                browser.wait_for(f"!document.getElementById('{tab}-view').hidden && document.getElementById('{tab}-view').textContent.length > 40")
            asked = [event["params"]["request"]["url"] for event in browser.events if event["method"] == "Network.requestWillBeSent"]
            self.assertEqual([url for url in asked if not url.startswith(("data:", "blob:", copy.as_uri()))], [])

    def test_nothing_is_cut_off_and_all_is_readable_from_a_phone_to_a_large_screen_in_both_languages_and_colours(self):
        trained()
        for lang, direction in (("en", "ltr"), ("fa", "rtl")):
            self.open(lang=lang)
            browser.wait_for("document.querySelector('#run-table a')")
            self.assertEqual(browser.evaluate("getComputedStyle(document.body).direction"), direction)
            for width in (3840, 1600, 360):
                browser.resize(width)
                self.assertNothingIsCutOff(f"overview {lang} {width}")
            self.open_run("live", lang=lang)
            for tab in TABS:
                browser.evaluate(f"location.hash = '#run=live&tab={tab}'")
                browser.wait_for(f"document.getElementById('{tab}-view').textContent.length > 40")
                self.assertNothingIsCutOff(f"{tab} {lang}")
        papers = set()
        for scheme in ("light", "dark"):
            browser.prefer(prefers_color_scheme=scheme)
            colours = browser.evaluate("""['body', '.hint', '#copy-hear', '#run-state', '.figures dt', '#run-sentence'].map(place => {
                const element = document.querySelector(place);
                const own = getComputedStyle(element).backgroundColor;
                return [getComputedStyle(element).color, own === 'rgba(0, 0, 0, 0)' ? getComputedStyle(document.body).backgroundColor : own];
            })""")
            papers.add(colours[0][1])
            for ink, paper in colours:
                self.assertGreater(contrast(ink, paper), 4.5, f"{scheme} {ink} {paper}")
        self.assertEqual(len(papers), 2)
        browser.evaluate("document.getElementById('theme').value = 'light', document.getElementById('theme').onchange()")
        self.assertGreater(luminance(browser.evaluate("getComputedStyle(document.body).backgroundColor")), 0.5)
        browser.evaluate("sessionStorage.clear()")

    def test_the_keyboard_alone_reaches_everything_which_has_a_name_for_a_screen_reader(self):
        trained()
        self.open_run("live")
        browser.evaluate("document.getElementById('curves-tab').focus()")
        for tab in TABS[1:]:
            browser.press("ArrowRight")
            browser.wait_for(f"document.activeElement.id === '{tab}-tab' && !document.getElementById('{tab}-view').hidden")
            browser.wait_for(f"document.getElementById('{tab}-view').textContent.length > 40")
            for node in browser.send("Accessibility.getFullAXTree")["nodes"]:
                role = node.get("role", {}).get("value")
                if not node["ignored"] and role in USED:
                    self.assertTrue(node["name"]["value"], f"{role} in {tab}")
        browser.press("Tab")
        self.assertEqual(browser.evaluate("getComputedStyle(document.activeElement).outlineStyle"), "solid")

    def test_both_languages_say_the_same_things(self):
        self.open()
        self.assertEqual(*browser.evaluate("""[kEnglish, kPersian].map(texts => Object.entries(texts).flatMap(([name, value]) => {
            const hasServersWords = ['sentences', 'notes', 'missing', 'remedies'].includes(name);  // which are English
            return hasServersWords || typeof value !== 'object' || Array.isArray(value) ? [name] : Object.keys(value).map(key => `${name}.${key}`);
        }).sort())"""))


if __name__ == "__main__":
    if not CHROMIUM:
        print("There is no chromium here; install it with: apt-get install chromium")
        sys.exit(77)
    unittest.main()
