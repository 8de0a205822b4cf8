package import KoineBase

/// A datagram that stands in the caller's memory, ready to go.
package struct Transmit: Hashable, Sendable {
  package var count: Int
  package var source: TransportAddress
  package var destination: TransportAddress

  package init(count: Int, source: TransportAddress, destination: TransportAddress) {
    self.count = count
    self.source = source
    self.destination = destination
  }
}
