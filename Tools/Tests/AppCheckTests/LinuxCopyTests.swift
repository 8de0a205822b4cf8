import AppCheck
import Foundation
import Testing

@Suite struct LinuxCopyTests {
  private func copy(_ source: String) -> String { LinuxCopy(AppSources(source: source)).files[0].text }

  @Test func linesAndColumnsOfTheAppStay() {
    let source = """
      import UIKit
      class Screen: UIViewController {
        @IBOutlet weak var label: UILabel!
        @objc func leave() {}
        func wrong() { undefined() }
      }
      class Later {}

      """
    let lines = copy(source).split(separator: "\n", omittingEmptySubsequences: false)
    #expect(lines[0] == "#sourceLocation(file: \"app.swift\", line: 1)")
    #expect(lines[3] == "            weak var label: UILabel!")
    #expect(lines[5] == "  func wrong() { undefined() }")
    #expect(lines[lines.count - 4] == "#sourceLocation(file: \"app.swift\", line: 6)")
    #expect(lines[lines.count - 2] == "class Later {}")
  }

  @Test(arguments: [
    ("leave()", "leave"), ("leave(_ sender: Any)", "leave:"), ("leave(sender: Any)", "leaveWithSender:"),
    ("leave(with sender: Any)", "leaveWith:"), ("add(to list: UIButton)", "addTo:"),
    ("panned(by recognizer: UIButton)", "pannedBy:"), ("goTo(page: UIButton)", "goToPage:"),
    ("touch(_ sender: UIButton, event: UIEvent)", "touch:event:"),
    ("touch(sender: UIButton, for event: UIEvent?)", "touchWithSender:for:"),
  ]) func selectorHasTheNameThatObjectiveCGives(method: String, selector: String) {
    let name = method.prefix { $0 != "(" }
    let text = copy(
      """
      import UIKit
      class Screen: UIViewController {
        @objc func \(method) {}
        let action = #selector(\(name))
      }
      """)
    #expect(text.contains("let action = Selector(\"\(selector)\")"))
    #expect(text.contains("case \"\(selector)\":"))
  }

