/*
 * Messages between engine, warden and init: fixed sizes, one message per packet, no pointers.
 *
 * The sockets are SOCK_SEQPACKET pairs, so a message arrives whole or not at all. The engine sends
 * such messages to the warden and to the init of each box, and these two parse nothing else.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/err.h"
#include "sandbox/limits.h"

#include <stdint.h>

enum {
	WIRE_VERSION = 1,
	WIRE_PATH_BYTES = 4096, /* PATH_MAX of Linux */
	WIRE_VOLUMES_MAX = 64,	/* binds of one box, without the layers of an image */
	WIRE_LAYERS_MAX = 128,	/* layers of an image */
	WIRE_BINDS_MAX = WIRE_VOLUMES_MAX + WIRE_LAYERS_MAX,
	WIRE_BOXES_MAX = 4096,	  /* boxes of one warden */
	WIRE_BRANCHINGS_MAX = 32, /* branches that the warden makes at the same time */
	/* The most branches of one box that can be under way at the same time. The two are begun
	 * one after the other: the second one waits until process 1 of the first one exists. */
	WIRE_AHEAD_MAX = 2,
	/* how deep branches of branches may nest; the kernel nests 32 namespaces */
	WIRE_DEPTH_MAX = 28,
	WIRE_DOORS_MAX = 1024,	    /* doors of one warden that are open()ed or wait for it */
	WIRE_DIRS_MAX = 128,	    /* depth of a directory tree that is copied for a branch */
	WIRE_TEXT_BYTES = 96 << 10, /* arguments and environment of one spawn, NUL-separated */
	WIRE_SOCK_FD = 3,	    /* in the warden and in init: the descriptor of its socket */
	/* in a branch's init: the descriptor on which it learns that its root is complete */
	WIRE_SYNC_FD = 4,
	WIRE_PIDS_MAX = 24,
	WIRE_SPAWN_FDS = 4,	 /* stdin, stdout, stderr, and the channel to the engine */
	WIRE_PROGRAM_FDS = 3,	 /* stdin, stdout, stderr */
	WIRE_PROGRAMS_MAX = 100, /* programs that run in a box at the same time */
	WIRE_COMMAND_BYTES = 512,
	WIRE_LIST_MAX = 1024, /* processes that INIT_LIST lists */
};

/*
 * What a bind is for. A bind is a file or directory of the host that is mounted in a box.
 *
 * The warden itself chooses where in the box a BIND_WORKSPACE, BIND_IMAGE or BIND_LAYER is
 * mounted; the other kinds name the place in `dst`.
 *
 * A BIND_INSTALLATION is that of an interpreter, and is read-only. It is part of the root, as /usr
 * is: the files of a layer are added to it, but not to a volume.
 *
 * The BIND_IMAGEs are the layers of an image, the lowest first. The box has them in place of the
 * host's system, and can write to the system. A branch of such a box gets all binds of it again.
 *
 * In a bind of any kind but BIND_DRIVER and BIND_LAYER, files that belong to the owner of the
 * bind's top directory appear in the box as files of the box's user. These two need no such mapping
 * of owners, since every user may read their files.
 */
enum bind_kind {
	BIND_WORKSPACE,
	BIND_IMAGE,
	BIND_LAYER,
	BIND_DRIVER,
	BIND_INSTALLATION,
	BIND_VOLUME_RO,
	BIND_VOLUME_RW,
	BIND_KIND_END_
};

/* In a box with an image: a directory with what the box has changed of the image, read-only: files,
 * and for each that is deleted a device node with the number 0. Source: the kernel's
 * filesystems/overlayfs.rst. */
#define WIRE_CHANGES_DIR "/retort/system"

struct warden_bind {
	uint32_t kind;
	uint32_t reserved;
	/* device and inode of `src` when the engine checked it; the warden refuses any
	 * other file */
	uint64_t dev, ino;
	char src[WIRE_PATH_BYTES];
	/* absolute and normalised; "" for BIND_WORKSPACE, BIND_IMAGE and BIND_LAYER */
	char dst[WIRE_PATH_BYTES];
};

