import Foundation

/// Ports of this machine, for servers that tests start.
public enum Ports {
  public struct Failure: Error {}

  public enum Kind { case tcp, udp }

  /// A port without a listener now.
  public static func free(_ kind: Kind = .tcp) throws -> Int {
    let end = socket(AF_INET, Int32((kind == .tcp ? SOCK_STREAM : SOCK_DGRAM).rawValue), 0)
    guard end >= 0 else { throw Failure() }
    defer { close(end) }
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(INADDR_LOOPBACK).bigEndian
    var size = socklen_t(MemoryLayout<sockaddr_in>.size)
    let status = withUnsafeMutablePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
        bind(end, address, size) == 0 ? getsockname(end, address, &size) : -1
      }
    }
    guard status == 0 else { throw Failure() }
    return Int(UInt16(bigEndian: address.sin_port))
  }

  /// The entry of `/proc/net/tcp` for a port with a listener.
  public static func listening(_ port: Int) -> String {
    let number = String(port, radix: 16, uppercase: true)
    return ":" + String(repeating: "0", count: max(0, 4 - number.count)) + number + " 00000000:0000 0A"
  }
}
