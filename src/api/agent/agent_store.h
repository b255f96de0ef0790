/* Agents on disk: a directory for each, locked by who works with it. SPDX-License-Identifier:
 * Apache-2.0 */
#pragma once

#include "base/err.h"

#include <jansson.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

/* The newest that are not in use are kept; a file of more is not read. */
enum {
	AGENT_ID_BYTES = 16,
	AGENT_STORE_MAX = 100,
	AGENT_STORE_BYTES_MAX = 256 << 20,
	AGENT_TASK_BYTES = 300
};
/* Of sessions of agents that nobody goes on with, where no other end is set to them. */
enum { AGENT_IDLE_MS = 24 * 3600 * 1000 };

/* Where agents are kept. Borrowed. */
struct agent_store {
	const char *dir;       /* NULL: nowhere */
	const char *id;	       /* of the only one that this process runs; NULL: each gets one */
	const char *directory; /* that it is run in, to be found by; or NULL */
	uint64_t idle_ms;      /* how long the session made for one may be unused; 0: as others */
};

/* One that is open, and locked until agent_store_close(). Starts as STORED_AGENT_INIT. */
struct stored_agent {
	int fd, lock_fd; /* of its directory, and of a file there */
	char id[AGENT_ID_BYTES];
};
#define STORED_AGENT_INIT ((struct stored_agent){.fd = -1, .lock_fd = -1})

/* A random one: "a-7k2mq4x5ta". */
void agent_store_new_id(char id[AGENT_ID_BYTES]);

/*
 * Make the directory DIR/ID, mode 0700, with its parents, and lock it. The oldest of more than
 * AGENT_STORE_MAX go.
 * Errors: ERR_ACCESS, ERR_NO_SPACE, ERR_IO.
 */
int agent_store_create(struct stored_agent *out, const char *dir, const char *id, struct err *err);

/*
 * Open one that is there.
 * Errors: ERR_NOT_FOUND; ERR_BUSY: it runs; ERR_ACCESS: it is somebody else's, or open to others.
 */
int agent_store_open(struct stored_agent *out, const char *dir, const char *id, struct err *err);
void agent_store_close(struct stored_agent *k);
/* Remove one that was made, and of which nothing was ever written. */
void agent_store_remove(const char *dir, const char *id);

/*
 * The file of an agent: {"version", "agent", "owner", "task", "changed_ms", "session", "params",
 * "loop", …}, mode 0600. Written whole beside its place and moved there: whoever reads it, also
 * after a kill -9 or a loss of power, has this one or the one before.
 * Errors: ERR_NO_SPACE, ERR_ACCESS, ERR_IO. Reading: also ERR_NOT_FOUND, ERR_DAMAGED, ERR_LIMIT,
 * ERR_USAGE: a newer version's.
 */
int agent_store_write(const struct stored_agent *k, const json_t *agent, struct err *err);
json_t *agent_store_read(const struct stored_agent *k, struct err *err);

/*
 * [{"agent", "task", "status", "model", "session", "directory"?, "steps", "changed_ms"}], the
 * newest first; "status" is "running" for one that is in use, "interrupted" for one that just
 * ended, "damaged" for one that cannot be read. Only those of @owner. Owns: the caller; NULL
 * without memory.
 */
json_t *agent_store_list(const char *dir, const char *owner);

/*
 * The id that @start begins, or of the newest that was run in @directory (@start NULL).
 * Errors: ERR_NOT_FOUND, ERR_USAGE: more than one begins so.
 */
int agent_store_find(char id[AGENT_ID_BYTES], const char *dir, const char *start,
	const char *directory, struct err *err);
