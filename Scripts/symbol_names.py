"""Which symbols Swift code names: `Type.member(label:)` as the coverage files write them, looked for in code as it is written."""

import re

from swift_declarations import without_comments_and_strings

TYPED = re.compile(r"\b(\w+)\s*:\s*(?:any\s+)?([A-Z][\w.]*)")


class Names:
    def __init__(self, sources):
        self.text = "\n".join(without_comments_and_strings(source) for source in sources)
        self.words = set(re.findall(r"\w+", self.text))
        self.holders = {}  # type -> constants and parameters declared to be of it
        for name, of_type in TYPED.findall(self.text):
            self.holders.setdefault(of_type, set()).add(name)
        self.awaited = set()  # (method, labels)
        for call in re.finditer(r"\bawait\s+[\w.]*?\.(\w+)\(", self.text):
            self.awaited.add((call.group(1), self.labels_of_call(call.end() - 1)))

    def labels_of_call(self, at):
        """The labels with which the call is made whose parenthesis opens at `at`."""
        depth, labels, argument = 0, [], True
        while at < len(self.text):
            character = self.text[at]
            if depth == 1 and argument and (word := re.compile(r"\s*(?:(\w+)\s*:)?").match(self.text, at)):
                if self.text[word.end():word.end() + 1] != ")" or word.group(1):
                    labels.append(word.group(1) or "_")
                argument = False
                if word.group(1):
                    at = word.end()
                    continue
            depth += (character in "([{") - (character in ")]}")
            if depth == 0:
                break
            argument = argument and depth != 1 or depth == 1 and character in ",("
            at += 1
        return tuple(labels)

    def has(self, symbol):
        """Whether `symbol` is named: by its type, by something of that type, in a list of cases, or awaited with its labels."""
        path, labels = (symbol.split("(", 1) + [None])[:2]
        owner, _, name = path.rpartition(".")
        if name not in self.words:
            return False
        if not owner and labels is None:
            return True
        if labels is None and re.search(rf"(?<![\w.]){dotted(symbol)}\b", self.text):
            return True  # a type, a property or a case, by its whole name
        member = dotted(name) + ending(name, labels)
        if not owner:
            return bool(re.search(rf"(?<![\w.]){member}", self.text))
        receivers = "|".join([dotted(owner)] + [re.escape(one) for one in sorted(self.holders.get(owner, ()))])
        if re.search(rf"(?<![\w.])(?:{receivers})\s*[?!]?\.\s*{member}", self.text):
            return True
        if labels is None:
            return any(name in re.findall(r"\.`?(\w+)", cases) for cases in self.lists_of(owner))
        if labels == ")" and name == "init":
            return bool(re.search(rf"(?<![\w.]){dotted(owner)}\s*\(\s*\)", self.text))
        return (name, tuple(label for label in labels.rstrip(")").split(":") if label)) in self.awaited

    def lists_of(self, owner):
        return re.findall(rf"\[\s*({dotted(owner)}\s*\.[^\]]*)\]", self.text)


def dotted(path):
    """The path as code may write it: with back-ticks and line breaks."""
    return r"\s*\.\s*".join(f"`?{re.escape(word)}`?" for word in path.split("."))


def ending(name, labels):
    """What follows a method that is named but not called; nothing needs to follow a property."""
    if labels is None:
        return r"\b"
    words = [re.escape(label) + r"\s*:\s*" for label in labels.rstrip(")").split(":") if label]
    return r"\s*\(\s*" + "".join(words) + r"\)" if words else r"(?!\w|`?\s*\()"
