"""The tables of the vendors' HTTP APIs: one row per operation, in Docs/apis/<api>.coverage.json.

`Scripts/check-coverage` checks them against the code and the tests, and writes them into Docs/apis/<api>.md. `Scripts/check-apis` checks
that the SDKs have called what the rows say.

A row's status, and what is checked of it:
  works     `route` is a case of the API's switch, and `test` or `step` (or both) show it; `step` is a step of the API's check
  refused   `error` is the code that the SDK shows. `route` is a case of the switch, or the operation falls to its default
"""

import json
import re

MARKS = ["core", "extended", "never"]
STATUSES = ["works", "refused"]
FIELDS = {"section", "operation", "request", "mark", "status", "route", "test", "step", "error", "why"}
BEGIN, END = "<!-- Written by Scripts/check-coverage from %s: begin -->", "<!-- end -->"


class Table:
    """The table of one HTTP API."""

    def __init__(self, file):
        self.file = file
        content = json.loads(file.read_text(encoding="utf-8"))
        self.name = file.name.removesuffix(".coverage.json")
        self.vendor, self.check = content["vendor"], content["check"]
        self.sources, self.tests, self.sections = content["sources"], content["tests"], content["sections"]
        self.rows = content["entries"]

    def rows_that(self, **members):
        return [row for row in self.rows if all(row.get(name) == value for name, value in members.items())]

    def operation(self, method, path):
        """The name of the operation with this request, by the rows' templates; the one with the fewest variables of several."""
        found = []
        for row in self.rows:
            wanted, template = row["request"].split(" ", 1)
            parts = re.split(r"\{[^}]*\}", template.split("?")[0])
            pattern = "[^/]+".join(re.escape(part) for part in parts)
            if wanted == method and re.fullmatch(pattern, path):
                found.append((len(parts), row["operation"]))
        return min(found)[1] if found else None


def all_tables(root):
    return [Table(file) for file in sorted((root / "Docs/apis").glob("*.coverage.json"))]


def routes(text, name):
    """The cases of the switch in the function of this name, such as `("POST", 1, "rooms", _)` or `"CreateStage"`, or the strings of
    the set of this name.
    """
    found = set()
    of_set = re.search(rf"static let {name}: Set<String> = \[(.*?)\]", text, re.DOTALL)
    if of_set:
        return set(re.findall(r'"\w+"', of_set.group(1)))
    body = text.partition(f"func {name}(")[2].split("\n  }\n", 1)[0]
    for case in re.findall(r"^    case (.*?):(?: |$)", body, re.MULTILINE | re.DOTALL):
        found |= set(re.findall(r'\("[A-Z]+", [^()]*\)(?: where [^:,]*(?:&& [^:,]*)?)?', case)) or set(re.findall(r'"\w+"', case))
    return found


def steps(text):
    """The steps of a check."""
    return set(re.findall(r'context\.step\(\s*"([^"]+)"\)', text))


def offences(table, routed, tests, known_steps):
    """One line for everything that is not as the rows say.

    `routed` are the routes of the code, `tests` the names of the tests, and `known_steps` the steps of the API's check.
    """
    seen, used = set(), set()
    for row in table.rows:
        name, status = row.get("operation", "?"), row.get("status")
        if set(row) - FIELDS:
            yield f"{name}: unknown field {sorted(set(row) - FIELDS)}"
        if (row.get("section"), name) in seen:
            yield f"{name}: told twice"
        seen.add((row.get("section"), name))
        if row.get("mark") not in MARKS:
            yield f"{name}: mark '{row.get('mark')}'"
        if row.get("section") not in table.sections:
            yield f"{name}: section '{row.get('section')}' has no title"
        if status not in STATUSES:
            yield f"{name}: status '{status}'"
        if row.get("mark") == "core" and status != "works":
            yield f"{name}: a [core] operation has to work"
        route = row.get("route")
        for each in route if isinstance(route, list) else [route] if route else []:
            used.add(each)
            if each not in routed:
                yield f"{name}: the code has no route {each}"
        if status == "works" and not route:
            yield f"{name}: works, and names no route of the code"
        if status == "works" and not (row.get("test") or row.get("step")):
            yield f"{name}: works, and nothing shows it"
        if status == "refused" and not row.get("error"):
            yield f"{name}: refused, and does not say by which error"
        if status == "refused" and not row.get("why"):
            yield f"{name}: refused, and does not say why"
        if row.get("test") and row["test"] not in tests:
            yield f"{name}: there is no test '{row['test']}'"
        if row.get("step") and row["step"] not in known_steps:
            yield f"{name}: {table.check} has no step '{row['step']}'"
    for each in sorted(routed - used):
        yield f"the code serves {each}, and no row says so"


def written(table):
    """The generated part of the API's page."""
    rows = table.rows
    yield "| | " + " | ".join(STATUSES) + " |"
    yield "|---|" + "---|" * len(STATUSES)
    for mark in MARKS:
        counts = [len(table.rows_that(mark=mark, status=status)) for status in STATUSES]
        yield f"| {mark} | " + " | ".join(str(count) for count in counts) + " |"
    for key, title in table.sections.items():
        yield ""
        yield f"## {title}"
        yield ""
        yield "| operation | request | | status | shown by, or why |"
        yield "|---|---|---|---|---|"
        for row in rows:
            if row["section"] != key:
                continue
            shown = [f"`{row['test']}`"] if row.get("test") else []
            shown += [f"step “{row['step']}”"] if row.get("step") else []
            shown += [row["why"]] if row.get("why") else []
            status = f"`{row['error']}`" if row["status"] == "refused" else row["status"]
            yield f"| {row['operation']} | `{row['request']}` | {row['mark']} | {status} | {'; '.join(shown)} |"


