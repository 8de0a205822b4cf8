import CKoineMalloc
import Dispatch
import KoineBase

/// Gives memory back to the system once the last room has closed.
///
/// The allocator keeps what clients leave behind in pieces: after a thousand abandoned handshakes as much as they took. As long as
/// there is a room nothing is given back, because media would wait for the allocator's locks.
struct IdleMemory {
  /// After the last room has closed. Rooms that open and close all the time cost nothing.
  static let delay = Duration.seconds(2)
  private(set) var deadline: Tick?
  private var wasUsed = false

  mutating func handle(hasRooms: Bool, at now: Tick) {
    if hasRooms {
      (wasUsed, deadline) = (true, nil)
    } else if wasUsed {
      (wasUsed, deadline) = (false, now + Self.delay)
    }
  }

  /// - Returns: whether it is time to give memory back.
  mutating func isDue(at now: Tick) -> Bool {
    guard let deadline, deadline <= now else { return false }
    self.deadline = nil
    return true
  }

  static func giveBack() {
    // Takes milliseconds: not on the network loop.
    DispatchQueue.global(qos: .utility).async { malloc_trim(0) }
  }
}
