# SPDX-License-Identifier: Apache-2.0
"""Stand-ins for IPython, matplotlib_inline and nest_asyncio where they are not installed."""

import sys

import builtins
import posix

ipython = driver.part("ipython")

with driver.part("genuine").Genuine():
    import html
    import json

# ---- display objects ------------------------------------------------------------------------------------

KINDS = {".png": "png", ".jpg": "jpeg", ".jpeg": "jpeg", ".gif": "gif", ".svg": "svg", ".webp": "webp"}
SIGNS = ((b"\x89PNG", "png"), (b"\xff\xd8", "jpeg"), (b"GIF8", "gif"), (b"RIFF", "webp"))
SOUNDS = {"wav": "audio/wav", "mp3": "audio/mpeg", "ogg": "audio/ogg", "flac": "audio/flac"}
MOVIES = {"mp4": "video/mp4", "webm": "video/webm", "ogv": "video/ogg"}


def base64_of(data):
    from binascii import b2a_base64

    return b2a_base64(data, newline=False).decode()


class DisplayObject:
    """Data with a MIME type, given directly or read from a file."""

    _mode, _mime = "r", None

    def __init__(self, data=None, url=None, filename=None, metadata=None, **_):
        fspath = getattr(data, "__fspath__", None)
        if fspath is not None:
            data = fspath()
        if filename is None and url is None and self._names_file(data):
            data, filename = None, data
        if isinstance(url, str) and "://" not in url and filename is None:
            url, filename = None, url  # a path to a file, which the page of a notebook would load
        self.data, self.url, self.filename = data, url, None if filename is None else str(filename)
        self.metadata = metadata or {}
        if self.filename is not None and self.data is None:
            self.reload()

    def _names_file(self, data):
        return False

    def reload(self):
        with open(self.filename, self._mode, **({} if "b" in self._mode else {"encoding": "utf-8"})) as file:
            self.data = file.read()

    def _repr_mimebundle_(self, include=None, exclude=None):
        return {self._mime: self.data} if self._mime else {}

    def __repr__(self):
        return "<IPython.core.display.%s object>" % type(self).__name__


class TextDisplayObject(DisplayObject):
    pass


def text_kind(name, mime):
    return type(name, (TextDisplayObject,), {"_mime": mime, "__module__": "IPython.core.display"})


HTML = text_kind("HTML", "text/html")
HTML._repr_html_ = HTML.__html__ = lambda self: self.data
Markdown = text_kind("Markdown", "text/markdown")
Latex = text_kind("Latex", "text/latex")
Pretty = text_kind("Pretty", "text/plain")
Javascript = text_kind("Javascript", "application/javascript")


class Math(TextDisplayObject):
    _mime = "text/latex"

    def __init__(self, data=None, **rest):
        super().__init__(data, **rest)
        self.data = "$\\displaystyle %s$" % str(self.data).strip("$")


class SVG(TextDisplayObject):
    _mime = "image/svg+xml"

    def _names_file(self, data):
        return isinstance(data, str) and not data.lstrip().startswith("<")

    def reload(self):
        super().reload()
        at = self.data.find("<svg")
        self.data = self.data[at:] if at > 0 else self.data


class JSON(DisplayObject):
    _mime = "application/json"

    def __init__(self, data=None, url=None, filename=None, expanded=False, metadata=None, root="root", **rest):
        super().__init__(data, url, filename, metadata)
        if isinstance(self.data, (str, bytes)):
            self.data = json.loads(self.data)

    def __repr__(self):
        return json.dumps(self.data, indent=1, ensure_ascii=False)


class GeoJSON(JSON):
    _mime = "application/geo+json"


class Code(TextDisplayObject):
    def __init__(self, data=None, url=None, filename=None, language=None):
        self.language = language
        super().__init__(data, url, filename)

    def _repr_mimebundle_(self, include=None, exclude=None):
        return {"text/html": "<pre>%s</pre>" % html.escape(self.data or ""), "text/plain": self.data}

    def __repr__(self):
        return self.data or ""


class Image(DisplayObject):
    _mode = "rb"

    def __init__(self, data=None, url=None, filename=None, format=None, embed=None, width=None, height=None,
                 retina=False, unconfined=False, metadata=None, alt=None):
        self.format, self.width, self.height, self.alt = format, width, height, alt
        super().__init__(data, url, filename, metadata)
        ending = "." + (self.filename or self.url or "").rpartition(".")[2].lower()
        if self.format is None:
            found = [kind for sign, kind in SIGNS if isinstance(self.data, bytes) and self.data.startswith(sign)]
            self.format = (found or [KINDS.get(ending, "png")])[0]
        self.format = {"jpg": "jpeg"}.get(self.format.lower(), self.format.lower())

    def _names_file(self, data):
        return isinstance(data, str) and "://" not in data

    def _repr_mimebundle_(self, include=None, exclude=None):
        if self.data is None:
            return {"text/html": '<img src="%s"/>' % html.escape(str(self.url)), "text/plain": repr(self)}
        if self.format == "svg":
            return {"image/svg+xml": bytes(self.data).decode("utf-8", "replace")}
        return {"image/" + self.format: self.data}

    def __repr__(self):
        return "<IPython.core.display.Image %s>" % (self.filename or self.url or "object")


