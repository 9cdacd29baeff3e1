"""Drives a Chromium over a pipe, in the DevTools protocol, with the standard library alone."""
import base64
import json
import os
import shutil
import subprocess
import tempfile
import time


class Left(Exception):
    """The page that was asked has gone for another one."""


class Browser:
    """A browser with one page. Its profile is gone when it ends."""

    def __init__(self, now):
        self.profile = tempfile.mkdtemp(prefix="inspector-")
        to_browser, self.writer = os.pipe()
        self.reader, from_browser = os.pipe()
        program = shutil.which("chromium") or shutil.which("chromium-browser")
        # The browser reads from 3 and writes to 4. As root, it has no sandbox.
        self.process = subprocess.Popen(
            ["sh", "-c", f'exec "$@" 3<&{to_browser} 4>&{from_browser}', "sh", program,
             "--headless=new", "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe",
             "--disable-background-networking", "--no-first-run",
             f"--user-data-dir={self.profile}", "about:blank"],
            pass_fds=(to_browser, from_browser), stderr=subprocess.DEVNULL,
        )
        os.close(to_browser)
        os.close(from_browser)
        self.answers = open(self.reader, "rb")
        self.number = 0
        self.session = None
        self.events = []
        targets = self.call("Target.getTargets")["targetInfos"]
        page = next(target for target in targets if target["type"] == "page")
        attached = self.call("Target.attachToTarget", targetId=page["targetId"], flatten=True)
        self.session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Network", "DOM", "Log"):
            self.call(f"{domain}.enable")
        # The page's clock stands still, so that the tool can be asked for the same time.
        self.call("Page.addScriptToEvaluateOnNewDocument", source=f"""
            Date = class extends Date {{ constructor() {{ super({json.dumps(now)}); }} }};""")

    def close(self):
        self.process.terminate()
        self.process.wait()
        shutil.rmtree(self.profile, ignore_errors=True)

    def call(self, method, **parameters):
        self.number += 1
        request = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            request["sessionId"] = self.session
        os.write(self.writer, json.dumps(request).encode() + b"\0")
        while True:
            answer = self.next()
            if answer.get("id") == self.number:
                if "navigated" in answer.get("error", {}).get("message", ""):
                    raise Left
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]
            self.events.append(answer)

    def next(self):
        message = bytearray()
        while (byte := self.answers.read(1)) != b"\0":
            if not byte:
                raise RuntimeError("the browser has ended")
            message += byte
        return json.loads(message)

    def open(self, address):
        self.call("Page.navigate", url=address)
        self.until("document.readyState === 'complete'")

    def value(self, expression):
        result = self.call(
            "Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True,
            allowUnsafeEvalBlockedByCSP=False)
        if "exceptionDetails" in result:
            raise RuntimeError(f"{expression}: {result['exceptionDetails']}")
        return result["result"].get("value")

    def until(self, expression):
        for _ in range(1500):
            try:
                if self.value(expression):
                    return
            except Left:
                pass
            time.sleep(0.02)
        raise RuntimeError(f"never true: {expression}")

    def choose(self, selector, files):
        """Gives files to an input, as its dialogue does."""
        root = self.call("DOM.getDocument")["root"]["nodeId"]
        node = self.call("DOM.querySelector", nodeId=root, selector=selector)["nodeId"]
        self.call("DOM.setFileInputFiles", nodeId=node, files=[str(file) for file in files])

    def requests(self):
        """The addresses that the page has asked for since the last call."""
        sent = [event["params"]["request"]["url"] for event in self.events
                if event.get("method") == "Network.requestWillBeSent"]
        self.events = []
        return sent

    def picture(self, file, scheme, width, height):
        self.call("Emulation.setEmulatedMedia",
                  features=[{"name": "prefers-color-scheme", "value": scheme}])
        self.call("Emulation.setDeviceMetricsOverride",
                  width=width, height=height, deviceScaleFactor=1, mobile=width < 600)
        shot = self.call("Page.captureScreenshot", captureBeyondViewport=True, format="png",
                         clip=self.whole(width))
        file.write_bytes(base64.b64decode(shot["data"]))

    def whole(self, width):
        height = self.value("document.documentElement.scrollHeight")
        return {"x": 0, "y": 0, "width": width, "height": height, "scale": 1}
