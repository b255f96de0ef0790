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
	WIRE_BOXES_MAX = 1024,	/* boxes of one warden */
	WIRE_TEXT_BYTES = 96 << 10, /* argv and environment of one spawn, NUL-separated */
	WIRE_SOCK_FD = 3,	    /* where warden and init find their socket */
	WIRE_SPAWN_FDS = 4,	    /* stdin, stdout, stderr, channel */
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

enum warden_op {
	WARDEN_BIND = 1, /* add a bind to the next box; no reply, see WARDEN_CREATE */
	WARDEN_CREATE,	 /* make a box of the binds so far; reply carries init, workspace */
	WARDEN_USAGE,	 /* what a box has used so far */
	WARDEN_DESTROY,	 /* kill a box and remove what it had; reply carries the last usage */
	WARDEN_OP_END_
};

struct warden_request {
	uint32_t version;
	uint32_t op;
	uint64_t id;  /* echoed in the reply */
	uint32_t box; /* for usage and destroy */
	uint32_t reserved;
	struct limits limits;
	struct warden_bind bind;
};

/* Order of the descriptors that come with the reply to WARDEN_CREATE. */
enum { WARDEN_FD_INIT, WARDEN_FD_WORKSPACE, WARDEN_FD_END_ };

struct warden_reply {
	uint32_t version;
	uint32_t op;
	uint64_t id;
	uint32_t box;
	int32_t status;		 /* 0, or negative errno and `err` says why */
	int32_t pid;		 /* of init, in the warden's pid namespace */
	uint32_t by[LIMIT_END_]; /* enum limit_by */
	struct box_usage usage;
	struct err err;
};

enum init_op {
	INIT_SPAWN = 1, /* with WIRE_SPAWN_FDS descriptors */
	INIT_SIGNAL,	/* one process that init spawned */
	INIT_KILL_ALL,	/* SIGKILL to every process of the box but init */
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

	uint32_t reserved;
	char text[WIRE_TEXT_BYTES]; /* argc then envc strings; only text_bytes are sent */
};

enum init_event_kind { INIT_READY = 1, INIT_FAILED, INIT_EXITED, INIT_EVENT_END_ };

struct init_event {
	uint32_t version;
	uint32_t kind;
	uint64_t id;
	int32_t status; /* as wait(2) gives it */
	uint32_t reserved;
	struct err err;
};