/* The flags of WARDEN_CREATE. A box that is made with WARDEN_BRANCHABLE can be branched. A
 * branch can always be branched, without a flag. */
enum warden_flag {
	WARDEN_BRANCHABLE = 1,
	/* neither the box nor a branch of it has a bind of the host to which it can write */
	WARDEN_OWN_FILES = 2,
	WARDEN_FLAGS_ALL = WARDEN_BRANCHABLE | WARDEN_OWN_FILES
};

enum warden_op {
	/* Add a bind to the box that is made next. There is no reply: if the bind has an error, the
	 * request to make the box fails. */
	WARDEN_BIND = 1,
	/* make a box with the binds sent so far; the reply has the descriptors WARDEN_FD_… */
	WARDEN_CREATE,
	WARDEN_USAGE,	/* tell what a box has used so far */
	WARDEN_DESTROY, /* kill a box and free its resources; the reply carries the last usage */
	/* make a branch: a box whose driver is a copy of another box's driver. The first reply has
	 * the WARDEN_PREPARED_… descriptors. */
	WARDEN_BRANCH,
	/* Not a request: the `op` of the second reply to WARDEN_BRANCH. This reply has the finished
	 * branch or the error. */
	WARDEN_BRANCHED,
	/* Open a door in the namespaces of a box. The reply has its descriptors, after a moment:
	 * replies to other requests may come before. */
	WARDEN_OPEN,
	WARDEN_OP_END_
};

/*
 * What WARDEN_OPEN opens in a box, and so the kind of the descriptors in the reply: one, except
 * with WARDEN_DOOR_NET. All are close-on-exec; a terminal and a socket do not block.
 */
enum warden_door {
	/* the master of a new pseudo-terminal of the box, unlocked; TIOCGPTPEER gives its other
	 * side */
	WARDEN_DOOR_TERMINAL,
	/* an unconnected TCP socket of the box's network namespace: IPv4, IPv6 */
	WARDEN_DOOR_SOCKET,
	WARDEN_DOOR_SOCKET6,
	/* /proc/net/tcp and /proc/net/tcp6, as seen in the box's network namespace */
	WARDEN_DOOR_LISTENERS,
	WARDEN_DOOR_LISTENERS6,
	/* what leads programs of the box to the gateway; see struct warden_net */
	WARDEN_DOOR_NET,
	WARDEN_DOOR_END_
};

/* The addresses that names stand for in a box: 198.18.0.0/15, which no host of the internet has
 * (RFC 2544). The first one is the resolver's. IPv4 addresses are in host byte order. */
#define WARDEN_NET_IP	   UINT32_C(0xc6120000)
#define WARDEN_RESOLVER_IP UINT32_C(0xc6120001)
enum { WARDEN_NET_BITS = 15, WARDEN_RESOLVER_PORT = 53 };
/* the most listeners and networks of one request; a box may have more, by further requests */
enum { WARDEN_LISTENERS_MAX = 14, WARDEN_NETWORKS_MAX = 64 };

/* `ip` 0: every address of the box */
struct warden_listener {
	uint32_t ip, port;
};

struct warden_network {
	uint32_t ip, bits; /* the bits beyond `bits` are 0 */
};

/*
 * What WARDEN_DOOR_NET opens in the network namespace of a box.
 *
 * The addresses WARDEN_NET_IP/WARDEN_NET_BITS and those of `networks` become addresses of the box's
 * loopback, so that a program that connects to one of them reaches a socket in the box. They stay
 * for as long as the box lives. If it has them already, nothing changes.
 *
 * The reply has a descriptor for each socket asked for: the resolver if there is one, then the
 * listeners in their order. The resolver is a UDP socket that is bound to WARDEN_RESOLVER_IP; a
 * listener is a listening TCP socket. A socket is left out if its port is taken in the box: by a
 * program, which may take ports from 1024 on, or by an earlier request. See warden_reply.opened.
 */
