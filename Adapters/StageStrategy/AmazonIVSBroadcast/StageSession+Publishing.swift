import Foundation
import Koine

/// What the local participant publishes.
struct Publication {
  /// A stream that the strategy handed out.
  final class Entry {
    let stream: IVSLocalStageStream
    var local: LocalStream
    var plan: PublishPlan
    /// The room has it.
    var isThere = false
    /// `didAdd` was told.
    var isTold = false
    var toldMuted: Bool

    init(_ stream: IVSLocalStageStream, _ local: LocalStream, _ plan: PublishPlan) {
      self.stream = stream
      self.local = local
      self.plan = plan
      toldMuted = stream.isMuted
    }
  }

  /// `participantDidJoin` was told of the local participant, `participantDidLeave` not.
  var isAnnounced = false
  var state = IVSParticipantPublishState.notPublished
  var entries: [Entry] = []
  /// What the strategy handed out last that cannot be published.
  var foreign: [IVSLocalStageStream] = []

  func detachAll() { for entry in entries { entry.stream.detach(entry.local) } }
}

extension StageSession {
  /// Asks the strategy whether and what to publish, and applies the differences from before.
  func refreshPublication() {
    guard token.mayPublish else { return }
    guard ask({ $1.stage($0, shouldPublishParticipant: local) }) == true else { return endPublication() }
    if !publication.isAnnounced {
      publication.isAnnounced = true
      notifyRenderers { [local] in $1.stage($0, participantDidJoin: local) }
    }
    let streams = ask { $1.stage($0, streamsToPublishForParticipant: local) } ?? []
    guard !isOver else { return }
    tellForeign(in: streams)
    exchange(for: firstOfEachKind(streams))
  }

  /// A device that this module has not made, or one of another's stream: said once, as long as it is handed out.
  private func tellForeign(in streams: [IVSLocalStageStream]) {
    let foreign = streams.filter { $0.plan == .nothing }
    for stream in foreign where !publication.foreign.contains(where: { $0 === stream }) {
      reportError(
        .ivs(.unsupportedDeviceType, "\(stream.device.tag()) cannot be published", source: "IVSStage"))
    }
    publication.foreign = foreign
  }

  /// One stream per kind is published.
  private func firstOfEachKind(_ streams: [IVSLocalStageStream]) -> [IVSLocalStageStream] {
    let publishable = streams.filter { $0.plan != .nothing }
    let first = [publishable.first { !$0.isAudio }, publishable.first { $0.isAudio }]
    return publishable.filter { stream in first.contains { $0 === stream } }
  }

  private func exchange(for wanted: [IVSLocalStageStream]) {
    var gone = publication.entries.filter { entry in !wanted.contains { $0 === entry.stream } }
    let new = wanted.filter { stream in !publication.entries.contains { $0.stream === stream } }
    guard !gone.isEmpty || !new.isEmpty else { return }
    let outgoing = gone
    publication.entries.removeAll { entry in gone.contains { $0 === entry } }
    if !new.isEmpty, publication.state == .notPublished { change(to: .attemptingPublish) }
    for stream in new where !isOver {
      // The same device, published in the same way: the publication stays, with the new object's mute state.
      if let index = gone.firstIndex(where: { $0.stream.device === stream.device && $0.plan == stream.plan }) {
        takeOver(gone.remove(at: index), stream)
      } else {
        publish(stream)
      }
    }
    for entry in gone {
      entry.stream.detach(entry.local)
      entry.local.unpublish()
    }
    if publication.entries.isEmpty, publication.state != .notPublished { change(to: .notPublished) }
    tellRemoved(outgoing)
    tellAdded()
  }

  private func publish(_ stream: IVSLocalStageStream) {
    let plan = stream.plan
    guard let local = try? start(stream, plan) else { return }  // refused only once the session is over
    let entry = Publication.Entry(stream, local, plan)
    stream.attach(local, of: self)
    if stream.isMuted { local.setMuted(true) }
    publication.entries.append(entry)
  }

  private func start(_ stream: IVSLocalStageStream, _ plan: PublishPlan) throws(Failure) -> LocalStream? {
    switch plan {
    case .pictures(let options):
      guard let device = stream.device as? any PublishableImages else { return nil }
      return try session.publish(camera: device.makeVideoSource(), options: options)
    case .sound(var options):
      guard let device = stream.device as? any PublishableSound else { return nil }
      options.processing = device.processing
      let local = try session.publish(microphone: device.makeAudioSource(), options: options)
      device.wasPublished(as: local)
      return local
    case .nothing: return nil
    }
  }

