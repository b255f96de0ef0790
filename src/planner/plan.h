/* The operations behind `retort plan`: reads, checks and runs a plan.
 * SPDX-License-Identifier: Apache-2.0 */
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
	PLAN_LOST = 4,	 /* a server or the model did not respond */
	PLAN_DENIED = 6
};

/* The request of any verb. All pointers are borrowed. A limit of 0 means the default. */
struct plan_request {
	const char *path; /* file of the plan; "-": standard input */
	enum plan_dialect dialect;
	bool has_while, has_recursion; /* allow while loops; allow functions that call themselves */
	uint64_t fuel, memory_bytes;
	void *arg;
	/* Write output of the plan as it is printed. Returns: 0, or -1: it cannot be written. */
	int (*print)(void *arg, const char *text, size_t bytes);
	/* For plans with tools, see plan_run.h; NULL: not given. Without a policy, the annotations
	 * of the tools decide. @request: the user's request as text. */
	const char *tools_path, *policy_path, *request, *record_path, *resume_path;
	const char *tools_name; /* name of a text of tools in messages, or NULL */
	const char *model,
		*key_file; /* model and key for ask(), see agent/wire/model.h; NULL: the tools */
	bool may_start;	   /* start servers listed in a text of tools; servers in a file are always
			      started */
	bool is_again;	   /* repeat a call whose outcome is missing at the end of the record */
	bool has_signals;  /* SIGINT and SIGTERM end a wait, with ERR_INTERRUPTED */
	struct plan_stop *stop; /* cancels the plan from another thread, or NULL */
	bool is_json;		/* write diagnostics as JSON */
	bool is_explained;	/* report every label and policy answer of a check */
	bool is_text;		/* path, tools_path and policy_path are the texts themselves */
	/* Ask a person to approve @text. Returns: 1 yes; 0 no; -1 no person can be asked; 2, only
	 * before the run and with @can_see_each: yes, but ask again at each call. */
	int (*approve)(void *arg, const char *text);
	bool can_see_each;
	/* Has the caller approved @tool in advance, where the policy asks? Called before `approve`;
	 * or NULL. */
	bool (*may_call)(void *arg, const char *tool);
};

/*
 * Run the plan; with tools, check every flow first. *report gets the diagnostics.
 *
 * Owns:    the caller frees *report with buf_done().
 * Blocks:  as long as the plan runs, at most until its fuel is used up.
 * Returns: enum plan_status, or negative errno if a file cannot be read.
 * Errors:  ERR_NOT_FOUND, ERR_ACCESS, ERR_LIMIT, ERR_IO, ERR_NO_MEMORY.
 */
int plan_perform(const struct plan_request *req, struct buf *report, struct err *err);

/* Take @what as the text, or without @is_text read the file of that name. */
int plan_take(const char *what, bool is_text, struct buf *out, struct err *err);

/* Read a whole file; "-" is standard input. Returns: 0, or negative errno as plan_perform(). */
int plan_read(const char *path, struct buf *out, struct err *err);

/* Read a whole regular file. Other kinds are refused, so that the engine never waits for a FIFO. */
int plan_read_regular(const char *path, struct buf *out, struct err *err);
