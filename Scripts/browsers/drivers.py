"""Drives headless browsers with nothing but the standard library: Chromium over its DevTools pipe, Firefox over Marionette.

Both have fake cameras and microphones, and both offer: open(url) by being made, evaluate(expression), press(key),
screenshot(path), close().
"""

import base64
import json
import os
import shutil
import socket
import subprocess
import tempfile
import time


class Chromium:
    FLAGS = [
        "--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking",
        "--use-fake-device-for-media-stream=fps=10", "--use-fake-ui-for-media-stream", "--auto-accept-this-tab-capture",
        "--autoplay-policy=no-user-gesture-required", "--disable-features=WebRtcHideLocalIpsWithMdns",
        "--window-size=1280,800", "--remote-debugging-pipe",
    ]

    def __init__(self, url, prefix=(), flags=()):
        """`prefix` runs it in another place, as a network namespace."""
        self.folder = tempfile.mkdtemp(prefix="koine-chromium-")
        to_read, self.out = os.pipe()
        self.incoming, from_write = os.pipe()

        def move():  # DevTools speaks on descriptors 3 and 4
            reading, writing = os.dup(to_read), os.dup(from_write)
            os.dup2(reading, 3)
            os.dup2(writing, 4)

        self.process = subprocess.Popen(
            [*prefix, "chromium", *self.FLAGS, *flags, f"--user-data-dir={self.folder}", "about:blank"], preexec_fn=move,
            close_fds=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(to_read)
        os.close(from_write)
        self.rest, self.number, self.session, self.complaints = b"", 0, None, []
        target = next(one for one in self.call("Target.getTargets")["targetInfos"] if one["type"] == "page")
        self.session = self.call("Target.attachToTarget", targetId=target["targetId"], flatten=True)["sessionId"]
        self.call("Runtime.enable")
        self.call("Log.enable")
        self.call("Page.enable")
        self.call("Page.navigate", url=url)

    def call(self, method, **parameters):
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.out, json.dumps(message).encode() + b"\0")
        while True:
            while b"\0" not in self.rest:
                part = os.read(self.incoming, 1 << 20)
                if not part:
                    raise RuntimeError("chromium has gone")
                self.rest += part
            line, self.rest = self.rest.split(b"\0", 1)
            answer = json.loads(line)
            if answer.get("method") in ("Runtime.exceptionThrown", "Log.entryAdded"):
                self.complaints.append(answer["params"])
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise RuntimeError(answer["error"])
                return answer["result"]

    def evaluate(self, expression):
        result = self.call("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in result:
            raise RuntimeError(result["exceptionDetails"])
        return result["result"].get("value")

    def press(self, key):
        self.call("Input.dispatchKeyEvent", type="keyDown", key=key, text=key)
        self.call("Input.dispatchKeyEvent", type="keyUp", key=key)

    def screenshot(self, path):
        with open(path, "wb") as file:
            file.write(base64.b64decode(self.call("Page.captureScreenshot", format="png")["data"]))

    def close(self):
        self.process.terminate()
        self.process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)


class Firefox:
    PREFERENCES = {
        "media.navigator.streams.fake": True, "media.navigator.permission.disabled": True,
        "media.autoplay.default": 0, "media.autoplay.blocking_policy": 0,
        "media.peerconnection.ice.obfuscate_host_addresses": False,
        "datareporting.policy.dataSubmissionEnabled": False, "browser.shell.checkDefaultBrowser": False,
        "app.update.enabled": False, "network.captive-portal-service.enabled": False,
        "browser.aboutwelcome.enabled": False, "toolkit.telemetry.reportingpolicy.firstRun": False,
    }

    def __init__(self, url):
        self.folder = tempfile.mkdtemp(prefix="koine-firefox-")
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        with open(os.path.join(self.folder, "user.js"), "w", encoding="utf-8") as file:
            for name, value in {**self.PREFERENCES, "marionette.port": port}.items():
                file.write(f"user_pref({json.dumps(name)}, {json.dumps(value)});\n")
        environment = dict(os.environ, HOME=self.folder, MOZ_HEADLESS_WIDTH="1280", MOZ_HEADLESS_HEIGHT="800")
        self.process = subprocess.Popen(
            ["firefox-esr", "--headless", "--marionette", "--no-remote", "--profile", self.folder], env=environment,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.socket = self.connect(port)
        self.rest, self.number, self.complaints = b"", 0, []
        self.read()
        self.call("WebDriver:NewSession", {})
        self.call("WebDriver:Navigate", {"url": url})

    @staticmethod
    def connect(port):
        for _ in range(600):
            try:
                return socket.create_connection(("127.0.0.1", port))
            except OSError:
                time.sleep(0.1)
        raise RuntimeError("firefox does not listen")

    def read(self):
        while b":" not in self.rest:
            self.rest += self.socket.recv(1 << 16)
        size, self.rest = self.rest.split(b":", 1)
        while len(self.rest) < int(size):
            self.rest += self.socket.recv(1 << 20)
        text, self.rest = self.rest[:int(size)], self.rest[int(size):]
        return json.loads(text)

    def call(self, method, parameters):
        self.number += 1
        text = json.dumps([0, self.number, method, parameters]).encode()
        self.socket.sendall(str(len(text)).encode() + b":" + text)
        _, _, error, result = self.read()
        if error:
            raise RuntimeError(error)
        return result

    def evaluate(self, expression):
        script = (
            f"const done = arguments[arguments.length - 1]; Promise.resolve().then(() => ({expression}))"
            ".then((value) => done(JSON.stringify(value ?? null)), (error) => done(JSON.stringify({error: `${error}`})));")
        return json.loads(self.call("WebDriver:ExecuteAsyncScript", {"script": script, "args": []})["value"])

    def press(self, key):
        actions = [{"type": "keyDown", "value": key}, {"type": "keyUp", "value": key}]
        self.call("WebDriver:PerformActions", {"actions": [{"type": "key", "id": "keyboard", "actions": actions}]})

    def screenshot(self, path):
        with open(path, "wb") as file:
            file.write(base64.b64decode(self.call("WebDriver:TakeScreenshot", {"full": False})["value"]))

    def close(self):
        self.process.terminate()
        self.process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)
