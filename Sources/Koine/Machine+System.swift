import Foundation

// The machine beyond its devices: its battery, its network and its memory.

extension Machine {
  /// The battery of a machine.
  public struct Power: Sendable, Hashable {
    /// Whether the battery gains or loses charge.
    public enum State: Sendable, Hashable {
      /// The battery is being charged.
      case charging
      /// The machine runs on the battery.
      case discharging
      /// The battery is full, and the machine has another source of power.
      case full
      /// The machine does not tell.
      case unknown
    }

    /// The charge: 0 (empty) to 1 (full).
    public var level: Double
    /// Whether the battery gains or loses charge.
    public var state: State

    /// Creates a description of a battery.
    /// - Parameter level: 0 to 1; other values are moved to the nearest of these.
    public init(level: Double, state: State) {
      self.level = level.isNaN ? 0 : min(max(level, 0), 1)
      self.state = state
    }
  }

  /// The kind of network over which a machine reaches others.
  public enum Network: Sendable, Hashable, CaseIterable {
    /// A wireless network.
    case wifi
    /// A mobile telephone network.
    case cellular
    /// A network with a cable.
    case ethernet
    /// Another network, such as a tunnel.
    case other
    /// The machine has no network.
    case none
  }

  /// The battery of the machine. Nil (the default): the machine has none, or does not tell.
  public var power: Power? { state.withLock { $0.power } }

  /// Changes the battery: observers receive `powerChanged` if that is news.
  public func setPower(_ power: Power?) {
    changeAside { state in
      defer { state.power = power }
      return state.power == power ? [] : [.powerChanged(power)]
    }
  }

  /// The kind of network of the machine. Nil (the default): the machine does not tell.
  public var network: Network? { state.withLock { $0.network } }

  /// Changes the kind of network: observers receive `networkChanged` if that is news. It changes no connection: calls go on as before.
  public func setNetwork(_ network: Network?) {
    changeAside { state in
      defer { state.network = network }
      return state.network == network ? [] : [.networkChanged(network)]
    }
  }

  /// Notifies observers that memory is short, as an operating system notifies apps: `memoryLow`.
  public func reportLowMemory() { changeAside { _ in [.memoryLow] } }

  /// Reads the battery, the network and the shortage of memory from the files of Linux, now and every 5 s while the machine exists:
  /// `/sys/class/power_supply`, `/sys/class/net`, `/proc/net/route` and `/proc/meminfo`. Memory is short while less than 5 % is available;
  /// the next shortage is reported after 10 % were. The machine of the process's own world is read in this way (`Backends.world()`). Call
  /// it once; on a virtual clock it reads only once.
  /// - Parameter root: the folder that contains `sys` and `proc`.
  public func followSystem(at root: String = "/") {
    let files = SystemFiles(root: root)
    read(files)
    let scheduler = scheduler
    if scheduler.kind == .real { readLater(files, on: scheduler.lane("system")) }
  }

  private func readLater(_ files: SystemFiles, on lane: Lane) {
    lane.post(at: lane.scheduler.now + .seconds(5)) { [weak self] in
      guard let self else { return }
      read(files)
      readLater(files, on: lane)
    }
  }

  func read(_ files: SystemFiles) {
    setPower(files.power)
    setNetwork(files.network)
    guard let available = files.availableMemory else { return }
    changeAside { state in
      let wasLow = state.isMemoryLow
      state.isMemoryLow = available < (wasLow ? 0.1 : 0.05)
      return state.isMemoryLow && !wasLow ? [.memoryLow] : []
    }
  }
}

/// The files in which Linux describes its machine (Documentation/ABI/testing/sysfs-class-power, sysfs-class-net; proc(5)).
struct SystemFiles: Sendable {
  /// Most bytes that are read of a file, and most entries of a folder.
  private static let limit = (bytes: 64 * 1_024, entries: 256)
  /// `ARPHRD_ETHER` and `ARPHRD_LOOPBACK` of linux/if_arp.h.
  private static let (etherType, loopbackType) = ("1", "772")

