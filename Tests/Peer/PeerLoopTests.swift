import KoineBase
import KoinePeer
import KoineTransport
import RoomModel
import Testing

/// Two ends of a peer connection on one loop, each with what it has received.
private final class Pair: Sendable {
  struct End {
    var isConnected = false
    var failures: [String] = []
    var frames: [Track.ID: Int] = [:]
    var keyFrameRequests: [Track.ID] = []
  }

  let loop: PeerLoop
  private let ends = [Lock(End()), Lock(End())]
  private let connections = Lock<[PeerConnection]>([])
  /// Yields after each event of either end.
  private let events: (stream: AsyncStream<Void>, continuation: AsyncStream<Void>.Continuation) =
    AsyncStream.makeStream()

  init(_ loop: PeerLoop, _ configurations: [PeerMedia.Configuration]) {
    self.loop = loop
    for (index, configuration) in configurations.enumerated() {
      let (end, changed) = (ends[index], events.continuation)
      let connection = loop.connect(configuration) { _, event, _ in
        end.withLock { end in
          switch event {
          case .connected: end.isConnected = true
          case .failed(let reason): end.failures.append(reason)
          case .closed: end.isConnected = false
          case .frame(_, let track): end.frames[track, default: 0] += 1
          case .keyFrameRequested(let track, _): end.keyFrameRequests.append(track)
          case .estimate: break
          }
        }
        changed.yield()
      }
      connections.withLock { $0.append(connection) }
    }
  }

  /// In real time: waits for events until the condition holds.
  func until(_ condition: () -> Bool) async {
    var iterator = events.stream.makeAsyncIterator()
    while !condition() { await iterator.next() }
  }

  func end(_ index: Int) -> End { ends[index].withLock { $0 } }
  func connection(_ index: Int) -> PeerConnection { connections.withLock { $0[index] } }

  /// Tells each end the description of the other, the offerer's first.
  func exchangeDescriptions(offerer: Int) {
    let answerer = connection(1 - offerer)
    let asker = connection(offerer)
    asker.perform { media, _ in
      let offer = media.localDescription
      answerer.perform { media, now in
        media.setRemote(offer, at: now)
        let answer = media.localDescription
        asker.perform { media, now in media.setRemote(answer, at: now) }
      }
    }
  }

  /// Negotiates by session descriptions: the offerer publishes and wants these tracks, the answerer publishes those wanted.
  func negotiate(offerer: Int, publishing published: [Track.ID], receiving wanted: [Track.ID: Track.Kind]) {
    let (asker, answerer) = (connection(offerer), connection(1 - offerer))
    asker.perform { media, _ in
      for id in published where !media.isPublished(id) {
        _ = media.publish(id, options: PublishOptions(codec: .vp8, layers: [.init(maximumBitrate: 500_000)]))
      }
      let offer = media.makeOffer(receiving: wanted)
      answerer.perform { media, now in
        for id in wanted.keys where !media.isPublished(id) {
          _ = media.publish(id, options: PublishOptions(codec: .vp8, layers: [.init(maximumBitrate: 500_000)]))
        }
        do {
          let answer = try media.answer(offer.sdp, tracks: offer.tracks, at: now)
          asker.perform { media, now in
            do { try media.setAnswer(answer, at: now) } catch { Issue.record(error) }
          }
        } catch {
          Issue.record(error)
        }
      }
    }
  }

  /// Publishes a track at one end and receives it at the other.
  func publish(_ track: Track.ID, from index: Int, codec: Codec = .vp8) {
    let other = connection(1 - index)
    connection(index).perform { media, _ in
      let parameters = media.publish(
        track, options: PublishOptions(codec: codec, layers: [.init(maximumBitrate: 500_000)]))
      other.perform { media, _ in media.subscribe(to: track, as: parameters) }
    }
  }

