#!/usr/bin/env python3
"""What the tests of a package need that was built in another package's folder, by the build plan that SwiftPM wrote there last.

    Scripts/plan_modules.py SCRATCH SOURCES [--without MODULE …]

A package that depends on this one is tested in this one's build folder, where most is built already. There a source may import any
module that lies in the folder; in a folder of its own only those that the package needs. So each import in SOURCES (and each
`canImport`) must be of a module that the plan's tests need, or of one that is not in the folder, as the toolchain's. `--without`: modules
that the plan's tests must not need.
"""

import argparse
import json
import pathlib
import re
import sys

COMMAND = re.compile(r"^    inputs: (\[.*\])\n    outputs: (\[.*\])$", re.MULTILINE)
TESTS = re.compile(r'^  "test": (\[.*\])$', re.MULTILINE)
KINDS = "struct|class|enum|protocol|typealias|func|let|var"
IMPORT = re.compile(
    rf"^\s*(?:@\w+(?:\([^)]*\))?\s+|(?:public|package|internal|fileprivate|private)\s+)*import\s+(?:(?:{KINDS})\s+)?(\w+)"
    r"|canImport\((\w+)", re.MULTILINE)


def needed_modules(plan):
    """The modules that are built for the tests of the plan's package."""
    inputs = {}
    for command in COMMAND.finditer(plan):
        for output in json.loads(command[2]):
            inputs[output] = json.loads(command[1])
    tests = TESTS.search(plan)
    waiting, needed = json.loads(tests[1]) if tests else [], set()
    while waiting:
        node = waiting.pop()
        if node not in needed:
            needed.add(node)
            waiting += inputs.get(node, [])
    return {pathlib.PurePath(node).stem for node in needed if node.endswith(".swiftmodule")}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("scratch", type=pathlib.Path)
    parser.add_argument("sources", type=pathlib.Path)
    parser.add_argument("--without", nargs="*", default=[])
    options = parser.parse_args()
    needed = needed_modules((options.scratch / "debug.yaml").read_text(encoding="utf-8"))
    built = {path.stem for path in (options.scratch / "debug" / "Modules").glob("*.swiftmodule")}
    own = {path for path in options.sources.rglob("*.swift") if ".build" not in path.parts and path.name != "Package.swift"}
    if not needed or not own:
        sys.exit(f"plan_modules: no tests in the plan of {options.scratch}, or no sources in {options.sources}")
    faults = [f"the tests need {module}" for module in options.without if module in needed]
    for path in sorted(own):
        for names in IMPORT.findall(path.read_text(encoding="utf-8")):
            name = names[0] or names[1]
            if name in built and name not in needed:
                faults.append(f"{path}: {name} is no module that the package needs")
    for fault in faults:
        print(f"plan_modules: {fault}", file=sys.stderr)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
