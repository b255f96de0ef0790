/* Drivers that do not do their part of a branch. SPDX-License-Identifier: Apache-2.0 */
#include "base/fd.h"
#include "branch.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

int hostile(const char *what, const int *fds, size_t n_fds);
int hostile_goes_on(void);

enum { CHANNEL = 3, FLAGS = 0x7c02c111 };

static struct branch_fds b;
static const char *name;
static char stack[64 << 10] __attribute__((aligned(16)));
static char said[4096];
static volatile int is_made; /* C1 runs */

static void say(const char *text)
{
	(void)fd_send(CHANNEL, text, strlen(text), NULL, 0);
}

static void note(const char *call, long r)
{
	size_t n = strlen(said);
	snprintf(said + n, sizeof said - n, "%s=%s ", call,
		r >= 0 ? "done" : strerrorname_np(errno));
}

static void put(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY);
	(void)!write(fd, text, strlen(text));
	(void)close(fd);
}

/* With every capability over its namespaces, and the filter. */
static void try_capabilities(void)
{
	struct ifreq ifr = {.ifr_flags = IFF_UP};
	char blob[512] = {0};
	/* CAP_SETUID for whoever runs the file. Source: struct vfs_ns_cap_data */
	const uint32_t file_caps[6] = {0x03000001, 1u << 7, 0, 0, 0, 1000};
	int s = socket(AF_INET, SOCK_DGRAM, 0), one = 1;
	strcpy(ifr.ifr_name, "lo");
	note("mount", mount("none", "/tmp", "tmpfs", 0, NULL));
	note("umount", umount2("/tmp", MNT_DETACH));
	note("setns", syscall(SYS_setns, open("/proc/self/ns/net", O_RDONLY), 0));
	note("unshare", unshare(CLONE_NEWNS));
	note("clone", syscall(SYS_clone, FLAGS, stack + 4096, NULL, NULL, NULL));
	note("pivot", syscall(SYS_pivot_root, ".", "."));
	note("chroot", chroot("/tmp"));
	note("hostname", sethostname("mine", 4));
	note("raw", socket(AF_INET, SOCK_RAW, IPPROTO_ICMP));
	note("packet", socket(AF_PACKET, SOCK_RAW, 0));
	note("netlink", socket(AF_NETLINK, SOCK_RAW, 0));
	note("ifup", ioctl(s, SIOCSIFFLAGS, &ifr));
	note("bridge", ioctl(s, SIOCBRADDBR, "br0"));
	note("tunnel", ioctl(s, SIOCDEVPRIVATE + 1, &ifr));
	note("ethtool", ioctl(s, SIOCETHTOOL, &ifr));
	note("ifget", ioctl(s, SIOCGIFFLAGS, &ifr));
	note("iptables", setsockopt(s, SOL_IP, 64, blob, sizeof blob));
	note("xfrm", setsockopt(s, SOL_IP, 17, blob, sizeof blob));
	note("nodelay", setsockopt(s, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one));
	note("mknod", syscall(SYS_mknodat, AT_FDCWD, "/tmp/null", 020666, 0x103));
	(void)close(open("/tmp/cap", O_CREAT | O_WRONLY, 0755));
	note("filecap",
		syscall(SYS_setxattr, "/tmp/cap", "security.capability", file_caps,
			sizeof file_caps, 0));
}

static int c1(void *arg)
{
	char go;
	(void)arg;
	if (strcmp(name, "repeats") == 0)
		_exit(0);
	if (strcmp(name, "second") == 0) { /* another program releases the driver from its clone */
		(void)execl("/usr/bin/sleep", "sleep", "600", NULL);
		_exit(1);
	}
	if (strcmp(name, "silent-child") == 0 || strcmp(name, "second-thread") == 0) {
		(void)close(b.sync);
		is_made = 1;
		for (;;)
			(void)pause();
	}
	put("/proc/self/setgroups", "deny");
	put("/proc/self/uid_map", "1000 1000 1");
	put("/proc/self/gid_map", "1000 1000 1");
	(void)!write(b.sync, "C", 1);
	if (strncmp(name, "dies", 4) == 0)
		_exit(1);
	if (recv(b.sync, &go, 1, 0) != 1)
		_exit(1);
	if (strcmp(name, "capable") == 0) {
		try_capabilities();
		(void)fd_send(b.channel, said, strlen(said), NULL, 0);
	}
	if (strcmp(name, "stays") == 0)
		(void)fd_send(b.channel, "staying", 7, NULL, 0);
	for (;;)
		(void)pause();
}

static void answer(const char *word, long r)
{
	char text[64];
	snprintf(text, sizeof text, "%s %s", word, r >= 0 ? "done" : strerrorname_np(errno));
	say(text);
}

/* Another process asks with the flags, at the moment when its parent may. */
static long ask_as_child(void)
{
	int status = 0;
	pid_t pid = fork();
	if (pid == 0) {
		long r = syscall(SYS_clone, FLAGS, stack + sizeof stack, NULL, NULL, NULL);
		_exit(r < 0 ? errno : 0);
	}
	(void)waitpid(pid, &status, 0);
	errno = WEXITSTATUS(status);
	return errno ? -1 : 0;
}

/* After a first process was made: clone another one of the same branch, or as many as there may be.
 */
static void ask_again(int pid)
{
	int n = 0;
	for (; pid > 0; n++)
		pid = clone(c1, stack + sizeof stack, FLAGS, NULL);
	snprintf(said, sizeof said, "made %d %s", n, strerrorname_np(errno));
	say(said);
	branch_fds_close(&b);
}

/* Another thread gets the id of the one that waits in clone(), which ends. */
static void *take_over(void *arg)
{
	while (!is_made)
		(void)sched_yield();
	(void)fcntl(CHANNEL, F_SETFD, 0);
	(void)fcntl(b.sync, F_SETFD, 0);
	(void)execl("/retort/probe", "probe", "goes-on", NULL);
	return arg;
}

int hostile_goes_on(void)
{
	name = "repeats";
	ask_again(1);
	return 0;
}

int hostile(const char *what, const int *fds, size_t n_fds)
{
	pthread_t thread;
	if (branch_fds_parse(&b, fds, n_fds) < 0)
		return -1;
	name = what;
	if (strcmp(what, "closes") == 0) {
		branch_fds_close(&b);
		say("closed");
		return 0;
	}
	if (strcmp(what, "silent") == 0) {
		say("silent");
		return 0;
	}
	if (strcmp(what, "noise") == 0) {
		(void)!write(b.sync, "X", 1);
		branch_fds_close(&b);
		say("noise");
		return 0;
	}
	if (strcmp(what, "second-thread") == 0)
		(void)pthread_create(&thread, NULL, take_over, NULL);
	(void)!write(b.sync, "P", 1);
	if (strcmp(what, "child-asks") == 0) {
		answer("asked", ask_as_child());
		branch_fds_close(&b);
		return 0;
	}
	if (strcmp(what, "wrong-c") == 0) { /* our own name for C1's */
		(void)!write(b.sync, "C", 1);
		say("sent");
		return 0;
	}
	int pid = clone(c1, stack + sizeof stack, FLAGS, NULL);
	if (strcmp(what, "repeats") == 0 || strcmp(what, "second") == 0 ||
		strcmp(what, "dies-again") == 0) {
		ask_again(pid);
		return 0;
	}
	answer("cloned", pid);
	if (strcmp(what, "again") == 0)
		answer("again", syscall(SYS_clone, FLAGS, stack + sizeof stack, NULL, NULL, NULL));
	return 0;
}
