# SPDX-License-Identifier: Apache-2.0
"""Kernel code that a box has no business with: refused by name, by argument, or by namespace."""

import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import attack  # noqa: E402
import harness  # noqa: E402


class Namespaces(attack.Case):
    @attack.inside("EPERM", control=True)
    def test_T_NAMESPACE_unshares_a_user_namespace():
        """Gain every capability over kernel code in a user namespace."""
        return call("unshare", CLONE_NEWUSER)

    @attack.inside("EPERM")
    def test_T_NAMESPACE_unshares_mount_and_user():
        """The same with a mount namespace."""
        return call("unshare", CLONE_NEWUSER | CLONE_NEWNS)

    @attack.inside("EPERM")
    def test_T_NAMESPACE_unshares_the_network():
        """A network namespace gives netfilter and much else."""
        return call("unshare", CLONE_NEWNET)

    @attack.inside("EPERM")
    def test_T_NAMESPACE_unshares_time():
        """The namespace that is young and often forgotten."""
        return call("unshare", 0x80)

    @attack.inside("EPERM", "EINVAL")
    def test_T_NAMESPACE_hides_a_flag_in_the_upper_half():
        """Flags above 32 bits, which a filter of 32-bit words does not see."""
        return call("unshare", CLONE_NEWUSER | 1 << 32)

    @attack.inside("EPERM", control=True)
    def test_T_NAMESPACE_clones_a_user_namespace():
        """A user namespace by clone(2)."""
        pid = call("clone", CLONE_NEWUSER | signal.SIGCHLD, 0, 0, 0, 0)
        if pid == 0:
            os._exit(0)
        os.waitpid(pid, 0)

    @attack.inside("EPERM")
    def test_T_NAMESPACE_clones_as_a_branch_does():
        """The flags that a branch of a box will be made with."""
        pid = call("clone", 0x7C020000 | signal.SIGCHLD, 0, 0, 0, 0)
        if pid == 0:
            os._exit(0)
        os.waitpid(pid, 0)

    @attack.inside("ENOSYS", control=True)
    def test_T_NAMESPACE_clones_with_flags_in_memory():
        """clone3: its flags are out of the filter's sight."""
        args = struct.pack("11Q", CLONE_NEWUSER, 0, 0, 0, signal.SIGCHLD, 0, 0, 0, 0, 0, 0)
        pid = call("clone3", args, 88)
        if pid == 0:
            os._exit(0)
        os.waitpid(pid, 0)

    @attack.inside("EPERM")
    def test_T_NAMESPACE_enters_its_own():
        """setns with a descriptor of a namespace."""
        return call("setns", os.open("/proc/self/ns/mnt", os.O_RDONLY), 0)

    @attack.inside("EACCES", "EPERM")
    def test_T_NAMESPACE_enters_that_of_init():
        """setns with a descriptor from /proc/1/ns."""
        return call("setns", os.open("/proc/1/ns/user", os.O_RDONLY), 0)

    @attack.inside("EPERM")
    def test_T_NAMESPACE_enters_by_pidfd():
        """setns with a descriptor of a process."""
        return call("setns", call("pidfd_open", 1, 0), CLONE_NEWNS)

    @attack.inside("EPERM")
    def test_T_NAMESPACE_asks_for_the_parent():
        """NS_GET_PARENT, NS_GET_USERNS: the namespace around ours."""
        import fcntl
        fd = os.open("/proc/self/ns/pid", os.O_RDONLY)
        return fcntl.ioctl(fd, 0xB702)

    @attack.inside("EPERM")
    def test_T_NAMESPACE_rewrites_its_id_map():
        """Map another id of the host into the box."""
        return write("/proc/self/uid_map", b"0 0 1\n")

    @attack.inside("EPERM", "EACCES")
    def test_T_NAMESPACE_allows_setgroups():
        """Turn setgroups back on."""
        return write("/proc/self/setgroups", b"allow")


