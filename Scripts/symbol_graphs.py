"""Public symbols of this package's modules, from the compiler's symbol graphs. Needs a debug build."""

import json
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent


def search_paths():
    """The compiler, and the arguments by which it finds modules, from the plan that SwiftPM wrote for its last build: those of modules that
    together depend on all others."""
    plan = ROOT / ".build" / "debug.yaml"
    if not plan.exists():
        sys.exit("symbol_graphs: no build plan; run `swift build` first")
    lines = plan.read_text(encoding="utf-8").split("\n")
    compiler, kept = None, []
    for module in ("KoineCommand", "KoineTesting"):
        found = [match for line in lines if (match := re.match(rf'\s+args: (\[.*"-module-name","{module}".*\])$', line))]
        if not found:
            sys.exit(f"symbol_graphs: the build plan does not have {module}")
        compiler, *arguments = json.loads(found[0].group(1))
        position = 0
        while position < len(arguments):
            if arguments[position] in ("-Xcc", "-I", "-target"):
                kept += arguments[position:position + 2]
                position += 1
            elif arguments[position].startswith("-I"):
                kept.append(arguments[position])
            position += 1
    return compiler, kept


def symbol_graphs(module, paths, folder):
    """The public symbols of a module, and relationships between symbols."""
    command = ["swift", "symbolgraph-extract", "-module-name", module, "-minimum-access-level", "public",
               "-skip-synthesized-members", "-output-dir", str(folder), *paths]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"symbol_graphs: no symbols of {module}: {done.stderr[-2000:]}")
    symbols, relationships = [], []
    for file in [folder / f"{module}.symbols.json", *folder.glob(f"{module}@*.symbols.json")]:
        graph = json.loads(file.read_text(encoding="utf-8"))
        symbols += graph["symbols"]
        relationships += graph["relationships"]
    return symbols, relationships


def name_of(symbol):
    return ".".join(symbol["pathComponents"])
