"""What Swift sources declare, by name: enough of the grammar to find `Type.member(label:)` in them, and their tests."""

import re

ATTRIBUTE = r"@\w+(?:\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\))?"
MODIFIER = (
    r"(?:public|open|package|internal|private|fileprivate)(?:\(set\))?|static|class(?=\s+(?:func|var|let|subscript))|final"
    r"|override|nonisolated(?:\(\w+\))?|weak|unowned|mutating|convenience|required|lazy|indirect|dynamic|prefix|optional")
DECLARATION = re.compile(
    rf"(?P<before>(?:(?:{ATTRIBUTE}|\b(?:{MODIFIER}))\s+)*)"
    r"(?:\b(?P<type>class|struct|enum|protocol|actor|extension)\s+(?P<type_name>[\w.]+)"
    r"|\b(?P<alias>typealias|associatedtype)\s+(?P<alias_name>\w+)"
    r"|\bfunc\s+(?P<func>[^\s(<]+)|\b(?P<init>init)(?=[?!]?\s*[(<])|\b(?P<subscript>subscript)(?=\s*[(<])"
    r"|\b(?:var|let)\s+(?P<var>\w+(?:\s*,\s*\w+)*)|\bcase\s+(?P<case>[\w`]))|(?P<brace>[{}])")


RESULT = re.compile(r"\s*(?:async\b\s*)?(?:throws\b(?:\([^)]*\))?\s*|rethrows\b\s*)?->\s*([^{\n]+?)\s*(?=\bwhere\b|\{|\n|\}|$)")
TYPE = re.compile(r"\s*:\s*([^={\n]+?)\s*(?=[={\n,}]|$)|\s*=\s*([A-Z][\w.]*)\(")


class Declaration:
    def __init__(self, place, is_public, is_unavailable):
        self.place, self.is_public, self.is_unavailable = place, is_public, is_unavailable
        self.kind = None  # of a type: class, protocol, …
        self.type = ""  # a member's, or what it gives back, as written
        self.overloads = []  # of a function: the types of its parameters, as written


class Declarations:
    def __init__(self):
        self.members = {}  # (type or "", name with labels) -> Declaration
        self.types = {}  # type -> Declaration
        self.parents = {}  # type -> names after its colon, or what it is an alias of
        self.hidden = set()  # protocols that are not public: they add no member that an app can see
        self.test_names = set()

    @staticmethod
    def reading(root, folders):
        found = Declarations()
        for folder in folders:
            for file in sorted((root / folder).rglob("*.swift")):
                found.read(file.read_text(encoding="utf-8"), str(file.relative_to(root)))
        return found

    def tests(self):
        return self.test_names

    def find(self, symbol):
        """The public declaration of `Type`, `Type.member`, `Type.method(label:)` or `function(label:)`, own or inherited."""
        path, labels = (symbol.split("(", 1) + [None])[:2]
        owner, _, name = path.rpartition(".")
        if labels is not None:
            name += "(" + labels
        elif symbol in self.types:
            return self.types[symbol]
        return self.member(owner, name, set())

    def member(self, owner, name, asked):
        if owner in asked:
            return None
        asked.add(owner)
        if (owner, name) in self.members:  # of an extension of another module's type, too
            return self.members[owner, name]
        inherited = (self.member(parent, name, asked) for parent in self.parents.get(owner, []))
        return next((found for found in inherited if found), None)

    # Reading

    def read(self, source, file):
        text = re.sub(r"(?m)^.*\bimport\s.*$", "", without_comments_and_strings(source))
        scopes, at = [], 0  # of each open brace: (type, is its members' default public) or None
        while match := DECLARATION.search(text, at):
            at = match.end()
            if match["brace"] == "{":
                scopes.append(None)
            elif match["brace"]:
                scopes = scopes[:-1]
            elif not scopes or scopes[-1]:
                at = self.declare(match, text, scopes, f"{file}:{text.count(chr(10), 0, match.end()) + 1}")

    def declare(self, match, text, scopes, place):
        owner, default_public = scopes[-1] if scopes else ("", False)
        before = match["before"]
        is_public = bool(re.search(r"\b(public|open)\b(?!\()", before)) or default_public
        told = Declaration(place, is_public, bool(re.search(r"@available\(\s*\*\s*,\s*unavailable", before)))
        told.kind = match["type"]
        if match["type"]:
            return self.declare_type(match, text, scopes, told)
        if match["alias"]:
            name = f"{owner}.{match['alias_name']}".lstrip(".")
            self.remember(self.types, name, told)
            end = text.find("\n", match.end())
            self.parents.setdefault(name, []).extend(re.findall(r"[\w.]+", text[match.end():end]))
        elif match["func"] or match["init"] or match["subscript"]:
            name = (match["func"] or match["init"] or match["subscript"]).strip("`")
            if re.search(r"@Test\b", before):
                self.test_names.add(f"{owner}.{name}".lstrip("."))
            labels, types, end = parameters_after(text, match.end())
            result = RESULT.match(text, end)
            told.type = owner if name == "init" else result.group(1) if result else ""
            told.overloads = [types]
            key = (owner, f"{name}({''.join(label + ':' for label in labels)})")
            if key in self.members and types not in self.members[key].overloads:
                self.members[key].overloads.append(types)
            self.remember(self.members, key, told)
            return end
        elif match["var"]:
            of = TYPE.match(text, match.end())
            told.type = (of.group(1) or of.group(2)) if of else ""
            for name in re.split(r"\s*,\s*", match["var"]):
                self.remember(self.members, (owner, name), told)
        elif match["case"]:
            names, end = case_names(text, match.end() - 1)
            told.is_public, told.type = owner in self.types, owner  # as its enumeration
            for name in names:
                self.remember(self.members, (owner, name), told)
            return end
        return match.end()

    def declare_type(self, match, text, scopes, told):
        opening = text.find("{", match.end())
        if opening < 0:
            return match.end()
        outer = scopes[-1][0] if scopes else ""
        name = f"{outer}.{match['type_name']}".lstrip(".")
        heading = text[match.end():opening]
        self.parents.setdefault(name, []).extend(re.findall(r"[\w.]+", heading.partition(":")[2].split(" where ")[0]))
        if match["type"] == "protocol" and not told.is_public:
            self.hidden.add(name)
        if match["type"] != "extension":
            self.remember(self.types, name, told)
        scopes.append((name, told.is_public and match["type"] in ("protocol", "extension")))
        return opening + 1

    def remember(self, where, key, told):
        if told.is_public and (key not in where or where[key].is_unavailable):
            where[key] = told


