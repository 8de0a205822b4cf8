import KoineBase
import KoineJSONCodec
import KoineVendorAPIs
public import Logging

/// A server's settings from options, the environment and a JSON file, in this order of precedence. Where two of them set the same
/// value, the first counts. Each limit is a value of its own.
///
///     {"listen": "0.0.0.0:8080", "udp": 50000, "keys": "keys.json", "limits": {"participants": 50}}
///
/// An unknown setting is an error that names the setting and its origin, because a misspelt limit would protect nothing.
public struct ServerSettings: Hashable, Sendable {
  /// By the option's name, which is the file's key and, in capitals behind `KOINE_SERVE_`, the variable's name.
  public enum Name: String, CaseIterable, Sendable {
    /// Address of HTTP and WebSocket.
    case listen
    /// DNS names of the server.
    case host
    /// Address of `/metrics`.
    case metrics
    /// Path of the control socket.
    case control
    /// Port for all media.
    case udp
    /// Addresses at which clients reach the media port.
    case address
    /// Admission of every client.
    case open
    /// File of the keys that sign tokens.
    case keys
    /// File of the credentials of back ends.
    case apiCredentials = "api-credentials"
    /// File of the registry.
    case registry
    /// Hosts to which events are sent.
    case webhookHosts = "webhook-hosts"
    /// Receivers of events.
    case events
    /// The server's limits.
    case limits
    /// Number of threads that send media.
    case loops
    /// Folder of recordings.
    case recordings
    /// Live streams to servers that participants name.
    case livestreams
    /// Hosts that live streams may be sent to.
    case livestreamHosts = "livestream-hosts"
    /// Free bytes below which nothing is recorded.
    case recordingsFree = "recordings-free"
    /// File of the TLS certificate chain.
    case tlsCertificate = "tls-certificate"
    /// File of the TLS key.
    case tlsKey = "tls-key"
    /// Directory of a certificate authority of this machine's own.
    case localCA = "local-ca"
    /// Address of the ledger of a cluster.
    case cluster
    /// Name of the node in the cluster.
    case node
    /// Address at which participants reach this node.
    case `public`
    /// Region of the node.
    case region
    /// Seconds until a node that ends stops waiting for its rooms to be handed over.
    case drainLimit = "drain-limit"
    /// Level of the log.
    case logLevel = "log-level"

    /// Name of the environment variable.
    public var variable: String { ServerSettings.variable(rawValue) }
  }

  /// The rule for admission.
  public enum Admission: Hashable, Sendable {
    /// The server admits every client.
    case open
    /// The server admits clients with a token that is signed by a key of this file.
    case keys(file: String)
  }

