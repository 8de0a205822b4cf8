"""Docs/porting.json: what an app does, in each style's symbols. Its rules, its page, and what of it and of the coverage
files goes into the `koine` command (Sources/Porting/GeneratedTables.swift). Scripts/check-coverage runs it."""

import json
import re

from swift_declarations import Declarations

OPTIONAL = {"instead", "differs", "example", "slots", "read", "write", "lost"}
FIELDS = {"id", "group", "does", "symbols"} | OPTIONAL
PAGE, ADOPT = "Docs/porting.md", "Docs/adopt.md"
BEGIN, END = "<!-- Written by Scripts/check-coverage from porting.json: begin -->", "<!-- end -->"
WRITTEN, EXAMPLES = "Sources/Porting/GeneratedTables.swift", "Tests/Porting/Examples"
HEAD = '''// swift-format-ignore-file
// Written by Scripts/check-coverage --write from Docs/porting.json, Docs/styles/*.coverage.json and what the adapters declare.
'''


def read(root):
    return json.loads((root / "Docs/porting.json").read_text(encoding="utf-8"))


def offences(table, declared, examples):
    """One line for everything that is not as the table says. `declared` and `examples` are by style."""
    seen, styles = set(), table["styles"]
    for row in table["rows"]:
        name = row.get("id", "?")
        if set(row) - FIELDS or FIELDS - set(row) - OPTIONAL:
            yield f"{name}: fields {sorted(row)}"
            continue
        if name in seen:
            yield f"{name}: told twice"
        seen.add(name)
        if row["group"] not in table["groups"]:
            yield f"{name}: group '{row['group']}' has no title"
        for style in set(row["symbols"]) | set(row.get("instead", {})):
            if style not in styles:
                yield f"{name}: '{style}' is no style"
        for style in styles:
            symbols = row["symbols"].get(style, [])
            if not symbols and not row.get("instead", {}).get(style):
                yield f"{name}: {style} has neither symbols nor what to do instead"
            for symbol in symbols:
                found = declared[style].find(symbol)
                if not found:
                    yield f"{name}: {style} declares no {symbol}"
                elif found.is_unavailable:
                    yield f"{name}: {symbol} is unavailable in {found.place}"
            if row.get("example") and symbols and row["example"] not in examples[style]:
                yield f"{name}: {style} has no example '{row['example']}'"
        yield from offences_of_port(row, styles, declared)
    for style in styles:
        for example in sorted(set(examples[style]) - {row.get("example") for row in table["rows"]}):
            yield f"{style}: no row names the example '{example}'"


def offences_of_port(row, styles, declared):
    """What `koine port` reads: symbols of the styles, and slots of the row."""
    name, slots = row["id"], set(row.get("slots", []))
    for field in ("read", "write", "lost"):
        for style in row.get(field, {}):
            if style not in styles:
                yield f"{name}: {field}: '{style}' is no style"
    for field in ("read", "lost"):
        for style, symbols in row.get(field, {}).items():
            for symbol in symbols if style in styles else []:
                if not declared[style].find(symbol):
                    yield f"{name}: {field}: {style} declares no {symbol}"
    for symbols in row.get("read", {}).values():
        for symbol, meaning in symbols.items():
            if isinstance(meaning, dict) and "fact" not in meaning and set(meaning) - slots:
                yield f"{name}: {symbol} has slots {sorted(set(meaning) - slots)} that the row has not"


# Examples


def examples_of(source):
    """What lies between `// example: name` and `// end` in a source that is compiled, without its margin."""
    found = {}
    for match in re.finditer(r"(?ms)^[ ]*// example: ([\w-]+)\n(.*?)^[ ]*// end$", source):
        lines = match.group(2).rstrip("\n").split("\n")
        margin = min((len(line) - len(line.lstrip()) for line in lines if line.strip()), default=0)
        code = "\n".join(line[margin:] for line in lines)
        found[match.group(1)] = found[match.group(1)] + "\n\n" + code if match.group(1) in found else code
    return found


def read_examples(root, styles):
    found = {}
    for style in styles:
        file = root / EXAMPLES / ("".join(word.capitalize() for word in style.split("-")) + ".swift")
        found[style] = examples_of(file.read_text(encoding="utf-8")) if file.exists() else {}
    return found


# The page


