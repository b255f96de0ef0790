# SPDX-License-Identifier: Apache-2.0
"""`pip list`, `show`, `freeze` and `check` for an interpreter without pip; `pip install` if there is uv.

  usage: python -I pip_list.py VERB [ARGUMENTS]

This is a program of its own, because the output of a command can be redirected to a pipe or file. It
reads importlib.metadata."""

import json
import os
import re
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import versions  # noqa: E402

del sys.path[0]
from importlib import metadata  # noqa: E402

USER_SITE = os.path.expanduser("~/.local/lib/python%d.%d/site-packages" % sys.version_info[:2])
REQUIREMENT = re.compile(r"\s*([A-Za-z0-9][\w.-]*)\s*(?:\[[^\]]*\])?\s*([^;]*)")


def spelled(name):
    return re.sub(r"[-_.]+", "-", name).lower()


def installed():
    """Return a dict that maps the normalized name of each package to its distribution, sorted."""
    found = {}
    for package in metadata.distributions(path=[USER_SITE, *sys.path]):
        if package.metadata.get("Name"):
            found.setdefault(spelled(package.metadata.get("Name")), package)
    return dict(sorted(found.items()))


def required(package):
    """
    Return (name, clauses) for each requirement of a package. Requirements with a marker are skipped, because
    they may apply only to other systems.
    """
    rows = [REQUIREMENT.match(line) for line in package.requires or [] if ";" not in line]
    return sorted([(row[1], row[2].strip()) for row in rows if row])


def show_list(packages, given):
    rows = [(p.metadata.get("Name"), p.version) for p in packages.values()]
    form = [word.partition("=")[2] for word in given if word.startswith("--format=")]
    if "--format" in given[:-1]:
        form = [given[given.index("--format") + 1]]
    if form == ["json"]:
        print(json.dumps([{"name": name, "version": version} for name, version in rows]))
    elif form == ["freeze"]:
        show_freeze(packages, given)
    elif rows:
        rows.insert(0, ("Package", "Version"))
        wide = [max(len(row[i]) for row in rows) for i in (0, 1)]
        rows.insert(1, tuple("-" * n for n in wide))
        for row in rows:
            print("%-*s %s" % (wide[0], *row))
    return 0


def show_freeze(packages, given):
    for package in packages.values():
        print("%s==%s" % (package.metadata.get("Name"), package.version))
    return 0


def show_packages(packages, given):
    names = [word for word in given if word[:1] != "-"]
    missing = [name for name in names if spelled(name) not in packages]
    if missing:
        print("WARNING: Package(s) not found: %s" % ", ".join(missing), file=sys.stderr)
    found = [packages[spelled(name)] for name in names if spelled(name) in packages]
    for number, package in enumerate(found):
        if number:
            print("---")
        data, own = package.metadata, spelled(package.metadata.get("Name"))
        for label in ("Name", "Version", "Summary", "Home-page", "Author", "Author-email", "License"):
            print("%s: %s" % (label, (data.get(label) or "").split("\n")[0]))
        print("Location: %s" % package.locate_file(""))
        print("Requires: %s" % ", ".join([name for name, _ in required(package)]))
        by = [p.metadata.get("Name") for p in packages.values() if own in [spelled(name) for name, _ in required(p)]]
        print("Required-by: %s" % ", ".join(by))
    return 0 if found else 1


def check(packages, given):
    broken = 0
    for package in packages.values():
        for name, clauses in required(package):
            there, own = packages.get(spelled(name)), "%s %s" % (package.metadata.get("Name"), package.version)
            try:
                if there is None:
                    print("%s requires %s, which is not installed." % (own, name))
                elif not versions.satisfies(there.version, clauses):
                    print("%s has requirement %s%s, but you have %s %s." % (own, name, clauses, name, there.version))
                else:
                    continue
            except ValueError:
                continue  # a URL, or a version of an unknown form
            broken = 1
    if not broken:
        print("No broken requirements found.")
    return broken


VERBS = {"list": show_list, "show": show_packages, "freeze": show_freeze, "check": check}


def install(argv):
    """Have uv install into the user's site directory, if there is uv."""
    uv = next((path for path in [os.path.join(p, "uv") for p in os.get_exec_path()] if os.access(path, os.X_OK)), None)
    if uv is None:
        print("ERROR: no pip in %s, and no uv in PATH: choose a Python that has pip (--python), or install it on the "
              "host: apt install python3-pip" % sys.prefix, file=sys.stderr)
        return 1
    os.execv(uv, ["uv", "pip", "install", "--python", sys.executable, "--target", USER_SITE, *argv])


def main(argv):
    if "install" in argv[:1]:
        return install(argv[1:])
    verb = next((word for word in argv if word in VERBS), None)
    if verb is None:
        print("no pip in %s: list, show, freeze and check are answered without it" % sys.prefix)
        return 0
    if "--outdated" in argv or verb == "list" and "-o" in argv:
        print("ERROR: cannot tell which packages are outdated: the box has no network", file=sys.stderr)
        return 1
    try:
        status = VERBS[verb](installed(), argv[argv.index(verb) + 1 :])
        sys.stdout.flush()
        return status
    except BrokenPipeError:  # the reader, such as head, has closed the pipe
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
