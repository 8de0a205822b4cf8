import Foundation
import Koine

/// A list of renderers that keeps none of them alive. From any thread.
final class WeakRenderers: @unchecked Sendable {  // `entries` is a lock
  private struct Entry { weak var renderer: (any IVSStageRenderer)? }
  private let entries = Lock<[Entry]>([])

  func add(_ renderer: any IVSStageRenderer) {
    entries.withLock { entries in
      entries.removeAll { $0.renderer == nil }
      if !entries.contains(where: { $0.renderer === renderer }) { entries.append(Entry(renderer: renderer)) }
    }
  }

  func remove(_ renderer: any IVSStageRenderer) { entries.withLock { $0.removeAll { $0.renderer === renderer } } }

  var all: [any IVSStageRenderer] { entries.withLock { $0.compactMap(\.renderer) } }

  func contains(_ renderer: any IVSStageRenderer) -> Bool {
    entries.withLock { $0.contains { $0.renderer === renderer } }
  }
}