def lines(table, examples):
    styles = table["styles"]
    shown = []
    for group, title in table["groups"].items():
        yield from ["", f"## {title}", ""]
        yield "| to | " + " | ".join(style["title"] for style in styles.values()) + " | what differs |"
        yield "|---|" + "---|" * (len(styles) + 1)
        for row in table["rows"]:
            if row["group"] != group:
                continue
            cells = [cell(row, style) for style in styles]
            differs = row.get("differs", "")
            if row.get("example"):
                if row["example"] not in shown:
                    shown.append(row["example"])
                differs = (differs + " " if differs else "") + f"[code](#{row['example']})"
            yield f"| {row['does']} | " + " | ".join(cells) + f" | {differs} |"
    yield from ["", "# Before and after", "", f"The code of [{EXAMPLES}](../{EXAMPLES}), which is compiled; what it does about people,",
                "mutes, speakers, the camera, pictures and chat runs against a room, too."]
    for example in shown:
        rows = [row["does"] for row in table["rows"] if row.get("example") == example]
        yield from ["", f"## {example}", "", "To " + "; ".join(rows) + "."]
        for style, of in styles.items():
            if example in examples[style]:
                yield from ["", f"In the words of the {of['title']}:", "", "```swift", examples[style][example], "```"]


def cell(row, style):
    parts = [f"`{symbol}`" for symbol in row["symbols"].get(style, [])]
    instead = row.get("instead", {}).get(style)
    return "<br>".join(parts + ([instead] if instead else []))


def hindrances(table):
    """Of Docs/adopt.md: what cannot come along to Linux."""
    yield from ["| does not work on Linux | instead |", "|---|---|"]
    for row in table["linux"]:
        yield f"| {row['what']} | {row['instead']} |"


def page(text, lines):
    """The page with its table as it should be; None if it has no place for it."""
    if BEGIN not in text or END not in text.split(BEGIN, 1)[1]:
        return None
    head, rest = text.split(BEGIN, 1)
    return head + BEGIN + "\n" + "\n".join(lines) + "\n" + END + rest.split(END, 1)[1]


# What the command brings along


FAULT_STYLES = ("call-agent", "stage-strategy", "meeting-session", "event-listener")


def faults(root):
    """Of Docs/adopt.md: what each style tells of what goes wrong."""
    section = (root / ADOPT).read_text(encoding="utf-8").split("## What goes wrong", 1)[1].split("\n## ", 1)[0]
    rows = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in section.splitlines() if line.startswith("| ")]
    if len(rows) < 10 or any(len(row) != 5 for row in rows):
        sys.exit(f"check-coverage: {ADOPT}: the table of what goes wrong has another form")
    return [{"what": row[0], "told": dict(zip(FAULT_STYLES, row[1:]))} for row in rows[1:]]


def written(root, table, coverages):
    """Sources/Porting/GeneratedTables.swift: all of it as JSON in the source, so that the command needs no file beside it."""
    parts = {"porting": {key: table[key] for key in ("styles", "groups", "rows")}, "linux": {
        "rows": table["linux"],
        "modules": sorted(folder.name for folder in (root / "Sources/Apple").iterdir() if folder.name[0] != "_" and not folder.name.startswith("Koine")),
        "rewritten": {key: table["rewritten"][key] for key in ("attributes", "renames")},
        "homes": homes(root, table["rewritten"]["homes"])},
        "faults": {"rows": faults(root)}}
    for coverage in coverages:
        declared = Declarations.reading(root, coverage["sources"])
        parts[coverage["style"]] = {
            "modules": coverage["modules"],
            "entries": [
                {key: row[key] for key in ("symbol", "status", "why") if row.get(key)} for row in coverage["entries"]],
            "types": types(declared)}
    parts["platform"] = {"types": types(Declarations.reading(root, ["Sources/Platform"]))}
    text = HEAD + "enum GeneratedTables {\n"
    for name, value in parts.items():
        swift = re.sub(r"-(\w)", lambda match: match.group(1).upper(), name)
        body = json.dumps(value, ensure_ascii=False, separators=(",", ":"), sort_keys=True)
        body = body.replace('},{', '},\n{').replace('},"', '},\n"')  # lines that a difference can show
        text += f'  static let {swift} = #"""\n{body}\n"""#\n'
    return text + "}\n"


APPLE = re.compile(r"(UI|AV|CA|CX|PK|RP|UN|CG|CM|CV|kCM|kCV|Audio)[A-Z][a-z]|Selector$")


