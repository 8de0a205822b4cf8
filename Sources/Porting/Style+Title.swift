public import KoineBase

extension Style {
  /// The style's title in the porting table.
  public var title: String { PortingTable.current.titles[self] ?? rawValue }
}
