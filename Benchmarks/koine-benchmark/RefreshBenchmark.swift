import AmazonIVSBroadcast
import Dispatch
import Foundation
import Koine
import KoineBase
import KoineEmbeddedBackend
import KoineTokens

/// A stage of twelve participants that all publish. One of them asks its strategy again and again, and the strategy gives the
/// same answers each time.
struct RefreshBenchmark {
  let rounds: Int
  private static let others = 11

  func run() throws -> Report {
    let queue = DispatchQueue(label: "delivery")
    let world = World(
      backend: EmbeddedBackend(virtual: 5), delivery: Delivery(queue: queue),
      devices: DefaultDevices(camera: "stamp:host,160x90@5", microphone: "silence"), stamps: StampedMedia())
    func run(_ seconds: Int) {
      world.run(for: .seconds(seconds)) { isDone in while !isDone() { queue.sync {} } }
    }
    let people = try (1...Self.others).map { number in
      let session = Session(JoinRequest(room: "tea", participantID: "p\(number)", name: "p\(number)"), in: world)
      try session.publish(camera: Devices.camera("stamp:p\(number),160x90@5"))
      try session.publish(microphone: Devices.microphone("silence"))
      session.join { _ in }
      return session
    }
    let app = try World.$current.withValue(world) { try SteadyApp(joining: "tea") }
    try app.stage.join()
    run(2)
    guard app.streams == 2 * Self.others else { throw BenchmarkError("\(app.streams) streams came") }
    let told = app.told
    app.questions.withLock { $0 = 0 }
    var times: [Double] = []
    let clock = ContinuousClock()
    for _ in 0..<rounds {
      let start = clock.now
      app.stage.refreshStrategy()
      queue.sync {}
      times.append((clock.now - start).inMilliseconds)
    }
    let questions = app.questions.withLock { $0 }
    run(1)
    let calls = app.told - told
    app.stage.leave()
    for person in people { person.leave {} }
    run(1)
    let sorted = times.sorted()
    return Report(
      benchmark: "refresh: \(rounds) times refreshStrategy() with the same answers, \(Self.others + 1) participants",
      rows: [
        Row("time of one, median", sorted[rounds / 2], "ms", aim: 1),
        Row("time of one, 99 of 100", sorted[rounds * 99 / 100], "ms", aim: 1),
        Row("questions to the strategy, each time", Double(questions) / Double(rounds), ""),
        Row("what renderers were told", Double(calls), "", aim: 0),
      ])
  }
}

private final class SteadyApp: NSObject, IVSStageStrategy, IVSStageRenderer, @unchecked Sendable {  // locks
  let questions = Lock(0)
  private let counts = Lock((told: 0, streams: 0))
  private let published = IVSDeviceDiscovery().listLocalDevices().map { IVSLocalStageStream(device: $0) }
  var stage: IVSStage!

  override init() { super.init() }
  convenience init(joining room: String) throws {
    self.init()
    let now = NumericDate.ofSystemClock()
    let token = try IVSStageToken(
      participantID: "host", stage: room, userID: "host", attributes: [:],
      capabilities: .init(canPublish: true, canSubscribe: true), issued: now, expires: now + 3_600
    ).signed(with: SigningKey(generating: .p384, id: "arn:aws:ivs:us-west-2:123456789012:public-key/benchmark"))
    stage = try IVSStage(token: token, strategy: self)
    stage.addRenderer(self)
  }

  var told: Int { counts.withLock { $0.told } }
  var streams: Int { counts.withLock { $0.streams } }
  private func note() { counts.withLock { $0.told += 1 } }
  private func ask() { questions.withLock { $0 += 1 } }

  func stage(_ stage: IVSStage, streamsToPublishForParticipant participant: IVSParticipantInfo)
    -> [IVSLocalStageStream]
  {
    ask()
    return published
  }
  func stage(_ stage: IVSStage, shouldPublishParticipant participant: IVSParticipantInfo) -> Bool {
    ask()
    return true
  }
  func stage(_ stage: IVSStage, shouldSubscribeToParticipant participant: IVSParticipantInfo) -> IVSStageSubscribeType {
    ask()
    return .audioVideo
  }

  func stage(_ stage: IVSStage, participantDidJoin participant: IVSParticipantInfo) { note() }
  func stage(_ stage: IVSStage, participantDidLeave participant: IVSParticipantInfo) { note() }
  func stage(
    _ stage: IVSStage, participant: IVSParticipantInfo, didChange publishState: IVSParticipantPublishState
  ) { note() }
  func stage(
    _ stage: IVSStage, participant: IVSParticipantInfo, didChange subscribeState: IVSParticipantSubscribeState
  ) { note() }
  func stage(_ stage: IVSStage, participant: IVSParticipantInfo, didAdd streams: [IVSStageStream]) {
    note()
    if !participant.isLocal { counts.withLock { $0.streams += streams.count } }
  }
  func stage(_ stage: IVSStage, participant: IVSParticipantInfo, didRemove streams: [IVSStageStream]) { note() }
  func stage(_ stage: IVSStage, participant: IVSParticipantInfo, didChangeMutedStreams streams: [IVSStageStream]) {
    note()
  }
  func stage(_ stage: IVSStage, didChange connectionState: IVSStageConnectionState, withError error: (any Error)?) {
    note()
  }
}
