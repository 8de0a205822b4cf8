public import Koine
import KoineBase

/// Participants of the common layer with cameras and microphones, so that a sample's user is not alone.
public final class Peers: Sendable {
  private static let names = ["Ana", "Bea", "Carl", "Dora", "Emil", "Fay", "Gus", "Hana"]
  private let sessions: [Session]

  public init(count: Int, room: String, world: World) {
    sessions = (0..<count).map { index in
      let name = index < Self.names.count ? Self.names[index] : "Peer \(index + 1)"
      return Session(JoinRequest(room: room, name: name), in: world)
    }
  }

  public func join() {
    for session in sessions {
      do {
        try session.publish(camera: Devices.camera(session.world.devices.camera))
        try session.publish(microphone: Devices.microphone(session.world.devices.microphone))
      } catch {
        print("\(session.request.name): \(error)", to: .standardError)
      }
      session.join { outcome in
        guard case .failure(let error) = outcome else { return }
        let advice =
          error.code == .unauthorized || error.code == .forbidden
          ? "; peers have no tokens: come without them (--peers 0) and with a token of `koine token`" : ""
        print(
          LogText.line("\(session.request.name) (of --peers) was not let in: \(error.message)\(advice)"),
          to: .standardError)
      }
    }
  }

  public func leave() async { for session in sessions { await session.leave() } }
}
