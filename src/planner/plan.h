/* The operation behind `retort plan`: a plan is read, judged, run. SPDX-License-Identifier:
 * Apache-2.0 */
#pragma once

#include "base/buf.h"
#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

struct plan_stop;

enum plan_dialect { PLAN_DIALECT_PLAN, PLAN_DIALECT_STARLARK };

/* What `retort plan run` ends with, CONTRACT §4. */
enum plan_status {
	PLAN_OK = 0,
	PLAN_FAILED = 1,
	PLAN_INVALID = 2,
	PLAN_NO_KEY = 3, /* a server or the model wants one */
	PLAN_LOST = 4,	 /* a server or the model gave no answer */
	PLAN_DENIED = 6
};

/* What is asked of a plan, whichever verb asks. Everything is borrowed. A limit of 0 is the
 * default. */
struct plan_request {
	const char *path; /* "-": standard input */
	enum plan_dialect dialect;
	bool has_while, has_recursion; /* while loops; functions that call themselves */
	uint64_t fuel, memory_bytes;
	void *arg;
	/* What the program prints, as it comes. Returns: 0, or -1: it cannot be written. */
	int (*print)(void *arg, const char *text, size_t bytes);
	/* Plans with tools, see plan_run.h; NULL: not given. Without a policy, what the tools say
	 * of themselves decides; @request: what the user asked for. */
	const char *tools_path, *policy_path, *request, *record_path, *resume_path;
	const char *tools_name; /* of a text, for messages; or NULL */
	const char *model,
		*key_file;	/* who answers ask(), see agent/wire/model.h; NULL: the tools */
	bool may_start;		/* servers that a text of tools lists; those of a file always */
	bool is_again;		/* do again what may have been done when the record ends */
	bool has_signals;	/* SIGINT and SIGTERM end waiting, with ERR_INTERRUPTED */
	struct plan_stop *stop; /* or NULL */
	bool is_json;		/* diagnostics as JSON */
	bool is_explained;	/* of a check: every label and answer as well */
	bool is_text;		/* path, tools_path, policy_path: texts */
	/* Returns: 1 yes, 0 no, -1 nobody is there; with @can_see_each 2 before the run: yes, but
	 * ask at each call. */
	int (*approve)(void *arg, const char *text);
	bool can_see_each;
	/* May @tool be called where the policy asks? Before `approve`; or NULL. */
	bool (*may_call)(void *arg, const char *tool);
};

/*
 * Run it; with tools, check every flow before. *report gets what is wrong.
 *
 * Owns:    the caller ends *report with buf_done().
 * Blocks:  as long as the program runs: to the end of its fuel.
 * Returns: enum plan_status, or negative errno when the file cannot be read.
 * Errors:  ERR_NOT_FOUND, ERR_ACCESS, ERR_LIMIT, ERR_IO, ERR_NO_MEMORY.
 */
int plan_perform(const struct plan_request *req, struct buf *report, struct err *err);

/* Take @what itself when it @is_text, else what plan_read() reads there. */
int plan_take(const char *what, bool is_text, struct buf *out, struct err *err);

/* Read a whole file, "-" is standard input. Returns: 0, or negative errno as plan_perform(). */
int plan_read(const char *path, struct buf *out, struct err *err);

/* The same of a regular file, and of nothing else: for an engine, which waits for no FIFO. */
int plan_read_regular(const char *path, struct buf *out, struct err *err);
