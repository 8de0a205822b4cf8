import Glibc
import KoineBase
import Testing

@testable import KoineSockets

/// Addresses to bind to; a machine without IPv6 tests what it has.
let loopbacks: [SocketAddress] = [SocketAddress.loopback(), SocketAddress(ipv6High: 0, low: 1, port: 0)].filter {
  (try? UDPSocket(bindingTo: $0)) != nil
}

/// A datagram that tells its number and its length.
func numbered(_ number: Int, count: Int) -> [UInt8] {
  (0..<count).map { UInt8(truncatingIfNeeded: $0 == 0 ? number : $0 == 1 ? number >> 8 : count &+ $0) }
}

extension UDPSocket {
  func send(_ datagrams: [[UInt8]], to destination: SocketAddress) {
    for datagram in datagrams { datagram.withUnsafeBytes { send($0, to: destination) } }
    flush()
  }

  /// Waits until `count` datagrams have come, 5 s for each at most, and then takes what else is at hand.
  func receive(_ count: Int) -> [(bytes: [UInt8], source: SocketAddress)] {
    var pool = BytesPool(capacity: Self.datagramCapacity)
    var all: [(bytes: [UInt8], source: SocketAddress)] = []
    repeat {
      var state = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
      guard all.count >= count || poll(&state, 1, 5_000) > 0 else { return all }
      while receive(pool: &pool, { all.append(($0.array, $1)) }) {}
    } while all.count < count
    return all
  }
}

@Suite struct UDPSocketTests {
  @Test(arguments: loopbacks) func boundSocketHasAPort(_ address: SocketAddress) throws {
    let socket = try UDPSocket(bindingTo: address)
    #expect(socket.localAddress.port != 0)
    #expect(socket.localAddress == address.with(port: socket.localAddress.port))
  }

  @Test(arguments: loopbacks) func datagramArrivesWithItsSource(_ address: SocketAddress) throws {
    let (one, other) = (try UDPSocket(bindingTo: address), try UDPSocket(bindingTo: address))
    one.send([[1, 2, 3]], to: other.localAddress)
    let received = other.receive(1)
    #expect(received.map(\.bytes) == [[1, 2, 3]] && received.map(\.source) == [one.localAddress])
  }

  /// More datagrams than one send call and one receive call take, and a shorter one at the end.
  @Test(arguments: loopbacks, [1, 59, 60, 61, 150])
  func datagramsOfEqualSizeArriveOneByOneInOrder(_ address: SocketAddress, _ count: Int) throws {
    let (one, other) = (try UDPSocket(bindingTo: address), try UDPSocket(bindingTo: address))
    let datagrams = (0..<count).map { numbered($0, count: 1_200) } + [numbered(count, count: 77)]
    one.send(datagrams, to: other.localAddress)
    #expect(other.receive(datagrams.count).map(\.bytes) == datagrams)
    #expect(one.sendFailures == 0)
  }

  @Test(arguments: loopbacks) func datagramsOfMixedSizesArriveInOrder(_ address: SocketAddress) throws {
    let (one, other) = (try UDPSocket(bindingTo: address), try UDPSocket(bindingTo: address))
    var random = SeededRandom(seed: 5)
    let sizes = [2, 2, 3, 1_200, 1_200, 800, 800, 1_200, 1_600, 1_600, 5, 1_600]
    for _ in 0..<20 {
      let datagrams = (0..<40).map { numbered($0, count: sizes[Int(random.next() % UInt64(sizes.count))]) }
      one.send(datagrams, to: other.localAddress)
      #expect(other.receive(datagrams.count).map(\.bytes) == datagrams)
    }
  }

  @Test func eachDestinationReceivesItsOwnDatagrams() throws {
    let sockets = try (0..<3).map { _ in try UDPSocket(bindingTo: .loopback()) }
    for number in 0..<30 {
      numbered(number, count: 100).withUnsafeBytes { sockets[0].send($0, to: sockets[1 + number % 3 % 2].localAddress) }
    }
    sockets[0].flush()
    let expected = (0..<30).map { numbered($0, count: 100) }
    #expect(sockets[1].receive(20).map(\.bytes) == expected.indices.filter { $0 % 3 != 1 }.map { expected[$0] })
    #expect(sockets[2].receive(10).map(\.bytes) == expected.indices.filter { $0 % 3 == 1 }.map { expected[$0] })
  }

  /// Without checksums the kernel cuts no runs, as on devices and kernels that cannot.
  @Test func datagramsLeaveSinglyWhereSegmentationOffloadIsRefused() throws {
    let (one, other) = (try UDPSocket(bindingTo: .loopback()), try UDPSocket(bindingTo: .loopback()))
    var yes: Int32 = 1
    #expect(setsockopt(one.descriptor, SOL_SOCKET, SO_NO_CHECK, &yes, socklen_t(MemoryLayout<Int32>.size)) == 0)
    let datagrams = (0..<20).map { numbered($0, count: 500) } + [numbered(20, count: 7)]
    for _ in 0..<2 {
      one.send(datagrams, to: other.localAddress)
      #expect(other.receive(datagrams.count).map(\.bytes) == datagrams)
    }
    #expect(one.sendFailures == 0)
  }

  @Test func datagramIsNotSentBeforeTheFlush() throws {
    let (one, other) = (try UDPSocket(bindingTo: .loopback()), try UDPSocket(bindingTo: .loopback()))
    [1].withUnsafeBytes { one.send($0, to: other.localAddress) }
    var pool = BytesPool(capacity: UDPSocket.datagramCapacity)
    let isMore = other.receive(pool: &pool) { _, _ in Issue.record("nothing has been sent") }
    #expect(!isMore)
    one.flush()
    #expect(other.receive(1).count == 1)
  }

