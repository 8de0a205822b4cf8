import Foundation
import KoineUIKit
import Testing

@MainActor
@Suite struct LayoutTests {
  private func constrained(_ frame: CGRect = .zero) -> UIView {
    let view = UIView(frame: frame)
    view.translatesAutoresizingMaskIntoConstraints = false
    return view
  }

  @Test func edgesAreThoseOfTheSafeArea() {
    let root = UIView(frame: CGRect(x: 0, y: 0, width: 400, height: 300))
    let inner = constrained()
    root.addSubview(inner)
    NSLayoutConstraint.activate([
      inner.leadingAnchor.constraint(equalTo: root.safeAreaLayoutGuide.leadingAnchor, constant: 16),
      inner.trailingAnchor.constraint(equalTo: root.safeAreaLayoutGuide.trailingAnchor, constant: -16),
      inner.topAnchor.constraint(equalTo: root.layoutMarginsGuide.topAnchor),
      inner.heightAnchor.constraint(equalTo: inner.widthAnchor, multiplier: 0.5),
    ])
    root.layoutIfNeeded()
    #expect(inner.frame == CGRect(x: 16, y: 8, width: 368, height: 184))
    root.frame.size.width = 232
    root.layoutIfNeeded()
    #expect(inner.frame == CGRect(x: 16, y: 8, width: 200, height: 100))
  }

  @Test func constraintsBetweenViewsOfDifferentSuperviewsUseOneCoordinateSystem() {
    let root = UIView(frame: CGRect(x: 0, y: 0, width: 400, height: 300))
    let box = UIView(frame: CGRect(x: 100, y: 50, width: 200, height: 200))
    let (inner, other) = (constrained(), constrained())
    root.addSubview(box)
    box.addSubview(inner)
    root.addSubview(other)
    NSLayoutConstraint.activate([
      inner.centerXAnchor.constraint(equalTo: root.centerXAnchor),
      inner.centerYAnchor.constraint(equalTo: root.centerYAnchor),
      inner.widthAnchor.constraint(equalToConstant: 40), inner.heightAnchor.constraint(equalToConstant: 20),
      other.leadingAnchor.constraint(equalTo: inner.trailingAnchor),
      other.topAnchor.constraint(equalTo: inner.topAnchor),
      other.widthAnchor.constraint(equalTo: inner.widthAnchor), other.heightAnchor.constraint(equalToConstant: 10),
    ])
    root.layoutIfNeeded()
    #expect(inner.frame == CGRect(x: 80, y: 90, width: 40, height: 20))
    #expect(other.frame == CGRect(x: 220, y: 140, width: 40, height: 10))
  }

  @Test func priorityDecidesBetweenConstraintsThatContradict() {
    let root = UIView(frame: CGRect(x: 0, y: 0, width: 400, height: 300))
    let inner = constrained()
    root.addSubview(inner)
    let wide = inner.widthAnchor.constraint(equalToConstant: 300)
    let narrow = inner.widthAnchor.constraint(equalToConstant: 100)
    wide.priority = .defaultHigh
    narrow.priority = .defaultLow
    NSLayoutConstraint.activate([wide, narrow])
    root.layoutIfNeeded()
    #expect(inner.frame.width == 300)
    wide.priority = UILayoutPriority(200)
    root.layoutIfNeeded()
    #expect(inner.frame.width == 100)
    narrow.isActive = false
    root.layoutIfNeeded()
    #expect(inner.frame.width == 300)
    wide.constant = 120
    root.layoutIfNeeded()
    #expect(inner.frame.width == 120)
  }

  @Test func contradictingRequiredConstraintIsLeftOut() {
    let root = UIView(frame: CGRect(x: 0, y: 0, width: 400, height: 300))
    let inner = constrained()
    root.addSubview(inner)
    inner.widthAnchor.constraint(equalToConstant: 50).isActive = true
    inner.widthAnchor.constraint(equalToConstant: 60).isActive = true
    inner.heightAnchor.constraint(equalToConstant: 70).isActive = true
    root.layoutIfNeeded()
    #expect(inner.frame.size == CGSize(width: 50, height: 70))
  }

  @Test func labelsTakeTheirTextsSizeAndTheWeakerHuggingGrows() {
    let root = UIView(frame: CGRect(x: 0, y: 0, width: 400, height: 100))
    let (name, status) = (UILabel(), UILabel())
    for label in [name, status] {
      label.translatesAutoresizingMaskIntoConstraints = false
      root.addSubview(label)
      label.topAnchor.constraint(equalTo: root.topAnchor).isActive = true
    }
    (name.text, status.text) = ("Ana", "muted")
    name.setContentHuggingPriority(UILayoutPriority(251), for: .horizontal)
    NSLayoutConstraint.activate([
      name.leadingAnchor.constraint(equalTo: root.leadingAnchor),
      status.leadingAnchor.constraint(equalTo: name.trailingAnchor, constant: 10),
      status.trailingAnchor.constraint(equalTo: root.trailingAnchor),
    ])
    root.layoutIfNeeded()
    #expect(name.frame.width == name.intrinsicContentSize.width)
    #expect(status.frame.maxX == 400)
    #expect(name.frame.height == name.intrinsicContentSize.height)
  }

