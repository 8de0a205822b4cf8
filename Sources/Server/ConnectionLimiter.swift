import KoineBase
import KoineRouter
import NIOCore

/// Counts what the clients of one network share: connections, lost connections that may return, rooms, joins, refused
/// credentials, messages, bytes.
///
/// The networks of a client are its IPv4 address, or its /64 of IPv6 and its /48: a customer has one or the other. A /48 may
/// have four times as much as a /64. A network is remembered until its budgets are full again, so that reconnecting forgives nothing.
///
/// Any thread may call. Each limit is looked at and taken from under one lock, so it is exact.
final class ConnectionLimiter: Sendable {
  fileprivate struct Network: Hashable, Sendable {
    let address: KoineBase.SocketAddress?
    let prefix: Int
    /// How many times the limits it may use up.
    var share: Int { prefix == 48 ? 4 : 1 }
  }

  /// A connection that may return, and how it is given up.
  private struct Lost: Sendable {
    let number: Int
    let networks: [Network]
    let giveUp: @Sendable () -> Void
  }

  private struct Account {
    var connections = 0
    /// The longest lost first.
    var lost: [Lost] = []
    var rooms = 0
    var messages, joins: TokenBucket
    /// Credentials that are being checked or have been refused.
    var credentials: TokenBucket
    var bytes: ByteBudget
    /// Bytes of the answers to joins.
    var answers: ByteBudget
    /// Refused joins of the network, of which the first, tenth, hundredth … of a minute is logged.
    var refusals = LogThrottle(interval: .seconds(60))

    var isIdle: Bool { connections == 0 && lost.isEmpty && rooms == 0 }

    func isFull(at now: Tick) -> Bool {
      messages.isFull(at: now) && joins.isFull(at: now) && credentials.isFull(at: now) && answers.isFull(at: now)
        && bytes.isFull(at: now)
    }
  }

  private struct State {
    var connections = 0
    var accounts: [Network: Account] = [:]
    var refused = 0
    var nextPass = 0
    var swept = NIODeadline.uptimeNanoseconds(0)
  }

  /// Of a network's joins, so many may have their credentials refused: the burst and the rate alike. More of its credentials
  /// are not checked.
  private static let refusableJoins = 0.5
  /// Bytes of the answers to one network's joins, with the history of the rooms, and of messages that are repeated after a
  /// resumption: at once, then a second. Beyond, pages of them wait.
  private static let answerBurst = 32.0 * 1024 * 1024
  private static let answersPerSecond = 4.0 * 1024 * 1024
  private static let sweepInterval = TimeAmount.seconds(10)

  private let limits: ServerLimits
  /// Whether it counts the clients of a listener that only this machine reaches.
  private let isInside: Bool
  private let state = Lock(State())

  init(limits: ServerLimits, isInside: Bool = false) { (self.limits, self.isInside) = (limits, isInside) }

  /// One connection's permission to be here, while it is open and while it is lost and may return. Given back once.
  final class Permit: Sendable {
    private struct State {
      enum Phase { case open, lost, over }

      var phase = Phase.open
      var isSignalling = false
    }

    private let limiter: ConnectionLimiter
    private let networks: [Network]
    private let number: Int
    private let state = Lock(State())

    fileprivate init(limiter: ConnectionLimiter, networks: [Network], number: Int) {
      (self.limiter, self.networks, self.number) = (limiter, networks, number)
    }

    deinit { giveBack() }

    /// Whether its client came in by a listener that only this machine reaches: no stranger.
    var isInside: Bool { limiter.isInside }

    func takeMessage(at now: NIODeadline = .now()) -> Bool { limiter.spend(\.messages, from: networks, at: now.tick) }

    /// Of joins, registrations and resumptions.
    func takeJoin(at now: NIODeadline = .now()) -> Bool { limiter.spend(\.joins, from: networks, at: now.tick) }

    /// Before a credential is checked: counts it as refused until `credentialAccepted` gives it back. So checks that are under
    /// way count, too, and those of a connection that closes before its verdict.
    /// - Returns: false where the network has had too many credentials refused.
    func takeCredential(at now: Tick) -> Bool { limiter.spend(\.credentials, from: networks, at: now) }

    func credentialAccepted() { limiter.giveBackCredential(of: networks) }

    /// - Returns: how long to wait with reading more.
    func takeBytes(_ count: Int, at now: NIODeadline = .now()) -> TimeAmount {
      limiter.spend(count, of: \.bytes, from: networks, at: now)
    }

    /// Takes bytes before they are read, where the network has read too many: so its connections go on one after the other.
    /// - Returns: how long to wait before they may be read; zero where nothing had to be taken.
    func reserveBytes(_ count: Int, at now: NIODeadline = .now()) -> TimeAmount {
      let isOwing = limiter.spend(0, of: \.bytes, from: networks, at: now) > .zero
      return isOwing ? limiter.spend(count, of: \.bytes, from: networks, at: now) : .zero
    }

