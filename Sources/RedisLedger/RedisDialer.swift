import KoineBase
import KoineTLS
import NIOCore
import NIOPosix

/// Opens connections to the server with all data: it asks the sentinels, if there are any, connects, and sends credentials,
/// the database and a question for the server's role. On one event loop.
final class RedisDialer: @unchecked Sendable {  // all on `loop`
  struct Limits: Sendable {
    /// For a connection, and then for its greeting.
    var connect = TimeAmount.seconds(2)
    /// For a connection to a sentinel.
    var sentinel = TimeAmount.milliseconds(500)
    /// For a server that sends nothing while commands are pending.
    var silence = TimeAmount.seconds(2)
  }

  /// Why there is no connection.
  struct Failure: Error, CustomStringConvertible {
    let description: String
    var code: RedisCode?

    init(_ description: String, _ code: RedisCode? = nil) { (self.description, self.code) = (description, code) }

    init(_ error: String, at endpoint: RedisAddress.Endpoint) {
      let code = RedisCode(of: error)
      self.init("\(LogText(error)) (\(endpoint))", code)
    }
  }

  typealias Done = (Result<RedisConnection, Failure>) -> Void

  private let address: RedisAddress
  private let limits: Limits
  private let loop: any EventLoop
  /// The sentinels, the last one that has answered first.
  private var sentinels: [RedisAddress.Endpoint]
  private var tls: TLSContext?

  init(_ address: RedisAddress, limits: Limits = .init(), on loop: any EventLoop) {
    (self.address, self.limits, self.loop) = (address, limits, loop)
    if case .sentinels(let endpoints, _) = address.target { sentinels = endpoints } else { sentinels = [] }
  }

  /// - Parameter done: called once, on the loop.
  func connect(
    onMessage: @escaping (_ channel: [UInt8], _ message: [UInt8]) -> Void, _ done: @escaping Done
  ) {
    switch address.target {
    case .server(let endpoint): connect(to: endpoint, onMessage: onMessage, done)
    case .sentinels(_, let name):
      ask(sentinels[...], for: name) { [self] result in
        switch result {
        case .success(let endpoint): connect(to: endpoint, onMessage: onMessage, done)
        case .failure(let failure): done(.failure(failure))
        }
      }
    }
  }

  // MARK: The server

  private func connect(
    to endpoint: RedisAddress.Endpoint, onMessage: @escaping ([UInt8], [UInt8]) -> Void, _ done: @escaping Done
  ) {
    open(endpoint, within: limits.connect, silence: limits.silence, onMessage) { [self] result in
      switch result {
      case .failure: done(result)
      case .success(let connection): greet(connection, at: endpoint, done)
      }
    }
  }

  private enum Greeting { case authentication, database, ping, role }

  /// All commands of the greeting go out at once. The first failure decides.
  private func greet(_ connection: RedisConnection, at endpoint: RedisAddress.Endpoint, _ done: @escaping Done) {
    var commands: [(Greeting, RedisCommand)] = []
    if let command = authentication { commands.append((.authentication, command)) }
    if address.database != 0 { commands.append((.database, ["SELECT", "\(address.database)"])) }
    // The server answers a PING with LOADING while it reads its data, and a role in the middle of it is not settled.
    commands += [(.ping, ["PING"]), (.role, ["ROLE"])]
    let greeting = Once(done)
    for (kind, command) in commands {
      connection.send(command) { result in
        switch result {
        case .failure(let reason): greeting.finish(.failure(Failure("\(reason) (\(endpoint))")))
        case .success(let reply):
          if let failure = Self.failure(of: kind, reply, endpoint) {
            greeting.finish(.failure(failure))
            connection.close(failure.description)
          } else if kind == .role {
            greeting.finish(.success(connection))
          }
        }
      }
    }
  }

  private static func failure(of kind: Greeting, _ reply: RedisReply, _ endpoint: RedisAddress.Endpoint) -> Failure? {
    switch (kind, reply) {
    // An ACL may forbid the question. The first write then shows a replica.
    case (.role, .error(let text)) where RedisCode(of: text) == .noPermission: nil
    case (_, .error(let text)): Failure(text, at: endpoint)
    case (.role, .array(let parts)) where parts.first?.text != "master":
      Failure("the server is a replica (\(endpoint))", RedisCode(rawValue: "READONLY"))
    default: nil
    }
  }

  private var authentication: RedisCommand? {
    guard let password = address.password else { return nil }
    return RedisCommand(["AUTH"] + (address.user.map { [$0] } ?? []) + [password])
  }

