/*
 * Messages between engine, warden and init: fixed sizes, one message per packet, no pointers.
 *
 * The sockets are SOCK_SEQPACKET pairs, so a message arrives whole or not at all. The engine talks
 * to the warden and to each box's init; neither of these parses anything else.
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
	WIRE_BINDS_MAX = 64,	/* more volumes than anyone asked for; bounds the warden's table */
	WIRE_BOXES_MAX = 4096,	/* boxes of one warden */
	WIRE_BRANCHINGS_MAX = 32,   /* branches that it makes at once */
	WIRE_AHEAD_MAX = 2,	    /* of one box: the second's turn comes when the first has C1 */
	WIRE_DEPTH_MAX = 28,	    /* branches of branches; the kernel nests 32 namespaces */
	WIRE_DIRS_MAX = 128,	    /* directories below each other that a branch gets copied */
	WIRE_TEXT_BYTES = 96 << 10, /* argv and environment of one spawn, NUL-separated */
	WIRE_SOCK_FD = 3,	    /* where warden and init find their socket */
	WIRE_SYNC_FD = 4,	    /* where the init of a branch hears that it is furnished */
	WIRE_PIDS_MAX = 24,
	WIRE_SPAWN_FDS = 4, /* stdin, stdout, stderr, channel */
};

/*
 * What a bind is for. The destination of the first two is fixed by the warden. Files of a volume
 * that belong to the owner of its top look as if they belonged to the box; those of a driver are
 * for everyone to read.
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
	uint64_t dev, ino; /* what the engine saw there: the warden refuses anything else */
	char src[WIRE_PATH_BYTES];
	char dst[WIRE_PATH_BYTES]; /* absolute, normalised; empty for workspace and rootfs */
};

/* Of WARDEN_CREATE. A branch of a box can always be branched. */
enum warden_flag { WARDEN_BRANCHABLE = 1, WARDEN_FLAGS_ALL = WARDEN_BRANCHABLE };

enum warden_op {
	WARDEN_BIND = 1, /* add a bind to the next box; no reply, see WARDEN_CREATE */
	WARDEN_CREATE,	 /* make a box of the binds so far; reply carries init, workspace, books */
	WARDEN_USAGE,	 /* what a box has used so far */
	WARDEN_DESTROY,	 /* kill a box and remove what it had; reply carries the last usage */
	WARDEN_BRANCH,	 /* make a box of a box's driver; this reply carries WARDEN_PREPARED_… */
	WARDEN_BRANCHED, /* in the second reply only: the branch is made, or why it is not */
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
 * Order of the descriptors that come with the reply to WARDEN_CREATE; WARDEN_BRANCHED has no init.
 * From WARDEN_FD_END_ on follow the files that its cgroup's books are read from, if it has a cgroup
 * that counts all there is to count.
 */
enum { WARDEN_FD_INIT, WARDEN_FD_WORKSPACE, WARDEN_FD_END_ };

/*
 * Order of those that come with the reply to WARDEN_BRANCH: the engine keeps the first, the end of
 * the conversation with the branch's init, and sends the driver the others.
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
	uint32_t books;		 /* enum cgroup_kind of the books that come along; 0: none do */
	struct box_usage usage;
	struct err err;
};

enum init_op {
	INIT_SPAWN = 1, /* with WIRE_SPAWN_FDS descriptors */
	INIT_SIGNAL,	/* one process that init spawned */
	INIT_KILL_ALL,	/* SIGKILL to every process of the box but init, not of its branches */
	INIT_ROLLBACK,	/* end the process `id`, those in `guards`, and all that came later */
	INIT_MARK,	/* this moment is called `mark` from now on */
	INIT_FILE,	/* change a file of the workspace; with a descriptor if it is written */
	INIT_CLEAR,	/* end all but `id`; not when there is more than drivers and guards */
	INIT_SWEEP,	/* end all but drivers and guards; no event follows */
	INIT_OP_END_
};

struct init_request {
	uint32_t version;
	uint32_t op;
	uint64_t id; /* of the spawn; chosen by the engine, names the process from then on */
	int32_t signal;
	uint32_t argc;
	uint32_t envc;
	uint32_t text_bytes;
	uint64_t memory_bytes; /* RLIMIT_DATA, or 0 where a cgroup does it */
	uint64_t cpu_ms;       /* RLIMIT_CPU: the kernel's last word behind the engine's */
	uint64_t pids, file_bytes, open_files;
	uint32_t
		is_session; /* no RLIMIT_CPU; 2: of a template, RLIMIT_NPROC for its branches too */
	int32_t guard_pid;  /* of INIT_ROLLBACK, as the box sees it; 0: none */

	uint32_t is_fixed;	  /* 1: the same addresses in every run, no ASLR; else 0 */
	uint32_t act, root, mode; /* of INIT_FILE; the text is its path, and a target */
	/* Of INIT_FILE: when it was modified, as is said then, if anything is. */
	uint32_t is_timed, modified_ns;
	int64_t modified_s;
	uint32_t is_forced; /* of INIT_CLEAR: whatever there is */
	uint32_t n_guards;
	/* As the box sees them: the guards, of INIT_CLEAR and INIT_SWEEP; of INIT_ROLLBACK what
	 * belongs to drivers. */
	int32_t guards[WIRE_PIDS_MAX];
	uint32_t mark; /* of INIT_MARK; of INIT_ROLLBACK: how far back, 0: to the guard's beginning
			*/
	char text[WIRE_TEXT_BYTES]; /* argc then envc strings; only text_bytes are sent */
};

/*
 * The kernel counts the processes of a user namespace together with those of the namespaces below
 * it. So of a template, which all its sessions are below, RLIMIT_NPROC is this many times the box's
 * own limit; of a session, which runs a user's code, there is room for guards and a few branches.
 */
enum { SPAWN_FAMILY = 32, SPAWN_ROOM = 128 };

/* What a box has beside its program's own processes at most: init, drivers, guards. */
enum { SPAWN_OWN = 25 };

enum init_file_act {
	INIT_FILE_REMOVE = 1,
	INIT_FILE_DIR,
	INIT_FILE_WRITE,
	INIT_FILE_LINK,
	INIT_FILE_MODE,
	INIT_FILE_UNLINK, /* as INIT_FILE_REMOVE, but no directory */
	INIT_FILE_ANEW,	  /* as INIT_FILE_WRITE, but what has the name now is not written to */
	INIT_FILE_MOVE,	  /* the target gets this name; what has it now gets the target's */
	INIT_FILE_NAME,	  /* the target gets this name, too; what has it now loses it */
	INIT_FILE_TIME,	  /* nothing but the time */
};

/* In the mode of INIT_FILE_WRITE: a file that is there keeps its own. */
enum { INIT_FILE_KEEP_MODE = 01000 };

enum init_file_root { INIT_FILE_HOME, INIT_FILE_TMP, INIT_FILE_SHM, INIT_FILE_ROOT_END_ };

/* What the driver of a branch is called, which no INIT_SPAWN named. */
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
