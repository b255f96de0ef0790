# SPDX-License-Identifier: Apache-2.0
"""Write a PNG image as sixels, for terminals that show those (DEC STD 070).

The conversion happens in the box, because the engine should not decode an image that a program wrote."""

LEVELS = (6, 7, 6)  # levels of red, green and blue; these 252 colours fit into a terminal's 256 registers
WIDTH_MAX = 1600


def pixels(png):
    """Return rows of RGB bytes on a white background, as a numpy array."""
    import numpy
    from _io import BytesIO

    from matplotlib import image

    found = image.imread(BytesIO(png), format="png")
    if found.ndim == 2:
        found = numpy.repeat(found[:, :, None], 3, axis=2)
    if found.shape[2] == 4:
        alpha = found[:, :, 3:]
        found = found[:, :, :3] * alpha + (1 - alpha)
    step = -(-found.shape[1] // WIDTH_MAX)
    return found[::step, ::step, :3]


def run_length(row):
    """Return one colour of one band in sixels. Repetitions become !COUNT."""
    import numpy

    edges = numpy.flatnonzero(numpy.diff(row)) + 1
    starts = numpy.concatenate(([0], edges))
    counts = numpy.diff(numpy.concatenate((starts, [len(row)])))
    parts = []
    for start, count in zip(starts.tolist(), counts.tolist()):
        char = chr(63 + int(row[start]))
        parts.append("!%d%s" % (count, char) if count > 3 else char * count)
    return "".join(parts)


def from_png(png):
    """Return the whole control sequence. It is printable ASCII except for two escape characters."""
    import numpy

    rgb = pixels(png)
    height, width = rgb.shape[:2]
    index = numpy.zeros((height, width), dtype=numpy.int32)
    for channel, levels in enumerate(LEVELS):
        index = index * levels + numpy.rint(rgb[:, :, channel] * (levels - 1)).astype(numpy.int32)
    out = ['\033Pq"1;1;%d;%d' % (width, height)]
    for color in numpy.unique(index).tolist():
        rest, blue = divmod(color, LEVELS[2])
        red, green = divmod(rest, LEVELS[1])
        percents = [v * 100 // (n - 1) for v, n in zip((red, green, blue), LEVELS)]
        out.append("#%d;2;%d;%d;%d" % (color, *percents))
    for top in range(0, height, 6):
        band = index[top : top + 6]
        weights = (1 << numpy.arange(len(band)))[:, None]
        lines = []
        for color in numpy.unique(band).tolist():
            row = ((band == color) * weights).sum(axis=0)
            lines.append("#%d%s" % (color, run_length(row)))
        out.append("$".join(lines) + "-")
    return "".join(out) + "\033\\"
