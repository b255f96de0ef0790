# SPDX-License-Identifier: Apache-2.0
"""The MIME bundle of a value or display. It always has a text, and any other formats that the value offers."""

import sys

from binascii import b2a_base64

FIGURE_CHART = "application/vnd.retort.chart+json"
ANSWER = "application/vnd.retort.answer+json"
FRAME_DATA = "application/vnd.retort.data+json"
BINARY = ("image/png", "image/jpeg", "application/pdf")
METHODS = (
    ("_repr_html_", "text/html"),
    ("_repr_markdown_", "text/markdown"),
    ("_repr_svg_", "image/svg+xml"),
    ("_repr_png_", "image/png"),
    ("_repr_jpeg_", "image/jpeg"),
    ("_repr_pdf_", "application/pdf"),
    ("_repr_latex_", "text/latex"),
    ("_repr_json_", "application/json"),
    ("_repr_javascript_", "application/javascript"),
)
SIMPLE = (str, int, float, bool, bytes)
CONTAINERS = (list, tuple, dict, set, frozenset)
CANARY = "_ipython_canary_method_should_not_exist_"
JSON_NODES_MAX, JSON_DEPTH_MAX = 120_000, 64  # JSON_NODES_MAX: the engine accepts 250,000 values
NAME_CHARS_MAX = 200
MIMES_MAX, MIME_CHARS_MAX = 24, 128  # MIMES_MAX: the engine accepts 32 types
ROWS_MAX, CELLS_MAX = 10_000, 100_000  # a table cell counts as a JSON value


def attempt(function, *args, **kwargs):
    """Return the result of @function, or None if it raises anything but an interrupt."""
    try:
        return function(*args, **kwargs)
    except KeyboardInterrupt:
        raise
    except BaseException:
        return None


def asked(function, *args, **kwargs):
    """
    Call a display method of the program as attempt() does. An exception that it raises is reported, and the
    step continues.
    """
    try:
        return function(*args, **kwargs)
    except (KeyboardInterrupt, NotImplementedError) as error:
        if type(error) is KeyboardInterrupt:
            raise
    except BaseException as error:
        attempt(tell, error)
    return None


def tell(error):
    step = driver.state.step
    if step is None or str(error) == step.told:  # several methods of one object may raise the same error
        return
    step.told = str(error)
    driver.with_sources()
    with driver.part("genuine").Genuine():
        lines, _ = driver.part("trace").format_error(error)
    driver.part("failure").complain("\n".join(lines) + "\n")


def method(value, name):
    """Return a display method that really exists, and was not made up by a __getattr__()."""
    if issubclass(type(value), type) or attempt(getattr, value, CANARY, None) is not None:
        return None
    found = attempt(getattr, value, name, None)
    return found if callable(found) else None


def text_of(value, limit):
    """Return repr(value), or a substitute if that fails."""
    if type(value) is str and len(value) > 2 * limit:
        # The repr of the whole text would be a second copy of it, so use only its start and its end. A
        # character has at most four bytes.
        half = limit // 2 // (1 if value.isascii() else 4)
        head, tail = repr(value[:half])[:half], repr(value[-half:])[-half:]
        gone = len(value) - 2 * half
        return "%s\n[... %d characters cut ...]\n%s" % (head, gone, tail)
    text = attempt(repr, value)
    if type(text) is not str:
        text = attempt(str.__str__, text)
    if text is None and type(value) is int:
        text = "<int of %d bits>" % value.bit_length()
    return object.__repr__(value) if text is None else text


# ---- JSON -----------------------------------------------------------------------------------------


class NotJson(Exception):
    """A value has no JSON form, or one that is too large."""


def jsonable(value, budget, depth=0, strict=False):
    """
    Return a copy of @value in plain JSON types.

    @budget is a list with the number of values and characters that are left. If @strict, only values are
    allowed that JSON can represent exactly.
    """
    kind = type(value)
    budget[0] -= 1
    if budget[0] < 0 or depth > JSON_DEPTH_MAX:
        raise NotJson
    if value is None or kind is bool:
        return value
    if kind is str:
        budget[1] -= len(value)
        if budget[1] < 0:
            raise NotJson
        return value
    if kind is int:
        if not -(1 << 63) <= value < 1 << 63:
            raise NotJson
        return value
    if kind is float:
        if value - value == 0:
            return value
        if strict:
            raise NotJson
        return None
    if kind is list or (kind is tuple and not strict):
        return [jsonable(item, budget, depth + 1, strict) for item in value]
    if kind is dict:
        for key in value:
            if type(key) is not str or driver.clean(key) is not key:
                raise NotJson  # keys that differ only in lone surrogates could become equal
            budget[1] -= len(key)
        return {k: jsonable(v, budget, depth + 1, strict) for k, v in value.items()}
    raise NotJson


def json_or_none(value, limit, strict=False, budget=None):
    try:
        return jsonable(value, budget or [JSON_NODES_MAX, limit], 0, strict)
    except KeyboardInterrupt:
        raise
    except BaseException:
        return None


def plain_dict(value):
    found = json_or_none(value, 1 << 16) if value else None
    return found if type(found) is dict else {}


