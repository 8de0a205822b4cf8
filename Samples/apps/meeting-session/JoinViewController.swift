import AVFoundation
import AmazonChimeSDK
import UIKit

/// Asks for the name and the microphone, fetches the join information and hands it on.
final class JoinViewController: UIViewController {
  var name = ""
  var startsWithCamera = true
  var onJoin: ((JoinInfo) -> Void)?
  private let service: JoinService
  private let statusLabel = UILabel(frame: CGRect(x: 24, y: 200, width: 976, height: 40))

  init(service: JoinService) {
    self.service = service
    super.init(nibName: nil, bundle: nil)
  }

  required init?(coder: NSCoder) { fatalError("This screen is made in code.") }

  override func viewDidLoad() {
    super.viewDidLoad()
    view.frame = CGRect(x: 0, y: 0, width: 1024, height: 768)
    view.backgroundColor = .white
    view.addSubview(statusLabel)
    let button = UIButton(frame: CGRect(x: 24, y: 260, width: 120, height: 32))
    button.setTitle("Join", for: .normal)
    button.addTarget(self, action: #selector(joinTapped), for: .touchUpInside)
    view.addSubview(button)
    show("Enter your name and join.")
  }

  func show(_ text: String) { statusLabel.text = text }

  @objc func joinTapped() {
    guard !name.isEmpty else { return show("Enter your name first.") }
    show("Joining…")
    AVAudioSession.sharedInstance().requestRecordPermission { [weak self] isGranted in
      DispatchQueue.main.async { self?.microphoneAnswered(isGranted: isGranted) }
    }
  }

  private func microphoneAnswered(isGranted: Bool) {
    guard isGranted else { return show(MeetingText.failure(PermissionError.audioPermissionError)) }
    service.joinInfo(for: name) { [weak self] result in
      do {
        self?.onJoin?(try JSONDecoder().decode(JoinInfo.self, from: result.get()))
      } catch {
        self?.show(MeetingText.failure(error))
      }
    }
  }
}
