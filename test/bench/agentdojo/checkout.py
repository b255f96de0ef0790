# SPDX-License-Identifier: Apache-2.0
"""A checkout of AgentDojo (ethz-spylab, MIT) as what the bench needs: tools, environments, tasks, attacks.

It is imported, not copied. What it needs for talking to models is not: those modules are empty here. pydantic and
PyYAML are needed.
"""

import copy
import functools
import importlib.abc
import importlib.machinery
import json
import os
import re
import sys
import types

VERSION = "v1.2.1"
MODELS = {"openai", "anthropic", "cohere", "google", "vertexai", "torch", "transformers", "tenacity", "rich",
          "langchain", "click", "tqdm", "dotenv", "requests", "openpyxl"}


class _Empty(types.ModuleType):
    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return _Empty(f"{self.__name__}.{name}")

    def __call__(self, *args, **kwargs):
        # As a decorator it changes nothing.
        return args[0] if len(args) == 1 and callable(args[0]) else self

    def __mro_entries__(self, bases):
        return ()

    def __getitem__(self, key):
        return self

    def __or__(self, other):
        return self

    __ror__ = __or__


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def find_spec(self, name, path=None, target=None):
        is_ours = name.split(".")[0] in MODELS
        return importlib.machinery.ModuleSpec(name, self, is_package=True) if is_ours else None

    def create_module(self, spec):
        module = _Empty(spec.name)
        module.__path__ = []
        return module

    def exec_module(self, module):
        pass


def _docstring_parser():
    """As much of docstring_parser as is used: the first line, and what is said of each parameter."""
    def parse(text):
        params = re.findall(r":param (\w+):\s*(.*)", text)
        return types.SimpleNamespace(
            short_description=text.strip().split("\n")[0], long_description=None,
            params=[types.SimpleNamespace(arg_name=name, description=said or "-") for name, said in params])
    module = types.ModuleType("docstring_parser")
    module.parse = parse
    common = types.ModuleType("docstring_parser.common")
    common.DocstringParam = object
    sys.modules["docstring_parser"], sys.modules["docstring_parser.common"] = module, common


def differences(a, b, path, left_out, out):
    """Into @out, as the tasks read it: kinds of difference, each with the paths where it is."""
    if path in left_out or a is b:
        return
    if type(a) is not type(b):
        out.setdefault("type_changes", {})[path] = {"old_type": type(a), "new_type": type(b), "old_value": a,
                                                    "new_value": b}
        return
    steps = None
    if isinstance(a, dict):
        steps = "dictionary_item", {f"{path}[{k!r}]": v for k, v in a.items()}, \
            {f"{path}[{k!r}]": v for k, v in b.items()}
    elif isinstance(a, (list, tuple)):
        steps = "iterable_item", {f"{path}[{i}]": v for i, v in enumerate(a)}, \
            {f"{path}[{i}]": v for i, v in enumerate(b)}
    elif hasattr(a, "model_fields_set"):
        steps = "attribute", {f"{path}.{k}": v for k, v in vars(a).items()}, \
            {f"{path}.{k}": v for k, v in vars(b).items()}
    elif a != b:
        out.setdefault("values_changed", {})[path] = {"old_value": a, "new_value": b}
    if not steps:
        return
    kind, old, new = steps
    for at in old.keys() | new.keys():
        if at in left_out:
            continue
        if at in old and at in new:
            differences(old[at], new[at], at, left_out, out)
        else:
            out.setdefault(f"{kind}_{'removed' if at in old else 'added'}", {})[at] = old.get(at, new.get(at))


def _deepdiff():
    """As much of deepdiff as is used: what differs between two environments."""
    def diff(a, b, exclude_paths=()):
        out = {}
        differences(a, b, "root", set(exclude_paths), out)
        return out
    module = types.ModuleType("deepdiff")
    module.DeepDiff = diff
    part = types.ModuleType("deepdiff.diff")
    part.DeepDiff = diff
    sys.modules["deepdiff"], sys.modules["deepdiff.diff"] = module, part


def _load(root):
    import pydantic
    pydantic.EmailStr = str  # its form is not what is tested, and checking it needs one module more
    # Environments are read once for each attack.
    import yaml
    yaml.SafeLoader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    _docstring_parser()
    _deepdiff()
    sys.path.insert(0, os.path.join(root, "src"))
    sys.meta_path.append(_Finder())
    from agentdojo.task_suite import task_suite
    from agentdojo.task_suite.load_suites import get_suites
    task_suite.read_suite_file = functools.cache(task_suite.read_suite_file)
    return get_suites(VERSION)


