import KoineBase
import KoineRouter
import KoineSignaling
import KoineSignalingHost
import KoineTransport
import Testing

@testable import KoineServer

/// A client that speaks SDP, with the test in the router's place.
@Suite struct BrowserTranslatorTests {
  private let end = BrowserTranslator(sessionID: "1")
  private let local = PeerDescription(
    ice: ICECredentials(ufrag: "uuuu", password: "pppppppppppppppppppppp"),
    candidates: [.init(host: "192.0.2.1", port: 5_000, priority: 1)],
    fingerprint: .init(value: "AB:CD"), isLite: true, setup: .passive)

  private func routed(_ actions: [TranslatedAction]) -> [ClientMessage] {
    actions.compactMap { if case .handle(let message) = $0 { message } else { nil } }
  }

  private func answers(_ actions: [TranslatedAction]) throws -> [SessionDescription] {
    try actions.compactMap {
      if case .sendOwn(let message) = $0 { try SessionDescription(parsing: Offers.answer(message).sdp) } else { nil }
    }
  }

  private var joined: ServerMessage {
    .joined(Joined(local: Participant(id: "ana", name: "Ana"), description: local))
  }

  private func publication(_ actions: [TranslatedAction]) throws -> Publish {
    try #require(routed(actions).lazy.compactMap { if case .publish(let publish) = $0 { publish } else { nil } }.first)
  }

