// Tiles and shares of layers read from the meeting session style (`koine port --to call-agent`): the same for every app.
import AzureCommunicationCalling
import Foundation
import UIKit

extension AzureMeeting {
  /// Shows a tile's video in the view, and no other video.
  func bind(view: AzureVideoView, tile id: Int) {
    for (other, bound) in views where bound === view || other == id { unbind(tile: other) }
    guard let tile = tiles.first(where: { $0.id == id }) else { return }
    views[id] = view
    call.show(view, tile.kind, of: tile.owner)
  }
  func unbind(tile id: Int) {
    guard let view = views.removeValue(forKey: id), let tile = tiles.first(where: { $0.id == id }) else { return }
    call.hide(view, tile.kind, of: tile.owner)
  }
  /// Receives these videos. With the first choice, a meeting ceases to receive all others.
  func choose(_ added: [Source: Preference], without removed: [Source]) {
    chosen = (chosen ?? []).union(added.keys).subtracting(removed)
    select()
  }
  func select() {
    guard let chosen else { return }
    let people = call.participants.keys.map { id in
      (id, Set(chosen.filter { $0.owner == id }.map(\.kind)).union([.microphone]))
    }
    call.receive(Dictionary(uniqueKeysWithValues: people))
  }

  /// A camera or a shared screen has come or gone.
  func setSent(_ kind: AzureStream.Kind, of person: AzurePerson, isSent: Bool) {
    guard isSent != (sent[person.id]?.contains(kind) == true) else { return }
    let content = Attendee(contentOf: person), source = Source(owner: person.id, kind: kind)
    if isSent {
      sent[person.id, default: []].insert(kind)
      if kind == .screen { report(.attendeeJoined(content)) }
      if !person.isLocal { report(.sourceAdded(source)) }
      if !person.isLocal || kind == .camera {
        watches[source] = call.firstFrame(of: kind, by: person) { [weak self] in self?.add(source, of: person) }
      }
      if person.isLocal, kind == .screen { report(.shareStarted) }
    } else {
      (_, watches[source]) = (sent[person.id]?.remove(kind), nil)
      tiles.filter { $0.owner == person.id && $0.kind == kind }.forEach(remove)
      if !person.isLocal { report(.sourceRemoved(source)) }
      if kind == .screen { report(.attendeeLeft(content)) }
      if person.isLocal, kind == .screen { report(.shareEnded(nil)) }
    }
  }
  /// A video has its tile from its first frame on.
  private func add(_ source: Source, of person: AzurePerson) {
    guard watches.removeValue(forKey: source) != nil else { return }
    lastTile += 1
    let tile = Tile(id: lastTile, source.kind, of: person)
    tiles.append(tile)
    report(.tileAdded(tile))
  }
  func remove(_ tile: Tile) {
    report(.tileRemoved(tile))
    unbind(tile: tile.id)
    tiles.removeAll { $0 === tile }
  }

  /// A video with its number.
  final class Tile: Equatable, @unchecked Sendable {  // all is constant
    enum Pause: Sendable { case requested, poorPath }
    let id: Int, kind: AzureStream.Kind, owner: String, isLocal: Bool
    /// The SDK does not say of a single video that it waits.
    var pause: Pause? { nil }
    init(id: Int, _ kind: AzureStream.Kind, of person: AzurePerson) {
      (self.id, self.kind, owner, isLocal) = (id, kind, person.id, person.isLocal)
    }
    var isContent: Bool { kind == .screen }
    var attendeeID: String { owner + (isContent ? "#content" : "") }
    static func == (one: Tile, other: Tile) -> Bool { one === other }
  }

  /// A screen that is shared.
  final class Screen: @unchecked Sendable {  // used on the main queue only
    var observer: ((Event) -> Void)?
    private var isOn = false
    private weak var meeting: AzureMeeting?
    init(call: AzureMeeting) {
      meeting = call
      call.screen = self
    }
    func start() { set(true) }
    func stop() { set(false) }
    /// The SDK captures the screen when the share begins.
    private func set(_ isOn: Bool) {
      guard isOn != self.isOn else { return }
      self.isOn = isOn
      DispatchQueue.main.async { [weak self] in self?.observer?(isOn ? .captureStarted : .captureEnded) }
    }
    func fail() {
      isOn = false
      observer?(.captureFailed(.screen))
    }
  }
  final class Share { var videoSource: Screen? }
}
