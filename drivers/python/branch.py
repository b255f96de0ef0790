# SPDX-License-Identifier: Apache-2.0
"""BRANCH: a copy of the process in a box of its own.

The work has three parts, divided by where its memory writes happen. be_stem() runs once, before the first
branch: it does everything that is the same in every branch, since all branches share the pages it writes.
native.branch() clones the process (stem.c); the original stays there as the stem and never returns.
be_branch() runs in each branch and does what must differ: process id, random numbers, event loop. Each page
written there is copied, so random generators are reseeded by writing new words into their state instead of
calling their seed functions.

The engine may announce branches (STEM), in which case be_stem() has run before the first BRANCH arrives. If
another frame arrives instead, stay() undoes what a normal process would notice.
"""

import sys

import posix

state = driver.state
native = driver.native
KEEPS, WARMS = 1, 2  # as in ext.h
POSITION_BYTES, MT_BYTES = 4, 624 * 4  # layout of the state of random's generator; see keep_random()


def get_ready():
    """Prepare before the first BRANCH arrives. On failure BRANCH will try again and report the reason."""
    try:
        if is_alone():
            state.stem = be_stem()
    except BaseException:
        pass


def is_alone():
    """Is this the only thread, once idle threads of libraries have been ended?"""
    if not native.alone(False):
        driver.part("threads").rest()
    return native.alone(True)


def stay():
    """Another frame came instead of BRANCH: continue as a normal process."""
    stem, state.stem = state.stem, None
    quietly(restore_numbers, stem.kept)


def answer(request, fds):
    """
    Answer BRANCH. In the process that was asked, this does not return: it becomes the stem of its branches.
    It returns in each branch, ready for a step, and after a failure.
    """
    stem, state.stem = state.stem, None
    try:
        if not is_alone():
            names = driver.part("threads").describe()
            raise RuntimeError("other threads are alive: %s: let them end, then branch" % names)
        stem = stem or be_stem(fds)
    except BaseException as error:
        refuse(request, error)
        posix._exit(0)  # the session is closed to further code, and no branch can be made
    try:
        name = driver.encode(request["id"])
        flags = (request.get("reseed") is False) * KEEPS + (request.get("warm") is True) * WARMS
        words = () if state.seed is not None else stem.words
        streams = (state.out, state.err)
        flags = native.branch(name, flags, state.channel, fds, streams, words, stem.ready)
    except BaseException as error:
        state.stem = stem
        stay()
        refuse(request, error)
        close_all(fds)  # the warden notices that its socket is closed
        return
    # The native part knows which of the stem's BRANCH frames made this branch.
    be_branch(stem, flags)


def refuse(request, error):
    message = driver.part("failure").safe_str(error)
    driver.send(driver.BRANCHED, {"id": request["id"], "error": message})


def close_all(fds):
    for fd in fds:
        try:
            posix.close(fd)
        except OSError:
            pass


class Stem:
    """What branches need to know about the process they were cloned from."""

    def __init__(self, kept):
        self.kept = kept  # functions that restore random generators, with the states
        self.words, self.reseeds = find_generators()
        self.renewals = find_renewals()
        self.ready = driver.begin_ready()


def be_stem(fds=()):
    """
    Do once what would be the same in every branch: all branches share the memory written here. @fds: the
    descriptors for the first branch.
    """
    state.inherited = None
    kept = keep_numbers()
    native.be_forked()
    native.find_shared([0, 1, 2, state.channel, state.out, state.err, *fds])
    state.crowded = state.had_guard = False
    if state.has_stdin:
        state.stdin = None  # its buffer may hold input that branches have not read
    driver.part("streams").restore()
    renew_names()
    return Stem(kept)


def be_branch(stem, flags):
    """
    Do what must differ in each branch and native code has not done. READY has been sent: while the engine and
    its client react, exercise the code that every first step runs.
    """
    state.inherited = stem  # keep it: freeing it would write to its pages, which copies them
    if state.home != posix.getpid():
        state.home = posix.getpid()
        quietly(renew_thread)
    for renew, args in stem.renewals:
        quietly(renew, *args)
    if flags & KEEPS or state.seed is not None:
        quietly(restore_numbers, stem.kept)
    else:
        for reseed, args in stem.reseeds:
            quietly(reseed, *args)
    if flags & WARMS:
        posix.sched_yield()  # let the readers of READY run
        if not native.is_readable(state.channel):
            driver.part("guard").warm()


def find_renewals():
    """Functions that replace the event loop and OpenSSL's random state, which branches must not share."""
    renewals = []
    if state.loop is not None:
        renewals.append((renew_loop, ()))
    if "_ssl" in sys.modules:
        renewals.append((renew_secrets, ()))
    return renewals


def quietly(do, *args):
    try:
        do(*args)
    except BaseException:
        pass


