import CrossVendorConventions
import Foundation
import Koine
import KoineComposition

/// One picture and one sound of the room on their way to files or servers. Any thread may call any method.
final class Output: Sendable {
  enum Kind: String, CaseIterable {
    case recording = "koine.recording"
    case livestream = "koine.livestream"
    case playlist = "koine.playlist"

    var startFailure: VideoSDKError {
      switch self {
      case .recording: .START_RECORDING_FAILED
      case .livestream: .START_LIVESTREAM_FAILED
      case .playlist: .START_HLS_FAILED
      }
    }

    var stopFailure: VideoSDKError {
      switch self {
      case .recording: .STOP_RECORDING_FAILED
      case .livestream: .STOP_LIVESTREAM_FAILED
      case .playlist: .STOP_HLS_FAILED
      }
    }

    /// It broke while it went on.
    var failure: VideoSDKError {
      switch self {
      case .recording: .RECORDING_FAILED
      case .livestream: .LIVESTREAM_FAILED
      case .playlist: .HLS_FAILED
      }
    }
  }

  /// `playable`, for playlists only: players can open the written part.
  enum Stage: String { case starting, started, playable, stopping, stopped }

  /// An output's stage, its destination, and the id of the participant or recorder that makes it.
  struct Report {
    var stage = Stage.stopped
    var place = ""
    var by = ""
  }

  private struct Videos {
    /// In the order in which they began.
    var all: [Track] = []
    var shown: [Track.ID] = []
    var isOver = false
  }

  private let session: Session
  private let microphone: SharedMicrophone?
  private let composition: Composition
  private let places: [any BroadcastOutput]
  /// That was made for it alone.
  private let folder: URL?
  private let broadcasts: [Broadcast]
  private let rules: RoomArrangement.Rules
  private let hasVideo: Bool
  private let pinned: @Sendable () -> [String]
  private let videos = Lock(Videos())

  /// - Parameters:
  ///   - pinned: the pinned participants, the one pinned last at the end.
  ///   - onFailure: called from any thread when one of the outputs breaks before `stop`.
  /// - Throws: what an output throws that cannot be opened.
  init(
    _ kind: Kind, _ wish: OutputRequest, of session: Session, microphone: SharedMicrophone?,
    pinned: @escaping @Sendable () -> [String], onFailure: @escaping @Sendable () -> Void
  ) throws {
    (self.session, self.microphone, self.pinned) = (session, microphone, pinned)
    var request = RecordingRequest(room: session.request.room)
    wish.look.apply(to: &request)
    rules = RoomArrangement.Rules(
      layout: request.layout, priority: request.priority, limit: wish.shownParticipants)
    hasVideo = request.recordsVideo
    composition = Composition(
      width: request.width, height: request.height, background: Color(rgb: request.backgroundColor), in: session.world)
    composition.add(Slot("own", width: 0, height: 0))  // one's own sound
    let composition = composition
    let folder = kind == .playlist ? wish.destinations.first?.deletingLastPathComponent() : nil
    self.folder = folder
    do {
      places = try wish.destinations.map { try BroadcastOutputs.make(for: $0) }
      broadcasts = try places.map { place in
        try Broadcast(
          of: composition, to: place, bitrate: request.bitrate, hasVideo: request.recordsVideo,
          onFailure: { _ in onFailure() })
      }
    } catch {
      Self.removeIfEmpty(folder)
      throw error
    }
    if let microphone, let inlet = composition.soundInput("own") {
      inlet.source = session.localParticipant.id
      microphone.addSink(inlet)
    }
    for participant in [session.localParticipant] + session.participants {
      for stream in participant.tracks { changed(stream, isThere: true) }
    }
  }

  /// - Parameter handler: called once, from any thread, when the first place can be opened.
  func onReadable(_ handler: @escaping @Sendable () -> Void) { places.first?.onReadable(handler) }

  /// A stream of the room has come, gone, or been muted.
  func changed(_ stream: Track, isThere: Bool) {
    let isOwn = stream.id.participant == session.localParticipant.id
    if stream.kind.isAudio {
      guard !isOwn else { return }
      changedSound(stream, isThere)
    } else {
      changedPicture(stream, isThere && !stream.isMuted)
    }
  }

  private func changedSound(_ stream: Track, _ isThere: Bool) {
    let name = "sound \(stream.id)"
    if isThere {
      guard composition.add(Slot(name, width: 0, height: 0)), let inlet = composition.soundInput(name) else { return }
      inlet.source = stream.id.participant
      session.attach(inlet as any AudioSink, to: stream.id)
    } else if let inlet = composition.soundInput(name) {
      session.detach(inlet as any AudioSink, from: stream.id)
      composition.remove(name)
    }
  }

  private func changedPicture(_ stream: Track, _ isThere: Bool) {
    guard hasVideo else { return }
    videos.withLock { videos in
      if !isThere {
        videos.all.removeAll { $0.id == stream.id }
      } else if !videos.all.contains(where: { $0.id == stream.id }) {
        videos.all.append(stream)
      }
      layOut(&videos)
    }
  }

  /// The active speaker or the pins have changed.
  func layOut() { videos.withLock { layOut(&$0) } }

  private func layOut(_ videos: inout Videos) {
    guard !videos.isOver else { return }
    let arrangement = RoomArrangement(
      of: videos.all, by: rules, speaker: session.dominantSpeaker, pinned: pinned(), width: Double(composition.width),
      height: Double(composition.height))
    let new = arrangement.places.map(\.track.id)
    for id in videos.shown where !new.contains(id) { hide(id) }
    for place in arrangement.places {
      let (id, name) = (place.track.id, place.track.id.description)
      if composition.add(Slot(name, width: 0, height: 0)), let inlet = composition.pictureInput(name) {
        inlet.source = place.track.kind == .camera ? id.participant : nil
        session.attach(inlet as any VideoSink, to: id)
      }
      let tile = place.tile
      composition.change(name, to: Slot(name, x: tile.x, y: tile.y, width: tile.width, height: tile.height))
    }
    videos.shown = new
  }

  private func hide(_ id: Track.ID) {
    if let inlet = composition.pictureInput(id.description) { session.detach(inlet as any VideoSink, from: id) }
    composition.remove(id.description)
  }

  /// - Throws: when an output could not be finished; the others are all the same.
  func stop() throws {
    if let microphone, let inlet = composition.soundInput("own") { microphone.removeSink(inlet) }
    videos.withLock { videos in
      videos.isOver = true
      for id in videos.shown { hide(id) }
      (videos.all, videos.shown) = ([], [])
    }
    var failure: (any Error)?
    for broadcast in broadcasts {
      do { try broadcast.stop() } catch { failure = error }
    }
    Self.removeIfEmpty(folder)
    if let failure { throw failure }
  }

  private static func removeIfEmpty(_ folder: URL?) {
    if let folder { _ = rmdir(folder.path) }
  }
}
