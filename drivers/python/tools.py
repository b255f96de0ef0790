# SPDX-License-Identifier: Apache-2.0
"""retort.tools: servers and their tools as modules and functions, images as values, questions to a model.

The text that a server gives about itself is untrusted. It is used as documentation and as names in
tables, never as code. A tool is a closure over its row of the table."""

import sys

from binascii import a2b_base64

state = driver.state
calls = driver.part("calls")
RetortError, ToolError, ToolDenied = calls.RetortError, calls.ToolError, calls.ToolDenied
ToolArgumentError, ToolLost, ToolLimit = calls.ToolArgumentError, calls.ToolLost, calls.ToolLimit
NAMES_SHOWN = 12
OBJECTS = ("dict", "Dict", "Any")  # types of a parameter that accept a dict
PLAIN = type(sys)


def get(row, name, kind, fallback):
    """Return a member of a JSON object from the engine, or @fallback if it lacks the expected type."""
    value = row.get(name) if isinstance(row, dict) else None
    return value if type(value) is kind else fallback


def is_word(name):
    """
    Return whether the name can be a module's attribute. A name with two underscores has a meaning of its
    own there.
    """
    return name.isidentifier() and name[:2] != "__"


def snake(name):
    """Return a name in snake case: read_file for readFile."""
    out = ""
    for i, char in enumerate(name):
        if char.isupper() and i > 0 and name[i - 1] != "_":
            after = name[i + 1 : i + 2]
            if name[i - 1].islower() or name[i - 1].isdigit() or after.islower():
                out += "_"
        out += char.lower()
    return out


def listing(names):
    names = sorted(names)
    more = ", and %d more" % (len(names) - NAMES_SHOWN) if len(names) > NAMES_SHOWN else ""
    return ", ".join(names[:NAMES_SHOWN]) + more


# ---- one tool ---------------------------------------------------------------------------------


class Parameter:
    """A parameter of a tool. `name` is the tool's name for it, `id` the name in Python."""

    def __init__(self, row):
        self.name = get(row, "name", str, "")
        self.id = get(row, "id", str, self.name)
        self.type = get(row, "type", str, "Any")
        self.is_needed = get(row, "required", bool, False)
        self.fallback = row.get("default")


class Row:
    """The description of a tool."""

    def __init__(self, row):
        self.raw = row
        self.tool = get(row, "tool", str, "")
        self.name = get(row, "name", str, "")
        self.id = get(row, "id", str, self.tool)
        self.signature = get(row, "signature", str, "")
        self.doc = get(row, "doc", str, "")
        params = get(row, "params", list, None)
        self.params = None if params is None else [Parameter(p) for p in params if type(p) is dict]
        self.has_extra = get(row, "extra", bool, False)

    def refuse(self, why):
        raise ToolArgumentError("%s: %s" % (self.name, why), tool=self.name)

    def bind(self, given, named):
        """Return the arguments of a call as a dict with the tool's own names."""
        params = self.params or []
        if len(given) == 1 and not named and self.takes(given[0]):
            own = {param.id: param.name for param in params}
            return {own.get(key, key): value for key, value in given[0].items()}
        if len(given) > len(params):
            self.refuse("%d positional arguments: it takes %d" % (len(given), len(params)))
        out = {}
        for param, value in zip(params, given):
            out[param.name] = value
        known = {key: param for param in params for key in (param.name, param.id)}
        for key, value in named.items():
            param = known.get(key)
            if param is None and self.params is not None and not self.has_extra:
                self.refuse("no parameter %r: there are %s" % (key, listing(p.id for p in params)))
            name = param.name if param else key
            if name in out:
                self.refuse("%s is given twice" % key)
            out[name] = value
        return self.without_nothing(out)

    def takes(self, value):
        """
        Return whether @value, the only argument, is a dict of all arguments, as programs often write, and not
        the value of the first parameter.
        """
        if not isinstance(value, dict) or not self.params:
            return isinstance(value, dict)
        names = {name for param in self.params for name in (param.name, param.id)}
        return bool(names & value.keys()) or not any(word in self.params[0].type for word in OBJECTS)

    def without_nothing(self, out):
        """Remove optional parameters that are None, which means that they are not given."""
        for param in self.params or ():
            if not param.is_needed and out.get(param.name, 0) is None:
                del out[param.name]
            elif param.is_needed and param.name not in out:
                self.refuse("missing: %s" % param.id)
        return out