def page(text, table):
    """The page with its table as it should be; None if it has no place for it."""
    begin = BEGIN % table.file.name
    if begin not in text or END not in text.split(begin, 1)[1]:
        return None
    head, rest = text.split(begin, 1)
    return head + begin + "\n" + "\n".join(written(table)) + "\n" + END + rest.split(END, 1)[1]


def check(root, write, reading_tests):
    """Checks all tables. `reading_tests` gives the names of the tests in folders of the root."""
    found, count, core = [], 0, 0
    for table in all_tables(root):
        count += len(table.rows)
        core += len(table.rows_that(mark="core"))
        routed = set()
        for source, names in table.sources.items():
            text = (root / source).read_text(encoding="utf-8")
            for name in names:
                routed |= routes(text, name)
        known_steps = steps((root / table.check).read_text(encoding="utf-8"))
        found += [f"{table.file.name}: {line}" for line in offences(table, routed, reading_tests(table.tests), known_steps)]
        document = table.file.parent / f"{table.name}.md"
        text = document.read_text(encoding="utf-8")
        wanted = page(text, table)
        if wanted is None:
            found.append(f"{document.name}: has no place for the table")
        elif wanted != text and write:
            document.write_text(wanted, encoding="utf-8")
        elif wanted != text:
            found.append(f"{document.name}: the table is not current; Scripts/check-coverage --write makes it so")
    return found, f"{count} operations of HTTP APIs, {core} of them core"


def self_test():
    """Proves that every rule can fail."""
    code = (
        '  func perform(_ x: Int) {\n    switch x {\n    case ("POST", 1, "rooms", _): return 1\n'
        '    case ("GET", 2, "rooms", _), ("PUT", 2, "rooms", _) where path[1] == "a" && path[0] == "b":\n      return 2\n'
        '    case "CreateStage": return 3\n    default: break\n    }\n  }\n  func other() {\n    case ("GET", 9, _): break\n  }\n'
        '  static let no: Set<String> = [\n    "A", "B",\n  ]\n')
    failures = []
    wanted = {'("POST", 1, "rooms", _)', '("GET", 2, "rooms", _)', '("PUT", 2, "rooms", _) where path[1] == "a" && path[0] == "b"',
              '"CreateStage"'}
    if routes(code, "perform") != wanted:
        failures.append(f"routes read wrongly: {routes(code, 'perform')}")
    if routes(code, "no") != {'"A"', '"B"'} or routes(code, "none"):
        failures.append("sets read wrongly")
    if steps('context.step("a, b")\n context.step(\n "c")') != {"a, b", "c"}:
        failures.append("steps read wrongly")

    def breaches(*more, **changes):
        table = Table.__new__(Table)
        row = {"section": "1", "operation": "O", "request": "POST /o", "mark": "core", "status": "works", "route": "r", "test": "T.t",
               "step": "s", **changes}
        table.check, table.sections = "check.py", {"1": "One"}
        table.rows = [{name: value for name, value in row.items() if value is not None}, *more]
        return " / ".join(offences(table, {"r"}, {"T.t"}, {"s"}))

    twice = {"section": "1", "operation": "O", "request": "POST /o", "mark": "never", "status": "refused", "error": "e", "why": "w"}
    refused = {"mark": "never", "status": "refused", "error": "e", "why": "w"}
    cases = [
        (breaches(), ""), (breaches(test="T.no"), "no test"), (breaches(step="no"), "has no step"), (breaches(route="x"), "no route"),
        (breaches(route=None), "names no route"), (breaches(route=None), "no row says so"), (breaches(mark="x"), "mark"),
        (breaches(section="2"), "no title"), (breaches(status="x"), "status"), (breaches(note="n"), "unknown field"),
        (breaches(test=None, step=None), "nothing shows it"), (breaches(**refused), ""), (breaches(**{**refused, "why": None}), "why"),
        (breaches(**{**refused, "error": None}), "which error"), (breaches(**{**refused, "mark": "core"}), "has to work"),
        (breaches(twice), "told twice"), (breaches(route=["r"]), ""), (breaches(route=["r", "x"]), "no route x"),
    ]
    for got, expected in cases:
        if (expected not in got) if expected else got:
            failures.append(f"'{expected or 'nothing'}' expected, got '{got}'")
    table = Table.__new__(Table)
    table.rows = [{"operation": "get", "request": "GET /rooms/{id}"}, {"operation": "validate", "request": "GET /rooms/validate"}]
    if (table.operation("GET", "/rooms/validate"), table.operation("GET", "/rooms/8%3A1")) != ("validate", "get"):
        failures.append("operations are matched wrongly")
    if table.operation("PUT", "/rooms/1") or table.operation("GET", "/rooms/1/x"):
        failures.append("an operation is matched that is none")
    return failures, len(cases) + 4