struct warden_net {
	uint32_t has_resolver; /* 0 or 1 */
	uint32_t n_listeners, n_networks;
	uint32_t reserved;
	struct warden_listener listeners[WARDEN_LISTENERS_MAX];
	struct warden_network networks[WARDEN_NETWORKS_MAX];
};

struct warden_request {
	uint32_t version;
	uint32_t op;
	uint64_t id;	/* chosen by the engine; the reply repeats it */
	uint32_t box;	/* WARDEN_BRANCH: the parent; otherwise the box itself */
	uint32_t flags; /* WARDEN_CREATE: enum warden_flag */
	uint32_t door;	/* WARDEN_OPEN: enum warden_door */
	uint32_t reserved;
	/* WARDEN_CREATE: the ids that the one user of the box has in it. A branch has those of its
	 * parent. */
	uint32_t uid, gid;
	struct limits limits;
	struct warden_bind bind;
	struct warden_net net; /* WARDEN_OPEN with WARDEN_DOOR_NET */
};

/* The descriptors that come with the reply to WARDEN_CREATE, in this order. WARDEN_BRANCHED lacks
 * the first. If the box has a cgroup that counts everything, the cgroup's usage files follow. */
enum { WARDEN_FD_INIT, WARDEN_FD_WORKSPACE, WARDEN_FD_END_ };

/*
 * The descriptors that come with the first reply to WARDEN_BRANCH, in this order. The engine keeps
 * the first one, its end of the connection to the branch's init. It sends the others to the driver.
 */
enum {
	WARDEN_PREPARED_CONTROL,
	WARDEN_PREPARED_SYNC,
	WARDEN_PREPARED_INIT,
	WARDEN_PREPARED_INIT_EXE,
	WARDEN_PREPARED_END_
};

enum { WARDEN_FDS_MAX = 1 + WARDEN_LISTENERS_MAX }; /* the most descriptors of one reply */

struct warden_reply {
	uint32_t version;
	uint32_t op;
	uint64_t id;
	uint32_t box;
	int32_t status;		 /* 0, or negative errno with the reason in `err` */
	int32_t pid;		 /* pid of the box's init in the warden's pid namespace */
	uint32_t by[LIMIT_END_]; /* enum limit_by: who enforces each limit */
	/* enum cgroup_kind of the usage files that come with the reply; 0 if none come */
	uint32_t books;
	/* WARDEN_OPEN: bit i is set if the i-th thing asked for was opened. The descriptors of
	 * those that were come with the reply. */
	uint32_t opened;
	uint32_t reserved;
	struct box_usage usage;
	struct err err;
};

enum init_op {
	/* start a process; WIRE_SPAWN_FDS descriptors come along, or WIRE_PROGRAM_FDS for a
	 * program */
	INIT_SPAWN = 1,
	/* Send a signal to a process that init spawned; to the process group of a program. If
	 * `is_forced` is 1, also to the descendants of the program and to its terminal session. */
	INIT_SIGNAL,
	/* kill every process of the box except init; the processes of branches go on running */
	INIT_KILL_ALL,
	/* Return the processes of the box to an earlier moment: kill the process `id`, the
	 * processes in `guards`, and all processes that are newer than the moment, except programs
	 * and their descendants. */
	INIT_ROLLBACK,
	/* Remember the present moment under the name `mark`. INIT_ROLLBACK can then return the
	 * processes of the box to this moment. */
	INIT_MARK,
	/* change a file in the box; if it is written, a descriptor with the content comes along */
	INIT_FILE,
	/* Kill all processes of the box except the driver `id`. But unless `clearing` is
	 * CLEAR_ALL, kill nothing if there are processes that are neither drivers nor guards. */
	INIT_CLEAR,
	/* Kill all processes except drivers, guards and programs with their descendants. If
	 * `is_forced` is 1, kill programs and their descendants, too. Init does not answer. */
	INIT_SWEEP,
	/* write a struct init_process for each process of the box to the descriptor that comes
	 * along */
	INIT_LIST,
	INIT_OP_END_
};

