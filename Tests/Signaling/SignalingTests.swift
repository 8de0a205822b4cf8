import KoineBase
import KoineJSONCodec
import KoineSignaling
import Testing

enum Examples {
  static let description = PeerDescription(
    ice: ICECredentials(ufrag: "abcd", password: "0123456789012345678901"),
    candidates: [ICECandidate(host: "::1", port: 5000, priority: 2_130_706_431)],
    fingerprint: Fingerprint(value: "AA:BB"), isLite: true, setup: .passive)
  static let media = StreamParameters(
    mid: "0", codec: .vp8, payloadType: 96, rtxPayloadType: 97,
    encodings: [
      StreamParameters.Encoding(rid: "q", ssrc: 1, rtxSSRC: 2, maximumBitrate: 150_000),
      StreamParameters.Encoding(rid: "h", ssrc: .max),
    ])
  static let offer = TrackOffer(id: "cam", kind: .camera, isMuted: true, media: media)
  static let track = track("cam", .camera, isMuted: true)
  static let reference = Track.ID(participant: "ana", track: "cam")
  static let participant = Participant(
    id: "ana", name: "Ana 日本", externalUserID: "u1", attributes: ["hand": "up"], tracks: [track("mic", .microphone)],
    joinedOrder: 3)
  static let data = ReceivedMessage(
    sender: "ana", topic: "chat", payload: Array(0...255), id: "m1", order: 9, age: .milliseconds(12), isDirected: true)

  static let retained = {
    var message = DataMessage(topic: "t", payload: [1])
    (message.isRetained, message.returnsToSender) = (true, true)
    return message
  }()