    /// - Returns: nil where the network has too many rooms. Otherwise the room's place, which is given back when it is released.
    func openRoom() -> (any AnyObject & Sendable)? { limiter.openRoom(for: networks) }

    /// - Returns: how many joins of the network have been refused lately, where that is to be logged.
    func countRefusal(at now: NIODeadline = .now()) -> Int? { limiter.countRefusal(networks, at: now) }

    /// From now on signalling gives the pass back, not the end of the channel: the connection may be lost and return.
    func beginSignalling() { state.withLock { $0.isSignalling = true } }

    func channelClosed() {
      if !state.withLock({ $0.isSignalling }) { giveBack() }
    }

    /// The connection broke and may return. It goes on counting for its network until the pass is given back.
    /// - Parameter giveUp: called where more of the network's connections are lost than may be; on any thread, perhaps at once.
    func lose(giveUp: @escaping @Sendable () -> Void) {
      let given = state.withLock { state -> [@Sendable () -> Void] in
        guard state.phase == .open else { return [] }
        state.phase = .lost
        return limiter.lose(Lost(number: number, networks: networks, giveUp: giveUp))
      }
      for giveUp in given { giveUp() }
    }

    /// - Returns: how long the network's next page of history has to wait.
    func takeAnswer(bytes: Int, at now: NIODeadline = .now()) -> TimeAmount {
      limiter.spend(bytes, of: \.answers, from: networks, at: now)
    }

    func giveBack() {
      state.withLock { state in
        switch state.phase {
        case .open: limiter.leave(networks)
        case .lost: limiter.forget(number, of: networks)
        case .over: break
        }
        state.phase = .over
      }
    }
  }

  /// A room's place among its network's.
  private final class RoomPlace: Sendable {
    private let limiter: ConnectionLimiter
    private let networks: [Network]

    init(_ limiter: ConnectionLimiter, _ networks: [Network]) { (self.limiter, self.networks) = (limiter, networks) }

    deinit {
      limiter.state.withLock { state in
        for network in networks { state.accounts[network]?.rooms -= 1 }
      }
    }
  }

  // MARK: Coming and going

  /// - Parameter address: without the port.
  /// - Returns: nil where there are too many already.
  func enter(from address: String, at now: NIODeadline = .now()) -> Permit? {
    let networks = Self.networks(address)
    return state.withLock { state in
      sweep(&state, at: now)
      let known = networks.map { state.accounts[$0] ?? makeAccount($0, at: now) }
      let isFull = zip(networks, known).contains {
        $1.connections + $1.lost.count >= limits.connectionsPerAddress * $0.share
      }
      guard state.connections < limits.connections, !isFull else {
        state.refused += 1
        return nil
      }
      state.connections += 1
      for (network, account) in zip(networks, known) {
        state.accounts[network] = account
        state.accounts[network]?.connections += 1
      }
      state.nextPass += 1
      return Permit(limiter: self, networks: networks, number: state.nextPass)
    }
  }

  private func sweep(_ state: inout State, at now: NIODeadline) {
    guard now - state.swept >= Self.sweepInterval else { return }
    state.swept = now
    state.accounts = state.accounts.filter { !$0.value.isIdle || !$0.value.isFull(at: now.tick) }
  }

  private func makeAccount(_ network: Network, at now: NIODeadline) -> Account {
    let (share, now) = (Double(network.share), now.tick)
    let joins = (burst: limits.addressJoinBurst * share, perSecond: limits.addressJoinsPerSecond * share)
    return Account(
      messages: TokenBucket(
        burst: limits.addressBurst * share, perSecond: limits.addressMessagesPerSecond * share, now: now),
      joins: TokenBucket(burst: joins.burst, perSecond: joins.perSecond, now: now),
      credentials: TokenBucket(
        burst: max(joins.burst * Self.refusableJoins, 1), perSecond: joins.perSecond * Self.refusableJoins, now: now),
      bytes: ByteBudget(
        burst: limits.addressByteBurst * share, perSecond: limits.addressBytesPerSecond * share, now: now),
      answers: ByteBudget(burst: Self.answerBurst * share, perSecond: Self.answersPerSecond * share, now: now))
  }

  private func leave(_ networks: [Network]) {
    state.withLock { state in
      state.connections -= 1
      for network in networks { state.accounts[network]?.connections -= 1 }
    }
  }

  /// - Returns: how to give up those for which there is no more room.
  private func lose(_ lost: Lost) -> [@Sendable () -> Void] {
    state.withLock { state in
      state.connections -= 1
      var given: [Lost] = []
      for network in lost.networks {
        state.accounts[network]?.connections -= 1
        state.accounts[network]?.lost.append(lost)
        guard let account = state.accounts[network], account.lost.count > limits.lostPerAddress * network.share else {
          continue
        }
        let oldest = account.lost[0]
        given.append(oldest)
        for network in oldest.networks { state.accounts[network]?.lost.removeAll { $0.number == oldest.number } }
      }
      return given.map(\.giveUp)
    }
  }