# ---- bundles --------------------------------------------------------------------------------------


def bundle(value, limit, text=None):
    """
    Return the MIME bundle of a value, each format within @limit bytes.

    @text makes the text of a value that offers none. Raises only KeyboardInterrupt and what @text raises.
    """
    if is_figure(value):
        data = figure_data(value)
    else:
        data = attempt(offered, value, limit) or {}
    if type(type(value).__module__) is str and type(value).__module__[:8] == "IPython.":
        data = driver.part("ipython").plain_beside(data)
    if data.get("text/plain") is None:
        data["text/plain"] = attempt(pretty_text, value)
    if data["text/plain"] is None:
        is_plain = text is None or type(value) in SIMPLE
        data["text/plain"] = text_of(value, limit) if is_plain else text(value)
    if len(data) > 1 and is_address(data["text/plain"]):
        data["text/plain"] = attempt(driver.part("ipython").said, data) or data["text/plain"]
    return bounded(data, limit)


def pretty_text(value):
    """
    Return the text of a value that has _repr_pretty_() or a registered function, or that contains such a
    value. Return None for other values.
    """
    kind = type(value)
    if not driver.state.told and (kind in SIMPLE or (kind not in CONTAINERS and not hasattr(kind, "_repr_pretty_"))):
        return None
    pretty = driver.part("pretty")
    return asked(pretty.pretty, value) if pretty.is_wanted(value) else None


def is_address(text):
    """Return whether the text says no more than the object's address, as object.__repr__() does."""
    return type(text) is str and len(text) < 500 and text[:1] == "<" and text[-1:] == ">" and " at 0x" in text


def bundle_of_value(value, limit):
    """
    Return the bundle of a step's value, or None if the value has displayed itself.

    Raises what its __repr__() raises, except a RecursionError: a deeply nested value is valid.
    """
    if displays_itself(value):
        return None
    try:
        return bundle(value, limit, repr)
    except RecursionError:
        return bundle(value, limit)


def displays_itself(value):
    """Call _ipython_display_() if the value has it. Returns: whether the value has it."""
    show = None if type(value) in SIMPLE else method(value, "_ipython_display_")
    if not show:
        return False
    try:
        show()
        return True
    except NotImplementedError:
        return False


def answer(value, limit):
    """Return the bundle of the answer to the task, which is marked as the answer."""
    data = bundle(value, limit)
    if type(value) is str:
        data["text/plain"] = value if len(value) <= limit // 4 else text_of(value, limit)
    if type(value) is bool:
        data["application/json"] = value
    data[ANSWER] = {"type": type(value).__name__[:NAME_CHARS_MAX]}
    return data


def offered(value, limit):
    """Return the formats that the object offers, and those that are known for its type."""
    data = {}
    if driver.state.step is not None:
        driver.state.step.told = None
    if driver.state.told:
        data.update(told_data(value))
    if type(value) in (list, dict, str, int, float):
        found = json_or_none(value, limit, True)
        if found is not None:
            data["application/json"] = found
        return data
    mimebundle = method(value, "_repr_mimebundle_")
    if mimebundle:
        found = asked(mimebundle, include=None, exclude=None)
        if type(found) is tuple and found:
            found = found[0]
        if isinstance(found, dict):
            data.update(found)
    for name, mime in METHODS:
        if mime not in data:
            show = method(value, name)
            is_spare = mime == "image/jpeg" and "image/png" in data
            found = (attempt if is_spare else asked)(show) if show else None
            if type(found) is tuple and found:
                found = found[0]
            if found is not None:
                data[mime] = found
    data.update(attempt(frame_data, value, limit) or {})
    return data


def told_data(value):
    """Return the formats made by functions that were registered for the value's type."""
    data, pretty = {}, driver.part("pretty")
    for mime in list(driver.state.told):
        show = None if mime == "text/plain" else pretty.told(mime, type(value))
        found = asked(show, value) if show else None
        if found is not None:
            data[mime] = found
    return data


def from_raw(value, limit):
    """Build a bundle from a dict of MIME type to value; add a text if it has none."""
    if not isinstance(value, dict):
        return bundle(value, limit)
    if value.get("text/plain") is None:
        text = attempt(driver.part("ipython").said, value)
        value = dict(value, **{"text/plain": text}) if text else value
    return bounded(value, limit)


def is_mime(mime):
    return 0 < len(mime) <= MIME_CHARS_MAX and all(["!" <= char <= "~" for char in mime])


def types_of(data, notes):
    """Return the formats to show, with the text first. A note in @notes lists those that are left out."""
    all_types = [(mime, value) for mime, value in data.items() if type(mime) is str and value is not None]
    types = [item for item in all_types if is_mime(item[0])]
    types.sort(key=lambda item: item[0] != "text/plain")
    if len(types) < len(all_types):
        notes.append("[%d not shown: the key is not a MIME type]" % (len(all_types) - len(types)))
    if len(types) > MIMES_MAX:
        notes.append("[%d more types not shown]" % (len(types) - MIMES_MAX))
    return types[:MIMES_MAX]