  private func takeOver(_ old: Publication.Entry, _ stream: IVSLocalStageStream) {
    let entry = Publication.Entry(stream, old.local, old.plan)
    entry.isThere = old.isThere
    old.stream.detach(old.local)
    stream.attach(old.local, of: self)
    old.local.setMuted(stream.isMuted)
    publication.entries.append(entry)
  }

  /// The room has taken an own stream; once it has all of them, that is told.
  func published(_ stream: Track) {
    guard let entry = publication.entries.first(where: { $0.local.id.track == stream.id.track }) else { return }
    entry.isThere = true
    tellAdded()
  }

  private func tellAdded() {
    guard !isOver, !publication.entries.isEmpty, publication.entries.allSatisfy(\.isThere) else { return }
    if publication.state == .attemptingPublish { change(to: .published) }
    let new = publication.entries.filter { !$0.isTold }
    guard !new.isEmpty else { return }
    for entry in new { entry.isTold = true }
    notifyRenderers { [local] in $1.stage($0, participant: local, didAdd: new.map(\.stream)) }
  }

  private func tellRemoved(_ entries: [Publication.Entry]) {
    let told = entries.filter(\.isTold)
    if !told.isEmpty { notifyRenderers { [local] in $1.stage($0, participant: local, didRemove: told.map(\.stream)) } }
  }

  private func change(to state: IVSParticipantPublishState) {
    publication.state = state
    updateMinimumDelays()
    notifyRenderers { [local] in $1.stage($0, participant: local, didChange: state) }
  }

  func muted(_ stream: Track) {
    guard let entry = publication.entries.first(where: { $0.local.id.track == stream.id.track }),
      entry.toldMuted != stream.isMuted
    else { return }
    entry.toldMuted = stream.isMuted
    guard entry.isTold else { return }
    notifyRenderers { [local] in $1.stage($0, participant: local, didChangeMutedStreams: [entry.stream]) }
    entry.stream.delegate?.streamDidChangeIsMuted(entry.stream)
  }

  /// The stream's publication follows its new configuration: it is published anew, as the same object.
  func configurationChanged(of stream: IVSLocalStageStream) {
    session.world.delivery.deliver { [weak self] in
      guard let self, !isOver, let entry = publication.entries.first(where: { $0.stream === stream }),
        entry.plan != stream.plan, let local = try? start(stream, stream.plan)
      else { return }
      stream.detach(entry.local)
      entry.local.unpublish()
      entry.local = local
      entry.plan = stream.plan
      stream.attach(local, of: self)
      if stream.isMuted { local.setMuted(true) }
    }
  }

  /// The room has not taken an own stream, or its device did not start: it is withdrawn, and the rest goes on.
  func refused(_ stream: Track, _ error: Failure) {
    guard let index = publication.entries.firstIndex(where: { $0.local.id.track == stream.id.track }) else {
      return failed(error)
    }
    let entry = publication.entries.remove(at: index)
    entry.stream.detach(entry.local)
    let isDevice = error.code == .device
    let code: NSError = isDevice ? .ivs(.publishOfferFailed, error.message) : nsError(error)
    if isDevice { (entry.stream.device as? StageDevice)?.report(code) }
    if publication.entries.isEmpty, publication.state != .notPublished { change(to: .notPublished) }
    tellRemoved([entry])
    tellAdded()
    reportError(code)
  }

  /// Something else that the app asked for could not be done.
  func failed(_ error: Failure) { reportError(nsError(error)) }

  private func nsError(_ error: Failure) -> NSError { .ivs(StageFault(error), error.message, fatal: false) }

  private func reportError(_ error: NSError) {
    if !isOver, let stage { stage.errorDelegate?.source(stage, didEmitError: error) }
  }

  /// Withdraws everything: notPublished, didRemove, participantDidLeave.
  func endPublication() {
    guard !isOver, publication.isAnnounced else { return }
    let entries = publication.entries
    publication.entries = []
    for entry in entries {
      entry.stream.detach(entry.local)
      entry.local.unpublish()
    }
    publication.isAnnounced = false
    if publication.state != .notPublished { change(to: .notPublished) }
    tellRemoved(entries)
    notifyRenderers { [local] in $1.stage($0, participantDidLeave: local) }
  }
}
