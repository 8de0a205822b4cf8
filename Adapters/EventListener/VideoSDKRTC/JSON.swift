public import Foundation

// Conveniences that the vendor's module leaves public and apps use. Invalid JSON gives an empty value.

extension Data {
  public func toJSONString() -> String { String(decoding: self, as: UTF8.self) }
  public func toJSON() -> [String: Any] { (try? JSONSerialization.jsonObject(with: self)) as? [String: Any] ?? [:] }
  public func toJSONArray() -> [Any] { (try? JSONSerialization.jsonObject(with: self)) as? [Any] ?? [] }
}

extension String {
  public func toJSON() -> [String: Any] { Data(utf8).toJSON() }
}

extension Dictionary {
  public func toJSONString() -> String { text(of: self) }
}

extension Array {
  public func toJSONString() -> String { text(of: self) }
}

extension Encodable {
  public func toJSON() -> [String: Any] { ((try? JSONEncoder().encode(self)) ?? Data()).toJSON() }
  public func toJSONArray() -> [Any] { ((try? JSONEncoder().encode(self)) ?? Data()).toJSONArray() }
}

private func text(of value: Any) -> String {
  guard JSONSerialization.isValidJSONObject(value) else { return "" }
  return (try? JSONSerialization.data(withJSONObject: value, options: .sortedKeys))?.toJSONString() ?? ""
}
