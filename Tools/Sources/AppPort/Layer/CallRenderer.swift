import CallModel
import CompilerFacts
import Foundation
import KoinePorting
import SwiftParser
import SwiftSyntax

/// Renders calls of a vendor's functions and initializers.
struct CallRenderer {
  private let renderer: LayerRenderer
  private var context: LayerContext { renderer.context }

  init(_ renderer: LayerRenderer) { self.renderer = renderer }

  /// - Returns: nil for calls of other functions.
  func text(of call: FunctionCallExprSyntax) throws(Unportable) -> String? {
    let member = call.calledExpression.as(MemberAccessExprSyntax.self)
    guard let token = member?.declName.baseName ?? call.calledExpression.as(DeclReferenceExprSyntax.self)?.baseName,
      let reading = renderer.reading(at: token)
    else { return nil }
    if let symbol = renderer.symbol(at: token),
      let found = try context.reader.reader.text(of: call, symbol, renderer)
    {
      renderer.mark(token, found.share)
      return call.leadingTrivia.description + found.text + call.trailingTrivia.description
    }
    switch reading {
    case .code: return nil
    case .intent(let intent): return try text(of: intent, call, member, token)
    case .registration(let facts, let isOn): return try text(of: facts, isOn, call, member, token)
    case .word(let word):
      guard let range = word.range(of: ".init("), member == nil else { return nil }
      let (type, share) = context.writer.name(of: String(word[..<range.lowerBound]))
      renderer.mark(token, share)
      if let arguments = context.writer.arguments(ofInitializer: word) {
        return token.leadingTrivia.description + type + arguments + call.trailingTrivia.description
      }
      let labels = word[range.upperBound...].dropLast().split(separator: ":").map(String.init)
      return token.replaced(by: type) + (call.leftParen?.description ?? "")
        + (try text(of: call.arguments, labels: labels)) + (call.rightParen?.description ?? "")
    case .conformance: return nil
    case .structure(let symbol): return try text(ofStructure: symbol, call, member, token)
    case .lost(let symbol, let instead): throw .lost(symbol: symbol, instead: instead)
    case .unknown(let symbol):
      guard let value = value(of: call, token) else { throw .unknown(symbol) }
      return value
    }
  }

  /// The arguments with the target's labels, if there are as many.
  private func text(of arguments: LabeledExprListSyntax, labels: [String]) throws(Unportable) -> String {
    guard arguments.count == labels.count else { return try renderer.render(Syntax(arguments)) }
    var text = ""
    for (argument, label) in zip(arguments, labels) {
      guard let old = argument.label, old.text != label else {
        text += try renderer.render(Syntax(argument))
        continue
      }
      let start = old.leadingTrivia.description + (label == "_" ? "" : label + (argument.colon?.description ?? ": "))
      text += start + (try renderer.render(Syntax(argument.expression))) + (argument.trailingComma?.description ?? "")
    }
    return text
  }

  // MARK: Structure

  private func text(
    ofStructure symbol: String, _ call: FunctionCallExprSyntax, _ member: MemberAccessExprSyntax?, _ token: TokenSyntax
  ) throws(Unportable) -> String {
    guard call.trailingClosure == nil, call.additionalTrailingClosures.isEmpty,
      let structure = context.table.structure(of: symbol)
    else { throw .unknown(symbol) }
    var (arguments, types): ([String: String], [String: String]) = ([:], [:])
    for argument in call.arguments {
      let label = argument.label?.text ?? "_"
      if structure.dropped.contains(label) {
        renderer.drop(argument.expression)
      } else {
        arguments[label] = try renderer.trimmed(argument.expression)
        types[label] = renderer.type(of: argument.expression)
      }
    }
    let base = try base(of: member)
    if let type = base.type { renderer.mark(type, structure.share(in: context.writer)) }
    guard let text = structure.text(renderer.use(at: call, base.text, arguments, types)) else { throw .unknown(symbol) }
    renderer.mark(token, structure.share(in: context.writer))
    return call.leadingTrivia.description + text + call.trailingTrivia.description
  }

  /// A value with an associated value, such as `.state(value: .audio)`.
  private func value(of call: FunctionCallExprSyntax, _ token: TokenSyntax) -> String? {
    let tokens =
      [token] + call.arguments.compactMap { $0.expression.as(MemberAccessExprSyntax.self)?.declName.baseName }
    let symbols = tokens.compactMap { token -> String? in
      if case .unknown(let symbol)? = renderer.reading(at: token) { symbol } else { nil }
    }
    guard symbols.count == call.arguments.count + 1, let word = context.table.value(of: symbols) else { return nil }
    let (name, share) = context.writer.name(of: word)
    for token in call.tokens(viewMode: .sourceAccurate) { renderer.mark(token, share) }
    return call.leadingTrivia.description + "." + name + call.trailingTrivia.description
  }

  // MARK: Actions

