# SPDX-License-Identifier: Apache-2.0
"""The BRANCH frame: makes a copy of the process in a box of its own.

The work has three parts, divided by where they write to memory. be_stem() runs once, before the first
branch. It does everything that is the same in every branch, since all branches share the pages it
writes. native.branch() clones the process (stem.c); the original stays there as the stem and never
returns. be_branch() runs in each branch and does what must differ: process id, random numbers, event
loop. Each page that it writes is copied. So random generators are reseeded by writing new words into
their state, which touches fewer pages than their seed functions.

The engine may announce branches with a STEM frame. be_stem() has then run before the first BRANCH frame
arrives. If another frame arrives instead, stay() undoes what a normal process would notice.

A session that keeps its processes lends its driver: lend() makes one branch, in which nothing but be_stem()
runs, and the driver goes on. All further branches are made from that one."""

import sys

import posix

state = driver.state
native = driver.native
KEEPS, WARMS, LENDS = 1, 2, 4  # the flags of ext.h
# Sizes in the state of random's generator, which is a position followed by the words.
POSITION_BYTES, MT_BYTES = 4, 624 * 4


def get_ready():
    """Prepare before the first BRANCH arrives. After a failure, BRANCH tries again and reports the reason."""
    try:
        if is_alone():
            state.stem = be_stem()
    except BaseException:
        pass


def is_alone():
    """End idle threads of libraries. Return whether the calling thread is then the only one."""
    if not native.alone(False):
        driver.part("threads").rest()
    return native.alone(True)


def stay():
    """Continue as a normal process, because another frame than BRANCH has arrived."""
    stem, state.stem = state.stem, None
    quietly(restore_numbers, stem.kept)


def answer(request, fds):
    """
    Answer a BRANCH frame.

    In the process that was asked, this does not return: it becomes the stem of its branches. In each branch
    it returns, and the branch is ready for a step. It also returns after a failure, and after lend().
    """
    if request.get("lend") is True:
        if state.stem is not None:
            stay()
        lend(request, fds)
        return
    stem, state.stem = state.stem, None
    try:
        if not is_alone():
            names = driver.part("threads").describe()
            raise RuntimeError("other threads are alive: %s: let them end, then branch" % names)
        stem = stem or be_stem(fds)
    except BaseException as error:
        refuse(request, error)
        posix._exit(0)  # the session accepts no more code, and no branch can be made
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


def lend(request, fds):
    """
    Answer a BRANCH frame with `lend`.

    The process that was asked goes on, and its program must not notice: no fork hook runs in it, no child is
    reaped, and no byte is sent over its sockets. The branch becomes a stem at once.
    """
    try:
        if not is_alone():
            names = driver.part("threads").describe()
            raise RuntimeError("other threads are alive: %s: let them end, then branch" % names)
        own = [0, 1, 2, state.channel, state.out, state.err, *fds]
        native.find_shared(own, driver.part("guard").loop_pairs())
        name, streams, ready = driver.encode(request["id"]), (state.out, state.err), driver.begin_ready()
        flags = native.branch(name, KEEPS | LENDS, state.channel, fds, streams, (), ready)
    except BaseException as error:
        refuse(request, error)
        close_all(fds)  # the warden notices that its socket is closed
        return
    if flags is None:
        return
    try:
        state.home = posix.getpid()
        state.stem = be_stem()
    except BaseException:
        posix._exit(1)


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
        self.kept = kept  # list of (function that restores a random generator, its state)
        self.words, self.reseeds = find_generators()
        self.renewals = find_renewals()
        self.ready = driver.begin_ready()


def be_stem(fds=()):
    """
    Do once what would be the same in every branch: all branches share the memory that is written here. @fds
    are the descriptors for the first branch.
    """
    state.inherited = None
    kept = keep_numbers()
    native.be_forked()
    native.find_shared([0, 1, 2, state.channel, state.out, state.err, *fds], None)
    state.crowded = state.had_guard = False
    if state.has_stdin:
        state.stdin = None  # drop it: its buffer may hold unread input of the last step
    driver.part("streams").restore()
    renew_names()
    return Stem(kept)


def be_branch(stem, flags):
    """
    Do what must differ in each branch, except what native code has done. READY has been sent. While the
    engine and its client react, run the code that every first step runs.
    """
    state.inherited = stem  # keep the object: freeing it would write to its pages, which copies them
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
        posix.sched_yield()  # let the processes that wait for READY run first
        if not native.is_readable(state.channel):
            driver.part("guard").warm()


def find_renewals():
    """
    Return functions that replace the event loop and OpenSSL's random state, which branches must not share.
    """
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
    """Set the native id of the main thread, which is the process id."""
    sys.modules["threading"].main_thread()._set_native_id()


def keep_numbers():
    """
    Save the random generators that be_stem() itself advances, so that they can be restored. Returns: a list
    of (function that restores, state).

    One is random's generator, which its fork hook reseeds. The other is numpy's, if it holds the second
    number of a pair of normal numbers. numpy is reseeded here, because all branches would draw that same
    number.
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
    """Return whether numpy's global generator is unused since this box was made."""
    try:
        generator, *words = state.words
        return generator is numpy.mtrand._rand._bit_generator and native.is_drawn(*words)
    except BaseException:
        return False


def keep_random(random):
    """
    Save the state of random's generator.

    As the tuple of numbers that getstate() returns, the state is two hundred times as large as in memory. So
    the words are copied from the object, if they are where we expect them. A process looks for them once, and
    its branches inherit the result.
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
    Find out how each branch reseeds its generators. Returns: (addresses and sizes of words to overwrite,
    functions to call where the address is unknown).

    Seeding writes to two hundred pages, while overwriting the words writes to one or two. numpy's words
    come last, because is_untouched() asks about the words that were drawn last.
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
    """
    Reseed numpy's global generator if its words were not found. seed() alone would leave the second number of
    a pair of normal numbers.
    """
    numpy.seed()
    numpy.set_state(dict(numpy.get_state(legacy=False), has_gauss=0))


def find_words(numpy):
    """
    Return address and size of the words of numpy's global generator, if the object looks as expected. They
    are the same in a process and its branches, so a process looks for them once.
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
    the same process id in every box.
    """
    if "uuid" in sys.modules:
        sys.modules["uuid"]._node = sys.modules["uuid"]._last_timestamp = None
    if "tempfile" in sys.modules:
        sys.modules["tempfile"]._name_sequence = None


def renew_secrets():
    """
    Make OpenSSL reseed its generator by adding fresh bytes. OpenSSL detects a fork by the process id, which
    a driver keeps in a branch.
    """
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
