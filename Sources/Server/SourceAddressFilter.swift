import KoineBase
import KoineRouter

/// Decides whether the kernel must filter datagrams by source address. Datagrams from addresses that are not in a call must not fill
/// the socket's queue and so cause packet loss for calls. Once filtering is on, it stays on, and the kernel's list is updated whenever
/// the addresses of the peers change.
struct SourceAddressFilter {
  /// Stray datagrams per second that turn the filter on. A busy machine handles so many in 10 ms, and no client sends so many by
  /// mistake.
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