def renew_thread():
    """The main thread's native id is the process id."""
    sys.modules["threading"].main_thread()._set_native_id()


def keep_numbers():
    """
    Save the generators that be_stem() itself advances: a list of (function that restores, state). Those are
    random's, by its fork hook, and numpy's when it holds the second number of a normal pair, which all
    branches would draw.
    """
    kept = []
    try:
        kept.append(keep_random(sys.modules["random"]))
    except BaseException:
        pass  # not loaded, or a user's module of that name
    try:
        numpy = sys.modules["numpy.random"]
        if not is_untouched(numpy):
            numbers = numpy.get_state(legacy=False)
            if numbers["has_gauss"]:
                kept.append((numpy.set_state, numbers))
                numpy.seed()
    except BaseException:
        pass
    return kept


def is_untouched(numpy):
    """Is numpy's global generator unused since this box was made?"""
    try:
        generator, *words = state.words
        return generator is numpy.mtrand._rand._bit_generator and native.is_drawn(*words)
    except BaseException:
        return False


def keep_random(random):
    """
    Save the state of random's generator. As a tuple of numbers it is two hundred times as large as in memory,
    so the words are copied from the object, if they are where we expect them. A process looks once, and its
    branches inherit the result.
    """
    generator = random._inst
    if state.numbers is None or state.numbers[0] is not generator:
        first = object.__basicsize__
        n = sys.modules["_random"].Random.__basicsize__ - first
        _, (*numbers, position), _ = generator.getstate()
        words = memoryview(native.get_words(id(generator) + first, n)).cast("I").tolist()
        if words[: len(numbers) + 1] != [position, *numbers]:
            return generator.setstate, generator.getstate()
        state.numbers = generator, id(generator) + first, n
    return set_random, (generator.gauss_next, state.numbers[1], native.get_words(*state.numbers[1:]))


def set_random(kept):
    state.numbers[0].gauss_next, *words = kept
    native.set_words(*words)


def restore_numbers(kept):
    for restore, numbers_then in kept:
        restore(numbers_then)


def find_generators():
    """
    How each branch reseeds its generators: (addresses and sizes of words to overwrite, functions to call
    where the address is unknown). Seeding writes to two hundred pages, overwriting the words to one or two.
    numpy's words come last, because is_untouched() asks about the words that were drawn last.
    """
    words, reseeds = [], []
    random = sys.modules.get("random")
    if random is not None:
        if state.numbers is not None and state.numbers[0] is random._inst:
            words.append((state.numbers[1] + POSITION_BYTES, MT_BYTES))
        else:
            reseeds.append((sys.modules["_random"].Random.seed, (random._inst,)))
    numpy = sys.modules.get("numpy.random")
    if numpy is not None:
        try:
            words.append(find_words(numpy))
        except BaseException:
            reseeds.append((renew_numpy, (numpy,)))
    return words, reseeds


def renew_numpy(numpy):
    """With an unusual generator, seeding would leave the second number of a normal pair."""
    numpy.seed()
    numpy.set_state(dict(numpy.get_state(legacy=False), has_gauss=0))


def find_words(numpy):
    """
    Address and size of the words of numpy's global generator, if the object looks as expected. They are the
    same in a process and its branches, so a process looks once.
    """
    generator = numpy.mtrand._rand._bit_generator
    if state.words is None or state.words[0] is not generator:
        numbers = numpy.get_state()
        name, words, position = numbers[:3]
        if name != "MT19937":
            raise ValueError(name)
        address = generator.ctypes.state_address
        native.draw(address, words.nbytes)
        after = numpy.get_state()
        if (after[1] == words).sum() > 2 or after[2] != position:
            raise ValueError("the words are not where expected")
        if memoryview(native.get_words(address, words.nbytes + 4)).cast("I")[-1] != position:
            raise ValueError("the index is not where expected")
        numpy.set_state(numbers)
        state.words = generator, address, words.nbytes
    return state.words[1:]


def renew_names():
    """
    Reset what uuid and tempfile draw once and keep. Both detect a fork by the process id, but a driver has
    the same one in every box.
    """
    if "uuid" in sys.modules:
        sys.modules["uuid"]._node = sys.modules["uuid"]._last_timestamp = None
    if "tempfile" in sys.modules:
        sys.modules["tempfile"]._name_sequence = None


def renew_secrets():
    """OpenSSL also detects a fork by the process id; adding fresh bytes makes it reseed."""
    sys.modules["_ssl"].RAND_add(posix.urandom(64), 64.0)


def renew_loop():
    """Replace the socketpair by which the event loop wakes itself."""
    loop = state.loop
    if loop is None or loop.is_closed():
        return
    try:
        loop._close_self_pipe()
        loop._make_self_pipe()
    except BaseException:
        state.loop = None