  private func text(
    of intent: Intent, _ call: FunctionCallExprSyntax, _ member: MemberAccessExprSyntax?, _ token: TokenSyntax
  ) throws(Unportable) -> String {
    guard call.trailingClosure == nil, call.additionalTrailingClosures.isEmpty else { throw .unknown(intent.symbol) }
    var slots: [String: String] = [:]
    var used: Set<Int> = []
    let arguments = Array(call.arguments)
    for (slot, source) in intent.slots {
      if let (text, index) = try text(of: source, slot, arguments) {
        slots[slot] = text
        if let index { used.insert(index) }
      }
    }
    let dropped = context.reader.reader.droppedArguments
    for (index, argument) in arguments.enumerated() where !used.contains(index) {
      // An argument that is nil says nothing.
      if argument.expression.is(NilLiteralExprSyntax.self) { used.insert(index) }
      guard let label = argument.label?.text, dropped.contains(label), !renderer.callsApp(in: argument.expression)
      else { continue }
      renderer.drop(argument.expression)
      used.insert(index)
    }
    guard used.count == arguments.count else { throw .unknown(intent.symbol + " with these arguments") }
    let base = try base(of: member)
    let callType = context.callType(at: Syntax(call), in: renderer.source)
    let written =
      try isStatement(call)
      ? context.writer.statement(intent, slots, base.text, context.table, callType)
      : context.writer.call(intent, slots, base.text, context.table, callType)
    let share: Share = written.usesHelper ? .inHelper : .written
    renderer.mark(token, share)
    if let type = base.type { renderer.mark(type, share) }
    return call.leadingTrivia.description + written.text + call.trailingTrivia.description
  }

  /// Whether a call is a statement of its own, and no part of another expression.
  private func isStatement(_ call: FunctionCallExprSyntax) -> Bool {
    var node = call.parent
    while let current = node, current.is(TryExprSyntax.self) || current.is(AwaitExprSyntax.self) {
      node = current.parent
    }
    return node?.is(CodeBlockItemSyntax.self) == true
  }

  /// The value that a method is called on; the type, for a static one.
  private func base(of member: MemberAccessExprSyntax?) throws(Unportable) -> (text: String?, type: TokenSyntax?) {
    guard let base = member?.base else { return (nil, nil) }
    if let name = base.as(DeclReferenceExprSyntax.self)?.baseName, let reading = renderer.reading(at: name),
      renderer.source.occurrences(at: name).contains(where: { $0.symbol.kind.isType })
    {
      if case .lost(let symbol, let instead) = reading { throw .lost(symbol: symbol, instead: instead) }
      return (nil, name)
    }
    return (try renderer.trimmed(base), nil)
  }

  private func text(
    of slot: PortingTable.Slot, _ name: String, _ arguments: [LabeledExprSyntax]
  ) throws(Unportable) -> (text: String, index: Int?)? {
    switch slot {
    case .word(let word): return ("." + context.writer.name(of: word).text, nil)
    case .flag(let flag): return (flag ? "true" : "false", nil)
    case .position(let position):
      guard position < arguments.count, arguments[position].label == nil else { return nil }
      return (try renderer.trimmed(arguments[position].expression), position)
    case .argument(let label):
      guard let index = arguments.firstIndex(where: { $0.label?.text == label }) else { return nil }
      let expression = arguments[index].expression
      if name == "side", let side = side(expression) { return (side, index) }
      return (try context.writer.slot(name, try renderer.trimmed(expression)), index)
    case .entry(let label, let key):
      guard let index = arguments.firstIndex(where: { $0.label?.text == label }) else { return nil }
      guard let dictionary = arguments[index].expression.as(DictionaryExprSyntax.self) else {
        throw .unknown("the argument '\(label)' that is no literal")
      }
      guard let entries = dictionary.content.as(DictionaryElementListSyntax.self) else { return ("false", index) }
      var found: String?
      for entry in entries {
        guard entry.key.as(StringLiteralExprSyntax.self)?.representedLiteralValue == key else {
          throw .unknown("the option \(entry.key.trimmedDescription)")
        }
        found = try renderer.trimmed(entry.value)
      }
      return (found ?? "false", index)
    }
  }

  /// `.front` or `.back`, as helpers call them, if the app names one of them.
  private func side(_ expression: ExprSyntax) -> String? {
    guard let member = expression.as(MemberAccessExprSyntax.self),
      case .word(let word)? = renderer.reading(at: member.declName.baseName),
      word == "Machine.Attachment.front" || word == "Machine.Attachment.back"
    else { return nil }
    renderer.markAll(in: expression, .written)
    return "." + (word.split(separator: ".").last ?? "")
  }

  // MARK: Registrations

  private func text(
    of facts: Reading.Facts, _ isOn: Bool, _ call: FunctionCallExprSyntax, _ member: MemberAccessExprSyntax?,
    _ token: TokenSyntax
  ) throws(Unportable) -> String {
    let arguments = Array(call.arguments)
    // Only the call class itself gets facts: it has the handlers.
    for argument in arguments.dropLast() where facts == .ofCall { renderer.drop(argument.expression) }
    guard let base = member?.base, let listener = arguments.last?.expression.as(DeclReferenceExprSyntax.self),
      listener.baseName.tokenKind == .keyword(.self)
    else { throw .unknown(token.text + " with another object than self") }
    guard context.isInCallClass(Syntax(call), in: renderer.source) else {
      throw .unknown("\(token.text) in another class than \(context.callClass.name)")
    }
    let topic = facts == .ofTopic ? try renderer.trimmed(arguments[0].expression) : nil
    let text = try renderer.trimmed(base)
    let isOptional = renderer.isOptional(call)
    let written = context.writer.registration(
      facts, isOn, text, isOptional: isOptional, topic: topic, isOnMainActor: context.callClass.isOnMainActor)
    renderer.mark(token, written.usesHelper ? .inHelper : .written)
    return call.leadingTrivia.description + written.text + call.trailingTrivia.description
  }
}
