/// A time as HTTP writes it: `Sun, 06 Nov 1994 08:49:37 GMT` (RFC 9110 section 5.6.7).
struct HTTPDate: CustomStringConvertible {
  private static let days = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"]
  private static let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]

  /// Seconds since 1970-01-01.
  let seconds: Int

  var description: String {
    let (day, second) = (Self.quotient(seconds, 86_400), Self.remainder(seconds, 86_400))
    let (year, month, dayOfMonth) = Self.date(ofDay: day)
    let time = [second / 3_600, second / 60 % 60, second % 60].map(Self.twoDigits).joined(separator: ":")
    let weekday = Self.days[Self.remainder(day, 7)]
    return "\(weekday), \(Self.twoDigits(dayOfMonth)) \(Self.months[month - 1]) \(year) \(time) GMT"
  }

  /// The Gregorian date of a day since 1970-01-01. Years begin in March here, so that the leap day is the last day of a year.
  private static func date(ofDay day: Int) -> (year: Int, month: Int, day: Int) {
    let shifted = day + 719_468  // since 0000-03-01
    let (era, dayOfEra) = (quotient(shifted, 146_097), remainder(shifted, 146_097))
    let yearOfEra = (dayOfEra - dayOfEra / 1_460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
    let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
    let shiftedMonth = (5 * dayOfYear + 2) / 153
    let month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9
    return (yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month, dayOfYear - (153 * shiftedMonth + 2) / 5 + 1)
  }

  private static func twoDigits(_ number: Int) -> String { number < 10 ? "0\(number)" : String(number) }
  private static func quotient(_ number: Int, _ divisor: Int) -> Int { (number - remainder(number, divisor)) / divisor }
  private static func remainder(_ number: Int, _ divisor: Int) -> Int {
    let remainder = number % divisor
    return remainder < 0 ? remainder + divisor : remainder
  }
}