  @Test func emptyAndOversizeDatagramsAreRefusedAndCounted() throws {
    let (one, other) = (try UDPSocket(bindingTo: .loopback()), try UDPSocket(bindingTo: .loopback()))
    one.send([[], [1], [UInt8](repeating: 2, count: 60_001), [3]], to: other.localAddress)
    #expect(other.receive(2).map(\.bytes) == [[1], [3]])
    #expect(one.sendFailures == 2)
  }

  /// Nothing we speak is larger than a block; half of something would be worse than nothing.
  @Test func datagramLargerThanABlockIsDropped() throws {
    let (one, other) = (try UDPSocket(bindingTo: .loopback()), try UDPSocket(bindingTo: .loopback()))
    one.send([numbered(1, count: 1_601), numbered(2, count: 1_600)], to: other.localAddress)
    #expect(other.receive(1).map(\.bytes) == [numbered(2, count: 1_600)])
  }

  /// STUN from any address; DTLS, RTP and RTCP from expected addresses, or, if these are too many, from any address.
  @Test(arguments: loopbacks, [0, 1, 2, 5, 799, 800])
  func kernelDropsNoiseAndMediaFromUnexpectedAddresses(_ address: SocketAddress, others: Int) throws {
    let (friend, stranger) = (try UDPSocket(bindingTo: address), try UDPSocket(bindingTo: address))
    let socket = try UDPSocket(bindingTo: address)
    func padded(_ beginning: [UInt8]) -> [UInt8] { beginning + [UInt8](repeating: 7, count: 40) }
    let stun = padded([0, 1, 0, 40, 0x21, 0x12, 0xA4, 0x42])
    let media = [[22, 0xFE, 0xFD], [63, 0xFE, 0xFF], [128, 96], [0x81, 200], [191, 0]].map(padded)
    let noise =
      [[0, 1, 0, 40], [3], [4], [19], [20, 3, 3], [22, 0xFF], [64], [127], [192], [255]].map(padded) + [[0], [22]]
    let crowd = (0..<others).map { address.shifted(by: $0) }
    socket.expect(from: crowd + [friend.localAddress])
    let last = padded(stun + [1])
    friend.send(noise + media + [stun], to: socket.localAddress)
    #expect(socket.receive(media.count + 1).map(\.bytes) == media + [stun])
    stranger.send(noise + media + [stun, last], to: socket.localAddress)
    let received = socket.receive(2).map(\.bytes)
    #expect(received == (others < 800 ? [] : media) + [stun, last])
    socket.expect(from: crowd)
    friend.send(media + [last], to: socket.localAddress)
    #expect(socket.receive(1).map(\.bytes) == (others <= 800 ? [] : media) + [last])
  }

  @Test func receiverKeepsBlocksUnchanged() throws {
    let (one, other) = (try UDPSocket(bindingTo: .loopback()), try UDPSocket(bindingTo: .loopback()))
    var pool = BytesPool(capacity: UDPSocket.datagramCapacity)
    var kept: [Bytes] = []
    for round in 0..<100 {
      one.send([numbered(round, count: 50)], to: other.localAddress)
      var state = pollfd(fd: other.descriptor, events: Int16(POLLIN), revents: 0)
      #expect(poll(&state, 1, 5_000) == 1)
      _ = other.receive(pool: &pool) { block, _ in kept.append(block) }
    }
    #expect(kept.map(\.array) == (0..<100).map { numbered($0, count: 50) })
  }

  @Test func receivingAllocatesNoFurtherBlocks() throws {
    let (one, other) = (try UDPSocket(bindingTo: .loopback()), try UDPSocket(bindingTo: .loopback()))
    var pool = BytesPool(capacity: UDPSocket.datagramCapacity)
    var count = 0
    var allocations: [Int] = []
    for _ in 0..<50 {
      one.send((0..<20).map { numbered($0, count: 50) }, to: other.localAddress)
      var state = pollfd(fd: other.descriptor, events: Int16(POLLIN), revents: 0)
      #expect(poll(&state, 1, 5_000) == 1)
      while other.receive(pool: &pool, { _, _ in count += 1 }) {}
      allocations.append(pool.allocations)
    }
    #expect(count > 500)
    #expect(allocations.last == allocations.first)
  }

  /// In a process of its own, in which no other code opens files.
  @Test func bindingToAPortInUseThrowsAndLeavesNoDescriptorOpen() async {
    await #expect(processExitsWith: .success) {
      for address in loopbacks {
        let first = try UDPSocket(bindingTo: address)
        for _ in 0..<300 {
          let error = #expect(throws: SocketError.self) { try UDPSocket(bindingTo: first.localAddress) }
          #expect(error?.code == EADDRINUSE)
          #expect(error?.call == "bind to \(first.localAddress)")
        }
        let last = try UDPSocket(bindingTo: address)
        #expect(last.descriptor < first.descriptor + 250, "descriptors are numbered from the lowest that is free")
      }
    }
  }

  @Test func errorNamesTheCallAndItsCause() {
    let text = SocketError(call: "bind to 127.0.0.1:80", code: EACCES).description
    #expect(text == "bind to 127.0.0.1:80: Permission denied")
  }
}

extension SocketAddress {
  /// Others, with ports from 1 on.
  fileprivate func shifted(by number: Int) -> SocketAddress {
    let port = UInt16(1 + number)
    return family == .ipv4
      ? SocketAddress(ipv4: 0x0A00_0000 + UInt32(number * 77), port: port)
      : SocketAddress(ipv6High: high, low: 1_000 + UInt64(number * 77), port: port)
  }
}
