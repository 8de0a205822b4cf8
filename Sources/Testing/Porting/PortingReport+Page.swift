extension PortingReport {
  /// One self-contained page: the differences, the rows of expected differences, and the stories of both layers side by side, step by
  /// step. Facts that differ are marked.
  public func html() -> String {
    let rows = runs.map { run in
      """
      <details\(run.differences.isEmpty ? "" : " open")><summary class=\(run.differences.isEmpty ? "pass" : "fail")>\
      \(escape(run.old.scenario)), seed \(run.old.seed)\
      <span>\(escape(run.title)) \(run.differences.count) differences, \(run.expected.count) expected</span></summary>
      \(list(run.differences, "fail"))\(list(run.expected, "row"))
      <table><thead><tr><th>step</th><th>old</th><th>new</th></tr></thead><tbody>\(steps(of: run))</tbody></table></details>
      """
    }
    return Self.page(
      title: escape(pair), summary: escape(summary), rowTable: rowTable, body: rows.joined(separator: "\n"))
  }

  private func steps(of run: Run) -> String {
    let count = max(run.old.steps.count, run.new.steps.count)
    let rows = (0..<count).map { index in
      let (old, new) = (step(index, of: run.old), step(index, of: run.new))
      let name = (old ?? new)?.name ?? ""
      let found = (run.differences + run.expected).filter { $0.step == name }
      return "<tr><th scope=row>\(escape(name))</th><td>\(cell(old, found))</td><td>\(cell(new, found))</td></tr>"
    }
    let after = run.differences + run.expected
    let end =
      "<tr><th scope=row>\(StoryComparison.afterCall)</th><td>\(lines(run.old.afterCall, after))</td>"
      + "<td>\(lines(run.new.afterCall, after))</td></tr>"
    return rows.joined() + end
  }

  private func step(_ index: Int, of story: PortingStory) -> PortingStory.Step? {
    story.steps.indices.contains(index) ? story.steps[index] : nil
  }

  /// The changes of a step in the order of time, and the settled values of facts that differ.
  private func cell(_ step: PortingStory.Step?, _ found: [PortingDifference]) -> String {
    guard let step else { return "" }
    let marked = Set(found.map(\.fact))
    let changes = (step.changes + step.outsideChanges).enumerated()
      .sorted { ($0.element.milliseconds, $0.offset) < ($1.element.milliseconds, $1.offset) }.map(\.element)
    let lines = changes.map { change in
      line("\(change.milliseconds) ms", change.fact, change.value, isMarked: marked.contains(change.fact))
    }
    let settled = found.filter { $0.comparison == .settled }.map(\.fact).map { fact in
      line("settled", fact, step.settled[fact] ?? step.outside[fact] ?? CallFacts.none, isMarked: true)
    }
    return (lines + settled).joined()
  }

  private func lines(_ facts: [String: String], _ found: [PortingDifference]) -> String {
    let marked = Set(found.filter { $0.comparison == .afterCall }.map(\.fact))
    let sorted = facts.sorted { $0.key < $1.key }
    return sorted.map { line("", $0.key, $0.value, isMarked: marked.contains($0.key)) }.joined()
  }

  private func line(_ time: String, _ fact: String, _ value: String, isMarked: Bool) -> String {
    "<div\(isMarked ? " class=mark" : "")><i>\(time)</i> \(escape(fact)): <b>\(escape(value))</b></div>"
  }

  private func list(_ differences: [PortingDifference], _ kind: String) -> String {
    guard !differences.isEmpty else { return "" }
    return "<ul class=\(kind)>" + differences.map { "<li>\(escape($0.description))</li>" }.joined() + "</ul>"
  }

  private var rowTable: String {
    guard !usedRows.isEmpty || !unusedRows.isEmpty else { return "" }
    let rows = (usedRows.map { ($0, true) } + unusedRows.map { ($0, false) }).map { row, isUsed in
      let cells = [row.fact, row.step, row.comparison.rawValue, row.old, row.new, row.reason, row.source]
      return "<tr class=\(isUsed ? "pass" : "fail")>" + cells.map { "<td>\(escape($0))</td>" }.joined()
        + "<td>\(isUsed ? "used" : "not used")</td></tr>"
    }
    let head = ["fact", "step", "comparison", "old", "new", "reason", "source", ""].map { "<th>\($0)</th>" }.joined()
    return "<h2>Expected differences</h2><table><thead><tr>\(head)</tr></thead><tbody>\(rows.joined())</tbody></table>"
  }

  private func escape(_ text: String) -> String {
    text.replacing("&", with: "&amp;").replacing("<", with: "&lt;").replacing("\"", with: "&quot;")
  }

  private static func page(title: String, summary: String, rowTable: String, body: String) -> String {
    """
    <!doctype html><html lang=en><meta charset=utf-8><title>\(title)</title>
    <meta name=viewport content="width=device-width,initial-scale=1">
    <style>
    :root{color-scheme:light dark;--ink:#1c2230;--faint:#76808f;--line:#d9dee7;--fail:#c22f45;--pass:#26804f;--mark:#f6d9dd}
    @media(prefers-color-scheme:dark){:root{--ink:#e6e9f0;--faint:#8791a5;--line:#2f3543;--fail:#ef6a7d;--pass:#58c08a;
    --mark:#54262e}}
    body{font:14px/1.5 system-ui,sans-serif;margin:2rem;color:var(--ink)}h1{font-size:1.4rem;margin:0}
    h2{font-size:1.05rem}p,summary span,i{color:var(--faint)}i{font-style:normal}
    table{border-collapse:collapse;width:100%;margin:.5rem 0 1.5rem}
    th,td{border:1px solid var(--line);padding:.3rem .5rem;vertical-align:top;text-align:left;font-size:12.5px}
    tbody th{font-weight:500;width:12rem}td{width:auto}summary{cursor:pointer;padding:.25rem 0}
    summary::before{content:"● "}summary.pass::before,tr.pass td:last-child{color:var(--pass)}
    summary.fail::before,tr.fail td:last-child,ul.fail{color:var(--fail)}ul.row{color:var(--faint)}
    summary span{margin-left:.8rem}.mark{background:var(--mark)}
    </style>
    <h1>\(title)</h1><p>\(summary).</p>\(rowTable)<h2>Runs</h2>
    \(body)
    </html>
    """
  }
}
