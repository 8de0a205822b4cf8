"""A home of rooms dies while back ends end them at another node of the cluster: the apps hear it, and no deleted token is admitted
anywhere. By boto3, with sample apps of the meeting and the stage style. Only in a cluster (`check-apis --cluster`)."""

import concurrent.futures
import json
import subprocess
import time

import chime_meetings
import ivs_realtime
from context import expect, expect_equal, until

# So many nodes may have rooms.
HOMES = 2
# From the request until the app's callback, with the time that the room takes to get to its new home.
LIMIT = 3
# By a command at the new home, or because the new home does not admit the app that comes back.
ENDED = "the meeting ended: "


def home_of(context, room):
    """The node that has a room."""
    shown = subprocess.run(
        [context.programs / "koine", "cluster", "rooms", "--json"], env=context.nodes.environment, capture_output=True, text=True,
        check=True)
    names = [each["home"] for each in json.loads(shown.stdout)["rooms"] if each["room"] == room]
    return names[0] if names else None


def kill_home(context, room):
    name = until("the room has a home", lambda: home_of(context, room))
    context.nodes.homes[name].kill()
    return name


def told(apps, text, call, **members):
    """Calls an API, and meanwhile waits for the apps' callbacks."""
    begun = time.monotonic()
    with concurrent.futures.ThreadPoolExecutor() as pool:
        answer = pool.submit(lambda: call(**members))
        for app in apps:
            until(f"the app's callback: '{text}'", lambda: app.says(text), LIMIT + 2)
            took = time.monotonic() - begun
            expect(took <= LIMIT, f"the app's callback took {took:.1f} s")
            print(f"    the app's callback after {took:.1f} s", flush=True)
        answer.result()
    print(f"    the answer after {time.monotonic() - begun:.1f} s", flush=True)


def refused_everywhere(context, enter, text):
    """A token that was deleted opens the room at no node."""
    for node in context.nodes.all():
        backend, context.backend = context.backend, f"ws://127.0.0.1:{node.port}"
        app = enter()
        context.backend = backend
        expect_equal(app.wait(20), 69, "the exit code of an app with a deleted token")
        expect(app.says(text), f"no '{text}' in {app.log}")


def meet(context, chime, name, *users):
    """Apps of attendees in one meeting, each of which knows the others."""
    meeting = chime.create_meeting(ClientRequestToken=name, MediaRegion="eu-central-1", ExternalMeetingId=name)["Meeting"]
    attendees = [
        chime.create_attendee(MeetingId=meeting["MeetingId"], ExternalUserId=user)["Attendee"] for user in users]
    apps = [chime_meetings.enter(context, meeting, each, f"killed-{each['ExternalUserId'][:3]}") for each in attendees]
    until("all know each other", lambda: all(app.says("attendeesDidJoin(") for app in apps))
    return meeting, attendees, apps


def check(context):
    chime, ivs = chime_meetings.client(context), ivs_realtime.client(context)

    context.step("DeleteMeeting while the home of its room dies")
    meeting, attendees, apps = meet(context, chime, "first", "ana#Ana", "ben#Ben")
    room = meeting["MeetingId"]
    dead = kill_home(context, room)
    told(apps, ENDED, chime.delete_meeting, MeetingId=room)
    context.nodes.restart(dead)
    refused_everywhere(
        context, lambda: chime_meetings.enter(context, meeting, attendees[0], "killed-again", seconds=10), chime_meetings.CALL_ENDED)

    context.step("DeleteAttendee while the home of its room dies; the others stay")
    meeting, attendees, apps = meet(context, chime, "second", "cal#Cal", "dan#Dan")
    room = meeting["MeetingId"]
    dead = kill_home(context, room)
    told(apps[:1], ENDED, chime.delete_attendee, MeetingId=room, AttendeeId=attendees[0]["AttendeeId"])
    context.nodes.restart(dead)
    time.sleep(1)
    expect(apps[1].process.poll() is None and not apps[1].says("the meeting ended"), "the other attendee was sent out, too")
    refused_everywhere(
        context, lambda: chime_meetings.enter(context, meeting, attendees[0], "killed-once-more", seconds=10), chime_meetings.REJECTED)

    context.step("DisconnectParticipant while the home of its stage dies")
    stage = ivs.create_stage(name="killed")["stage"]
    tokens = [ivs.create_participant_token(stageArn=stage["arn"], userId=name)["participantToken"] for name in ("eva", "fay")]
    apps = [ivs_realtime.enter(context, token["token"], f"killed-{token['userId']}") for token in tokens]
    room = stage["arn"].rsplit("/", 1)[1]
    until("both are on the stage", lambda: all(app.says("participantDidJoin") for app in apps))
    kill_home(context, room)
    told(
        apps[:1], "the stage was lost: ", ivs.disconnect_participant, stageArn=stage["arn"],
        participantId=tokens[0]["participantId"], reason="enough")
