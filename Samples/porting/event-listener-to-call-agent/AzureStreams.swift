// Participants, what they send, and ends of calls (`koine port --to call-agent`): the same file for every app.
import AzureCommunicationCalling
import Foundation
import UIKit

/// What a call reports, about one participant at a time.
enum AzureReport: @unchecked Sendable {  // made and used on the main queue only
  case phaseChanged(AzurePhase), joined, left(AzureEnd), connectionLost, failed(AzureFailure)
  case personJoined(AzurePerson), personLeft(AzurePerson), messageReceived(AzureMessage)
  case streamAdded(AzureStream, AzurePerson), streamRemoved(AzureStream, AzurePerson)
  case speakerChanged(String?), presenterChanged(String?), levelsChanged([String: Float])
  /// The connection carries less than is to be sent or received.
  case pathChanged(isPoor: Bool)
  /// From now on it is known what a participant sends.
  case streamsKnown(AzurePerson)
}
enum AzurePhase: Sendable { case connecting, connected, reconnecting, ended }
struct AzureMessage: Sendable {
  let id, topic, senderID, senderName, text: String
  let channel: Int32
  /// When it came: the SDK does not say when it was sent.
  let received = Date()
}

enum AzureFailure: String, Error {
  case rejected, forbidden, closed, joinedElsewhere, microphone, microphoneDenied, camera, cameraDenied, screen, message
  case failed

  /// - Parameter error: of the SDK, whose codes are those of `CallingCommunicationErrors`.
  init(_ error: (any Error)?) {
    switch error.map({ CallingCommunicationErrors(rawValue: ($0 as NSError).code) }) {
    case .invalidTokenProvider: self = .rejected
    case .noMultipleConnectionsWithSameIdentity: self = .joinedElsewhere
    default: self = .failed
    }
  }
  /// - Parameter numbers: code and subcode of the end of a call, as the vendor's list has them.
  init(_ numbers: (Int32, Int32)) {
    switch numbers {
    case (401, _): self = .rejected
    case (403, _), (0, 5854): self = .forbidden
    case (404, _): self = .closed
    default: self = .failed
    }
  }
  /// The stream that it is about.
  var kind: AzureStream.Kind? {
    switch self {
    case .microphone, .microphoneDenied: .microphone
    case .camera, .cameraDenied: .camera
    case .screen: .screen
    default: nil
    }
  }
}
enum AzureEnd: String, Sendable {
  case left, removed, closed, lost, refused, failed

  /// - Parameter numbers: code and subcode. A call that ends for all has those of one that the user has left.
  init(_ numbers: (Int32, Int32), isLeaving: Bool, hasEntered: Bool) {
    switch numbers {
    case (0, _) where isLeaving: self = .left
    case (0, 5000), (0, 5300): self = .removed
    case (0, _) where hasEntered: self = .closed
    case (490...498, _) where hasEntered: self = .lost
    default: self = hasEntered ? .failed : .refused
    }
  }
}

/// A participant with what it sends now.
final class AzurePerson: Equatable, @unchecked Sendable {  // used on the main queue only
  let id: String, remote: RemoteParticipant?
  var streams: [String: AzureStream] = [:]
  private let localName: String
  private weak var call: AzureCall?
  /// The SDK has a participant's name only: it is there under the keys of the stage vendor's samples.
  var attributes: [String: String] { ["name": name, "username": name] }
  var isLocal: Bool { remote == nil }
  var name: String { remote.map { $0.displayName.isEmpty ? id : $0.displayName } ?? localName }

  init(id: String, localName: String) { (self.id, self.localName, remote) = (id, localName, nil) }
  init(_ remote: RemoteParticipant, in call: AzureCall) {
    (id, self.remote, self.call, localName) = (remote.identifier.rawId, remote, call, "")
  }
  static func == (one: AzurePerson, other: AzurePerson) -> Bool { one === other }
  /// Asks the participant's app, which obeys. A microphone only: the SDK has no word for another participant's camera.
  func mute(kind: AzureStream.Kind) { if kind == .microphone { remote?.mute { _ in } } }
  func remove() { if let remote { call?.call?.remove(participant: remote) { _ in } } }
}

/// A microphone, a camera or a shared screen.
final class AzureStream: Equatable, @unchecked Sendable {  // used on the main queue only
  enum Kind: Sendable, CaseIterable {
    case microphone, camera, screen
    var isVideo: Bool { self != .microphone }
    var isAudio: Bool { self == .microphone }
  }
  let kind: Kind, owner: String, source: CallVideoStream?
  private weak var call: AzureCall?
  var id: String { "\(owner) \(kind)" }
  init(_ kind: Kind, of owner: String, _ source: CallVideoStream?, in call: AzureCall) {
    (self.kind, self.owner, self.source, self.call) = (kind, owner, source, call)
  }
  var video: AzureStream? { kind == .microphone ? nil : self }
  func attach(view: AzureVideoView) { call?.show(view, kind, of: owner) }
  func detach(view: AzureVideoView) { call?.hide(view, id) }
  static func == (one: AzureStream, other: AzureStream) -> Bool { one === other }
}