  static let client: [ClientMessage] = [
    .join(
      Join(
        room: "r", credential: "c", participantID: "ana", name: "Ana", externalID: "u", attributes: ["a": "b"],
        description: description)),
    .join(Join(room: "r", name: "", description: description)),
    .publish(Publish(request: 1, tracks: [offer])), .unpublish(trackIDs: ["cam", "mic"]),
    .mute(trackID: "cam", muted: false), .subscribe(Subscribe(request: .max, tracks: [reference])),
    .subscribe(Subscribe(request: 0, tracks: [reference], paused: true)),
    .unsubscribe([reference]), .pause([reference]), .resume([]),
    .data(
      SendData(DataMessage(topic: "t", payload: [1, 2], to: ["ben"], lifetime: .seconds(1.5)), id: "1", echo: true)),
    .data(SendData(DataMessage(topic: "", payload: [], to: []), id: "")), .attributes([:]), .leave(reason: "bye"),
    .leave(reason: nil), .ping(-1),
    .register(Register(identity: "8:acs:ana", name: "Ana", credential: "t")), .register(Register(identity: "ben")),
    .ring(RingRequest(id: "r1", room: "call", to: ["ben", "eva"], hasVideo: true, timeoutSeconds: 30)),
    .ring(RingRequest(id: "r1", room: "call", to: ["ben"], isRepeated: true)), .cancelRing(id: "r1"),
    .answerRing(id: "r1", .busy),
    .prefer([TrackPreference(LayerPreference(layer: 0, maximumHeight: 180, priority: 3), of: reference)]),
    .prefer([TrackPreference(LayerPreference(), of: reference)]), .remove(participant: "ben"), .close,
    .join(Join(room: "r", name: "", description: description, returningTo: "e1", resumptionKey: "k-1")),
    .resumeConversation(key: "k", heard: 12), .heard(0), .restartMedia(description),
    .bye, .answerKnock(participant: "eva", admitted: true),
    .answerKnock(participant: "eva", admitted: false, number: 7),
    .muteOther(Track.ID(participant: "ben", track: "mic")), .renew(credential: "newer"),
    .answerRing(id: "r1", .accepted), .answerRing(id: "r1", .declined),
    .data(SendData(DataMessage(topic: "t", payload: [0xFF], isPersistent: true), id: "2")),
    .data(SendData(retained, id: "3")),
    .publish(
      Publish(
        request: 2,
        tracks: [
          TrackOffer(
            id: "mic", kind: .microphone,
            media: StreamParameters(
              mid: "1", codec: .opus, payloadType: 111, redPayloadType: 63,
              encodings: [StreamParameters.Encoding(ssrc: 7)])),
          TrackOffer(
            id: "screen", kind: .screen,
            media: StreamParameters(
              mid: "2", codec: .vp9, payloadType: 98, rtxPayloadType: 99,
              encodings: [
                StreamParameters.Encoding(ssrc: 8, rtxSSRC: 9, maximumBitrate: 2_000_000, maximumHeight: 1080)
              ])),
        ])),
    .restartMedia(
      PeerDescription(
        ice: ICECredentials(ufrag: "u", password: "p"), fingerprint: Fingerprint(value: "AA"), isLite: false,
        setup: .active,
        redPayloadType: 63)),
    .join(joinInCluster),
  ]
  static let server: [ServerMessage] = [
    .joined(Joined(local: participant, description: description, participants: [participant], history: [data])),
    .refused(Failure(.roomFull, "full")), .participantJoined(participant),
    .participantLeft(id: "ana", reason: .dropped), .accepted(request: 1),
    .published(participant: "ana", tracks: [track]), .withdrawn(participant: "ana", trackIDs: ["cam"]),
    .muted(participant: "ana", trackID: "cam", muted: true),
    .subscribed(
      Subscribed(request: 2, tracks: [ForwardedTrack(reference: reference, media: media)], missing: [reference])),
    .unsubscribed([reference]), .data(data), .dataReceipt(DataReceipt(id: "1", order: 5)),
    .dataReceipt(DataReceipt(id: "1", failure: Failure(.tooMany, "slow down"))),
    .attributes(participant: "ana", ["k": "v"]), .speakers(Speakers(levels: ["ana": -127, "ben": 0], dominant: "ben")),
    .failed(request: nil, Failure(Failure.Code(rawValue: "newer"), "?")),
    .failed(request: 4, Failure(.forbidden, "")), .ended(.duplicate), .ended(.removed), .pong(7),
    .registered(identity: "ana"),
    .incomingRing(
      Ring(
        id: "r1", room: "call", caller: "ana", callerName: "Ana", callees: ["ben"], hasVideo: false, isIncoming: true)),
    .ringEnded(id: "r1", .handledElsewhere), .ringProgress(RingProgress(id: "r1", identity: "ben", state: .ringing)),
    .quality(["ana": ConnectionQuality(), "ben": ConnectionQuality(sending: .none, receiving: .low)]),
    .joined(Joined(local: participant, description: description, epoch: "e1")),
    .attendants(["koine.recording"]), .history(HistoryPage(messages: [], hasMore: false)),
    .permissions([.camera, .subscribe]), .permissions([]),
    .history(
      HistoryPage(
        messages: [
          ReceivedMessage(
            sender: "ana", topic: "t\"", payload: [1, 2, 255], id: "1", order: 7, age: .milliseconds(12)),
          ReceivedMessage(sender: "ben", topic: "", payload: [], id: "2", order: 9, isDirected: true),
        ], hasMore: true)),
    .bandwidth(1_500_000), .waiting, .knock(participant), .knock(participant, number: 7),
    .knockEnded(participant: "eva", admitted: nil),
    .knockEnded(participant: "eva", admitted: false, number: 7),
    .knockEnded(participant: "eva", admitted: true), .starved(.init(participant: "ana", track: "cam"), true),
    .ended(.expired),
    .resumable(key: "k", graceSeconds: 30), .resumed(heard: 3), .heard(17), .mediaRestarted(description),
    .wanted(trackID: "cam", layers: [0, 2]), .attributes(participant: "ana", [:]), .speakers(Speakers(levels: [:])),
    .participantLeft(id: "ana", reason: .left), .participantLeft(id: "ana", reason: .removed),
    .ended(.left), .ended(.lost), .ended(.removed), .ended(.roomClosed),
    .ringProgress(RingProgress(id: "r1", identity: "ben", state: .accepted)),
    .ringProgress(RingProgress(id: "r1", identity: "ben", state: .declined)),
    .ringProgress(RingProgress(id: "r1", identity: "ben", state: .busy)),
    .ringProgress(RingProgress(id: "r1", identity: "ben", state: .unanswered)),
    .ringProgress(RingProgress(id: "r1", identity: "ben", state: .unreachable)), .ringEnded(id: "r1", .cancelled),
    .published(
      participant: "ana",
      tracks: [track("s", .screen), track("a", .screenSound), track("m", .microphone)]),
    .joined(Joined(local: participant, description: description, epoch: "e1", attendants: ["koine.recording"])),
    .joined(longHistory), .joined(joinedInCluster),
    .refused(Failure(.moved, "the room is at another server"), places: places),
    .refused(Failure(.unavailable, "the ledger cannot be reached")), .registered(identity: "ana", places: places),
    .moved(places: places), .moved(places: []),
    .dataReceipt(DataReceipt(id: "1", order: 5, failure: Failure(.unavailable, "it is stored later"))),
    .subscribed(
      Subscribed(request: 3, tracks: [ForwardedTrack(reference: reference, kind: .screen, media: media)])),
  ]

