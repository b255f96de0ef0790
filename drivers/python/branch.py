# SPDX-License-Identifier: Apache-2.0
"""BRANCH: a copy of the process in a box of its own."""

import sys

import posix

state = driver.state
native = driver.native
KEEPS, WARMS = 1, 2  # as in ext.h
POSITION_BYTES, MT_BYTES = 4, 624 * 4  # of the generator that random has; see keep_random()


def get_ready():
    """Do what can be done before the first BRANCH comes. What cannot is found out by that."""
    try:
        if is_alone():
            state.stem = be_stem()
    except BaseException:
        pass


def is_alone():
    """Is there no other thread, or none but such as can end for a while?"""
    if not native.alone(False):
        driver.part("threads").rest()
    return native.alone(True)


def stay():
    """There will be no branch after all."""
    stem, state.stem = state.stem, None
    quietly(restore_numbers, stem.kept)


def answer(request, fds):
    """
    Branch. The process that is asked does not return from this: it stays as the stem of its
    branches. It returns in each branch, which is ready for steps then, and when it has failed.
    """
    stem, state.stem = state.stem, None
    try:
        if not is_alone():
            names = driver.part("threads").describe()
            raise RuntimeError("other threads are alive: %s: let them end, then branch" % names)
        stem = stem or be_stem(fds)
    except BaseException as error:
        refuse(request, error)
        posix._exit(0)  # it runs no code any more, and will make no branch either
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
        close_all(fds)  # by which the warden learns of it
        return
    # Which of the stem's BRANCH frames this is the branch of, only the native part knows.
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
    """What branches need to know of the process that they were."""

    def __init__(self, kept):
        self.kept = kept  # how to set generators of numbers, and to what
        self.words, self.reseeds = find_generators()
        self.renewals = find_renewals()
        self.ready = driver.begin_ready()


def be_stem(fds=()):
    """
    Do now, once, what is the same in every branch: what is written here, they all share. @fds: those that
    a branch is made with.
    """
    state.inherited = None
    kept = keep_numbers()
    native.be_forked()
    native.find_shared([0, 1, 2, state.channel, state.out, state.err, *fds])
    state.crowded = state.had_guard = False
    if state.has_stdin:
        state.stdin = None  # what the old one has read ahead was not written to a branch's
    driver.part("streams").restore()
    renew_names()
    return Stem(kept)


def be_branch(stem, flags):
    """
    What is different here, where the native part has not seen to it. READY has been said, and the
    engine and its client are busy with that: meanwhile is done what every first step does.
    """
    state.inherited = stem  # kept: what is let go of is freed, and the pages it lies in copied
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
        posix.sched_yield()  # to those who wait for READY
        if not native.is_readable(state.channel):
            driver.part("guard").warm()


def find_renewals():
    """The stem's loop and secrets are not for its branches."""
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
    """Its number is that of the process."""
    sys.modules["threading"].main_thread()._set_native_id()


def keep_numbers():
    """
    Generators of random numbers that are seeded on the way to a branch: how to set the state, and the
    state. That of random is, by its own hook. That of numpy only where it keeps the second number of
    a pair, which all branches would draw.
    """
    kept = []
    try:
        kept.append(keep_random(sys.modules["random"]))
    except BaseException:
        pass  # it is not loaded, or is not what it is called
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
    """Has nothing been drawn from its global generator since this box was made?"""
    try:
        generator, *words = state.words
        return generator is numpy.mtrand._rand._bit_generator and native.is_drawn(*words)
    except BaseException:
        return False


def keep_random(random):
    """
    As a tuple of numbers it is two hundred times as large. So its words are kept, where they are in
    the object as we think; a process and its branches look once.
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
    How each branch gets numbers of its own: addresses and sizes of words that are drawn anew, and
    where we do not know them, what to call. Seeding in the usual way writes to two hundred pages,
    drawing words to one or two. numpy's come last: is_untouched() asks for what was drawn last.
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
    """Where the generator is not of the usual kind, seeding leaves the second of its pair."""
    numpy.seed()
    numpy.set_state(dict(numpy.get_state(legacy=False), has_gauss=0))


def find_words(numpy):
    """
    Address and size of the words of numpy's global generator, if they are what we think. A process and
    its branches have them in the same place, and look once.
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
            raise ValueError("its words are elsewhere")
        if memoryview(native.get_words(address, words.nbytes + 4)).cast("I")[-1] != position:
            raise ValueError("what is next is elsewhere")
        numpy.set_state(numbers)
        state.words = generator, address, words.nbytes
    return state.words[1:]


def renew_names():
    """
    What else is drawn once and kept. Both look for another process id to notice a fork, but a
    driver has the same one in every box.
    """
    if "uuid" in sys.modules:
        sys.modules["uuid"]._node = sys.modules["uuid"]._last_timestamp = None
    if "tempfile" in sys.modules:
        sys.modules["tempfile"]._name_sequence = None


def renew_secrets():
    """OpenSSL, too, notices a fork by the process id; fresh bytes make it start anew."""
    sys.modules["_ssl"].RAND_add(posix.urandom(64), 64.0)


def renew_loop():
    """The descriptors by which the loop wakes itself were the stem's."""
    loop = state.loop
    if loop is None or loop.is_closed():
        return
    try:
        loop._close_self_pipe()
        loop._make_self_pipe()
    except BaseException:
        state.loop = None