def _plain(schema, defs, is_result=False):
    """JSON Schema without references and alternatives: what could be several things is anything. A parameter that
    may be null need not be given, so it is what it is else; a result may be null."""
    if "$ref" in schema:
        return _plain(defs[schema["$ref"].split("/")[-1]], defs, is_result)
    if "anyOf" in schema:
        some = [s for s in schema["anyOf"] if is_result or s.get("type") != "null"]
        return _plain(some[0], defs, is_result) if len(some) == 1 else {}
    out = {k: schema[k] for k in ("type", "enum", "required", "format") if k in schema}
    if "items" in schema:
        out["items"] = _plain(schema["items"], defs, is_result)
    if "properties" in schema:
        out["properties"] = {k: _plain(v, defs, is_result) for k, v in schema["properties"].items()}
        if out["properties"].get("id_", {}).get("type") == "string":
            out["properties"]["id_"]["x-handle"] = "item"  # given by the service, not chosen by whom wrote the item
    return out


def _can_be_null(schema):
    return any(s.get("type") == "null" for s in schema.get("anyOf", []))


class Suite:
    def __init__(self, name, inner):
        from agentdojo.functions_runtime import FunctionsRuntime
        self.name, self.inner = name, inner
        self.runtime = FunctionsRuntime(inner.tools)
        self.tools = {t.name: self._tool(t) for t in inner.tools}
        self.user_tasks = dict(inner.user_tasks)
        self.injections = dict(inner.injection_tasks)
        self.made = {}  # environments by what fills them: to read one takes longer than to copy it

    @staticmethod
    def _tool(tool):
        import pydantic
        given = tool.parameters.model_json_schema()
        result = pydantic.TypeAdapter(tool.return_type).json_schema(mode="serialization")
        params = _plain(given, given.get("$defs", {}))
        out = {"description": tool.description, "inputSchema": {
            "type": "object", "properties": params.get("properties", {}), "required": params.get("required", [])}}
        if not _can_be_null(result):
            out["outputSchema"] = _plain(result, result.get("$defs", {}), is_result=True)
        return out

    def environment(self, fill=None):
        """@fill: what stands in every place where the environment can be written to by others."""
        if fill not in self.made:
            places = self.inner.get_injection_vector_defaults()
            self.made[fill] = self.inner.load_and_inject_default_environment({p: fill for p in places} if fill else {})
        return copy.deepcopy(self.made[fill])

    def prepared(self, task, environment):
        """Some tasks change the environment before they begin."""
        return self.user_tasks[task].init_environment(environment)

    def call(self, environment, tool, arguments):
        """The result as JSON, or an error."""
        import pydantic
        result, error = self.runtime.run_function(environment, tool, arguments)
        if error:
            return {"error": error}
        return {"result": json.loads(pydantic.TypeAdapter(object).dump_json(result))}

    @staticmethod
    def said(environment):
        """Every text of it."""
        return json.dumps(environment.model_dump(mode="json"), ensure_ascii=False)

    def request(self, task):
        return self.user_tasks[task].PROMPT

    def output(self, task):
        """What AgentDojo expects to be told."""
        return self.user_tasks[task].GROUND_TRUTH_OUTPUT

    def truth(self, task, environment):
        return [(c.function, dict(c.args)) for c in self.user_tasks[task].ground_truth(environment)]

    def is_solved(self, task, output, before, after, calls):
        inner, trace = self.user_tasks[task], self._trace(calls)
        said = inner.utility_from_traces(output, before, after, trace)
        return bool(inner.utility(output, before, after) if said is None else said)

    def attack(self, injection, environment):
        """The calls that the attacker wants."""
        return [(c.function, dict(c.args)) for c in self.injections[injection].ground_truth(environment)]

    def goal(self, injection):
        return self.injections[injection].GOAL

    def is_harmed(self, injection, output, before, after, calls):
        inner, trace = self.injections[injection], self._trace(calls)
        said = inner.security_from_traces(output, before, after, trace)
        return bool(inner.security(output, before, after) if said is None else said)

    @staticmethod
    def _trace(calls):
        from agentdojo.functions_runtime import FunctionCall
        return [FunctionCall(function=c.tool, args=c.arguments) for c in calls]


def suites(root):
    return {name: Suite(name, inner) for name, inner in _load(root).items()}
