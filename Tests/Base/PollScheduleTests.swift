import KoineBase
import Testing

private func ms(_ count: Int) -> Tick { Tick(nanoseconds: Int64(count) * 1_000_000) }

struct TimerHeapTests {
  @Test func timersFireInOrderOfTimeThenInsertion() {
    var heap = TimerHeap()
    for (index, at) in [30, 10, 20, 10, 40].enumerated() { heap.push(index, at: ms(at)) }
    var fired: [Int] = []
    while let entry = heap.popDue(at: ms(30)) { fired.append(entry.owner) }
    #expect(fired == [1, 3, 2, 0])
    #expect(heap.soonest == ms(40))
  }

  @Test func randomTimersFireInOrderOfTime() {
    var heap = TimerHeap()
    var random = SeededRandom(seed: 1)
    for _ in 0..<500 { heap.push(0, at: ms(.random(in: 0...100, using: &random))) }
    var last = ms(0)
    var count = 0
    while let entry = heap.popDue(at: ms(100)) {
      #expect(entry.at >= last)
      last = entry.at
      count += 1
    }
    #expect(count == 500)
  }

  @Test func laterDeadlineIsNotPushedToTheHeap() {
    var heap = TimerHeap()
    var alarm = HeapAlarm()
    alarm.arm(ms(10), 0, in: &heap)
    for later in 11...50 { alarm.arm(ms(later), 0, in: &heap) }
    alarm.arm(ms(5), 0, in: &heap)
    var entries: [Bool] = []
    while let entry = heap.popDue(at: ms(100)) { entries.append(alarm.fired(entry)) }
    #expect(entries == [true, true], "the later one is remembered, and need not be asked for again")
  }

  /// A far deadline, and near ones that come and go before it.
  @Test func distantDeadlineIsPushedOnce() {
    var heap = TimerHeap()
    var alarm = HeapAlarm()
    for round in 0..<1_000 {
      alarm.arm(ms(100_000), 0, in: &heap)
      alarm.arm(ms(round), 0, in: &heap)
      while let entry = heap.popDue(at: ms(round)) {
        let isItsOwn = alarm.fired(entry)
        #expect(isItsOwn)
      }
    }
    #expect(heap.count == 1)
  }
}

struct PollScheduleTests {
  @Test func touchedPartsAreTakenOnceInOrder() {
    var schedule = PollSchedule()
    for number in [3, 1, 3, 2] { schedule.touch(number) }
    #expect(schedule.touchedNumbers == [1, 2, 3])
    let first = schedule.takeTouched()
    #expect(first == [1, 2, 3])
    let second = schedule.takeTouched()
    #expect(second == [])
  }

  @Test func duePartsAreTouched() {
    var schedule = PollSchedule()
    for number in 1...4 { schedule.setDeadline(ms(number * 10), of: number) }
    let due = schedule.takeDue(at: ms(20))
    #expect(due == [1, 2])
    #expect(schedule.touchedNumbers == [1, 2])
  }

  @Test func removedPartIsNeverDue() {
    var schedule = PollSchedule()
    schedule.setDeadline(ms(10), of: 1)
    schedule.touch(1)
    schedule.remove(1)
    #expect(schedule.soonest() == nil)
    let due = schedule.takeDue(at: ms(100))
    #expect(due == [])
    #expect(schedule.touchedNumbers == [])
  }

  /// The reference is a dictionary of deadlines.
  @Test(arguments: 0..<10) func randomOperationsMatchADictionaryOfDeadlines(_ seed: UInt64) {
    var random = SeededRandom(seed: seed)
    var schedule = PollSchedule()
    var plain: [Int: Tick] = [:]
    var now = 0
    for _ in 0..<5_000 {
      let number = Int.random(in: 0..<8, using: &random)
      switch Int.random(in: 0..<8, using: &random) {
      case 0..<4:
        let deadline = ms(now + .random(in: 1...50, using: &random))
        schedule.setDeadline(deadline, of: number)
        plain[number] = deadline
      case 4:
        schedule.setDeadline(nil, of: number)
        plain[number] = nil
      case 5:
        schedule.remove(number)
        plain[number] = nil
      default:
        now += .random(in: 0...20, using: &random)
        let due = schedule.takeDue(at: ms(now))
        #expect(due == plain.filter { $0.value <= ms(now) }.keys.sorted())
        for number in due {
          let next = Bool.random(using: &random) ? ms(now + 5) : nil
          schedule.setDeadline(next, of: number)
          plain[number] = next
        }
      }
      #expect(schedule.soonest()?.deadline == plain.values.min())
    }
  }
}
