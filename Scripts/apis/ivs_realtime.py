"""Amazon IVS RealTime by boto3 and the AWS CLI: all core operations, with sample apps of the stage style on the stage."""

import json
import os
import subprocess
import sys
import time

import jwt
from botocore.exceptions import ClientError
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives import serialization

import chime_meetings
from context import Failed, expect, expect_equal, expect_error, expect_left, expect_not_admitted, expect_refused, typed_exceptions, until


def client(context, service="ivs-realtime", **config):
    return chime_meetings.client(context, service, **config)


class CommandLine:
    """The AWS CLI, pointed here by the environment alone."""

    def __init__(self, context):
        self.recorder = context.recorder
        key = context.credentials["aws"][0]
        none = str(context.out / "no-aws-configuration")
        self.environment = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")} | {
            "AWS_ENDPOINT_URL_IVS_REALTIME": context.endpoint, "AWS_DEFAULT_REGION": "us-east-1",
            "AWS_ACCESS_KEY_ID": key["accessKeyId"], "AWS_SECRET_ACCESS_KEY": key["secretAccessKey"],
            "AWS_CONFIG_FILE": none, "AWS_SHARED_CREDENTIALS_FILE": none, "AWS_PAGER": ""}

    def run(self, *words):
        return subprocess.run(
            [sys.executable, "-m", "awscli", "ivs-realtime", *words, "--output", "json"], env=self.environment,
            capture_output=True, text=True, timeout=60)

    def __call__(self, *words):
        done = self.run(*words)
        if done.returncode != 0:
            raise Failed(f"aws ivs-realtime {words[0]}: {done.stderr.strip()}")
        operation = "".join(word.capitalize() for word in words[0].split("-"))
        self.recorder.record("ivs-realtime", operation, "AWS CLI")
        return json.loads(done.stdout) if done.stdout.strip() else {}

    def fails(self, code, *words):
        done = self.run(*words)
        found = done.returncode != 0 and f"({code})" in done.stderr
        typed_exceptions.add((f"aws {words[0]}", "AWS CLI", code))
        expect(found, f"aws ivs-realtime {words[0]}: no {code}: {done.stderr.strip()}")


def enter(context, token, name, seconds=60):
    path = context.out / f"{name}.token"
    path.write_text(token)
    return context.app("koine-stage-strategy", "--token-file", path, "--seconds", str(seconds), "--trace", name=name)


