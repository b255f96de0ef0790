/* The operations behind `retort plan`: read, check and run a plan. SPDX-License-Identifier:
 * Apache-2.0 */
#pragma once

#include "base/buf.h"
#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

struct plan_stop;

enum plan_dialect { PLAN_DIALECT_PLAN, PLAN_DIALECT_STARLARK };

/* The exit status of `retort plan run`. */
enum plan_status {
	PLAN_OK = 0,
	PLAN_FAILED = 1,
	PLAN_INVALID = 2,
	PLAN_NO_KEY = 3, /* a server or the model needs a key */
	PLAN_LOST = 4,	 /* a server or the model did not answer */
	PLAN_DENIED = 6
};

/* The request of any verb. Everything is borrowed. A limit of 0 means the default. */
struct plan_request {
	const char *path; /* "-": standard input */
	enum plan_dialect dialect;
	bool has_while, has_recursion; /* while loops; functions that call themselves */
	uint64_t fuel, memory_bytes;
	void *arg;
	/* What the program prints, as it comes. Returns: 0, or -1: it cannot be written. */
	int (*print)(void *arg, const char *text, size_t bytes);
	/* Plans with tools, see plan_run.h; NULL: not given. Without a policy, the annotations of
	 * the tools decide; @request: what the user asked for. */
	const char *tools_path, *policy_path, *request, *record_path, *resume_path;
	const char *tools_name; /* of a text, for messages; or NULL */
	const char *model,
		*key_file; /* who answers ask(), see agent/wire/model.h; NULL: the tools */
	bool may_start; /* start servers that a text of tools lists; those of a file always start */
	bool is_again;	/* repeat the call that may have been made when the record ends */
	bool has_signals;	/* SIGINT and SIGTERM end waiting, with ERR_INTERRUPTED */
	struct plan_stop *stop; /* or NULL */
	bool is_json;		/* diagnostics as JSON */
	bool is_explained;	/* a check also reports every label and answer */
	bool is_text;		/* path, tools_path and policy_path are texts, not paths */
	/* Ask a person. Returns: 1 yes, 0 no, -1 nobody can be asked; before the run, with
	 * @can_see_each, 2: yes, but ask at each call. */
	int (*approve)(void *arg, const char *text);
	bool can_see_each;
	/* May @tool be called although the policy asks? Called before `approve`; or NULL. */
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

/* Take the text @what itself, or without @is_text the file that it names. */
int plan_take(const char *what, bool is_text, struct buf *out, struct err *err);

/* Read a whole file, "-" is standard input. Returns: 0, or negative errno as plan_perform(). */
int plan_read(const char *path, struct buf *out, struct err *err);

/* The same for regular files only, so that an engine never waits for a FIFO. */
int plan_read_regular(const char *path, struct buf *out, struct err *err);