class Identity(attack.Case):
    @attack.inside(["0000000000000000"])
    def test_T_CAPABILITY_has_none():
        """Look for a capability in any set."""
        return sorted({line.split()[1] for line in read("/proc/self/status").splitlines()
                       if line.startswith("Cap")})

    @attack.inside(["0000000000000000"])
    def test_T_CAPABILITY_gains_none_by_execute():
        """Execute a program and look again."""
        import subprocess
        text = subprocess.run(["/bin/cat", "/proc/self/status"], capture_output=True).stdout.decode()
        return sorted({line.split()[1] for line in text.splitlines() if line.startswith("Cap")})

    @attack.inside(["NoNewPrivs:1", "Seccomp:2"])
    def test_T_CAPABILITY_is_locked():
        """Find no_new_privs or the filter off."""
        return sorted(line.replace("\t", "") for line in read("/proc/self/status").splitlines()
                      if line.startswith(("NoNewPrivs:", "Seccomp:")))

    @attack.inside("EPERM")
    def test_T_CAPABILITY_takes_one():
        """Put CAP_SYS_ADMIN into a set with capset."""
        head = struct.pack("II", 0x20080522, 0)
        return call("capset", head, struct.pack("6I", 1 << 21, 1 << 21, 0, 0, 0, 0))

    @attack.inside("EPERM")
    def test_T_CAPABILITY_raises_an_ambient_one():
        """Raise an ambient capability."""
        return call("prctl", 47, 2, 21, 0, 0)

    @attack.inside("EPERM", "EINVAL")
    def test_T_CAPABILITY_unlocks_secure_bits():
        """Let uid 0 be root again."""
        return call("prctl", 28, 0, 0, 0, 0)

    @attack.inside("EINVAL", "EPERM")
    def test_T_CAPABILITY_clears_no_new_privs():
        """Turn no_new_privs off."""
        return call("prctl", 38, 0, 0, 0, 0)

    @attack.inside("ENOSYS", "EINVAL", "EPERM")
    def test_T_CAPABILITY_replaces_the_filter():
        """Load a filter of our own that fakes answers for what starts later."""
        return call("seccomp", 1, 0, struct.pack("HP", 1, 0))

    @attack.inside("EINVAL", "EPERM")
    def test_T_CAPABILITY_becomes_root():
        """setuid(0)."""
        return os.setuid(0)

    @attack.inside("EINVAL", "EPERM")
    def test_T_CAPABILITY_becomes_root_of_the_group():
        """setgid(0)."""
        return os.setgid(0)

    @attack.inside("EPERM")
    def test_T_CAPABILITY_joins_a_group():
        """setgroups with the group of disks."""
        return os.setgroups([6])

    @attack.inside(True)
    def test_T_SETUID_su_gains_nothing():
        """Start su and mount, which are setuid on the host."""
        import subprocess
        for program in (["/bin/su", "-c", "id -u"], ["/bin/mount", "-t", "tmpfs", "x", "/tmp"],
                        ["/usr/bin/newgrp", "root"], ["/usr/bin/passwd", "-d", "root"]):
            if not os.path.exists(program[0]):
                continue
            done = subprocess.run(program, capture_output=True, stdin=subprocess.DEVNULL)
            if done.returncode == 0 or b"0\n" == done.stdout:
                return program[0]
        return True

    @attack.inside(["1000", "1000", "1000", "1000"])
    def test_T_SETUID_a_setuid_program_keeps_the_id():
        """See the effective id of a setuid program while it runs: exec cat through a setuid copy."""
        import shutil, subprocess
        shutil.copy("/bin/cat", "/tmp/cat-suid")
        try:
            os.chmod("/tmp/cat-suid", 0o6755)
        except PermissionError:
            pass
        text = subprocess.run(["/tmp/cat-suid", "/proc/self/status"],
                              capture_output=True).stdout.decode()
        return [line for line in text.splitlines() if line.startswith("Uid:")][0].split()[1:]

    @attack.inside(True)
    def test_T_SETUID_every_mount_ignores_setuid():
        """Find a mount without nosuid."""
        return all("nosuid" in line.split()[5] for line in read("/proc/self/mountinfo", 1 << 20)
                   .splitlines())

    @attack.inside("EPERM", "EINVAL")
    def test_T_SETUID_gives_a_file_to_root():
        """chown a program to root."""
        write("/tmp/p", b"x")
        return os.chown("/tmp/p", 0, 0)

    @attack.inside("EPERM", "ENOTSUP", "EINVAL")
    def test_T_SETUID_sets_file_capabilities():
        """Give a program capabilities."""
        write("/tmp/q", b"x")
        return os.setxattr("/tmp/q", "security.capability",
                           struct.pack("IIIII", 0x02000001, 1 << 21, 0, 0, 0))