  private func forget(_ number: Int, of networks: [Network]) {
    state.withLock { state in
      for network in networks { state.accounts[network]?.lost.removeAll { $0.number == number } }
    }
  }

  // MARK: Budgets

  private func spend(
    _ budget: WritableKeyPath<Account, TokenBucket>, from networks: [Network], at now: Tick
  ) -> Bool {
    state.withLock { state in
      guard networks.allSatisfy({ state.accounts[$0]?[keyPath: budget].holds(at: now) ?? true }) else { return false }
      for network in networks { _ = state.accounts[network]?[keyPath: budget].take(at: now) }
      return true
    }
  }

  private func giveBackCredential(of networks: [Network]) {
    state.withLock { state in
      for network in networks { state.accounts[network]?.credentials.giveBack() }
    }
  }

  private func spend(
    _ count: Int, of budget: WritableKeyPath<Account, ByteBudget>, from networks: [Network], at now: NIODeadline
  ) -> TimeAmount {
    state.withLock { state in
      networks.map { state.accounts[$0]?[keyPath: budget].spend(count, at: now.tick) ?? .zero }.max() ?? .zero
    }
  }

  private func openRoom(for networks: [Network]) -> (any AnyObject & Sendable)? {
    state.withLock { state in
      guard networks.allSatisfy({ state.accounts[$0]?.rooms ?? 0 < limits.roomsPerAddress * $0.share }) else {
        return nil
      }
      for network in networks { state.accounts[network]?.rooms += 1 }
      return RoomPlace(self, networks)
    }
  }

  private func countRefusal(_ networks: [Network], at now: NIODeadline) -> Int? {
    guard let network = networks.first else { return nil }
    return state.withLock { state in
      guard state.accounts[network] != nil else { return 1 }
      return state.accounts[network]?.refusals.countEvent(at: now.tick)
    }
  }

  // MARK: Networks

  /// The smallest first.
  private static func networks(_ address: String) -> [Network] {
    let address = visitor(address)
    guard let address, address.family == .ipv6 else { return [Network(address: address, prefix: 32)] }
    return [
      Network(address: address, prefix: 64),
      Network(address: KoineBase.SocketAddress(ipv6High: address.high & ~0xFFFF, low: 0, port: 0), prefix: 48),
    ]
  }

  /// An IPv4 address, or the /64 of an IPv6 address. Addresses that are none, as of a local socket, are one visitor's.
  private static func visitor(_ address: String) -> KoineBase.SocketAddress? {
    guard let address = KoineBase.SocketAddress(address, port: 0), address.family == .ipv6 else {
      return KoineBase.SocketAddress(address, port: 0)
    }
    // RFC 4291 section 2.5.5.2: an IPv4 address on a socket of both families.
    if address.high == 0, address.low >> 32 == 0xFFFF {
      return KoineBase.SocketAddress(ipv4: UInt32(truncatingIfNeeded: address.low), port: 0)
    }
    return KoineBase.SocketAddress(ipv6High: address.high, low: 0, port: 0)
  }

  // MARK: Figures

  var connections: Int { state.withLock { $0.connections } }
  var refused: Int { state.withLock { $0.refused } }
  /// For tests.
  var remembered: Int { state.withLock { $0.accounts.count } }
  /// Connections of a network that are lost and may return, for tests.
  func lost(of address: String) -> Int {
    state.withLock { state in Self.networks(address).first.flatMap { state.accounts[$0]?.lost.count } ?? 0 }
  }
}

/// As many bytes at once, then as many a second. More may be taken than there are: the debt is waited for.
struct ByteBudget {
  private let burst: Double
  private let perSecond: Double
  private var left: Double
  private var filled: Tick

  init(burst: Double, perSecond: Double, now: Tick) {
    (self.burst, self.perSecond, left, filled) = (burst, perSecond, burst, now)
  }

  /// - Returns: how long it takes until nothing is owed.
  mutating func spend(_ count: Int, at now: Tick) -> TimeAmount {
    left = filling(at: now) - Double(count)
    filled = max(filled, now)
    return left >= 0 ? .zero : .nanoseconds(Int64(min(-left / perSecond, 3_600) * 1e9))
  }

  func isFull(at now: Tick) -> Bool { filling(at: now) >= burst }

  private func filling(at now: Tick) -> Double { min(burst, left + perSecond * max((now - filled).inSeconds, 0)) }
}

extension NIODeadline {
  /// The same moment of the same clock, as budgets count.
  var tick: Tick { Tick(nanoseconds: Int64(clamping: uptimeNanoseconds)) }
}
