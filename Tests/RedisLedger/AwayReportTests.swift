import Testing

@testable import KoineRedisLedger

@Suite struct AwayReportTests {
  private let refused = RedisDialer.Failure("Connection refused")
  private let full = RedisCode(rawValue: "OOM")

  private func loading(_ text: String) -> RedisDialer.Failure {
    RedisDialer.Failure("LOADING \(text)", RedisCode(rawValue: "LOADING"))
  }

  @Test func eachReasonIsLoggedOnceUntilARequestIsExecuted() {
    var report = AwayReport()
    // A code is one reason, whatever its text.
    let logged = [refused, refused, loading("3 %"), loading("4 %"), refused].map { report.away($0) }
    #expect(logged == [true, false, true, false, false])
    let isBack = (0..<2).map { _ in report.executed("place").isBack }
    #expect(isBack == [true, false])
    let isLoggedAgain = report.away(refused)
    #expect(isLoggedAgain)
  }

  @Test func reasonsWithoutEndAreNotRememberedForEver() {
    var report = AwayReport()
    let logged = (0..<1_000).count { report.away(RedisDialer.Failure("reason \($0)")) }
    #expect(logged == 16)
  }

  @Test func refusalIsOverWhenNoKindOfRequestHasIt() {
    var report = AwayReport()
    _ = report.executed("nodes")
    let logged = ["append", "append", "SET"].map { report.refused($0, full) }
    #expect(logged == [true, false, false])
    let isOther = report.refused("publish", .noPermission)
    #expect(isOther)
    let over = ["nodes", "append", "SET", "publish"].map { report.executed($0).over }
    #expect(over == [[], [], [full], [.noPermission]])
    let isLoggedAgain = report.refused("append", full)
    #expect(isLoggedAgain)
  }

  @Test func requestsOfOneKindThatAreRefusedDifferentlyAreLoggedOnceEach() {
    var report = AwayReport()
    _ = report.executed("nodes")
    let other = RedisCode(rawValue: "WRONGTYPE")
    let logged = [full, other, full, other].map { report.refused("place", $0) }
    #expect(logged == [true, true, false, false])
    let over = report.executed("place").over
    #expect(over == [full, other])
  }

  @Test func differentRefusalsWithoutEndAreNotRememberedForEver() {
    var report = AwayReport()
    let logged = (0..<1_000).count { report.refused("place", RedisCode(rawValue: "E\($0)")) }
    #expect(logged == 16)
  }

  @Test(arguments: [
    ("OOM command not allowed", "OOM"), ("NOSCRIPT", "NOSCRIPT"), ("", ""), ("A\r\nB", "A"),
    ("ERR The user executing the script can't access at least one of the keys mentioned", "NOPERM in a script"),
    ("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa b", "ERR"),
  ])
  func codeIsTheFirstWord(_ text: String, _ code: String) {
    #expect(RedisCode(of: text).rawValue == code)
  }
}