def homes(root, others):
    """By module: the names of Apple's that are declared in it, with those of modules that are not Koine's."""
    found = dict(others)
    for folder in sorted((root / "Sources/Platform").iterdir()):
        if not (root / "Sources/Apple" / folder.name).is_dir():
            continue
        declared = Declarations.reading(root, [f"Sources/Platform/{folder.name}"])
        names = {name for name in declared.types if "." not in name and declared.types[name].kind != "extension"}
        names |= {name.split("(")[0] for owner, name in declared.members if owner == ""}
        found[folder.name] = sorted(name for name in names if APPLE.match(name))
    return found


def types(declared):
    """By name: what kind, of what parents, its members with the type of each, and of functions their parameters' types."""
    found = {}
    for name, told in declared.types.items():
        parents = [parent for parent in declared.parents.get(name, []) if parent not in declared.hidden]
        found[name] = {"kind": told.kind or "alias", "parents": parents, "members": {}}
    for (owner, name), told in declared.members.items():
        of = found.setdefault(owner, {"kind": "extension", "parents": declared.parents.get(owner, []), "members": {}})
        of["members"][name] = told.type
        if told.overloads and (of["kind"] == "protocol" or any("->" in type for types in told.overloads for type in types)):
            of.setdefault("parameters", {})[name] = told.overloads
    return found


# Checking


def check(root, write, coverages):
    """(offences, praise) of the table, its page and what the command brings along."""
    table = read(root)
    declared = {style: Declarations.reading(root, of["sources"]) for style, of in table["styles"].items()}
    examples = read_examples(root, table["styles"])
    found = [f"porting.json: {line}" for line in offences(table, declared, examples)]
    files = {WRITTEN: written(root, table, coverages), PAGE: lines(table, examples), ADOPT: hindrances(table)}
    for path, should in files.items():
        is_ = current(root / path)
        if path != WRITTEN:
            should = page(is_, should)
        if should is None:
            found.append(f"{path}: has no place for the table")
        elif is_ != should and write:
            (root / path).write_text(should, encoding="utf-8")
        elif is_ != should:
            found.append(f"{path}: is not current; Scripts/check-coverage --write makes it so")
    symbols = sum(len(symbols) for row in table["rows"] for symbols in row["symbols"].values())
    return found, f"{len(table['rows'])} rows of the porting table with {symbols} symbols, each declared"


def current(file):
    return file.read_text(encoding="utf-8") if file.exists() else ""


def self_test():
    declared = Declarations()
    declared.read('public class A { public func f() {}\n @available(*, unavailable, message: "") public func g() {} }', "s.swift")
    examples = examples_of("  // example: e\n  let a = 1\n\n    b()\n  // end\n// example: e\nc\n// end\n")
    failures = [] if examples == {"e": "let a = 1\n\n  b()\n\nc"} else [f"examples read wrongly: {examples}"]

    def breaches(table=None, **changes):
        row = {"id": "r", "group": "g", "does": "d", "symbols": {"s": ["A.f()"]}, "example": "e", **changes}
        table = {"styles": {"s": {"title": "S"}}, "groups": {"g": "G"}, "rows": [row] + (table or [])}
        return " / ".join(offences(table, {"s": declared}, {"s": examples}))

    cases = [
        (breaches(), ""), (breaches(symbols={"s": ["A.h()"]}), "declares no A.h()"), (breaches(symbols={"s": ["A.g()"]}), "unavailable"),
        (breaches(group="h"), "no title"), (breaches(note="n"), "fields"), (breaches(symbols={}), "neither symbols nor"),
        (breaches(symbols={}, instead={"s": "x"}), ""), (breaches(symbols={"t": ["A.f()"]}), "no style"),
        (breaches(example="z"), "has no example 'z'"), (breaches(example="z"), "no row names the example 'e'"),
        (breaches(read={"s": {"A.f()": {}}}, lost={"s": ["A"]}), ""), (breaches(read={"s": {"A.h()": "B"}}), "read: s declares no A.h()"),
        (breaches(lost={"s": ["A.h()"]}), "lost: s declares no A.h()"), (breaches(write={"t": "B.f()"}), "write: 't' is no style"),
        (breaches(slots=["one"], read={"s": {"A.f()": {"two": True}}}), "slots ['two'] that the row has not"),
        (breaches([{"id": "r", "group": "g", "does": "d", "symbols": {"s": ["A"]}}]), "told twice"),
    ]
    for got, wanted in cases:
        if (wanted not in got) if wanted else got:
            failures.append(f"porting: '{wanted or 'nothing'}' expected, got '{got}'")
    return failures, len(cases)
