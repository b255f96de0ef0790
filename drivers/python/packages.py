# SPDX-License-Identifier: Apache-2.0
"""Answer pip, conda and the like in a box without a network: nothing can be installed. Say which packages there
are, and how to get more."""

import sys

import builtins

with driver.part("genuine").Genuine():
    import os
    import re
    import shlex
    import shutil

    import _socket

    versions = driver.part("versions")

INSTALL = re.compile(
    r"\s*(?:sudo\s+)?(?:(?:\S*python[\d.]*|uv)\s+(?:-m\s+)?)?(pip[\d.]*|conda|mamba|micromamba|pipenv|poetry|uv|apt|apt-get|apk|yum|dnf|brew)\s+(?:-\S+\s+)*"
    r"(install|uninstall|add|remove|download|update|upgrade|sync)\b(.*)", re.S,
)
# Commands that pip can execute itself, because they need no network
LOCAL = re.compile(r"(?:^|\s)(?:--no-index|--target|-t|--find-links|-f|--prefix|--root|--user\s+\S*/|-e|\.{0,2}/\S*|\.|\S+\.whl|\S+\.tar\.gz)(?=[\s=]|$)")
SEPARATOR = re.compile(r"&&|\|\||;|\||\d?>+|&|\n")
REQUIREMENT = re.compile(r"([A-Za-z0-9][\w.-]*)(?:\[[^\]]*\])?\s*(?:(\(?\s*[=<>!~][^;]*)|)(?:;.*)?$")
VALUED = ("-i", "--index-url", "--extra-index-url", "-c", "-n", "--name", "--channel", "--timeout", "--retries")
MODULES = {
    "opencv-python": "cv2", "opencv-python-headless": "cv2", "pyyaml": "yaml", "pillow": "PIL",
    "beautifulsoup4": "bs4", "scikit-learn": "sklearn", "scikit-image": "skimage", "python-dateutil": "dateutil",
}
WELL_KNOWN = (
    "numpy pandas scipy matplotlib seaborn plotly scikit-learn statsmodels sympy networkx pillow requests httpx "
    "beautifulsoup4 lxml openpyxl xlsxwriter xlrd pyarrow polars duckdb sqlalchemy torch tensorflow jax keras "
    "transformers xgboost lightgbm nltk spacy opencv-python scikit-image tqdm joblib pyyaml jinja2 pydantic "
    "tabulate pypdf pypdf2 python-docx python-pptx reportlab pytest ipython rich numba cython dask bokeh altair"
).split()
CONDAS = ("conda", "mamba", "micromamba")
SYSTEM = ("apt", "apt-get", "apk", "yum", "dnf", "brew")
HOW_PROGRAMS = (
    "Nothing can be installed here by a package manager of the system: that needs root. The programs of the box are those of "
    "the host's /usr, or of the directory given with --rootfs when the box is started."
)
HOW = (
    "Nothing can be installed here: the box has no network. It can be given one for packages: --net pypi when the box is "
    "started, or later `retort session net SESSION --add pypi`. Or it can be started with a virtual environment that has more "
    "packages: --python VENV."
)
NET = ("198.18.0.1", 0)  # an address of the box itself, if it has network rules


def has_network():
    """Return whether the box has network rules at this moment: they can be given while it runs."""
    probe = _socket.socket(_socket.AF_INET, _socket.SOCK_DGRAM)
    try:
        probe.bind(NET)
        return True
    except OSError:
        return False
    finally:
        probe.close()


def is_own(tool, verb):
    """Return whether the command is about packages that a step has installed."""
    return verb == "uninstall" and tool[:3] == "pip" and os.path.isdir(driver.Finder.user_site or "/-")


def installed():
    """Return a dict that maps the normalized name of each package to its version."""
    with driver.part("genuine").Genuine():
        from importlib import metadata
    driver.Finder.look_at_sites()
    found = {}
    for package in metadata.distributions():
        name = package.metadata["Name"]
        if name:
            found.setdefault(spelled(name), package.version)
    return found


def spelled(name):
    return re.sub(r"[-_.]+", "-", name).lower()


def pip_of_session():
    """
    Return a command for the pip of the session's interpreter, or "" if plain "pip" is that one. In a
    virtual environment without pip, the command can only list packages.
    """
    installed()  # this adds the site directories, in which find_spec() looks for pip
    from importlib import util

    beside, python = shutil.which("pip"), shlex.quote(sys.executable)
    if util.find_spec("pip") is None:
        return "%s -I %s" % (python, shlex.quote(driver.HERE + "/pip_list.py"))
    if beside is None or os.path.dirname(beside) != os.path.dirname(sys.executable):
        return python + " -m pip"
    return ""


