# SPDX-License-Identifier: Apache-2.0
"""retort.skills: functions stored in /skills, and how to propose one."""

import sys

import _frozen_importlib_external
import posix

state = driver.state
calls = driver.part("calls")
PLAIN = type(sys)
ENDING = ".py"


class Skills(driver.Module):
    """Stored functions: retort.skills.NAME(…), or `from retort.skills import NAME`; save() proposes one."""

    def __getattr__(self, name):
        if name[:1] == "_":
            raise AttributeError(name)
        if name not in skills():
            have = driver.part("tools").listing(skills()) or "none"
            raise AttributeError("retort.skills has no skill %s: there are %s" % (name, have))
        _frozen_importlib_external.PathFinder.invalidate_caches()
        __import__("retort.skills." + name)
        return vars(self)[name]

    def __setattr__(self, name, value):
        """
        Set an attribute. When a skill is imported, the import system sets its module here. The program wants
        the skill's function, which has the same name, so that is set instead.
        """
        if isinstance(value, PLAIN) and callable(vars(value).get(name)):
            value = vars(value)[name]
        super().__setattr__(name, value)

    def __dir__(self):
        return [*skills(), "save"]

    def __repr__(self):
        return "<retort.skills: %s>" % (driver.part("tools").listing(skills()) or "none")


def skills():
    """Return the names of the skills that can be imported."""
    files = []
    for place in driver.NEEDED["retort.skills"].__path__:
        try:
            files += posix.listdir(place)
        except OSError:
            pass  # this box has no skills
    names = (file[: -len(ENDING)] for file in files if file.endswith(ENDING))
    return sorted(name for name in names if name.isidentifier() and name[:1] != "_" and name != "save")


def source_of(thing, what):
    """Return (source of a function, or the given text; name of the function or None)."""
    with driver.part("genuine").Genuine():
        import inspect
        import textwrap
    driver.with_sources()
    if isinstance(thing, str):
        return textwrap.dedent(thing).strip("\n") + "\n", None
    name = getattr(thing, "__name__", None)
    if not inspect.isfunction(thing) or name == "<lambda>":
        raise calls.ToolArgumentError("retort.skills.save: %s: give a function made by def, or source" % what)
    try:
        return textwrap.dedent(inspect.getsource(thing)).strip("\n") + "\n", name
    except (OSError, TypeError):
        message = "retort.skills.save: %s: the source of %s is not known: give the source as text"
        raise calls.ToolArgumentError(message % (what, name)) from None


def find_definition(source, name):
    """Return (signature, doc) of the function @name in @source. None of the source runs."""
    with driver.part("genuine").Genuine():
        import ast
    try:
        tree = ast.parse(source)
    except SyntaxError as error:
        message = "retort.skills.save: source: line %s: %s" % (error.lineno, error.msg)
        raise calls.ToolArgumentError(message) from None
    for node in reversed(tree.body):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.name == name:
            result = " -> " + ast.unparse(node.returns) if node.returns else ""
            return "(%s)%s" % (ast.unparse(node.args), result), ast.get_docstring(node) or ""
    for node in tree.body:
        if isinstance(node, ast.ClassDef) and node.name == name:
            return "(…)", ast.get_docstring(node) or ""
    raise calls.ToolArgumentError("retort.skills.save: source: it does not define the function %s" % name)


def save(name, function, test=None):
    """
    Propose a function as a skill called @name. @function and @test are functions or their source. The test
    runs in a new box after the source, with nothing else; only if it succeeds is the skill stored, for all
    sessions. Returns: the entry of the skill.
    """
    if test is None:
        raise calls.ToolArgumentError("retort.skills.save: test: give a function that asserts what %s does" % name)
    source, own = source_of(function, "function")
    if own not in (None, name):
        source += "\n%s = %s\n" % (name, own)
    check, called = source_of(test, "test")
    if called is not None:
        check += "\n%s()\n" % called
    signature, doc = find_definition(source, own or name)
    arguments = {"name": name, "source": source, "test": check, "doc": doc[:500]}
    arguments["signature"] = ("retort.skills.%s%s" % (name, signature))[:500]
    return calls.call_one("retort.skill_save", arguments)


def wake(module):
    """Fill in the module retort.skills."""
    module.__class__ = Skills
    module.__doc__ = Skills.__doc__
    vars(module)["save"] = save
    return module
