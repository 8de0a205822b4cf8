import KoineBase
import KoineRouter

/// Whether strangers send so much that the kernel has to sort it out: who is in a call shall not lose what is theirs because
/// the socket's queue is full of what is nobody's. From then on it is told whenever somebody comes or goes.
struct SourceAddressFilter {
  /// In a second: what a busy machine looks at in a hundredth of that, and nobody sends by mistake.
  private static let limit = 1_000
  private var isOn = false
  private var since = Tick(nanoseconds: 0)
  private var strays = 0
  private var changes = 0

  mutating func mustChange(_ router: Router, at now: Tick) -> Bool {
    if isOn {
      guard changes != router.sourceChanges else { return false }
    } else {
      if now - since >= .seconds(1) { (since, strays) = (now, router.strayDatagrams) }
      guard router.strayDatagrams - strays >= Self.limit else { return false }
      isOn = true
    }
    changes = router.sourceChanges
    return true
  }
}
