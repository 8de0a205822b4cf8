import Foundation

extension Report {
  /// Returns one self-contained page with a matrix for each environment. A click on a cell shows the case's traces.
  /// - Throws: if the traces cannot be encoded.
  public func html() throws -> String {
    let environments = distinct(outcomes.map(\.environment))
    let tables = environments.map(table).joined(separator: "\n")
    let shown = outcomes.map { outcome in
      var outcome = outcome
      if outcome.verdict == .passed { outcome.traces = outcome.traces.map { Array($0.prefix(200)) } }
      return outcome
    }
    let data = try JSONEncoder().encode(shown)
    let json = String(decoding: data, as: UTF8.self).replacing("</", with: "<\\/")
    return Self.page(summary: escaped(summary), tables: tables, json: json)
  }

  private func table(of environment: String) -> String {
    let own = outcomes.enumerated().filter { $0.element.environment == environment }
    let pairs = distinct(own.map(\.element.pair))
    let head = pairs.map { "<th><span>\(escaped($0))</span></th>" }.joined()
    let rows = distinct(own.map(\.element.scenario)).map { scenario in
      let cells = pairs.map { pair in
        guard let (index, outcome) = own.first(where: { $0.element.scenario == scenario && $0.element.pair == pair })
        else { return "<td class=none></td>" }
        return "<td><button class=\(outcome.verdict.kind) data-n=\(index) aria-label=\"\(escaped(scenario)), "
          + "\(escaped(pair)): \(escaped(outcome.verdict.word))\"></button></td>"
      }
      let title = own.first { $0.element.scenario == scenario }?.element.title ?? ""
      return "<tr><th scope=row title=\"\(escaped(title))\">\(escaped(scenario))</th>\(cells.joined())</tr>"
    }
    return "<h2>\(escaped(environment))</h2><table><thead><tr><td></td>\(head)</tr></thead>"
      + "<tbody>\(rows.joined(separator: "\n"))</tbody></table>"
  }

  private func escaped(_ text: String) -> String {
    text.replacing("&", with: "&amp;").replacing("<", with: "&lt;").replacing("\"", with: "&quot;")
  }

  private static func page(summary: String, tables: String, json: String) -> String {
    """
    <!doctype html><html lang=en><meta charset=utf-8><title>Conformance</title>
    <meta name=viewport content="width=device-width,initial-scale=1">
    <style>
    :root{color-scheme:light dark;--ground:#fff;--ink:#1c2230;--faint:#8791a5;--line:#e3e7ef;--pass:#2f9e63;--fail:#d43d51;
    --skip:#d5dae4;--away:#b9c6dd}
    @media(prefers-color-scheme:dark){:root{--ground:#14171f;--ink:#e6e9f0;--faint:#8791a5;--line:#2a2f3b;--skip:#333a48;
    --away:#3f4d68}}
    body{font:15px/1.5 system-ui,sans-serif;margin:2rem;background:var(--ground);color:var(--ink)}
    h1{font-size:1.5rem;margin:0}h2{font-size:1.05rem;margin:2rem 0 .5rem}p{color:var(--faint);margin:.3rem 0}
    .all{display:flex;gap:2.5rem;align-items:flex-start;flex-wrap:wrap}
    table{border-collapse:collapse}thead th{height:11rem;vertical-align:bottom;font-weight:400}
    thead span{writing-mode:vertical-rl;transform:rotate(180deg);font-size:12px;color:var(--faint)}
    tbody th{text-align:right;font:12px ui-monospace,monospace;padding:0 .7rem 0 0;white-space:nowrap}
    td{padding:1px}button{width:18px;height:18px;border:0;border-radius:4px;cursor:pointer;display:block}
    button:focus-visible,button:hover{outline:2px solid var(--ink);outline-offset:1px}
    .passed{background:var(--pass)}.failed{background:var(--fail)}.style{background:var(--skip)}.here{background:var(--away)}
    .key{display:flex;gap:1.2rem;margin:.8rem 0}.key i{display:inline-block;width:12px;height:12px;border-radius:3px;
    margin-right:.4rem}
    aside{position:sticky;top:1rem;flex:1;min-width:24rem;max-width:60rem}
    aside pre{font:12px/1.55 ui-monospace,monospace;background:color-mix(in srgb,var(--line) 45%,transparent);padding:1rem;
    border-radius:8px;overflow:auto;max-height:75vh;white-space:pre-wrap}
    .why{color:var(--fail);white-space:pre-wrap}
    </style>
    <h1>Conformance</h1><p>\(summary).</p>
    <div class=key><span><i class=passed></i>passed</span><span><i class=failed></i>failed</span>
    <span><i class=style></i>not in this style</span><span><i class=here></i>not here</span></div>
    <div class=all><div>\(tables)</div><aside id=trace><p>Choose a cell to see its traces.</p></aside></div>
    <script type="application/json" id=data>\(json)</script>
    <script>
    const all=JSON.parse(document.getElementById('data').textContent),trace=document.getElementById('trace')
    const add=(tag,text,name)=>{const e=document.createElement(tag);e.textContent=text;if(name)e.className=name;trace.append(e)}
    const show=o=>{trace.textContent='';add('h2',o.scenario+' · '+(o.first==o.second?o.first:o.first+' → '+o.second))
    add('p',o.title+' ('+o.proves+', '+o.environment+')')
    const v=o.verdict;if(v.failed)add('p',v.failed._0.join('\\n'),'why');if(v.notInStyle)add('p',v.notInStyle._0)
    if(v.notHere)add('p',v.notHere._0)
    const lines=o.traces.flat().sort((a,b)=>a.at-b.at).map(e=>String(e.at).padStart(6)+' ms  '+e.who.padEnd(6)+e.told.padEnd(14)+
    (e.whom||'')+' '+(e.detail||'')+(e.agrees===false?'  ✗ disagrees':'')+(e.isInsideCall?'  ✗ inside a call':''))
    if(lines.length)add('pre',lines.join('\\n'))}
    document.addEventListener('click',e=>{const n=e.target.dataset?.n;if(n!==undefined)show(all[n])})
    const first=all.find(o=>o.verdict.failed);if(first)show(first)
    </script></html>
    """
  }
}

extension Verdict {
  /// A name for style sheets.
  fileprivate var kind: String {
    switch self {
    case .passed: "passed"
    case .failed: "failed"
    case .notInStyle: "style"
    case .notHere: "here"
    }
  }
}
