/// A time of the wall clock: milliseconds since 1970 in UTC. The APIs get it from their owner, so that tests choose it.
package struct APITime: Hashable, Comparable, Sendable, Codable {
  package var milliseconds: Int64

  package init(milliseconds: Int64) { self.milliseconds = milliseconds }

  package init(from decoder: any Decoder) throws {
    milliseconds = try decoder.singleValueContainer().decode(Int64.self)
  }

  package func encode(to encoder: any Encoder) throws {
    var value = encoder.singleValueContainer()
    try value.encode(milliseconds)
  }

  package static func < (one: APITime, other: APITime) -> Bool { one.milliseconds < other.milliseconds }

  /// Whole seconds since 1970, rounded down.
  package var seconds: Int64 { Int64((Double(milliseconds) / 1_000).rounded(.down)) }

  package func adding(seconds: Int64) -> APITime { APITime(milliseconds: milliseconds + seconds * 1_000) }

  /// ISO 8601 with milliseconds in UTC, as `2026-11-25T10:17:38.031Z`.
  package var iso8601: String {
    let parts = calendar
    return "\(parts.date)T\(parts.time).\(digits(Int(milliseconds - seconds * 1_000), 3))Z"
  }

  /// ISO 8601 in whole seconds in UTC, as `2026-11-25T10:17:38Z`.
  package var iso8601Seconds: String {
    let parts = calendar
    return "\(parts.date)T\(parts.time)Z"
  }

  /// As HTTP dates are written (RFC 9110 section 5.6.7), as `Wed, 25 Nov 2026 10:17:38 GMT`.
  package var httpDate: String {
    let days = Self.days(of: seconds)
    let (year, month, day) = Self.civil(days: days)
    let weekday = Self.weekdays[Int(((days + 4) % 7 + 7) % 7)]
    return
      "\(weekday), \(digits(Int(day), 2)) \(Self.months[Int(month) - 1]) \(digits(Int(year), 4)) \(calendar.time) GMT"
  }

  // MARK: Reading

  /// Reads ISO 8601 as the vendors' SDKs write it: a date and a time, at most nine digits of a fraction, and `Z` or an offset.
  /// - Returns: nil for everything else, and for a day or a time that does not exist.
  package init?(iso8601 text: String) {
    var scanner = DigitScanner(text)
    guard let year = scanner.number(4), scanner.skip("-"), let month = scanner.number(2), scanner.skip("-"),
      let day = scanner.number(2), scanner.skip("T") || scanner.skip("t") || scanner.skip(" "),
      let hour = scanner.number(2), scanner.skip(":"), let minute = scanner.number(2)
    else { return nil }
    var second = 0
    if scanner.skip(":") {
      guard let read = scanner.number(2) else { return nil }
      second = read
    }
    var fraction = 0
    if scanner.skip(".") {
      guard let read = scanner.milliseconds() else { return nil }
      fraction = read
    }
    var offset = 0
    if !(scanner.skip("Z") || scanner.skip("z")) {
      let isNegative = scanner.skip("-")
      guard isNegative || scanner.skip("+"), let hours = scanner.number(2) else { return nil }
      _ = scanner.skip(":")
      guard let minutes = scanner.number(2), hours < 24, minutes < 60 else { return nil }
      offset = (hours * 60 + minutes) * (isNegative ? -60 : 60)
    }
    guard scanner.isAtEnd,
      let seconds = Self.seconds(year: year, month: month, day: day, hour: hour, minute: minute, second: second)
    else { return nil }
    milliseconds = (seconds - Int64(offset)) * 1_000 + Int64(fraction)
  }

  /// Reads the form of AWS signatures, as `20261125T101738Z`.
  package init?(amazonDate text: String) {
    var scanner = DigitScanner(text)
    guard let year = scanner.number(4), let month = scanner.number(2), let day = scanner.number(2), scanner.skip("T"),
      let hour = scanner.number(2), let minute = scanner.number(2), let second = scanner.number(2), scanner.skip("Z"),
      scanner.isAtEnd,
      let seconds = Self.seconds(year: year, month: month, day: day, hour: hour, minute: minute, second: second)
    else { return nil }
    milliseconds = seconds * 1_000
  }

  /// Reads an HTTP date in the one form that is written today.
  package init?(httpDate text: String) {
    guard let comma = text.firstIndex(of: ",") else { return nil }
    var scanner = DigitScanner(String(text[text.index(after: comma)...]))
    guard scanner.skip(" "), let day = scanner.number(2), scanner.skip(" "),
      let month = Self.months.firstIndex(where: { scanner.skip($0) }), scanner.skip(" "),
      let year = scanner.number(4), scanner.skip(" "), let hour = scanner.number(2), scanner.skip(":"),
      let minute = scanner.number(2), scanner.skip(":"), let second = scanner.number(2), scanner.skip(" GMT"),
      scanner.isAtEnd,
      let seconds = Self.seconds(year: year, month: month + 1, day: day, hour: hour, minute: minute, second: second)
    else { return nil }
    milliseconds = seconds * 1_000
  }

  // MARK: The calendar

  private static let weekdays = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"]
  private static let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]

  private var calendar: (date: String, time: String) {
    let days = Self.days(of: seconds)
    let (year, month, day) = Self.civil(days: days)
    let rest = Int(seconds - days * 86_400)
    return (
      "\(digits(Int(year), 4))-\(digits(Int(month), 2))-\(digits(Int(day), 2))",
      "\(digits(rest / 3_600, 2)):\(digits(rest / 60 % 60, 2)):\(digits(rest % 60, 2))"
    )
  }

  private static func days(of seconds: Int64) -> Int64 { Int64((Double(seconds) / 86_400).rounded(.down)) }

  /// The Gregorian date of a number of days since 1970. Years begin in March, so that a leap day is the last day of its year.
  private static func civil(days: Int64) -> (year: Int64, month: Int64, day: Int64) {
    let shifted = days + 719_468
    let era = (shifted >= 0 ? shifted : shifted - 146_096) / 146_097
    let dayOfEra = shifted - era * 146_097
    let yearOfEra = (dayOfEra - dayOfEra / 1_460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
    let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
    let shiftedMonth = (5 * dayOfYear + 2) / 153
    let month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9
    return (
      yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month, dayOfYear - (153 * shiftedMonth + 2) / 5 + 1
    )
  }

  private static func seconds(year: Int, month: Int, day: Int, hour: Int, minute: Int, second: Int) -> Int64? {
    guard (1...12).contains(month), (1...31).contains(day), hour < 24, minute < 60, second < 61 else { return nil }
    let shifted = Int64(month <= 2 ? year - 1 : year)
    let era = shifted / 400
    let yearOfEra = shifted - era * 400
    let dayOfYear = Int64((153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1)
    let days = era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
    let (_, readMonth, readDay) = civil(days: days)
    guard readMonth == month, readDay == day else { return nil }
    return days * 86_400 + Int64(hour * 3_600 + minute * 60 + second)
  }
}

private func digits(_ number: Int, _ count: Int) -> String {
  let text = String(number)
  return String(repeating: "0", count: max(0, count - text.count)) + text
}

/// Reads numbers of a fixed count of digits.
private struct DigitScanner {
  private var rest: Substring.UTF8View

  init(_ text: String) { rest = text[...].utf8 }

  var isAtEnd: Bool { rest.isEmpty }

  mutating func number(_ count: Int) -> Int? {
    let text = rest.prefix(count)
    guard text.count == count, text.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }) else {
      return nil
    }
    rest = rest.dropFirst(count)
    return text.reduce(0) { $0 * 10 + Int($1 - UInt8(ascii: "0")) }
  }

  /// A fraction of a second with one to nine digits, cut to milliseconds.
  mutating func milliseconds() -> Int? {
    let text = Array(rest.prefix { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) })
    guard (1...9).contains(text.count) else { return nil }
    rest = rest.dropFirst(text.count)
    return (0..<3).reduce(0) { $0 * 10 + ($1 < text.count ? Int(text[$1] - UInt8(ascii: "0")) : 0) }
  }

  mutating func skip(_ text: String) -> Bool {
    guard rest.starts(with: text.utf8) else { return false }
    rest = rest.dropFirst(text.utf8.count)
    return true
  }
}
