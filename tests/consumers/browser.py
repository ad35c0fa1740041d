# SPDX-License-Identifier: MIT
"""Chromium without a window, told what to do through a pipe (its DevTools protocol): no port, no driver program."""

import json
import os
import select
import shutil
import subprocess
import tempfile
import time

PATIENCE_S = 60.0
FLAGS = (
    "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking"
    " --disable-component-update --disable-sync --disable-dev-shm-usage --hide-scrollbars --remote-debugging-pipe"
).split()


def program():
    """The browser's path, or None."""
    return shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


class Browser:
    def __init__(self):
        self.home = tempfile.TemporaryDirectory(prefix="chromium-", ignore_cleanup_errors=True)
        commands, self.to = os.pipe()
        self.answers, answers = os.pipe()
        # The browser reads its commands from descriptor 3 and answers on 4.
        script = 'exec "$0" "$@" 3<&%d 4>&%d' % (commands, answers)
        self.process = subprocess.Popen(
            ["bash", "-c", script, program(), *FLAGS, "--user-data-dir=" + self.home.name, "about:blank"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            pass_fds=(commands, answers),
            start_new_session=True,
        )
        os.close(commands)
        os.close(answers)
        self.unread = b""
        self.number = 0
        self.handlers = {}

    def tell(self, method, session=None, **parameters):
        """Sends a command and returns its result; events that come meanwhile go to their page."""
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        if session:
            message["sessionId"] = session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self.to, data) :]
        number, deadline = self.number, time.monotonic() + PATIENCE_S
        while True:
            answer = self._read(deadline, method)
            if answer.get("id") != number:
                continue
            assert "error" not in answer, "%s: %s" % (method, answer["error"])
            return answer["result"]

    def wait(self, done, what):
        """Reads events until done() is true."""
        deadline = time.monotonic() + PATIENCE_S
        while not done():
            self._read(deadline, what)

    def _read(self, deadline, what):
        while b"\0" not in self.unread:
            left = deadline - time.monotonic()
            assert left > 0 and select.select([self.answers], [], [], left)[0], "the browser does not answer: %s" % what
            part = os.read(self.answers, 1 << 20)
            assert part, "the browser has ended: %s" % what
            self.unread += part
        data, _, self.unread = self.unread.partition(b"\0")
        message = json.loads(data)
        handler = self.handlers.get(message.get("sessionId"))
        if handler and "method" in message:
            handler(message["method"], message["params"])
        return message

    def close(self):
        self.process.kill()
        self.process.wait()
        os.close(self.to)
        os.close(self.answers)
        self.home.cleanup()


class Page:
    """A tab. What the page did wrong is in errors, what it asked for over any protocol in requests."""

    def __init__(self, browser, width=1400, height=900):
        self.browser = browser
        self.errors = []
        self.requests = []
        self.loaded = False
        self.target = browser.tell("Target.createTarget", url="about:blank")["targetId"]
        self.session = browser.tell("Target.attachToTarget", targetId=self.target, flatten=True)["sessionId"]
        browser.handlers[self.session] = self._on
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.tell(domain + ".enable")
        self.resize(width, height)

    def tell(self, method, **parameters):
        return self.browser.tell(method, session=self.session, **parameters)

    def _on(self, method, parameters):
        if method == "Runtime.exceptionThrown":
            self.errors.append(parameters["exceptionDetails"])
        elif method == "Runtime.consoleAPICalled" and parameters["type"] in ("error", "warning", "assert"):
            self.errors.append(parameters["args"])
        elif method == "Log.entryAdded" and parameters["entry"]["level"] in ("error", "warning"):
            self.errors.append(parameters["entry"]["text"])
        elif method == "Network.requestWillBeSent":
            self.requests.append(parameters["request"]["url"])
        elif method == "Page.javascriptDialogOpening":
            self.errors.append("a dialog: %s" % parameters["message"])
        elif method == "Page.loadEventFired":
            self.loaded = True

    def resize(self, width, height):
        self.tell("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)

    def prefer(self, scheme):
        self.tell("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])

    def open(self, url):
        self.loaded = False
        self.tell("Page.navigate", url=url)
        self.browser.wait(lambda: self.loaded, "loading %s" % url)
        return self

    def run(self, expression):
        """The value of an expression in the page."""
        result = self.tell("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in result, result["exceptionDetails"]
        return result["result"].get("value")

    def until(self, condition):
        """Waits until an expression is true."""
        self.run("new Promise((done) => { const look = () => (%s) ? done(true) : setTimeout(look, 10); look(); })" % condition)

    def text(self, selector):
        return self.run("document.querySelector(%s).innerText" % json.dumps(selector))

    def click(self, x, y):
        for kind in ("mouseMoved", "mousePressed", "mouseReleased"):
            self.tell("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="none" if kind == "mouseMoved" else "left", clickCount=1)

    def move(self, x, y):
        self.tell("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)

    def click_on(self, selector):
        """Clicks in the middle of an element."""
        box = self.run(
            "(() => { const e = document.querySelector(%s); e.scrollIntoView({block: 'nearest'});"
            " const b = e.getBoundingClientRect(); return [b.x + b.width / 2, b.y + b.height / 2]; })()" % json.dumps(selector)
        )
        self.click(*box)

    def key(self, name):
        """Presses a key: "a", "Enter", "ArrowLeft"."""
        text = {"Enter": "\r"}.get(name, name if len(name) == 1 else "")
        self.tell("Input.dispatchKeyEvent", type="keyDown", key=name, text=text)
        self.tell("Input.dispatchKeyEvent", type="keyUp", key=name)

    def choose(self, selector, value):
        """Chooses from a list, as a user does."""
        self.run(
            "(() => { const e = document.querySelector(%s); e.value = %s; e.dispatchEvent(new Event('change', {bubbles: true})); })()"
            % (json.dumps(selector), json.dumps(value))
        )

    def write(self, selector, text):
        """Types into a field, in the place of what is there."""
        self.run("document.querySelector(%s).focus(); document.querySelector(%s).select()" % ((json.dumps(selector),) * 2))
        self.tell("Input.insertText", text=text)

    def screenshot(self, path):
        import base64

        with open(path, "wb") as file:
            file.write(base64.b64decode(self.tell("Page.captureScreenshot", format="png")["data"]))

    def close(self):
        del self.browser.handlers[self.session]
        self.browser.tell("Target.closeTarget", targetId=self.target)