  // MARK: Sentinels

  private typealias Found = (Result<RedisAddress.Endpoint, Failure>) -> Void

  /// Asks one sentinel after the other.
  private func ask(
    _ list: ArraySlice<RedisAddress.Endpoint>, for name: String, after last: Failure? = nil, _ done: @escaping Found
  ) {
    guard let endpoint = list.first else {
      return done(.failure(last ?? Failure("there are no sentinels")))
    }
    ask(endpoint, for: name) { [self] result in
      switch result {
      case .failure(let failure): ask(list.dropFirst(), for: name, after: failure, done)
      case .success(let found):
        sentinels.removeAll { $0 == endpoint }
        sentinels.insert(endpoint, at: 0)
        done(.success(found))
      }
    }
  }

  private func ask(_ endpoint: RedisAddress.Endpoint, for name: String, _ done: @escaping Found) {
    open(endpoint, within: limits.sentinel, silence: limits.sentinel, { _, _ in }) { [self] result in
      switch result {
      case .failure(let failure): done(.failure(Failure("sentinel: \(failure)")))
      case .success(let connection):
        question(connection, at: endpoint, name, mayAuthenticate: true) { result in
          done(result)
          connection.close("the sentinel has answered")
        }
      }
    }
  }

  private func question(
    _ connection: RedisConnection, at endpoint: RedisAddress.Endpoint, _ name: String, mayAuthenticate: Bool,
    _ done: @escaping Found
  ) {
    connection.send(["SENTINEL", "GET-MASTER-ADDR-BY-NAME", name]) { [self] result in
      switch result {
      case .failure(let reason): done(.failure(Failure("sentinel: \(reason) (\(endpoint))")))
      case .success(.error(let text)):
        guard mayAuthenticate, RedisCode(of: text) == .noAuthentication, let authentication else {
          return done(.failure(Failure("sentinel: \(LogText(text)) (\(endpoint))", RedisCode(of: text))))
        }
        // A sentinel that wants a password has the same one as the server.
        connection.send(authentication) { _ in }
        question(connection, at: endpoint, name, mayAuthenticate: false, done)
      case .success(.array(let parts)):
        guard parts.count == 2, let host = parts[0].text, let port = parts[1].number,
          (1...65_535).contains(port), (1...253).contains(host.utf8.count),
          host.utf8.allSatisfy({ (0x21...0x7E).contains($0) })
        else {
          return done(.failure(Failure("sentinel: an answer that is no address (\(endpoint))")))
        }
        done(.success(RedisAddress.Endpoint(host: host, port: port)))
      case .success: done(.failure(Failure("sentinel: no master is named \(LogText(name)) (\(endpoint))")))
      }
    }
  }

  // MARK: Connections

  private func open(
    _ endpoint: RedisAddress.Endpoint, within limit: TimeAmount, silence: TimeAmount,
    _ onMessage: @escaping ([UInt8], [UInt8]) -> Void, _ done: @escaping Done
  ) {
    let connection = RedisConnection(silence: silence, isSecure: address.isSecure, onMessage: onMessage)
    let context: TLSContext?
    do { context = try trusted() } catch { return done(.failure(Failure("TLS: \(error)"))) }
    ClientBootstrap(group: loop)
      .connectTimeout(limit)
      .channelOption(.tcpOption(.tcp_nodelay), value: 1)
      .channelInitializer { channel in
        channel.eventLoop.makeCompletedFuture {
          let pipeline = channel.pipeline.syncOperations
          if let context { try pipeline.addHandler(TLSHandler(context, serverName: endpoint.host)) }
          try pipeline.addHandler(connection)
        }
      }
      .connect(host: endpoint.host, port: endpoint.port)
      .assumeIsolated()
      .whenComplete { result in
        switch result {
        // The channel becomes active after its future has succeeded.
        case .success: connection.whenOpen { done(.success(connection)) }
        case .failure(let error): done(.failure(Failure("\(RedisFailureText(error)) (\(endpoint))")))
        }
      }
  }

  private func trusted() throws(TLSError) -> TLSContext? {
    guard address.isSecure else { return nil }
    if let tls { return tls }
    let context = try TLSContext.client(trusting: address.authorities)
    tls = context
    return context
  }

  /// Calls a function once.
  private final class Once {
    private var done: Done?

    init(_ done: @escaping Done) { self.done = done }

    func finish(_ result: Result<RedisConnection, Failure>) {
      let done = self.done
      self.done = nil
      done?(result)
    }
  }
}