def answer(command):
    """
    Answer a command that would install something. Returns: (exit status, the remaining command for the
    shell); None for other commands.
    """
    found = INSTALL.match(command)
    if not found:
        return None
    text, rest = found[3], ""
    cut = SEPARATOR.search(re.sub(r"(['\"])(?:(?!\1).)*\1", lambda m: "_" * len(m[0]), text))
    if cut:
        mark, rest = cut[0], text[cut.end() :].strip()
        text = text[: cut.start()]
        if mark not in ("&&", "||", ";", "\n"):
            # Redirections and filters, such as `2>/dev/null` and `| tail -1`, only change the output.
            further = re.search(r"&&|\|\||;|\n", rest)
            mark, rest = (further[0], rest[further.end() :]) if further else ("", "")
    if LOCAL.search(text) or is_own(found[1], found[2]) or found[1] not in SYSTEM and has_network():
        return None
    status = reply(found[1], found[2], text)
    if cut and mark == "&&" and status:
        rest = (re.split(r"\|\||;|\n", rest, maxsplit=1) + [""])[1]
    elif cut and mark == "||" and not status:
        rest = (re.split(r"&&|;|\n", rest, maxsplit=1) + [""])[1]
    return status, rest.strip()


def wanted(text):
    try:
        given = shlex.split(text)
    except ValueError:
        given = text.split()
    out = []
    while given:
        word = given.pop(0)
        if word in ("-r", "--requirement"):
            out += listed(given.pop(0) if given else "")
        elif word in VALUED:
            del given[:1]
        elif word[:1] != "-":
            out.append(word)
    return out


def listed(path):
    with open(path, encoding="utf-8") as file:
        lines = [re.sub(r"(^|\s)#.*", "", line).strip() for line in file]
    return [line for line in lines if line and line[0] != "-"]


def module_of(name):
    """Return a hint if a module of this name exists although no package does; otherwise ""."""
    from importlib import util

    module = MODULES.get(name, name.replace("-", "_"))
    try:
        return "as module %s" % module if module.isidentifier() and util.find_spec(module) else ""
    except Exception:
        return ""


def unsatisfied(tool, version, clauses):
    """Return why the installed version does not satisfy the requirement; "" if it does."""
    if tool in CONDAS:
        clauses = re.sub(r"(^|,)\s*=\s*([^=,\s*]+)(?:\.?\*)?", r"\1==\2.*", clauses)
    try:
        if versions.satisfies(version, clauses):
            return ""
    except ValueError as error:
        return "%s. The installed version is %s" % (error, version)
    return "the installed version %s does not satisfy it, and no other is available" % version


def reply_programs(tool, words):
    """Answer a command that installs programs: say which of the programs exist."""
    there = [word for word in words if shutil.which(word)]
    if there:
        builtins.print("%s: already installed: %s" % (tool, " ".join(there)))
    missing = [word for word in words if word not in there]
    if missing or not there:
        names = "not installed: %s. " % " ".join(missing) if missing else ""
        builtins.print("ERROR: %s: %s%s" % (tool, names, HOW_PROGRAMS), file=sys.stderr)
    return 1 if missing or not there else 0


def reply(tool, verb, text):
    try:
        words = wanted(text)
    except (OSError, UnicodeDecodeError) as error:
        builtins.print("ERROR: Could not open requirements file: %s" % error, file=sys.stderr)
        return 1
    if tool in SYSTEM:
        return reply_programs(tool, words)
    with driver.part("genuine").Genuine():
        import difflib
    there, missing, status = installed(), [], 0
    if verb in ("uninstall", "remove"):
        builtins.print("%s: the packages of a box are read-only; nothing was removed." % tool, file=sys.stderr)
        return 1
    for word in words:
        found = REQUIREMENT.match(word)
        name = spelled(found[1]) if found else word
        version = there.get(name)
        other = unsatisfied(tool, version, found[2]) if version and found[2] else ""
        if other:
            builtins.print("ERROR: %s: %s: %s" % (tool, word, other), file=sys.stderr)
            status = 1
        elif version or module_of(name):
            note = " (asked for: %s; its version is not known)" % word if found[2] and not version else ""
            builtins.print("Requirement already satisfied: %s %s%s" % (name, version or module_of(name), note))
        else:
            missing.append(word)
    if not text.strip():
        builtins.print("ERROR: %s: no package is named in the command." % tool, file=sys.stderr)
        status = 1
    for word in missing:
        near = difflib.get_close_matches(spelled(word.split("=")[0]), list(there), 3, 0.6)
        line = "ERROR: %s: %s is not installed." % (tool, word)
        if near:
            line += " Similar names: %s." % ", ".join(near)
        builtins.print(line, file=sys.stderr)
        status = 1
    if status:
        builtins.print(HOW, file=sys.stderr)
        known = ["%s %s" % (name, there[name]) for name in WELL_KNOWN if name in there]
        if known:
            builtins.print("Installed: %s." % ", ".join(known), file=sys.stderr)
    return status