  /// In real time: waits until both ends have done all that was asked for before: publishing at one asks the other.
  func subscribed() async {
    for index in [0, 1, 0, 1] {
      await withCheckedContinuation { continuation in connection(index).perform { _, _ in continuation.resume() } }
    }
  }

  func sendFrames(_ count: Int, of track: Track.ID, from index: Int) {
    connection(index).perform { media, now in
      for number in 0..<count { media.send(Self.frame(number, at: now), of: track, at: now) }
    }
  }

  /// A VP8 frame with a payload that is no video: peers read its first bit only.
  private static func frame(_ number: Int, at now: Tick) -> EncodedFrame {
    EncodedFrame(
      codec: .vp8, data: Bytes([number == 0 ? 0x10 : 0x11] + [UInt8](repeating: 7, count: 500)), captured: now,
      rtpTimestamp: UInt32(number) * 3_000, isKey: number == 0)
  }
}

@Suite struct PeerLoopTests {
  private let camera = Track.ID(participant: "ana", track: "camera")

  struct Parts: CustomTestStringConvertible {
    let first, second: PeerMedia.Configuration
    let offerer: Int
    var testDescription: String {
      "\(first.iceRole)/\(first.dtlsRole) with \(second.iceRole)/\(second.dtlsRole), \(offerer) offers"
    }
  }

  /// Every pair of roles that can reach each other, and either end as the offerer.
  static let parts: [Parts] = {
    typealias Configuration = PeerMedia.Configuration
    let ice: [(Configuration.ICERole, Configuration.ICERole)] = [
      (.controlling, .controlled), (.controlling, .lite), (.controlling, .controlling),
    ]
    let dtls: [(Configuration.DTLSRole, Configuration.DTLSRole)] = [
      (.active, .passive), (.passive, .active), (.either, .active), (.either, .passive), (.active, .either),
      (.passive, .either), (.either, .either),
    ]
    return ice.flatMap { ice in
      dtls.flatMap { dtls in
        (0..<2).map { offerer in
          Parts(
            first: Configuration(iceRole: ice.0, dtlsRole: dtls.0),
            second: Configuration(iceRole: ice.1, dtlsRole: dtls.1), offerer: offerer)
        }
      }
    }
  }()

  @Test(arguments: parts) func peersOfAllRolesConnectAndSendBothWays(_ parts: Parts) {
    let clock = Scheduler.virtual()
    let pair = Pair(PeerLoop(virtual: clock, seed: 3), [parts.first, parts.second])
    pair.exchangeDescriptions(offerer: parts.offerer)
    clock.advance(to: clock.now + .seconds(2))
    #expect(pair.end(0).isConnected)
    #expect(pair.end(1).isConnected)
    for index in 0..<2 {
      let track = Track.ID(participant: "\(index)", track: "camera")
      pair.publish(track, from: index)
      pair.sendFrames(5, of: track, from: index)
      clock.advance(to: clock.now + .seconds(1))
      #expect(pair.end(1 - index).frames == [track: 5])
    }
  }

  @Test(arguments: parts) func sessionDescriptionsCarryTracksBothWays(_ parts: Parts) {
    let clock = Scheduler.virtual()
    let pair = Pair(PeerLoop(virtual: clock, seed: 8), [parts.first, parts.second])
    let offerer = parts.offerer
    let (here, there) = (Track.ID(participant: "o", track: "camera"), Track.ID(participant: "a", track: "camera"))
    pair.negotiate(offerer: offerer, publishing: [here], receiving: [there: .camera])
    clock.advance(to: clock.now + .seconds(2))
    pair.sendFrames(5, of: here, from: offerer)
    pair.sendFrames(7, of: there, from: 1 - offerer)
    clock.advance(to: clock.now + .seconds(1))
    #expect(pair.end(1 - offerer).frames == [here: 5])
    #expect(pair.end(offerer).frames == [there: 7])
  }

