"""Amazon Chime SDK Meetings by boto3: all core operations, with a sample app of the meeting style in the meeting."""

import json

import boto3
from botocore.config import Config
from botocore.exceptions import ClientError

from context import expect, expect_equal, expect_error, expect_left, expect_not_admitted, expect_refused, until

# As the sample prints them.
HUNG_UP = "the meeting ended: audioServerHungup (60)"
REJECTED = "the meeting ended: audioAuthenticationRejected (63)"
CALL_ENDED = "the meeting ended: audioCallEnded (75)"


def client(context, service="chime-sdk-meetings", **config):
    key = context.credentials["aws"][0]
    return boto3.client(
        service, endpoint_url=context.endpoint, region_name="us-east-1", aws_access_key_id=key["accessKeyId"],
        aws_secret_access_key=key["secretAccessKey"], config=Config(**config))


def call_without_body(client, operation, arn):
    """Calls an operation with the members of its path and the ARN of its tags only."""
    model = client.meta.service_model.operation_model(operation)
    members = model.input_shape.members.items() if model.input_shape else []
    given = {name: arn if name.lower() == "resourcearn" else "p-1" for name, shape in members
             if shape.serialization.get("location") == "uri" or name.lower() == "resourcearn"}
    return client._make_api_call(operation, given) or True


def join_info(context, meeting, attendee, name):
    """The answers of both calls as a back end hands them to its app."""
    path = context.out / f"{name}.json"
    path.write_text(json.dumps({"JoinInfo": {"Meeting": {"Meeting": meeting}, "Attendee": {"Attendee": attendee}}}))
    return path


def enter(context, meeting, attendee, name, seconds=60):
    return context.app(
        "koine-meeting-session", "--meeting", join_info(context, meeting, attendee, name), "--seconds", str(seconds), "--trace",
        name=name)


