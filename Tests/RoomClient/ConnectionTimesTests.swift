import KoineSignaling
import Testing

@testable import KoineRoomClient

struct ConnectionTimesTests {
  @Test func timesWithoutAServersWordAre5And15Seconds() {
    #expect(ConnectionTimes().ping == .seconds(5))
    #expect(ConnectionTimes().silence == .seconds(15))
  }

  @Test(arguments: [
    (2, 6, 2, 6), (0, 0, 1, 2), (-7, Int.min, 1, 2), (99, 999, 30, 120), (Int.max, 5, 30, 60), (5, 2, 5, 10),
  ]) func timesOfServerAreBounded(_ ping: Int, _ silence: Int, _ boundedPing: Int, _ boundedSilence: Int) {
    let times = ConnectionTimes(pingSeconds: ping, silenceSeconds: silence)
    #expect(times.ping == .seconds(boundedPing))
    #expect(times.silence == .seconds(boundedSilence))
  }

  @Test func clientTakesTheTimesOfTheServerThatAdmitsIt() throws {
    let ana = try Ana()
    ana.servers.connect(to: ["ws://n1"])
    #expect(ana.servers.client.signaling.times == ConnectionTimes())
    var joined = Ana.welcome("e1")
    (joined.pingSeconds, joined.silenceSeconds) = (2, 6)
    ana.servers.say(.joined(joined))
    #expect(ana.servers.client.signaling.times == ConnectionTimes(pingSeconds: 2, silenceSeconds: 6))
  }
}
