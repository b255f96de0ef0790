/* Saved agents: a directory for each, locked by the process that works with it.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"

#include <jansson.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

/* STORE_MAX: the newest agents are kept, besides all that are in use. STORE_BYTES_MAX: larger files
 * are not read. */
enum {
	AGENT_ID_BYTES = 16,
	AGENT_STORE_MAX = 100,
	AGENT_STORE_BYTES_MAX = 256 << 20,
	AGENT_TASK_BYTES = 300
};
/* The default limit of idle time for sessions of agents. */
enum { AGENT_IDLE_MS = 24 * 3600 * 1000 };

/* Where agents are stored. All members are borrowed. */
struct agent_store {
	const char *dir; /* directory of the store; NULL: agents are not saved */
	const char *id;	 /* id of the only agent of this process; NULL: each agent gets a new id */
	const char *directory; /* working directory, by which --continue finds an agent; or NULL */
	uint64_t idle_ms;      /* limit of idle time for sessions made for agents; 0: the default */
};

/* An open agent, locked until agent_store_close(). Starts as STORED_AGENT_INIT. */
struct stored_agent {
	int fd, lock_fd; /* the agent's directory, and its lock file */
	char id[AGENT_ID_BYTES];
};
#define STORED_AGENT_INIT ((struct stored_agent){.fd = -1, .lock_fd = -1})

/* Make a random id, such as "a-7k2mq4x5ta". */
void agent_store_new_id(char id[AGENT_ID_BYTES]);

/*
 * Make the directory DIR/ID, mode 0700, with its parents, and lock it. Beyond AGENT_STORE_MAX
 * agents the oldest are removed. Errors: ERR_ACCESS, ERR_NO_SPACE, ERR_IO.
 */
int agent_store_create(struct stored_agent *out, const char *dir, const char *id, struct err *err);

/*
 * Open an agent.
 * Errors: ERR_NOT_FOUND; ERR_BUSY: it is in use; ERR_ACCESS: the directory belongs to another user,
 * or others may enter it.
 */
int agent_store_open(struct stored_agent *out, const char *dir, const char *id, struct err *err);
void agent_store_close(struct stored_agent *k);
/* Remove the directory of an agent that was created but never written. */
void agent_store_remove(const char *dir, const char *id);

/*
 * Write and read the file of an agent: {"version", "agent", "owner", "task", "changed_ms",
 * "session", "params", "loop", …}, mode 0600. Replaced atomically: a reader sees the old file or
 * the new one, also after a kill -9 or a power failure. Errors: ERR_NO_SPACE, ERR_ACCESS, ERR_IO.
 * Reading: also ERR_NOT_FOUND, ERR_DAMAGED, ERR_LIMIT, ERR_USAGE: written by a newer version.
 */
int agent_store_write(const struct stored_agent *k, const json_t *agent, struct err *err);
json_t *agent_store_read(const struct stored_agent *k, struct err *err);

/*
 * [{"agent", "task", "status", "model", "session", "directory"?, "steps", "changed_ms"}], the
 * newest first; "status" is "running" for an agent in use, "interrupted" for one that ended without
 * a result, "damaged" for one that cannot be read. Contains only agents of @owner. Owns: the
 * caller; NULL without memory.
 */
json_t *agent_store_list(const char *dir, const char *owner);

/* Find the only agent whose id begins with @start, or (@start NULL) the newest one that was run in
 * @directory. Errors: ERR_NOT_FOUND; ERR_USAGE: several begin so. */
int agent_store_find(char id[AGENT_ID_BYTES], const char *dir, const char *start,
	const char *directory, struct err *err);
