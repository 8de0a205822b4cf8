import KoineBase
import KoineSignaling
import KoineSignalingHost
import KoineTransport
import Testing

@testable import KoineRouter

struct PublishingTests {
  enum Fault: CaseIterable {
    case codecOfTheOtherKind, noEncodings, sourceOfZero, oneSourceTwice, payloadTypeLikeRTCP,
      payloadTypeBeyondSevenBits, onePayloadTypeTwice

    func spoil(_ media: inout StreamParameters) {
      switch self {
      case .codecOfTheOtherKind: media.codec = .opus
      case .noEncodings: media.encodings = []
      case .sourceOfZero: media.encodings[0].ssrc = 0
      case .oneSourceTwice: media.encodings[0].rtxSSRC = media.encodings[0].ssrc
      case .payloadTypeLikeRTCP: media.payloadType = 72
      case .payloadTypeBeyondSevenBits: media.rtxPayloadType = 200
      case .onePayloadTypeTwice: media.rtxPayloadType = media.payloadType
      }
    }
  }

  @Test(arguments: Fault.allCases)
  func badMediaIsRefused(_ fault: Fault) throws {
    let world = try World()
    let client = try world.joined("ana")[0]
    var media = client.makeMedia(.camera)
    fault.spoil(&media)
    let track = TrackOffer(id: "camera", kind: .camera, media: media)
    world.host.receive(.publish(Publish(request: 5, tracks: [track])), on: client.connection, at: world.now)
    world.drain()
    #expect(client.messages.last?.code == .badMedia)
  }

  @Test(arguments: ["", #","media":{"mid":"m","codec":"H264","payloadType":96,"encodings":[{"ssrc":1}]}"#])
  func offerWithoutKnownMediaIsRefused(_ media: String) throws {
    let world = try World()
    let client = try world.joined("ana")[0]
    let json = #"{"type":"publish","request":5,"tracks":[{"id":"camera","kind":"camera"\#(media)}]}"#
    client.send(try Array(json.utf8).withUnsafeBytes { try ClientMessage(json: $0) })
    #expect(client.messages.last?.code == .badMedia)
  }

  @Test func requestPublishesAllOfItsTracksOrNone() throws {
    let world = try World()
    let client = try world.joined("ana")[0]
    let good = TrackOffer(id: "a", kind: .camera, media: client.makeMedia(.camera))
    var second = TrackOffer(id: "b", kind: .microphone, media: client.makeMedia(.microphone))
    client.send(.publish(Publish(request: 1, tracks: [good, second])))  // one mid twice
    #expect(client.messages.last?.code == .badMedia)
    second.media?.mid = "other"
    client.send(.publish(Publish(request: 2, tracks: [good, second])))
    #expect(client.messages.last == .accepted(request: 2))
    client.send(.publish(Publish(request: 3, tracks: [good])))
    #expect(client.messages.last?.code == .duplicateTrack)
  }

  @Test func publishedTracksAreLimited() throws {
    let world = try World { $0.limits.tracks = 2 }
    let client = try world.joined("ana")[0]
    for id in ["a", "b", "c"] { client.publish(.camera, id: id) }
    #expect(client.messages.last?.code == .tooMany)
  }

  @Test func subscriptionsAreLimitedAndRepeatable() throws {
    let world = try World { $0.limits.subscriptions = 2 }
    let clients = try world.joined("ana", "ben")
    for id in ["a", "b", "c"] { clients[0].publish(.camera, id: id) }
    clients[1].subscribe(to: "ana", "a")
    let first = clients[1].messages.last
    clients[1].subscribe(to: "ana", "a")
    guard case .subscribed(let one) = first, case .subscribed(let two) = clients[1].messages.last else {
      Issue.record("no answers")
      return
    }
    #expect(one.tracks == two.tracks)
    clients[1].subscribe(to: "ana", "b", "c")
    #expect(clients[1].messages.last?.code == .tooMany)
  }
}
