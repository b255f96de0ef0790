# SPDX-License-Identifier: Apache-2.0
"""BRANCH: a copy of the process in a box of its own."""

import sys

import posix

state = driver.state
native = driver.native


def answer(request, fds):
    """
    Branch. The process that is asked does not return from this: it stays as the stem of its
    branches. It returns in each branch, which is ready for steps then, and when it has failed.
    """
    try:
        if not native.alone():
            raise RuntimeError(describe_threads())
        be_stem()
        name = driver.encode(request["id"])
        reseed = request.get("reseed") is False
        is_kept = native.branch(name, reseed, state.channel, fds, (state.out, state.err))
    except BaseException as error:
        close_all(fds)
        message = driver.part("blame").safe_str(error)
        driver.send(driver.BRANCHED, {"id": request["id"], "error": message})
        return
    # Which of the stem's BRANCH frames this is the branch of, only the native part knows.
    be_branch(is_kept or state.seed is not None)


def be_stem():
    """Do now, once, what is the same in every branch: what is written here, they all share."""
    numbers = keep_numbers()
    native.be_forked()
    for restore, numbers_then in numbers:  # the hook of random has drawn new ones
        restore(numbers_then)
    state.crowded = False
    state.stdin = None  # what the old one has read ahead was not written to a branch's
    driver.part("streams").restore()
    renew_names()


def close_all(fds):
    for fd in fds:
        try:
            posix.close(fd)
        except OSError:
            pass  # the one that has failed has closed it


def describe_threads():
    names = []
    try:
        main = sys.modules["threading"].main_thread()
        names = [t.name for t in sys.modules["threading"].enumerate() if t is not main]
    except BaseException:
        pass
    known = ": " + ", ".join(str(name) for name in names[:10]) if names else ""
    return "other threads are alive%s: let them end, then branch" % known[:500]


def be_branch(is_continuation):
    """What is different here. The stem is another process, with other streams and another loop."""
    native.new_box()
    state.home = posix.getpid()
    for fd, copy in ((1, state.out), (2, state.err)):
        posix.dup2(fd, copy, False)
    renewals = (renew_thread, renew_loop, renew_secrets)
    for renew in renewals if is_continuation else (*renewals, renew_numbers):
        try:
            renew()
        except BaseException:
            pass
    driver.send_ready()


def renew_thread():
    """Its number is that of the process."""
    sys.modules["threading"].main_thread()._set_native_id()


def keep_numbers():
    """Generators of random numbers: how to set the state, and the state."""
    kept = []
    for name, get, put in (("random", "getstate", "setstate"),
                           ("numpy.random", "get_state", "set_state")):
        module = sys.modules.get(name)
        try:
            kept.append((getattr(module, put), getattr(module, get)()))
        except BaseException:
            pass  # it is not loaded, or is not what it is called
    return kept


def renew_numbers():
    """Numbers of their own for each branch."""
    if "random" in sys.modules:
        sys.modules["random"]._inst.seed()
    if "numpy.random" in sys.modules:
        drawn = posix.urandom(16)
        words = [int.from_bytes(drawn[i : i + 4], "little") for i in range(0, 16, 4)]
        sys.modules["numpy.random"].seed(words)


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
    if "_ssl" in sys.modules:
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