  @Test func laterOffersAddAndEndTracks() {
    let clock = Scheduler.virtual()
    let pair = Pair(PeerLoop(virtual: clock, seed: 9), [.init(), .init(iceRole: .lite, dtlsRole: .passive)])
    let (first, second) = (Track.ID(participant: "o", track: "camera"), Track.ID(participant: "o", track: "screen"))
    let back = Track.ID(participant: "a", track: "camera")
    func send() {
      clock.advance(to: clock.now + .seconds(1))
      pair.sendFrames(2, of: first, from: 0)
      pair.sendFrames(2, of: second, from: 0)
      pair.sendFrames(2, of: back, from: 1)
      clock.advance(to: clock.now + .seconds(1))
    }
    pair.negotiate(offerer: 0, publishing: [first], receiving: [:])
    send()
    #expect(pair.end(1).frames == [first: 2])
    pair.negotiate(offerer: 0, publishing: [second], receiving: [back: .camera])
    send()
    #expect(pair.end(1).frames == [first: 4, second: 2])
    #expect(pair.end(0).frames == [back: 2])
    pair.connection(0).perform { media, _ in media.unpublish(first) }
    pair.negotiate(offerer: 0, publishing: [], receiving: [:])
    send()
    #expect(pair.end(1).frames == [first: 4, second: 4])
    #expect(pair.end(0).frames == [back: 2])
  }

  @Test func rejectedMediaSectionCarriesNothingUntilAccepted() {
    let clock = Scheduler.virtual()
    let pair = Pair(PeerLoop(virtual: clock, seed: 11), [.init(), .init(iceRole: .lite, dtlsRole: .passive)])
    func negotiate(isAccepted: Bool) {
      let (asker, answerer) = (pair.connection(0), pair.connection(1))
      asker.perform { media, _ in
        let offer = media.makeOffer()
        answerer.perform { media, now in
          let answer = try? media.answer(offer.sdp, tracks: isAccepted ? offer.tracks : [:], at: now)
          asker.perform { media, now in try? media.setAnswer(answer ?? "", at: now) }
        }
      }
      clock.advance(to: clock.now + .seconds(1))
      pair.sendFrames(3, of: camera, from: 0)
      clock.advance(to: clock.now + .seconds(1))
    }
    func packets() -> Int {
      let count = Lock(0)
      pair.connection(0).perform { media, now in
        count.withLock { $0 = media.statistics(at: now).outgoing.values.reduce(0) { $0 + $1.packets } }
      }
      clock.advance(to: clock.now + .milliseconds(1))
      return count.withLock { $0 }
    }
    pair.connection(0).perform { [camera] media, _ in
      _ = media.publish(camera, options: PublishOptions(codec: .vp8, layers: [.init(maximumBitrate: 500_000)]))
    }
    negotiate(isAccepted: false)
    #expect(pair.end(0).isConnected)
    #expect(packets() == 0)
    negotiate(isAccepted: true)
    #expect(pair.end(1).frames == [camera: 3])
    negotiate(isAccepted: false)
    #expect(pair.end(1).frames == [camera: 3])
  }

  @Test func offerKeepsTracksSubscribedWithoutNegotiation() {
    let clock = Scheduler.virtual()
    let pair = Pair(PeerLoop(virtual: clock, seed: 12), [.init(), .init(iceRole: .lite, dtlsRole: .passive)])
    pair.exchangeDescriptions(offerer: 0)
    pair.publish(camera, from: 1)
    pair.negotiate(offerer: 0, publishing: [Track.ID(participant: "o", track: "camera")], receiving: [:])
    clock.advance(to: clock.now + .seconds(1))
    pair.sendFrames(3, of: camera, from: 1)
    clock.advance(to: clock.now + .seconds(1))
    #expect(pair.end(0).frames == [camera: 3])
  }

