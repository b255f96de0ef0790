# SPDX-License-Identifier: Apache-2.0
"""IPython and nest_asyncio for user code that imports them.

If they are installed, they are loaded, and what they display is sent by display(). If not, small modules
take their place, but only for the user's code. A library that checks for IPython must find that it is
absent, and behave as in plain Python. For the same reason get_ipython() returns None to libraries: there
is no notebook whose widgets and JavaScript they could use."""

import sys

import _frozen_importlib
import builtins

state = driver.state
Genuine = driver.part("genuine").Genuine

with Genuine():
    import fcntl
    import html
    import re
    import termios
    import time

VERSION = (8, 12, 3)
TAG = re.compile(r"<(script|style|audio|video)\b.*?</\1\s*>|<!--.*?-->|<[^<>]*>", re.S | re.I)
BREAK = re.compile(r"</?(?:br|p|tr|div|li|table|h\d)\b[^>]*>", re.I)
READ_TRIES, READ_S = 500, 0.0005
SAID_CHARS, HTML_CHARS_MAX = 4_000, 1 << 18
CELL = re.compile(r"<t[dh]\b[^>]*>", re.I)


# ---- display --------------------------------------------------------------------------------------------


def plain_of_html(text):
    text = text if len(text) <= HTML_CHARS_MAX else driver.cut(text, HTML_CHARS_MAX)
    text = BREAK.sub("\n", re.sub(r"\s+", " ", text))
    text = html.unescape(TAG.sub("", re.sub(r" *\t *", "\t", CELL.sub("\t", text))))
    lines = [line.strip() for line in text.split("\n")]
    return "\n".join([line for line in lines if line])


def plain_beside(data):
    """Return a bundle with an informative text. For text formats, this is the text itself."""
    html_text = data.get("text/html")
    plain = plain_of_html(html_text) if type(html_text) is str else ""
    svg = data.get("image/svg+xml")
    svg = svg if type(svg) is str and len(svg) <= SAID_CHARS and "text/plain" not in data else None
    for found in (data.get("text/markdown"), plain, data.get("text/latex"), svg):
        if type(found) is str and found:
            return dict(data, **{"text/plain": found})
    if "application/json" in data and "text/plain" not in data:
        try:
            return dict(data, **{"text/plain": driver.encode(data["application/json"])})
        except TypeError:
            pass
    return data


def said(data):
    """Return an informative text for a bundle that lacks one; None if the bundle shows an image."""
    found = plain_beside({mime: value for mime, value in data.items() if mime != "text/plain"}).get("text/plain")
    if found or "image/png" in data or "image/jpeg" in data:
        return found
    out = []
    for mime, value in data.items():
        if type(mime) is not str or mime == "text/plain" or mime[:19] == "application/vnd.retort":
            continue
        if mime[-5:] == "+json":
            value = driver.encode(value)
        is_text = type(value) is str and (mime[:5] == "text/" or mime[-5:] == "+json")
        if is_text and len(value) <= SAID_CHARS:
            out.append(value)
        elif isinstance(value, (str, bytes)):
            out.append("[%s of %d %s]" % (mime, len(value), "characters" if type(value) is str else "bytes"))
    return "\n".join(out) or None


class DisplayHandle:
    """The handle that display(…, display_id=True) returns."""

    def __init__(self, display_id=None):
        self.display_id = display_id if type(display_id) is str else "%032x" % id(self)

    def display(self, obj, **kwargs):
        driver.display(obj, **{**kwargs, "display_id": self.display_id})

    def update(self, obj, **kwargs):
        driver.display(obj, **{**kwargs, "display_id": self.display_id, "update": True})

    def __repr__(self):
        return "<DisplayHandle display_id=%s>" % self.display_id


display = driver.display


def update_display(obj, *, display_id=None, **kwargs):
    driver.display(obj, **{**kwargs, "display_id": display_id, "update": True})


def publish_display_data(data, metadata=None, source=None, *, transient=None, update=False, **kwargs):
    display_id = transient.get("display_id") if type(transient) is dict else None
    driver.display(data, metadata=metadata, raw=True, display_id=display_id, update=update)


def await_reading(fds, question):
    """Wait until the engine has read what is on its way, but not long: it may have other things to do."""
    for _ in range(READ_TRIES):
        try:
            if not any(int.from_bytes(fcntl.ioctl(fd, question, bytes(4)), sys.byteorder) for fd in fds):
                return
        except OSError:
            return  # user code has closed it
        time.sleep(READ_S)


def clear_output(wait=False):
    """Ask for a page without what was shown so far. Where there is no page, nothing happens."""
    if state.captured is None:
        sys.stdout.flush()
        sys.stderr.flush()
        # Text and frames have ways of their own to the engine. What was written before belongs to the page that is
        # cleared, and what is written after does not.
        await_reading((state.out, state.err), termios.FIONREAD)
        if driver.send_display({}, {}, clear=True, wait=wait is True):
            await_reading((state.channel,), termios.TIOCOUTQ)


for function in (update_display, publish_display_data, clear_output):
    function.__module__ = "IPython.core.display_functions"


# ---- IPython when it is installed -----------------------------------------------------------------------


def patch_display(module):
    """
    Make the displays of IPython's module go to display(). The module is IPython.core.display_functions, or
    IPython.core.display before version 7.23.
    """
    for function in (display, update_display, publish_display_data, clear_output):
        if hasattr(module, function.__name__):
            setattr(module, function.__name__, function)


