package import KoineBase

/// One direction of a link that loses, delays, disorders and queues datagrams as a `NetworkSpec` says. Sans-IO;
/// everything it does repeats from its seed.
package struct LinkConditioner<Tag> {
  private struct Flying {
    let arrival: Tick
    let order: UInt64
    let datagram: Bytes
    let tag: Tag
  }

  private static var queueLimit: Duration { .milliseconds(300) }
  /// DTLS handshakes differ by some bytes from run to run; all are charged alike, so that the rest repeats.
  private static var handshakeSize: Int { 700 }

  private var spec: NetworkSpec
  private var start: Tick
  private var random: SeededRandom
  private var flying: [Flying] = []  // latest first
  private var order: UInt64 = 0
  /// When the queue before a slow link will be empty.
  private var queueEmpty: Tick
  package private(set) var sent = 0
  package private(set) var lost = 0
  package private(set) var overflowed = 0

  /// - Parameter seed: of this direction of this link, besides the specification's own.
  package init(spec: NetworkSpec, seed: UInt64, start: Tick) {
    self.spec = spec
    self.start = start
    random = SeededRandom(seed: spec.seed &* 0x9E37_79B9_7F4A_7C15 ^ seed)
    queueEmpty = start
  }

  /// Changes the conditions of the link from now on; the times of `spec` begin now. Datagrams on their way arrive under the old
  /// conditions.
  package mutating func change(to spec: NetworkSpec, at now: Tick) { (self.spec, start) = (spec, now) }

  package mutating func push(_ datagram: Bytes, tag: Tag, at now: Tick) {
    let conditions = spec.conditions(at: now - start)
    sent += 1
    // The same number of draws for each datagram, lost or not: the next datagram's random numbers do not depend on its fate.
    let (luck, spread, turn, extra) = (draw(), draw(), draw(), draw())
    if luck < conditions.loss {
      lost += 1
      return
    }
    var leaves = now
    if let rate = conditions.rate {
      let begins = max(queueEmpty, now)
      guard begins - now <= Self.queueLimit else {
        overflowed += 1
        return
      }
      leaves = begins + .nanoseconds(Int64(Double(charged(datagram) * 8) / Double(rate) * 1e9))
      queueEmpty = leaves
    }
    var arrival = leaves + conditions.delay + conditions.jitter * spread
    if turn < conditions.reorder { arrival += .milliseconds(10) + .milliseconds(20) * extra }
    insert(datagram, tag, arrival)
  }

  private mutating func draw() -> Double { Double(random.next() >> 11) * 0x1p-53 }

  /// With IP and UDP headers.
  private func charged(_ datagram: Bytes) -> Int {
    let isHandshake = datagram.readable.first.map { (20...63).contains($0) } ?? false
    return (isHandshake ? Self.handshakeSize : datagram.count) + 28
  }

  private mutating func insert(_ datagram: Bytes, _ tag: Tag, _ arrival: Tick) {
    order += 1
    let item = Flying(arrival: arrival, order: order, datagram: datagram, tag: tag)
    let index = flying.firstIndex { $0.arrival <= arrival } ?? flying.endIndex
    flying.insert(item, at: index)
  }

  /// The next datagram that has arrived, in order of arrival.
  package mutating func pop(at now: Tick) -> (Bytes, Tag)? {
    guard let next = flying.last, next.arrival <= now else { return nil }
    flying.removeLast()
    return (next.datagram, next.tag)
  }

  package var deadline: Tick? { flying.last?.arrival }
}
