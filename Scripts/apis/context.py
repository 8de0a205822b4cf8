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
    "requests", "PyJWT", "cryptography", "flask==3.1.3",
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


# The different cases in which an SDK has raised its typed exception: operation, exception, code.
typed_exceptions = set()


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
        operation = getattr(error, "operation_name", None) or getattr(call, "__name__", "?")
        typed_exceptions.add((operation, type(error).__name__, code_of(error)))
        return error
    raise Failed(f"{kind.__name__} is not raised; the answer is {answer!r}")


def code_of(error):
    """The vendor's code in an exception of botocore or azure-core."""
    response = getattr(error, "response", None)
    return response["Error"]["Code"] if isinstance(response, dict) else getattr(getattr(error, "error", None), "code", None)


def expect_refused(context, api, call):
    """Expects that each operation that the table of an API says is refused raises the error that the row says.

    `call` takes the row and calls the operation by an SDK, or returns None where no SDK has it. Returns the number of the calls.
    """
    count = 0
    for row in context.tables[api].rows_that(status="refused"):
        wanted = row["error"].split(" ", 1)[1]
        try:
            if call(row) is None:
                continue
        except Exception as error:  # pylint: disable=broad-except
            code = code_of(error)
            expect_equal(code, wanted, f"{row['operation']}: {error!r}")
            count += 1
        else:
            raise Failed(f"{row['operation']} is not refused")
    return count


def expect_left(app, text, exit_code, who):
    """Expects that an app reports how its stay has ended within 1 s, and ends within 4 s."""
    until(f"{who}'s app reports '{text}'", lambda: app.says(text), 1)
    expect_equal(app.wait(4), exit_code, f"the exit code of {who}'s app")


def expect_not_admitted(app, text, why):
    """Expects that an app reports why it has been refused, and exits with the code of a failure."""
    expect_equal(app.wait(20), 69, f"the exit code of an app: {why}")
    expect(app.says(text), f"{why}: no '{text}' in {app.log}")


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

    def __init__(self, programs, endpoint, backend, credentials_file, rooms, out, is_short, recorder=None):
        self.programs, self.endpoint, self.backend = programs, endpoint, backend
        self.credentials_file, self.credentials = credentials_file, json.loads(credentials_file.read_text())
        self.rooms, self.out, self.is_short = rooms, out, is_short
        self.counted, self.steps = 0, {}
        self.recorder, self.tables = recorder, recorder.tables if recorder else {}

    def step(self, text):
        self.counted += 1
        self.steps[text] = self.counted
        if self.recorder is not None:
            self.recorder.step = self.counted
        print(f"  {text}", flush=True)

    def app(self, program, *options, name):
        return App(self.programs / program, *options, "--backend", self.backend, out=self.out, name=name)
