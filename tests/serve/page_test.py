#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The page of `myxtts serve` in a real browser, against the built program with a tiny model.

usage: tests/serve/page_test.py      MYXTTS_BUILD=build/release

Ends with 77, which CTest takes for skipped, where there is no chromium.
"""
import array
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
import wave

from browser import CHROMIUM, CTRL, Browser

BUILD = pathlib.Path(os.environ.get("MYXTTS_BUILD", pathlib.Path(__file__).resolve().parents[2] / "build/release")).resolve()
PROGRAM = BUILD / "bin/myxtts"
TEXT = "A voice is a small wind. It carries what we mean, from one room to another."
LONG_TEXT = TEXT * 60
IDLE = "myxtts.state === 'idle'"
KEY = "swordfish"


class Server:
    """The program on a port of its own, until close()."""

    def __init__(self, folder, *flags):
        self.process = subprocess.Popen(
            [PROGRAM, "serve", "--model", f"tiny={folder}/demo/run", "--voices", folder / "voices", "--port", "0", "--device", "cpu", *flags],
            stderr=subprocess.PIPE, text=True)
        for line in self.process.stderr:
            found = re.search(r"listening at (\S+)", line)
            if found:
                self.address = found[1]
                return
        raise RuntimeError("the server did not start")

    def close(self):
        self.process.terminate()
        self.process.communicate(timeout=20)


def setUpModule():
    global folder, browser, server, guarded_server
    folder = pathlib.Path(unittest.enterModuleContext(tempfile.TemporaryDirectory()))
    subprocess.run([PROGRAM, "demo", "--out", folder / "demo", "--seconds", "1", "--clips", "20"], check=True,
                   capture_output=True, timeout=60)
    (folder / "voices").mkdir()
    shutil.copy(sorted((folder / "demo/corpus/wavs").iterdir())[0], folder / "voices/anna.wav")
    server = Server(folder)
    unittest.addModuleCleanup(server.close)
    guarded_server = Server(folder, "--api-key", KEY)
    unittest.addModuleCleanup(guarded_server.close)
    browser = Browser(folder / "browser")
    unittest.addModuleCleanup(browser.close)


def synthesized(text, seed):
    """What the command line says for the same."""
    result = subprocess.run([PROGRAM, "synthesize", "--model", folder / "demo/run", "--reference", folder / "voices/anna.wav", "--language", "en",
                             "--text", text, "--seed", str(seed), "--stream", "--out", "-", "--device", "cpu"],
                            check=True, capture_output=True, timeout=60)
    return result.stdout


def text_of(name):
    return browser.evaluate(f"document.getElementById('{name}').textContent")


def fill(name, text):
    browser.evaluate(f"document.getElementById('{name}').select()")
    browser.type(text)


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

    def open(self, query="?lang=en"):
        browser.open(server.address + query)
        browser.wait_for("document.getElementById('model').value")  # the last list that the page loads

    def tearDown(self):
        self.assertEqual(browser.complaints, [])

    def assertNothingIsCutOff(self, what):
        self.assertLessEqual(*browser.evaluate("[document.scrollingElement.scrollWidth, innerWidth]"), what)

    def test_what_is_typed_is_spoken_sample_for_sample_as_by_synthesize_and_can_be_downloaded(self):
        self.open()
        browser.send("Browser.setDownloadBehavior", behavior="allow", downloadPath=str(folder), eventsEnabled=True)
        browser.click("#text")
        browser.type(TEXT)
        self.assertIn(str(len(TEXT)), text_of("count"))
        browser.click("#more summary")
        fill("seed", "5")
        browser.click("#speak")
        browser.wait_for("myxtts.state === 'playing'")
        browser.wait_for(IDLE)
        expected = synthesized(TEXT, 5)
        samples = array.array("h", browser.evaluate("Array.from(myxtts.samples)"))
        self.assertGreater(len(samples), 1000)
        self.assertEqual(samples.tobytes(), expected)
        self.assertRegex(text_of("status"), r"^\d+\.\d\d s of speech in .* \(real-time factor .*, first sound after .*English, seed 5\.$")
        browser.click("#download")
        browser.wait_for_event("Browser.downloadProgress", state="completed")
        with wave.open(str(folder / "anna-5.wav")) as file:
            self.assertEqual(file.getparams()[:3], (1, 2, 24000))
            self.assertEqual(file.readframes(file.getnframes()), expected)
        browser.evaluate("document.getElementById('format').value = 'flac'")
        browser.events.clear()
        browser.click("#download")
        browser.wait_for_event("Browser.downloadProgress", state="completed")
        self.assertEqual((folder / "anna-5.flac").read_bytes()[:4], b"fLaC")

    def test_every_part_is_scheduled_once_and_behind_the_one_before(self):
        self.open()
        fill("text", TEXT * 3)
        browser.click("#speak")
        browser.wait_for("myxtts.state === 'playing'")
        spans, total = browser.evaluate("[player.spans.map(({frame, from, length}) => [frame, from, length]), myxtts.samples.length]")
        self.assertEqual(sum(length for _, _, length in spans), total)
        for (frame, start, length), (next_frame, next_start, _) in zip(spans, spans[1:]):
            self.assertGreaterEqual(next_frame, frame + length)
            self.assertEqual(next_start, start + length)

    def test_a_sample_that_the_network_cut_in_two_is_put_together_and_an_answer_that_breaks_off_is_named(self):
        self.open()
        received = '''(async (...parts) => {
            const samples = [];
            const body = new ReadableStream({pull(sink) {
                if (!parts.length) return sink.close();
                parts[0] === null ? sink.error(new TypeError('lost')) : sink.enqueue(new Uint8Array(parts.shift()));
            }});
            await receive({body}, part => samples.push(...part)).catch(error => samples.push(error.message));
            return samples;
        })'''
        self.assertEqual(browser.evaluate(f"{received}([1], [2, 3, 4], [5], [6])"), [0x0201, 0x0403, 0x0605])
        samples = browser.evaluate(f"{received}([1, 2], null)")
        self.assertEqual(samples[0], 0x0201)
        self.assertIn("broke off", samples[1])

    def test_the_history_keeps_what_was_said_and_plays_it_again_also_for_those_who_want_little_motion(self):
        browser.prefer(prefers_reduced_motion="reduce")
        self.open()
        for text in ("The first of <b>two</b>.", "The second."):
            fill("text", text)
            browser.click("#speak")
            browser.wait_for(f"{IDLE} && document.querySelector('#history .said')?.textContent === {json.dumps(text)}")
        second = browser.evaluate("Array.from(myxtts.samples)")
        browser.click("#history li:last-child button")
        browser.wait_for("myxtts.state === 'playing'")
        self.assertNotEqual(browser.evaluate("Array.from(myxtts.samples)"), second)
        self.assertEqual(browser.evaluate("document.querySelectorAll('#history li').length"), 2)
        browser.wait_for("document.getElementById('stop').ariaDisabled === 'true'")

    def test_stop_ends_what_is_made_and_what_is_heard(self):
        self.open()
        fill("text", LONG_TEXT)
        browser.click("#speak")
        browser.wait_for("myxtts.samples")
        browser.click("#stop")
        browser.wait_for(f"{IDLE} && document.getElementById('status').textContent === 'Stopped.'")
        self.assertEqual(text_of("error"), "")

    def test_an_error_is_the_servers_own_sentence_and_persian_is_written_from_the_right(self):
        self.open()
        fill("text", "سلام دنیا")
        self.assertEqual(browser.evaluate("getComputedStyle(document.getElementById('text')).direction"), "rtl")
        browser.click("#speak")
        browser.wait_for("document.getElementById('error').textContent.includes('not speak')")
        self.assertIn("it speaks en", text_of("error"))
        self.assertTrue(any("400" in line for line in browser.complaints))
        browser.complaints.clear()

    def test_a_voice_is_recorded_renamed_and_deleted(self):
        self.open()
        browser.click("#add-voice")
        browser.click("#save-voice")  # without a name: the browser asks for it
        browser.type("berta")
        browser.click("#record")
        browser.wait_for("document.getElementById('level').value > 0.1")
        browser.wait_for("parseFloat(document.getElementById('recorded').textContent) > 1.2")
        browser.click("#record")
        browser.wait_for("document.querySelector('#recordings audio')?.duration > 1")
        browser.click("#save-voice")
        browser.wait_for("document.getElementById('voice').value === 'berta'")
        with wave.open(str(folder / "voices/berta/01.wav")) as file:
            self.assertEqual(file.getparams()[:3], (1, 2, 48000))
            self.assertGreater(max(array.array("h", file.readframes(file.getnframes()))), 3000)
        browser.click("#rename-voice")
        fill("question-input", "clara")
        browser.press("Enter")
        browser.wait_for("document.getElementById('voice').value === 'clara'")
        browser.click("#delete-voice")
        self.assertEqual(browser.evaluate("document.activeElement.dataset.say"), "cancel")
        browser.press("Enter")
        self.assertTrue((folder / "voices/clara").is_dir())
        browser.click("#delete-voice")
        browser.click("#question .main")
        browser.wait_for("document.getElementById('voice').value === 'anna'")
        self.assertFalse((folder / "voices/clara").exists())

    def test_a_clip_from_a_file_becomes_a_voice_and_one_that_is_no_sound_is_refused_in_the_dialog(self):
        self.open()
        root = browser.send("DOM.getDocument")["root"]["nodeId"]
        choose = lambda *paths: browser.send("DOM.setFileInputFiles", files=[str(path) for path in paths],
                                             nodeId=browser.send("DOM.querySelector", nodeId=root, selector="#clips")["nodeId"])
        browser.click("#add-voice")
        browser.type("dora")
        choose(PROGRAM.parent.parent / "CMakeCache.txt")
        browser.click("#save-voice")
        browser.wait_for("document.getElementById('new-voice-error').textContent")
        browser.complaints.clear()
        choose(*sorted((folder / "demo/corpus/wavs").iterdir())[:2])
        browser.click("#save-voice")
        browser.wait_for("document.getElementById('voice').value === 'dora'")
        self.assertEqual(len(list((folder / "voices/dora").iterdir())), 2)
        shutil.rmtree(folder / "voices/dora")

    def test_a_key_is_asked_for_until_it_is_right_and_a_busy_server_is_asked_once_more(self):
        browser.open(guarded_server.address + "?lang=en")
        for typed, sentence in (("herring", "wants an API key"), (KEY, "does not know this key")):
            browser.wait_for(f"document.getElementById('question-text').textContent.includes('{sentence}')")
            browser.wait_for("document.activeElement.id === 'question-input'")
            browser.type(typed)
            browser.press("Enter")
        browser.wait_for("document.getElementById('voice').value === 'anna'")
        browser.open(guarded_server.address + "?lang=en")  # the key is kept
        browser.wait_for("document.getElementById('model').value")
        browser.send("Fetch.enable", patterns=[{"urlPattern": "*/v1/audio/speech"}])
        fill("text", TEXT)
        browser.click("#speak")
        browser.wait_for_event("Fetch.requestPaused")
        paused = next(event for event in browser.events if event["method"] == "Fetch.requestPaused")
        # As a server answers whose queue is full: how soon a real one is free again is not this test's.
        browser.send("Fetch.fulfillRequest", requestId=paused["params"]["requestId"], responseCode=429,
                     responseHeaders=[{"name": "Retry-After", "value": "2"}])
        browser.send("Fetch.disable")
        browser.wait_for("document.getElementById('status').textContent.includes('asks again in 2 s')")
        browser.wait_for("document.getElementById('status').textContent.includes('real-time factor')")
        self.assertEqual([line for line in browser.complaints if "401" not in line and "429" not in line], [])
        browser.complaints.clear()

    def test_a_server_that_is_gone_is_named(self):
        self.open()
        fill("text", TEXT)
        browser.send("Network.enable")
        browser.send("Network.emulateNetworkConditions", offline=True, latency=0, downloadThroughput=-1, uploadThroughput=-1)
        browser.click("#speak")
        browser.wait_for("document.getElementById('error').textContent.startsWith('The server does not answer.')")
        browser.send("Network.emulateNetworkConditions", offline=False, latency=0, downloadThroughput=-1, uploadThroughput=-1)
        browser.complaints.clear()

    def test_the_keyboard_alone_reaches_everything_and_the_focus_is_seen(self):
        self.open()
        order = []
        for _ in range(11):
            browser.press("Tab")
            name, outline = browser.evaluate("[document.activeElement.id || document.activeElement.tagName,"
                                             " getComputedStyle(document.activeElement).outlineStyle]")
            order.append(name)
            self.assertEqual(outline, "solid", name)
        self.assertEqual(order, ["speak-tab", "other-language", "text", "voice", "language", "add-voice", "rename-voice", "delete-voice",
                                 "SUMMARY", "speak", "stop"])
        browser.evaluate("document.getElementById('text').focus()")
        browser.type(LONG_TEXT)
        browser.press("Enter", CTRL)
        browser.wait_for("myxtts.samples")
        browser.press("Escape")
        browser.wait_for(IDLE)
        browser.evaluate("document.getElementById('speak-tab').focus()")
        browser.press("ArrowRight")
        self.assertEqual(browser.evaluate("[document.activeElement.id, document.getElementById('speak-view').hidden]"), ["load-tab", True])
        browser.press("ArrowLeft")
        self.assertFalse(browser.evaluate("document.getElementById('speak-view').hidden"))

    def test_everything_that_can_be_used_has_a_name_for_a_screen_reader(self):
        self.open()
        browser.evaluate("document.getElementById('more').open = true")
        for dialog in (None, "#add-voice", "#rename-voice"):
            if dialog:
                browser.click(dialog)
            for node in browser.send("Accessibility.getFullAXTree")["nodes"]:
                role = node.get("role", {}).get("value")
                if not node["ignored"] and role in ("button", "textbox", "combobox", "spinbutton", "tab", "tabpanel", "link", "meter", "dialog"):
                    self.assertTrue(node["name"]["value"], f"{role} in {dialog or 'the page'}")
            browser.press("Escape")

    def test_nothing_is_cut_off_and_all_is_readable_from_a_phone_to_a_large_screen_in_both_languages_and_colours(self):
        for language, direction in (("en", "ltr"), ("fa", "rtl")):
            self.open(f"?lang={language}")
            self.assertEqual(browser.evaluate("getComputedStyle(document.body).direction"), direction)
            fill("text", TEXT + "x" * 200)
            browser.click("#speak")
            browser.wait_for("document.querySelector('#history li')")
            browser.evaluate("document.getElementById('more').open = true")
            for width in (360, 1600, 3840):
                browser.resize(width)
                self.assertNothingIsCutOff(f"{language} {width}")
                browser.click("#load-tab")
                browser.wait_for("document.querySelector('polyline')")
                self.assertNothingIsCutOff(f"load {language} {width}")
                browser.click("#speak-tab")
        papers = set()
        for scheme in ("light", "dark"):
            browser.prefer(prefers_color_scheme=scheme)
            colours = browser.evaluate("""['body', '#status', '#speak', '#other-language'].map(place => {
                const style = getComputedStyle(document.querySelector(place));
                const own = style.backgroundColor;
                return [style.color, own === 'rgba(0, 0, 0, 0)' ? getComputedStyle(document.body).backgroundColor : own];
            })""")
            papers.add(colours[0][1])
            for ink, paper in colours:
                self.assertGreater(contrast(ink, paper), 4.5, f"{scheme} {ink} {paper}")
        self.assertEqual(len(papers), 2)

    def test_both_languages_say_the_same_things(self):
        self.open()
        self.assertEqual(*browser.evaluate("[kTexts.en, kTexts.fa].map(texts => Object.keys(texts).sort())"))

    def test_the_load_tab_shows_what_the_server_does(self):
        self.open()
        fill("text", TEXT)
        browser.click("#speak")
        browser.wait_for("myxtts.samples")
        browser.click("#load-tab")
        browser.wait_for("document.querySelector('polyline')?.getAttribute('points').split(' ').length >= 2")
        figures = browser.evaluate("Array.from(document.querySelectorAll('.figure'), figure => figure.textContent)")
        self.assertRegex(figures[2], r"^\d of 8$")
        self.assertRegex(figures[4], r"^(over )?\d+\.\d\d s$")
        for buckets, median in (("[[1, 0], [2, 4], [Infinity, 0]]", {"seconds": 1.5, "isOver": False}),
                                ("[[1, 1], [2, 0], [Infinity, 2]]", {"seconds": 2, "isOver": True}), ("[[1, 0], [Infinity, 0]]", None)):
            self.assertEqual(browser.evaluate(f"medianOf({buckets})"), median)


if __name__ == "__main__":
    if not CHROMIUM:
        print("There is no chromium here; install it with: apt-get install chromium")
        sys.exit(77)
    unittest.main()