def make_tool(row, server):
    def tool(*arguments, **named):
        return calls.call_one(row.name, row.bind(arguments, named))

    tool.__name__ = row.id
    tool.__qualname__ = "%s.%s" % (server, row.id)
    tool.__module__ = "retort." + server
    tool.__doc__ = (row.signature + "\n\n" + row.doc).strip()
    tool.name = row.name
    tool.row = row
    if "inspect" in sys.modules:
        sign(tool)
    return tool


class Shown:
    """A type as shown in a signature. The text is never evaluated."""

    def __init__(self, text):
        self.text = text

    def __repr__(self):
        return self.text


def sign(tool):
    """Make a signature for help() and inspect.signature(), if the modules that they need are loaded."""
    inspect, row = sys.modules["inspect"], tool.row
    try:
        kind, empty = inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.empty
        params = [
            inspect.Parameter(p.id, kind, default=empty if p.is_needed else p.fallback, annotation=Shown(p.type))
            for p in row.params
        ]
        if row.has_extra:
            params.append(inspect.Parameter("extra", inspect.Parameter.VAR_KEYWORD))
        result = row.signature.rpartition(") -> ")[2] or "Any"
        tool.__signature__ = inspect.Signature(params, return_annotation=Shown(result))
    except Exception:
        pass  # the function keeps its general signature (*arguments, **named)


def sign_all(*_):
    for server in catalog.servers.values():
        for tool in server.__tools__.values():
            sign(tool)


# ---- servers ------------------------------------------------------------------------------------


class Server(driver.Module):
    """The tools of a server, as functions. It has no other attributes."""

    def __init__(self, ident):
        super().__init__("retort.tools." + ident)
        self.__tools__ = {}  # maps the server's own names of tools to their functions
        self.__error__ = ""  # why the server has no tools, or ""

    def __getattr__(self, name):
        found = None if name[:2] == "__" else find_tool(self, name)
        if found is None and name[:1] != "_" and load_for_attribute():
            found = find_tool(self, name)
        if found is None:
            have = "there are " + (listing(dir(self)) or "none")
            raise AttributeError("%s has no tool %s: %s" % (title(self), name, self.__error__ or have))
        return found

    def __getitem__(self, name):
        found = find_tool(self, name) or (load() and find_tool(self, name))
        if not found:
            raise KeyError(name)
        return found

    def __dir__(self):
        return [tool.row.id for tool in self.__tools__.values()]

    def __repr__(self):
        return "<%s: %s>" % (title(self), listing(dir(self)))


def title(server):
    return vars(server)["__name__"].partition(".")[2]


def find_tool(server, name):
    """Find a tool by its own name, by its Python name, or by its name in snake case."""
    tools = server.__tools__
    if name in tools:
        return tools[name]
    same = [tool for tool in tools.values() if name in (tool.row.id, snake(tool.row.id))]
    return same[0] if len(same) == 1 else None


def fill(server, row):
    """Update the tools of a server. A tool that has not changed keeps its function."""
    before, tools = server.__tools__, {}
    for one in get(row, "tools", list, []):
        found = Row(one)
        old = before.get(found.tool)
        if found.tool and found.name and found.tool not in tools:
            is_same = old is not None and old.row.raw == one
            tools[found.tool] = old if is_same else make_tool(found, title(server))
    words = {}
    for tool in tools.values():
        if is_word(tool.row.id):
            words.setdefault(tool.row.id, tool)
    space = vars(server)
    for name in [name for name in space if name[:2] != "__" and name not in words]:
        del space[name]
    space.update(words, __tools__=tools, __all__=sorted(words))
    space["__error__"] = "" if tools else get(row, "error", str, "")
    space["__doc__"] = "\n".join(tool.row.signature for tool in tools.values())


class Catalog:
    """The engine's list of tools."""

    servers = {}  # maps a Python name to its Server
    names = {}  # maps a server's own name to its Python name
    is_known = False
    step = failure = None  # id of the last step that asked the engine, and the failure if it failed


catalog = Catalog()