  private static func track(_ id: String, _ kind: Track.Kind, isMuted: Bool = false) -> Track {
    Track(id: Track.ID(participant: "ana", track: id), kind: kind, isMuted: isMuted)
  }

  static let places = ["wss://n2.example.com", "ws://[::1]:8080/signaling"]

  private static var joinInCluster: Join {
    var join = Join(room: "r", name: "", description: description, returningTo: "e1", resumptionKey: "k-1")
    (join.seen, join.isMoved, join.unreachable) = (1_795_000_000_000_123, true, "wss://n1.example.com")
    return join
  }

  private static var joinedInCluster: Joined {
    var joined = Joined(local: participant, description: description, epoch: "e3")
    (joined.places, joined.pingSeconds, joined.silenceSeconds, joined.continues) = (places, 2, 6, true)
    return joined
  }

  private static var longHistory: Joined {
    var joined = Joined(local: participant, description: description, history: [data], epoch: "e2")
    joined.hasMoreHistory = true
    return joined
  }
}

struct SignalingTests {
  private func server(_ text: String) throws -> ServerMessage {
    try Array(text.utf8).withUnsafeBytes { try ServerMessage(json: $0) }
  }

  private func client(_ text: String) throws -> ClientMessage {
    try Array(text.utf8).withUnsafeBytes { try ClientMessage(json: $0) }
  }

  @Test(arguments: Examples.client) func clientMessagesAreReadBack(_ message: ClientMessage) throws {
    #expect(try message.json().withUnsafeBytes { try ClientMessage(json: $0) } == message)
  }

  @Test(arguments: Examples.server) func serverMessagesAreReadBack(_ message: ServerMessage) throws {
    #expect(try message.json().withUnsafeBytes { try ServerMessage(json: $0) } == message)
  }

  @Test func messageIsOneFlatJSONObject() throws {
    let text = String(decoding: try ClientMessage.mute(trackID: "cam", muted: true).json(), as: UTF8.self)
    #expect(text == #"{"type":"mute","track":"cam","muted":true}"#)
  }

  @Test func unknownFieldsAreIgnored() throws {
    #expect(try client(#"{"type":"ping","number":3,"colour":{"deep":[1]}}"#) == .ping(3))
  }

  @Test func candidatesOfUnknownKindsAndTransportsAreLeftOut() throws {
    let description = try server(
      #"{"type":"mediaRestarted","description":{"ufrag":"u","password":"p","setup":"passive","candidates":["#
        + #"{"host":"192.0.2.1","port":1,"priority":2,"kind":"pigeon"},{"host":"192.0.2.2","port":1,"priority":2},"#
        + #"{"host":"192.0.2.3","port":1,"priority":2,"transport":"tcp"}],"fingerprint":{"algorithm":"a","value":"b"}}}"#
    )
    guard case .mediaRestarted(let description) = description else {
      Issue.record("\(description)")
      return
    }
    #expect(description.candidates == [ICECandidate(host: "192.0.2.2", port: 1, priority: 2)])
  }