  @Test func cellWithInitializersOfItsOwnGetsThatOfLists() {
    let text = copy(
      """
      import UIKit
      final class Line: UITableViewCell {
        init(text: String) { super.init(style: .default, reuseIdentifier: nil) }
        required init?(coder: NSCoder) { nil }
      }
      class Tile: UICollectionViewCell {
        override init(frame: CGRect) { super.init(frame: frame) }
        init(name: String) { super.init(frame: .zero) }
        required init?(coder: NSCoder) { nil }
      }
      class Plain: UITableViewCell {}
      class Reused: UITableViewCell {
        init(model: Int, reuseIdentifier: String?) { super.init(style: .default, reuseIdentifier: reuseIdentifier) }
        required init?(coder: NSCoder) { nil }
      }
      class Titled: UITableViewCell {
        init(title: String) { super.init(style: .default, reuseIdentifier: nil) }
        override convenience init(style: CellStyle, reuseIdentifier: String?) { self.init(title: "") }
        required init?(coder: NSCoder) { nil }
      }
      """)
    #expect(text.components(separatedBy: "init(reusedAs").count == 3)
    #expect(text.contains("fatalError(\"Reused has no"))
    #expect(
      text.contains(
        """
        #sourceLocation()
          required convenience init(reusedAs identifier: String) {
            fatalError("Line has no initializer for a list's cells")
          }
        #sourceLocation(file: "app.swift", line: 5)
        }
        """))
  }

  @Test func linesBehindASelectorOfSeveralLinesKeepTheirNumbers() {
    let text = copy(
      """
      final class Screen: NSObject {
        lazy var action = control.add(
          #selector(
            leave
          ), 1)
        @objc func leave() {}
      }
      """)
    #expect(text.contains("    Selector(\"leave\")\n\n, 1)\n        func leave() {}\n"))
  }

  @Test func selectorOfAnotherClassOrOfThePlatformIsNamed() {
    let text = copy(
      """
      import UIKit
      class Model { @objc func leave(_ sender: Any) {} }
      class Other { @objc func leave() {} }
      let own = #selector(Model.leave)
      let others = #selector(Other.leave)
      let platform = #selector(UIView.endEditing(_:))
      let unlabelled = #selector(UIView.endEditing)
      let property = #selector(setter: UIView.isHidden)
      """)
    #expect(text.contains("let own = Selector(\"leave:\")"))
    #expect(text.contains("let others = Selector(\"leave\")"))
    #expect(text.contains("let platform = Selector(\"endEditing:\")"))
    #expect(text.contains("let unlabelled = Selector(\"endEditing:\")"))
    #expect(text.contains("let property = Selector(\"setIsHidden:\")"))
  }

  @Test func subclassAsksItsSuperclass() {
    let text = copy(
      """
      import UIKit
      class Base: UIViewController { @objc func leave() {} }
      class Middle: Base {}
      class Screen: Middle { @objc func mute() {} }
      """)
    #expect(text.contains("class Base: UIViewController, SelectorPerforming {"))
    #expect(text.contains("class Middle: Base {"))
    #expect(text.contains("class Screen: Middle {"))
    #expect(text.contains("@MainActor override func performSelector("))
    #expect(text.contains("default: return super.performSelector(selector, sender: sender)"))
  }

  @Test func methodThatNothingCanCallIsReported() {
    let check = check(
      """
      import UIKit
      class Screen: UIViewController {
        @objc func load() async {}
        let action = #selector(load)
      }
      """)
    let change = check.changes.first { $0.what == "#selector(load)" }
    #expect(change?.instead == "not called by a selector here: it is asynchronous")
  }

  @Test func missingImportsAreAddedOnce() {
    let text = copy(
      """
      import Foundation
      import os.log
      import UIKit.UIGestureRecognizerSubclass
      class Loader: ObservableObject {
        var task: URLSessionDataTask?
        var buffer: CVPixelBuffer?
        var time: CMTime?
      }
      """)
    #expect(text.hasPrefix("import Combine; import CoreMedia; import CoreVideo; import FoundationNetworking\n#source"))
    #expect(text.contains("\nimport KoineOS\nimport UIKit\n"))
  }

  @Test func productsOfTheImportedModulesAreListed() {
    let source =
      "import AzureCommunicationCommon\nimport os\nimport Foundation\nimport UIKit\nimport MyParts\nvar s: CMTime?\n"
    #expect(
      LinuxCopy(AppSources(source: source)).products == ["AzureCommunicationCalling", "KoineOS", "UIKit"])
    #expect(LinuxCopy(AppSources(source: "import UIKit\nvar s: CMTime?\n")).products == ["CoreMedia", "UIKit"])
  }

  @Test func ownTypeOfAPlatformsNameNeedsNoImport() {
    let text = copy("import Foundation\nclass UIView {}\nlet view = UIView()\n")
    #expect(text == "import Foundation\nclass UIView {}\nlet view = UIView()\n")
  }

  @Test func everyChangeIsListedByTheCheck() {
    let source = """
      import os
      import UIKit
      @objcMembers class Screen: UIViewController {
        @IBAction func leave(_ sender: UIButton) {}
        let action = #selector(leave)
      }
      """
    let (copy, check) = (LinuxCopy(AppSources(source: source)), check(source))
    #expect(check.changes == copy.changes)
    #expect(check.changes.map(\.what) == ["import os", "@objcMembers", "@IBAction", "#selector(leave)"])
    #expect(check.problems.isEmpty)
    #expect(CheckReport(check).text.contains("Changed in the copy that `koine linux` writes (4)"))
  }

  @Test func codeThatIsNotCompiledOnLinuxStays() {
    let text = copy("#if os(iOS)\nimport UIKit\n@objc class Screen: NSObject { @objc func a() {} }\n#endif\n")
    #expect(text.contains("@objc class Screen: NSObject { @objc func a() {} }"))
  }

  @Test(arguments: [
    "", "@objc", "#selector", "#selector()", "#selector(", "class { @objc func }",
    "@objc protocol P { @objc optional func }",
    "extension { @objc func a( }", "class A: { @IBAction func b(_", "import", "@objc(", "\u{FEFF}import os",
  ]) func brokenSourceIsCopied(source: String) {
    #expect(copy(source).utf8.count >= source.utf8.count)
  }

  // MARK: Files

  @Test func copyFollowsTheAppAndKeepsItsFiles() throws {
    let (app, output) = (try Folder(), try Folder())
    try Data("import os\n".utf8).write(to: URL(fileURLWithPath: app.file("A.swift")))
    try Data("let b = 1\n".utf8).write(to: URL(fileURLWithPath: app.file("B.swift")))
    try Data("name".utf8).write(to: URL(fileURLWithPath: app.file("Info.plist")))
    try Data("board".utf8).write(to: URL(fileURLWithPath: app.file("Main.storyboard")))
    let target = output.file("copy")
    try LinuxCopy(AppSources(path: app.path)).write(from: app.path, to: target)
    let files = FileManager.default
    #expect(
      try files.contentsOfDirectory(atPath: target).sorted() == [
        ".koine-linux", "A.linux.swift", "B.swift", "Info.plist",
      ])
    #expect(files.contents(atPath: app.file("A.swift")) == Data("import os\n".utf8))
    #expect(files.contents(atPath: target + "/B.swift") == Data("let b = 1\n".utf8))
    #expect(try files.destinationOfSymbolicLink(atPath: target + "/B.swift").hasPrefix("../"))
    let written = try files.attributesOfItem(atPath: target + "/A.linux.swift")[.modificationDate] as? Date
    try LinuxCopy(AppSources(path: app.path)).write(from: app.path, to: target)
    #expect(try files.attributesOfItem(atPath: target + "/A.linux.swift")[.modificationDate] as? Date == written)

    try files.removeItem(atPath: app.file("A.swift"))
    try LinuxCopy(AppSources(path: app.path)).write(from: app.path, to: target)
    #expect(try files.contentsOfDirectory(atPath: target).sorted() == [".koine-linux", "B.swift", "Info.plist"])
  }

  @Test func folderWithOtherFilesIsNotOverwritten() throws {
    let (app, output) = (try Folder(), try Folder())
    try Data("let a = 1\n".utf8).write(to: URL(fileURLWithPath: app.file("A.swift")))
    try Data("mine".utf8).write(to: URL(fileURLWithPath: output.file("notes.txt")))
    let copy = LinuxCopy(try AppSources(path: app.path))
    #expect(throws: LinuxCopy.Failure.self) { try copy.write(from: app.path, to: output.path) }
    #expect(throws: LinuxCopy.Failure.self) { try copy.write(from: app.path, to: app.path + "/copy") }
    #expect(FileManager.default.contents(atPath: output.file("notes.txt")) == Data("mine".utf8))
  }
}
