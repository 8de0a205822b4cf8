import CompilerFacts

extension PortPlan {
  /// One self-contained page, without scripts.
  public var html: String {
    let parts = [
      section("What is asked", note: askedNote, questions.map(card).joined()),
      section(
        "What the \(target) has no word for", note: noWordNote,
        table(
          ["symbol", "what to do instead", "where"],
          noWord.map { [code($0.symbol), escape($0.instead), places($0.places)] })),
      section(
        "What works otherwise in the \(target)",
        note: "These are ported, and the new layer compiles; check what the app needs of them.",
        table(
          ["symbol", "there", "where"],
          differences.map { [code($0.symbol), escape($0.instead), places($0.places)] })),
      section(
        "What is to be written by hand", note: byHandNote,
        table(["symbol", "where"], byHand.map { [code($0.symbol), places($0.places)] })),
      section(
        "What is ported without a question", note: mechanicalNote,
        table(
          ["what the app does", "written", "in the helper", "where"],
          mechanical.map { [escape($0.topic), "\($0.written)", "\($0.inHelper)", places($0.places)] })),
      section(
        "Vendor types that other code sees", note: seamText,
        table(
          ["type", "seen", "where"], leaks.map { [code($0.symbol), escape($0.instead), places($0.places)] })),
      section(
        "New files", note: filesNote,
        table(["file", "lines"], files.map { [code($0.name), "\($0.lines)"] })
          + table(["declaration of the app", "where"], declarations.map { [code($0.name), places([$0.place])] })),
      section(
        "Answers without a question", note: "The app does not have these questions any more.",
        table(["answer"], unusedAnswers.map { [code($0)] })),
    ]
    return Self.page(
      title: "\(escape(typeName)) → \(escape(newName))", summary: summary, body: parts.joined(separator: "\n"))
  }

  // MARK: Parts

  private var askedNote: String {
    "Each answer leads to another new file. “Sites” is what an answer costs: call sites that are not ported. "
      + "<code>--plan --answers FILE</code> writes the answers, <code>--answers FILE</code> ports with them."
  }

  private var noWordNote: String { "These stay as comments, each with the reason." }
  private var byHandNote: String {
    "These stay as comments under <code>#warning</code>, as do declarations that the compiler refuses when the port compiles the new file."
      + (foreignText.map { " " + escape($0) } ?? "")
  }
  private var mechanicalNote: String {
    "<i>Written</i>: in the new file. <i>In the helper</i>: the new file calls \(files.last.map { code($0.name) } ?? "")."
  }
  private var filesNote: String { "No other file changes. \(count(declarations.count, "declaration")) of the app's:" }

  private func count(_ number: Int, _ noun: String) -> String { Self.count(number, noun) }

  private var summary: String {
    let bar = shares.filter { $0.count > 0 }.map { share, percent, _ in
      "<span class=\"\(Self.name(share))\" style=\"flex-grow:\(max(percent, 1))\"></span>"
    }
    let legend = shares.map { share, percent, count in
      "<li><span class=\"\(Self.name(share))\"></span>\(share) <b>\(percent) %</b> (\(count))</li>"
    }
    return """
      <p>\(escape(style)) → \(escape(target)), \(count(siteCount, "call site")) of the vendor’s symbols, \
      \(count(questions.count, "question"))</p>
      <div class=bar>\(bar.joined())</div><ul class=legend>\(legend.joined())</ul>
      """
  }

  private static func name(_ share: String) -> String { share.replacing(" ", with: "-") }

  private func section(_ title: String, note: String, _ content: String) -> String {
    content.isEmpty ? "" : "<section><h2>\(escape(title))</h2><p class=note>\(note)</p>\(content)</section>"
  }

  private func table(_ head: [String], _ rows: [[String]]) -> String {
    guard !rows.isEmpty else { return "" }
    let header = head.map { "<th>\($0)</th>" }.joined()
    let body = rows.map { "<tr>" + $0.map { "<td>\($0)</td>" }.joined() + "</tr>" }.joined(separator: "\n")
    return "<table><thead><tr>\(header)</tr></thead><tbody>\(body)</tbody></table>"
  }

