"""What the checks of the vendors' HTTP APIs share: a Python environment with the vendors' SDKs, a `koine serve` with credentials, sample
apps, and the room server's own view of its rooms.
"""

import json
import os
import pathlib
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
ENVIRONMENT = ROOT / ".build-python"
# The versions with which the facts in Docs/backends.md were found.
PACKAGES = [
    "boto3==1.44.5", "awscli==1.46.3", "azure-communication-identity==1.5.0", "azure-communication-rooms==1.2.0", "aiohttp",
    "requests", "PyJWT", "cryptography",
]


def enter_environment():
    """Runs this program again with the Python of an environment that has the SDKs. Makes the environment where there is none."""
    python = ENVIRONMENT / "bin" / "python"
    stamp = ENVIRONMENT / "packages"
    if not stamp.exists() or stamp.read_text() != "\n".join(PACKAGES):
        print("installing the vendors' SDKs", file=sys.stderr)
        subprocess.run([sys.executable, "-m", "venv", "--clear", ENVIRONMENT], check=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *PACKAGES], check=True)
        stamp.write_text("\n".join(PACKAGES))
    if pathlib.Path(sys.prefix).resolve() != ENVIRONMENT.resolve():
        os.execv(python, [python, *sys.argv])


class Failed(Exception):
    """An expectation that does not hold."""


def expect(condition, text):
    if not condition:
        raise Failed(text)


def expect_equal(value, expected, text):
    if value != expected:
        raise Failed(f"{text}: {value!r}, expected {expected!r}")


def expect_error(kind, call, *arguments, code=None, status=None, **members):
    """Expects that a call of an SDK raises its typed exception, and returns that."""
    try:
        answer = call(*arguments, **members)
    except kind as error:
        response = getattr(error, "response", None)
        if isinstance(response, dict):  # botocore
            if code is not None:
                expect_equal(response["Error"]["Code"], code, "the error's code")
            if status is not None:
                expect_equal(response["ResponseMetadata"]["HTTPStatusCode"], status, "the status")
        else:
            if status is not None:
                expect_equal(getattr(error, "status_code", None), status, "the status")
            if code is not None:
                expect_equal(getattr(getattr(error, "error", None), "code", None), code, "the error's code")
        return error
    raise Failed(f"{kind.__name__} is not raised; the answer is {answer!r}")


def until(text, condition, seconds=20):
    """Waits until `condition` returns a true value, and returns that."""
    end = time.monotonic() + seconds
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > end:
            raise Failed(f"not within {seconds} s: {text}; last seen: {value!r}")
        time.sleep(0.1)


class Rooms:
    """The rooms as the room server itself describes them (`koine rooms`)."""

    def __init__(self, koine, control):
        self.koine, self.control = koine, control

    def ask(self, *words):
        done = subprocess.run(
            [self.koine, "rooms", *words, "--control", self.control, "--json"], capture_output=True, text=True)
        return json.loads(done.stdout) if done.returncode == 0 and done.stdout.strip() else None

    def people(self, room):
        """Ids of the visible participants whose media path stands."""
        members = ((self.ask("show", room) or {}).get("room") or {}).get("participants") or []
        return sorted(member["id"] for member in members if not member["isHidden"] and member["isConnected"])

    def member(self, room, identity):
        members = ((self.ask("show", room) or {}).get("room") or {}).get("participants") or []
        return next((member for member in members if member["id"] == identity), None)


class App:
    """A sample app as a process. Ended with the check."""

    running = []

    def __init__(self, program, *options, out, name):
        self.log = pathlib.Path(out) / f"{name}.log"
        self.process = subprocess.Popen(
            [program, *options], stdin=subprocess.DEVNULL, stdout=open(self.log, "w"), stderr=subprocess.STDOUT)
        App.running.append(self)

    def wait(self, seconds):
        """The exit code; None if the app still runs."""
        try:
            return self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            return None

    def text(self):
        return self.log.read_text(encoding="utf-8", errors="replace")

    def says(self, text):
        return text in self.text()

    def end(self):
        if self.process.poll() is None:
            self.process.terminate()
            if self.wait(10) is None:
                self.process.kill()
                self.process.wait()

    @classmethod
    def end_all(cls):
        for app in cls.running:
            app.end()
        cls.running = []


class Context:
    """One served room server, and where its APIs are reached."""

    def __init__(self, programs, endpoint, backend, credentials_file, rooms, out, is_short):
        self.programs, self.endpoint, self.backend = programs, endpoint, backend
        self.credentials_file, self.credentials = credentials_file, json.loads(credentials_file.read_text())
        self.rooms, self.out, self.is_short = rooms, out, is_short
        self.counted = 0

    def step(self, text):
        self.counted += 1
        print(f"  {text}", flush=True)

    def app(self, program, *options, name):
        return App(self.programs / program, *options, "--backend", self.backend, out=self.out, name=name)
