import KoineBase
import KoineTransport

/// Two endpoints and the link between them, in virtual time: every datagram takes 20 ms, and `fate` decides whether it
/// arrives.
final class DTLSPair {
  enum Fate {
    case arrives, isLost, isDoubled
    case isLate(Duration)
  }

  static let certificates = Result { (try Certificate(), try Certificate()) }

  let client, server: DTLSEndpoint
  private(set) var now = Tick(nanoseconds: 1_000_000_000)
  /// All sent datagrams with their senders.
  private(set) var sent: [(fromClient: Bool, bytes: [UInt8])] = []
  /// Decides about every datagram by its side and its number among that side's datagrams.
  var fate: (_ fromClient: Bool, _ number: Int) -> Fate = { _, _ in .arrives }
  private var travelling: [(at: Tick, order: Int, fromClient: Bool, bytes: [UInt8])] = []
  private var order = 0
  private var numbers = [true: 0, false: 0]

  init(
    clientProfiles: [SRTPProfile] = SRTPProfile.preferred, serverProfiles: [SRTPProfile] = SRTPProfile.preferred,
    clientExpects: Fingerprint?? = nil, serverExpects: Fingerprint?? = nil
  ) throws {
    let (a, b) = try Self.certificates.get()
    client = try DTLSEndpoint(
      role: .client, certificate: a, remoteFingerprint: clientExpects ?? b.fingerprint, profiles: clientProfiles)
    server = try DTLSEndpoint(
      role: .server, certificate: b, remoteFingerprint: serverExpects ?? a.fingerprint, profiles: serverProfiles)
  }

  func start() {
    server.start(at: now)
    client.start(at: now)
    drain()
  }

  /// Runs until both ends have come to an end of the handshake, or `limit` has passed.
  func run(for limit: Duration = .seconds(60), until done: (() -> Bool)? = nil) {
    let end = now + limit
    let done = done ?? { self.client.state.isSettled && self.server.state.isSettled }
    while !done() {
      let arrival = travelling.min { ($0.at, $0.order) < ($1.at, $1.order) }
      guard let next = client.deadline.sooner(server.deadline).sooner(arrival?.at), next <= end else {
        now = end
        return
      }
      now = max(now, next)
      if let arrival, arrival.at <= now {
        travelling.removeAll { $0.order == arrival.order }
        inject(arrival.bytes, toServer: arrival.fromClient)
      } else {
        if let due = client.deadline, due <= now { client.handleTimeout(at: now) }
        if let due = server.deadline, due <= now { server.handleTimeout(at: now) }
        drain()
      }
    }
  }

  func inject(_ bytes: [UInt8], toServer: Bool) {
    bytes.withUnsafeBytes { (toServer ? server : client).handle($0, at: now) }
    drain()
  }

  func drain() {
    for fromClient in [true, false] {
      var buffer = [UInt8](repeating: 0, count: DTLSEndpoint.maximumDatagramSize)
      while let count = buffer.withUnsafeMutableBytes({ (fromClient ? client : server).poll(into: $0) }) {
        send(Array(buffer[..<count]), fromClient: fromClient)
      }
    }
  }

  private func send(_ bytes: [UInt8], fromClient: Bool) {
    sent.append((fromClient, bytes))
    let number = numbers[fromClient, default: 0]
    numbers[fromClient] = number + 1
    switch fate(fromClient, number) {
    case .arrives: travel(bytes, fromClient, .milliseconds(20))
    case .isLost: break
    case .isDoubled:
      travel(bytes, fromClient, .milliseconds(20))
      travel(bytes, fromClient, .milliseconds(21))
    case .isLate(let delay): travel(bytes, fromClient, delay)
    }
  }

  private func travel(_ bytes: [UInt8], _ fromClient: Bool, _ delay: Duration) {
    order += 1
    travelling.append((now + delay, order, fromClient, bytes))
  }
}

extension DTLSEndpoint.State {
  var isSettled: Bool {
    switch self {
    case .new, .handshaking: false
    case .connected, .failed, .closed: true
    }
  }

  var keys: SRTPKeys? { if case .connected(let keys) = self { keys } else { nil } }
}