/*
 * What INIT_CLEAR does if the box has processes that are neither drivers nor guards.
 *
 * CLEAR_PATIENT  Give those that are just ending some milliseconds, then kill nothing.
 * CLEAR_QUICK    Kill nothing.
 * CLEAR_ALL      Kill them.
 * killed in any case.
 */
enum init_clearing { CLEAR_PATIENT, CLEAR_QUICK, CLEAR_ALL };

struct init_request {
	uint32_t version;
	uint32_t op;
	/* A name that the engine chooses. In INIT_FILE it is the name of the request, which
	 * INIT_FILE_DONE repeats. INIT_SPAWN gives this name to the process that it starts. All
	 * other requests that use `id` name a process by it, for example INIT_SIGNAL. */
	uint64_t id;
	int32_t signal;
	uint32_t argc;
	uint32_t envc;
	uint32_t text_bytes;
	uint64_t memory_bytes; /* for RLIMIT_DATA; 0 if a cgroup limits the memory */
	/* for RLIMIT_CPU, by which the kernel ends a process that the engine failed to end */
	uint64_t cpu_ms;
	uint64_t pids, file_bytes, open_files;
	/*
	 * 0: the process runs one step. 1: it is the driver of a session. 2: it is the driver of a
	 * template. Drivers have no RLIMIT_CPU, and their RLIMIT_NPROC is raised for branches; see
	 * SPAWN_FAMILY.
	 */
	uint32_t is_session;
	/* INIT_ROLLBACK: the pid, inside the box, of the guard that becomes process `id`. 0:
	 * there is no guard, and process `id` is killed without a replacement. */
	int32_t guard_pid;

	/* 1: start without ASLR, so that addresses are the same in every run; else 0 */
	uint32_t is_fixed;
	/* INIT_FILE: `act` is an enum init_file_act, `root` an enum init_file_root, and `mode` the
	 * mode of the file. `text` contains the path and a target. */
	uint32_t act, root, mode;
	/* INIT_FILE: is_timed is 1 if the modification time is to be set. modified_s and
	 * modified_ns are this time. */
	uint32_t is_timed, modified_ns;
	int64_t modified_s;
	/* INIT_CLEAR: an enum init_clearing */
	uint32_t clearing;
	uint32_t is_forced; /* INIT_SIGNAL, INIT_SWEEP: 0 or 1, see there */
	uint32_t n_guards;
	/* Pids inside the box. For INIT_CLEAR and INIT_SWEEP, they are the guards. For
	 * INIT_ROLLBACK, they are further processes to kill. */
	int32_t guards[WIRE_PIDS_MAX];
	/*
	 * The name of a mark, which is a moment that init remembers. The engine chooses the name.
	 * - INIT_MARK: the name for the present moment; not 0.
	 * - INIT_ROLLBACK: the name of the mark to return to, or 0. With 0, init returns to the
	 *   start of the guard or, if there is no guard, to the newest mark.
	 */
	uint32_t mark;
	/*
	 * INIT_SPAWN: 1: the process is a program that a client starts; else 0. A program gets no
	 * channel. The rules for processes that steps leave
	 * running do not concern programs: see INIT_ROLLBACK, INIT_CLEAR and INIT_SWEEP.
	 */
	uint32_t is_program;
	uint32_t is_terminal; /* program: 1: stdin is a terminal, which will control the program */
	/* program: 1: `text` ends with the working directory; 2: likewise, and the directory is
	 * made if it is missing */
	uint32_t has_directory;
	/* `argc` strings, then `envc` strings, then the working directory of a program if it has
	 * one; only text_bytes bytes are sent */
	char text[WIRE_TEXT_BYTES];
};