class Calls(attack.Case):
    @attack.inside("EPERM", control=True)
    def test_T_KEYRING_adds_a_key():
        """Put a key into a keyring: keyrings are of no namespace."""
        return call("add_key", b"user", b"retort-escape", b"x", 1, -1)

    @attack.inside("EPERM")
    def test_T_KEYRING_reads_the_session_keyring():
        """Search the keyring of the session that retort was started in."""
        return call("keyctl", 11, -3, ctypes.create_string_buffer(64), 64)

    @attack.inside("EPERM")
    def test_T_KEYRING_joins_the_user_session():
        """Possess the keyring of the user."""
        return call("keyctl", 8, -4, -3)

    @attack.inside("EPERM")
    def test_T_KEYRING_requests_a_key():
        """Have the host's kernel start /sbin/request-key."""
        return call("request_key", b"user", b"x", b"y", -1)

    @attack.inside("EPERM", control="root")
    def test_T_BPF_makes_a_map():
        """Make a BPF map."""
        return call("bpf", 0, struct.pack("4I", 2, 4, 4, 1) + bytes(112), 128)

    @attack.inside("EPERM")
    def test_T_BPF_loads_a_program():
        """Load a BPF program."""
        return call("bpf", 5, bytes(128), 128)

    @attack.inside("EPERM")
    def test_T_BPF_opens_a_performance_counter():
        """Watch the whole machine with perf."""
        return call("perf_event_open", struct.pack("IIQ", 1, 128, 0) + bytes(112), -1, 0, -1, 0)

    @attack.inside("EPERM", control="root")
    def test_T_BPF_opens_a_performance_counter_of_its_own():
        """Watch itself with perf, which is the same kernel code."""
        return call("perf_event_open", struct.pack("IIQ", 1, 128, 0) + bytes(112), 0, -1, -1, 0)

    @attack.inside("EPERM", control="root")
    def test_T_SYSCALL_opens_userfaultfd():
        """Stop the kernel in the middle of a copy."""
        return call("userfaultfd", 0)

    @attack.inside("EPERM", control="root")
    def test_T_SYSCALL_sets_up_io_uring():
        """Make calls that the filter does not see."""
        return call("io_uring_setup", 4, ctypes.create_string_buffer(120))

    @attack.inside("EPERM")
    def test_T_SYSCALL_enters_io_uring():
        """The other calls of io_uring."""
        return call("io_uring_enter", 0, 0, 0, 0, 0, 0)

    @attack.inside("EPERM")
    def test_T_SYSCALL_registers_io_uring():
        """The other calls of io_uring."""
        return call("io_uring_register", 0, 0, 0, 0)

    @attack.inside("ENOSYS", control=True)
    def test_T_SYSCALL_sets_up_kernel_aio():
        """Kernel AIO."""
        return call("io_setup", 1, ctypes.create_string_buffer(8))

    @attack.inside("SIGSYS", "SIGSEGV", "other")
    def test_T_SYSCALL_uses_the_32_bit_entry():
        """int 0x80: other numbers, the filter of another architecture."""
        import mmap
        if ARCH != 0:
            return "other"
        m = mmap.mmap(-1, 4096, prot=7)
        # eax = 20 (getpid of i386); int 0x80; ret
        m.write(b"\xb8\x14\x00\x00\x00\xcd\x80\xc3")
        at = ctypes.addressof(ctypes.c_char.from_buffer(m))
        return "pid %d" % ctypes.CFUNCTYPE(ctypes.c_int)(at)()

    @attack.inside("SIGSYS", "other")
    def test_T_SYSCALL_uses_the_x32_entry():
        """Numbers with the x32 bit."""
        if ARCH != 0:
            return "other"
        return call(0x40000000 | 39)

    @attack.inside("ENOSYS")
    def test_T_SYSCALL_calls_a_number_of_the_future():
        """A call that did not exist when the filter was written."""
        return call(510)

    @attack.inside("EPERM")
    def test_T_SYSCALL_remaps_pages():
        """Obsolete calls with a history of bugs."""
        return call("remap_file_pages", 0, 0, 0, 0, 0)

    @attack.inside("EPERM", "other")
    def test_T_SYSCALL_makes_a_segment():
        """modify_ldt."""
        return call("modify_ldt", 1, bytes(16), 16) if ARCH == 0 else "other"

    @attack.inside("EPERM", "other")
    def test_T_SYSCALL_asks_for_ports():
        """ioperm, iopl: the hardware."""
        return call("ioperm", 0, 3, 1) if ARCH == 0 else "other"

    @attack.inside("EPERM")
    def test_T_SYSCALL_maps_page_zero():
        """personality(MMAP_PAGE_ZERO): makes null pointers of the kernel useful."""
        return call("personality", 0x0100000)

    @attack.inside("EPERM")
    def test_T_SYSCALL_takes_memory_of_another_node():
        """move_pages and its like."""
        return call("move_pages", 1, 0, 0, 0, 0, 0)

    @attack.inside("EPERM")
    def test_T_MODULE_loads_an_image():
        """Load a kernel module from memory."""
        return call("init_module", b"x", 1, b"")

    @attack.inside("EPERM")
    def test_T_MODULE_loads_a_file():
        """Load a kernel module from a file."""
        return call("finit_module", os.open("/bin/sh", os.O_RDONLY), b"", 0)

    @attack.inside("EPERM")
    def test_T_MODULE_removes_one():
        """Remove a kernel module."""
        return call("delete_module", b"x", 0)

    @attack.inside("EPERM")
    def test_T_MODULE_loads_another_kernel():
        """kexec_load."""
        return call("kexec_load", 0, 0, 0, 0)

    @attack.inside("EPERM")
    def test_T_MODULE_loads_another_kernel_from_a_file():
        """kexec_file_load."""
        return call("kexec_file_load", 0, 0, 0, b"", 0)

    @attack.inside("EPERM")
    def test_T_MODULE_reboots():
        """reboot (with a wrong magic number, should the filter let it through)."""
        return call("reboot", 1, 2, 3, 0)

    @attack.inside("EPERM")
    def test_T_MODULE_swaps_and_accounts():
        """swapon; acct and quotactl are the same family."""
        for name in ("acct", "quotactl"):
            try:
                call(name, 0, 0, 0, 0)
                return name
            except OSError as e:
                if e.errno != errno.EPERM:
                    return "%s: %s" % (name, e)
        return call("swapon", b"/tmp/x", 0)

    @attack.inside("EPERM")
    def test_T_CLOCK_sets_the_time():
        """Set the host's clock (to what it is)."""
        return call("clock_settime", 0, struct.pack("qq", int(time.time()), 0))

    @attack.inside("EPERM")
    def test_T_CLOCK_adjusts_the_time():
        """Slew the host's clock."""
        return call("adjtimex", ctypes.create_string_buffer(256))

    @attack.inside("EPERM")
    def test_T_CLOCK_sets_the_time_zone():
        """settimeofday with a time zone only."""
        return call("settimeofday", 0, struct.pack("ii", 0, 0))

    @attack.inside("EPERM")
    def test_T_CLOCK_renames_the_host():
        """Set the host name."""
        return call("sethostname", b"pwned", 5)

    @attack.inside("EPERM")
    def test_T_CLOCK_renames_the_domain():
        """Set the domain name."""
        return call("setdomainname", b"pwned", 5)

    @attack.inside("EPERM", control="root")
    def test_T_PRIORITY_takes_real_time():
        """Starve the host with a real-time class."""
        return os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))

    @attack.inside("EPERM", "EACCES", control="root")
    def test_T_PRIORITY_raises_its_own():
        """Be less nice than others."""
        return os.setpriority(os.PRIO_PROCESS, 0, -10)

    @attack.inside("EPERM", control="root")
    def test_T_PRIORITY_takes_real_time_of_disks():
        """The real-time class of input and output."""
        return call("ioprio_set", 1, 0, 1 << 13)

    @attack.inside("EACCES", "EPERM")
    def test_T_PRIORITY_is_spared_when_memory_runs_out():
        """Have the kernel kill others first."""
        return write("/proc/self/oom_score_adj", b"-1000")

    @attack.inside("EACCES", "EPERM", "EINVAL", "ENOENT")
    def test_T_PRIORITY_spreads_over_autogroup():
        """Raise the weight of its scheduling group."""
        return write("/proc/self/autogroup", b"-20")

    @attack.inside("EPERM", "ValueError: not allowed to raise maximum limit")
    def test_T_PRIORITY_raises_a_resource_limit():
        """Lift the limit of processes."""
        import resource
        return resource.setrlimit(resource.RLIMIT_NPROC, (100000, 100000))

    @attack.inside("EPERM")
    def test_T_TTY_types_into_a_terminal():
        """TIOCSTI: type into a terminal that somebody else reads."""
        return call("ioctl", 0, 0x5412, b"x")

    @attack.inside("EPERM")
    def test_T_TTY_types_with_a_long_number():
        """The same with a bit above 32, which the kernel ignores (CVE-2019-7303)."""
        return call("ioctl", 0, 0x5412 | 1 << 32, b"x")

    @attack.inside("EPERM")
    def test_T_TTY_pastes_into_a_console():
        """TIOCLINUX: paste into a console."""
        return call("ioctl", 0, 0x541C, b"\x03")

    @attack.inside("ENXIO", "ENOENT")
    def test_T_TTY_opens_the_controlling_terminal():
        """Open the terminal that retort runs on."""
        return os.open("/dev/tty", os.O_RDWR)

    @attack.inside(["ptmx"])
    def test_T_TTY_lists_terminals():
        """Open a terminal of the host, or of another box, by its number."""
        return os.listdir("/dev/pts")

    @attack.inside("EPERM")
    def test_T_TTY_types_into_its_own():
        """TIOCSTI at a terminal of the box, whose child might be trusted."""
        master, slave = os.openpty()
        return call("ioctl", slave, 0x5412, b"x")

    @attack.inside("EPERM")
    def test_T_TTY_sets_a_line_discipline():
        """TIOCSETD: a line discipline is a module of the kernel (CVE-2017-2636 of n_hdlc, n_gsm since)."""
        master, slave = os.openpty()
        return call("ioctl", slave, 0x5423, struct.pack("i", 13))

    @attack.inside("EPERM")
    def test_T_TTY_takes_the_console():
        """TIOCCONS: have what the kernel says of the host come out at a terminal of the box."""
        master, slave = os.openpty()
        return call("ioctl", slave, 0x541D, 0)

    @attack.inside([64, "ENOSPC"])
    def test_T_TTY_makes_many():
        """Use up the terminals that the kernel has for all."""
        made = []
        try:
            while len(made) < 200:
                made.append(os.open("/dev/ptmx", os.O_RDWR | os.O_NOCTTY))
        except OSError as e:
            return [len(made), errno.errorcode[e.errno]]

    @attack.inside("EPERM")
    def test_T_TTY_hangs_up():
        """Hang up the terminal."""
        return call("vhangup")

    @attack.inside("ENOENT")
    def test_T_CGROUP_reads_the_hierarchy():
        """Find the cgroup file system."""
        return os.listdir("/sys/fs/cgroup")

    @attack.inside([])
    def test_T_CGROUP_finds_a_mount():
        """Find a mounted hierarchy or a release_agent anywhere."""
        return [line for line in read("/proc/self/mountinfo", 1 << 20).splitlines()
                if " - cgroup" in line]

    @attack.inside([])
    def test_T_CGROUP_sees_its_place_on_the_host():
        """Learn from /proc/self/cgroup where the host keeps this box."""
        return [line for line in read("/proc/self/cgroup").splitlines()
                if "retort" in line]


if __name__ == "__main__":
    harness.main()
