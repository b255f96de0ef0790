#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The header is the manual, and links between documents lead somewhere.

Each header begins with what it is, and each prototype has its comment.

A comment counts for the prototypes that follow it without a blank line, or, when it stands alone, for
all that follow up to the next comment, as does that of a type. What only ends or sets up storage (_done, _free, _init of one
type) needs none.

A link in a Markdown file names a file that exists and, after #, one of its headings. Code, tests and tables name
documents by their path (docs/…/x.md): those exist, too.

usage: dev/check_docs.py [ROOT]
"""

import os
import re
import sys

PROTOTYPE = re.compile(r"^(?!typedef|return|#)[a-z][\w\s*]*?\b(\w+)\([^;{]*\)[^;{=]*;", re.S)
PLAIN = re.compile(r"_(done|free|init)$")
LINK = re.compile(r"\[[^]]*\]\(([^)\s]+)\)|<img [^>]*src=\"([^\"]+)\"")
HEADING = re.compile(r"^#{1,6} +(.*?) *$", re.M)
FENCED = re.compile(r"^```.*?^```$", re.M | re.S)
NAMED = re.compile(r"(?<![\w/.-])docs/[\w./-]+\.(?:md|svg)\b")
# Trees without documents of ours.
NOT_OURS = {".git", "node_modules", "corpus", "golden"}
SOURCE = (".c", ".h", ".def", ".inc", ".py", ".js", ".md", ".scd", ".build", ".sh", ".service", ".exceptions", "Makefile")


def blocks(text):
    """Pieces between blank lines outside comments: (line number, text)."""
    block, start, in_comment = [], 1, False
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip() and not in_comment:
            if block:
                yield start, "\n".join(block)
            block, start = [], number + 1
            continue
        block.append(line)
        rest = re.sub(r"/\*.*?\*/", "", line)
        in_comment = "/*" in rest or (in_comment and "*/" not in rest)
    if block:
        yield start, "\n".join(block)


def check_header(path, text):
    first = text.split("\n", 2)[:2]
    if not first[0].startswith("/*"):
        yield f"{path}:1: does not begin with what it is"
    is_covered = False
    for number, block in blocks(text):
        code = re.sub(r"/\*.*?\*/", lambda m: "\n" * m[0].count("\n"), block, flags=re.S)
        has_comment = block.lstrip().startswith("/*")
        if has_comment and not code.strip():
            is_covered = "SPDX" not in block
            continue
        # Bodies of structs, enums and inline functions are no prototypes.
        code = re.sub(r"\{[^{}]*\}", lambda m: "\n" * m[0].count("\n"), code)
        code = re.sub(r"\{[^{}]*\}", lambda m: "\n" * m[0].count("\n"), code)
        code = re.sub(r"^#.*(\\\n.*)*", "", code, flags=re.M)
        is_covered = is_covered or has_comment
        found = [PROTOTYPE.match(statement.strip()) for statement in re.findall(r"[^;]+;", code)]
        names = [match[1] for match in found if match]
        for name in names:
            if not is_covered and not PLAIN.search(name):
                yield f"{path}:{number}: {name} has no comment"
        # The comment of a type goes on to what is done with it.
        is_covered = is_covered and not (has_comment and names)


def read(path):
    with open(path, encoding="utf-8") as f:
        return f.read()


def sources(root):
    """Paths, relative to @root, of files that may name a document."""
    for top, folders, names in os.walk(root):
        folders[:] = sorted(f for f in folders if f not in NOT_OURS and not f.startswith("build"))
        for name in sorted(names):
            if name.endswith(SOURCE) and not os.path.islink(os.path.join(top, name)):
                yield os.path.relpath(os.path.join(top, name), root)


def anchors(path):
    """The fragments that a heading can be linked by, as GitHub makes them."""
    return {re.sub(r"[^\w\- ]", "", heading.replace("`", "").lower()).replace(" ", "-")
            for heading in HEADING.findall(FENCED.sub("", read(path)))}


def check_links(root, path, text):
    for target in filter(None, (a or b for a, b in LINK.findall(FENCED.sub("", text)))):
        if re.match(r"[a-z]+:", target):
            continue
        name, _, anchor = target.partition("#")
        where = os.path.join(root, os.path.dirname(path), name) if name else os.path.join(root, path)
        if not os.path.exists(where):
            yield f"{path}: links to {target}, which does not exist"
        elif anchor and anchor not in anchors(where):
            yield f"{path}: links to {target}, but there is no such heading"


def check_documents(root):
    """The problems, and the number of Markdown files."""
    problems, n_documents = [], 0
    for path in sources(root):
        text = read(os.path.join(root, path))
        problems += [f"{path}: names {name}, which does not exist" for name in sorted(set(NAMED.findall(text)))
                     if not os.path.exists(os.path.join(root, name))]
        if path.endswith(".md"):
            n_documents += 1
            problems += check_links(root, path, text)
    return problems, n_documents


def main():
    root = sys.argv[1] if len(sys.argv) > 1 else os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    problems, n_documents = check_documents(root)
    n_files = 0
    for top, _, names in sorted(os.walk(os.path.join(root, "src"))):
        for name in sorted(names):
            if name.endswith(".h"):
                n_files += 1
                path = os.path.join(top, name)
                problems += check_header(os.path.relpath(path, root), read(path))
    print("\n".join(problems + [f"docs: {n_files} headers, {n_documents} documents, {len(problems)} problems"]))
    return 1 if problems or not n_files or not n_documents else 0


if __name__ == "__main__":
    sys.exit(main())