  /// Host of HTTP and WebSocket; default `127.0.0.1`.
  public var host = "127.0.0.1"
  /// TCP port of HTTP and WebSocket; default 8080.
  public var port = 8080
  /// The server's DNS names, in small letters.
  public var hostNames: [String] = []
  /// Where `/metrics` is served; nil: where everything else is.
  public var metrics: ServerConfiguration.Endpoint?
  /// Where commands are taken: the path of a Unix domain socket; nil: nowhere.
  public var control: String?
  /// UDP port for all media; 0: the system chooses.
  public var mediaPort: UInt16 = 0
  /// Addresses at which clients reach the media port.
  public var mediaAddresses: [ServerConfiguration.MediaAddress] = []
  /// The rule for admission.
  public var admission: Admission
  /// Files of the TLS certificate and key; nil: no TLS.
  public var tls: ServerConfiguration.TLSFiles?
  /// Directory of a certificate authority of this machine's own, which issues the certificate in place of `tls`; nil: none.
  public var localCA: String?
  /// The server's limits.
  public var limits = ServerLimits()
  /// nil: as many as the machine has use for.
  public var loops: Int?
  /// The folder for recordings that participants request; nil: rooms are not recorded.
  public var recordings: String?
  /// Whether rooms that may be recorded are sent on to servers that people in them name, too.
  public var livestreams = false
  /// The servers that rooms may be sent on to; `*`: all with public addresses.
  public var livestreamHosts = ["*"]
  /// In bytes: nothing is recorded while the file system of the recordings has less free.
  public var recordingsFree = 1 << 30
  /// File of the credentials by which back ends sign requests to the vendors' HTTP APIs; nil: none.
  public var apiCredentials: String?
  /// File of the registry of the vendors' HTTP APIs; nil: the registry is lost with the process.
  public var registry: String?
  /// Names or numeric addresses of the hosts to which events may be sent.
  public var webhookHosts: [String] = []
  /// Receivers of the events of the vendors' HTTP APIs, each as `URL`, `aws=URL` or `videosdk=URL`.
  public var events: [String] = []
  /// Address of the cluster's ledger, which may have a password in it; nil: the server is alone.
  public var cluster: String?
  /// Name of the node in the cluster; nil: the host's.
  public var node: String?
  /// Address at which participants reach this node, as `wss://n1.example.com`; nil: the node homes no rooms.
  public var publicAddress: String?
  /// Region of the node; empty for the only one.
  public var region = ""
  /// How long a node that ends waits until its rooms are handed over; default 10 minutes.
  public var drainLimit = Duration.seconds(600)
  /// The level of the log; default `info`.
  public var logLevel = Logger.Level.info

  /// Names the file, where no option does.
  public static let fileVariable = variable("configuration")

  private static func variable(_ name: String) -> String {
    "KOINE_SERVE_" + name.uppercased().map { $0 == "-" ? "_" : String($0) }.joined()
  }

  /// Reads settings from options, the environment and a file.
  /// - Parameters:
  ///   - options: all values of each option that was given.
  ///   - environment: all of the process's; only `KOINE_SERVE_…` is looked at.
  ///   - file: its name, and what it holds.
  /// - Throws: `ServerError` for an unknown setting, an invalid value, settings without admission, or some that exclude each other.
  public init(
    options: [Name: [String]], environment: [String: String] = [:], file: (name: String, bytes: [UInt8])? = nil
  ) throws(ServerError) {
    var layers = [Layer(options: options), try Layer(environment: environment)]
    if let file { layers.append(try Layer(file: file.name, file.bytes)) }
    admission = try Self.admission(layers)
    for layer in layers.reversed() { try apply(layer) }
    (tls, localCA) = try Self.certificate(layers)
    livestreams = try Self.livestreams(layers)
    if cluster == nil,
      let name = [Name.node, .public, .region].first(where: { name in
        layers.contains { $0.words[name] != nil }
      })
    {
      throw ServerError(description: "\(name.rawValue) is of a node in a cluster: say cluster, too")
    }
    guard cluster == nil || registry == nil else {
      throw ServerError(description: "the registry of a cluster is in its ledger: leave out registry")
    }
    guard !livestreams || recordings != nil else {
      throw ServerError(description: "livestreams are sent where rooms are recorded: say recordings, too")
    }
  }

  // MARK: One by one