  @Test func wrappedLabelIsHigherWhereItIsNarrow() {
    let root = UIView(frame: CGRect(x: 0, y: 0, width: 120, height: 400))
    let label = UILabel()
    label.translatesAutoresizingMaskIntoConstraints = false
    label.numberOfLines = 0
    label.text = "Ben is not in the call any more"
    root.addSubview(label)
    NSLayoutConstraint.activate([
      label.leadingAnchor.constraint(equalTo: root.leadingAnchor),
      label.trailingAnchor.constraint(equalTo: root.trailingAnchor),
      label.topAnchor.constraint(equalTo: root.topAnchor),
    ])
    root.layoutIfNeeded()
    let line = UIFont.systemFont(ofSize: UIFont.labelFontSize).lineHeight
    #expect(label.frame.height >= 2 * line)
    root.frame.size.width = 1_000
    root.layoutIfNeeded()
    #expect(label.frame.height == line)
  }

  @Test func stackFillsEquallyAndLeavesOutHiddenViews() {
    let views = (0..<3).map { _ in UIView(frame: .zero) }
    let stack = UIStackView(arrangedSubviews: views)
    stack.frame = CGRect(x: 0, y: 0, width: 320, height: 50)
    stack.distribution = .fillEqually
    stack.spacing = 10
    stack.layoutIfNeeded()
    #expect(views.map(\.frame.minX) == [0, 110, 220])
    #expect(views.map(\.frame.width) == [100, 100, 100])
    #expect(views.map(\.frame.height) == [50, 50, 50])
    views[1].isHidden = true
    stack.layoutIfNeeded()
    #expect(views[0].frame.width == 155)
    #expect(views[2].frame.minX == 165)
  }

  @Test func verticalStackIsAsHighAsItsContent() {
    let root = UIView(frame: CGRect(x: 0, y: 0, width: 300, height: 500))
    let (label, button) = (UILabel(), UIButton(type: .system))
    label.text = "Waiting"
    button.setTitle("Leave", for: .normal)
    let stack = UIStackView(arrangedSubviews: [label, button])
    stack.axis = .vertical
    stack.spacing = 4
    stack.translatesAutoresizingMaskIntoConstraints = false
    root.addSubview(stack)
    NSLayoutConstraint.activate([
      stack.centerXAnchor.constraint(equalTo: root.centerXAnchor), stack.topAnchor.constraint(equalTo: root.topAnchor),
    ])
    root.layoutIfNeeded()
    #expect(stack.frame.height == label.intrinsicContentSize.height + 4 + button.intrinsicContentSize.height)
    #expect(stack.frame.midX == 150)
    #expect(button.frame.minY == label.frame.maxY + 4)
  }

  @Test func stackSpacesItsViewsEqually() {
    let views = (0..<3).map { _ -> UIView in
      let view = UIView(frame: .zero)
      view.widthAnchor.constraint(equalToConstant: 40).isActive = true
      return view
    }
    let stack = UIStackView(arrangedSubviews: views)
    stack.frame = CGRect(x: 0, y: 0, width: 300, height: 30)
    stack.distribution = .equalSpacing
    stack.layoutIfNeeded()
    #expect(views.map(\.frame.minX) == [0, 130, 260])
  }

  @Test func layoutSubviewsAndTheControllerAreCalledOnceForAChange() {
    final class Counted: UIView {
      var count = 0
      override func layoutSubviews() {
        super.layoutSubviews()
        count += 1
      }
    }
    final class Controller: UIViewController {
      var calls: [String] = []
      override func loadView() { view = Counted(frame: CGRect(x: 0, y: 0, width: 10, height: 10)) }
      override func viewWillLayoutSubviews() { calls.append("will") }
      override func viewDidLayoutSubviews() { calls.append("did") }
    }
    let controller = Controller()
    controller.view.layoutIfNeeded()
    controller.view.layoutIfNeeded()
    #expect((controller.view as? Counted)?.count == 1)
    #expect(controller.calls == ["will", "did"])
    controller.view.setNeedsLayout()
    controller.view.layoutIfNeeded()
    #expect((controller.view as? Counted)?.count == 2)
  }

  @Test func autoresizingMaskFollowsTheSuperview() {
    let root = UIView(frame: CGRect(x: 0, y: 0, width: 100, height: 100))
    let inner = UIView(frame: CGRect(x: 10, y: 10, width: 80, height: 20))
    inner.autoresizingMask = [.flexibleWidth, .flexibleTopMargin]
    root.addSubview(inner)
    root.frame.size = CGSize(width: 200, height: 150)
    #expect(inner.frame == CGRect(x: 10, y: 60, width: 180, height: 20))
  }
}
