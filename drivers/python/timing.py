# SPDX-License-Identifier: Apache-2.0
"""The magics %time, %timeit, %prun and %run, which run code."""

import sys

import builtins

state = driver.state

with driver.part("genuine").Genuine():
    import io
    import math
    import re
    import resource
    import time as clock

RUNS, ENOUGH_S = 7, 0.2
ROWS_OF_PROFILE = 30
OPTION_OF_PRUN = re.compile(r"\s*-([rq]*)(?:([DlsT])\s*(\S+))?(?=\s|$)")
UNITS = ("s", "ms", "\xb5s", "ns")


def codes_of(text, space, n_before):
    """Return the code objects of @text, which begins @n_before lines after the magic's own line."""
    line = space.line - 1 + n_before
    return driver.part("program").split("\n" * line + text, space.filename)


def evaluate(codes, has_value, space):
    value = None
    for code in codes:
        value = eval(code, space.names, space.inner)
    return value if has_value else None


def run_text(text, space, n_before):
    return evaluate(*codes_of(text, space, n_before), space)


def span(seconds):
    """Return a duration as IPython writes it."""
    if seconds >= 60:
        out, left = [], seconds
        for unit, length in (("d", 86400), ("h", 3600), ("min", 60), ("s", 1)):
            number, left = divmod(left, length)
            if number:
                out.append("%d%s" % (number, unit))
            if left < 1:
                break
        return " ".join(out)
    order = min(-int(math.floor(math.log10(seconds)) // 3), 3) if seconds > 0 else 3
    return "%.3g %s" % (seconds * 10 ** (3 * order), UNITS[order])


class Watch:
    """Measures the time and memory used since it was created."""

    def __init__(self):
        self.used, self.wall = resource.getrusage(resource.RUSAGE_SELF), clock.perf_counter()

    def tell(self):
        wall = clock.perf_counter() - self.wall
        now = resource.getrusage(resource.RUSAGE_SELF)
        user, system = now.ru_utime - self.used.ru_utime, now.ru_stime - self.used.ru_stime
        builtins.print(
            "CPU times: user %s, sys: %s, total: %s" % (span(user), span(system), span(user + system))
        )
        builtins.print("Wall time: %s" % span(wall))


def timed(text, space, n_before):
    codes, has_value = codes_of(text, space, n_before)
    watch = Watch()
    value = evaluate(codes, has_value, space)
    watch.tell()
    return value


def time(text, space):
    return timed(text, space, 0)


def time_cell(text, body, space):
    return timed("%s\n%s" % (text, body), space, 0)


async def time_async(text, space):
    codes, has_value = codes_of(text, space, 1 if "\n" in text else 0)
    watch, value = Watch(), None
    for code in codes:
        value = eval(code, space.names, space.inner)
        if code.co_flags & driver.COROUTINE:
            value = await value
    watch.tell()
    return value if has_value else None


# ---- timeit -------------------------------------------------------------------------------------------


class TimeitResult:
    def __init__(self, loops, timings):
        self.loops, self.repeat, self.timings = loops, len(timings), timings
        self.all_runs = [each * loops for each in timings]
        self.best, self.worst = min(timings), max(timings)
        self.average = math.fsum(timings) / len(timings)
        self.stdev = (math.fsum([(t - self.average) ** 2 for t in timings]) / len(timings)) ** 0.5

    def __str__(self):
        return "%s \xb1 %s per loop (mean \xb1 std. dev. of %d run%s, %s loop%s each)" % (
            span(self.average), span(self.stdev), self.repeat, "s" * (self.repeat != 1),
            format(self.loops, ","), "s" * (self.loops != 1),
        )

    def __repr__(self):
        return "<TimeitResult : %s>" % self


def options_of(text):
    """Return the options at the beginning of @text, and the code after them, unchanged."""
    options = {}
    while True:
        text = text.lstrip()
        if text[:1] != "-" or text[1:2] not in tuple("nrpotcqv"):
            return options, text
        letter, text = text[1], text[2:]
        if letter in "nrp":
            number = text.lstrip()
            digits = number[: len(number) - len(number.lstrip("0123456789"))]
            options[letter], text = int(digits or 0), number[len(digits) :]
        else:
            options[letter] = True


def measure(statement, setup, options, space):
    with driver.part("genuine").Genuine():
        import timeit as library
    if not driver.part("program").compiles(statement, "exec"):
        statement = driver.part("notebook").translate(statement) or statement
    timer = library.Timer(statement, setup or "pass", globals=space.all())
    number, runs = options.get("n", 0), options.get("r", 0) or RUNS
    if not number:
        for power in range(10):
            number = 10**power
            if timer.timeit(number) >= ENOUGH_S:
                break
    timings = [each / number for each in timer.repeat(runs, number)]
    result = TimeitResult(number, timings)
    if "q" not in options:
        if result.worst > 4 * result.best and result.best > 0 and result.worst > 1e-6:
            builtins.print(
                "The slowest run took %0.2f times longer than the fastest. This could mean that an "
                "intermediate result is being cached." % (result.worst / result.best)
            )
        builtins.print(result)
    return result if "o" in options else None


def timeit(text, space):
    options, statement = options_of(text)
    if not statement.strip():
        return None
    return measure(statement, "", options, space)


def timeit_cell(text, body, space):
    options, setup = options_of(text)
    return measure(body, setup, options, space)


def options_of_prun(text):
    """Return {letter: value or True; lists for -l and -s}, and the code after the options."""
    options = {"l": [], "s": []}
    while True:
        found = OPTION_OF_PRUN.match(text)
        if found is None or not (found[1] or found[2]):
            return options, text.lstrip()
        options.update({letter: True for letter in found[1]})
        if found[2] in ("l", "s"):
            options[found[2]].append(found[3].strip("'\""))
        elif found[2]:
            options[found[2]] = found[3].strip("'\"")
        text = text[found.end() :]


def number_or_text(word):
    for kind in (int, float):
        try:
            return kind(word)
        except ValueError:
            pass
    return word


def profile(code, options, space):
    with driver.part("genuine").Genuine():
        import cProfile
        import pstats
    codes, _ = codes_of(code, space, 0)
    keys = options["s"] or ["time"]
    for key in keys:
        if key not in pstats.Stats().get_sort_arg_defs():
            raise driver.part("magic").UsageError("%%prun -s: there is no key %r: cumtime, time, calls, name, …" % key)
    measured = cProfile.Profile()
    for each in codes:
        measured.runctx(each, space.names, space.names if space.inner is None else space.inner)
    told = io.StringIO()
    stats = pstats.Stats(measured, stream=told).strip_dirs().sort_stats(*keys)
    stats.print_stats(*([number_or_text(word) for word in options["l"]] or [ROWS_OF_PROFILE]))
    if "q" not in options:
        builtins.print(told.getvalue().rstrip())
    if "D" in options:
        measured.dump_stats(options["D"])
        builtins.print("*** Profile stats marshalled to file %r." % options["D"])
    if "T" in options:
        with open(options["T"], "w", encoding="utf-8") as file:
            file.write(told.getvalue().rstrip())
        builtins.print("*** Profile printout saved to text file %r." % options["T"])
    stats.stream = sys.stdout
    return stats if "r" in options else None


def prun(text, space):
    options, code = options_of_prun(text)
    return profile(code, options, space)


def prun_cell(text, body, space):
    options, code = options_of_prun(text)
    return profile("%s\n%s" % (code, body), options, space)


# ---- %run ---------------------------------------------------------------------------------------------


def run_file(text, space):
    """Run a file as a separate program. The variables that it has set become variables of the session."""
    magic = driver.part("magic")
    options, rest = magic.words(text, flags="intdeG", last="m")
    main = vars(state.main)
    if "m" in options:
        with driver.part("genuine").Genuine():
            import runpy
        made = with_argv([options["m"], *rest], lambda: runpy.run_module(
            options["m"], None, "__main__", True))
        keep(made, main)
        return
    if not rest:
        raise magic.UsageError("write %run FILE.py [ARGUMENTS]")
    path = magic.os.path.expanduser(rest[0])
    if not magic.os.path.exists(path) and magic.os.path.exists(path + ".py"):
        path += ".py"
    with open(path, "rb") as file:
        text = file.read()
    if path.endswith(".ipynb"):
        return driver.part("cells").run_notebook(path, text)
    if is_other(path, text):
        raise magic.UsageError("%%run accepts Python files and notebooks; %s is neither" % path)
    code = compile(text, path, "exec", 0, True)
    watch = Watch()
    run_program(code, path, rest, main, "i" in options)
    if "t" in options:
        watch.tell()


def is_other(path, text):
    """
    Return whether the file is in another language, judging by its suffix or its `#!` line.

    The rules are those of `retort run` (src/runtime/runtime.c).
    """
    ending = path.rpartition("/")[2].rpartition(".")
    word = ending[2].lower() if ending[1] else ""
    first = text.partition(b"\n")[0]
    if word in ("py", "pyw", "ipy"):
        return False
    if first[:2] == b"#!":
        return b"python" not in first
    return word.isalnum() and not word.isdigit() and len(word) <= 5


def run_program(code, path, argv, main, shares):
    module = type(sys)("__main__")
    space = vars(module)
    if shares:
        space.update({k: v for k, v in main.items() if k[:2] != "__"})
    space.update(__file__=path, __builtins__=builtins)
    folder = path.rpartition("/")[0] or "."
    sys.modules["__main__"] = module
    sys.path.insert(0, folder)
    try:
        with_argv(argv, lambda: exec(code, space))
    except SystemExit as error:
        if error.code not in (None, 0):
            raise
    finally:
        sys.modules["__main__"] = state.main
        if folder in sys.path:
            sys.path.remove(folder)
        keep(space, main)


def with_argv(argv, function):
    before, sys.argv = sys.argv, list(argv)
    try:
        return function()
    finally:
        sys.argv = before


def keep(made, main):
    main.update({name: value for name, value in made.items() if name[:2] != "__"})
