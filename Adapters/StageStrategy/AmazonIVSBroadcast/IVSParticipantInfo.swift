public import Foundation
import Koine

/// A participant of the stage. It is the same object from joining to leaving.
///
/// [Vendor reference](https://aws.github.io/amazon-ivs-broadcast-docs/1.48.0/ios/Classes/IVSParticipantInfo.html)
public class IVSParticipantInfo: NSObject, @unchecked Sendable {  // `state` is a lock, the rest is constant
  private struct State {
    var userId: String
    var attributes: [String: String]
    var capabilities: IVSParticipantCapability
  }

  /// As the token names it; unique on the stage.
  public let participantId: String
  /// Belongs to the token that this stage was made with.
  public let isLocal: Bool
  /// Publish for the local participant, subscribe for the others, as far as the own token allows either.
  public var capabilities: IVSParticipantCapability { state.withLock { $0.capabilities } }
  /// The app's own; never read or changed here.
  public let userInfo = NSMutableDictionary()
  private let state: Lock<State>

  init(
    id: String, userId: String, attributes: [String: String], isLocal: Bool, capabilities: IVSParticipantCapability
  ) {
    participantId = id
    self.isLocal = isLocal
    state = Lock(State(userId: userId, attributes: attributes, capabilities: capabilities))
  }

  /// As given with the token; may be empty.
  public var userId: String { state.withLock { $0.userId } }
  /// As given with the token.
  public var attributes: [String: String] { state.withLock { $0.attributes } }

  /// - Returns: whether they are others than before.
  func update(attributes: [String: String]) -> Bool {
    state.withLock { state in
      defer { state.attributes = attributes }
      return state.attributes != attributes
    }
  }

  func update(userId: String, capabilities: IVSParticipantCapability) {
    state.withLock { ($0.userId, $0.capabilities) = (userId, capabilities) }
  }

  public override var description: String { "<IVSParticipantInfo \(participantId)\(isLocal ? ", local" : "")>" }
}