  private mutating func apply(_ layer: Layer) throws(ServerError) {
    for name in Name.allCases {
      guard let words = layer.words[name], let text = words.last else { continue }
      switch name {
      case .listen:
        guard let endpoint = Self.endpoint(text) else {
          throw layer.wrong(name, text, "HOST:PORT; 0.0.0.0:8080 or [::]:8080 for all addresses")
        }
        (host, port) = endpoint
      case .metrics:
        guard let endpoint = Self.endpoint(text) else { throw layer.wrong(name, text, "HOST:PORT") }
        metrics = .init(host: endpoint.host, port: endpoint.port)
      case .host:
        hostNames = []
        for word in words {
          guard Self.isHostName(word) else { throw layer.wrong(name, word, "a DNS name without a port") }
          hostNames.append(word.lowercased())
        }
      case .udp:
        guard let number = UInt16(text) else { throw layer.wrong(name, text, "a port, 0 to 65535") }
        mediaPort = number
      case .address:
        mediaAddresses = []
        for word in words {
          guard let address = Self.mediaAddress(word) else {
            throw layer.wrong(name, word, "a numeric IP address, or two with = between")
          }
          mediaAddresses.append(address)
        }
      case .limits:
        for word in words {
          do { try limits.set(word) } catch { throw layer.wrong(name, word, error.description) }
        }
      case .loops:
        guard let number = Int(text), (1...64).contains(number) else { throw layer.wrong(name, text, "1 to 64") }
        loops = number
      case .recordings: recordings = text.isEmpty ? nil : text
      case .apiCredentials: apiCredentials = text.isEmpty ? nil : text
      case .registry: registry = text.isEmpty ? nil : text
      case .webhookHosts:
        webhookHosts = words.flatMap { $0.split(separator: ",", omittingEmptySubsequences: false).map(String.init) }
        do throws(EventHosts.InvalidHost) { _ = try EventHosts(webhookHosts) } catch {
          throw layer.wrong(name, error.name, "names or numeric addresses of hosts, without ports")
        }
      case .events:
        for word in words {
          guard EventSubscription(word) != nil else {
            throw layer.wrong(name, word, "an http or https URL, perhaps after aws= or videosdk=")
          }
        }
        events = words
      case .control: control = text.isEmpty ? nil : text
      case .livestreamHosts:
        livestreamHosts = words.flatMap { $0.split(separator: ",", omittingEmptySubsequences: false).map(String.init) }
        for host in livestreamHosts where host.isEmpty || host.contains(where: { "/@ ".contains($0) }) {
          throw layer.wrong(name, host, "names or numeric addresses of hosts, or *")
        }
      case .recordingsFree:
        guard let bytes = Self.bytes(text) else {
          throw layer.wrong(name, text, "bytes, or a number with K, M, G or T")
        }
        recordingsFree = bytes
      case .cluster: cluster = text.isEmpty ? nil : text
      case .node: node = text
      case .public:
        guard Self.isPublicAddress(text) else { throw layer.wrong(name, text, "ws://HOST:PORT or wss://HOST") }
        publicAddress = text
      case .region:
        guard text.utf8.count <= 64, text.utf8.allSatisfy({ (0x20...0x7E).contains($0) }) else {
          throw layer.wrong(name, text, "at most 64 printable ASCII characters")
        }
        region = text
      case .drainLimit:
        guard let seconds = Int(text), (0...86_400).contains(seconds) else {
          throw layer.wrong(name, text, "seconds, 0 to 86400")
        }
        drainLimit = .seconds(seconds)
      case .logLevel:
        guard let level = Logger.Level(rawValue: text) else {
          throw layer.wrong(name, text, Logger.Level.allCases.map(\.rawValue).joined(separator: ", "))
        }
        logLevel = level
      case .open, .keys, .tlsCertificate, .tlsKey, .localCA, .livestreams: break  // belong together
      }
    }
  }

  /// Participants' clients connect there: no user, no query, and a port that there is.
  private static func isPublicAddress(_ text: String) -> Bool {
    guard let scheme = ["ws://", "wss://"].first(where: text.hasPrefix), text.utf8.count <= 256,
      !text.contains(where: { $0.isWhitespace || ",@?#".contains($0) })
    else { return false }
    let authority = String(text.dropFirst(scheme.count).prefix { $0 != "/" })
    if authority.hasPrefix("["), authority.hasSuffix("]") { return authority.count > 2 }
    guard authority.contains(":") else { return isHostName(authority) }
    guard let (host, port) = endpoint(authority), port > 0 else { return false }
    return authority.hasPrefix("[") ? host.first != "[" : isHostName(host)
  }