  private func card(_ question: PortQuestion) -> String {
    let options = question.options.map { option in
      let isChosen =
        option.answer == question.answer || question.answer.hasPrefix("write:") && option.answer.hasPrefix("write:")
      let mark = isChosen ? (question.isAnswered ? "answered" : "default") : ""
      let answer = isChosen && option.answer.hasPrefix("write:") ? question.answer : option.answer
      return "<tr\(isChosen ? " class=chosen" : "")><td>\(code(answer))</td><td>\(escape(option.meaning))</td>"
        + "<td>\(count(option.sites, "site"))</td><td>\(mark)</td></tr>"
    }
    let symbols = question.symbols.isEmpty ? "" : "<p>\(question.symbols.map(code).joined(separator: " "))</p>"
    return """
      <div class=card><h3>\(escape(question.text))</h3><p class=id>\(code(question.id))</p>\(symbols)
      <table><tbody>\(options.joined())</tbody></table>\(question.places.isEmpty ? "" : places(question.places))</div>
      """
  }

  /// Files with lines; more than a few are folded.
  private func places(_ places: [CodeLocation]) -> String {
    var lines: [String: [Int]] = [:]
    for place in places.sorted() where lines[place.file]?.last != place.line {
      lines[place.file, default: []].append(place.line)
    }
    let texts = lines.sorted { $0.key < $1.key }.map { file, lines in
      let name = file.split(separator: "/").last.map(String.init) ?? file
      return "<span title=\"\(escape(file))\">\(escape(name)):\(lines.map(String.init).joined(separator: ", "))</span>"
    }
    let whole = texts.joined(separator: "<br>")
    guard lines.values.map(\.count).reduce(0, +) > 8 else { return "<div class=places>\(whole)</div>" }
    let count = lines.values.map(\.count).reduce(0, +)
    return "<details class=places><summary>\(count) lines</summary>\(whole)</details>"
  }

  private func code(_ text: String) -> String { "<code>\(escape(text))</code>" }

  private func escape(_ text: String) -> String {
    text.replacing("&", with: "&amp;").replacing("<", with: "&lt;").replacing(">", with: "&gt;")
      .replacing("\"", with: "&quot;")
  }

  private static func page(title: String, summary: String, body: String) -> String {
    """
    <!doctype html>
    <html lang=en><head><meta charset=utf-8><meta name=viewport content="width=device-width"><title>\(title)</title>
    <style>
    :root { color-scheme: light dark; --line: #8884; --soft: #8881; --written: #2a7de1; --helper: #7fb2ee;
      --dropped: #9a9a9a; --asked: #b07cd8; --warned: #e0832f }
    body { font: 15px/1.45 system-ui, sans-serif; max-width: 62rem; margin: 2rem auto; padding: 0 1rem }
    h1 { font-size: 1.6rem; margin-bottom: .2rem } h2 { font-size: 1.15rem; margin: 2rem 0 .2rem }
    h3 { font-size: 1rem; margin: 0 } code { font: .87em ui-monospace, monospace; overflow-wrap: anywhere }
    .note, .id, .places { color: #777; font-size: .9em } .note { margin: .2rem 0 .6rem } .id { margin: .1rem 0 }
    table { border-collapse: collapse; width: 100%; margin: .4rem 0 } th { text-align: left; font-weight: 600 }
    th, td { border-bottom: 1px solid var(--line); padding: .3rem .6rem .3rem 0; vertical-align: top }
    .card { border: 1px solid var(--line); border-radius: 8px; padding: .8rem 1rem; margin: .8rem 0 }
    .chosen { background: var(--soft); font-weight: 600 } .card td:nth-child(n+3) { white-space: nowrap }
    .bar { display: flex; height: 1.1rem; border-radius: 5px; overflow: hidden } .bar span { display: block }
    .legend { list-style: none; display: flex; flex-wrap: wrap; gap: 1.2rem; padding: 0 }
    .legend span { display: inline-block; width: .8rem; height: .8rem; border-radius: 3px; margin-right: .4rem }
    .written { background: var(--written) } .in-the-helper { background: var(--helper) }
    .dropped { background: var(--dropped) } .asked { background: var(--asked) } .warned { background: var(--warned) }
    </style></head>
    <body><h1>\(title)</h1>\(summary)
    \(body)
    </body></html>

    """
  }
}
