/*
 * Messages between engine, warden and init: fixed sizes, one message per packet, no pointers.
 *
 * The sockets are SOCK_SEQPACKET pairs, so a message arrives whole or not at all. The engine
 * talks to the warden and to each box's init; warden and init parse nothing else.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/err.h"
#include "sandbox/limits.h"

#include <stdint.h>

enum {
	WIRE_VERSION = 1,
	WIRE_PATH_BYTES = 4096,	  /* PATH_MAX of Linux */
	WIRE_BINDS_MAX = 64,	  /* bounds the warden's table of volumes */
	WIRE_BOXES_MAX = 4096,	  /* boxes of one warden */
	WIRE_BRANCHINGS_MAX = 32, /* branches that the warden makes at once */
	/* branches of one box at once: the second waits until C1 of the first exists */
	WIRE_AHEAD_MAX = 2,
	WIRE_DEPTH_MAX = 28,	    /* branches of branches; the kernel nests 32 namespaces */
	WIRE_DIRS_MAX = 128,	    /* depth of the directories that are copied for a branch */
	WIRE_TEXT_BYTES = 96 << 10, /* argv and environment of one spawn, NUL-separated */
	WIRE_SOCK_FD = 3,	    /* descriptor of the socket of warden and init */
	/* descriptor on which the init of a branch is told that its root is complete */
	WIRE_SYNC_FD = 4,
	WIRE_PIDS_MAX = 24,
	WIRE_SPAWN_FDS = 4, /* stdin, stdout, stderr, channel */
};

/*
 * What a bind is for. The destination of the first two is fixed by the warden. Files of a volume
 * that belong to the owner of its top directory appear to belong to the box's user; a driver's
 * files are world-readable.
 */
enum bind_kind {
	BIND_WORKSPACE,
	BIND_ROOTFS,
	BIND_DRIVER,
	BIND_VOLUME_RO,
	BIND_VOLUME_RW,
	BIND_KIND_END_
};

struct warden_bind {
	uint32_t kind;
	uint32_t reserved;
	/* device and inode that the engine saw there: the warden refuses any other */
	uint64_t dev, ino;
	char src[WIRE_PATH_BYTES];
	char dst[WIRE_PATH_BYTES]; /* absolute, normalised; empty for workspace and rootfs */
};

/* Of WARDEN_CREATE. A branch of a box can always be branched. */
enum warden_flag { WARDEN_BRANCHABLE = 1, WARDEN_FLAGS_ALL = WARDEN_BRANCHABLE };

enum warden_op {
	WARDEN_BIND = 1, /* add a bind to the next box; no reply, see WARDEN_CREATE */
	WARDEN_CREATE,	 /* make a box of the binds so far; reply carries init, workspace, books */
	WARDEN_USAGE,	 /* what a box has used so far */
	WARDEN_DESTROY,	 /* kill a box and free its resources; the reply carries the last usage */
	/* make a box from the driver of a box; this reply carries WARDEN_PREPARED_… */
	WARDEN_BRANCH,
	WARDEN_BRANCHED, /* only in the second reply: the branch is made, or the error */
	WARDEN_OP_END_
};

struct warden_request {
	uint32_t version;
	uint32_t op;
	uint64_t id;	/* echoed in the reply */
	uint32_t box;	/* for usage, destroy and branch */
	uint32_t flags; /* enum warden_flag, for create */
	struct limits limits;
	struct warden_bind bind;
};

/*
 * Order of the descriptors that come with the reply to WARDEN_CREATE; WARDEN_BRANCHED has no
 * init. From WARDEN_FD_END_ on follow the cgroup files from which usage is read, if the box has a
 * cgroup that counts everything.
 */
enum { WARDEN_FD_INIT, WARDEN_FD_WORKSPACE, WARDEN_FD_END_ };

/*
 * Order of the descriptors in the reply to WARDEN_BRANCH: the engine keeps the first, its end of
 * the connection to the branch's init, and sends the others to the driver.
 */
enum {
	WARDEN_PREPARED_CONTROL,
	WARDEN_PREPARED_SYNC,
	WARDEN_PREPARED_INIT,
	WARDEN_PREPARED_INIT_EXE,
	WARDEN_PREPARED_END_
};

enum { WARDEN_FDS_MAX = 8 }; /* with any reply */

struct warden_reply {
	uint32_t version;
	uint32_t op;
	uint64_t id;
	uint32_t box;
	int32_t status;		 /* 0, or negative errno and `err` says why */
	int32_t pid;		 /* of init, in the warden's pid namespace */
	uint32_t by[LIMIT_END_]; /* enum limit_by */
	/* Enum cgroup_kind of the usage files that come with the reply; 0: there are no such
	 * files */
	uint32_t books;
	struct box_usage usage;
	struct err err;
};