def check(context):
    ivs = client(context)
    errors = ivs.exceptions
    context.step("CreateStage with tokens, GetStage, ListStages, UpdateStage")
    made = ivs.create_stage(name="tea", tags={"team": "tea"}, participantTokenConfigurations=[
        {"userId": "ana", "attributes": {"name": "Ana"}}, {"userId": "vic", "capabilities": ["SUBSCRIBE"], "duration": 60}])
    stage, (ana, vic) = made["stage"], made["participantTokens"]
    arn, room = stage["arn"], stage["arn"].split("/")[-1]
    expect_equal(ana["capabilities"], ["PUBLISH", "SUBSCRIBE"], "the capabilities by default")
    expect("activeSessionId" not in ivs.get_stage(arn=arn)["stage"], "a session without participants")
    other = ivs.create_stage()["stage"]["arn"]
    page = ivs.list_stages(maxResults=1)
    expect_equal([each["arn"] for each in page["stages"]], [arn], "the first page of stages")
    page = ivs.list_stages(maxResults=1, nextToken=page["nextToken"])
    expect_equal([each["arn"] for each in page["stages"]], [other], "the second page of stages")
    expect_equal(ivs.update_stage(arn=arn, name="coffee")["stage"]["name"], "coffee", "the new name")

    context.step("the tokens admit apps; one without PUBLISH publishes nothing")
    ben = ivs.create_participant_token(stageArn=arn, userId="ben", attributes={"name": "Ben"})["participantToken"]
    apps = {name: enter(context, token["token"], name) for name, token in (("ana", ana), ("ben", ben), ("vic", vic))}
    everyone = sorted(token["participantId"] for token in (ana, ben, vic))
    until("all are on the stage", lambda: context.rooms.people(room) == everyone)
    until("Ana and Ben publish", lambda: all(
        len(context.rooms.member(room, each["participantId"])["tracks"]) >= 2 for each in (ana, ben)))
    expect_equal(context.rooms.member(room, vic["participantId"])["tracks"], [], "the tracks of a subscriber")
    live = until("a session", lambda: ivs.get_stage(arn=arn)["stage"].get("activeSessionId"))
    listed = {each["arn"]: each.get("activeSessionId") for each in ivs.list_stages()["stages"]}
    expect_equal(listed, {arn: live, other: None}, "the sessions of the stages")
    expect_equal(ivs.update_stage(arn=arn, name="tea")["stage"]["activeSessionId"], live, "the session of a renamed stage")
    expect_equal(context.rooms.people(room), everyone, "the people on a renamed stage")

    context.step("sessions, participants, events")
    session = until("a session", lambda: ivs.get_stage(arn=arn)["stage"].get("activeSessionId"))
    where = {"stageArn": arn, "sessionId": session}
    expect_equal([each["sessionId"] for each in ivs.list_stage_sessions(stageArn=arn)["stageSessions"]], [session], "sessions")
    expect("endTime" not in ivs.get_stage_session(**where)["stageSession"], "the session that is on has an end")

    def people(**filters):
        return [each["userId"] for each in ivs.list_participants(**where, **filters)["participants"]]

    expect_equal(sorted(people()), ["ana", "ben", "vic"], "the participants")
    connected = [each["participantId"] for each in ivs.list_participants(**where, filterByState="CONNECTED")["participants"]]
    expect_equal(sorted(connected), context.rooms.people(room), "who is on the stage, by both")
    expect_equal(people(filterByUserId="ben"), ["ben"], "by user id")
    until("publishers are known", lambda: sorted(people(filterByPublished=True)) == ["ana", "ben"])
    expect_equal(people(filterByPublished=False), ["vic"], "who never published")
    expect_equal(people(filterByState="DISCONNECTED"), [], "who has left")
    expect_error(errors.ValidationException, ivs.list_participants, **where, filterByPublished=True, filterByUserId="ana")
    described = ivs.get_participant(**where, participantId=ana["participantId"])["participant"]
    expect_equal((described["attributes"], described["state"]), ({"name": "Ana"}, "CONNECTED"), "the participant")

    context.step("DisconnectParticipant removes and refuses")
    ivs.disconnect_participant(stageArn=arn, participantId=ben["participantId"], reason="time is over")
    expect_left(apps["ben"], "the stage was lost: removed from the stage: time is over (1026)", 69, "Ben")
    late = enter(context, ben["token"], "ben-again", seconds=10)
    expect_not_admitted(late, "the stage was lost: the participant has been disconnected (1026)", "a revoked token")

    def events():
        return [each["name"] for each in ivs.list_participant_events(**where, participantId=ben["participantId"])["events"]]

    until("Ben has left", lambda: "LEFT" in events())
    names = events()
    expect_equal(names[-1], "JOINED", "the oldest event")
    expect(names.index("PUBLISH_STOPPED") > names.index("LEFT"), "publishing does not stop before the end")
    expect("SUBSCRIBE_STARTED" in names, "no subscription is recorded")
    expect_equal(people(filterByState="DISCONNECTED"), ["ben"], "who has left")

    context.step("public keys: a token that the back end signs itself")
    pair = ec.generate_private_key(ec.SECP384R1())
    public = pair.public_key().public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo).decode()
    key = ivs.import_public_key(publicKeyMaterial=public, name="own")["publicKey"]
    expect_error(errors.ConflictException, ivs.import_public_key, publicKeyMaterial=public, status=409)
    expect_equal(ivs.get_public_key(arn=key["arn"])["publicKey"]["fingerprint"], key["fingerprint"], "the fingerprint")
    listed = [each["arn"] for page in ivs.get_paginator("list_public_keys").paginate() for each in page["publicKeys"]]
    expect_equal(listed, [key["arn"]], "the keys")

    def signed(resource, participant):
        now = int(time.time())
        claims = {
            "exp": now + 600, "iat": now, "jti": participant, "resource": resource, "topic": resource.split("/")[-1],
            "events_url": stage["endpoints"]["events"], "whip_url": stage["endpoints"]["whip"], "user_id": "eve",
            "attributes": {}, "capabilities": {"allow_publish": True, "allow_subscribe": True}, "version": "1.0"}
        return jwt.encode(claims, pair, algorithm="ES384", headers={"kid": key["arn"]})

    expect_equal(ivs.get_public_key(arn=key["arn"])["publicKey"], key, "the key")
    expect_equal([each["arn"] for each in ivs.list_public_keys()["publicKeys"]], [key["arn"]], "the keys")
    expect_error(errors.ConflictException, ivs.import_public_key, publicKeyMaterial=public, code="ConflictException", status=409)
    apps["eve"] = enter(context, signed(arn, "eve1"), "eve")
    until("Eve is on the stage", lambda: "eve1" in context.rooms.people(room))
    foreign = enter(context, signed(arn.replace("us-east-1", "eu-west-1"), "eve2"), "eve-foreign", seconds=10)
    expect_not_admitted(foreign, "(1026)", "a token for a stage of another region")
    ivs.delete_public_key(arn=key["arn"])
    late = enter(context, signed(arn, "eve3"), "eve-again", seconds=10)
    expect_not_admitted(late, "(1026)", "a token of a deleted key")
    expect("eve1" in context.rooms.people(room), "Eve has left with the key of her token")
    expect_error(errors.ResourceNotFoundException, ivs.get_public_key, arn=key["arn"])

    context.step("DeleteStage ends the stage for everyone")
    ivs.delete_stage(arn=arn)
    for name in ["ana", "vic", "eve"]:
        expect_left(apps[name], "(1027)", 69, name)
    expect_equal(context.rooms.ask("show", room), None, "the room of a deleted stage")
    expect_error(errors.ResourceNotFoundException, ivs.get_stage, arn=arn, code="ResourceNotFoundException", status=404)
    late = enter(context, ana["token"], "ana-again", seconds=10)
    expect_not_admitted(late, "the stage was lost: the stage has been deleted (1026)", "a token of a deleted stage")

    if not context.is_short:
        check_command_line(context, public)

    context.step("errors are the SDK's typed exceptions")
    missing = other.rsplit("/", 1)[0] + "/AAAAAAAAAAAA"
    session = "st-0123456789ABC"
    for call, members in [
            (ivs.get_stage, {"arn": missing}), (ivs.update_stage, {"arn": missing, "name": "x"}), (ivs.delete_stage, {"arn": missing}),
            (ivs.create_participant_token, {"stageArn": missing}),
            (ivs.disconnect_participant, {"stageArn": missing, "participantId": "abcdefghijkl"}),
            (ivs.list_stage_sessions, {"stageArn": missing}), (ivs.get_stage_session, {"stageArn": other, "sessionId": session}),
            (ivs.get_participant, {"stageArn": other, "sessionId": session, "participantId": "abcdefghijkl"}),
            (ivs.delete_public_key, {"arn": key["arn"]})]:
        expect_error(errors.ResourceNotFoundException, call, **members, code="ResourceNotFoundException", status=404)
    expect_error(errors.ValidationException, ivs.list_stages, nextToken="A=", status=400)
    expect_error(errors.ValidationException, ivs.create_participant_token, stageArn=other, attributes={"a": "b" * 1_025}, status=400)
    error = expect_error(
        errors.ValidationException, ivs.create_stage, participantTokenConfigurations=[{"attributes": {"a": "b" * 1_025}}], status=400)
    expect("1 KB" in str(error), f"the message is not shown: {error}")
    expect_error(errors.ValidationException, ivs.import_public_key, publicKeyMaterial=public.replace("MHY", "AAA"))
    ivs.tag_resource(resourceArn=other, tags={"a": "1", "b": "2"})
    ivs.untag_resource(resourceArn=other, tagKeys=["b"])
    expect_equal(ivs.list_tags_for_resource(resourceArn=other)["tags"], {"a": "1"}, "the tags")
    expect_error(errors.ResourceNotFoundException, ivs.list_tags_for_resource, resourceArn=missing, status=404)
    stranger = client(context, "chime-sdk-meetings")
    expect_error(ClientError, stranger.list_tags_for_resource, ResourceARN=other, code="ResourceNotFoundException", status=404)

    context.step("operations that are not served are refused by name")
    clients = {name: client(context, service, parameter_validation=False)
               for name, service in [("compositions", "ivs-realtime"), ("more", "ivs-realtime"), ("chat", "ivschat")]}
    arn = "arn:aws:ivschat:us-east-1:000000000000:room/abcdefghijkL"
    count = expect_refused(context, "ivs-realtime", lambda row: (
        chime_meetings.call_without_body(clients[row["section"]], row["operation"], arn)))
    expect_equal(count, 21 + 17, "the operations that are refused")