  let root: String

  /// The machine's batteries as one; nil if it has none. Batteries of other devices, such as mice, do not count.
  var power: Machine.Power? {
    let folder = "sys/class/power_supply"
    let batteries = entries(folder).filter { name in
      text("\(folder)/\(name)/type") == "Battery" && text("\(folder)/\(name)/scope") != "Device"
    }
    let levels = batteries.compactMap { text("\(folder)/\($0)/capacity").flatMap(Double.init) }
    guard !levels.isEmpty else { return nil }
    let states = batteries.map { text("\(folder)/\($0)/status") ?? "" }
    let state: Machine.Power.State =
      if states.contains("Charging") {
        .charging
      } else if states.contains("Discharging") {
        .discharging
      } else if states.allSatisfy({ $0 == "Full" }) {
        .full
      } else {
        .unknown
      }
    return Machine.Power(level: levels.reduce(0, +) / Double(levels.count) / 100, state: state)
  }

  /// The kind of the network with the default route; without such a route the best kind of those that are up. Nil: the system has no such
  /// files.
  var network: Machine.Network? {
    let all = entries("sys/class/net")
    guard !all.isEmpty else { return nil }
    if let route = defaultRoute, all.contains(route) { return kind(of: route) }
    let kinds = all.filter { attribute("type", of: $0) != Self.loopbackType && attribute("operstate", of: $0) == "up" }
      .map(kind)
    return [.ethernet, .wifi, .cellular, .other].first(where: kinds.contains) ?? Machine.Network.none
  }

  /// The part of the memory that programs can still get, 0...1; nil: the system has no such file.
  var availableMemory: Double? {
    guard let lines = text("proc/meminfo")?.split(separator: "\n") else { return nil }
    func kilobytes(_ name: String) -> Double? {
      lines.first { $0.hasPrefix(name + ":") }?.split(separator: " ").dropFirst().first.flatMap { Double($0) }
    }
    guard let total = kilobytes("MemTotal"), total > 0, let available = kilobytes("MemAvailable") else { return nil }
    return available / total
  }

  /// The interface of the default route with the least metric.
  private var defaultRoute: String? {
    let rows = text("proc/net/route")?.split(separator: "\n").map { $0.split(whereSeparator: \.isWhitespace) } ?? []
    return rows.filter { $0.count >= 8 && $0[1] == "00000000" && $0[7] == "00000000" }
      .min { (Int($0[6]) ?? .max) < (Int($1[6]) ?? .max) }.map { String($0[0]) }
  }

  private func kind(of interface: String) -> Machine.Network {
    let events = attribute("uevent", of: interface)?.split(separator: "\n") ?? []
    if events.contains("DEVTYPE=wwan") { return .cellular }
    if events.contains("DEVTYPE=wlan") || exists("sys/class/net/\(interface)/wireless") { return .wifi }
    return attribute("type", of: interface) == Self.etherType ? .ethernet : .other
  }

  private func attribute(_ name: String, of interface: String) -> String? {
    text("sys/class/net/\(interface)/\(name)")
  }

  private func exists(_ path: String) -> Bool { FileManager.default.fileExists(atPath: absolute(path)) }

  private func entries(_ folder: String) -> [String] {
    let names = (try? FileManager.default.contentsOfDirectory(atPath: absolute(folder))) ?? []
    return Array(names.sorted().prefix(Self.limit.entries))
  }

  /// - Returns: nil if the file cannot be read.
  private func text(_ path: String) -> String? {
    guard let file = FileHandle(forReadingAtPath: absolute(path)),
      let data = try? file.read(upToCount: Self.limit.bytes)
    else { return nil }
    return String(decoding: data, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)
  }

  private func absolute(_ path: String) -> String { root.hasSuffix("/") ? root + path : "\(root)/\(path)" }
}
