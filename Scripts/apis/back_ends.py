"""Back ends written with Flask as the vendors' guides describe them (Samples/backends). Nothing but environment variables points them here."""

import atexit
import json
import os
import subprocess
import sys

import requests

from chime_meetings import CALL_ENDED, HUNG_UP
from context import ROOT, expect_equal, expect_left, expect_not_admitted, until
from served import free_port


class BackEnd:
    """One of the back ends as a process."""

    def __init__(self, context, name, variable):
        key = context.credentials["aws"][0]
        none = str(context.out / "no-aws-configuration")
        environment = {each: value for each, value in os.environ.items() if not each.startswith("AWS_")} | {
            variable: context.endpoint, "AWS_DEFAULT_REGION": "us-east-1", "AWS_ACCESS_KEY_ID": key["accessKeyId"],
            "AWS_SECRET_ACCESS_KEY": key["secretAccessKey"], "AWS_CONFIG_FILE": none, "AWS_SHARED_CREDENTIALS_FILE": none}
        port = free_port()
        self.address = f"http://127.0.0.1:{port}"
        self.process = subprocess.Popen(
            [sys.executable, "-m", "flask", "--app", ROOT / "Samples" / "backends" / f"{name}.py", "run", "--port", str(port)],
            env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=open(context.out / f"{name}-back-end.log", "w"))
        atexit.register(self.end)
        until(f"the back end {name} answers", self.answers)

    def answers(self):
        try:
            return requests.get(self.address, timeout=1).status_code == 404
        except requests.ConnectionError:
            return False

    def post(self, path, status=200, body=None, **query):
        answer = requests.post(self.address + path, params=query, json=body, timeout=10)
        expect_equal(answer.status_code, status, f"{path}: {answer.text}")
        return answer

    def end(self):
        if self.process.poll() is None:
            self.process.terminate()
            self.process.wait()


def check(context):
    check_meetings(context)
    check_stages(context)


def check_meetings(context):
    def enter(name, seconds=60):
        """The answer goes to the app as it is."""
        path = context.out / f"flask-{name}.json"
        path.write_bytes(back_end.post("/join", title="standup", name=name).content)
        app = context.app("koine-meeting-session", "--meeting", path, "--seconds", str(seconds), "--trace", name=f"flask-{name}")
        return app, path

    context.step("a Flask back end for meetings: its answers admit two apps, and it ends the meeting")
    back_end = BackEnd(context, "chime_meetings", "AWS_ENDPOINT_URL_CHIME_SDK_MEETINGS")
    try:
        (ana, answer), (ben, _) = enter("Ana"), enter("Ben")
        info = json.loads(answer.read_text())["JoinInfo"]
        room = info["Meeting"]["Meeting"]["MeetingId"]
        until("both are in the room", lambda: len(context.rooms.people(room)) == 2)
        until("Ana's app sees Ben", lambda: "#Ben" in ana.text())
        back_end.post("/join", status=400, title="standup")
        back_end.post("/end", title="standup")
        expect_left(ana, HUNG_UP, 69, "Ana")
        expect_left(ben, HUNG_UP, 69, "Ben")
        late = context.app("koine-meeting-session", "--meeting", answer, "--seconds", "10", name="flask-late")
        expect_not_admitted(late, CALL_ENDED, "an answer of an ended meeting")
        back_end.post("/end", status=404, title="standup")

        context.step("the flat answer of other back ends admits, too")
        made = back_end.post("/join", title="standup", name="Cal").json()["JoinInfo"]
        flat = {"JoinInfo": {name: made[name][name] for name in ("Meeting", "Attendee")}}
        path = context.out / "flask-flat.json"
        path.write_text(json.dumps(flat))
        cal = context.app("koine-meeting-session", "--meeting", path, "--seconds", "60", name="flask-flat")
        room = flat["JoinInfo"]["Meeting"]["MeetingId"]
        until("Cal is in the new meeting", lambda: context.rooms.people(room) == [flat["JoinInfo"]["Attendee"]["AttendeeId"]])
        cal.end()
    finally:
        back_end.end()


def check_stages(context):
    def enter(made, name, seconds=60):
        path = context.out / f"flask-{name}.token"
        path.write_text(made["participantToken"]["token"])
        return context.app("koine-stage-strategy", "--token-file", path, "--seconds", str(seconds), "--trace", name=f"flask-{name}")

    context.step("a Flask back end for stages: create, join, disconnect, delete")
    back_end = BackEnd(context, "ivs_stages", "AWS_ENDPOINT_URL_IVS_REALTIME")
    try:
        made = back_end.post("/create", body={"userId": "dee", "attributes": {"username": "Dee"}}).json()
        group = made["groupId"]
        joined = back_end.post("/join", body={"groupId": group, "userId": "eli", "attributes": {"username": "Eli"}}).json()
        dee, eli = enter(made, "dee"), enter(joined, "eli")
        people = sorted(each["participantToken"]["participantId"] for each in (made, joined))
        until("both are on the stage", lambda: context.rooms.people(group) == people)
        until("Dee's app sees Eli", lambda: dee.says("participantDidJoin: Eli"))

        def listed():
            stages = requests.get(back_end.address + "/list", timeout=10).json()["stages"]
            return [sorted(each["userId"] for each in stage["participants"]) for stage in stages]

        until("the back end knows both", lambda: listed() == [["dee", "eli"]])
        back_end.post("/disconnect", body={
            "groupId": group, "participantId": joined["participantToken"]["participantId"], "reason": "time is over"})
        expect_left(eli, "the stage was lost: removed from the stage: time is over (1026)", 69, "Eli")
        late = enter(joined, "eli-again", 10)
        expect_not_admitted(late, "(1026)", "a token that the back end has revoked")
        until("the back end knows Dee only", lambda: listed() == [["dee"]])
        back_end.post("/delete", body={"groupId": group})
        expect_left(dee, "(1027)", 69, "Dee")
        back_end.post("/join", status=404, body={"groupId": group, "userId": "eli"})
    finally:
        back_end.end()