def check_command_line(context, public):
    context.step("the AWS CLI: all core operations")
    aws = CommandLine(context)
    made = aws(
        "create-stage", "--name", "cli", "--tags", "team=tea", "--participant-token-configurations",
        "userId=dan,capabilities=PUBLISH,SUBSCRIBE")
    arn, dan = made["stage"]["arn"], made["participantTokens"][0]
    expect_equal(aws("get-stage", "--arn", arn)["stage"]["name"], "cli", "the stage")
    expect(arn in [each["arn"] for each in aws("list-stages")["stages"]], "the stage is not listed")
    expect_equal(aws("update-stage", "--arn", arn, "--name", "shell")["stage"]["name"], "shell", "the new name")
    fay = aws("create-participant-token", "--stage-arn", arn, "--user-id", "fay", "--duration", "5")["participantToken"]
    expect_equal(fay["duration"], 5, "the duration")

    app = enter(context, dan["token"], "dan")
    room = arn.split("/")[-1]
    until("Dan is on the stage", lambda: context.rooms.people(room) == [dan["participantId"]])
    session = until("a session", lambda: aws("get-stage", "--arn", arn)["stage"].get("activeSessionId"))
    where = ("--stage-arn", arn, "--session-id", session)
    who = ("--participant-id", dan["participantId"])
    sessions = aws("list-stage-sessions", "--stage-arn", arn)["stageSessions"]
    expect_equal([each["sessionId"] for each in sessions], [session], "the sessions")
    expect_equal(aws("get-stage-session", *where)["stageSession"]["sessionId"], session, "the session")
    present = aws("list-participants", *where, "--filter-by-state", "CONNECTED")["participants"]
    expect_equal([each["userId"] for each in present], ["dan"], "who is there")
    expect_equal(aws("get-participant", *where, *who)["participant"]["userId"], "dan", "the participant")
    expect_equal(aws("list-participant-events", *where, *who)["events"][-1]["name"], "JOINED", "the oldest event")
    aws("disconnect-participant", "--stage-arn", arn, *who, "--reason", "time is over")
    until("Dan's app reports error 1026", lambda: app.says("1026"), 4)
    until("the session has ended", lambda: "endTime" in aws("get-stage-session", *where)["stageSession"])

    key = aws("import-public-key", "--public-key-material", public, "--name", "cli")["publicKey"]["arn"]
    aws.fails("ConflictException", "import-public-key", "--public-key-material", public)
    expect_equal(aws("get-public-key", "--arn", key)["publicKey"]["name"], "cli", "the key")
    expect_equal([each["arn"] for each in aws("list-public-keys")["publicKeys"]], [key], "the keys")
    aws("tag-resource", "--resource-arn", key, "--tags", "a=1,b=2")
    aws("untag-resource", "--resource-arn", key, "--tag-keys", "b")
    expect_equal(aws("list-tags-for-resource", "--resource-arn", key)["tags"], {"a": "1"}, "the tags of a key")
    aws("delete-public-key", "--arn", key)
    aws.fails("ResourceNotFoundException", "get-public-key", "--arn", key)
    aws("delete-stage", "--arn", arn)
    aws.fails("ResourceNotFoundException", "get-stage", "--arn", arn)
    late = enter(context, fay["token"], "fay", seconds=10)
    expect(late.wait(20) not in (None, 0), "a token of a deleted stage admits")
    aws.fails("UnsupportedOperation", "list-compositions")
