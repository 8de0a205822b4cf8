import KoineSimulatedNetwork
import Testing

struct NetworkSpecTests {
  private func first(_ text: String) throws -> NetworkSpec.Conditions {
    try NetworkSpec(text).conditions(at: .zero)
  }

  @Test func everyFieldIsRead() throws {
    let spec = try NetworkSpec("loss=5%,delay=40ms,jitter=20ms,reorder=1%,rate=800k,seed=7")
    let conditions = spec.conditions(at: .zero)
    #expect(conditions.loss == 0.05)
    #expect(conditions.reorder == 0.01)
    #expect(conditions.delay == .milliseconds(40))
    #expect(conditions.jitter == .milliseconds(20))
    #expect(conditions.rate == 800_000)
    #expect(spec.seed == 7)
    #expect(spec.phases.count == 1 && spec.phases[0].start == .zero)
  }

  @Test func fieldOrderIsIrrelevantAndMissingFieldsHaveDefaults() throws {
    #expect(try first("rate=1M,loss=2%") == first("loss=2%,rate=1M"))
    #expect(try first("") == NetworkSpec.Conditions())
    #expect(try NetworkSpec("").seed == 1)
    var expected = NetworkSpec.Conditions()
    expected.delay = .milliseconds(3)
    #expect(try first("delay=3ms") == expected)
  }

  @Test(arguments: [
    ("0ms", Duration.zero), ("1ms", .milliseconds(1)), ("2.5ms", .microseconds(2_500)), ("0.25s", .milliseconds(250)),
    ("3s", .seconds(3)), ("86400s", .seconds(86_400)), ("86400000ms", .seconds(86_400)),
  ])
  func timesAreReadInMillisecondsAndSeconds(_ text: String, _ expected: Duration) throws {
    #expect(try first("delay=\(text)").delay == expected)
    #expect(try first("jitter=\(text)").jitter == expected)
  }

  /// Whole milliseconds stay whole, though they pass through a binary fraction.
  @Test func everyWholeMillisecondIsExact() throws {
    for count in 0...2_000 {
      let delay = try first("delay=\(count)ms").delay
      #expect(delay == .milliseconds(count))
    }
  }

  @Test(arguments: [
    ("1000", 1_000), ("64k", 64_000), ("1.1M", 1_100_000), ("2M", 2_000_000), ("0.29M", 290_000), ("2.3k", 2_300),
    ("1000000M", 1_000_000_000_000),
  ])
  func ratesAreReadWithTheirUnits(_ text: String, _ expected: Int) throws {
    #expect(try first("rate=\(text)").rate == expected)
  }

  @Test func everyHundredthOfAMegabitIsExact() throws {
    for hundredths in 1...1_000 {
      let text = "\(hundredths / 100).\(hundredths % 100 / 10)\(hundredths % 10)M"
      let rate = try first("rate=\(text)").rate
      #expect(rate == hundredths * 10_000)
    }
  }

  @Test(arguments: [("0%", 0.0), ("100%", 1), ("0.5%", 0.005), ("12%", 0.12)])
  func percentagesAreReadAsFractions(_ text: String, _ expected: Double) throws {
    #expect(try first("loss=\(text)").loss == expected)
    #expect(try first("reorder=\(text)").reorder == expected)
  }

  @Test(arguments: [
    "loss=5", "loss=101%", "loss=-1%", "loss=%", "loss=nan%", "loss=five%", "reorder=1", "delay=40", "delay=ms",
    "delay=s", "delay=-1ms", "delay=inf s", "delay=infs", "delay=90000s", "delay=1m", "jitter=x", "rate=999",
    "rate=800K", "rate=k", "rate=-1M", "rate=infM", "rate=2000000M", "seed=-1", "seed=x", "seed=1.5",
  ])
  func badValueIsReportedWithItsName(_ pair: String) {
    let error = #expect(throws: NetworkSpecError.self) { try NetworkSpec("loss=1%,\(pair),delay=1ms") }
    #expect(error?.description.contains("'\(pair)': expected") == true)
  }

  @Test(arguments: ["loss", "loss=", "=5%", "="])
  func textWithoutNameAndValueIsReported(_ pair: String) {
    let error = #expect(throws: NetworkSpecError.self) { try NetworkSpec(pair) }
    #expect(error?.description == "'\(pair)' is not name=value")
  }

  @Test func unknownNameIsReportedWithTheKnownNames() {
    let error = #expect(throws: NetworkSpecError.self) { try NetworkSpec("los=5%") }
    #expect(error?.description == "'los' is not one of loss, delay, jitter, reorder, rate, seed")
  }

  @Test func badValueOfALaterPhaseIsReported() {
    let error = #expect(throws: NetworkSpecError.self) { try NetworkSpec("loss=5%;10s:delay=4") }
    #expect(error?.description.contains("'delay=4'") == true)
  }

  // MARK: Over time

  @Test func laterPhaseChangesItsFieldsAndKeepsTheOthers() throws {
    let spec = try NetworkSpec("loss=5%,delay=40ms;10s:loss=0%,rate=1M;12.5s:delay=80ms")
    #expect(spec.phases.map(\.start) == [.zero, .seconds(10), .milliseconds(12_500)])
    let conditions = [
      Duration.zero, .milliseconds(9_999), .seconds(10), .seconds(12), .milliseconds(12_500), .seconds(99),
    ]
    .map { spec.conditions(at: $0) }
    #expect(conditions.map(\.loss) == [0.05, 0.05, 0, 0, 0, 0])
    #expect(conditions.map(\.delay) == [40, 40, 40, 40, 80, 80].map { .milliseconds($0) })
    #expect(conditions.map(\.rate) == [nil, nil, 1_000_000, 1_000_000, 1_000_000, 1_000_000])
  }

  @Test func firstConditionsApplyBeforeTheirStart() throws {
    #expect(try NetworkSpec("loss=5%;1s:loss=9%").conditions(at: .seconds(-1)).loss == 0.05)
  }

  @Test(arguments: ["loss=5%;loss=3%", "loss=5%;ten:loss=3%", "loss=5%;", "loss=5%;10:loss=3%"])
  func laterPhaseWithoutAStartTimeIsReported(_ text: String) {
    let part = text.split(separator: ";", omittingEmptySubsequences: false).last ?? ""
    let error = #expect(throws: NetworkSpecError.self) { try NetworkSpec(text) }
    #expect(error?.description == "'\(part)' should begin with its time, as in '10s:loss=0%'")
  }

  @Test func phasesOutOfOrderAreReported() {
    let error = #expect(throws: NetworkSpecError.self) { try NetworkSpec(";10s:loss=1%;9s:loss=2%") }
    #expect(error?.description == "'9s:loss=2%' is earlier than the part before it")
  }

  @Test func specIsDescribedAndComparedByItsText() throws {
    let text = "loss=5%;10s:delay=80ms"
    #expect(try NetworkSpec(text).description == text)
    #expect(try NetworkSpec(text) == NetworkSpec(text))
    #expect(try NetworkSpec(text) != NetworkSpec("loss=5%"))
  }
}