class Tools(driver.Module):
    """
    The tools of configured servers: tools.SERVER.TOOL(…) or tools["SERVER.TOOL"](…). tools.search("what it
    does") finds tools, tools.describe("SERVER.TOOL") describes one.
    """

    def __getattr__(self, name):
        if name in OWN:
            return OWN[name]
        found = None if name[:2] == "__" else find_server(name)
        if found is None and name[:1] != "_" and load_for_attribute():
            found = find_server(name)
        if found is None:
            have = listing(catalog.servers) or "none; they are configured where retort is started"
            raise AttributeError("tools has no server %s: there are %s" % (name, have))
        return found

    def __getitem__(self, name):
        found = find_item(name) or (load() and find_item(name))
        if not found:
            raise KeyError(name)
        return found

    def __dir__(self):
        if not catalog.is_known and not calls.is_over():
            try:
                load()
            except ToolError:
                pass  # a name that is already known needs no request
        return [*catalog.servers, *OWN]

    def __repr__(self):
        return "<tools: %s>" % listing(dir(self))


def find_server(name):
    if type(name) is not str:
        raise TypeError("a tool is named by a str, not by a %s" % type(name).__name__)
    return catalog.servers.get(name) or catalog.servers.get(catalog.names.get(name))


def find_item(name):
    """Find a server or one of its tools. The names of both may contain dots."""
    found = find_server(name)
    at = name.find(".")
    while found is None and at >= 0:
        server = find_server(name[:at])
        found = find_tool(server, name[at + 1 :]) if server else None
        at = name.find(".", at + 1)
    return found


def load():
    """
    Ask the engine for the list, once per step. Code that walks over modules, such as pickle, asks each of
    them for attributes.

    Returns: whether there may be new entries.
    """
    if calls.is_over() and catalog.is_known:
        return False
    step = state.step
    if step is not None and catalog.step == step.id:
        if catalog.failure is not None:
            raise catalog.failure.with_traceback(None)
        return False
    catalog.step = catalog.failure = None
    try:
        update(calls.call_one("retort.tools", {}))
        catalog.is_known = True
    except ToolDenied as failure:
        catalog.failure = failure
        raise
    finally:
        if step is not None:
            catalog.step = step.id
    return True


def load_for_attribute():
    """Call load() for getattr(). A failure is also made an AttributeError, so that hasattr() returns False."""
    try:
        return load()
    except RetortError as failure:
        kind = type(failure)
        both = type(kind.__name__, (kind, AttributeError), {"__module__": "retort"})
        missing = both(*failure.args)
        vars(missing).update(vars(failure))
    raise missing


def update(answer):
    servers, space = catalog.servers, vars(driver.NEEDED["retort.tools"])
    found = {}
    for row in get(answer, "servers", list, []):
        name = get(row, "name", str, "")
        ident = get(row, "id", str, name)
        if not name or ident in found:
            continue
        server = found[ident] = servers.get(ident) or Server(ident)
        fill(server, row)
        catalog.names[name] = ident
    for ident in servers.keys() - found.keys():
        del servers[ident]
        space.pop(ident, None)
    servers.update(found)
    for ident, server in found.items():
        if is_word(ident) and ident not in OWN:
            space[ident] = server


class Loader:
    """The loader that makes `from retort.tools.SERVER import TOOL` work."""

    @staticmethod
    def create_module(spec):
        return driver.NEEDED["retort.tools"][spec.name.rpartition(".")[2]]

    @staticmethod
    def exec_module(_):
        pass


def find_spec(name):
    ident = name[len("retort.tools.") :]
    known = find_server(ident) or (ident.isidentifier() and load() and find_server(ident))
    return driver._frozen_importlib.ModuleSpec(name, Loader) if known else None


# ---- finding tools ------------------------------------------------------------------------------


class Found(list):
    """The list of tools that tools.search() returns. Its repr() shows one tool per line."""

    def __repr__(self):
        return "\n".join(line(row) for row in self) or "nothing found"


class Description(dict):
    """The result of tools.describe(), as text when shown."""

    def __repr__(self):
        rest = {k: v for k, v in self.items() if k not in ("name", "signature", "js_signature", "doc")}
        text = [get(self, "signature", str, get(self, "name", str, "")), get(self, "doc", str, "")]
        return "\n\n".join(part for part in text + [show_json(rest)] if part)

    __str__ = __repr__


def show_json(value):
    with driver.part("genuine").Genuine():
        import json
    return json.dumps(value, indent=1, ensure_ascii=False) if value else ""


