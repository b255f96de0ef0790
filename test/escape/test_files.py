# SPDX-License-Identifier: Apache-2.0
"""Host files: through /proc, through mounts, through roots, through devices, by writing."""

import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import attack  # noqa: E402
import harness  # noqa: E402


class Proc(attack.Case):
    @classmethod
    def host(cls):
        return {"HOST_PID": os.getpid()}

    @attack.inside("ENOENT", control=True)
    def test_T_HOST_FILES_opens_a_path_of_the_host():
        """Read a file of the user who started retort by its path."""
        return read(SECRET_PATH)

    @attack.inside("ENOENT")
    def test_T_HOST_FILES_reads_shadow():
        """Read the host's password hashes."""
        return read("/etc/shadow")

    @attack.inside(["user", "nobody", "root"])
    def test_T_HOST_FILES_sees_no_account_of_the_host():
        """List the host's accounts."""
        names = [line.split(":")[0] for line in read("/etc/passwd", 65536).splitlines()]
        return sorted(set(names), key=lambda n: ["user", "nobody", "root"].index(n)
                      if n in ("user", "nobody", "root") else 9)

    @attack.inside([])
    def test_T_HOST_FILES_lists_directories_of_the_host():
        """Look into the places where a host keeps what is its own."""
        found = []
        for path in ("/root", "/boot", "/sys/class", "/sys/fs", "/sys/kernel", "/sys/block", "/sys/bus", "/run", "/opt", "/srv", "/media", "/work",
                     "/var/lib", "/var/log", "/etc/ssh", "/lost+found"):
            if os.path.exists(path):
                found.append(path)
        # /mnt holds nothing but a link to the workspace
        if os.listdir("/mnt") != ["data"] or os.readlink("/mnt/data") != "/home/user":
            found.append("/mnt")
        return found

    @attack.inside("EACCES")
    def test_T_PROC_ROOT_follows_root_of_init():
        """Reach the tree that init sees."""
        return read("/proc/1/root" + SECRET_PATH)

    @attack.inside("EACCES")
    def test_T_PROC_ROOT_follows_cwd_of_init():
        """Reach the directory that init was started in."""
        return os.listdir("/proc/1/cwd")

    @attack.inside("EACCES")
    def test_T_PROC_ROOT_follows_exe_of_init():
        """Read, then replace, the executable of init (CVE-2019-5736)."""
        return os.open("/proc/1/exe", os.O_RDWR)

    @attack.inside("ENOENT")
    def test_T_PROC_ROOT_goes_up_from_its_own_root():
        """Leave /proc/self/root with dots."""
        return read("/proc/self/root/../../../.." + SECRET_PATH)

    @attack.inside("ENOENT")
    def test_T_PROC_ROOT_goes_up_from_its_own_cwd():
        """Leave /proc/self/cwd with dots."""
        return read("/proc/self/cwd/../../../../.." + SECRET_PATH)

    @attack.inside("ENOENT", "EACCES", control=True)
    def test_T_PROC_ROOT_names_a_process_of_the_host():
        """Use the number of a process on the host."""
        return read("/proc/%d/root%s" % (HOST_PID, SECRET_PATH))

    @attack.inside("EACCES", "EPERM")
    def test_T_PROC_FD_lists_descriptors_of_init():
        """Find the socket that init listens to."""
        return os.listdir("/proc/1/fd")

    @attack.inside("EACCES", "EPERM")
    def test_T_PROC_FD_lists_fdinfo_of_init():
        """See what init has open through fdinfo."""
        return [read("/proc/1/fdinfo/" + n) for n in os.listdir("/proc/1/fdinfo")]

    @attack.inside([])
    def test_T_PROC_FD_holds_no_directory():
        """Climb out of an inherited directory with openat(fd, '..')."""
        import stat
        found = []
        for fd in range(1024):
            try:
                if stat.S_ISDIR(os.fstat(fd).st_mode) or stat.S_ISBLK(os.fstat(fd).st_mode):
                    found.append(fd)
            except OSError:
                pass
        return found

    @attack.inside("ENOTDIR")
    def test_T_PROC_FD_climbs_from_standard_input():
        """/dev/null was opened on the host: walk from it."""
        return os.open("../etc/shadow", os.O_RDONLY, dir_fd=0)

    @attack.inside("EACCES")
    def test_T_PROC_MEM_reads_init():
        """Read the memory of init."""
        return read("/proc/1/mem")

    @attack.inside("EACCES")
    def test_T_PROC_MEM_writes_init():
        """Write the memory of init."""
        return os.open("/proc/1/mem", os.O_RDWR)

    @attack.inside("EACCES")
    def test_T_PROC_MEM_reads_environment_of_init():
        """Read what init was started with."""
        return read("/proc/1/environ")

    @attack.inside("EACCES")
    def test_T_PROC_MEM_reads_auxv_of_init():
        """Learn the address space of init."""
        return read("/proc/1/auxv")

    @attack.inside("", "EACCES")
    def test_T_PROC_MEM_reads_maps_of_init():
        """Learn the mappings of init."""
        return read("/proc/1/maps")

    @attack.inside("EPERM", "EACCES")
    def test_T_PROC_MEM_follows_map_files_of_init():
        """Open the files that init has mapped."""
        return [os.open("/proc/1/map_files/" + n, os.O_RDONLY) for n in os.listdir("/proc/1/map_files")]

    @attack.inside("EACCES", "ENOENT", "EPERM")
    def test_T_PROC_MEM_reads_stack_of_init():
        """Read the kernel stack of init."""
        return read("/proc/1/stack")

    @attack.inside("EACCES", "EPERM", "ENOENT")
    def test_T_PROC_SYS_sets_core_pattern():
        """Have the host's kernel start a program of ours at the next crash."""
        return write("/proc/sys/kernel/core_pattern", b"|/tmp/x")

    @attack.inside("EACCES", "EPERM", "ENOENT")
    def test_T_PROC_SYS_sets_modprobe():
        """Have the host's kernel start a program of ours for the next module."""
        return write("/proc/sys/kernel/modprobe", b"/tmp/x")

    @attack.inside("EACCES", "EPERM", "ENOENT")
    def test_T_PROC_SYS_triggers_sysrq():
        """Have the host's kernel do what the magic key does ('h' is help)."""
        return write("/proc/sysrq-trigger", b"h")

    @attack.inside("EACCES", "EPERM", "ENOENT")
    def test_T_PROC_SYS_sets_binfmt():
        """Register an interpreter for the whole host."""
        return write("/proc/sys/fs/binfmt_misc/register", b":x:M::x::/tmp/x:C")

    @attack.inside([])
    def test_T_PROC_SYS_opens_any_setting_for_writing():
        """Open each of the kernel's settings for writing."""
        opened = []
        for top, _, names in os.walk("/proc/sys"):
            for name in names:
                path = os.path.join(top, name)
                try:
                    fd = os.open(path, os.O_WRONLY)
                except OSError:
                    continue
                # An open that checks nothing before the write: write back what was there.
                try:
                    old = read(path, 65536).encode()
                    os.write(fd, old)
                    opened.append(path)
                except OSError:
                    pass
                os.close(fd)
        return opened

    @attack.inside("EACCES", "EPERM", "ENOENT")
    def test_T_KERNEL_MEMORY_reads_kcore():
        """Read the host's memory through /proc/kcore."""
        return read("/proc/kcore", 16)

    @attack.inside("EACCES", "EPERM", "ENOENT")
    def test_T_KERNEL_MEMORY_reads_kmsg():
        """Read the kernel's messages through /proc/kmsg."""
        return os.open("/proc/kmsg", os.O_RDONLY | os.O_NONBLOCK)

    @attack.inside("EACCES", "EPERM", "ENOENT")
    def test_T_KERNEL_MEMORY_reads_page_frames():
        """Map virtual to physical addresses."""
        return read("/proc/kpageflags", 16)

    @attack.inside(0, "EPERM")
    def test_T_KERNEL_MEMORY_learns_physical_addresses():
        """Find the physical address of a page of ours (Rowhammer)."""
        import mmap
        m = mmap.mmap(-1, 4096)
        m[0] = 1
        at = ctypes.addressof(ctypes.c_char.from_buffer(m))
        fd = os.open("/proc/self/pagemap", os.O_RDONLY)
        return struct.unpack("Q", os.pread(fd, 8, at // 4096 * 8))[0] & ((1 << 55) - 1)

    @attack.inside("EPERM", control="root")
    def test_T_KERNEL_MEMORY_calls_syslog():
        """Read the kernel's messages by syslog(2)."""
        return call("syslog", 3, ctypes.create_string_buffer(4096), 4096)

    @attack.inside(True)
    def test_T_KERNEL_MEMORY_sees_no_kernel_address():
        """Read addresses of the kernel from /proc/kallsyms and /proc/modules."""
        addresses = set()
        for path in ("/proc/kallsyms", "/proc/modules"):
            try:
                for line in read(path, 1 << 20).splitlines():
                    parts = line.split()
                    addresses.add(parts[0] if "kall" in path else parts[-1])
            except OSError:
                pass
        return all(int(a, 16) == 0 for a in addresses if len(a) >= 16)

    @attack.inside("EACCES", "EPERM", "ENOENT")
    def test_T_DEVICE_opens_mem():
        """Open the host's memory as a device."""
        return os.open("/dev/mem", os.O_RDONLY)

    @attack.inside(["fd", "full", "null", "ptmx", "pts", "random", "shm", "stderr", "stdin", "stdout", "tty",
                    "urandom", "zero"])
    def test_T_DEVICE_lists_devices():
        """Find a disk, a terminal, KVM, FUSE, or any other device."""
        return sorted(os.listdir("/dev"))

    @attack.inside("EPERM", control="root")
    def test_T_DEVICE_makes_a_block_device():
        """Make the node of the first disk and read it."""
        import stat
        os.mknod("/tmp/esc-disk-%d" % os.getpid(), 0o600 | stat.S_IFBLK, os.makedev(254, 0))
        os.unlink("/tmp/esc-disk-%d" % os.getpid())

    @attack.inside("EPERM", control="root")
    def test_T_DEVICE_makes_a_character_device():
        """Make the node of /dev/mem."""
        import stat
        os.mknod("/tmp/esc-mem-%d" % os.getpid(), 0o600 | stat.S_IFCHR, os.makedev(1, 1))
        os.unlink("/tmp/esc-mem-%d" % os.getpid())

    @attack.inside("EPERM")
    def test_T_DEVICE_makes_a_device_in_shared_memory():
        """Make a node where nothing else is watched."""
        return call("mknodat", AT_FDCWD, b"/dev/shm/x", 0o020600, os.makedev(1, 1))

    @attack.inside("EROFS", "EPERM", "EACCES")
    def test_T_DEVICE_changes_the_mode_of_null():
        """Change the host's /dev/null through the descriptor that stands for standard input."""
        return os.fchmod(0, 0o600)

    @attack.inside("EPERM", "EACCES", "EROFS")
    def test_T_DEVICE_removes_null():
        """Remove a device of the host."""
        return os.unlink("/dev/null")

    @attack.inside("EPERM", "EACCES", "EINVAL", "ENOTTY")
    def test_T_DEVICE_adds_entropy():
        """Credit entropy to, or clear, the host's pool (RNDADDTOENTCNT)."""
        import fcntl
        fd = os.open("/dev/urandom", os.O_RDWR)
        return fcntl.ioctl(fd, 0x40045201, struct.pack("i", 8))


class Mounts(attack.Case):
    @attack.inside("EPERM", control="root")
    def test_T_MOUNT_binds_root():
        """Bind the root onto a writable directory."""
        call("unshare", CLONE_NEWNS) if os.geteuid() == 0 else None
        if os.geteuid() == 0:
            call("mount", b"none", b"/", 0, 1 << 18 | MS_REC, 0)
        return call("mount", b"/", b"/tmp", 0, MS_BIND, 0)

    @attack.inside("EPERM")
    def test_T_MOUNT_makes_usr_writable():
        """Remount /usr read-write."""
        return call("mount", b"none", b"/usr", 0, MS_BIND | MS_REMOUNT, 0)

    @attack.inside("EPERM")
    def test_T_MOUNT_makes_the_root_writable():
        """Remount / read-write."""
        return call("mount", b"none", b"/", 0, MS_BIND | MS_REMOUNT, 0)

    @attack.inside("EPERM")
    def test_T_MOUNT_mounts_proc():
        """Mount another /proc."""
        return call("mount", b"proc", b"/tmp", b"proc", 0, 0)

    @attack.inside("EPERM")
    def test_T_MOUNT_mounts_cgroups():
        """Mount the cgroup hierarchy to write a release_agent (CVE-2022-0492)."""
        return call("mount", b"cgroup", b"/tmp", b"cgroup", 0, b"rdma")

    @attack.inside("EPERM")
    def test_T_MOUNT_unmounts_proc():
        """Uncover what lies below /proc."""
        return call("umount2", b"/proc", 2)

    @attack.inside("EPERM")
    def test_T_MOUNT_unmounts_the_root():
        """Uncover the host's root below the box's."""
        return call("umount2", b"/", 2)

    @attack.inside("EPERM")
    def test_T_MOUNT_opens_a_file_system():
        """The same by the newer calls: fsopen (CVE-2022-0185)."""
        return call("fsopen", b"ext4", 0)

    @attack.inside("EPERM")
    def test_T_MOUNT_clones_a_tree():
        """The same by the newer calls: open_tree."""
        return call("open_tree", AT_FDCWD, b"/", 1)

    @attack.inside("EPERM")
    def test_T_MOUNT_moves_a_mount():
        """The same by the newer calls: move_mount."""
        return call("move_mount", AT_FDCWD, b"/usr", AT_FDCWD, b"/tmp", 0)

    @attack.inside("EPERM")
    def test_T_MOUNT_sets_attributes():
        """The same by the newer calls: mount_setattr clearing read-only."""
        return call("mount_setattr", AT_FDCWD, b"/usr", 0, struct.pack("QQQQ", 0, 1, 0, 0), 32)

    @attack.inside("EPERM", "ENOSYS")
    def test_T_MOUNT_opens_a_file_by_handle():
        """Open a host file by its handle, past every mount (Shocker)."""
        handle = struct.pack("II", 8, 1) + struct.pack("II", 2, 0)
        return call("open_by_handle_at", 3, handle, 0)

    @attack.inside("EPERM", "ENOSYS")
    def test_T_MOUNT_asks_for_a_handle():
        """Learn the handle of a file."""
        return call("name_to_handle_at", AT_FDCWD, b"/usr", struct.pack("II", 128, 0) + bytes(128),
                    struct.pack("i", 0), 0)

    @attack.inside("EPERM")
    def test_T_MOUNT_watches_a_file_system():
        """Watch all files of the host's disk with fanotify."""
        return call("fanotify_init", 0, 0)

    @attack.inside("EPERM", control="root")
    def test_T_CHROOT_changes_root():
        """Change root, keep a directory open, climb out."""
        return call("chroot", b"/tmp")

    @attack.inside("EPERM")
    def test_T_CHROOT_pivots_root():
        """Swap the root for another one."""
        return call("pivot_root", b"/tmp", b"/tmp")

    @attack.inside(True)
    def test_T_CHROOT_climbs_above_root():
        """Go up from / many times."""
        fd = os.open("/", os.O_RDONLY)
        for _ in range(64):
            fd = os.open("..", os.O_RDONLY, dir_fd=fd)
        return os.fstat(fd).st_ino == os.stat("/").st_ino and "retort" in os.listdir(fd)

    @attack.inside("EXDEV", "ENOENT", "EPERM")
    def test_T_CHROOT_renames_its_way_out():
        """Move the directory that another walk stands in to above its root."""
        os.mkdir("/tmp/a")
        fd = os.open("/tmp/a", os.O_RDONLY)
        os.rename("/tmp/a", "/home/user/a")
        return os.listdir("../../../etc/shadow", dir_fd=fd)

    @attack.inside("EROFS")
    def test_T_READ_ONLY_writes_to_usr():
        """Leave a program for others in /usr."""
        return write("/usr/bin/zz", b"x")

    @attack.inside("EROFS", "EACCES")
    def test_T_READ_ONLY_overwrites_python():
        """Overwrite the interpreter itself."""
        return os.open(os.path.realpath("/proc/self/exe"), os.O_WRONLY)

    @attack.inside("EROFS")
    def test_T_READ_ONLY_writes_to_etc():
        """Add an account."""
        return write("/etc/passwd", b"x")

    @attack.inside("EROFS")
    def test_T_READ_ONLY_writes_to_the_root():
        """Make a file in /."""
        return write("/x", b"x")

    @attack.inside("EROFS")
    def test_T_READ_ONLY_writes_to_certificates():
        """Add a certificate authority: /etc/ssl/certs is the host's own directory."""
        os.stat("/etc/ssl/certs") if os.path.exists("/etc/ssl/certs") else None
        return write("/etc/ssl/certs/zz.pem" if os.path.exists("/etc/ssl/certs") else "/etc/zz", b"x")

    @attack.inside("EROFS", "EACCES")
    def test_T_READ_ONLY_truncates_a_library():
        """Truncate a library that every program of the host has mapped."""
        for line in read("/proc/self/maps", 1 << 20).splitlines():
            if "/libc" in line:
                return os.truncate(line.split()[-1], 0)

    @attack.inside("EROFS")
    def test_T_READ_ONLY_sets_an_attribute():
        """Set an extended attribute on a file of the host."""
        return os.setxattr("/usr/bin/env", b"user.x", b"1")

    @attack.inside("EROFS")
    def test_T_READ_ONLY_changes_a_mode():
        """Make a file of the host writable."""
        return os.chmod("/usr/bin/env", 0o777)

    @attack.inside("EROFS", "EXDEV")
    def test_T_READ_ONLY_links_into_usr():
        """Link a file of ours over one of the host's."""
        write("/tmp/mine", b"x")
        return os.link("/tmp/mine", "/usr/bin/zz")

    @attack.inside("EROFS", "EACCES")
    def test_T_DRIVER_replaces_a_driver_file():
        """Change the driver for the next user."""
        return write([os.path.join(t, n) for t, _, f in os.walk("/retort") for n in f][0], b"x")

    @attack.inside("EROFS", "EACCES")
    def test_T_DRIVER_adds_a_driver_file():
        """Put a module beside the driver."""
        return write("/retort/python.importlib._bootstrap/json.py", b"x")

    @attack.inside("EPERM", "EACCES", "EROFS", "ENOENT")
    def test_T_DRIVER_opens_its_file_through_map_files():
        """Get a writable descriptor of a mapped driver file by a magic link."""
        failed = None
        for name in os.listdir("/proc/self/map_files"):
            try:
                return "opened %d" % os.open("/proc/self/map_files/" + name, os.O_RDWR)
            except OSError as e:
                failed = e
        raise failed

    @attack.inside("EACCES", "EROFS", "ETXTBSY")
    def test_T_DRIVER_opens_its_executable_through_exe():
        """Get a writable descriptor of the interpreter by a magic link (CVE-2019-5736)."""
        return os.open("/proc/self/exe", os.O_RDWR)

    @attack.inside("done", "EACCES", "EROFS")
    def test_T_DRIVER_writes_private_mappings_only():
        """Write a mapped file of the driver through /proc/self/mem (Dirty COW)."""
        line = [n for n in read("/proc/self/maps", 1 << 20).splitlines() if "/libc" in n][0]
        at, path = int(line.split("-")[0], 16), line.split()[-1]
        fd = os.open("/proc/self/mem", os.O_RDWR)
        os.pwrite(fd, b"\x7fELF-written", at)
        with open(path, "rb") as f:
            if b"written" in f.read(64):
                return "the file changed"
        return None

    def test_T_DRIVER_changed_nothing(self):
        """After all of that the next run is as before and the installed files are the same."""
        done = harness.run("print(6 * 7)")
        self.assertEqual((done.status, done.out), (0, "42\n"))
        with open("/usr/bin/env", "rb") as f:
            self.assertEqual(f.read(4), b"\x7fELF")


if __name__ == "__main__":
    harness.main()