  /// RFC 7587, 6.1: an answer speaks of two channels only to an end that has.
  @Test(arguments: [
    ("", false, false), (";stereo=1", false, true), (";sprop-stereo=1", true, false), (";stereo=0", false, false),
    (";stereo=1;sprop-stereo=1", true, true),
  ])
  func answerTakesAndGivesTwoChannelsAsTheOfferDoes(_ parameters: String, takes: Bool, gives: Bool) throws {
    let clock = Scheduler.virtual()
    let pair = Pair(PeerLoop(virtual: clock, seed: 13), [.init(), .init(iceRole: .lite, dtlsRole: .passive)])
    let microphone = Track.ID(participant: "o", track: "microphone")
    let offer = Lock<PeerMedia.Offer?>(nil)
    pair.connection(0).perform { media, _ in
      _ = media.publish(microphone, options: PublishOptions(codec: .opus, layers: [.init(maximumBitrate: 64_000)]))
      offer.withLock { $0 = media.makeOffer() }
    }
    clock.advance(to: clock.now + .milliseconds(1))
    let made = try #require(offer.withLock { $0 })
    #expect(!made.sdp.contains("stereo"), "one channel is the default")
    let text = made.sdp.replacing("useinbandfec=1", with: "useinbandfec=1" + parameters)
    let answer = Lock("")
    pair.connection(1).perform { media, now in
      let sdp = (try? media.answer(text, tracks: made.tracks, at: now)) ?? ""
      answer.withLock { $0 = sdp }
    }
    clock.advance(to: clock.now + .milliseconds(1))
    let line = try #require(answer.withLock { $0 }.split(separator: "\r\n").first { $0.contains("useinbandfec=1") })
    #expect(line.contains(";stereo=1") == takes)
    #expect(line.contains(";sprop-stereo=1") == gives)
  }

  @Test(arguments: ["", "v=0", "v=0\r\no=- 1 2 IN IP4 127.0.0.1\r\ns=-\r\nt=0 0\r\n"])
  func invalidDescriptionsThrowAndChangeNothing(_ text: String) {
    let clock = Scheduler.virtual()
    let pair = Pair(PeerLoop(virtual: clock, seed: 10), [.init(), .init(iceRole: .lite, dtlsRole: .passive)])
    for index in 0..<2 {
      pair.connection(index).perform { media, now in
        #expect(throws: PeerMedia.NegotiationError.self) { _ = try media.answer(text, tracks: [:], at: now) }
        _ = media.makeOffer()
        #expect(throws: PeerMedia.NegotiationError.self) { try media.setAnswer(text, at: now) }
      }
    }
    pair.negotiate(offerer: 0, publishing: [camera], receiving: [:])
    clock.advance(to: clock.now + .seconds(1))
    pair.sendFrames(2, of: camera, from: 0)
    clock.advance(to: clock.now + .seconds(1))
    #expect(pair.end(1).frames == [camera: 2])
  }

  @Test func keyFrameRequestsNameTheTrack() {
    let clock = Scheduler.virtual()
    let pair = Pair(PeerLoop(virtual: clock, seed: 4), [.init(), .init(iceRole: .lite, dtlsRole: .passive)])
    pair.exchangeDescriptions(offerer: 0)
    pair.publish(camera, from: 0)
    clock.advance(to: clock.now + .seconds(1))
    pair.sendFrames(3, of: camera, from: 0)
    clock.advance(to: clock.now + .seconds(1))
    let before = pair.end(0).keyFrameRequests.count
    pair.connection(1).perform { [camera] media, now in media.requestKeyFrame(of: camera, at: now) }
    clock.advance(to: clock.now + .seconds(1))
    #expect(pair.end(0).keyFrameRequests.count > before)
    #expect(Set(pair.end(0).keyFrameRequests) == [camera])
  }