def without_comments_and_strings(source):
    """The same text with comments and the insides of strings blanked, line by line where it was."""
    out, at, end = [], 0, len(source)
    while at < end:
        two = source[at:at + 2]
        if two == "//":
            stop = source.find("\n", at)
            at = end if stop < 0 else stop
        elif two == "/*":
            stop, depth = at + 2, 1
            while stop < end and depth:
                step = source[stop:stop + 2]
                depth += (step == "/*") - (step == "*/")
                stop += 2 if step in ("/*", "*/") else 1
            out.append("\n" * source.count("\n", at, stop))
            at = stop
        elif source[at] == '"' or (source[at] == "#" and re.match(r'#+"', source[at:at + 6])):
            stop = end_of_string(source, at)
            out.append('""' + "\n" * source.count("\n", at, stop))
            at = stop
        else:
            out.append(source[at])
            at += 1
    return "".join(out)


def end_of_string(source, at):
    hashes = len(source[at:]) - len(source[at:].lstrip("#"))
    at += hashes
    quote = '"""' if source.startswith('"""', at) else '"'
    at += len(quote)
    escape, closing = "\\" + "#" * hashes, quote + "#" * hashes
    while at < len(source):
        if source.startswith(closing, at):
            return at + len(closing)
        if source.startswith(escape + "(", at):
            at, depth = at + len(escape) + 1, 1
            while at < len(source) and depth:
                if source[at] == '"':
                    at = end_of_string(source, at)
                    continue
                depth += (source[at] == "(") - (source[at] == ")")
                at += 1
        elif source.startswith(escape, at):
            at += len(escape) + 1
        else:
            at += 1
    return at


def parameters_after(text, at):
    """The argument labels and the types of the parameter list that begins after `at`, and where it ends."""
    opening = text.find("(", at)
    if opening < 0:
        return [], [], at
    parts, depth, start, at = [], 0, opening + 1, opening
    while at < len(text):
        depth += (text[at] in "([{") - (text[at] in ")]}")
        if (text[at] == "," and depth == 1) or depth == 0:
            parts.append(text[start:at])
            start = at + 1
        at += 1
        if depth == 0:
            break
    words = [re.match(rf"\s*(?:{ATTRIBUTE}\s+)*(\w+)[^:]*(?::\s*([^=]*))?", part) for part in parts]
    return [word.group(1) for word in words if word], [(word.group(2) or "").strip() for word in words if word], at


def case_names(text, at):
    """The names of an enumeration's `case` line that begins at `at`, and where it ends."""
    names, depth, expecting = [], 0, True
    while at < len(text):
        word = re.compile(r"`?(\w+)`?").match(text, at) if expecting and depth == 0 else None
        if word:
            names.append(word.group(1))
            at, expecting = word.end(), False
            continue
        depth += (text[at] in "([") - (text[at] in ")]")
        if depth == 0 and text[at] == ",":
            expecting = True
        elif depth == 0 and (text[at] in ";}" or (text[at] == "\n" and not expecting)):
            break
        at += 1
    return names, at