  private func subscription(_ actions: [TranslatedAction]) throws -> Subscribe {
    try #require(
      routed(actions).lazy.compactMap { if case .subscribe(let subscribe) = $0 { subscribe } else { nil } }.first)
  }

  @Test func offerIsAnsweredOnceTheRouterHasAnsweredAllRequests() throws {
    let layers = ["a=rid:l0 send", "a=rid:l1 send", "a=simulcast:send l0;l1"].joined(separator: "\n")
    let first = end.handleMessage(
      try Offers.message(
        1, [Offers.medium("0", "audio", "inactive"), Offers.medium("1", "video", "sendonly", layers)],
        send: #"[{"mid":"1","id":"cam","kind":"camera"}]"#))
    guard case .join(let join) = routed(first).first else {
      Issue.record("no join")
      return
    }
    #expect(join.description.ice.ufrag == "theirs")
    #expect(join.room == "tea")
    let second = end.translate(joined)
    #expect(try answers(second).isEmpty)
    let publish = try publication(second)
    let media = try #require(publish.tracks.first?.media)
    #expect(
      media.encodings.map(\.rid) == ["l0", "l1"] && media.encodings.allSatisfy { $0.ssrc == 0 && $0.rtxSSRC == 0 })
    #expect(media.payloadType == 120)
    #expect(media.rtxPayloadType == 124)
    let answer = try #require(try answers(end.translate(.accepted(request: publish.request))).first)
    #expect(answer.media.map(\.direction) == [.inactive, .recvonly])
    #expect(answer.media[1].value("simulcast") == "recv l0;l1")
    #expect(answer.media[1].value("setup") == "passive")
    #expect(answer.attributes.contains(.init("ice-lite")))
    #expect(answer.media[1].candidates.map(\.host) == ["192.0.2.1"])
    #expect(answer.bundle == ["0", "1"])
    #expect(!answer.media[1].takesFeedback("nack", on: 120))  // none was offered
  }

  @Test func withdrawnLocalTrackCanBePublishedAgain() throws {
    let media = [Offers.medium("0", "video", "sendonly")]
    let send = #"[{"mid":"0","id":"cam","kind":"camera"}]"#
    _ = end.handleMessage(try Offers.message(1, media, send: send))
    let first = try publication(end.translate(joined))
    _ = end.translate(.accepted(request: first.request))
    let withdrawn = ServerMessage.withdrawn(participant: "ana", trackIDs: ["cam"])
    #expect(end.translate(withdrawn).contains { if case .forward = $0 { true } else { false } })
    let again = try publication(end.handleMessage(try Offers.message(2, media, send: send)))
    #expect(again.tracks.map(\.id) == ["cam"])
    #expect(again.request != first.request)
  }

  @Test(arguments: [true, false])
  func subscriptionThatTheRoomEndsOrRefusesIsReportedAndMayBeRequestedAgain(_ isRefused: Bool) throws {
    let media = [Offers.medium("0", "audio", "recvonly")]
    let receive = #"[{"mid":"0","participant":"ben","track":"mic"}]"#
    let reference = Track.ID(participant: "ben", track: "mic")
    _ = end.handleMessage(try Offers.message(1, media, receive: receive))
    let first = try subscription(end.translate(joined))
    let actions: [TranslatedAction]
    if isRefused {
      actions = end.translate(.failed(request: first.request, Failure(.forbidden, "not allowed to subscribe")))
    } else {
      let parameters = StreamParameters(
        mid: "1", codec: .opus, payloadType: 120, encodings: [StreamParameters.Encoding(ssrc: 1)])
      let track = ForwardedTrack(reference: reference, media: parameters)
      _ = end.translate(.subscribed(Subscribed(request: first.request, tracks: [track])))
      actions = end.translate(.unsubscribed([reference]))
      #expect(end.translate(.unsubscribed([reference])).isEmpty)
    }
    let told = actions.compactMap { if case .send(let message) = $0 { message } else { nil } }
    #expect(told.contains(.unsubscribed([reference])))
    #expect(try subscription(end.handleMessage(try Offers.message(2, media, receive: receive))).tracks == [reference])
  }

  /// An offer as aiortc 1.4 makes it. Bundled media share one extension map.
  @Test func extensionIDHasOneMeaningInAllMedia() throws {
    let (mid, level) = (HeaderExtensionNames.mid, "urn:ietf:params:rtp-hdrext:ssrc-audio-level")
    let time = "http://www.webrtc.org/experiments/rtp-hdrext/abs-send-time"
    _ = end.handleMessage(
      try Offers.message(
        1,
        [
          Offers.medium("0", "audio", "recvonly", "a=extmap:2 \(level)"),
          Offers.medium("1", "video", "recvonly", "a=extmap:2 \(time)"),
        ]))
    let answer = try #require(try answers(end.translate(joined)).first)
    #expect(answer.media.map { $0.values("extmap") } == [["7 \(mid)", "2 \(level)"], ["7 \(mid)"]])
  }

  @Test func offeredReceptionIsSubscribedAndAnsweredWithItsSSRCs() throws {
    _ = end.handleMessage(try Offers.message(1, [Offers.medium("0", "audio", "inactive")]))
    #expect(try answers(end.translate(joined)).count == 1)
    let actions = end.handleMessage(
      try Offers.message(
        2, [Offers.medium("0", "audio", "inactive"), Offers.medium("1", "video", "recvonly")],
        receive: #"[{"mid":"1","participant":"ben","track":"cam"}]"#))
    let subscribe = try subscription(actions)
    let reference = Track.ID(participant: "ben", track: "cam")
    #expect(subscribe.tracks == [reference])
    let media = StreamParameters(
      mid: "s0", codec: .vp8, payloadType: 120, rtxPayloadType: 124, encodings: [.init(ssrc: 7, rtxSSRC: 8)])
    let answer = try #require(
      try answers(
        end.translate(
          .subscribed(
            Subscribed(request: subscribe.request, tracks: [ForwardedTrack(reference: reference, media: media)])))
      ).first)
    #expect(answer.media[1].direction == .sendonly)
    #expect(answer.media[1].sources.map(\.ssrc) == [7] && answer.media[1].sources.first?.rtx == 8)
    let gone = end.handleMessage(
      try Offers.message(3, [Offers.medium("0", "audio", "inactive"), Offers.medium("1", "video", "inactive")]))
    #expect(routed(gone) == [.unsubscribe([reference])])
    #expect(try answers(gone).first?.media[1].direction == .inactive)
  }

  /// A browser plays the audio and the video of one MediaStream in step (RFC 8830, `msid`).
  @Test func cameraAndMicrophoneOfAParticipantAreInOneMediaStreamAndASharedScreenInAnother() throws {
    let kinds: [(who: String, id: String, kind: Track.Kind)] = [
      ("ben", "mic", .microphone), ("ben", "cam", .camera), ("ben", "screen", .screen), ("ben", "sound", .screenSound),
      ("cleo", "mic", .microphone), ("cleo", "cam", .camera),
    ]
    let media = kinds.enumerated().map { Offers.medium("\($0)", $1.kind.isAudio ? "audio" : "video", "recvonly") }
    let wanted = kinds.enumerated().map { #"{"mid":"\#($0)","participant":"\#($1.who)","track":"\#($1.id)"}"# }
    _ = end.handleMessage(try Offers.message(1, media, receive: "[" + wanted.joined(separator: ",") + "]"))
    let requests = routed(end.translate(joined)).compactMap { if case .subscribe(let one) = $0 { one } else { nil } }
    #expect(requests.count == kinds.count)
    var last: [TranslatedAction] = []
    for (index, request) in requests.enumerated() {
      let stream = StreamParameters(
        mid: "s\(index)", codec: kinds[index].kind.isAudio ? .opus : .vp8, payloadType: 120,
        encodings: [.init(ssrc: UInt32(index + 1))])
      let track = ForwardedTrack(reference: request.tracks[0], kind: kinds[index].kind, media: stream)
      last = end.translate(.subscribed(Subscribed(request: request.request, tracks: [track])))
    }
    let answer = try #require(try answers(last).first)
    let streams = answer.media.compactMap { $0.values("msid").first?.split(separator: " ").first.map(String.init) }
    #expect(streams == ["koine1", "koine1", "koine2", "koine2", "koine3", "koine3"])
  }

  @Test func pausedReceptionIsSubscribedPausedAndPausedOnlyOnce() throws {
    _ = end.handleMessage(try Offers.message(1, [Offers.medium("0", "audio", "inactive")]))
    _ = end.translate(joined)
    let media = [Offers.medium("0", "audio", "inactive"), Offers.medium("1", "video", "recvonly")]
    let receive = #"[{"mid":"1","participant":"ben","track":"cam","paused":true}]"#
    let asked = routed(end.handleMessage(try Offers.message(2, media, receive: receive)))
    let reference = Track.ID(participant: "ben", track: "cam")
    guard asked.count == 1, case .subscribe(let subscribe) = asked[0] else {
      Issue.record("\(asked)")
      return
    }
    #expect(subscribe.tracks == [reference])
    #expect(subscribe.paused == true)
    let forwarded = StreamParameters(mid: "s0", codec: .vp8, payloadType: 120, encodings: [.init(ssrc: 7)])
    _ = end.translate(
      .subscribed(
        Subscribed(request: subscribe.request, tracks: [ForwardedTrack(reference: reference, media: forwarded)])))
    #expect(routed(end.handleMessage(.other(.resume([reference])))) == [.resume([reference])])
    #expect(routed(end.handleMessage(try Offers.message(3, media, receive: receive))).isEmpty)
  }

  /// An offer as Chromium makes it, and one that prefers redundant audio (`setCodecPreferences`).
  @Test(arguments: ["sendonly", "recvonly"], [["111", "63"], ["63", "111"]])
  func redundantAudioIsAcceptedInTheOrderOfTheOffer(direction: String, formats: [String]) throws {
    let red = ["a=rtpmap:63 red/48000/2", "a=fmtp:63 111/111", "a=rtcp-fb:63 transport-cc"].joined(separator: "\n")
    let medium = Offers.medium("0", "audio", direction, red).replacing(
      " 111", with: " " + formats.joined(separator: " "), maxReplacements: 1)
    let isSent = direction == "sendonly"
    let first = end.handleMessage(
      try Offers.message(
        1, [medium], send: isSent ? #"[{"mid":"0","id":"mic","kind":"microphone"}]"# : "[]",
        receive: isSent ? "[]" : #"[{"mid":"0","participant":"ben","track":"mic"}]"#))
    let capabilities = first.compactMap {
      if case .setCapabilities(let capabilities) = $0 { capabilities } else { nil }
    }
    #expect(capabilities.first?.payloadTypes[.opus]?.red == 63)
    let second = end.translate(joined)
    let actions: [TranslatedAction]
    if isSent {
      let publish = try publication(second)
      #expect(publish.tracks.first?.media?.redPayloadType == 63)
      actions = end.translate(.accepted(request: publish.request))
    } else {
      let subscribe = try subscription(second)
      let track = ForwardedTrack(
        reference: subscribe.tracks[0],
        media: StreamParameters(
          mid: "s0", codec: .opus, payloadType: 111, redPayloadType: 63, encodings: [.init(ssrc: 7)]))
      actions = end.translate(.subscribed(Subscribed(request: subscribe.request, tracks: [track])))
    }
    let answer = try #require(try answers(actions).first)
    #expect(answer.media[0].formats == formats)
    #expect(answer.media[0].values("rtpmap") == ["111 opus/48000/2", "63 red/48000/2"])
    #expect(answer.media[0].values("fmtp").contains("63 111/111"))
    #expect(answer.media[0].takesFeedback("transport-cc", on: 63))
  }

  /// RFC 3264, section 6.1: an answer names formats of its offer only.
  @Test func answerOmitsRedundantFormatsThatALaterOfferLacks() throws {
    let plain = Offers.medium("0", "audio", "sendonly")
    let red = ["a=rtpmap:63 red/48000/2", "a=fmtp:63 111/111"].joined(separator: "\n") + "\n"
    let redundant = (plain + red).replacing(" 111", with: " 111 63", maxReplacements: 1)
    let send = #"[{"mid":"0","id":"mic","kind":"microphone"}]"#
    _ = end.handleMessage(try Offers.message(1, [redundant], send: send))
    let first = try publication(end.translate(joined))
    #expect(try answers(end.translate(.accepted(request: first.request))).first?.media[0].formats == ["111", "63"])
    let second = try publication(end.handleMessage(try Offers.message(2, [plain], send: send)))
    #expect(second.tracks.first?.media?.redPayloadType == nil)
    #expect(try answers(end.translate(.accepted(request: second.request))).first?.media[0].formats == ["111"])
  }

  @Test func mediumOfARefusedTrackIsAnsweredInactive() throws {
    _ = end.handleMessage(
      try Offers.message(
        1, [Offers.medium("0", "audio", "sendonly", "a=ssrc:5 cname:x")],
        send: #"[{"mid":"0","id":"mic","kind":"microphone"}]"#))
    let publish = try publication(end.translate(joined))
    #expect(publish.tracks.first?.media?.encodings.map(\.ssrc) == [5])
    let actions = end.translate(.failed(request: publish.request, Failure(.forbidden, "no")))
    #expect(try answers(actions).first?.media[0].direction == .inactive)
  }

  /// A later offer may keep a medium and name other payload types for it.
  @Test func trackWithANewPayloadTypeIsPublishedAgain() throws {
    let (audio, video) = (Offers.medium("0", "audio", "inactive"), Offers.medium("1", "video", "sendonly"))
    let send = #"[{"mid":"1","id":"cam","kind":"camera"}]"#
    _ = end.handleMessage(try Offers.message(1, [audio, video], send: send))
    let first = try publication(end.translate(joined))
    #expect(first.tracks.first?.media?.payloadType == 120)
    _ = end.translate(.accepted(request: first.request))
    let other = video.replacing("120", with: "100").replacing("124", with: "101")
    let actions = end.handleMessage(try Offers.message(2, [audio, other], send: send))
    #expect(routed(actions).first == .unpublish(trackIDs: ["cam"]))
    let second = try publication(actions)
    #expect(second.tracks.first?.media?.payloadType == 100)
    let answer = try #require(try answers(end.translate(.accepted(request: second.request))).first)
    #expect(answer.media[1].formats == ["100", "101"] && answer.media[1].direction == .recvonly)
    // The same offer once more changes nothing.
    #expect(routed(end.handleMessage(try Offers.message(3, [audio, other], send: send))).isEmpty)
    // Nothing that is known here is left: the track is withdrawn, and the answer rejects the medium.
    let unknown = video.replacing("VP8", with: "H264")
    let gone = end.handleMessage(try Offers.message(4, [audio, unknown], send: send))
    #expect(routed(gone) == [.unpublish(trackIDs: ["cam"])])
    #expect(try answers(gone).first?.media[1].port == 0)
  }

  @Test func secondMediumWithTheSameMIDIsRejected() throws {
    let video = Offers.medium("0", "video", "sendonly")
    let other = video.replacing("120", with: "100").replacing("124", with: "101")
    _ = end.handleMessage(
      try Offers.message(1, [video, other], send: #"[{"mid":"0","id":"cam","kind":"camera"}]"#))
    let publish = try publication(end.translate(joined))
    let answer = try #require(try answers(end.translate(.accepted(request: publish.request))).first)
    #expect(answer.media.map(\.port) == [9, 0])
    #expect(answer.bundle == ["0"])
  }

  @Test func secondOfferWaitsForTheFirst() throws {
    _ = end.handleMessage(
      try Offers.message(
        1, [Offers.medium("0", "audio", "sendonly", "a=ssrc:5 cname:x")],
        send: #"[{"mid":"0","id":"mic","kind":"microphone"}]"#))
    let publish = try publication(end.translate(joined))
    #expect(end.handleMessage(try Offers.message(2, [Offers.medium("0", "audio", "inactive")])).isEmpty)
    let actions = end.translate(.accepted(request: publish.request))
    #expect(try answers(actions).count == 2)
    #expect(routed(actions) == [.unpublish(trackIDs: ["mic"])])
  }

  @Test func unknownMediaAreRejected() throws {
    let data = "m=application 9 UDP/DTLS/SCTP webrtc-datachannel\na=mid:2\na=sctp-port:5000\n"
    _ = end.handleMessage(try Offers.message(1, [Offers.medium("0", "audio", "inactive"), data]))
    let answer = try #require(try answers(end.translate(joined)).first)
    #expect(answer.media.map(\.port) == [9, 0])
    #expect(answer.bundle == ["0"])
  }

  @Test func stoppedMediumStaysRejected() throws {
    let stopped = Offers.medium("1", "video", "inactive").replacing("m=video 9", with: "m=video 0")
    let bundled = Offers.medium("2", "video", "inactive", "a=bundle-only").replacing("m=video 9", with: "m=video 0")
    _ = end.handleMessage(try Offers.message(1, [Offers.medium("0", "audio", "inactive"), stopped, bundled]))
    let answer = try #require(try answers(end.translate(joined)).first)
    #expect(answer.media.map(\.port) == [9, 0, 9])
    #expect(answer.bundle == ["0", "2"])
  }

  private func failures(_ actions: [TranslatedAction]) -> [Failure.Code] {
    actions.compactMap { if case .send(.failed(_, let failure)) = $0 { failure.code } else { nil } }
  }

  /// Otherwise a guest would be admitted with the ICE parameters of one offer and the media of another.
  @Test func secondJoinOfAWaitingGuestChangesNothing() throws {
    _ = end.handleMessage(try Offers.message(1, [Offers.medium("0", "audio", "inactive")]))
    _ = end.translate(.waiting)
    let second = end.handleMessage(
      try Offers.message(1, [Offers.medium("0", "audio", "inactive"), Offers.medium("1", "video", "inactive")]))
    #expect(second.count == 1)
    #expect(failures(second) == [.wrongState])
    #expect(try answers(end.translate(joined)).map(\.media.count) == [1])
  }

  /// The largest offer that is read, of 16 formats with retransmissions and feedback in each medium.
  @Test func answerSizeGrowsWithTheMediaAndNotWithTheirFormats() throws {
    _ = end.handleMessage(try Offers.message(1, [Offers.medium("0", "audio", "inactive")]))
    _ = end.translate(joined)
    let types = (0..<16).map { 96 + $0 * 2 }
    func medium(_ number: Int) -> String {
      let lines = types.map { type in
        """
        a=rtpmap:\(type) VP8/90000
        a=rtpmap:\(type + 1) rtx/90000
        a=fmtp:\(type + 1) apt=\(type)
        """
      }
      let head = "m=video 9 UDP/TLS/RTP/SAVPF " + types.map { "\($0) \($0 + 1)" }.joined(separator: " ")
      let feedback = ["transport-cc", "ccm fir", "nack", "nack pli"].map { "a=rtcp-fb:* \($0)" }
      return ([head, "a=mid:\(number)", "a=recvonly", "a=rtcp-mux"] + feedback + lines).joined(separator: "\n") + "\n"
    }
    let most = SessionDescription.Limits.joined.media
    let message = try Offers.message(2, (0..<most).map(medium))
    guard case .offer(let offer) = message else { return }
    let read = Result { () throws(SDPError) in try SessionDescription(parsing: offer.sdp) }
    var actions: [TranslatedAction] = []
    #expect(ReadingSteps.count { actions = end.handle(message, offer: read) } == 0, "the answer is written elsewhere")
    let answer = try #require(try answers(actions).first)
    #expect(answer.media.count == most)
    #expect(answer.media.allSatisfy { $0.formats.count == 8 })
    #expect(answer.media.reduce(0) { $0 + $1.attributes.count } <= most * 45)
    #expect(try answers(end.handleMessage(try Offers.message(3, (0...most).map(medium)))).isEmpty)
  }

  @Test func joinAndOfferWithoutAParsedDescriptionAreRefused() throws {
    let media = [Offers.medium("0", "audio", "inactive")]
    #expect(failures(end.handle(try Offers.message(1, media), offer: nil)) == [.wrongState])
    #expect(failures(end.handle(try Offers.message(2, media), offer: nil)) == [.wrongState])
  }

  @Test func refusedRegistrationKeepsTheParticipantInItsRoom() throws {
    _ = end.handleMessage(try Offers.message(1, [Offers.medium("0", "audio", "inactive")]))
    _ = end.translate(joined)
    _ = end.handleMessage(.other(.register(Register(identity: "ana", name: "Ana"))))
    #expect(end.translate(.refused(Failure(.unauthorized, "no"))).count == 1)
    #expect(end.hasJoined)
    #expect(try answers(end.handleMessage(try Offers.message(2, [Offers.medium("0", "audio", "inactive")]))).count == 1)
  }

  @Test func guestThatWaitsIsToldTheNodesOfTheCluster() throws {
    let nodes = BrowserNodes(places: ["ws://n1:80", "ws://n2:80"], pingSeconds: 2, silenceSeconds: 6)
    let actions = BrowserTranslator(sessionID: "1") { nodes }.translate(.waiting)
    guard actions.count == 2, case .sendOwn(let message) = actions[0], case .forward = actions[1] else {
      Issue.record("\(actions)")
      return
    }
    let json = try #require(message.encoded { String(decoding: $0, as: UTF8.self) })
    #expect(json.contains(#""type":"nodes""#) && json.contains("ws://n2:80") && json.contains(#""silenceSeconds":6"#))
    #expect(end.translate(.waiting).count == 1, "no cluster")
  }

  @Test func refusedRegistrationKeepsTheGuestWaiting() throws {
    _ = end.handleMessage(try Offers.message(1, [Offers.medium("0", "audio", "inactive")]))
    _ = end.translate(.waiting)
    _ = end.handleMessage(.other(.register(Register(identity: "ana", name: "Ana"))))
    _ = end.translate(.refused(Failure(.unauthorized, "no")))
    #expect(end.hasBegun)
    #expect(try answers(end.translate(joined)).count == 1)
    _ = end.translate(.refused(Failure(.denied, "no")))
    #expect(!end.hasBegun)
  }

  @Test func joinsWithoutAnOfferOrOfAnotherVersionAreRefused() {
    for text in [
      #"{"type":"join","version":1,"room":"tea","name":"Ana"}"#,
      #"{"type":"join","version":9,"room":"tea","name":"Ana","offer":{"number":1,"sdp":""}}"#, #"{"type":"offer"}"#,
      "[]",
    ] {
      #expect(throws: SignalingError.self) { try Array(text.utf8).withUnsafeBytes { try BrowserMessage(json: $0) } }
    }
  }
}
