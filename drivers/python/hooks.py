# SPDX-License-Identifier: Apache-2.0
"""Hooks on imports: add the site directories before the first package, and patch libraries."""

import sys

import posix

Genuine = driver.part("genuine").Genuine
TABLE_COLUMNS = 200
NO_SCREEN = (
    "gtk3agg gtk3cairo gtk4agg gtk4cairo macosx nbagg notebook ipympl widget inline qtagg qtcairo qt5agg qt5cairo "
    "qt4agg qt4cairo tkagg tkcairo webagg wx wxagg wxcairo"
).split()


def load_site():
    """Do what site.main() does, for a system Python that was started with -I."""
    first = sys.path[:1]
    del sys.path[:1]
    try:
        import os
        import site

        known = {os.path.normcase(place) for place in sys.path}
        for place in site.getsitepackages():
            if os.path.isdir(place):
                site.addsitedir(place, known)
        site.setcopyright()
        site.ENABLE_USER_SITE = bool(driver.Finder.user_site)
        site.execsitecustomize()
    except Exception as error:
        note_ignored(error)
    finally:
        sys.path[:0] = first


seen = set()  # names of .pth files in the user's site directory that were read


def add_user_site(place):
    """
    Add the user's site directory to sys.path, and those that its new .pth files name. As in any Python, it
    comes before the packages of the host, so that what a step installs wins.
    """
    with Genuine():
        import importlib
        import os
        import site
    try:
        before = [each for each in sys.path if each != place]  # the module site may have added it, as the last
        sys.path[:] = [*before, place]
        known = {os.path.normcase(each) for each in sys.path if type(each) is str}
        for name in sorted(os.listdir(place)):
            if name[-4:] == ".pth" and name not in seen:
                seen.add(name)
                site.addpackage(place, name, known)
        new = [each for each in sys.path if each not in before]
        old = [each for each in sys.path if each in before]
        ends = [type(each) is str and each[-14:] in ("/dist-packages", "/site-packages") for each in old]
        at = ends.index(True) if True in ends else len(old)
        sys.path[:] = old[:at] + new + old[at:]
        importlib.invalidate_caches()
    except Exception as error:
        note_ignored(error)


def note_ignored(error):
    """Report an exception that cannot be handled, as the interpreter does at its end."""
    with Genuine():
        import traceback
    driver.part("failure").complain("".join(traceback.format_exception_only(type(error), error)))


class Hooked:
    """A loader that calls a hook once the module is loaded, and then removes itself."""

    def __init__(self, spec, hook):
        self.spec, self.loader, self.hook = spec, spec.loader, hook

    def create_module(self, spec):
        return self.loader.create_module(spec)

    def exec_module(self, module):
        self.spec.loader = module.__loader__ = self.loader
        self.loader.exec_module(module)
        try:
            self.hook(module)
        except Exception as error:
            note_ignored(error)

    def __getattr__(self, name):
        return getattr(self.loader, name)


def hooked_spec(name, path, target):
    for finder in sys.meta_path:
        if finder is driver.Finder:
            continue
        spec = finder.find_spec(name, path, target)
        if spec is not None:
            if hasattr(spec.loader, "exec_module"):
                spec.loader = Hooked(spec, driver.Finder.hooks[name])
            return spec
    return None


def patch_pandas(pandas):
    """
    Set the width of printed tables. It is that of the terminal (COLUMNS) if there is one, otherwise a width
    that suits a model. A script is left alone, like any program. The program's own settings override this.
    """
    if not hasattr(pandas, "set_option"):
        return  # pandas is a module of the user
    given = posix.environ.get(b"COLUMNS", b"")
    step = driver.state.step
    if step is not None and step.once and step.filename[:1] != "<" and not given:
        return
    width = int(given) if given.isdigit() and 0 < int(given) < 10_000 else TABLE_COLUMNS
    pandas.set_option("display.width", width)
    if width >= TABLE_COLUMNS:
        pandas.set_option("display.max_columns", 20)


def patch_matplotlib(matplotlib):
    """Make use() keep the current backend when asked for one that needs a screen or a notebook."""
    if hasattr(matplotlib, "use"):  # otherwise matplotlib is a module of the user
        matplotlib.use = without_screen(matplotlib.use, lambda: None)


def without_screen(switch, otherwise):
    def use(backend, *args, **kwargs):
        if type(backend) is str and (backend.lower() in NO_SCREEN or backend[:9] == "module://"):
            otherwise()
        else:
            switch(backend, *args, **kwargs)

    use.__doc__, use.__name__, use.__wrapped__ = switch.__doc__, switch.__name__, switch
    return use


def patch_pyplot(pyplot):
    """Make show() display the open figures instead of warning that there is no screen."""

    def show(*args, **kwargs):
        driver.part("rich").show_figures(driver.state.step)

    show.__doc__ = pyplot.show.__doc__
    pyplot.show = show
    switch = pyplot.switch_backend

    def have_one():
        if getattr(pyplot, "_backend_mod", switch) is None:  # keep a backend that is already loaded
            switch("agg")

    pyplot.switch_backend = without_screen(switch, have_one)


def patch_axes(module):
    """Record the numbers behind box plots, for the chart."""
    bxp = module.Axes.bxp

    def recorded(self, bxpstats, positions=None, *args, **kwargs):
        result = bxp(self, bxpstats, positions, *args, **kwargs)
        try:
            across = not kwargs.get("vert", True) or kwargs.get("orientation") == "horizontal"
            places = positions if positions is not None else range(1, len(bxpstats) + 1)
            boxes = [(float(place), stats, across) for place, stats in zip(places, bxpstats)]
            self._retort_boxes = getattr(self, "_retort_boxes", []) + boxes
        except Exception:
            pass  # a failure to record the boxes must not fail the plot
        return result

    recorded.__name__, recorded.__doc__ = bxp.__name__, bxp.__doc__
    recorded.__wrapped__ = bxp
    module.Axes.bxp = recorded


def patch_pil(image_show):
    """Make Image.show() display the image."""

    class Viewer(image_show.Viewer):
        def show(self, image, **options):
            driver.display(image)
            return True

        def show_image(self, image, **options):
            return self.show(image)

    image_show.register(Viewer(), 0)


def register_sources(*_):
    with Genuine():
        import linecache
    for name, text in driver.state.sources.items():
        linecache.cache[name] = (len(text), None, driver.source_lines(text), name)
