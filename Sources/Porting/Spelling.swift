/// Suggestions for misspelt names.
public enum Spelling {
  /// At most three known names, the nearest first; none if all differ too much from `text`.
  public static func nearest(to text: String, among known: some Sequence<String>) -> [String] {
    let wanted = Array(text.lowercased())
    let limit = max(3, wanted.count / 4)
    var found: [(distance: Int, name: String)] = []
    for name in known {
      let short = SymbolName(name)
      let forms = [name, short.baseName, short.owner + "." + short.baseName]
      guard let least = forms.map({ distance(wanted, Array($0.lowercased())) }).min(), least <= limit else { continue }
      found.append((least, name))
    }
    let best = found.map(\.distance).min() ?? 0
    return found.filter { $0.distance <= best + 2 }.sorted { ($0.distance, $0.name) < ($1.distance, $1.name) }.prefix(3)
      .map(\.name)
  }

  /// How many letters have to be put in, taken out or exchanged.
  public static func distance(_ one: [Character], _ other: [Character]) -> Int {
    guard !one.isEmpty, !other.isEmpty else { return max(one.count, other.count) }
    var row = Array(0...other.count)
    for (i, letter) in one.enumerated() {
      var diagonal = row[0]
      row[0] = i + 1
      for (j, against) in other.enumerated() {
        let exchanged = diagonal + (letter == against ? 0 : 1)
        diagonal = row[j + 1]
        row[j + 1] = min(exchanged, diagonal + 1, row[j] + 1)
      }
    }
    return row[other.count]
  }
}
