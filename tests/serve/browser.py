# SPDX-License-Identifier: Apache-2.0
"""A real browser without a window: Chromium, driven over the pipes of its DevTools protocol."""
import json
import os
import select
import shutil
import subprocess
import time

CHROMIUM = shutil.which("chromium")
LIMIT = 20  # seconds that anything may take
KEYS = {"Enter": 13, "Escape": 27, "Tab": 9, "ArrowRight": 39, "ArrowLeft": 37}
CTRL, SHIFT = 2, 8


class Browser:
    """One browser with one page. What went wrong on the page is gathered in `complaints`."""

    def __init__(self, folder):
        command_end, self.commands = os.pipe()
        self.answers, answer_end = os.pipe()
        flags = ["--headless=new", "--remote-debugging-pipe", f"--user-data-dir={folder}", "--lang=en", "--no-first-run", "--mute-audio",
                 "--disable-gpu", "--disable-dev-shm-usage", "--disable-background-networking", "--disable-component-update",
                 "--use-fake-device-for-media-stream", "--use-fake-ui-for-media-stream", *(["--no-sandbox"] if os.geteuid() == 0 else [])]
        # Chromium reads from 3 and writes to 4.
        self.process = subprocess.Popen(["sh", "-c", f'exec "$@" 3<&{command_end} 4>&{answer_end}', "sh", CHROMIUM, *flags, "about:blank"],
                                        pass_fds=(command_end, answer_end), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(command_end)
        os.close(answer_end)
        self.buffer = b""
        self.last_id = 0
        self.session = None
        self.events = []
        self.complaints = []
        target = next(target for target in self.send("Target.getTargets")["targetInfos"] if target["type"] == "page")
        self.session = self.send("Target.attachToTarget", targetId=target["targetId"], flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log"):
            self.send(f"{domain}.enable")

    def close(self):
        self.send("Browser.close")
        self.process.wait(LIMIT)
        os.close(self.commands)
        os.close(self.answers)

    def read(self):
        """The next message; it may be an answer or an event."""
        deadline = time.monotonic() + LIMIT
        while b"\0" not in self.buffer:
            if not select.select([self.answers], [], [], max(0, deadline - time.monotonic()))[0]:
                raise TimeoutError("the browser does not answer")
            part = os.read(self.answers, 1 << 16)
            if not part:
                raise EOFError("the browser ended")
            self.buffer += part
        line, self.buffer = self.buffer.split(b"\0", 1)
        return json.loads(line)

    def send(self, method, **parameters):
        self.last_id += 1
        message = {"id": self.last_id, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.commands, json.dumps(message).encode() + b"\0")
        while True:
            answer = self.read()
            if answer.get("id") == self.last_id:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]
            self.note(answer)

    def note(self, event):
        self.events.append(event)
        content = event["params"]
        if event["method"] == "Runtime.exceptionThrown":
            self.complaints.append(json.dumps(content["exceptionDetails"]))
        elif event["method"] == "Runtime.consoleAPICalled" and content["type"] in ("error", "warning"):
            self.complaints.append(json.dumps(content["args"]))
        elif event["method"] == "Log.entryAdded" and content["entry"]["level"] in ("error", "warning"):
            self.complaints.append(f"{content['entry']['text']} {content['entry'].get('url', '')}")

    def wait_for_event(self, method, **content):
        """Until such an event has come since the page was opened."""
        while not any(event["method"] == method and content.items() <= event["params"].items() for event in self.events):
            self.note(self.read())

    def open(self, address):
        self.events.clear()
        self.send("Page.navigate", url=address)
        self.wait_for_event("Page.loadEventFired")

    def evaluate(self, script):
        """The value of a JavaScript expression, or of what a promise brings."""
        result = self.send("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in result:
            raise RuntimeError(f"{script}: {result['exceptionDetails']['exception'].get('description')}")
        return result["result"].get("value")

    def wait_for(self, condition):
        """Until a JavaScript expression is true."""
        is_true = self.evaluate(f"""new Promise(resolve => {{
            const end = performance.now() + {LIMIT * 900};
            const look = () => {{
                const isTrue = Boolean({condition});
                isTrue || performance.now() > end ? resolve(isTrue) : setTimeout(look, 10);
            }};
            look();
        }})""")
        if not is_true:
            raise TimeoutError(f"never true: {condition}")

    def click(self, selector):
        """As the mouse does: on what is seen in the middle of the element, which must be the element."""
        place = json.dumps(selector)
        x, y, is_seen = self.evaluate(f"""(() => {{
            const element = document.querySelector({place});
            element.scrollIntoView({{block: 'center'}});
            const box = element.getBoundingClientRect();
            const [x, y] = [box.x + box.width / 2, box.y + box.height / 2];
            return [x, y, element.contains(document.elementFromPoint(x, y))];
        }})()""")
        if not is_seen:
            raise RuntimeError(f"{selector} cannot be clicked")
        for kind in ("mousePressed", "mouseReleased"):
            self.send("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def press(self, key, modifiers=0):
        text = {"text": "\r"} if key == "Enter" else {}
        code = {"key": key, "code": key, "windowsVirtualKeyCode": KEYS[key], "modifiers": modifiers}
        self.send("Input.dispatchKeyEvent", type="keyDown", **code, **text)
        self.send("Input.dispatchKeyEvent", type="keyUp", **code)

    def type(self, text):
        self.send("Input.insertText", text=text)

    def resize(self, width, height=900):
        self.send("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)

    def prefer(self, **features):
        self.send("Emulation.setEmulatedMedia", features=[{"name": name.replace("_", "-"), "value": value}
                                                         for name, value in features.items()])
