// Swift Testing looks for a module of this name where a test imports it and UIKit.