def line(row):
    doc = get(row, "doc", str, "").partition("\n")[0]
    text = get(row, "signature", str, "") or get(row, "name", str, "")
    return "%s  %s" % (text, doc) if doc else text


def search(query, limit=None):
    """Tools whose name or description contains words of @query, best match first."""
    arguments = {"query": query} if limit is None else {"query": query, "limit": limit}
    found = calls.call_one("retort.search", arguments)
    if type(found) is list:
        return Found(found)
    skills = [row for row in get(found, "skills", list, []) if get(row, "runtime", str, "") == "python"]
    return Found(get(found, "tools", list, []) + skills)


def describe(tool):
    """Signature, description and schemas of a tool, given as "server.tool" or as the function."""
    name = getattr(tool, "name", tool)
    found = calls.call_one("retort.describe", {"name": name})
    return Description(found) if type(found) is dict else found


OWN = {"search": search, "describe": describe}


def wake(module):
    """Fill in the module retort.tools."""
    module.__class__ = Tools
    module.__doc__ = Tools.__doc__
    vars(module).update(OWN)
    return module


# ---- values -------------------------------------------------------------------------------------


class Image:
    """An image returned by a tool. It is shown when displayed or when it is a step's value."""

    __module__ = "retort"

    def __init__(self, data, mime):
        self.data, self.mime = data, mime

    def _repr_mimebundle_(self, include=None, exclude=None):
        text = self.data.decode("utf-8", "replace") if self.mime == "image/svg+xml" else self.data
        return {self.mime: text, "text/plain": repr(self)}

    def save(self, path):
        """Write the image to a file. Returns: the path."""
        with open(path, "wb") as file:
            file.write(self.data)
        return path

    def __repr__(self):
        return "<Image %s, %d bytes>" % (self.mime, len(self.data))


class Content(dict):
    """A tool's result with several parts: `text`, `images` and `links`; displayed with its image."""

    def __getattr__(self, name):
        if name in ("text", "images", "links"):
            return self.get(name)
        raise AttributeError(name)

    def _repr_mimebundle_(self, include=None, exclude=None):
        data = {"text/plain": repr(self)}
        for image in get(self, "images", list, [])[:1]:
            if type(image) is Image:
                data[image.mime] = image._repr_mimebundle_()[image.mime]
        return data


def as_image(value):
    """Return the Image that a JSON object describes, or None."""
    mime = get(value, "mimeType", str, None) if value.get("type") == "image" else None
    if mime is None and value.keys() == {"mime_type", "data"}:
        mime = get(value, "mime_type", str, None)
    data = get(value, "data", str, None)
    if mime is None or data is None or mime[:6] != "image/" or not mime.isascii() or len(mime) > 100:
        return None
    try:
        return Image(a2b_base64(data), mime)
    except ValueError:
        return None


def show_images(value):
    """
    Return a copy of the value with Images in place of the objects that describe them.

    There is no recursion, so that a deeply nested value does not exhaust the stack.
    """
    top = [value]
    left = [(top, 0, value)]
    while left:
        owner, key, item = left.pop()
        if type(item) is dict:
            image = as_image(item)
            if image is None and item.keys() == {"text", "images", "links"}:
                item = owner[key] = Content(item)
            if image is not None:
                owner[key] = image
            else:
                left.extend((item, k, v) for k, v in item.items() if type(v) in (dict, list))
        elif type(item) is list:
            left.extend((item, i, v) for i, v in enumerate(item) if type(v) in (dict, list))
    return top[0]


# ---- a model --------------------------------------------------------------------------------------


def question(prompt, context, schema):
    if not isinstance(prompt, str):
        raise ToolArgumentError("retort.llm_query: prompt: %s is not text" % type(prompt).__name__)
    out = {"prompt": prompt}
    if context is not None:
        out["context"] = context
    if schema is not None:
        out["schema"] = schema
    return "retort.llm_query", out


def llm_query(prompt, context, schema):
    return calls.call_one(*question(prompt, context, schema))


def llm_query_batched(prompts, context, schema, return_exceptions):
    if isinstance(prompts, str):
        raise ToolArgumentError("retort.llm_query_batched: prompts: a single text: give a list")
    answers = calls.call_all([question(prompt, context, schema) for prompt in prompts])
    failures = [answer for answer in answers if isinstance(answer, ToolError)]
    if failures and not return_exceptions:
        failures[0].results = answers
        raise failures[0]
    return answers