/* What init tells of one process of the box (INIT_LIST). Source: proc_pid_stat(5). */
struct init_process {
	int32_t pid, ppid;     /* inside the box; ppid 1: init */
	int32_t program;       /* pid of the program from which the process descends, or 0 */
	uint32_t kind;	       /* enum init_kind */
	uint64_t id;	       /* the process's name in INIT_SPAWN, or 0 */
	uint64_t start_ms;     /* start time in ms since the host booted */
	uint64_t cpu_ms;       /* CPU time, with that of reaped children */
	uint64_t memory_bytes; /* resident memory */
	/* the beginning of the command line, with blanks between the arguments; NUL-terminated */
	char command[WIRE_COMMAND_BYTES];
};
/* The name that the Python driver gives to its guards (drivers/python/fork.c). */
#define WIRE_GUARD_NAME "retort-guard"

/* INIT_KIND_OWN: a driver, a guard, or the minder of a program. INIT_KIND_PROGRAM: what a client
 * started. */
enum init_kind { INIT_KIND_OTHER, INIT_KIND_OWN, INIT_KIND_PROGRAM, INIT_KIND_END_ };

/*
 * How far the RLIMIT_NPROC of a driver is raised above the box's own limit on processes.
 * The kernel counts the processes of a user namespace together with those of the user namespaces
 * below it. A branch's user namespace is below its parent's. So the processes of a branch count for
 * the parent, too.
 * - Template: all sessions that are made from a template are branches of it. So the limit of a
 *   template's driver is multiplied by SPAWN_FAMILY.
 * - Session: a session runs a user's code. So the limit of its driver is raised only by SPAWN_ROOM,
 *   which suffices for guards and a few branches.
 */
enum { SPAWN_FAMILY = 32, SPAWN_ROOM = 128 };

/* The most processes that retort itself has in a box: init, drivers, guards. */
enum { SPAWN_OWN = 25 };

enum init_file_act {
	INIT_FILE_REMOVE = 1,
	INIT_FILE_DIR,
	INIT_FILE_WRITE,
	INIT_FILE_LINK,
	INIT_FILE_MODE,
	INIT_FILE_UNLINK, /* as INIT_FILE_REMOVE, but a directory is an error */
	/* as INIT_FILE_WRITE, but an existing file is replaced instead of written to */
	INIT_FILE_ANEW,
	/* rename the file `target` to this path; if a file exists there, exchange the two */
	INIT_FILE_MOVE,
	/* make this path a hard link to the file `target`; an existing file is replaced */
	INIT_FILE_NAME,
	INIT_FILE_TIME, /* set only the modification time */
};

/* Flag in the mode of INIT_FILE_WRITE and INIT_FILE_ANEW: an existing file keeps its mode. */
enum { INIT_FILE_KEEP_MODE = 01000 };

enum init_file_root { INIT_FILE_HOME, INIT_FILE_TMP, INIT_FILE_SHM, INIT_FILE_ROOT_END_ };

/* The id of a branch's driver. INIT_SPAWN did not start it: it is a copy of the parent's driver. */
enum { INIT_BRANCH_ID = 1 };

enum init_event_kind {
	INIT_READY = 1,
	INIT_FAILED,
	INIT_EXITED,
	INIT_ROLLED_BACK, /* init_event.status: the number of killed processes */
	INIT_FILE_DONE,	  /* init_event.status: 0 if the file was changed, or negative errno */
	/* init_event.status: 0 if the processes were killed; negative errno after a failure. If
	 * nothing was killed because the box has processes that are neither drivers nor guards:
	 * the number of these processes. */
	INIT_CLEARED,
	INIT_MARKED,  /* init_event.id: the name of the mark */
	INIT_STARTED, /* a program runs; init_event.status: its pid inside the box */
	/* init_event.status: the number of processes that were listed, or negative errno */
	INIT_LISTED,
	INIT_EVENT_END_
};

struct init_event {
	uint32_t version;
	uint32_t kind;
	uint64_t id;
	int32_t status; /* INIT_EXITED: as from wait(2); other events: see enum init_event_kind */
	/* INIT_EXITED: CPU time of the process and of the children it has waited for; UINT32_MAX:
	 * unknown */
	uint32_t cpu_ms;
	struct err err;
};