def bounded(data, limit):
    """Return the bundle as frames require it. A format that is too large is cut, or dropped with a note."""
    out, notes = {}, []
    nodes = JSON_NODES_MAX  # number of JSON values that are left for all formats together
    png = data.get("image/png")
    if type(png) is bytes and driver.wants_sixel():
        sixel = attempt(lambda: driver.part("sixel").from_png(png))
        data = dict(data, **{"image/x-sixel": sixel})
    for mime, value in types_of(data, notes):
        if mime == "application/json" or mime.endswith("+json"):
            budget = [nodes, limit]
            value = json_or_none(value, limit, False, budget)
            if value is not None and len(driver.encode(value)) <= limit:
                out[mime] = value
                nodes = budget[0]
            elif mime != "application/json":
                notes.append("[%s not shown: too large or not JSON]" % mime)
            continue
        if isinstance(value, (bytes, bytearray, memoryview)):
            size = len(value) * 4 // 3
            value = None if size > limit else b2a_base64(value, newline=False).decode()
        else:
            value = attempt(str, value)
            if value is None:
                continue
            size = len(value)
        if mime.startswith("text/"):
            out[mime] = driver.cut(value or "", limit)
        elif size <= limit:
            out[mime] = "".join(value.split()) if mime in BINARY else value
        else:
            notes.append("[%s of %d bytes not shown: limit %d]" % (mime, size, limit))
    if notes:
        out["text/plain"] = "\n".join([out.get("text/plain", "")] + notes).lstrip("\n")
    return out


# ---- pandas ---------------------------------------------------------------------------------------


def frame_data(value, limit):
    pandas = sys.modules.get("pandas")
    frame = getattr(pandas, "DataFrame", None)
    series = getattr(pandas, "Series", None)
    if series is not None and isinstance(value, series):
        html = attempt(lambda: value.to_frame()._repr_html_())
        columns = [(value.name if value.name is not None else "value", value)]
    elif frame is not None and isinstance(value, frame):
        html = None
        columns = [(name, value.iloc[:, i]) for i, name in enumerate(value.columns[:1_000])]
    else:
        return {}
    rows = min(len(value), ROWS_MAX, CELLS_MAX // max(1, len(columns)))
    while True:
        data = {}
        for name, column in columns:
            key, number = str(name), 1
            while key in data:
                number += 1
                key = "%s.%d" % (name, number)
            data[key] = [cell(item) for item in column.iloc[:rows].tolist()]
        if rows < 2 or len(driver.encode(data)) <= limit:
            break
        rows //= 2
    out = {FRAME_DATA: data}
    if html is not None:
        out["text/html"] = html
    return out


def cell(item):
    """Return a table cell as JSON: a time as ISO text, a missing value as null, other types as text."""
    kind = type(item)
    if kind in (str, bool):
        return item
    if kind is int:
        return item if -(1 << 63) <= item < 1 << 63 else str(item)
    if kind is float:
        return item if item - item == 0 else None
    if item is None or str(kind.__name__) in ("NaTType", "NAType"):
        return None
    isoformat = getattr(item, "isoformat", None)
    if isoformat:
        return str(isoformat())
    if hasattr(item, "item") and hasattr(item, "dtype") and getattr(item, "ndim", 1) == 0:
        plain = item.item()
        return cell(plain) if type(plain) in (str, bool, int, float) else str(item)
    return str(item)


# ---- matplotlib -----------------------------------------------------------------------------------


def is_figure(value):
    figure = getattr(sys.modules.get("matplotlib.figure"), "Figure", None)
    return figure is not None and attempt(isinstance, value, figure) is True


def figure_data(figure):
    """
    Return PNG and chart of a figure. For a figure that cannot be drawn, return its text, and report the
    error.
    """
    from _io import BytesIO

    data = {"text/plain": attempt(repr, figure) or "<Figure>"}
    if is_empty(figure):
        return data
    out = BytesIO()
    try:
        figure.savefig(out, format="png", bbox_inches="tight")
        data["image/png"] = out.getvalue()
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        driver.part("hooks").note_ignored(error)
    chart = attempt(lambda: driver.part("chart").chart(figure))
    if chart is not None:
        data[FIGURE_CHART] = chart
    if driver.state.step is not None:
        driver.state.step.figures.append(figure)
    return data


def is_empty(figure):
    """Return whether the figure is empty. tight_layout() or clf() creates an empty figure if there is none."""
    parts = ("axes", "lines", "images", "texts", "patches", "artists", "legends", "subfigs")
    return not any([attempt(getattr, figure, name, None) for name in parts])


def show_figures(step):
    """Display the open figures that the step has not shown yet, and close all figures."""
    if step is None:
        return
    pyplot = sys.modules["matplotlib.pyplot"]
    managers = pyplot._pylab_helpers.Gcf.figs
    for number in sorted(managers):
        manager = managers.get(number)
        if manager is None:
            continue
        figure = manager.canvas.figure
        try:
            if not is_empty(figure) and not any(figure is shown for shown in step.figures):
                driver.send_display(bundle(figure, step.limit), {})
        finally:
            pyplot.close(figure)
