import Testing

@testable import Koine

/// The values that a session's state consists of.
@Suite struct SessionPartsTests {
  private let camera = Track(id: .init(participant: "ana", track: "camera"), kind: .camera)

  private func ana(_ tracks: [Track] = []) -> Participant {
    Participant(id: "ana", name: "Ana", isLocal: false, tracks: tracks)
  }

  @Test func participantIsKnownOnceWithItsStreams() {
    var known = KnownParticipants()
    let early = known.add(camera)
    #expect(early == nil)
    var isNew = known.add(ana())
    #expect(isNew)
    isNew = known.add(ana([camera]))
    #expect(!isNew)
    #expect(known["ana"]?.tracks.isEmpty == true)
    for _ in 0..<2 {
      let owner = known.add(camera)
      #expect(owner?.tracks == [camera])
    }
    #expect(known[camera.id] == camera)
    #expect(known.ids == ["ana"])
  }

  @Test func muteChangeIsReportedOnce() {
    var known = KnownParticipants()
    _ = known.add(ana([camera]))
    var change = known.setMuted(false, camera.id)
    #expect(change == nil)
    change = known.setMuted(true, camera.id)
    #expect(change?.0.isMuted == true)
    #expect(change?.1.tracks.first?.isMuted == true)
    change = known.setMuted(true, camera.id)
    #expect(change == nil)
    change = known.setMuted(true, .init(participant: "ana", track: "screen"))
    #expect(change == nil)
  }

  @Test func attributesOfUnknownParticipantAreIgnored() {
    var known = KnownParticipants()
    _ = known.add(ana())
    var changed = known.setAttributes(["a": "b"], of: "ben")
    #expect(changed == nil)
    changed = known.setAttributes(["a": "b"], of: "ana")
    #expect(changed?.attributes == ["a": "b"])
  }

  @Test func streamAndParticipantAreRemovedOnce() {
    var known = KnownParticipants()
    _ = known.add(ana([camera]))
    var removed = known.remove(camera.id)
    #expect(removed?.0.id == camera.id)
    #expect(removed?.1.tracks.isEmpty == true)
    removed = known.remove(camera.id)
    #expect(removed == nil)
    var last = known.remove("ana")
    #expect(last?.id == "ana")
    last = known.remove("ana")
    #expect(last == nil)
  }

  @Test func tileKeepsItsNumberAndNumbersAreNotReused() {
    var tiles = TileList()
    var told = tiles.add(for: camera, isLocal: false, pause: .muted)
    #expect(told?.id == 1)
    #expect(told?.pause == .muted)
    told = tiles.add(for: camera, isLocal: false, pause: nil)
    #expect(told == nil)
    told = tiles.change(of: camera.id) { $0.pause = .muted }
    #expect(told == nil)
    told = tiles.change(of: camera.id) { $0.pause = nil }
    #expect(told?.id == 1)
    told = tiles.remove(of: camera.id)
    #expect(told?.id == 1)
    told = tiles.change(of: camera.id) { $0.width = 5 }
    #expect(told == nil)
    told = tiles.add(for: camera, isLocal: false, pause: nil)
    #expect(told?.id == 2)
  }

  @Test func streamIsAwaitedWhileItOrItsParticipantIsAwaited() {
    let scheduler = Scheduler.virtual()
    let lane = scheduler.lane("test")
    let rung = Lock<[String]>([])
    func alarm(_ name: String) -> Alarm {
      lane.post(at: scheduler.now + .seconds(1)) { rung.withLock { $0.append(name) } }
    }
    var pending = PendingRejoin()
    #expect(!pending.contains(camera.id))
    pending.wait(for: "ana", until: alarm("ana"))
    pending.wait(for: "ana", until: alarm("ana again"))
    #expect(pending.contains(camera.id) && !pending.waits(for: camera.id))
    pending.wait(for: camera.id, until: alarm("camera"))
    pending.stopWaiting(for: "ana")
    #expect(pending.contains(camera.id))
    pending.endAll()
    #expect(!pending.contains(camera.id))
    scheduler.advance(to: scheduler.now + .seconds(2))
    #expect(rung.withLock { $0 }.isEmpty)
  }

  @Test func suspendedStreamIsResumedOnce() {
    var pending = PendingRejoin()
    pending.suspend(camera.id)
    var isResumed = pending.resume(camera.id)
    #expect(isResumed)
    isResumed = pending.resume(camera.id)
    #expect(!isResumed)
  }
}
