public import KoineUIKit

extension TestRoom {
  /// Taps the frontmost thing in a view that has a name, as the person whose app made the view.
  ///
  /// A name is a button's or bar button's title, a segment's title, a choice of an alert, a text in a row, in a collection's item or in a
  /// view with a tap gesture, a field's placeholder, or an accessibility identifier or label. What a presented controller covers cannot be
  /// tapped.
  /// - Throws: `TapError` if nothing that is visible and enabled has the name; the error lists the names that there are.
  @MainActor
  public func tap(_ name: String, in view: UIView) throws { try act(in: view) { try view.tap(name) } }

  /// Types a text into the field with a placeholder, an accessibility identifier or an accessibility label of that name, in the place of the
  /// field's text.
  /// - Throws: `TapError` if there is no such field.
  @MainActor
  public func type(_ text: String, into name: String, in view: UIView) throws {
    try act(in: view) { try view.type(text, into: name) }
  }

  /// Presses the return key in the text field of that name.
  /// - Throws: `TapError` if there is no such field.
  @MainActor
  public func pressReturn(in name: String, in view: UIView) throws {
    try act(in: view) { try view.pressReturn(in: name) }
  }

  /// Moves the slider of that name.
  /// - Parameter value: moved into the slider's range.
  /// - Throws: `TapError` if there is no such slider.
  @MainActor
  public func slide(_ name: String, to value: Float, in view: UIView) throws {
    try act(in: view) { try view.slide(name, to: value) }
  }

  @MainActor
  private func act(in view: UIView, _ body: () throws -> Void) throws {
    guard let person = screen(view).owner else { return try body() }
    try enter(as: person, body)
  }
}
