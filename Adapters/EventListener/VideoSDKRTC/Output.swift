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

  private struct Shown {
    let stream: Track
    let tile: Int
  }

  private let session: Session
  private let microphone: SharedMicrophone?
  private let composition: Composition
  private let places: [any BroadcastOutput]
  /// That was made for it alone.
  private let folder: URL?
  private let broadcasts: [Broadcast]
  private let shown = Lock<[Shown]>([])
  private let limit: Int
  private static let width = 1280.0, height = 720.0

  /// - Parameter onFailure: called from any thread when one of the outputs breaks before `stop`.
  /// - Throws: what an output throws that cannot be opened.
  init(
    _ kind: Kind, to places: [URL], of session: Session, microphone: SharedMicrophone?, people: Int,
    onFailure: @escaping @Sendable () -> Void
  ) throws {
    (self.session, self.microphone) = (session, microphone)
    limit = min(max(people, 1), 25)
    composition = Composition(width: Int(Self.width), height: Int(Self.height), in: session.world)
    for index in 0..<limit { composition.add(Slot("\(index)", width: 0, height: 0)) }
    composition.add(Slot("own", width: 0, height: 0))  // one's own sound
    let composition = composition
    let folder = kind == .playlist ? places.first?.deletingLastPathComponent() : nil
    self.folder = folder
    do {
      self.places = try places.map { try BroadcastOutputs.make(for: $0) }
      broadcasts = try self.places.map { try Broadcast(of: composition, to: $0, onFailure: { _ in onFailure() }) }
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
    shown.withLock { shown in
      if isThere {
        let taken = Set(shown.map(\.tile))
        guard !shown.contains(where: { $0.stream.id == stream.id }),
          let tile = (0..<limit).first(where: { !taken.contains($0) })
        else { return }
        shown.append(Shown(stream: stream, tile: tile))
        if let inlet = composition.pictureInput("\(tile)") {
          inlet.source = stream.kind == .camera ? stream.id.participant : nil
          session.attach(inlet as any VideoSink, to: stream.id)
        }
      } else if let index = shown.firstIndex(where: { $0.stream.id == stream.id }) {
        let gone = shown.remove(at: index)
        guard let inlet = composition.pictureInput("\(gone.tile)") else { return }
        session.detach(inlet as any VideoSink, from: stream.id)
        inlet.clear()
      }
      layOut(shown)
    }
  }

  private func layOut(_ shown: [Shown]) {
    for (entry, place) in zip(shown, TileLayout(width: Self.width, height: Self.height, count: shown.count).all) {
      let slot = Slot("\(entry.tile)", x: place.x, y: place.y, width: place.width, height: place.height)
      composition.change("\(entry.tile)", to: slot)
    }
    for tile in 0..<limit where !shown.contains(where: { $0.tile == tile }) {
      composition.change("\(tile)", to: Slot("\(tile)", width: 0, height: 0))
    }
  }

  /// - Throws: when an output could not be finished; the others are all the same.
  func stop() throws {
    if let microphone, let inlet = composition.soundInput("own") { microphone.removeSink(inlet) }
    for entry in shown.withLock({ $0 }) { changedPicture(entry.stream, false) }
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
