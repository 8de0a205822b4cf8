#!/usr/bin/python3
"""Four people in one call, each with an app of another vendor, whose rooms and tokens a back end has made with the vendors' server SDKs.

    Scripts/demo --backend-api [--seconds N] [--snapshot FILE] [--programs DIR]

Starts `koine serve`, runs Samples/backends/four_vendors.py against it, links the four rooms, and runs the four sample apps in them. Prints
what happened, and leaves the screen of the first one in FILE (out/room.png).
"""

import argparse
import json
import math
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path[:0] = [str(ROOT / "Scripts" / "apis"), str(ROOT / "Scripts" / "browsers")]
import context as shared  # noqa: E402

VENDORS = {"azure": "Azure Communication Services", "videosdk": "VideoSDK", "ivs": "Amazon IVS", "chime": "Amazon Chime SDK"}
PROGRAMS = {"azure": "koine-call-agent", "videosdk": "koine-event-listener", "ivs": "koine-stage-strategy",
            "chime": "koine-meeting-session"}


def back_end(koine, credentials, address):
    """What the back end prints. It runs with an environment that says nothing else of the vendors."""
    printed = subprocess.run([koine, "credentials", credentials, "--environment"], check=True, capture_output=True, text=True).stdout
    variables = dict(line.split("=", 1) for line in printed.splitlines())
    variables |= {
        "PATH": "/usr/bin:/bin", "AWS_EC2_METADATA_DISABLED": "true", "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_ENDPOINT_URL_CHIME_SDK_MEETINGS": address, "AWS_ENDPOINT_URL_IVS_REALTIME": address,
        "AZURE_COMMUNICATION_ENDPOINT": address, "VIDEOSDK_API_ENDPOINT": address + "/v2"}
    done = subprocess.run(
        [sys.executable, ROOT / "Samples" / "backends" / "four_vendors.py"], env=variables, capture_output=True, text=True)
    if done.returncode != 0:
        raise shared.Failed(f"the back end failed: {done.stderr.strip()}")
    return json.loads(done.stdout)


def start(vendor, made, programs, address, folder, snapshot):
    """The vendor's sample app with what the back end has made for it."""
    name, answer = made["name"], folder / f"{vendor}.answer"
    if vendor == "chime":
        answer.write_text(json.dumps(made["answer"]))
        options = ["--meeting", answer]
    else:
        answer.write_text(made["token"])
        options = ["--token-file", answer]
    if vendor in ("azure", "videosdk"):
        options += ["--room", made["room"]]
    if snapshot is not None:
        options += ["--snapshot", snapshot]
    return shared.App(
        programs / PROGRAMS[vendor], *options, "--name", name, "--camera", f"portrait:{name}", "--seconds", "0", "--backend",
        address.replace("http", "ws", 1), out=folder, name=vendor)


def received(app):
    """What the app rendered of each other participant: frames by name, from the table that it prints at the end."""
    lines = re.findall(r"^(\S.*?) < (\S.*?)\s{2,}\d+.*?(\d+)/\d+", app.text(), re.MULTILINE)
    return {sender: int(frames) for _, sender, frames in lines}


def call(given, folder):
    from served import Server

    programs, koine = given.programs, given.programs / "koine"
    credentials, keys, control = folder / "credentials.json", folder / "keys.json", folder / "control"
    subprocess.run([koine, "credentials", credentials], check=True, stdout=subprocess.DEVNULL)
    subprocess.run([koine, "token", "keys", keys], check=True, capture_output=True)
    server = Server(programs, folder / "server.log", "--keys", keys, "--api-credentials", credentials, "--control", control)
    try:
        address = f"http://127.0.0.1:{server.port}"
        print(f"koine serve answers the vendors' HTTP APIs at {address}", flush=True)
        made = back_end(koine, credentials, address)
        for vendor, each in made.items():
            print(f"{each['name']}'s back end has made the room {each['room']} with the SDK for {VENDORS[vendor]}", flush=True)
        rooms = shared.Rooms(koine, control)
        names = [each["room"] for each in made.values()]
        if rooms.ask("link", *names) is None:
            raise shared.Failed("the rooms could not be linked")
        print(f"koine rooms link {' '.join(names)}", flush=True)
        apps = {vendor: start(vendor, each, programs, address, folder, given.snapshot if vendor == "azure" else None)
                for vendor, each in made.items()}
        shared.until("the four are in one call", lambda: len(rooms.people(names[0])) == len(made))
        for vendor, each in made.items():
            print(f"{each['name']} is in the call, with {PROGRAMS[vendor]}", flush=True)
        for second in range(1, math.ceil(given.seconds) + 1):
            time.sleep(min(1, given.seconds - second + 1))
            people = rooms.people(names[0])
            print(f"{second} s: {len(people)} in the call", flush=True)
            if len(people) < len(made):
                break
        failed = []
        for vendor, app in apps.items():
            # One after the other, so that the first one's screen shows all four.
            app.process.terminate()
            code = app.wait(20)
            frames = received(app)
            name = made[vendor]["name"]
            print(f"{name} saw {', '.join(f'{sender} in {count} frames' for sender, count in frames.items())}", flush=True)
            if code != 0 or len([count for count in frames.values() if count > 0]) < len(made) - 1:
                failed.append(f"{name}'s app ended with {code}:\n{app.text()}")
        if failed:
            raise shared.Failed("\n".join(failed))
        print(f"The screen of {made['azure']['name']}'s app is in {given.snapshot}")
    finally:
        shared.App.end_all()
        server.stop()


def main():
    options = argparse.ArgumentParser(prog="Scripts/demo --backend-api", description=__doc__.splitlines()[0])
    options.add_argument("--backend-api", action="store_true", required=True, help=argparse.SUPPRESS)
    options.add_argument("--seconds", type=float, default=10, help="how long the four are in the call (default 10)")
    options.add_argument("--snapshot", type=pathlib.Path, default=pathlib.Path("out/room.png"), help="a PNG file (default out/room.png)")
    options.add_argument("--programs", type=pathlib.Path, required=True, help="the folder with the built programs, which are not built then")
    given = options.parse_args()
    if not 1 <= given.seconds <= 86_400:
        options.error("--seconds takes 1 to 86400")
    shared.enter_environment()
    given.programs = given.programs.resolve()
    given.snapshot.parent.mkdir(parents=True, exist_ok=True)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    with tempfile.TemporaryDirectory() as folder:
        try:
            call(given, pathlib.Path(folder))
        except shared.Failed as error:
            print(f"demo: {error}", file=sys.stderr)
            sys.exit(1)
        except KeyboardInterrupt:
            sys.exit(130)


if __name__ == "__main__":
    main()
