# SPDX-License-Identifier: Apache-2.0
"""Extract the data behind a matplotlib figure, in the format that existing clients read."""

import sys

POINTS_MAX = 5_000
ELEMENTS_MAX = 1_000


def chart(figure):
    """Return the chart of a figure: that of its axes, or a superchart if it has several axes."""
    charts = [one for one in map(axes_chart, visible_axes(figure)) if one is not None]
    if len(charts) == 1:
        if charts[0]["title"] is None:
            charts[0]["title"] = figure_title(figure)
        return charts[0]
    kind = "superchart" if charts else "unknown"
    return {"type": kind, "title": figure_title(figure), "elements": charts}


def figure_title(figure):
    title = getattr(figure, "_suptitle", None)
    return (title.get_text() or None) if title is not None else None


def visible_axes(figure):
    return [
        axes
        for axes in figure.axes
        if axes.get_visible()
        and not hasattr(axes, "_colorbar")
        and axes.get_label() != "<colorbar>"
    ]


def axes_chart(axes):
    """Return the chart of one axes, or None if the axes is empty."""
    if not axes.has_data() and not axes.patches:
        return None
    for kind, find in (
        ("pie", pie),
        ("box_and_whisker", boxes),
        ("bar", bars),
        ("scatter", scatter),
        ("line", lines),
    ):
        try:
            elements = find(axes)
            if elements:
                out = {"type": kind, "title": axes.get_title() or None}
                if kind != "pie":
                    out.update(labels(axes))
                if kind in ("scatter", "line"):
                    out.update(scales(axes))
                return finished(out, elements)
        except Exception:
            continue
    return {"type": "unknown", "title": axes.get_title() or None, "elements": []}


def finished(out, elements):
    out["elements"] = elements[:ELEMENTS_MAX]
    if len(elements) > ELEMENTS_MAX:
        out["truncated"] = True
    return out


# ---- labels, ticks, scales ------------------------------------------------------------------------


def labels(axes):
    x, y = axes.get_xlabel() or None, axes.get_ylabel() or None
    return {"x_label": x, "y_label": y, "x_unit": unit(x), "y_unit": unit(y)}


def unit(label):
    """Return the text in the last (…) or […] of a label, which is the unit."""
    for left, right in ("()", "[]"):
        end = (label or "").rfind(right)
        start = label.rfind(left, 0, end) if end > 0 else -1
        if start >= 0:
            return label[start + 1 : end].strip() or None
    return None


def scales(axes):
    out = {}
    for name, axis in (("x", axes.xaxis), ("y", axes.yaxis)):
        ticks = axis.get_majorticklocs()
        texts = [label.get_text() for label in axis.get_majorticklabels()]
        out[name + "_ticks"] = [coordinate(tick, axis) for tick in ticks][:POINTS_MAX]
        out[name + "_tick_labels"] = texts[:POINTS_MAX]
        out[name + "_scale"] = scale(axis)
    return out


def scale(axis):
    if categories(axis):
        return "categorical"
    if is_date(axis):
        return "datetime"
    return axis.get_scale()


def converter_name(axis):
    get = getattr(axis, "get_converter", None)
    converter = get() if get else getattr(axis, "converter", None)
    return type(converter).__name__ if converter is not None else ""


def is_date(axis):
    name = converter_name(axis)
    if "Date" in name or "Period" in name:
        return True
    if getattr(axis.axes, "freq", None) is not None and axis is axis.axes.xaxis:
        return True
    return "Date" in type(axis.get_major_formatter()).__name__


def categories(axis):
    """Return {position: label} if the axis shows strings, otherwise {}."""
    mapping = getattr(axis.units, "_mapping", None)
    return {place: str(label) for label, place in mapping.items()} if mapping else {}


def coordinate(value, axis):
    """Return a coordinate as clients expect it: a time as ISO text, a category as its label."""
    if isinstance(value, str):
        return str(value)  # a subclass of str, as numpy has, becomes a plain str
    if hasattr(value, "to_timestamp"):
        return value.to_timestamp().isoformat()
    if hasattr(value, "isoformat"):
        return str(value.isoformat())
    kind = getattr(getattr(value, "dtype", None), "kind", "")
    if kind == "M":
        return str(value.astype("datetime64[us]").item().isoformat())
    if type(value).__name__ == "MaskedConstant":
        return None
    names = categories(axis)
    number = float(value)
    if number - number != 0:
        return None
    if number in names:
        return names[number]
    if is_date(axis):
        if "Period" in converter_name(axis) or getattr(axis.axes, "freq", None) is not None:
            return period(number, axis)
        return sys.modules["matplotlib.dates"].num2date(number).replace(tzinfo=None).isoformat()
    return int(number) if number.is_integer() and is_whole(value) else number


def period(number, axis):
    freq = getattr(axis, "freq", None) or axis.axes.freq
    pandas = sys.modules["pandas"]
    return pandas.Period(ordinal=int(number), freq=freq).to_timestamp().isoformat()


def is_whole(value):
    return getattr(getattr(value, "dtype", None), "kind", "") in "iub" or isinstance(value, int)


def number(value):
    found = float(value)
    return found if found - found == 0 else None