  /// The first source (options, environment, file) with keys or an open server decides admission completely. A source that only says
  /// "not open" keeps later sources from opening the server.
  private static func admission(_ layers: [Layer]) throws(ServerError) -> Admission {
    var mayBeOpen = true
    for layer in layers {
      let isOpen = try layer.flag(.open)
      switch (isOpen, layer.words[.keys]?.last) {
      case (true, .some): throw ServerError(description: "\(layer.origin): either keys or open")
      case (true, nil): if mayBeOpen { return .open }
      case (_, let file?): return .keys(file: file)
      case (false, nil): mayBeOpen = false
      case (nil, nil): continue
      }
    }
    throw ServerError(description: "set the admission: either --keys FILE or --open")
  }

  /// Hosts that are named mean live streams, unless the same place or one before it says no.
  private static func livestreams(_ layers: [Layer]) throws(ServerError) -> Bool {
    for layer in layers {
      if let flag = try layer.flag(.livestreams) { return flag }
      if layer.words[.livestreamHosts]?.isEmpty == false { return true }
    }
    return false
  }

  /// The first source (options, environment, file) with a certificate or a local CA decides between the two. The certificate and its
  /// key may have different sources. An empty path
  /// keeps later sources from setting a local CA.
  private static func certificate(
    _ layers: [Layer]
  ) throws(ServerError) -> (tls: ServerConfiguration.TLSFiles?, localCA: String?) {
    func first(_ name: Name) -> String? { layers.lazy.compactMap { $0.words[name]?.last }.first }
    var mayBeLocal = true
    for layer in layers {
      let hasFiles = layer.words[.tlsCertificate] != nil || layer.words[.tlsKey] != nil
      switch (layer.words[.localCA]?.last, hasFiles) {
      case (let path?, false):
        if mayBeLocal, !path.isEmpty { return (nil, path) }
        mayBeLocal = false
      case (let path?, true) where !path.isEmpty:
        throw ServerError(description: "\(layer.origin): either local-ca, or tls-certificate and tls-key")
      case (_, true):
        guard let certificate = first(.tlsCertificate), let key = first(.tlsKey) else {
          throw ServerError(description: "tls-certificate and tls-key belong together")
        }
        return (.init(certificate: certificate, key: key), nil)
      case (nil, false): continue
      }
    }
    return (nil, nil)
  }

  /// The parts of `HOST:PORT`; nil for another text. The host of an IPv6 address is in brackets.
  public static func endpoint(of text: String) -> ServerConfiguration.Endpoint? {
    endpoint(text).map { ServerConfiguration.Endpoint(host: $0.host, port: $0.port) }
  }

  private static func endpoint(_ text: String) -> (host: String, port: Int)? {
    guard let colon = text.lastIndex(of: ":"), let port = Int(text[text.index(after: colon)...]),
      (0...65_535).contains(port)
    else { return nil }
    let host = text[..<colon]
    guard !host.isEmpty, host != "[]" else { return nil }
    return (String(host.hasPrefix("[") && host.hasSuffix("]") ? host.dropFirst().dropLast() : host), port)
  }

  /// - Returns: the number, times 1,024 for `K` and so on.
  private static func bytes(_ text: String) -> Int? {
    let shift = text.last.flatMap { ["K": 10, "M": 20, "G": 30, "T": 40][$0.uppercased()] }
    guard let number = Int(shift == nil ? text : String(text.dropLast())), number >= 0 else { return nil }
    let (bytes, isTooMany) = number.multipliedReportingOverflow(by: 1 << (shift ?? 0))
    return isTooMany ? nil : bytes
  }

  private static func isHostName(_ text: String) -> Bool {
    (1...253).contains(text.utf8.count) && text.first != "." && text.last != "."
      && text.utf8.allSatisfy { byte in
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
          UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"):
          true
        default: false
        }
      }
  }

  private static func mediaAddress(_ text: String) -> ServerConfiguration.MediaAddress? {
    let parts = text.split(separator: "=", omittingEmptySubsequences: false).map { SocketAddress(String($0), port: 0) }
    guard (1...2).contains(parts.count), let announced = parts[0], let bound = parts.last ?? nil else { return nil }
    return .init(announced: announced, bound: bound)
  }
}

// MARK: Where it stands