def check(context):
    chime = client(context)
    context.step("CreateMeeting, GetMeeting")
    meeting = chime.create_meeting(ClientRequestToken="standup", MediaRegion="eu-central-1", ExternalMeetingId="standup")["Meeting"]
    room = meeting["MeetingId"]
    expect_equal(context.rooms.ask("show", room), None, "the room before anyone joins")
    again = chime.create_meeting(ClientRequestToken="standup", MediaRegion="eu-central-1", ExternalMeetingId="standup")["Meeting"]
    expect_equal(again["MeetingId"], room, "the meeting of a repeated request token")
    expect_equal(chime.get_meeting(MeetingId=room)["Meeting"], meeting, "GetMeeting")
    expect(all(meeting["MediaPlacement"].get(name) for name in [
        "AudioHostUrl", "AudioFallbackUrl", "SignalingUrl", "TurnControlUrl", "ScreenDataUrl", "ScreenViewingUrl",
        "ScreenSharingUrl", "EventIngestionUrl"]), "a media address is missing")

    context.step("CreateAttendee, GetAttendee, ListAttendees")
    ana = chime.create_attendee(MeetingId=room, ExternalUserId="ana#Ana")["Attendee"]
    ben = chime.create_attendee(MeetingId=room, ExternalUserId="ben#Ben")["Attendee"]
    expect_equal(chime.get_attendee(MeetingId=room, AttendeeId=ana["AttendeeId"])["Attendee"], ana, "GetAttendee")
    page = chime.list_attendees(MeetingId=room, MaxResults=1)
    expect_equal([each["ExternalUserId"] for each in page["Attendees"]], ["ana#Ana"], "the first page")
    page = chime.list_attendees(MeetingId=room, MaxResults=1, NextToken=page["NextToken"])
    expect_equal([each["ExternalUserId"] for each in page["Attendees"]], ["ben#Ben"], "the second page")
    expect("NextToken" not in page, "a page after the last one")

    context.step("the answers admit two apps, which see each other")
    got = {"Meeting": chime.get_meeting(MeetingId=room)["Meeting"],
           "Attendee": chime.get_attendee(MeetingId=room, AttendeeId=ben["AttendeeId"])["Attendee"]}
    apps = {"ana": enter(context, meeting, ana, "ana"), "ben": enter(context, got["Meeting"], got["Attendee"], "ben")}

    def created():
        return sorted(each["AttendeeId"] for each in chime.list_attendees(MeetingId=room)["Attendees"])

    until("both are in the room", lambda: context.rooms.people(room) == created())
    until("Ana's app sees Ben", lambda: apps["ana"].says("attendeesDidJoin(ben#Ben)"))

    context.step("BatchCreateAttendee")
    batch = chime.batch_create_attendee(
        MeetingId=room, Attendees=[{"ExternalUserId": "cal#Cal"}, {"ExternalUserId": "aws:cal"}])
    expect_equal([each["ExternalUserId"] for each in batch["Attendees"]], ["cal#Cal"], "the attendees of the batch")
    expect_equal([each["ErrorCode"] for each in batch["Errors"]], ["BadRequest"], "the faults of the batch")
    cal = batch["Attendees"][0]
    apps["cal"] = enter(context, meeting, cal, "cal")
    until("Cal is in the room, too", lambda: context.rooms.people(room) == created())

    context.step("UpdateAttendeeCapabilities acts on an attendee in the meeting")
    changed = chime.update_attendee_capabilities(
        MeetingId=room, AttendeeId=ben["AttendeeId"], Capabilities={"Audio": "Receive", "Video": "Receive", "Content": "None"})
    expect_equal(changed["Attendee"]["Capabilities"]["Audio"], "Receive", "the new capability")

    def ben_publishes(kind):
        member = context.rooms.member(room, ben["AttendeeId"])
        return member is not None and any(track["kind"] == kind for track in member["tracks"])

    until("Ben's microphone is withdrawn", lambda: not ben_publishes("microphone"))
    expect("microphone" not in context.rooms.member(room, ben["AttendeeId"])["permissions"], "Ben may still speak")

    context.step("DeleteAttendee removes the attendee and refuses its token")
    chime.delete_attendee(MeetingId=room, AttendeeId=ben["AttendeeId"])
    expect_left(apps["ben"], HUNG_UP, 69, "Ben")
    expect_equal(context.rooms.people(room), created(), "the people in the room")
    expect_error(chime.exceptions.NotFoundException, chime.get_attendee, MeetingId=room, AttendeeId=ben["AttendeeId"], status=404)
    expect_error(chime.exceptions.NotFoundException, chime.delete_attendee, MeetingId=room, AttendeeId=ben["AttendeeId"])
    late = enter(context, meeting, ben, "ben-again", seconds=10)
    expect_not_admitted(late, REJECTED, "a deleted attendee's token")

    context.step("BatchUpdateAttendeeCapabilitiesExcept acts on all others in the meeting")
    chime.batch_update_attendee_capabilities_except(
        MeetingId=room, ExcludedAttendeeIds=[{"AttendeeId": ana["AttendeeId"]}],
        Capabilities={"Audio": "None", "Video": "None", "Content": "None"})
    until("Cal's tracks are withdrawn", lambda: context.rooms.member(room, cal["AttendeeId"])["tracks"] == [])
    expect(context.rooms.member(room, ana["AttendeeId"])["tracks"], "Ana's tracks are withdrawn, too")
    other = {"MeetingId": room, "ExternalUserId": "dan#Dan", "Capabilities": {"Audio": "Receive", "Video": "None", "Content": "None"}}
    dan = chime.create_attendee(**other)["Attendee"]
    apps["dan"] = enter(context, meeting, dan, "dan")
    until("Dan is in the room", lambda: context.rooms.people(room) == created())
    expect_equal(context.rooms.member(room, dan["AttendeeId"])["tracks"], [], "the tracks of an attendee that may only listen")
    chime.update_attendee_capabilities(
        MeetingId=room, AttendeeId=dan["AttendeeId"], Capabilities={"Audio": "SendReceive", "Video": "None", "Content": "None"})
    until("Dan may speak", lambda: "microphone" in context.rooms.member(room, dan["AttendeeId"])["permissions"])

    context.step("DeleteMeeting ends the meeting for everyone")
    chime.delete_meeting(MeetingId=room)
    for name in ["ana", "cal", "dan"]:
        expect_left(apps[name], HUNG_UP, 69, name)
    expect_equal(context.rooms.ask("show", room), None, "the room of a deleted meeting")
    expect_error(chime.exceptions.NotFoundException, chime.get_meeting, MeetingId=room, code="NotFoundException", status=404)
    late = enter(context, meeting, ana, "ana-again", seconds=10)
    expect_not_admitted(late, CALL_ENDED, "a token of a deleted meeting")

    context.step("CreateMeetingWithAttendees")
    made = chime.create_meeting_with_attendees(
        ClientRequestToken="standup", MediaRegion="eu-central-1", ExternalMeetingId="standup",
        Attendees=[{"ExternalUserId": "ana#Ana"}, {"ExternalUserId": "ben#Ben"}])
    expect(made["Meeting"]["MeetingId"] != room, "a request token gives a meeting that has ended")
    expect_equal(len(made["Attendees"]), 2, "the attendees")
    apps = [enter(context, made["Meeting"], each, f"made-{each['ExternalUserId'][:3]}") for each in made["Attendees"]]
    until("both are in the room of the new meeting", lambda: context.rooms.people(made["Meeting"]["MeetingId"]) == sorted(
        each["AttendeeId"] for each in made["Attendees"]))
    for app in apps:
        app.end()

    context.step("errors are the SDK's typed exceptions")
    known = made["Meeting"]["MeetingId"]
    missing = "11111111-1111-4111-8111-111111111111"
    errors = chime.exceptions
    nothing = {"Audio": "None", "Video": "None", "Content": "None"}
    for call, members in [
            (chime.get_meeting, {}), (chime.list_attendees, {}), (chime.create_attendee, {"ExternalUserId": "ana"}),
            (chime.delete_attendee, {"AttendeeId": missing}),
            (chime.batch_create_attendee, {"Attendees": [{"ExternalUserId": "ana"}]}),
            (chime.update_attendee_capabilities, {"AttendeeId": missing, "Capabilities": nothing}),
            (chime.batch_update_attendee_capabilities_except,
             {"ExcludedAttendeeIds": [{"AttendeeId": missing}], "Capabilities": nothing})]:
        expect_error(errors.NotFoundException, call, MeetingId=missing, **members, code="NotFoundException", status=404)
    expect_error(errors.BadRequestException, chime.list_attendees, MeetingId=known, NextToken="x", status=400)
    expect_error(
        errors.BadRequestException, chime.create_meeting_with_attendees, ClientRequestToken="r3", MediaRegion="eu-central-1",
        ExternalMeetingId="AWS:x", Attendees=[{"ExternalUserId": "ana"}], status=400)
    expect_error(
        errors.BadRequestException, chime.batch_update_attendee_capabilities_except, MeetingId=known,
        ExcludedAttendeeIds=[{"AttendeeId": made["Attendees"][0]["AttendeeId"]}],
        Capabilities={"Audio": "Send", "Video": "None", "Content": "SendReceive"}, status=400)
    expect_error(errors.NotFoundException, chime.delete_meeting, MeetingId=missing, status=404)
    expect_error(errors.NotFoundException, chime.get_attendee, MeetingId=known, AttendeeId=missing)
    expect_error(errors.BadRequestException, chime.create_attendee, MeetingId=known, ExternalUserId="aws:x", status=400)
    expect_error(
        errors.BadRequestException, chime.create_meeting, ClientRequestToken="r2", MediaRegion="mars-1", ExternalMeetingId="xx")
    expect_error(
        errors.BadRequestException, chime.update_attendee_capabilities, MeetingId=known,
        AttendeeId=made["Attendees"][0]["AttendeeId"],
        Capabilities={"Audio": "Send", "Video": "None", "Content": "SendReceive"})
    small = chime.create_meeting(
        ClientRequestToken="small", MediaRegion="eu-central-1", ExternalMeetingId="small",
        MeetingFeatures={"Attendee": {"MaxCount": 1}})["Meeting"]["MeetingId"]
    chime.create_attendee(MeetingId=small, ExternalUserId="ana")
    expect_error(errors.LimitExceededException, chime.create_attendee, MeetingId=small, ExternalUserId="ben", status=400)
    stranger = boto3.client(
        "chime-sdk-meetings", endpoint_url=context.endpoint, region_name="us-east-1", aws_access_key_id="AKIASTRANGER",
        aws_secret_access_key="secret")
    expect_error(ClientError, stranger.get_meeting, MeetingId=known, code="UnrecognizedClientException", status=403)
    forger = boto3.client(
        "chime-sdk-meetings", endpoint_url=context.endpoint, region_name="us-east-1",
        aws_access_key_id=context.credentials["aws"][0]["accessKeyId"], aws_secret_access_key="secret")
    expect_error(ClientError, forger.get_meeting, MeetingId=known, code="InvalidSignatureException", status=403)

    context.step("tags")
    arn = made["Meeting"]["MeetingArn"]
    chime.tag_resource(ResourceARN=arn, Tags=[{"Key": "team", "Value": "tea"}, {"Key": "b", "Value": ""}])
    chime.untag_resource(ResourceARN=arn, TagKeys=["b", "unknown"])
    expect_equal(chime.list_tags_for_resource(ResourceARN=arn)["Tags"], [{"Key": "team", "Value": "tea"}], "the tags")
    expect_error(errors.ResourceNotFoundException, chime.list_tags_for_resource, ResourceARN=arn.replace(known, missing))
    expect_error(errors.ResourceNotFoundException, chime.untag_resource, ResourceARN=arn.replace(known, missing), TagKeys=["b"])
    expect_error(
        errors.ResourceNotFoundException, chime.tag_resource, ResourceARN=arn.replace(known, missing), Tags=[{"Key": "a", "Value": ""}])
    # The service has modelled more tags than fifty as an error of its own.
    many = [{"Key": f"k{number}", "Value": ""} for number in range(50)]
    expect_error(errors.TooManyTagsException, chime.tag_resource, ResourceARN=arn, Tags=many, status=400)

    context.step("operations that are not served are refused by name")
    clients = {"meetings": client(context, parameter_validation=False),
               "pipelines": client(context, "chime-sdk-media-pipelines", parameter_validation=False)}
    arn = "arn:aws:chime:us-east-1:000000000000:media-pipeline/p-1"
    count = expect_refused(context, "chime-meetings", lambda row: (
        None if row["section"] not in clients else call_without_body(clients[row["section"]], row["operation"], arn)))
    expect_equal(count, 2 + 31, "the operations that are refused")
