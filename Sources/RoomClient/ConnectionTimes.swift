/// How often a server pings, and how long a connection may be silent before the client counts it as lost.
package struct ConnectionTimes: Hashable, Sendable {
  /// 1...30 s.
  package let ping: Duration
  /// 2...120 s, and never less than two pings: one ping may be late.
  package let silence: Duration

  /// - Parameters: as a server has said; nil: as a server that does not say.
  package init(pingSeconds: Int? = nil, silenceSeconds: Int? = nil) {
    let ping = min(max(pingSeconds ?? 5, 1), 30)
    self.ping = .seconds(ping)
    silence = .seconds(max(min(max(silenceSeconds ?? 15, 2), 120), 2 * ping))
  }
}