def name_of(artist):
    """
    Return an artist's label. A label that matplotlib has generated begins with an underscore; then return
    "".
    """
    text = str(artist.get_label() or "")
    return "" if text.startswith("_") else text


# ---- kinds of charts ------------------------------------------------------------------------------


def series(label, xs, ys, axes):
    """Return one line or point cloud as an element of a chart. A long one is thinned out."""
    size = min(len(xs), len(ys))
    stride = -(-size // POINTS_MAX) or 1
    points = [
        [coordinate(xs[i], axes.xaxis), coordinate(ys[i], axes.yaxis)]
        for i in range(0, size, stride)
    ]
    out = {"label": label, "points": points}
    if stride > 1:
        out["truncated"] = True
    return out


def drawn_lines(axes):
    """Return the lines that are in data coordinates, but not those of axhline() and the caps of error bars."""
    return [
        line
        for line in axes.lines
        if line.get_label() != "_nolegend_" and line.get_transform() == axes.transData
    ]


def line_series(line, axes):
    xs, ys = line.get_xdata(orig=True), line.get_ydata(orig=True)
    xs = xs if hasattr(xs, "__getitem__") else list(xs)
    ys = ys if hasattr(ys, "__getitem__") else list(ys)
    if hasattr(xs, "iloc"):
        xs = xs.array
    if hasattr(ys, "iloc"):
        ys = ys.array
    return series(name_of(line), xs, ys, axes)


def is_joined(line):
    return line.get_linestyle() not in ("None", "none", " ", "")


def lines(axes):
    return [line_series(line, axes) for line in drawn_lines(axes)]


def scatter(axes):
    """
    Return the point clouds and the lines. Return an empty list if this is not a scatter chart: there is no
    point cloud, and there is a line whose points are joined, or no line at all.
    """
    numpy = sys.modules["numpy"]
    clouds = [c for c in axes.collections if type(c).__name__ == "PathCollection"]
    plain = drawn_lines(axes)
    if not clouds and (not plain or any(map(is_joined, plain))):
        return []
    out = []
    for cloud in clouds:
        offsets = numpy.ma.filled(numpy.ma.asarray(cloud.get_offsets(), dtype=float), numpy.nan)
        if len(offsets):
            out.append(series(name_of(cloud), offsets[:, 0], offsets[:, 1], axes))
    return out + [line_series(line, axes) for line in plain]


def bars(axes):
    out = []
    for container in axes.containers:
        if type(container).__name__ != "BarContainer":
            continue
        group = str(container.get_label() or "")
        group = "" if group.startswith("_") else group
        across = getattr(container, "orientation", None) == "horizontal"
        axis = axes.yaxis if across else axes.xaxis
        names = tick_names(axis)
        for bar in container.patches[:POINTS_MAX]:
            if across:
                place, value = bar.get_y() + bar.get_height() / 2, bar.get_width()
            else:
                place, value = bar.get_x() + bar.get_width() / 2, bar.get_height()
            label = bar_name(place, names, axis)
            out.append({"label": label, "group": group, "value": number(value)})
    return out


def tick_names(axis):
    """Return {position: text} of ticks whose texts were set; {} for plain numbers."""
    if categories(axis):
        return categories(axis)
    if type(axis.get_major_formatter()).__name__ not in ("FixedFormatter", "FuncFormatter"):
        return {}
    places = axis.get_majorticklocs()
    texts = [label.get_text() for label in axis.get_majorticklabels()]
    return {float(place): text for place, text in zip(places, texts) if text}


def bar_name(place, names, axis):
    """Return the text of the tick that belongs to a bar. The bars of a group lie around their tick."""
    if names:
        nearest = min(names, key=lambda tick: abs(tick - place))
        ordered = sorted(names)
        gaps = [b - a for a, b in zip(ordered, ordered[1:])]
        if abs(nearest - place) <= (min(gaps) / 2 if gaps else 0.5):
            return names[nearest]
    if is_date(axis):
        return coordinate(place, axis)
    return "%g" % place


def pie(axes):
    wedges = [patch for patch in axes.patches if type(patch).__name__ == "Wedge"]
    return [
        {
            "label": name_of(wedge),
            "angle": number(round(float(abs(wedge.theta2 - wedge.theta1)), 4)),
            "radius": number(wedge.r),
        }
        for wedge in wedges
    ]


def boxes(axes):
    """
    Return the boxes that hooks.patch_axes() has recorded. The drawn lines do not tell to which box they
    belong.
    """
    recorded = getattr(axes, "_retort_boxes", [])
    out = []
    for place, stats, across in recorded:
        names = tick_names(axes.yaxis if across else axes.xaxis)
        label = stats.get("label")
        out.append(
            {
                "label": str(label) if label not in (None, "") else names.get(place, str(place)),
                "min": number(stats["whislo"]),
                "first_quartile": number(stats["q1"]),
                "median": number(stats["med"]),
                "third_quartile": number(stats["q3"]),
                "max": number(stats["whishi"]),
                "outliers": [number(v) for v in stats.get("fliers", ())][:POINTS_MAX],
            }
        )
    return out