class Audio(DisplayObject):
    _mode, _kinds, _tag = "rb", SOUNDS, '<audio controls src="%s"></audio>'

    def __init__(self, data=None, filename=None, url=None, embed=None, rate=None, autoplay=False, normalize=True,
                 mimetype=None, **_):
        if rate is not None and not isinstance(data, (bytes, str)):
            data = wave_of(data, rate, normalize)
        super().__init__(data, url, filename)
        ending = str(self.filename or self.url or "").rpartition(".")[2].lower()
        self.mimetype = mimetype or self._kinds.get(ending, next(iter(self._kinds.values())))

    def _names_file(self, data):
        return isinstance(data, str) and "://" not in data

    def _repr_html_(self):
        source = self.url
        if self.data is not None:
            source = "data:%s;base64,%s" % (self.mimetype, base64_of(self.data))
        return self._tag % html.escape(str(source))

    def _repr_mimebundle_(self, include=None, exclude=None):
        return {"text/html": self._repr_html_(), "text/plain": repr(self)}

    def __repr__(self):
        what = self.filename or self.url or "%d bytes" % len(self.data or b"")
        return "<IPython.lib.display.%s %s>" % (type(self).__name__, what)


class Video(Audio):
    _kinds, _tag = MOVIES, '<video controls src="%s"></video>'


def wave_of(samples, rate, normalize):
    """Return samples from -1 to 1 as a WAV file. They are one channel or a list of channels."""
    from array import array
    from io import BytesIO

    with driver.part("genuine").Genuine():
        import wave

    rows = [list(each) for each in samples] if hasattr(samples[0], "__len__") else [list(samples)]
    top = max([abs(value) for row in rows for value in row] or [1])
    scale = 32767 / (top if normalize and top else 1)
    out = BytesIO()
    with wave.open(out, "wb") as file:
        file.setnchannels(len(rows))
        file.setsampwidth(2)
        file.setframerate(int(rate))
        file.writeframes(array("h", [int(v * scale) for group in zip(*rows) for v in group]).tobytes())
    return out.getvalue()


class IFrame:
    def __init__(self, src, width, height, extras=None, **params):
        self.src, self.width, self.height, self.params = src, width, height, params

    def _repr_html_(self):
        rest = "?" + "&".join(["%s=%s" % pair for pair in self.params.items()]) if self.params else ""
        return '<iframe width="%s" height="%s" src="%s" frameborder="0" allowfullscreen></iframe>' % (
            self.width, self.height, html.escape(self.src + rest))

    def __repr__(self):
        return "<IPython.lib.display.IFrame %s>" % self.src


class YouTubeVideo(IFrame):
    _place = "https://www.youtube.com/embed/"

    def __init__(self, id, width=400, height=300, allow_autoplay=False, **rest):
        super().__init__(self._place + id, width, height, **rest)


class VimeoVideo(YouTubeVideo):
    _place = "https://player.vimeo.com/video/"


class FileLink:
    def __init__(self, path, url_prefix="", result_html_prefix="", result_html_suffix="<br>"):
        self.path, self.before, self.after = str(path), result_html_prefix, result_html_suffix

    def _repr_html_(self):
        name = html.escape(self.path)
        return "%s<a href='%s' target='_blank'>%s</a>%s" % (self.before, name, name, self.after)

    def __repr__(self):
        try:
            posix.stat(self.path)
        except OSError:
            return "Path (%s) doesn't exist." % self.path
        return self.path


class FileLinks(FileLink):
    def _repr_html_(self):
        return "<br>\n".join([html.escape(name) for name in self._names()])

    def __repr__(self):
        return "\n".join(self._names())

    def _names(self):
        import os

        return sorted([os.path.join(top, n) for top, _, names in os.walk(self.path) for n in names])


class ProgressBar:
    def __init__(self, total):
        self.total, self.progress = total, 0

    def display(self):
        driver.display(self)

    update = display

    def __iter__(self):
        return iter(range(self.total))

    def __repr__(self):
        return "%d/%d" % (self.progress, self.total)


def shower(mime):
    def show(*objects, raw=False, metadata=None, **_):
        for value in objects:
            data = value
            if not raw:
                found = driver.part("rich").bundle(value, driver.VALUE_BYTES)
                data = {mime: found[mime]} if mime in found else found
            driver.display({mime: data} if raw else data, metadata=metadata, raw=True)

    return show


# ---- magics that the program defines ----------------------------------------------------------------------