enum init_op {
	INIT_SPAWN = 1, /* with WIRE_SPAWN_FDS descriptors */
	INIT_SIGNAL,	/* one process that init spawned */
	/* SIGKILL to every process of the box except init; its branches are spared */
	INIT_KILL_ALL,
	INIT_ROLLBACK, /* end the process `id`, those in `guards`, and all that came later */
	INIT_MARK,     /* name this moment `mark` */
	/* change a file of the workspace; with a descriptor if a file is written */
	INIT_FILE,
	/* Kill all processes except `id`; refused when there are others than drivers and
	 * guards */
	INIT_CLEAR,
	INIT_SWEEP, /* kill all processes except drivers and guards; no event follows */
	INIT_OP_END_
};

struct init_request {
	uint32_t version;
	uint32_t op;
	uint64_t id; /* chosen by the engine for INIT_SPAWN; names the process from then on */
	int32_t signal;
	uint32_t argc;
	uint32_t envc;
	uint32_t text_bytes;
	uint64_t memory_bytes; /* RLIMIT_DATA, or 0 where a cgroup does it */
	/* RLIMIT_CPU: the kernel's limit in case the engine's does not act */
	uint64_t cpu_ms;
	uint64_t pids, file_bytes, open_files;
	uint32_t
		/* 1: no RLIMIT_CPU; 2: a template, whose RLIMIT_NPROC covers its branches too */
		is_session;
	int32_t guard_pid; /* INIT_ROLLBACK: pid in the box of the guard that becomes process `id`;
			      0: no guard */

	uint32_t is_fixed;	  /* 1: the same addresses in every run, no ASLR; else 0 */
	uint32_t act, root, mode; /* of INIT_FILE; the text is its path, and a target */
	/* Of INIT_FILE: whether to set the modification time, and the time. */
	uint32_t is_timed, modified_ns;
	int64_t modified_s;
	uint32_t is_forced; /* of INIT_CLEAR: kill whatever processes there are */
	uint32_t n_guards;
	/* Pids as the box sees them. INIT_CLEAR, INIT_SWEEP: the guards. INIT_ROLLBACK: processes
	 * that belong to drivers. */
	int32_t guards[WIRE_PIDS_MAX];
	/* INIT_MARK: the mark's name. INIT_ROLLBACK: the mark to roll back to; 0: the guard's
	 * start */
	uint32_t mark;
	char text[WIRE_TEXT_BYTES]; /* argc then envc strings; only text_bytes are sent */
};

/*
 * The kernel counts the processes of a user namespace together with those of the namespaces below
 * it. All sessions of a template are below it, so its RLIMIT_NPROC is this many times the box's
 * own limit. A session runs a user's code, so its RLIMIT_NPROC leaves room only for guards and a
 * few branches.
 */
enum { SPAWN_FAMILY = 32, SPAWN_ROOM = 128 };

/* The most processes that a box has beside its program's own: init, drivers, guards. */
enum { SPAWN_OWN = 25 };

enum init_file_act {
	INIT_FILE_REMOVE = 1,
	INIT_FILE_DIR,
	INIT_FILE_WRITE,
	INIT_FILE_LINK,
	INIT_FILE_MODE,
	INIT_FILE_UNLINK, /* as INIT_FILE_REMOVE, but no directory */
	/* as INIT_FILE_WRITE, but the existing file is replaced, not written to */
	INIT_FILE_ANEW,
	INIT_FILE_MOVE, /* exchange the names of the target and of the existing file */
	INIT_FILE_NAME, /* make this name a link to the target, in place of the existing file */
	INIT_FILE_TIME, /* set only the modification time */
};

/* Mode flag of INIT_FILE_WRITE: an existing file keeps its mode. */
enum { INIT_FILE_KEEP_MODE = 01000 };

enum init_file_root { INIT_FILE_HOME, INIT_FILE_TMP, INIT_FILE_SHM, INIT_FILE_ROOT_END_ };

/* The id of the driver of a branch, which was not started by INIT_SPAWN. */
enum { INIT_BRANCH_ID = 1 };

enum init_event_kind {
	INIT_READY = 1,
	INIT_FAILED,
	INIT_EXITED,
	INIT_ROLLED_BACK, /* status: how many processes were killed */
	INIT_FILE_DONE,	  /* status: 0, or negative errno */
	INIT_CLEARED,	  /* status: 0, how many are in the way, or negative errno */
	INIT_MARKED,	  /* id: the mark */
	INIT_EVENT_END_
};

struct init_event {
	uint32_t version;
	uint32_t kind;
	uint64_t id;
	int32_t status; /* as wait(2) gives it */
	uint32_t reserved;
	struct err err;
};