extension ServerSettings {
  /// What one of them says, as text.
  fileprivate struct Layer {
    let origin: String
    var words: [Name: [String]] = [:]

    init(options: [Name: [String]]) {
      origin = "the options"
      words = options
    }

    init(environment: [String: String]) throws(ServerError) {
      origin = "the environment"
      let known = Dictionary(uniqueKeysWithValues: Name.allCases.map { ($0.variable, $0) })
      for (variable, text) in environment.sorted(by: { $0.key < $1.key })
      where variable.hasPrefix("KOINE_SERVE_") && variable != ServerSettings.fileVariable {
        guard let name = known[variable] else {
          throw ServerError(description: "the environment: there is no setting '\(variable)'")
        }
        let isList = [.address, .host, .limits, .livestreamHosts, .events].contains(name)
        words[name] = isList ? text.split(separator: ",").map(String.init) : [text]
      }
    }

    init(file: String, _ bytes: [UInt8]) throws(ServerError) {
      origin = "'\(file)'"
      let said: [String: JSONWords]
      do {
        said = try JSONCodec.decode([String: JSONWords].self, from: bytes)
      } catch let error as DecodingError {
        throw ServerError(description: "\(origin): \(error.place)")
      } catch {
        throw ServerError(description: "\(origin): \(error)")
      }
      for (key, value) in said.sorted(by: { $0.key < $1.key }) {
        guard let name = Name(rawValue: key) else {
          throw ServerError(description: "\(origin): there is no setting '\(key)'")
        }
        words[name] = value.words
      }
    }

    func flag(_ name: Name) throws(ServerError) -> Bool? {
      switch words[name]?.last {
      case nil: nil
      case "true"?, "1"?: true
      case "false"?, "0"?, ""?: false
      case let text?: throw wrong(name, text, "true or false")
      }
    }

    func wrong(_ name: Name, _ text: String, _ wanted: String) -> ServerError {
      ServerError(description: "\(origin), \(name.rawValue): '\(text)' is not right: \(wanted)")
    }
  }
}

/// A value of the file as an option would say it: a list is several words, an object's entries are `name=value`.
private struct JSONWords: Decodable {
  let words: [String]

  init(from decoder: any Decoder) throws {
    if let object = try? decoder.container(keyedBy: AnyKey.self) {
      words = try object.allKeys.sorted { $0.stringValue < $1.stringValue }.map {
        "\($0.stringValue)=\(try object.decode(JSONWord.self, forKey: $0).text)"
      }
    } else if var list = try? decoder.unkeyedContainer() {
      var words: [String] = []
      while !list.isAtEnd { words.append(try list.decode(JSONWord.self).text) }
      self.words = words
    } else {
      words = [try JSONWord(from: decoder).text]
    }
  }

  private struct AnyKey: CodingKey {
    let stringValue: String
    let intValue: Int? = nil
    init(stringValue: String) { self.stringValue = stringValue }
    init?(intValue: Int) { nil }
  }
}

private struct JSONWord: Decodable {
  let text: String

  init(from decoder: any Decoder) throws {
    let value = try decoder.singleValueContainer()
    if let text = try? value.decode(String.self) {
      self.text = text
    } else if let isSo = try? value.decode(Bool.self) {
      text = String(isSo)
    } else if let number = try? value.decode(Int.self) {
      text = String(number)
    } else if let number = try? value.decode(Double.self) {
      text = String(number)
    } else {
      throw DecodingError.dataCorruptedError(in: value, debugDescription: "text, a number, true or false is wanted")
    }
  }
}

extension DecodingError {
  /// The path of the value, and the decoder's description of the error.
  var place: String {
    switch self {
    case .typeMismatch(_, let context), .valueNotFound(_, let context), .keyNotFound(_, let context),
      .dataCorrupted(let context):
      (context.codingPath.map(\.stringValue).joined(separator: ".") + ": " + context.debugDescription)
    @unknown default: "cannot be read"
    }
  }
}