def marker(kind, registers):
    """
    Return the decorator @register_line_magic, or @line_magic for use within a class. It can be used with or
    without a name.
    """

    def decorate(given):
        def mark(function, name=None):
            if registers:
                driver.part("interactive").shell.register_magic_function(function, kind, name)
            else:
                function._magic = (kind, name or function.__name__)
            return function

        return mark(given) if callable(given) else lambda function: mark(function, given)

    return decorate


class Magics:
    magics = {"line": {}, "cell": {}}

    def __init__(self, shell=None, **_):
        self.shell = shell or driver.part("interactive").shell


def magics_class(cls):
    cls.magics = {"line": {}, "cell": {}}
    for attribute, function in list(vars(cls).items()):
        kind, name = getattr(function, "_magic", ("", ""))
        for each in ("line", "cell"):
            if kind in (each, "line_cell"):
                cls.magics[each][name] = attribute
    return cls


def same(given):
    return given


# ---- modules ----------------------------------------------------------------------------------------------

OBJECTS = (
    DisplayObject, TextDisplayObject, HTML, Markdown, Latex, Pretty, Javascript, Math, SVG, JSON, GeoJSON, Code, Image,
    Audio, Video, IFrame, YouTubeVideo, VimeoVideo, FileLink, FileLinks, ProgressBar,
)
DISPLAY = {kind.__name__: kind for kind in OBJECTS}
DISPLAY.update(
    DisplayHandle=ipython.DisplayHandle, display=ipython.display, update_display=ipython.update_display,
    publish_display_data=ipython.publish_display_data, clear_output=ipython.clear_output,
    set_matplotlib_formats=lambda *_, **__: None, set_matplotlib_close=lambda *_, **__: None,
    display_html=shower("text/html"), display_markdown=shower("text/markdown"),
    display_latex=shower("text/latex"), display_png=shower("image/png"), display_svg=shower("image/svg+xml"),
    display_jpeg=shower("image/jpeg"), display_json=shower("application/json"),
    display_pretty=shower("text/plain"), display_javascript=shower("application/javascript"),
)
for kind in OBJECTS:
    kind.__module__ = "IPython.core.display"


def top():
    return {
        "get_ipython": driver.get_ipython,
        "version_info": ipython.VERSION, "__version__": ".".join([str(n) for n in ipython.VERSION]),
        "InteractiveShell": type(driver.part("interactive").shell), "embed": driver.part("ipython_shim_utils").embed,
    }


def magic_module():
    names = {"Magics": Magics, "magics_class": magics_class, "needs_local_scope": same, "no_var_expand": same}
    for kind in ("line", "cell", "line_cell"):
        names[kind + "_magic"] = marker(kind, False)
        names["register_%s_magic" % kind] = marker(kind, True)
    return names


def shell_module():
    shell = driver.part("interactive").shell
    type(shell).instance = staticmethod(lambda *_, **__: shell)
    type(shell).initialized = staticmethod(lambda: False)
    return {"InteractiveShell": type(shell)}


def capture_module():
    capture = driver.part("capture")
    return {"capture_output": capture.capture_output, "CapturedIO": capture.CapturedIO, "RichOutput": capture.Shown}


def nest_module():
    return {"apply": lambda loop=None: None, "__version__": "1.6.0"}


MODULES = {
    "IPython": top, "IPython.core": dict, "IPython.utils": dict, "IPython.lib": dict,
    "IPython.display": lambda: DISPLAY, "IPython.core.display": lambda: DISPLAY,
    "IPython.core.display_functions": lambda: DISPLAY, "IPython.lib.display": lambda: DISPLAY,
    "IPython.core.magic": magic_module, "IPython.core.interactiveshell": shell_module,
    "IPython.core.getipython": top, "IPython.utils.capture": capture_module, "IPython.utils.io": capture_module,
    "IPython.core.error": lambda: {"UsageError": driver.part("magic").UsageError},
    "nest_asyncio": nest_module, **driver.part("ipython_shim_utils").MODULES,
}
MODULES["matplotlib_inline"] = dict
MODULES["matplotlib_inline.backend_inline"] = lambda: {
    "set_matplotlib_formats": lambda *_, **__: None, "set_matplotlib_close": lambda *_, **__: None,
}
PACKAGES = ("matplotlib_inline", "IPython", "IPython.core", "IPython.utils", "IPython.lib", "IPython.terminal")


FILE = "<stand-in for IPython, which is not installed>"  # the file name that an ImportError shows


def fill(module):
    """
    Fill in the names of a module. A submodule is imported when it is accessed as an attribute, as in
    IPython.
    """
    name = module.__name__
    vars(module).update(MODULES[name]())

    def more(attribute):
        if name + "." + attribute in MODULES:
            __import__(name + "." + attribute)
            return sys.modules[name + "." + attribute]
        raise AttributeError("module %r has no attribute %r: IPython is not installed, this is a stand-in" % (name, attribute))

    if name[:7] == "IPython":
        module.__getattr__, module.__file__ = more, FILE
    if module.__name__ == "IPython.display":
        module.__all__ = sorted(DISPLAY)