def patch_getipython(module):
    module.get_ipython = driver.get_ipython


def patch_capture(module):
    module.capture_output = driver.part("capture").capture_output


def patch_debugger(module):
    """
    Use Python's own debugger instead of IPython's, which creates a shell with files and a thread that reads
    commands.
    """
    import pdb

    class Pdb(pdb.Pdb):
        def __init__(self, completekey="tab", stdin=None, stdout=None, context=5, **_):
            super().__init__(completekey, stdin, stdout)

    def set_trace(frame=None, header=None, **_):
        asking = Pdb()
        if header is not None:
            asking.message(header)
        asking.set_trace(sys._getframe(1) if frame is None else frame)

    module.set_trace = set_trace
    for name in ("Pdb", "TerminalPdb"):
        if hasattr(module, name):
            setattr(module, name, Pdb)


def patch_shell(module):
    """Return our shell when a program asks for the existing one. IPython's own shell has files and a thread."""
    kind = module.InteractiveShell
    genuine = kind.instance.__func__

    def instance(cls, *args, **kwargs):
        return driver.part("interactive").shell if cls is kind else genuine(cls, *args, **kwargs)

    kind.instance = classmethod(instance)


def patch_pretty(module):
    """Make functions that are registered for a type also apply to displays."""
    told = driver.part("pretty").ForTypes("text/plain")

    def telling(genuine, tell):
        def for_type(*args, **kwargs):
            tell(*args, **kwargs)
            return genuine(*args, **kwargs)

        return driver.part("stack").like(for_type, genuine)

    module.for_type = telling(module.for_type, told.for_type)
    module.for_type_by_name = telling(module.for_type_by_name, told.for_type_by_name)


def patch_embed(module):
    genuine, stack = module.embed, driver.part("stack")

    def embed(*args, **kwargs):
        if not stack.nobody_types():
            return genuine(*args, **kwargs)
        stack.pass_over("embed()")

    module.embed = stack.like(embed, genuine)


def patch_nest_asyncio(module):
    """Give apply() without a loop the session's loop, because the main thread may have no current loop."""
    genuine = getattr(module, "apply", None)
    if genuine is None:
        return  # nest_asyncio is a module of the user

    def apply(loop=None):
        import asyncio

        if loop is None:
            try:
                loop = asyncio.get_running_loop()
            except RuntimeError:
                loop = state.loop
                if loop is None or loop.is_closed():
                    loop = state.loop = asyncio.new_event_loop()
                asyncio.set_event_loop(loop)
        return genuine(loop)

    apply.__doc__ = genuine.__doc__
    module.apply = apply


HOOKS = {
    "IPython.core.display_functions": patch_display,
    "IPython.core.display": patch_display,
    "IPython.core.getipython": patch_getipython,
    "IPython.utils.capture": patch_capture,
    "IPython.core.interactiveshell": patch_shell,
    "IPython.lib.pretty": patch_pretty,
    "IPython.core.debugger": patch_debugger,
    "IPython.terminal.debugger": patch_debugger,
    "IPython.terminal.embed": patch_embed,
    "nest_asyncio": patch_nest_asyncio,
}


# ---- finder
# ---------------------------------------------------------------------------------------------------


class StandIn:
    """The loader of the modules that take the place of IPython's."""

    @staticmethod
    def create_module(spec):
        return None

    @staticmethod
    def exec_module(module):
        driver.part("ipython_shim").fill(module)


def find_spec(name, path, target):
    finder, top = driver.Finder, name.partition(".")[0]
    for other in sys.meta_path:
        # The backend in matplotlib_inline would need a kernel.
        if other is finder or top == "matplotlib_inline":
            continue
        spec = other.find_spec(name, path, target)
        if spec is not None:
            if name in HOOKS and hasattr(spec.loader, "exec_module"):
                spec.loader = driver.part("hooks").Hooked(spec, HOOKS[name])
            if name == "IPython":
                offer()
            return spec
    if top == name:
        if not is_users(importer()):
            return None
    elif not isinstance(sys.modules[top].__spec__.loader, type(StandIn)):
        return None
    standin = driver.part("ipython_shim")
    if name not in standin.MODULES:
        if top == name or top != "IPython":
            return None
        text = "IPython is not installed, and its stand-in has no module %r" % name
        raise ModuleNotFoundError(text, name=name)
    offer()
    spec = _frozen_importlib.ModuleSpec(name, StandIn, is_package=name in standin.PACKAGES)
    return spec


def offer():
    """Add get_ipython() to the builtins of a process that has not run a step of a session."""
    if "get_ipython" not in vars(builtins):
        builtins.get_ipython = driver.get_ipython


def importer():
    """Return the frame that executes the import."""
    frame = sys._getframe(1)
    while frame is not None:
        name = frame.f_code.co_filename
        if not name.startswith(("<frozen ", driver.HERE + "/")) and "/importlib/" not in name:
            return frame
        frame = frame.f_back
    return None


def is_users(frame):
    return frame is not None and driver.part("trace").is_user(frame.f_code.co_filename)


def shell_for(frame):
    """
    Return the shell to the code of a step. Return None to libraries, and to scripts, which do not expect a
    notebook.
    """
    step = state.step
    if step is not None and step.once and step.filename[:1] != "<":
        return None
    name = frame.f_globals.get("__name__", "")
    if is_users(frame) or (type(name) is str and name.startswith("IPython.core.magic")):
        return driver.part("interactive").shell
    return None