  @Test func restartKeepsTracksUnderTheirIDs() {
    let clock = Scheduler.virtual()
    let pair = Pair(PeerLoop(virtual: clock, seed: 5), [.init(), .init(iceRole: .lite, dtlsRole: .passive)])
    pair.exchangeDescriptions(offerer: 0)
    pair.publish(camera, from: 0)
    clock.advance(to: clock.now + .seconds(1))
    pair.sendFrames(3, of: camera, from: 0)
    clock.advance(to: clock.now + .seconds(1))
    for index in 0..<2 { pair.connection(index).perform { media, now in try? media.restart(at: now) } }
    pair.exchangeDescriptions(offerer: 0)
    clock.advance(to: clock.now + .seconds(1))
    pair.sendFrames(4, of: camera, from: 0)
    clock.advance(to: clock.now + .seconds(1))
    #expect(pair.end(1).frames == [camera: 7])
  }

  /// Whatever the order in which they were subscribed to, which numbers the receivers.
  @Test func restartKeepsEverySubscription() {
    let clock = Scheduler.virtual()
    let pair = Pair(PeerLoop(virtual: clock, seed: 9), [.init(), .init(iceRole: .lite, dtlsRole: .passive)])
    pair.exchangeDescriptions(offerer: 0)
    let cameras = ["e", "a", "d", "b", "c"].map { Track.ID(participant: $0, track: "camera") }
    for camera in cameras { pair.publish(camera, from: 0) }
    clock.advance(to: clock.now + .seconds(1))
    for index in 0..<2 { pair.connection(index).perform { media, now in try? media.restart(at: now) } }
    pair.exchangeDescriptions(offerer: 0)
    clock.advance(to: clock.now + .seconds(1))
    for camera in cameras { pair.sendFrames(2, of: camera, from: 0) }
    clock.advance(to: clock.now + .seconds(1))
    #expect(pair.end(1).frames == Dictionary(uniqueKeysWithValues: cameras.map { ($0, 2) }))
  }

  @Test func unpublishedAndUnsubscribedTracksCarryNothing() {
    let clock = Scheduler.virtual()
    let pair = Pair(PeerLoop(virtual: clock, seed: 6), [.init(), .init(iceRole: .lite, dtlsRole: .passive)])
    pair.exchangeDescriptions(offerer: 0)
    pair.publish(camera, from: 0)
    clock.advance(to: clock.now + .seconds(1))
    pair.connection(1).perform { [camera] media, _ in media.unsubscribe(from: camera) }
    pair.sendFrames(3, of: camera, from: 0)
    clock.advance(to: clock.now + .seconds(1))
    #expect(pair.end(1).frames == [:])
    pair.connection(0).perform { [camera] media, _ in
      #expect(media.unpublish(camera))
      #expect(!media.unpublish(camera))
    }
    pair.sendFrames(3, of: camera, from: 0)
    clock.advance(to: clock.now + .seconds(1))
    #expect(pair.end(1).frames == [:])
  }

  @Test func closeIsReportedToTheRemotePeer() {
    let clock = Scheduler.virtual()
    let pair = Pair(PeerLoop(virtual: clock, seed: 7), [.init(), .init(iceRole: .lite, dtlsRole: .passive)])
    pair.exchangeDescriptions(offerer: 0)
    clock.advance(to: clock.now + .seconds(1))
    #expect(pair.end(1).isConnected)
    pair.connection(0).close()
    clock.advance(to: clock.now + .seconds(1))
    #expect(!pair.end(1).isConnected)
    #expect(pair.end(0).failures == [])
  }

  @Test(.timeLimit(.minutes(1))) func twoPeersConnectOverSockets() async {
    let pair = Pair(PeerLoop(), [.init(), .init(iceRole: .lite, dtlsRole: .passive)])
    pair.exchangeDescriptions(offerer: 0)
    await pair.until { pair.end(0).isConnected && pair.end(1).isConnected }
    pair.publish(camera, from: 0)
    await pair.subscribed()
    pair.sendFrames(2, of: camera, from: 0)
    await pair.until { pair.end(1).frames[camera] == 2 }
    for index in 0..<2 { pair.connection(index).close() }
  }
}