  @Test func trackOfAnUnknownCodecHasNoMedia() throws {
    let message = try server(
      #"{"type":"subscribed","request":1,"tracks":[{"reference":{"participant":"a","track":"t"},"media":"#
        + #"{"mid":"0","codec":"AV2","payloadType":"x"}}]}"#)
    let reference = Track.ID(participant: "a", track: "t")
    #expect(message == .subscribed(Subscribed(request: 1, tracks: [ForwardedTrack(reference: reference, media: nil)])))
  }

  @Test(arguments: [
    #""encodings":[]"#, #""encodings":[{"ssrc":1,"maxBitrate":-1}]"#, #""encodings":[{"ssrc":1,"maxHeight":100000}]"#,
    #""encodings":[{"ssrc":1},{"ssrc":1},{"ssrc":1},{"ssrc":1},{"ssrc":1},{"ssrc":1},{"ssrc":1},{"ssrc":1},{"ssrc":1}]"#,
  ]) func impossibleMediaIsRefused(_ encodings: String) {
    let media = #"{"mid":"m","codec":"VP8","payloadType":96,\#(encodings)}"#
    #expect(throws: SignalingError.self) {
      try client(#"{"type":"publish","request":5,"tracks":[{"id":"c","kind":"camera","media":\#(media)}]}"#)
    }
  }

  @Test func messageOfAnUnknownTypeIsRefused() {
    #expect(throws: SignalingError.unknownType("dance")) { try client(#"{"type":"dance"}"#) }
  }

  @Test func joinOfAnotherVersionIsRefusedBeforeItsOtherFieldsAreRead() {
    #expect(throws: SignalingError.unknownVersion(2)) { try client(#"{"type":"join","version":2,"room":17}"#) }
    #expect(SignalingError.unknownVersion(2).failure.code == .unsupportedVersion)
  }

  @Test func errorNamesTheMissingField() {
    #expect(throws: SignalingError.malformed("“muted” is missing")) { try client(#"{"type":"mute","track":"x"}"#) }
    #expect(throws: SignalingError.malformed("“type” is missing")) { try client("{}") }
  }

  @Test func missingListIsReadAsEmpty() throws {
    #expect(try client(#"{"type":"unpublish"}"#) == .unpublish(trackIDs: []))
  }

  @Test func valuesOfUnknownFieldsAreCounted() throws {
    func message(_ values: Int) -> Result<ClientMessage, UnreadableMessage> {
      let text =
        #"{"type":"ping","number":1,"x":["# + [String](repeating: "0", count: values).joined(separator: ",") + "]}"
      return Array(text.utf8).withUnsafeBytes { ClientMessage.reading($0) }
    }
    #expect(message(SignalingLimits.clientValues - 4) == .success(.ping(1)))
    let failure = SignalingError.tooLarge(field: "values", limit: SignalingLimits.clientValues)
    #expect(message(SignalingLimits.clientValues - 3) == .failure(UnreadableMessage(failure)))
    #expect(message(500_000) == .failure(UnreadableMessage(failure)))
  }

  @Test func fieldsBeyondTheirSizeLimitsAreRefused() throws {
    let long = String(repeating: "x", count: 257)
    #expect(throws: SignalingError.tooLarge(field: "track", limit: 256)) {
      try client(#"{"type":"mute","track":"\#(long)","muted":true}"#)
    }
    let tooMany = ClientMessage.publish(
      Publish(request: 1, tracks: (0..<33).map { TrackOffer(id: "\($0)", kind: .camera) }))
    #expect(throws: SignalingError.tooLarge(field: "tracks", limit: 32)) {
      try tooMany.json().withUnsafeBytes { try ClientMessage(json: $0) }
    }
    func data(_ count: Int) throws -> ClientMessage {
      try ClientMessage.data(SendData(DataMessage(topic: "t", payload: .init(repeating: 1, count: count)), id: "1"))
        .json()
        .withUnsafeBytes { try ClientMessage(json: $0) }
    }
    _ = try data(64 * 1024)
    #expect(throws: SignalingError.tooLarge(field: "payload", limit: 64 * 1024)) { try data(64 * 1024 + 1) }
    let attributes = Dictionary(uniqueKeysWithValues: (0..<65).map { ("\($0)", "") })
    #expect(throws: SignalingError.tooLarge(field: "attributes", limit: 64)) {
      try ClientMessage.attributes(attributes).json().withUnsafeBytes { try ClientMessage(json: $0) }
    }
  }

  @Test func placesOfOtherKindsAreLeftOut() throws {
    let others = #"["https://n1","n2:80","wss://n3","","WS://n4","ws://n5"]"#
    #expect(try server(#"{"type":"moved","places":\#(others)}"#) == .moved(places: ["wss://n3", "ws://n5"]))
    #expect(
      try server(#"{"type":"registered","identity":"ana","places":\#(others)}"#)
        == .registered(identity: "ana", places: ["wss://n3", "ws://n5"]))
    let start = #"{"type":"join","version":1,"room":"r","name":"","description":\#(description),"unreachable":"#
    for (text, place) in [(#""ws://n1""#, "ws://n1"), (#""http://n1""#, nil), ("null", nil)] as [(String, String?)] {
      guard case .join(let join) = try client(start + text + "}") else {
        Issue.record("no join")
        continue
      }
      #expect(join.unreachable == place, "\(text)")
    }
  }

  @Test func placesBeyondTheirLimitsAreRefused() throws {
    func places(_ count: Int, length: Int = 20) -> String {
      let place = "ws://" + String(repeating: "n", count: length - 5)
      return "[" + [String](repeating: "\"\(place)\"", count: count).joined(separator: ",") + "]"
    }
    let joined = try ServerMessage.joined(Joined(local: Examples.participant, description: Examples.description)).json()
    let messages = [
      #"{"type":"moved","#, #"{"type":"registered","identity":"ana","#,
      #"{"type":"refused","failure":{"code":"moved","message":""},"#,
      String(decoding: joined.dropLast(), as: UTF8.self) + ",",
    ]
    for message in messages {
      #expect(throws: Never.self) { try server(message + "\"places\":\(places(8, length: 256))}") }
      #expect(throws: SignalingError.tooLarge(field: "places", limit: 8)) {
        try server(message + "\"places\":\(places(9))}")
      }
      #expect(throws: SignalingError.tooLarge(field: "places", limit: 256)) {
        try server(message + "\"places\":\(places(1, length: 257))}")
      }
    }
    let unreachable = "ws://" + String(repeating: "n", count: 252)
    #expect(throws: SignalingError.tooLarge(field: "unreachable", limit: 256)) {
      try client(
        #"{"type":"join","version":1,"room":"r","name":"","description":\#(description),"#
          + #""unreachable":"\#(unreachable)"}"#)
    }
  }

  private var description: String {
    #"{"ufrag":"u","password":"p","setup":"active","candidates":[],"fingerprint":{"algorithm":"a","value":"b"}}"#
  }

  @Test(arguments: ["A", "AB", "ABC", "A===", "AB=C", "====", "AB!=", "AAAA="]) func payloadThatIsNotBase64IsRefused(
    _ text: String
  ) {
    #expect(throws: SignalingError.self) { try client(#"{"type":"data","topic":"t","id":"1","payload":"\#(text)"}"#) }
  }

  @Test func base64OfPayloadsIsThatOfRFC4648() throws {  // RFC 4648 section 10
    let vectors = [
      "": "", "f": "Zg==", "fo": "Zm8=", "foo": "Zm9v", "foob": "Zm9vYg==", "fooba": "Zm9vYmE=", "foobar": "Zm9vYmFy",
    ]
    for (plain, coded) in vectors {
      let message = ClientMessage.data(SendData(DataMessage(topic: "t", payload: Array(plain.utf8)), id: "1"))
      #expect(String(decoding: try message.json(), as: UTF8.self).contains(#""payload":"\#(coded)""#))
      #expect(try client(#"{"type":"data","topic":"t","id":"1","payload":"\#(coded)"}"#) == message)
    }
  }

  @Test func truncatedMessagesAreRefusedAndChangedOnesAreHarmless() throws {
    var state: UInt64 = 1
    func random(_ limit: Int) -> Int {
      state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      return Int(state >> 33) % limit
    }
    for message in Examples.client {
      let bytes = try message.json()
      for end in bytes.indices {
        #expect(throws: SignalingError.self) { try bytes[..<end].withUnsafeBytes { try ClientMessage(json: $0) } }
      }
      for _ in 0..<500 {
        var changed = bytes
        changed[random(changed.count)] = UInt8(random(256))
        _ = try? changed.withUnsafeBytes { try ClientMessage(json: $0) }
        _ = try? changed.withUnsafeBytes { try ServerMessage(json: $0) }
      }
    }
  }

  @Test(arguments: ["1.4", "0.1", "1e-9", "8999999999", "1e14"])
  func lifetimeIsReadBackUnchanged(_ seconds: String) throws {
    let json = #"{"type":"data","topic":"t","payload":"AQI=","lifetimeSeconds":\#(seconds),"id":"1","echo":true}"#
    let message = try Array(json.utf8).withUnsafeBytes { try ClientMessage(json: $0) }
    let again = try message.json().withUnsafeBytes { try ClientMessage(json: $0) }
    #expect(again == message)
  }
}
