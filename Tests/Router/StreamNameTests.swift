import KoineBase
import KoineRTP
import KoineSignaling
import KoineTransport
import Testing

@testable import KoineRouter

/// Whether packets carry the mid of their stream.
@Suite struct StreamNameTests {
  /// The mids of the packets of a camera and a microphone that a client receives, nil for none.
  private func mids(_ capabilities: MediaCapabilities) throws -> [String?] {
    let world = try World()
    let ana = try #require(try world.joined("ana").first)
    let seen = Lock([Bytes]())
    let ben = try world.makeClient(trace: { bytes in seen.withLock { $0.append(Bytes(bytes)) } })
    world.router.setCapabilities(capabilities, of: ben.id)
    ben.join("room", as: "ben")
    world.run(.milliseconds(300))
    ana.publish(.camera)
    ana.publish(.microphone)
    ben.subscribe(to: "ana", "camera", "microphone")
    world.run(.milliseconds(100))
    ana.sendFrames("camera", seconds: 0.3)
    ana.sendAudio("microphone", seconds: 0.3)
    world.run(.milliseconds(500))
    var mids: [String?] = []
    for datagram in seen.withLock({ $0 }) {
      guard let packet = try? RTPPacket(parsing: datagram.readable), (96...127).contains(packet.payloadType) else {
        continue
      }
      mids.append(HeaderExtensions(packet, in: datagram.readable, map: .koine, names: true).mid)
    }
    return mids
  }

  @Test func firstPacketsToProgramsOfThisProtocolCarryTheMid() throws {
    let mids = try mids(.koine)
    #expect(Set(mids) == ["s0", "s1", nil])
  }

  /// A browser drops packets with a mid that is none of its own.
  @Test func packetsToBrowsersCarryNoMid() throws {
    var browser = MediaCapabilities.koine
    browser.knowsMids = false
    let mids = try mids(browser)
    #expect(mids.count > 20)
    #expect(mids.allSatisfy { $0 == nil })
  }
}
